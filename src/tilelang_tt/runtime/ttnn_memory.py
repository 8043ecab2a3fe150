"""Where a tensor of the plan lies, in ttnn's words, and whether a tensor of ttnn lies so.

    {"pages": [...], "shape": [...], "cores": [...]}  ->  ttnn.MemoryConfig
    words of ttnn.TensorAccessorArgs                  ->  node and place of every page

The worker and the process of a user who holds ttnn tensors share this file. It imports nothing of the package, because
the worker's interpreter need not have it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_SHARDED = 1  # of the first accessor word
_HEAD = 4  # words before the pages: flags, page size, rank, banks
_IN_A_ROW = 31  # bit of the word with the number of banks: shards are dealt in runs, not in turns


def memory_config(ttnn: Any, memory: str, shards: dict[str, Any], shape: Sequence[int]) -> Any:
    """Interleaved, or N-D shards of `shape` elements on the plan's cores, in the plan's order."""
    if not shards:
        return ttnn.L1_MEMORY_CONFIG if memory == "l1" else ttnn.DRAM_MEMORY_CONFIG
    return config_of(ttnn, memory, (box_shards(ttnn, shards, shape),))


def config_of(ttnn: Any, memory: str, shards: tuple[Any, ...]) -> Any:
    """Of `box_shards`, or of `matrix_shards`."""
    kind, (*layout, spec) = buffer_kind(ttnn, memory), shards
    return ttnn.MemoryConfig(*layout, kind, spec)


def box_shards(ttnn: Any, shards: dict[str, Any], shape: Sequence[int]) -> Any:
    """N-D shards of `shape` elements."""
    return ttnn.NdShardSpec(ttnn.Shape(list(shape)), _cores(ttnn, shards))


def matrix_shards(ttnn: Any, shards: dict[str, Any], page: Sequence[int]) -> tuple[Any, Any]:
    """Shards of all rows of all matrices, one below the other, which N-D shards cannot be; `page`: rows and columns."""
    (_, rows, columns), (_, high, wide) = shards["pages"], shards["shape"]
    layouts, cores = ttnn.TensorMemoryLayout, _cores(ttnn, shards)
    layout = layouts.HEIGHT_SHARDED if columns <= wide else layouts.WIDTH_SHARDED
    if columns > wide and rows > high:
        layout = layouts.BLOCK_SHARDED
        first, last = (ttnn.CoreCoord(*shards["cores"][end]) for end in (0, -1))
        cores = ttnn.CoreRangeSet([ttnn.CoreRange(first, last)])
    return layout, ttnn.ShardSpec(cores, [high * page[0], wide * page[1]], ttnn.ShardOrientation.ROW_MAJOR)


def buffer_kind(ttnn: Any, memory: str) -> Any:
    return ttnn.BufferType.L1 if memory == "l1" else ttnn.BufferType.DRAM


def _cores(ttnn: Any, shards: dict[str, Any]) -> Any:
    cores = [ttnn.CoreCoord(x, y) for x, y in shards["cores"]]
    return ttnn.CoreRangeSet([ttnn.CoreRange(core, core) for core in cores])  # one by one: in this order


def page_places(words: list[int]) -> tuple[Any, Any]:
    """For every page of a sharded tensor the node of its bank and its place there, from TensorAccessorArgs words."""
    import numpy

    rank, banks, in_a_row = words[2], words[3] & ~(1 << _IN_A_ROW), words[3] >> _IN_A_ROW
    pages, shard = words[_HEAD : _HEAD + rank], words[_HEAD + rank : _HEAD + 2 * rank]
    halves = [half for word in words[_HEAD + 2 * rank :] for half in (word & 0xFFFF, word >> 16)]
    number = within = numpy.zeros(pages, dtype=numpy.int64)
    shards = volume = 1
    for at, whole, part in zip(numpy.indices(pages), pages, shard, strict=True):
        count = -(-whole // part)
        number, within = number * count + at // part, within * part + at % part
        shards, volume = shards * count, volume * part
    if in_a_row:
        bank, turn = divmod(number, shards // banks)
    else:
        turn, bank = divmod(number, banks)
    return numpy.array(halves)[bank].ravel(), (turn * volume + within).ravel()


def dealt_in_runs(words: list[int]) -> bool:
    """Whether consecutive shards lie on one core, and not on one core after the other."""
    return bool(words[0] & _SHARDED) and words[3] >> _IN_A_ROW == 1


def lies_so(ttnn: Any, device: Any, shards: dict[str, Any], words: list[int]) -> bool:
    """Whether a tensor with these accessor words has the plan's shards, page by page."""
    if not words[0] & _SHARDED:
        return False
    nodes = [device.worker_core_from_logical_core(ttnn.CoreCoord(x, y)) for x, y in shards["cores"]]
    packed = [node.x << 8 | node.y for node in nodes] + [0]
    pairs = [packed[at] | packed[at + 1] << 16 for at in range(0, len(nodes), 2)]
    wanted = [_SHARDED, 0, len(shards["pages"]), len(nodes), *shards["pages"], *shards["shape"], *pairs]
    found, expected = page_places(words), page_places(wanted)
    return all(len(a) == len(b) and bool((a == b).all()) for a, b in zip(found, expected, strict=True))
