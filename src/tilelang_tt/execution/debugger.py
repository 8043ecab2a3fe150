"""`kernel.debug(*tensors)`: stop a kernel on the virtual device, look at what a core holds, go on.

    session = kernel.debug(a, b)
    stop = session.run_to(43)            # a line of the kernel; hit=2: the second time
    stop["scores"]                       # the block, as a tensor
    stop.compare("scores", q @ k.T)      # where it differs from what it should be
    stop = session.step()                # to the next line of the kernel

A run of the virtual device is the same each time, so going on is running again, a bit further: there is nothing to keep
alive. A stop is one in the compute kernel (or reader, or writer) of one core; the other kernels are wherever they were.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch

from tilelang_tt.arch import TILE
from tilelang_tt.cli.variables import variable
from tilelang_tt.compiled import Compiled
from tilelang_tt.diagnostics import ArgumentError, DeviceError, Location
from tilelang_tt.execution.call import BoundCall
from tilelang_tt.runtime import virtual
from tilelang_tt.runtime.failure import user_location
from tilelang_tt.runtime.plan import Role

_WHOLE = "TILELANG_TT_STATE_WHOLE"  # of the runner: all numbers of the state
MARK = "tilelang_tt_stop"  # begins the message of a stop of ours
_FACE = 16  # rows and columns

# In front of the first line of a kernel. A stop is a failed assertion whose text says how many points were passed.
_PROLOGUE = (
    'extern "C" uint32_t vd_logical_coordinate(bool); static uint32_t {mark}_time = 0, {mark}_hits = 0; '
    "static void {mark}(bool point, bool here, uint32_t line) {{ "
    "if (vd_logical_coordinate(false) != {x}u || vd_logical_coordinate(true) != {y}u) return; "
    "if (point) ++{mark}_time; if (here) ++{mark}_hits; if (!({condition})) return; "
    'char text[32] = "{mark} "; uint32_t at = sizeof("{mark} ") - 1, n = {mark}_time, size = 0; char digits[12]; '
    "do {{ digits[size++] = char('0' + n % 10); n /= 10; }} while (n); while (size) text[at++] = digits[--size]; "
    "text[at] = 0; vd_assert_failed(text, line); }} "
)


@dataclass(frozen=True)
class Layout:
    """How a block lies in the pages of its circular buffer: rows and columns of tiles."""

    rows: int
    cols: int
    by_columns: bool = False


@dataclass(frozen=True)
class Buffer:
    """A circular buffer where the run stopped."""

    name: str
    state: Mapping[str, Any]
    layout: Layout | None

    @property
    def held(self) -> int:
        """Pages that are filled and not yet popped."""
        return int(self.state["pushed"] - self.state["popped"])

    @property
    def pages(self) -> torch.Tensor:
        """All pages as they lie, [pages, 32, 32]."""
        return torch.stack([_tile(words, integers=bool(self.state["integers"])) for words in self.state["whole"]])

    @property
    def block(self) -> torch.Tensor:
        """The block at the front, as the kernel's matrix where its shape is known; else [pages, 32, 32]."""
        pages = self.pages.roll(-int(self.state["front"]), 0)
        layout = self.layout
        if layout is None or layout.rows * layout.cols > len(pages):
            return pages
        tiles = pages[: layout.rows * layout.cols]
        if layout.by_columns:
            tiles = tiles.reshape(layout.cols, layout.rows, TILE, TILE).transpose(0, 1)
        tiles = tiles.reshape(layout.rows, layout.cols, TILE, TILE)
        return tiles.transpose(1, 2).reshape(layout.rows * TILE, layout.cols * TILE)

    def __str__(self) -> str:
        one = self.state
        return (
            f"{self.name}: {one['format']}, {self.held} of {one['pages']} pages held, "
            f"{one['pushed']} pushed by {one['producer']}, {one['popped']} popped by {one['consumer']}"
        )


