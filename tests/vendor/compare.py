"""The vendor's kernels on a real ttnn (card or simulator) and on the virtual device in `chip` numerics: bits compared.

    python -m tests.vendor.compare [--only TEXT] [--json FILE]

Needs a Python that has ttnn, torch and this package. Every case runs in a process of its own, because a simulator ends
its process on an error and a deadlock never returns.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from tests.vendor import wheel
from tests.vendor.builder import Outcome
from tests.vendor.cases import CASES, Case

from tilelang_tt.device import open_device
from tilelang_tt.diagnostics import DeviceError, TenstorrentWarning
from tilelang_tt.runtime.ttnn_find import SIMULATOR_SETTINGS, device_problem, simulator

_WORDS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def bits(values: torch.Tensor) -> torch.Tensor:
    return values.contiguous().view(_WORDS[values.element_size()])


def real(case: Case, root: Path) -> tuple[Outcome, str]:
    """On the device that ttnn finds, and its chip."""
    if simulator():
        for name, value in SIMULATOR_SETTINGS.items():
            os.environ.setdefault(name, value)
    import ttnn
    from tests.vendor.on_ttnn import TtnnDevice

    opened = ttnn.open_device(device_id=0)
    try:
        with TtnnDevice(ttnn, opened) as device:
            return case.run(device, root), device.arch.name
    finally:
        ttnn.close_device(opened)


def virtual(case: Case, root: Path, chip: str) -> Outcome | str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TenstorrentWarning)
        try:
            with open_device(chip, numerics="chip", strict=False) as device:
                return case.run(device, root)
        except DeviceError as error:
            return str(error).splitlines()[0]


def compare(case: Case, root: Path) -> dict[str, Any]:
    there, chip = real(case, root)
    found: dict[str, Any] = {"chip": chip, "elements": there.got.numel(), "real_right": there.right()}
    found["real_wrong_rows"] = _rows(~(there.error() <= there.bound))
    here = virtual(case, root, chip)
    if isinstance(here, str):
        return {**found, "virtual": here}
    different = bits(there.got) != bits(here.got)
    found |= {"differing": int(different.sum()), "virtual_right": here.right(), "differing_rows": _rows(different)}
    if different.any():
        place = tuple(int(index) for index in different.nonzero()[0])
        found["first"] = [list(place), float(there.got[place]), float(here.got[place])]
        found["largest"] = float((there.got.double() - here.got.double()).abs().nan_to_num(nan=torch.inf).max())
    return found


def _rows(marked: torch.Tensor) -> str:
    """Which rows (the last axis but one, of all matrices) hold a marked element: `0-31, 64`."""
    rows = marked.reshape(-1, marked.shape[-1]).any(-1).nonzero().flatten().tolist()
    runs: list[list[int]] = []
    for row in rows:
        if runs and row == runs[-1][1] + 1:
            runs[-1][1] = row
        else:
            runs.append([row, row])
    return ", ".join(f"{first}-{last}" if last > first else str(first) for first, last in runs[:8])


def in_words(found: dict[str, Any]) -> str:
    if "failed" in found:
        return f"FAILED: {found['failed']}"
    told = "right" if found["real_right"] else f"wrong (rows {found['real_wrong_rows']})"
    if "virtual" in found:
        return f"ttnn {told}; virtual device: {found['virtual']}"
    if not found["differing"]:
        return f"equal, {found['elements']} elements; {told}"
    count = f"{found['differing']} of {found['elements']} differ (rows {found['differing_rows']})"
    return f"{count}; ttnn {told}; first {found['first']}"


def one_by_one(chosen: Sequence[Case], limit: float, file: Path | None) -> int:
    results: list[dict[str, Any]] = []
    for case in chosen:
        name = f"{case.operator}: {case.configuration}"
        started = time.monotonic()
        command = [sys.executable, "-m", "tests.vendor.compare", "--case", str(CASES.index(case))]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
            last = [line for line in done.stdout.splitlines() if line.startswith("{")]
            found = json.loads(last[-1]) if last else {"failed": _why(done.stderr or done.stdout)}
        except subprocess.TimeoutExpired:
            found = {"failed": f"still running after {limit:.0f} s"}
        results.append({"case": name, "seconds": time.monotonic() - started, **found})
        print(f"{name} [{found.get('chip', '?')}, {time.monotonic() - started:.0f} s]: {in_words(found)}", flush=True)
        if file is not None:
            file.write_text(json.dumps(results, indent=1))
    return int(any(found.get("differing") != 0 for found in results))


def _why(output: str) -> str:
    """The error message in what a process printed before it ended; without one, the end of it."""
    errors = [line for line in output.splitlines() if line.startswith("error[")]
    return errors[-1] if errors else output[-400:]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="part of 'operator: configuration'")
    parser.add_argument("--case", type=int, help="the number of one case, run in this process")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for one case")
    parser.add_argument("--json", type=Path, help="write the results here")
    asked = parser.parse_args()
    root = wheel.find()
    if root is None:
        print(f"NOT RUN: no wheel of ttnn {wheel.RELEASE} is here.")
        return 2
    if asked.case is not None:
        print(json.dumps(compare(CASES[asked.case], root)), flush=True)
        return 0
    if problem := device_problem():
        print(f"NOT RUN, nothing was launched: {problem[0]}")
        return 2
    chosen = [case for case in CASES if asked.only in f"{case.operator}: {case.configuration}" and not case.needs]
    return one_by_one(chosen, asked.limit, asked.json)


if __name__ == "__main__":
    sys.exit(main())
