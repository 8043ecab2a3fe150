"""`tilelang-tt run --dump scores@n=2 script.py`: what a block holds in one round of a loop, in a call of the script.

    scores@n=2 before script.py:42: T.reduce_max(scores, largest, dim=1, clear=False)
    tensor([[ 1.93, -0.41, ...

A session of the debugger stops at every line of that round, on one core, in the first block of the grid that has it.
The block is shown wherever it has changed. The script goes on as if nothing had happened. `DST@k=1` shows tiles of DST:
a block that stays there has no circular buffer, and its tiles have numbers, not its name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from tilelang_tt.diagnostics import ArgumentError
from tilelang_tt.execution.call import BoundCall
from tilelang_tt.execution.debugger import MARK, Buffer, Debugger, Stop
from tilelang_tt.short_errors import from_here

DST = "DST"  # as a block
_LOOP = re.compile(r"^( *)for \(uint32_t (\w+) = ")
_COUNT_ROUNDS = (
    "static void {mark}_round(bool wanted) {{ if (vd_logical_coordinate(false) == {x}u && "
    "vd_logical_coordinate(true) == {y}u && wanted) ++{mark}_rounds; }} "
)


@dataclass(frozen=True)
class Wanted:
    """`scores@n=2`: a block, a loop and its round."""

    block: str
    loop: str
    round: int

    @staticmethod
    def parse(text: str) -> Wanted:
        found = re.fullmatch(r"(\w+)@(\w+)=(\d+)", text)
        if not found:
            raise ValueError(f"'{text}' is not BLOCK@LOOP=N, such as scores@n=2")
        return Wanted(found[1], found[2], int(found[3]))

    def __str__(self) -> str:
        return f"{self.block}@{self.loop}={self.round}"


class RoundOfLoop(Debugger):
    """A session that stops at every line of the first round of a loop that has this number."""

    def values(self, wanted: Wanted) -> Iterator[tuple[str, torch.Tensor]]:
        """Where the block has changed, and what it holds there."""
        self._wanted = wanted
        self._loops = _loops(self.compiled.files[self.file], wanted.loop)
        if wanted.block == DST:
            yield from self._tiles()
            return
        before: torch.Tensor | None = None
        popped: int | None = None  # when the round began
        hit = 0
        while (stop := self._next(hit := hit + 1)) is not None:
            if stop.error is not None:  # a breach, which the call itself will tell of
                return
            buffer = stop.buffers[wanted.block]
            popped = buffer.state["popped"] if popped is None else popped
            if not _is_of_round(buffer, popped):
                continue
            value = buffer.block
            if before is None or not torch.equal(value.nan_to_num(), before.nan_to_num()):
                yield self._place(stop), value
            before = value

    def _tiles(self) -> Iterator[tuple[str, torch.Tensor]]:
        """Tiles of DST, where they have changed."""
        before: dict[int, torch.Tensor] = {}
        hit = 0
        while (stop := self._next(hit := hit + 1)) is not None and stop.error is None:
            for index, tile in stop.dst.items():
                if index not in before or not torch.equal(tile.nan_to_num(), before[index].nan_to_num()):
                    yield f"tile {index} {self._place(stop)}", tile
            before = stop.dst

    def _next(self, hit: int) -> Stop | None:
        return self._run(f"here && {MARK}_rounds == 1u && {MARK}_hits == {hit}u")

    def _commits(self) -> list[int]:
        """Lines at which tiles of DST are complete, and packed next."""
        text = self.compiled.files[self.file].splitlines()
        return [number for number, line in enumerate(text, 1) if line.strip().startswith("tile_regs_commit(")]

    def _place(self, stop: Stop) -> str:
        if any(stop.generated_line == last for _, last in self._loops) or stop.location is None:
            return "at the end of the round"
        if stop.generated_line in self._commits():
            return f"computed up to {from_here(str(stop.location))}: {stop.location.text}"
        return f"before {from_here(str(stop.location))}: {stop.location.text}"

    def _with_points(self, text: str, condition: str, line: int, generated: int) -> str:
        lines = super()._with_points(text, condition, line, generated).splitlines()
        here = f"{self._wanted.loop} == {self._wanted.round}u"
        for first, last in self._loops:
            for at in range(first, last):
                lines[at] = lines[at].replace(f"{MARK}(true, false,", f"{MARK}(true, {here},")
                if self._wanted.block == DST and at + 1 in self._commits():
                    lines[at] = f"{MARK}(false, {here}, {at + 1}u); {lines[at]}"
            lines[first - 1] += f" {MARK}_round({here});"
            lines[last - 1] = f"{MARK}(false, {here}, {last}u); {lines[last - 1]}"
        start = next(at for at, one in enumerate(lines) if f"static void {MARK}(" in one)
        count = _COUNT_ROUNDS.format(mark=MARK, x=self.core[0], y=self.core[1])
        body = lines[start].index("}; ") if "}; " in lines[start] else lines[start].rindex("} ") + 2
        lines[start] = f"static uint32_t {MARK}_rounds = 0; {lines[start][:body]}{count}{lines[start][body:]}"
        return "\n".join(lines) + "\n"


def _is_of_round(buffer: Buffer, popped: int) -> bool:
    """What is loaded comes and goes once in a round; behind it lies the next block. Compute's own stay."""
    if buffer.state["producer"] == "compute":
        return bool(buffer.state["pushed"] > 0)
    layout = buffer.layout
    return bool(buffer.state["popped"] == popped and buffer.held >= (layout.rows * layout.cols if layout else 1))


def _loops(text: str, name: str) -> list[tuple[int, int]]:
    """First and last lines of the loops over a variable, which have bodies of several lines."""
    lines, found, others = text.splitlines(), [], []
    for number, line in enumerate(lines, 1):
        loop = _LOOP.match(line)
        if loop is None or not line.endswith("{"):
            continue
        others.append(loop[2])
        if loop[2] == name:
            end = f"{loop[1]}}}"
            found.append((number, next(at for at, one in enumerate(lines[number:], number + 1) if one == end)))
    if not found:
        names = ", ".join(dict.fromkeys(others)) or "none"
        raise ArgumentError("TT325", f"the kernel has no loop over '{name}'; its loops are over: {names}")
    return found


class Dump:
    """Looks at the first call of each kernel that a script makes."""

    def __init__(self, wanted: Wanted, show: Callable[[str], None], core: tuple[int, int] = (0, 0)) -> None:
        self.wanted, self.core, self._show, self.shown = wanted, core, show, False
        self.blocks: dict[str, None] = {}  # of the kernels that have been called
        self._seen: set[int] = set()

    def __call__(self, kernel: Any, call: BoundCall) -> None:
        """Before a call: it is run beside, on copies."""
        if id(kernel) in self._seen:
            return
        self._seen.add(id(kernel))
        launches = kernel.compiled.plan.launches
        self.blocks |= dict.fromkeys(cb.name for launch in launches for cb in launch.cbs)
        for launch in launches:
            if self.wanted.block in (DST, *(cb.name for cb in launch.cbs)):
                copies = {name: tensor.clone() for name, tensor in call.tensors.items()}
                beside = BoundCall(copies, call.sizes, call.scalars, (), (), has_work=True)
                session = RoundOfLoop(kernel.compiled, beside, kernel.layouts, core=self.core, launch=launch.name)
                for place, value in session.values(self.wanted):
                    self.shown = True
                    self._show(f"{self.wanted} {place}\n{value}")
