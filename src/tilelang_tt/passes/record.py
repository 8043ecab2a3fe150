"""What the compiler knows about a pass, as data: its stage, what must hold before it, and what holds after it.

    Pass(attach_tensor_accessors, Stage.A, needs=(LAYOUTS,), ensures=(NO_COPIES,))

`pipeline.py` has one row for every pass. The verifier checks what the rows say, docs/reference/passes.md prints them,
and a row that needs what no earlier one ensures is an error when the compiler is imported.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeVar

State = TypeVar("State")  # a tile program, or the kernels of a launch


class Stage(Enum):
    R = "Raise: from elements to blocks of tiles"
    A = "Metadata: where tensors and buffers lie"
    B = "Partition: which core does what"
    C = "Tile lowering: still one body, no protocol, no roles"
    D = "Split and protocol: three kernels, call by call"
    E = "Finalize: what each kernel is given"


@dataclass(frozen=True)
class Invariant(Generic[State]):
    """Something that holds from one pass on; `check` raises InternalError where it does not."""

    name: str
    text: str
    check: Callable[[State], None]


class Kind(Enum):
    """What a launch is written in."""

    TILES = "tiles"
    CODE = "scalar code"


@dataclass(frozen=True)
class Pass(Generic[State]):
    run: Callable[[State], State]
    stage: Stage
    needs: tuple[Invariant[State], ...] = ()
    ensures: tuple[Invariant[State], ...] = ()
    of: tuple[Kind, ...] = (Kind.TILES,)  # where there is none of these, the pass is left out

    def __call__(self, state: State) -> State:
        return self.run(state)

    @property
    def name(self) -> str:
        return self.run.__name__

    @property
    def summary(self) -> str:
        """The first sentence about it in its file."""
        text = str(sys.modules[self.run.__module__].__doc__).partition("\n")[0]
        return re.sub(r"^[A-F]: ", "", text)


def holding(
    passes: Iterable[Pass[State]], before: tuple[Invariant[State], ...]
) -> dict[str, tuple[Invariant[State], ...]]:
    """What holds after each pass, by its name, if the invariants of `before` hold at first."""
    found: dict[str, tuple[Invariant[State], ...]] = {}
    now = before
    for step in passes:
        for needed in step.needs:
            if needed not in now:
                raise ValueError(f"'{step.name}' needs '{needed.name}', which no pass before it ensures")
        now = tuple(dict.fromkeys((*now, *step.ensures)))
        found[step.name] = now
    return found


def verify(state: State, invariants: Iterable[Invariant[State]]) -> None:
    for invariant in invariants:
        invariant.check(state)