class Stop:
    """Where a run stopped, and what the core holds there."""

    def __init__(self, error: DeviceError, layouts: Mapping[str, Layout]) -> None:
        report = error.report
        text = str(report.get("message", ""))
        self.time = int(text.rpartition(" ")[2]) if MARK in text else None
        self.error = None if self.time is not None else error  # a breach, and not a stop that was asked for
        self.core = tuple(report.get("core", ()))
        self.role = str(report.get("role", ""))
        self.generated_line = int(report.get("line", 0))
        self.location: Location | None = error.location
        state = report.get("state", {"buffers": [], "dst": {"tiles": []}})
        self.buffers = {one["name"]: Buffer(one["name"], one, layouts.get(one["name"])) for one in state["buffers"]}
        self.dst = {int(one["index"]): _tile(one["whole"], integers=False) for one in state["dst"]["tiles"]}

    def __getitem__(self, name: str) -> torch.Tensor:
        """The block at the front of a circular buffer."""
        if name not in self.buffers:
            raise ArgumentError("TT325", f"there is no buffer '{name}' here; there are {', '.join(self.buffers)}")
        return self.buffers[name].block

    def compare(self, name: str, expected: torch.Tensor, tolerance: float = 2.0**-7) -> str:
        """Where a block differs from a tensor of its shape; errors are relative to an element or to the tensor."""
        found, wanted = self[name].double(), expected.double()
        if found.shape != wanted.shape:
            found = found[tuple(slice(0, extent) for extent in wanted.shape)]
        if found.shape != wanted.shape:
            raise ArgumentError(
                "TT325", f"'{name}' is {list(self[name].shape)} here; what is expected is {list(expected.shape)}"
            )
        scale = wanted.abs().clamp(min=float(wanted.square().mean().sqrt()))
        same = (found == wanted) | (found.isnan() & wanted.isnan())
        wrong = ~same & ~((found - wanted).abs() <= tolerance * scale)
        count = int(wrong.sum())
        if count == 0:
            return f"'{name}' is as expected: all {wrong.numel():,} elements within {tolerance:g}"
        first = tuple(int(index) for index in wrong.nonzero()[0])
        return (
            f"'{name}' differs in {count:,} of {wrong.numel():,} elements, first at {list(first)}: "
            f"{found[first]:g} instead of {wanted[first]:g}"
        )

    def __str__(self) -> str:
        place = (
            f"{self.location}: {self.location.text}"
            if self.location
            else f"line {self.generated_line} of the {self.role}"
        )
        title = str(self.error) if self.error else f"stopped at {place}"
        where = f"core {self.core}, {self.role} line {self.generated_line}"
        held = [f"  {one}" for one in self.buffers.values()]
        return "\n".join([title, where, *held, *(f"  DST tile {index}" for index in self.dst)])

    __repr__ = __str__


