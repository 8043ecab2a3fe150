"""Where pages lie, from the words of a tensor accessor: every page against a count by hand."""

import numpy

from tilelang_tt.runtime.ttnn_memory import dealt_in_runs, page_places

NODES = (0x1212, 0x1312, 0x1213)  # three cores, x and y in a byte each
PAIRS = (NODES[0] | NODES[1] << 16, NODES[2])


def words(banks: int) -> list[int]:
    """2 x 6 pages in shards of 1 x 2."""
    return [1, 2048, 2, banks, 2, 6, 1, 2, *PAIRS]


def test_shards_in_turns() -> None:
    nodes, places = page_places(words(3))
    number = numpy.arange(12) // 2
    assert nodes.tolist() == [NODES[shard % 3] for shard in number]
    assert places.tolist() == [shard // 3 * 2 + page % 2 for page, shard in enumerate(number)]
    assert not dealt_in_runs(words(3))


def test_shards_in_runs() -> None:
    nodes, places = page_places(words(3 | 1 << 31))
    number = numpy.arange(12) // 2
    assert nodes.tolist() == [NODES[shard // 2] for shard in number]
    assert places.tolist() == [shard % 2 * 2 + page % 2 for page, shard in enumerate(number)]
    assert dealt_in_runs(words(3 | 1 << 31))
