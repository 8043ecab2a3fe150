"""Where blocks are live: behind loops, branches and sections, and which of them may share a circular buffer."""

from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.dataflow import Place, conflict, places, sources, writers
from tilelang_tt.ir.text_program import parse_tile
from tilelang_tt.ir.tile import maps_of, writes

_HEAD = """\
program main
  target wormhole_b0, 1 x 2 cores, HiFi4, 32-bit DST
  tensor A: float32[32, 32]; rows axis 0, columns axis 1, [1, 1] tiles Float32 of 4096 B
  size n

launch main
  blocks bx < 1
"""


def _everywhere(body: str) -> tuple[list[Place], dict[str, Buffer]]:
    blocks = "".join(f"  buffer {name}: shared float32[32, 32]; 1 x 1 tiles Float32 of 4096 B\n" for name in "abcd")
    (launch,) = parse_tile(f"{_HEAD}{blocks}  body\n{body}").launches
    return list(places(launch.body)), {buffer.name: buffer for buffer in launch.buffers}


def _live(body: str, behind: str) -> str:
    """The blocks that are live behind the first statement that writes one."""
    everywhere, blocks = _everywhere(body)
    place = next(place for place in everywhere if blocks[behind] in writes(place.stmt))
    return "".join(name for name, block in blocks.items() if place.live_after(block))


def test_a_block_is_live_until_its_last_reader() -> None:
    body = """\
    Fill a = 1
    Map b = a
    Map a = b
    Store b -> A tiles (0, 0) 1 x 1
"""
    assert _live(body, "a") == "a"
    assert _live(body, "b") == "b"


def test_the_next_round_reads() -> None:
    body = """\
    Fill a = 1
    Loop k < 4
      Map b = a
      Store b -> A tiles (0, 0) 1 x 1
"""
    assert _live(body, "b") == "ab"


def test_a_loop_of_unknown_length_may_overwrite_nothing() -> None:
    body = """\
    Fill a = 1
    Loop k < {extent}
      Fill a = 2
    Store a -> A tiles (0, 0) 1 x 1
"""
    assert _live(body.format(extent="2"), "a") == ""
    assert _live(body.format(extent="n"), "a") == "a"


def test_a_branch_overwrites_only_with_both_arms() -> None:
    body = """\
    Fill a = 1
    Branch bx < 1
      Fill a = 2
{otherwise}    Store a -> A tiles (0, 0) 1 x 1
"""
    assert _live(body.format(otherwise=""), "a") == "a"
    assert _live(body.format(otherwise="    Else\n      Fill a = 3\n"), "a") == ""


def test_what_a_result_is_computed_from() -> None:
    everywhere, blocks = _everywhere("    Map b = a\n    Map c = b + b\n    Map d = a\n")
    assert {block.name for block in sources(everywhere[0].body, {blocks["c"]})} == {"a", "b", "c"}


def test_blocks_that_are_needed_at_the_same_time_conflict() -> None:
    everywhere, blocks = _everywhere("""\
    Fill a = 1
    Map b = a + 1
    Map c = b + 1
    Map d = c + b
    Store d -> A tiles (0, 0) 1 x 1
""")
    written_at = writers(everywhere[0].body)
    pairs = {x + y for x in "abcd" for y in "abcd" if x < y and conflict(written_at, blocks[x], blocks[y])}
    assert pairs == {"ab", "bc", "cd", "bd"}


def test_statements_inside_a_section_are_followed_by_its_results() -> None:
    everywhere, blocks = _everywhere("""\
    Fill a = 1
    Section with c in DST
      Gemm c = a @ a
      Map d = c + 1
    Store d -> A tiles (0, 0) 1 x 1
""")
    product = next(place for place in everywhere if blocks["c"] in writes(place.stmt))
    assert maps_of(product.around[1].stmt)
    assert product.live_after(blocks["c"])
    assert not product.live_after(blocks["a"])
