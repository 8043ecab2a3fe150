"""Layouts that are refused by target options, while a kernel is traced, at the call, and for `match`."""

import re
from collections.abc import Callable
from typing import Any

import pytest
import refused_layouts
import tilelang
import tilelang.language as T
import torch
from refusals import places

import tilelang_tt.language as TT
from tilelang_tt.diagnostics import ArgumentError, TenstorrentError


def plain(m: int = 256, n: int = 256, block: int = 32) -> Any:
    @T.prim_func
    def main(A: T.Tensor((m, n), "bfloat16"), C: T.Tensor((m, n), "bfloat16")):
        with T.Kernel(T.ceildiv(n, block), T.ceildiv(m, block), threads=128) as (bx, by):
            a = T.alloc_shared((block, block), "bfloat16")
            T.copy(A[by * block, bx * block], a)
            for i, j in T.Parallel(block, block):
                a[i, j] = a[i, j] + a[i, j]
            T.copy(a, C[by * block, bx * block])

    return main


def text_of(build: Callable[[], Any], **options: Any) -> str:
    """Without the name of the file of this test, and without lines."""
    with pytest.raises(TenstorrentError) as caught:
        tilelang.compile(build(), target={"kind": "tenstorrent", **options})
    return re.sub(r"\S*test_layouts\.py:\d+", "LINE", str(caught.value))


# --- target options ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("layout", "text"),
    [
        (
            {"X": {"memory": "L1"}},
            "error[TT610]: target option 'layout' names 'X'; kernel 'main' has no such tensor\n"
            "  help: its tensors: A, C",
        ),
        (
            {"A": {"memory": "L2"}},
            "error[TT602]: target option 'layout': 'memory' cannot be 'L2'\n  help: valid values: DRAM, L1",
        ),
        (
            {"A": {"memory": "L1", "shard": (48, 256)}},
            "error[TT186]: target option 'layout': a shard of 48 x 256 elements of 'A' is not made of 32x32 tiles: "
            "axis 0 has 48\n  help: take a multiple of 32, for example 64",
        ),
        (
            {"C": {"storage": "bfloat8_b", "pages": "row"}},
            "error[TT188]: target option 'layout': 'C' cannot be stored as bfloat8_b: this kernel uses it row by row\n"
            "  help: leave out storage=",
        ),
        (
            "L1",
            "error[TT602]: target option 'layout' cannot be 'L1'\n  help: valid values: "
            '{"A": {"memory": "L1", "shard": "block", "grid": "8x8"}}: a dict, or the same as JSON',
        ),
        (
            {"A": "L1"},
            "error[TT602]: target option 'layout' cannot be {'A': 'L1'}\n  help: valid values: "
            '{"A": {"memory": "L1", "shard": "block", "grid": "8x8"}}: a dict, or the same as JSON',
        ),
    ],
)
def test_options(layout: Any, text: str) -> None:
    assert text_of(plain, layout=layout) == text


def test_room_without_lines() -> None:
    """Tensors placed by the target have no line to name."""
    both = {"memory": "L1", "shard": "block", "grid": (2, 1)}
    assert text_of(lambda: plain(1024, 1024), layout={"A": both, "C": both}) == (
        "error[TT209]: tensors of kernel 'main' need 2,097,152 B of L1 per core; Wormhole has 1,393,280 B\n"
        "  note: tensor A ... 1,048,576 B\n"
        "  note: tensor C ... 1,048,576 B\n"
        "  help: leave out shard= of 'A': dealt to all cores it takes 32,768 B of each"
    )
    tilelang.compile(plain(1024, 1024), target={"kind": "tenstorrent", "layout": {"A": {"memory": "L1"}, "C": both}})


def test_dynamic_shards_that_exceed_l1_are_refused_at_the_call() -> None:
    m = T.dynamic("m")

    @T.prim_func
    def main(A: T.Tensor((m, 1024), "float32"), C: T.Tensor((m, 1024), "float32")):
        with T.Kernel(32, T.ceildiv(m, 32), threads=128) as (bx, by):
            a = T.alloc_shared((32, 32), "float32")
            T.copy(A[by * 32, bx * 32], a)
            T.copy(a, C[by * 32, bx * 32])

    layout = {"A": {"memory": "L1", "shard": "height", "grid": (2, 1)}}
    kernel = tilelang.compile(main, target={"kind": "tenstorrent", "layout": layout})
    with pytest.raises(TenstorrentError) as caught:
        kernel(torch.zeros(1024, 1024), torch.zeros(1024, 1024))
    assert str(caught.value) == (
        "error[TT410]: tensor 'A' of kernel 'main' needs 2,097,152 B of the L1 of each core; "
        "Wormhole has 1,393,280 B left\n"
        "  help: use more cores for its shards, or leave it in DRAM"
    )


# --- annotations ------------------------------------------------------------------------------------


