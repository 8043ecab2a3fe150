"""What becomes of each operation in a layout: its largest error, the code of a refusal, or where results are wrong."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from block_cases import BLOCKS, REDUCTIONS
from element_cases import ARITHMETIC, FUNCTIONS, LOGIC
from integer_cases import INTEGERS, TRUTH_VALUES
from support_layouts import TAIL
from support_trial import MODES, AnyCase, BlockTrial, ElementTrial, Trial

from tilelang_tt.diagnostics import TenstorrentError

FLOATS = ("float32", "bfloat16", "float16", "float8_e4m3fn")
FAMILIES: dict[str, tuple[tuple[AnyCase, ...], tuple[str, ...]]] = {
    "arithmetic": (ARITHMETIC, FLOATS),
    "functions": (FUNCTIONS, FLOATS),
    "logic": (LOGIC, FLOATS),
    "integers": (INTEGERS, ("int32", "int8", "uint8")),
    "truth values": (TRUTH_VALUES, ("bool",)),
    "blocks": (BLOCKS, FLOATS),
    "reductions": (REDUCTIONS, FLOATS),
}
WHOLE_BLOCKS = ("blocks", "reductions")  # families of statements
ARCHS = ("wormhole_b0", "blackhole")


@dataclass(frozen=True)
class Group:
    """Cases of one kernel."""

    family: str
    dtype: str
    layout: str
    ending: str

    def __str__(self) -> str:
        return " | ".join((self.family, self.dtype, self.layout, self.ending))

    @property
    def cases(self) -> tuple[AnyCase, ...]:
        """All of the family; outside the plain layout, the first of each operation."""
        cases = FAMILIES[self.family][0]
        first = {case.op: case for case in reversed(cases)}
        return cases if self.layout == "tile" else tuple(case for case in cases if first[case.op] is case)

    def trial(self, cases: Sequence[AnyCase]) -> Trial:
        kind = BlockTrial if self.family in WHOLE_BLOCKS else ElementTrial
        return kind(cases, self.dtype, self.layout, self.ending == TAIL)


@dataclass(frozen=True)
class Verdict:
    """Of one case, or of all cases of an operation."""

    error: float = 0.0  # the largest, in units of its bound
    problem: str = ""  # the code of a refusal, or where results were wrong
    upstream: bool = True  # TileLang's CPU backend has code for it, or for one of its cases

    def __str__(self) -> str:
        return (self.problem or f"{self.error:.2f}") + ("" if self.upstream else "~")

    @classmethod
    def parse(cls, text: str) -> "Verdict":
        upstream, text = not text.endswith("~"), text.rstrip("~")
        is_number = text[0].isdigit()
        return cls(float(text) if is_number else 0.0, "" if is_number else text, upstream)

    def __or__(self, other: "Verdict") -> "Verdict":
        """The worse of both."""
        problem = self.problem or other.problem
        return Verdict(max(self.error, other.error), problem, self.upstream or other.upstream)


_no_code: set[AnyCase] = set()  # cases TileLang's CPU backend cannot compile, as found so far


def upstream_results(group: Group, cases: Sequence[AnyCase]) -> dict[AnyCase, torch.Tensor]:
    """By TileLang's CPU backend; cases it has no code for are found by halving."""
    cases = [case for case in cases if case.upstream and case not in _no_code]
    if not cases:
        return {}
    try:
        return dict(zip(cases, group.trial(cases).run_upstream(), strict=True))
    except Exception:  # TVM's and the C compiler's
        if len(cases) == 1:
            _no_code.add(cases[0])
            return {}
        middle = len(cases) // 2
        return upstream_results(group, cases[:middle]) | upstream_results(group, cases[middle:])


Judged = dict[AnyCase, Verdict]


def judge(group: Group, cases: Sequence[AnyCase], upstream: dict[AnyCase, torch.Tensor], arch: str) -> Judged:
    """Of every case on one chip; what is refused, or stops, is found by halving."""
    try:
        trial = group.trial(cases)
        results = trial.run(arch)
    except Exception as error:
        if len(cases) == 1:
            code = error.code if isinstance(error, TenstorrentError) else f"crash:{type(error).__name__}"
            return {cases[0]: Verdict(problem=code, upstream=cases[0] in upstream)}
        middle = len(cases) // 2
        return judge(group, cases[:middle], upstream, arch) | judge(group, cases[middle:], upstream, arch)
    found = {}
    for k, case in enumerate(cases):
        modes = [mode for mode in MODES if mode != case.not_in]
        errors = {mode: trial.error(k, results[mode][k], upstream.get(case)) for mode in modes}
        wrong = [f"{arch}:{mode}:{error:.3g}" for mode, error in errors.items() if error > 1]
        worst = max(error for error in errors.values() if error <= 1) if not wrong else 0.0
        found[case] = Verdict(worst, "wrong:" + ",".join(wrong) if wrong else "", case in upstream)
    return found


def verdicts(group: Group, archs: Sequence[str] = ARCHS) -> dict[str, Verdict]:
    """Each operation's verdict over all settings."""
    upstream = upstream_results(group, group.cases)
    operations: dict[str, Verdict] = {}
    for arch in archs:
        for case, verdict in judge(group, group.cases, upstream, arch).items():
            operations[case.op] = operations[case.op] | verdict if case.op in operations else verdict
    return operations
