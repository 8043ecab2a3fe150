"""Which choice is tried next: the one that differs least from the best so far, until the time is over.

as written -> its neighbours -> neighbours of the best of these -> ...      several at a time, one for each worker
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait

from tilelang_tt.tuning.measure import Outcome
from tilelang_tt.tuning.space import Choice, Space

Submit = Callable[[Choice], "Future[Outcome]"]
Seen = Callable[[Outcome], None]


def search(
    space: Space, known: Mapping[Choice, Outcome], submit: Submit, *, jobs: int, budget: float, seen: Seen
) -> dict[Choice, Outcome]:
    """Outcomes by choice, known ones among them. No choice is begun after `budget` seconds; Ctrl-C ends it as well,
    and where nothing is known of the kernel as written, it ends the caller.
    """
    found = {choice: known[choice] for choice in space.choices if choice in known}
    waiting = [choice for choice in space.choices if choice not in found]
    lost: list[Choice] = []  # with their process; each is tried once more, alone
    running: dict[Future[Outcome], Choice] = {}
    end = time.monotonic() + budget
    try:
        while True:
            while waiting and len(running) < jobs and time.monotonic() < end and not lost:
                choice = _next(waiting, ranked(found.values()))
                waiting.remove(choice)
                running[submit(choice)] = choice
            again = lost.pop(0) if lost and not running else None
            if again is not None:
                running[submit(again)] = again
            if not running:
                return found
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                choice = running.pop(future)
                error = future.exception()
                if error is not None and again is None:
                    lost.append(choice)
                    continue
                found[choice] = future.result() if error is None else _lost(choice, error)
                seen(found[choice])
    except KeyboardInterrupt:
        for future in running:
            future.cancel()
        if Choice() not in found:
            raise
        return found


def ranked(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """Those that take the tensors that the kernel as written takes, the fastest first."""
    every = list(outcomes)
    written = next((one for one in every if one.choice == Choice()), None)
    timed = [(one.microseconds, len(one.choice.values), one) for one in every if one.microseconds is not None]
    return [
        one for *_, one in sorted(timed, key=lambda row: row[:2]) if written is None or one.tensors == written.tensors
    ]


def _next(waiting: list[Choice], tried: list[Outcome]) -> Choice:
    start = tried[0].choice if tried else Choice()
    return min(waiting, key=start.distance)  # the first of them in the order of the space


def _lost(choice: Choice, error: BaseException) -> Outcome:
    return Outcome(choice, None, reason=f"its process was lost: {type(error).__name__}")