def twice(**second: Any) -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "bfloat16"), C: T.Tensor((64, 64), "bfloat16")):
        with T.Kernel(1, threads=128):
            TT.layout(A, memory="L1", shard="block", grid=(2, 2))  # line: first
            TT.layout(A, **second)  # line: second
            a = T.alloc_shared((64, 64), "bfloat16")
            T.copy(A, a)
            T.copy(a, C)

    return main


@pytest.mark.parametrize(
    ("second", "said"),
    [
        ({"memory": "DRAM"}, "memory is DRAM here, and L1"),
        ({"shard": "height", "grid": (2, 2)}, "shard is height here, and block"),
        ({"shard": "block", "grid": "2x2+1+1"}, "cores is 2x2+1+1 here, and 2x2"),
    ],
)
def test_two_annotations_that_disagree(second: dict[str, Any], said: str) -> None:
    with pytest.raises(TenstorrentError) as caught:
        tilelang.compile(twice(**second), target="tenstorrent")
    lines = places(twice)
    assert str(caught.value) == (
        f"{__file__}:{lines['second']}: error[TT181]: two layouts of 'A' disagree: {said} "
        f"at {__file__}:{lines['first']}\n"
        f"    TT.layout(A, **second)  # line: second\n  help: say '{said.split()[0]}' of 'A' once"
    )


def test_annotations_that_add_up() -> None:
    kernel = tilelang.compile(twice(storage="bfloat8_b"), target="tenstorrent")
    assert "L1, shards of 1 x 1 tiles over 4 cores, 1,088 B of each" in kernel.explain(whole=True)


def in_parts(first: dict[str, Any], second: dict[str, Any]) -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "bfloat16"), C: T.Tensor((64, 64), "bfloat16")):
        with T.Kernel(1, threads=128):
            TT.layout(A, **first)
            TT.layout(A, **second)  # line: second
            a = T.alloc_shared((64, 64), "bfloat16")
            T.copy(A, a)
            T.copy(a, C)

    return main


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"memory": "L1", "shard": "block"}, {"grid": (2, 2)}),
        ({"order": "column"}, {"memory": "L1", "shard": "block", "grid": (2, 2)}),
        ({"cores": "2x2"}, {"shard": "block", "memory": "L1"}),
    ],
)
def test_each_place_says_a_part(first: dict[str, Any], second: dict[str, Any]) -> None:
    kernel = tilelang.compile(in_parts(first, second), target="tenstorrent")
    assert "L1, shards of 1 x 1 tiles over 4 cores, 2,048 B of each" in kernel.explain(whole=True)
    kernel = tilelang.compile(in_parts(second, {}), target={"kind": "tenstorrent", "layout": {"A": first}})
    assert "L1, shards of 1 x 1 tiles over 4 cores, 2,048 B of each" in kernel.explain(whole=True)


def test_parts_that_make_no_layout() -> None:
    with pytest.raises(TenstorrentError) as caught:
        tilelang.compile(
            in_parts({"pages": "row"}, {"memory": "L1", "shard": "block", "grid": (2, 2)}), target="tenstorrent"
        )
    assert str(caught.value) == (
        f"{__file__}:{places(in_parts)['second']}: error[TT180]: pages='row' and a shard exclude each other: "
        "shards are of tiles\n    TT.layout(A, **second)  # line: second\n  help: leave one of them out"
    )
    text = text_of(plain, layout={"A": {"memory": "L1", "shard": "block"}})
    assert text == (
        "error[TT602]: target option 'layout': shard='block' needs the cores that hold the shards\n"
        "  help: add grid=(8, 8), or cores='8x4+0+2'"
    )


def test_an_annotation_of_a_tensor_that_is_not_used() -> None:
    def build() -> Any:
        @T.prim_func
        def main(
            A: T.Tensor((64, 64), "bfloat16"), Z: T.Tensor((64, 64), "bfloat16"), C: T.Tensor((64, 64), "bfloat16")
        ):
            with T.Kernel(1, threads=128):
                TT.layout(Z, memory="L1")
                a = T.alloc_shared((64, 64), "bfloat16")
                T.copy(A, a)
                T.copy(a, C)

        return main

    a = torch.ones(64, 64, dtype=torch.bfloat16)
    c = torch.zeros_like(a)
    tilelang.compile(build(), target="tenstorrent")(a, a, c)
    assert torch.equal(a, c)


def traced(what: str) -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "bfloat16"), C: T.Tensor((64, 64), "bfloat16"), n: T.int32):
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_shared((64, 64), "bfloat16")
            if what == "shared":
                TT.layout(a, memory="L1")
            elif what == "name":
                TT.layout("A", memory="L1")
            elif what == "match":
                TT.schedule(match=bx)
            else:
                TT.layout(A, shard=(n, 64))
            T.copy(A, a)
            T.copy(a, C)

    return main


