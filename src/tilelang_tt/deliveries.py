"""Which core reads a block for which others: settled when the work of a launch is dealt out.

    A_s : one for all cores that agree on by       8 x 8 blocks on 8 x 8 cores
        row y of cores: core (y, y) reads by = y and sends it to the rectangle (0, y) .. (7, y)

Cores that agree on some block indices, unit by unit, need the same blocks in the same order. Those of them that fill
a rectangle form a group: one of them reads and sends, the others receive. The senders of several groups lie on a
diagonal: in one row or column of cores, all that is read from DRAM would go through the same links of the NoC. A core
in no larger group reads for itself: every schedule is right, and a launch with uneven shares only sends less.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from tilelang_tt.core_ranges import Core, CoreRange
from tilelang_tt.schedule import BOX_POLICIES, Schedule, Share, numbers_of, ranges_of

DeliveryWord = Literal["reads", "from_x", "from_y", "receivers", "first_x", "first_y", "last_x", "last_y"]
DELIVERY_WORDS: tuple[DeliveryWord, ...] = get_args(DeliveryWord)

# Where several cores send, from their shards: the core's own turn, the others; then for each turn who sends.
OwnerWord = Literal["turn", "receivers", "first_x", "first_y", "last_x", "last_y"]
OWNER_WORDS: tuple[OwnerWord, ...] = get_args(OwnerWord)

AnyWord = DeliveryWord | OwnerWord | Literal["owner"]


@dataclass(frozen=True)
class Delivery:
    """How blocks come to one core. Cores are logical ones."""

    sender: Core | None = None  # None: the core reads for itself
    receivers: int = 0  # cores that it sends to
    group: CoreRange | None = None  # these and itself
    owners: tuple[Core, ...] = ()  # of the group, who send blocks from their shards in turn; none: the sender reads
    turn: int = 0  # whose owner the core is; as many as there are: no one's


def deliveries(
    schedule: Schedule,
    shares: Sequence[Share],
    extents: Sequence[int],
    axes: Sequence[int],
    holders: Sequence[Core] = (),
) -> dict[Core, Delivery]:
    """Of every core. `extents`: of all block indices, first column; `axes`: those that tell the blocks apart.

    `holders`: cores that hold shards, in the order of these: all of a group send in turn. None: one reads and sends.
    """
    groups: dict[bytes, list[Core]] = {}
    for share in shares:
        if share.count:
            groups.setdefault(_loads(schedule, share, len(shares), extents, axes), []).append(share.core)
    found = {share.core: Delivery() for share in shares}
    for cores in groups.values():
        for group in ranges_of(cores):
            members = group.cores("row")
            if holders:
                owners = tuple(core for core in holders if core in members)
                turns = {core: turn for turn, core in enumerate(owners)}
                for core in members:
                    turn = turns.get(core, len(owners))
                    found[core] = Delivery(None, len(members) - 1, group, owners, turn)
            elif len(members) > 1:
                sender = members[sum(group.origin) % len(members)]
                found |= {core: Delivery(sender) for core in members}
                found[sender] = Delivery(None, len(members) - 1, group)
    return found


def _loads(schedule: Schedule, share: Share, cores: int, extents: Sequence[int], axes: Sequence[int]) -> bytes:
    """What two cores have in common if they need the same blocks, one after the other."""
    if schedule.policy not in (*BOX_POLICIES, "list") and schedule.order != "row":
        return repr(share).encode()  # numbers of another order: each core by itself
    rest, indices = numbers_of(schedule, share, cores, extents[0] if extents else 1), []
    for extent in extents:
        indices.append(rest % extent)
        rest = rest // extent
    box = (share.columns, share.rows)  # within which blocks are numbered
    return np.array([share.count, *box]).tobytes() + b"".join(indices[axis].tobytes() for axis in axes)


_OPPOSITE: dict[AnyWord, AnyWord] = {
    "first_x": "last_x", "first_y": "last_y", "last_x": "first_x", "last_y": "first_y",
}  # fmt: skip


def word_for(word: AnyWord, role: str) -> AnyWord:
    """What a kernel is told as a word: the writer's NoC runs the other way, so a rectangle begins at its end."""
    return _OPPOSITE.get(word, word) if role == "writer" else word


def delivery_words(delivery: Delivery, node: Callable[[Core], Core]) -> tuple[int, ...]:
    """The values of `DELIVERY_WORDS` for one core; `node`: where a core is on the NoC."""
    sender = (0, 0) if delivery.sender is None else node(delivery.sender)
    first, last = (0, 0), (0, 0)
    if delivery.group is not None:
        first, last = node(delivery.group.origin), node(delivery.group.last)
    return (int(delivery.sender is None), *sender, delivery.receivers, *first, *last)


def all_words(delivery: Delivery, node: Callable[[Core], Core]) -> dict[tuple[AnyWord, int | None], int]:
    """The value of every word that one core may be told; of `owner`, by turn."""
    found: dict[tuple[AnyWord, int | None], int] = {}
    for word, value in zip(DELIVERY_WORDS, delivery_words(delivery, node), strict=True):
        found[word, None] = value
    found["turn", None] = delivery.turn
    return found | {("owner", turn): packed(node(owner)) for turn, owner in enumerate(delivery.owners)}


def packed(node: tuple[int, int]) -> int:
    """Where a core is on the NoC, in one word."""
    return node[0] << 16 | node[1]
