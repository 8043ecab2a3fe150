"""`tilelang-tt run`: a script, unmodified, with Tenstorrent as TileLang's default target."""

from __future__ import annotations

import os
import runpy
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import TracebackType

from tilelang_tt.cli.host_stand_ins import host_stand_ins
from tilelang_tt.diagnostics import TenstorrentError
from tilelang_tt.execution.dump import DST, Dump, Wanted
from tilelang_tt.execution.kernel import TenstorrentKernel, watchers
from tilelang_tt.target import normalize, options_of


def run_script(script: Path, args: list[str], target: str) -> int:
    """The script's exit status: 1 after an error, what it passed to sys.exit, otherwise 0."""
    os.environ["TILELANG_DEFAULT_TARGET"] = target
    resolved = normalize(target)
    assert resolved is not None  # the command line accepts no other
    try:
        # The target's scope answers target="auto"; the stand-ins answer CUDA.
        with resolved, host_stand_ins(options_of(resolved).chip):
            run_as_script(script, args)
    except (BrokenPipeError, TenstorrentError):
        raise
    except Exception as error:
        traceback.print_exception(error.with_traceback(_from_script(error.__traceback__, script)))
        return 1
    return 0


def run_as_script(script: Path, args: Sequence[str]) -> None:
    """As `python SCRIPT ARG ...` does."""
    sys.argv = [str(script), *args]
    sys.path.insert(0, str(script.resolve().parent))
    runpy.run_path(str(script), run_name="__main__")


@contextmanager
def dumping(wanted: Wanted | None, core: tuple[int, int] = (0, 0)) -> Iterator[None]:
    """The block is shown as soon as a kernel that has it is called."""
    if wanted is None:
        yield
        return
    dump = Dump(wanted, print, core)

    def watch(kernel: TenstorrentKernel) -> None:
        kernel.adapter.before_call = partial(dump, kernel)

    watchers.append(watch)
    try:
        yield
    finally:
        watchers.remove(watch)
    if not dump.shown:
        print(f"--dump {wanted}: {_why_nothing(dump)}", file=sys.stderr)


def _why_nothing(dump: Dump) -> str:
    if not dump.blocks:
        return "no kernel was called"
    wanted = dump.wanted
    if wanted.block == DST:
        return f"core {dump.core} comes to no round {wanted.round} of '{wanted.loop}' with something in DST"
    way_out = f"--dump {DST}@{wanted.loop}={wanted.round} shows the tiles that are computed there"
    if wanted.block in dump.blocks:
        return f"core {dump.core} comes to no round {wanted.round} of '{wanted.loop}' with all of the block; {way_out}"
    return f"no kernel keeps a block '{wanted.block}' in L1; there are {', '.join(dump.blocks)}; {way_out}"


def _from_script(trace: TracebackType | None, script: Path) -> TracebackType | None:
    """The traceback without the frames of this command above the script's own."""
    inner = trace
    while inner is not None and inner.tb_frame.f_code.co_filename != str(script):
        inner = inner.tb_next
    return inner or trace