@pytest.mark.parametrize(
    ("what", "text"),
    [
        (
            "shared",
            "error[TT316]: TT.layout takes a tensor of the kernel, not a Buffer in shared.dyn memory\n"
            "  help: name a parameter of the kernel",
        ),
        (
            "name",
            "error[TT316]: TT.layout takes a tensor of the kernel, not a str\n  help: name a parameter of the kernel",
        ),
        (
            "match",
            "error[TT316]: TT.schedule takes a tensor of the kernel, not a Var\n  help: name a parameter of the kernel",
        ),
        (
            "value",
            "error[TT316]: TT.layout takes numbers, texts and tuples of them: {'shard': (n, 64)}\n"
            "  help: values must be known when the kernel is traced",
        ),
    ],
)
def test_what_is_no_tensor_is_refused_while_tracing(what: str, text: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        traced(what)
    assert str(caught.value) == text


# --- match ------------------------------------------------------------------------------------------

OTHERWISE = "  help: give 'C' a layout in L1 whose shards are whole blocks, or leave 'match' out"


@pytest.mark.parametrize(
    ("layout", "why"),
    [
        ({}, "the tensor is not sharded, so no core holds a piece of it"),
        ({"memory": "L1"}, "the tensor is not sharded, so no core holds a piece of it"),
        ({"memory": "DRAM", "shard": "height", "grid": (4, 1)}, "its shards lie in DRAM, which no core holds"),
        ({"memory": "L1", "shard": (32, 32), "grid": (4, 1)}, "cores hold several shards of it"),
        (
            {"memory": "L1", "shard": "height", "grid": (3, 1)},
            None,
        ),
        (
            {"memory": "L1", "shard": (96, 256), "grid": (3, 1)},
            None,
        ),
    ],
)
def test_match(layout: dict[str, Any], why: str | None) -> None:
    options = {"layout": {"C": layout} if layout else {}, "schedule": {"match": "C"}}
    if why is None:
        a = torch.randn(256, 256).bfloat16()
        c = torch.zeros_like(a)
        tilelang.compile(plain(), target={"kind": "tenstorrent", **options})(a, c)
        assert torch.equal(c, a + a)
    else:
        text = text_of(plain, **options)
        assert text == f"LINE: error[TT608]: match 'C': {why}\n    {KERNEL_LINE}\n{OTHERWISE}"


KERNEL_LINE = "with T.Kernel(T.ceildiv(n, block), T.ceildiv(m, block), threads=128) as (bx, by):"


def test_match_where_shards_are_no_rectangles_of_blocks() -> None:
    """Blocks of 64 x 64 begin in shards of 96 x 256 in turn 2, 1, 1 rows of blocks."""
    layout = {"C": {"memory": "L1", "shard": (96, 256), "grid": (3, 1)}}
    text = text_of(lambda: plain(block=64), layout=layout, schedule={"match": "C"})
    assert text == (
        "LINE: error[TT608]: match 'C': the blocks of its shards are no rectangles of the grid, all of one size\n"
        f"    {KERNEL_LINE}\n{OTHERWISE}"
    )


def test_match_of_a_dynamic_grid() -> None:
    """Which rows a block stores is no number that a launcher could compute: every second pair changes places."""

    def build() -> Any:
        m = T.dynamic("m")

        @T.prim_func
        def main(A: T.Tensor((m, 64), "bfloat16"), C: T.Tensor((m, 64), "bfloat16")):
            with T.Kernel(T.ceildiv(m, 64)) as by:
                block = T.alloc_shared((32, 64), "bfloat16")
                T.copy(A[by * 64, 0], block)
                T.copy(block, C[T.if_then_else(by % 2 < 1, by + 1, by - 1) * 64, 0])

        return main

    layout = {"C": {"memory": "L1", "shard": "height", "grid": (4, 1)}}
    text = text_of(build, layout=layout, schedule={"match": "C"})
    assert text.startswith("LINE: error[TT608]: match 'C': ")
    assert "known only at run time" in text


# --- what the help proposes -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("build", "settings"),
    [
        ("shard_of_parts_of_tiles", {"memory": "L1", "shard": (64, 256)}),
        ("shard_of_several_outer_axes", {"memory": "L1", "shard": (2, 4, 32, 32)}),
        ("shard_of_several_outer_axes", {"memory": "L1", "shard": (1, 2, 32, 32)}),
        ("shards_without_cores", {"memory": "L1", "shard": "block", "grid": (8, 8)}),
        ("shards_without_cores", {"memory": "L1", "shard": "height", "cores": "8x4+0+2"}),
        ("blocks_over_two_rectangles", {"memory": "L1", "shard": "height", "cores": "2x2,2x2+4+4"}),
        ("cores_outside_the_chip", {"memory": "L1", "shard": "block", "grid": (8, 8)}),
        ("smaller_tiles", {"tile": (32, 32), "pages": "tile", "memory": "L1"}),
    ],
)
def test_what_the_help_proposes_compiles(build: str, settings: dict[str, Any]) -> None:
    assert getattr(refused_layouts, build)() is not None
    shape = (4, 4, 64, 64) if len(settings.get("shard", ())) == 4 else (256, 256)
    tilelang.compile(refused_layouts.doubled(shape, **settings), target="tenstorrent")