class Debugger:
    """A call that is run again and again, each time to another place."""

    def __init__(
        self,
        compiled: Compiled,
        call: BoundCall,
        layouts: Mapping[str, Layout],
        *,
        core: tuple[int, int] = (0, 0),
        role: Role = "compute",
        launch: str | None = None,
    ) -> None:
        self.compiled, self.call, self.layouts, self.core, self.role = compiled, call, layouts, core, role
        launches = compiled.plan.launches
        named = [one for one in launches if launch in (None, one.name)]
        if not named:
            raise ArgumentError(
                "TT325", f"there is no launch '{launch}'; there are {', '.join(one.name for one in launches)}"
            )
        self.launch = named[0]
        self.stop: Stop | None = None

    @property
    def file(self) -> str:
        """The generated kernel that stops."""
        return next(kernel.source for kernel in self.launch.kernels if kernel.role == self.role)

    @property
    def lines(self) -> list[int]:
        """Lines of the user's kernel at which this kernel can stop."""
        return sorted({place.line for _, place in self._points()})

    def run_to(self, line: int = 0, hit: int = 1, *, generated: int = 0) -> Stop | None:
        """Stop where the code of a line of the user's begins, the `hit`-th time; None: the run ended without.

        `generated`: in front of this line of the generated kernel instead, which says what is in DST at the moment.
        """
        places = self._statements() if generated else self.lines
        if (generated or line) not in places:
            in_kernel = f"the {self.role} kernel has nothing of line {line}"
            message = f"line {generated} of {self.file} begins no statement" if generated else in_kernel
            raise ArgumentError("TT325", message, help=f"possible: {', '.join(map(str, places))}")
        return self._run(f"here && {MARK}_hits == {hit}u", line, generated)

    def step(self) -> Stop | None:
        """To the next line of the user's kernel."""
        now = self.stop.time if self.stop is not None and self.stop.time is not None else 0
        return self._run(f"point && {MARK}_time == {now + 1}u")

    def run(self) -> Stop | None:
        """To the first breach; None: there is none, and the results are in the tensors."""
        return self._run("false")

    def _points(self) -> list[tuple[int, Location]]:
        """Generated lines that begin what stems from a line of the user's."""
        found: list[tuple[int, Location]] = []
        text = self.compiled.files[self.file].splitlines()
        for number, line in enumerate(text, 1):
            place = user_location(self.compiled.lines, self.file, number)
            if place is not None and line.strip().startswith(f"// {Path(place.file).name}:{place.line}"):
                found.append((number, place))
        return found

    def _statements(self) -> list[int]:
        """Lines of the generated kernel in front of which a statement may stand."""
        text = self.compiled.files[self.file].splitlines()
        start = next(number for number, line in enumerate(text) if "void kernel_main()" in line)
        code = [(number, line.split("//")[0].strip()) for number, line in enumerate(text, 1) if number > start + 1]
        code = [(number, line) for number, line in code if line]
        return [
            number for (_, before), (number, line) in pairwise(code) if before[-1] in ";{}" and not line.startswith("}")
        ]

    def _run(self, condition: str, line: int = 0, generated: int = 0) -> Stop | None:
        sources = dict(self.compiled.files)
        sources[self.file] = self._with_points(sources[self.file], condition, line, generated)
        call = self.call
        tensors = {name: tensor.clone() for name, tensor in call.tensors.items()}
        try:
            with variable(_WHOLE, "1"):
                virtual.launch(self.compiled.plan, sources, tensors, call.sizes, call.scalars)
        except DeviceError as error:
            if "state" not in error.report:
                raise
            self.stop = Stop(error, self.layouts)
            return self.stop
        for name, tensor in tensors.items():
            call.tensors[name].copy_(tensor)
        call.finish()
        self.stop = None
        return None

    def _with_points(self, text: str, condition: str, line: int, generated: int) -> str:
        """No line is added, so that places stay what they are."""
        lines = text.splitlines()
        for number, place in self._points():
            here = "true" if place.line == line else "false"
            lines[number - 1] = f"{MARK}(true, {here}, {number}u); {lines[number - 1]}"
        if generated:
            lines[generated - 1] = f"{MARK}(false, true, {generated}u); {lines[generated - 1]}"
        x, y = self.core
        includes = max(number for number, one in enumerate(lines) if one.startswith("#include"))
        lines[includes + 1] = _PROLOGUE.format(mark=MARK, x=x, y=y, condition=condition) + lines[includes + 1]
        return "\n".join(lines) + "\n"


def _tile(words: str, *, integers: bool) -> torch.Tensor:
    """A tile of four faces, each row by row."""
    raw = torch.frombuffer(bytearray(bytes.fromhex(words)), dtype=torch.uint8).reshape(-1, 4).flip(1).contiguous()
    faces = raw.view(torch.int32 if integers else torch.float32).reshape(2, 2, _FACE, _FACE)
    return faces.transpose(1, 2).reshape(TILE, TILE).clone()
