"""Search for the fastest choice of a kernel, and say what was tried."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Any

from tilelang_tt.cli.usage import UsageError
from tilelang_tt.options import Options
from tilelang_tt.tuning.check import Check, NotComparedError
from tilelang_tt.tuning.executors import LOCAL, executor_of
from tilelang_tt.tuning.measure import Job, Outcome, Subject, measure
from tilelang_tt.tuning.search import ranked, search
from tilelang_tt.tuning.space import Choice, Space, space_of, target_text
from tilelang_tt.tuning.store import Store

BUDGET = 120.0  # seconds
LIMIT = 60.0  # seconds that one timed run may take
CHECK = 60.0  # seconds that a run with numbers may take

Shown = Callable[[Outcome, int, int], None]  # the outcome, how many there are, of how many


@dataclass(frozen=True)
class Tuned:
    """What a search found. `best` is the kernel as written if nothing is faster."""

    subject: Subject
    options: Options
    space: Space
    outcomes: tuple[Outcome, ...]
    known: int  # of them, from earlier searches
    other_results: frozenset[Choice]  # faster, but they compute something else
    not_compared: str | None  # why results were not compared

    @property
    def as_written(self) -> Outcome:
        return next(outcome for outcome in self.outcomes if outcome.choice == Choice())

    @property
    def ranked(self) -> list[Outcome]:
        """What can stand for the kernel as written, the fastest first."""
        return [outcome for outcome in ranked(self.outcomes) if outcome.choice not in self.other_results]

    @property
    def refused(self) -> list[Outcome]:
        return [outcome for outcome in self.outcomes if outcome.microseconds is None]

    @property
    def best(self) -> Outcome:
        return self.ranked[0]

    @property
    def call(self) -> str:
        """`FILE.py:name(...)` of the best choice."""
        return self.subject.call(self.subject.path, dict(self.best.choice.arguments))

    @property
    def target(self) -> str:
        """The target of the best choice."""
        return target_text(self.options, dict(self.best.choice.options))

    def kernel(self) -> Any:
        """The best choice, compiled."""
        from tilelang_tt.cli.discover import load_kernel

        return load_kernel(self.call, self.target)

    def __str__(self) -> str:
        from tilelang_tt.tuning.page import page

        return page(self)

    __repr__ = __str__


def tune(
    kernel: str,
    *,
    target: str | None = None,
    sizes: Mapping[str, int] | None = None,
    choices: Mapping[str, Sequence[Any]] | None = None,
    budget: float = BUDGET,
    executor: Executor | str = LOCAL,
    jobs: int | None = None,
    again: bool = False,
    check: float = CHECK,
    shown: Shown = lambda *_: None,
) -> Tuned:
    """Try choices of `kernel` (FILE.py:name(arguments)) for `budget` seconds; the clock says how long each takes.

    `choices`: values to try, by name of an argument or a target option; otherwise those of `@tilelang.autotune`, or
    numbers near the defaults, and where work is done. `executor`: "local", "dask://HOST:PORT", or an Executor whose
    processes have this package; `jobs` choices are under way at a time. `again`: earlier outcomes do not count.
    `check`: seconds for a run with numbers, which shows that the best choice computes the same; 0 leaves it out.
    """
    subject, options, space = _what_to_tune(kernel, target, dict(sizes or {}), choices or {})
    store = Store(subject, target_text(options))
    known = {} if again else store.read()
    jobs = jobs or os.cpu_count() or 1

    def seen(outcome: Outcome) -> None:
        store.add(outcome)
        count[0] += 1
        shown(outcome, count[0], len(space.choices))

    count = [sum(choice in known for choice in space.choices)]
    begun = count[0]
    if isinstance(executor, Executor):
        found = _search(space, known, executor, subject, options, jobs, budget, seen)
    elif begun == len(space.choices):
        found = {choice: known[choice] for choice in space.choices}
    else:
        with executor_of(executor, jobs) as made:
            found = _search(space, known, made, subject, options, jobs, budget, seen)
    written = found.get(Choice())
    if written is None:
        raise UsageError("the search ended before the kernel as written was timed; give it more time with --budget")
    if written.microseconds is None:
        raise UsageError(f"the kernel as written cannot be timed: {written.reason}")
    others, reason = _checked(subject, options, list(found.values()), check)
    return Tuned(subject, options, space, tuple(found.values()), begun, others, reason)


def _search(
    space: Space,
    known: Mapping[Choice, Outcome],
    executor: Executor,
    subject: Subject,
    options: Options,
    jobs: int,
    budget: float,
    seen: Callable[[Outcome], None],
) -> dict[Choice, Outcome]:
    limit = max(1.0, min(LIMIT, budget))

    def submit(choice: Choice) -> Any:
        return executor.submit(measure, Job(subject, choice, target_text(options, dict(choice.options)), limit))

    return search(space, known, submit, jobs=jobs, budget=budget, seen=seen)


def _what_to_tune(
    text: str, target: str | None, sizes: Mapping[str, int], choices: Mapping[str, Sequence[Any]]
) -> tuple[Subject, Options, Space]:
    """The kernel is built once here, as written: what cannot be built is said before anything is tried."""
    from tilelang_tt.cli.discover import jit_function, load_kernel, parse_reference

    reference = parse_reference(text)
    path = reference.path.resolve()
    subject = Subject(path, path.read_text(), reference.name or "", reference.args, reference.kwargs, dict(sizes))
    try:
        options = load_kernel(text, target).options
        function = jit_function(reference)
    except UsageError:
        function = jit_function(reference)
        if function is None or not function.configs:
            raise
        # Its arguments have no defaults that a kernel can be built from: the first configuration counts as written.
        subject = replace(subject, name=function.name, first=function.configs[0])
        options = load_kernel(subject.call(path), target).options
    if function is None:
        raise UsageError(f"{text} is a kernel that is already built; only a @tilelang.jit function can be tuned")
    subject = replace(subject, name=function.name)
    asked = {name: [str(value) for value in values] for name, values in choices.items()}
    return subject, options, space_of(function, subject.first, asked, options)


def _checked(
    subject: Subject, options: Options, outcomes: list[Outcome], seconds: float
) -> tuple[frozenset[Choice], str | None]:
    """Faster choices that compute something else; and why none was compared, if so."""
    if not seconds:
        return frozenset(), "it was not asked for"
    faster = [one.choice for one in itertools.takewhile(lambda one: one.choice != Choice(), ranked(outcomes))]
    if not faster:
        return frozenset(), None
    try:
        check = Check(subject, options, seconds)
    except NotComparedError as error:
        return frozenset(), str(error)
    others: set[Choice] = set()
    for choice in faster:
        if choice in others:
            continue
        if check.agrees(choice):
            break
        wrong = [value for value in choice.each() if not check.agrees(value)]
        others |= {choice, *(one for one in faster if any(one.holds(value) for value in wrong))}
    return frozenset(others), None
