"""The right order: pairs of published variants of the same work that differ by more than a tenth."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from benchmarks.timing.figures import Figure

APART = 1.10


@dataclass(frozen=True)
class Judged:
    figure: Figure
    predicted: float

    @property
    def error(self) -> float:
        return self.predicted / self.figure.published - 1


def same_work(figure: Figure) -> str:
    """What two variants have in common: the result, not how it is made."""
    fields = figure.fields
    if figure.family == "noc":
        names = ("chip", "memory", "pattern", "ntx", "nsub", "size")
        return "|".join(fields[name] for name in names)
    if figure.family == "microbench":
        bench = re.sub(r"self_cycle|hoisted|twocb|half-sync|full-sync|contributions.*", "", fields["bench"])
        config = re.sub(r"(chunk|sub|subblock|block_count)=[0-9x]+", "", fields["config"])
        kind = fields["variant"] if "MB5.B" in bench else ""
        return f"{figure.chip}|{bench}|{config}|{kind}"
    if figure.family.startswith("gemm"):
        return "|".join([fields["M"], fields["K"], fields["N"], fields["grid"].replace(" ", ""), fields["trace"]])
    return ""


def pairs(judged: Sequence[Judged]) -> tuple[int, int]:
    """How many pairs there are, and of how many the clock has the order right."""
    groups: dict[str, list[Judged]] = defaultdict(list)
    for one in judged:
        if key := same_work(one.figure):
            groups[f"{one.figure.family}|{key}"].append(one)
    count = right = 0
    for group in groups.values():
        for a, b in combinations(group, 2):
            fast, slow = sorted((a, b), key=lambda one: one.figure.published)
            if slow.figure.published <= APART * fast.figure.published:
                continue
            count += 1
            right += fast.predicted < slow.predicted
    return count, right
