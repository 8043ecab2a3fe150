"""`make sdk-table`: read the device headers of two ttnn wheels into src/tilelang_tt/sdk/table.json.

Downloads the wheels with pip into a directory outside the repository (`--wheels DIR` keeps it), reports what changed
between the two releases and against the table that is there, and lists what it could not read.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import zipfile
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path, PurePosixPath

from tilelang_tt.sdk import table
from tilelang_tt.sdk.conditionals import live_lines
from tilelang_tt.sdk.declarations import Declarations, read_declarations
from tilelang_tt.sdk.table import Function, Name, Release

OLDEST = "0.77.0"
TABLE = Path(table.__file__).with_name("table.json")
ROOT = "ttnn/tt_metal/"

# The chips' folders in the wheel, and the macros of each processor a kernel is compiled for. A compute kernel is
# compiled three times, so it may use what all three see; a reader or writer runs on either of two processors.
CHIPS = {
    "wormhole_b0": ("wormhole", {"ARCH_WORMHOLE": 1}),
    "blackhole": ("blackhole", {"ARCH_BLACKHOLE": 1}),
}
FIRMWARE = "hw/firmware/src/tt-1xx"
KERNEL_INCLUDES = ("chlkc_list.h", "kernel_includes.hpp")  # where the file around a kernel includes the kernel
PROCESSORS: dict[str, list[dict[str, int]]] = {
    "dataflow": [
        {"COMPILE_FOR_BRISC": 1, "PROCESSOR_INDEX": 0},
        {"COMPILE_FOR_NCRISC": 1, "PROCESSOR_INDEX": 1},
    ],
    "compute": [
        {"COMPILE_FOR_TRISC": 0, "UCK_CHLKC_UNPACK": 1, "TRISC_UNPACK": 1},
        {"COMPILE_FOR_TRISC": 1, "UCK_CHLKC_MATH": 1, "TRISC_MATH": 1},
        {"COMPILE_FOR_TRISC": 2, "UCK_CHLKC_PACK": 1, "TRISC_PACK": 1},
    ],
}
# The file that includes the kernel, for each of those processors.
AROUND = {"dataflow": ["brisck.cc", "ncrisck.cc"], "compute": ["trisck.cc"] * 3}
EVERYWHERE = {
    "KERNEL_BUILD": 1,
    "DATA_FORMATS_DEFINED": 1,
    "DFB_DESCRIPTORS_DEFINED": 1,
    "KERNEL_COMPILE_TIME_ARG_MAP": 1,
}
# Folders below hw/inc whose functions kernels may call; only headers of the first are for kernels to include.
PUBLIC_FOLDERS = ("api/", "internal/dataflow/")
# Macros and variables outside api/ that kernels may use.
PUBLIC = re.compile(r"MEM_ZEROS_\w+|FORCE_INLINE|ALWI|tt_l1_ptr|tt_reg_ptr|NOC_MAX_BURST_SIZE|noc_index|my_[xy]")


@dataclass(frozen=True)
class Wheel:
    version: str
    files: dict[str, str]  # path below tt_metal -> text

    @staticmethod
    def read(path: Path) -> Wheel:
        with zipfile.ZipFile(path) as archive:
            names = [n for n in archive.namelist() if n.startswith(ROOT) and n.endswith((".h", ".hpp", ".inl", ".cc"))]
            files = {n.removeprefix(ROOT): archive.read(n).decode() for n in names}
        return Wheel(path.name.split("-")[1], files)

    @cached_property
    def folders(self) -> list[str]:
        return sorted({str(PurePosixPath(path).parent) for path in self.files})

    def include_path(self, chip: str) -> list[str]:
        """Folders of this chip, and those of no chip; a header is looked for by its written path in each."""
        folder, _ = CHIPS[chip]
        others = [word for word in ("wormhole", "blackhole", "quasar", "tt-2xx") if word != folder]
        return ["hw/inc", "hostdevcommon/api", *(f for f in self.folders if not any(o in f for o in others))]


class Reader:
    """Declarations of one wheel as one processor of one chip sees them."""

    def __init__(self, wheel: Wheel, chip: str, macros: dict[str, int]) -> None:
        self.wheel = wheel
        self.macros = {**EVERYWHERE, **CHIPS[chip][1], **macros}
        self.path = wheel.include_path(chip)
        self.read: dict[str, Declarations] = {}
        for path in wheel.files:
            if path.startswith("hw/inc/api/"):
                self.add(path)

    def add(self, path: str) -> None:
        """Reads a header and all it includes."""
        left = [path]
        while left:
            path = left.pop()
            if path not in self.read:
                text = live_lines(self.wheel.files[path], self.macros)
                self.read[path] = read_declarations(_below_inc(path), text)
                left += filter(None, (self.resolve(path, name) for name in self.read[path].includes))

    def resolve(self, includer: str, name: str) -> str | None:
        here = str(PurePosixPath(includer).parent)
        for folder in (here, *self.path):
            candidate = _normal(f"{folder}/{name}")
            if candidate in self.wheel.files:
                return candidate
        return None

    def public_includes(self, path: str) -> set[str]:
        """Headers of the public folders that this one includes, directly or through others."""
        found: set[str] = set()
        seen = {path}
        left = [path]
        while left:
            current = left.pop()
            for name in self.read[current].includes:
                target = self.resolve(current, name)
                if target is None or target in seen:
                    continue
                seen.add(target)
                if _below_inc(target).startswith(PUBLIC_FOLDERS):
                    found.add(_below_inc(target))
                else:
                    left.append(target)
        return found


def prelude(wheel: Wheel, reader: Reader, file: str) -> set[str]:
    """Public headers that the file around every kernel includes before it."""
    path = f"{FIRMWARE}/{file}"
    written = read_declarations(path, live_lines(wheel.files[path], reader.macros)).includes
    first = next(i for i, name in enumerate(written) if name in KERNEL_INCLUDES)
    found: set[str] = set()
    for name in written[:first]:
        target = reader.resolve(path, name)
        if target is not None and _below_inc(target).startswith(PUBLIC_FOLDERS):
            found.add(_below_inc(target))
        elif target is not None:
            reader.add(target)
            found |= reader.public_includes(target)
    return found


def _below_inc(path: str) -> str:
    return path.removeprefix("hw/inc/")


def _normal(path: str) -> str:
    parts: list[str] = []
    for part in path.split("/"):
        if part == ".." and parts:
            parts.pop()
        elif part not in (".", ".."):
            parts.append(part)
    return "/".join(parts)


def read_release(wheel: Wheel) -> tuple[Release, list[str]]:
    functions: dict[Function, list[str]] = defaultdict(list)
    names: dict[Name, list[str]] = defaultdict(list)
    includes: dict[str, list[set[str]]] = defaultdict(list)
    unread: set[str] = set()
    for place in table.PLACES:
        chip, role = place.split("/")
        readers = [Reader(wheel, chip, macros) for macros in PROCESSORS[role]]
        for reader, file in zip(readers, AROUND[role], strict=True):
            includes[f"{table.PRELUDE}{role}"].append(prelude(wheel, reader, file))
        for function in _common(({f for d in r.read.values() for f in d.functions}) for r in readers):
            if function.header.startswith(PUBLIC_FOLDERS):
                functions[function].append(place)
        for name in _common(({n for d in r.read.values() for n in d.names}) for r in readers):
            if _is_public(name):
                names[name].append(place)
        for reader in readers:
            for path, declarations in reader.read.items():
                if _below_inc(path).startswith(PUBLIC_FOLDERS):
                    includes[_below_inc(path)].append(reader.public_includes(path))
                    unread |= {f"{path}:{text}" for text in declarations.unread}
    release = Release(
        wheel.version,
        {header: tuple(sorted(set.intersection(*sets))) for header, sets in sorted(includes.items())},
        _by_name(replace(f, places=tuple(places)) for f, places in functions.items()),
        _by_name(replace(n, places=tuple(places)) for n, places in names.items()),
    )
    return release, sorted(unread)


def _common(sets: Iterable[set]) -> set:  # type: ignore[type-arg]
    return set.intersection(*sets)


def _is_public(name: Name) -> bool:
    if name.header.startswith("api/"):
        return not (name.sort == "macro" and name.name.startswith("_"))
    shared_constant = name.sort == "variable" and name.header.startswith("hostdevcommon/")
    return shared_constant or name.sort.startswith("enum") or PUBLIC.fullmatch(name.name) is not None


def _by_name(entries):  # type: ignore[no-untyped-def]
    grouped = defaultdict(list)
    for entry in sorted(entries, key=repr):
        grouped[entry.name].append(entry)
    return {name: tuple(group) for name, group in sorted(grouped.items())}


def download(folder: Path) -> list[Path]:
    """The wheels of the oldest supported release and of the newest on PyPI."""
    for requirement in (f"ttnn=={OLDEST}", "ttnn"):
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--python-version", "3.10"]
        subprocess.run([*command, "--only-binary=:all:", "--dest", str(folder), requirement], check=True)
    return sorted(folder.glob("ttnn-*.whl"), key=lambda p: [int(n) for n in p.name.split("-")[1].split(".")])


def differences(old: Release, new: Release) -> list[str]:
    lines = []
    for sort, before, after in (
        ("header", old.headers, new.headers),
        ("function", old.functions, new.functions),
        ("name", old.names, new.names),
    ):
        lines += [f"{sort} {name}: gone" for name in sorted(set(before) - set(after))]
        lines += [f"{sort} {name}: new" for name in sorted(set(after) - set(before))]
    for name in sorted(set(old.functions) & set(new.functions)):
        was, now = ({str(f) for f in release.functions[name]} for release in (old, new))
        if was != now:
            lines.append(f"function {name}: {' | '.join(sorted(was))}  ->  {' | '.join(sorted(now))}")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wheels", type=Path, help="directory for the wheels; reused if they are there")
    wheels = parser.parse_args().wheels
    with tempfile.TemporaryDirectory() as scratch:
        folder = wheels or Path(scratch)
        releases = []
        for path in download(folder):
            release, unread = read_release(Wheel.read(path))
            releases.append(release)
            count = sum(map(len, release.functions.values()))
            print(f"ttnn {release.version}: {len(release.headers)} headers, {count} functions, not read: {len(unread)}")
            for place in unread:
                print(f"  not read: {place}")
    before = table.load() if TABLE.exists() else {}
    TABLE.write_text(table.dump(releases))
    for release in releases:
        known = before.get(release.version)
        lines = differences(known, release) if known else ["not in the table so far"]
        print(f"ttnn {release.version} against the table: {'no difference' if not lines else ''}")
        print("".join(f"  {line}\n" for line in lines), end="")
    print(f"from {releases[0].version} to {releases[-1].version}:")
    print("".join(f"  {line}\n" for line in differences(releases[0], releases[-1])), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
