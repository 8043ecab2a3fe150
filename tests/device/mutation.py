"""Run every mutant of a program's kernels on the virtual device, and say what became of each.

detected      the device reported it: the category of the breach, "deadlock", "undefined", ...
unwritten     no report, but a page of a tensor that the program writes is not written any more
refused       the C++ compiler cannot accept it: the moved call uses a name before its declaration
survived      the same bytes in every tensor, under every schedule that was tried
WRONG         other bytes and no report: a hole of the device
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from unittest import mock

import torch
from mutator import Mutant, Mutated, mutate

from tilelang_tt.diagnostics import DeviceError
from tilelang_tt.runtime.arena import Arena
from tilelang_tt.runtime.program import Run, TensorRun
from tilelang_tt.runtime.runner import RunReport, execute

_TIME_LIMIT = 10.0  # seconds; a mutant that loops for ever ends here
_ENTRIES = ("tilelang_tt.runtime.virtual.execute", "tilelang_tt.device.opened.execute", "core_programs.execute")
_STATUS = {"TT402": "unimplemented", "TT403": "undefined", "TT404": "deadlock", "TT405": "time limit", "TT406": "crash"}


@dataclass(frozen=True)
class Outcome:
    mutant: Mutant
    result: str
    seed: int = 0  # of the schedule that showed it
    message: str = ""

    @property
    def detected(self) -> bool:
        return self.result not in ("survived", "WRONG")


Choose = Callable[[Mutant], range]  # the schedules under which a mutant is tried
Change = Callable[[str, str, int], Mutated]  # of a kernel: its file, its text, the number of its first mutant


def examine(program: Callable[[], object], seeds: Choose, change: Change = mutate) -> list[Outcome]:
    """Outcomes of all mutants of the first run that `program` starts."""
    outcomes: list[Outcome] = []

    def instead(run: Run, memory: Callable[[], Arena], **options: object) -> RunReport:
        if not outcomes:
            outcomes.extend(Examination(run, memory(), change).outcomes(seeds))
        return execute(run, memory, **options)  # type: ignore[arg-type]

    with patched(instead):
        program()
    return outcomes


@contextmanager
def patched(instead: Callable[..., RunReport]) -> Iterator[None]:
    with mock.patch(_ENTRIES[0], instead), mock.patch(_ENTRIES[1], instead), mock.patch(_ENTRIES[2], instead):
        yield


class Examination:
    """One program whose kernels hold all their mutants, and the bytes it starts from and ends with."""

    def __init__(self, run: Run, memory: Arena, change: Change = mutate) -> None:
        self.memory = memory
        self.regions = [place for tensor in run.tensors for place in _places(run, tensor)]
        self.start = self._bytes()
        self.run, self.mutants = _instrumented(run, change)
        self.expected = self._finished(0, 0)
        assert not isinstance(self.expected, DeviceError), self.expected
        self._restore()

    def outcomes(self, seeds: Choose) -> list[Outcome]:
        found = [self._outcome(mutant, seeds(mutant)) for mutant in self.mutants]
        self._restore()
        return found

    def _outcome(self, mutant: Mutant, seeds: range) -> Outcome:
        if mutant.unbound:
            return Outcome(mutant, "refused", message=f"'{mutant.unbound}' is used before its declaration")
        for seed in seeds:
            got = self._finished(mutant.number, seed)
            if isinstance(got, DeviceError):
                return Outcome(mutant, _category(got), seed, str(got))
            if not all(map(torch.equal, got, self.expected)):
                return Outcome(mutant, "unwritten" if self._only_lacks(got) else "WRONG", seed)
        return Outcome(mutant, "survived")

    def _only_lacks(self, got: list[torch.Tensor]) -> bool:
        triples = zip(got, self.expected, self.start, strict=True)
        return all(bool(((now == right) | (now == before)).all()) for now, right, before in triples)

    def _finished(self, mutant: int, seed: int) -> list[torch.Tensor] | DeviceError:
        """The tensors after a run from the start, or what the device said."""
        self._restore()
        try:
            execute(_selected(self.run, mutant, seed), lambda: self.memory, timeout=_TIME_LIMIT)
        except DeviceError as error:
            return error
        return self._bytes()

    def _bytes(self) -> list[torch.Tensor]:
        return [self.memory.bytes[start:stop].clone() for start, stop in self.regions]

    def _restore(self) -> None:
        for (start, stop), before in zip(self.regions, self.start, strict=True):
            self.memory.bytes[start:stop] = before


def _category(error: DeviceError) -> str:
    if error.code == "TT401":
        return next(note for note in error.notes if note.startswith("category: ")).removeprefix("category: ")
    return _STATUS.get(error.code, error.code)


def _places(run: Run, tensor: TensorRun) -> Iterator[tuple[int, int]]:
    """Where a tensor lies in the shared memory."""
    banks = run.arch.dram_banks if tensor.memory == "dram" else run.grid[0] * run.grid[1]
    slots = tensor.slots or -(-tensor.pages // banks)
    if tensor.memory == "dram":
        yield tensor.offset, tensor.offset + (slots * banks if tensor.slots else tensor.pages) * tensor.page_bytes
        return
    window = 1 << (max(run.arch.l1_bytes, run.memory.l1_top) - 1).bit_length()
    for bank in range(banks):
        start = run.memory.l1_shared + bank * window + tensor.address
        yield start, start + slots * tensor.page_bytes


def _instrumented(run: Run, change: Change) -> tuple[Run, list[Mutant]]:
    """Kernels with their mutants inside; which one runs is the last common argument."""
    texts: dict[tuple[str, str], str] = {}
    mutants: list[Mutant] = []
    launches = []
    for launch in run.launches:
        groups = []
        for group in launch.groups:
            kernels = {}
            for role, kernel in group.kernels.items():
                key = (kernel.file, kernel.text)
                if key not in texts:
                    mutated = change(kernel.file, kernel.text, len(mutants) + 1)
                    texts[key] = mutated.text
                    mutants += mutated.mutants
                choice = ("MUTANT(k)", f"(get_common_arg_val<uint32_t>({len(kernel.common_args)}) == k)")
                kernels[role] = replace(kernel, text=texts[key], defines=(*kernel.defines, choice))
            groups.append(replace(group, kernels=kernels))
        launches.append(replace(launch, groups=tuple(groups)))
    return replace(run, launches=tuple(launches)), mutants


def _selected(run: Run, mutant: int, seed: int) -> Run:
    launches = [
        replace(
            launch,
            groups=tuple(
                replace(
                    group,
                    kernels={
                        role: replace(kernel, common_args=(*kernel.common_args, mutant))
                        for role, kernel in group.kernels.items()
                    },
                )
                for group in launch.groups
            ),
        )
        for launch in run.launches
    ]
    return replace(run, launches=tuple(launches), seed=seed)
