"""Long lists of units: each core finds its own in its L1, where the host puts it before the first launch.

    policy list, 1,000 units on core (0, 0)  ->  a tensor, a page of 4,032 B on each core; its address is an argument

Short lists are runtime arguments. The tensor is none of the plan's: launchers and main.cpp make it from the lists.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tilelang_tt.runtime.plan import LaunchPlan, Plan, ShardPlan, TensorPlan

_FORMAT = "UInt32"


def list_tensor(launch: LaunchPlan) -> TensorPlan | None:
    """Where the lists of a launch lie; None: it has none, or they are arguments."""
    if not launch.list_bytes:
        return None
    cores = tuple(launch.schedule.cores(launch.grid))
    shards = ShardPlan((1, len(cores), 1), (1, 1, 1), cores)
    no_param, pages = -1, (len(cores), 1, 1)
    return TensorPlan(
        list_name(launch),
        no_param,
        _FORMAT,
        launch.list_bytes,
        None,
        None,
        *pages,
        table=True,
        memory="l1",
        shards=shards,
    )


def list_name(launch: LaunchPlan) -> str:
    """No tensor has such a name. Kernel files differ in theirs, which launches need not."""
    return f"units of {launch.kernels[0].source.removesuffix('.cpp')}"


def list_tensors(plan: Plan) -> list[TensorPlan]:
    """Those of all launches."""
    return [tensor for tensor in map(list_tensor, plan.launches) if tensor is not None]


def list_words(lists: Sequence[Sequence[int]], page_bytes: int) -> np.ndarray[tuple[int, int], np.dtype[np.uint32]]:
    """A page for each core, filled up with zeros."""
    words = np.zeros((len(lists), page_bytes // 4), dtype=np.uint32)
    for page, units in zip(words, lists, strict=True):
        page[: len(units)] = units
    return words
