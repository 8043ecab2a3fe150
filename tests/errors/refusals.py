"""A list of kernels that must be refused, each with the whole text of its error.

    @refused("TT108", "'X' has scope 'local', which this version does not support", help="use ...")
    def registers() -> Any:
        @T.prim_func
        def main(A: T.Tensor((32, 32), "float32")):
            with T.Kernel(1, threads=128):
                X = T.alloc_local((32, 32), "float32")  # refused

The error must point to the line with the comment `# refused`, and show it; where there is none, it has no place.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

Build = Callable[[], Any]


@dataclass(frozen=True)
class Refusal:
    build: Build
    code: str
    message: str
    help: str
    notes: tuple[str, ...] = ()
    arch: str = "wormhole_b0"
    options: Mapping[str, Any] = field(default_factory=dict)  # of the target
    kernel: Callable[..., Any] | None = None  # holds the lines, where `build` only calls it
    scalar_code: bool = False  # refused with it; without, as the tile engines would

    @property
    def name(self) -> str:
        return f"{self.code}-{self.build.__name__}{'-scalar_code' if self.scalar_code else ''}"

    @property
    def text(self) -> str:
        """The error as a user reads it."""
        kernel = self.kernel or self.build
        file = inspect.getsourcefile(kernel)
        source, first = inspect.getsourcelines(kernel)
        marked = [(first + index, line.strip()) for index, line in enumerate(source) if "# refused" in line]
        place = f"{file}:{marked[0][0]}: " if marked else ""
        notes = [note.format(file=file, **places(kernel)) for note in self.notes]
        lines = [f"{place}error[{self.code}]: {self.message}"]
        lines += [f"    {marked[0][1]}"] if marked else []
        lines += [f"  note: {note}" for note in notes]
        return "\n".join([*lines, f"  help: {self.help}"])


def places(kernel: Callable[..., Any]) -> dict[str, int]:
    """Lines of a kernel by the word after `# line: `."""
    source, first = inspect.getsourcelines(kernel)
    marked = {index: line.partition("# line: ")[2].strip() for index, line in enumerate(source)}
    return {word: first + index for index, word in marked.items() if word}


REFUSALS: list[Refusal] = []


def refused(code: str, message: str, *, help: str, **more: Any) -> Callable[[Build], Build]:
    """Enter a kernel; `more` are further fields of `Refusal`."""

    def register(build: Build) -> Build:
        first = Refusal(build, code, message, help, **more)
        REFUSALS.append(first)
        if build in WITH_SCALAR_CODE:
            REFUSALS.append(replace(first, scalar_code=True))
        return build

    return register


WITH_SCALAR_CODE: set[Build] = set()


def with_scalar_code(build: Build) -> Build:
    """Below `refused`: scalar code, which is the default, cannot help either, and the text is the same."""
    WITH_SCALAR_CODE.add(build)
    return build
