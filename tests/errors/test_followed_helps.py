"""Every help that offers a rewrite is followed, and what comes of it compiles: each variant of a message.

The catalogue follows one for each code. Here are the others: changes of their kernels' text, or of what these are built
with. A help that cannot be followed by a change of some words stands under NO_REWRITE, with the reason.
"""

from __future__ import annotations

import inspect
import runpy
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import catalogue_kernels
import pytest
import refused_blocks as blocks
import refused_layouts as layouts
import tilelang
from catalogue import _body, _with_imports
from refusals import REFUSALS, Refusal

from tilelang_tt.diagnostics import TenstorrentWarning

Changes = tuple[tuple[str, str], ...]
_FIRST = {one.build.__name__: one for one in reversed(REFUSALS)}

_NO_THREADS = "scalar code runs the kernel as it is; the help says how tiles would be used"

# Of the text of the kernel: before, after.
TEXT: dict[str, Changes] = {
    "filled_too_late": (("        T.copy(X, B", "        T.clear(X)\n        T.copy(X, B"),),
    "filled_where_a_table_says_so": (("for k in", "T.clear(X)\n        for k in"),),
    "filled_in_one_round_only": (("for k in", "T.clear(X)\n        for k in"),),
    "loop_as_long_as_the_row": (
        ("T.serial(i)", "T.serial(32)"),
        ("X[i, j] = X[i, j] + 1.0", "X[i, j] = T.if_then_else(_k < i, X[i, j] + 1.0, X[i, j])"),
    ),
    "elements_behind_the_block": (
        ("X = T.alloc_shared((32, 32)", "X = T.alloc_shared((32, 64)"),
        ("A: T.Tensor((32, 32)", "A: T.Tensor((32, 64)"),
    ),
    "buffer_without_elements": (("(32, 0)", "(32, 32)"), ("A[0:32, 0:0]", "A")),
    "elements_behind_a_row_of_a_view": (("T.Parallel(32, 32)", "T.Parallel(32, 31)"),),
    "elements_before_the_block": (
        ("T.Parallel(32, 64)", "T.Parallel(32, 32)"),
        ("Y[i, j] = X[i, j - 32]", "Y[i, j + 32] = X[i, j]"),
    ),
    "a_neighbour_behind_the_block": (("T.Parallel(32, 64)", "T.Parallel(32, 63)"),),
    "a_row_the_block_has_not": (
        ("X = T.alloc_shared((32, 64)", "X = T.alloc_shared((64, 64)"),
        ("A: T.Tensor((32, 64)", "A: T.Tensor((64, 64)"),
    ),
    "copy_for_several_blocks": (("T.tma_copy(A, X, cluster_mask=3)", "T.copy(A, X)"),),
    "cluster_barrier": (("T.cluster_sync()", 'X = T.alloc_shared((32, 32), "float32")\n        T.copy(A, X)'),),
    "cuda_rounding": (
        ('T.ieee_add(X[0, 0], X[0, 0], "rz")', "X[0, 0] + X[0, 0]"),
        ("        X[0", "        T.copy(A, X)\n        X[0"),
    ),
    "product_into_bytes": (('Y = T.alloc_fragment((32, 32), "int8")', 'Y = T.alloc_fragment((32, 32), "int32")'),),
    "large_integers_in_a_narrow_dst": (),
    "scratch_in_dram": (
        (
            'main(A: T.Tensor((32, 32), "float32")',
            'main(A: T.Tensor((32, 32), "float32"), G: T.Tensor((32, 32), "float32")',
        ),
        ('        G = T.alloc_global((32, 32), "float32")\n', ""),
    ),
    "reducer_of_bits": (('op="bitor"', 'op="max"'),),
    "dtype_of_a_buffer": (('"float8_e8m0fnu"', '"float8_e4m3fn"'),),
    "view_as_another_type": (
        ('T.Tensor((64, 128), "float16")', 'T.Tensor((64, 64), "float32")'),
        ('        Y = T.view(X, (64, 128), dtype="float16")\n', ""),
        ("T.copy(Y, B)", "T.copy(X, B)"),
    ),
    "condition_on_a_copy_that_changes": (("if n[0] > 0", "if N[0] > 0"),),
    "condition_on_a_copy_from_a_place_that_changes": (("if n[0] > 0", "if N[1, 0] > 0"),),
    "copy_to_fewer_axes": (("T.copy(A[1, 0:32, 0:64], X)", "T.copy(A[1, 0:32, 0:64], T.reshape(X, (32, 64)))"),),
    "tensor_of_unpacked_floats": (("T.float4_e2m1_unpacked", '"float4_e2m1fn"'),),
    "shared_block_that_no_thread_fills": (("        A[tx]", "        T.clear(S)\n        A[tx]"),),
    "copy_by_some_threads": (
        ("        if A[tx, 0] > 0:\n            T.copy(A[0, 0], S)", "        T.copy(A[0, 0], S)"),
    ),
    "random_number_of_any_thread": (("        for i in T.Parallel(64):\n            A[i] =", "        A[tx] ="),),
    "more_threads_than_elements": (("T.alloc_shared((32,)", "T.alloc_shared((64,)"),),
    "element_before_the_block_of_threads": (("X[i, tx - 1]", "X[i, (tx + 63) % 64]"),),
    "atomic_update_of_a_block_of_each_thread": (
        ("T.alloc_local", "T.alloc_fragment"),
        ("T.atomic_add(X, A)", "T.atomic_add(A, X)"),
    ),
    "element_of_a_fragment_by_the_thread_index": (("T.alloc_fragment((64,)", "T.alloc_shared((64,)"),),
    "barrier_until_each_thread_is_done": (
        ("            T.sync_threads()\n        A", "        T.sync_threads()\n        A"),
    ),
    "arrays_of_threads_that_do_not_fit": (("2048", "256"),),
    "half_tiles_of_a_vector": (("        TT.layout(A, tile=(32, 16))\n", ""),),
    "half_tiles_in_pieces": (("        TT.layout(A, tile=(16, 32))\n", ""),),
    "shards_of_a_table": (("shard=(32,)", 'memory="DRAM"'),),
    "shards_of_folded_vectors": ((", shard=(1024,)", ""),),
    "storage_of_an_update": (('        TT.layout(A, storage="bfloat8_b")\n', ""),),
    "storage_of_integers": (('        TT.layout(A, storage="bfloat8_b")\n', ""),),
    "wait_for_nobody": (("        T.mbarrier_wait", "        T.mbarrier_arrive(full)\n        T.mbarrier_wait"),),
    "named_barrier_with_too_few_threads": (("T.sync_threads(1, 256)", "T.sync_threads(1, 128)"),),
    "external_function_of_an_element": (('T.call_extern("float32", "__expf", A[tx])', "T.exp(A[tx])"),),
}

# Built with other words.
BUILT: dict[str, Callable[[], Any]] = {
    "too_many_stages": lambda: blocks.gemm(256, 2),
    "too_many_stages_for_blackhole": lambda: blocks.gemm(256, 2),
    "too_big_blocks_without_stages": lambda: blocks.gemm(256, 1),
    "unknown_setting": lambda: layouts.doubled(memory="L1", shard="block", grid=(4, 4)),
    "unknown_memory": lambda: layouts.doubled(memory="L1"),
    "unknown_kind_of_shard": lambda: layouts.doubled(shard="height", grid=(4, 1)),
    "empty_shard": lambda: layouts.doubled(shard=(64, 256)),
    "unknown_order": lambda: layouts.doubled(shard="height", grid=(4, 1), order="column"),
    "format_that_tiles_cannot_have": lambda: layouts.doubled(storage="bfloat4_b"),
    "grid_in_other_words": lambda: layouts.doubled(memory="L1", shard="block", grid="4x4"),
    "grid_of_two_rectangles": lambda: layouts.doubled(memory="L1", shard="height", cores="2x2,1x1+4+4"),
    "grid_and_cores": lambda: layouts.doubled(shard="height", grid=(4, 1)),
    "grid_without_shards": lambda: layouts.doubled(memory="L1", grid=(8, 8), shard="block"),
    "order_without_shards": lambda: layouts.doubled(memory="L1", order="column", shard="height", grid=(4, 1)),
    "shards_without_cores": lambda: layouts.doubled(memory="L1", shard="block", cores="8x4+0+2"),
    "rectangles_that_overlap": lambda: layouts.doubled(memory="L1", shard="height", cores=["2x2", "3x3+2+2"]),
    "smaller_tiles": lambda: layouts.doubled(tile=(16, 32)),
    "tiles_of_rows": lambda: layouts.doubled(pages="row"),
    "shards_of_parts_of_half_tiles": lambda: layouts.doubled(memory="L1", shard=(32, 256), tile=(16, 32)),
    "half_tiles_of_block_floats": lambda: layouts.doubled(storage="bfloat8_b"),
    "pages_of_columns": lambda: layouts.doubled(pages="row"),
    "pages_of_rows": lambda: layouts.doubled(shard="height", grid=(4, 1)),
    "annotation_against_the_target": lambda: layouts.doubled(),
    "grid_against_the_target": lambda: layouts.doubled(memory="L1", shard="block"),
    "cores_outside_the_chip": lambda: layouts.doubled(memory="L1", shard="block", grid="8x8"),
    "banks_that_do_not_exist": lambda: layouts.doubled(memory="DRAM", shard="height", grid=(8, 1)),
    "blocks_over_two_rectangles": lambda: layouts.doubled(memory="L1", shard="height", cores="2x2,2x2+4+4"),
    "shard_of_another_rank": lambda: layouts.doubled((2, 256, 256), memory="L1", shard=(1, 64, 64)),
    "shard_of_parts_of_tiles": lambda: layouts.doubled(memory="L1", shard=(64, 256)),
    "shard_of_several_outer_axes": lambda: layouts.doubled((4, 4, 64, 64), memory="L1", shard=(1, 2, 32, 32)),
    "blocks_beside_shards": lambda: layouts.beside_a_tensor(256, shard="height", grid=(8, 8)),
    "blocks_beside_boxes": lambda: layouts.beside_a_tensor(256, memory="DRAM", shard=(512, 1024)),
    "rows_that_fit_in_a_shorter_format": lambda: blocks.softmax(32768),
}
# Of the target, in place of those that the kernel is refused with.
OTHER_OPTIONS: dict[str, dict[str, Any]] = {
    "large_integers_in_a_narrow_dst": {},
    "rows_that_fit_in_a_shorter_format": {"storage": {"X": "bfloat8_b"}},
}

NO_REWRITE = {
    **dict.fromkeys(
        (
            "thread_index_in_a_condition",
            "second_thread_index",
            "warp_number_from_the_thread_index",
            "warp_reduction",
            "warp_shuffle",
            "lane_index",
            "elected_thread",
            "warp_barrier",
        ),
        _NO_THREADS,
    ),
    "loop_over_threads": "what single threads copy is refused as scalar code, too: TT161",
    "external_code": "nobody knows what the external function does",
    "matrix_load": "a product in place of instructions for warps is another program",
    "rows_that_fit_in_no_format": "the help says itself that nothing fits",
    "view_of_unpacked_floats": "bytes of such a block are only there in another block",
    "shuffle_inside_a_parallel_loop": "what lanes exchange has to be written anew",
}


def _in_catalogue() -> set[str]:
    """Kernels of which the catalogue has a mended program."""
    source = inspect.getsource(catalogue_kernels)
    return {name for name in _FIRST if f'"{name}",' in source}


def _options(refusal: Refusal) -> dict[str, Any]:
    chip = {"arch": refusal.arch, "scalar_code": refusal.name.endswith("-scalar_code") or refusal.scalar_code}
    return {**chip, **OTHER_OPTIONS.get(refusal.build.__name__, dict(refusal.options))}


def _compiled(func: Any, refusal: Refusal) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TenstorrentWarning)
        tilelang.compile(func, target={"kind": "tenstorrent", **_options(refusal)})


@pytest.mark.parametrize("name", sorted(TEXT))
def test_text(name: str, tmp_path: Path) -> None:
    refusal = _FIRST[name]
    text = _body(inspect.getsource(refusal.kernel or refusal.build), {})
    for before, after in TEXT[name]:
        assert before in text, f"{before!r} is not in\n{text}"
        text = text.replace(before, after)
    file = tmp_path / "kernel.py"
    file.write_text(_with_imports(text))
    _compiled(runpy.run_path(str(file))["main"], refusal)


@pytest.mark.parametrize("name", sorted(BUILT))
def test_built(name: str) -> None:
    _compiled(BUILT[name](), _FIRST[name])


@pytest.mark.parametrize("name", [name for name, why in NO_REWRITE.items() if why is _NO_THREADS])
def test_scalar_code_runs_what_threads_do(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TenstorrentWarning)
        tilelang.compile(_FIRST[name].build(), target="tenstorrent")


def test_no_refusal_is_left_out() -> None:
    """Each is followed once, here or in the catalogue, or it says why not."""
    tables = [set(TEXT), set(BUILT), set(NO_REWRITE), _in_catalogue()]
    assert set().union(*tables) >= set(_FIRST)
    assert set().union(*tables[:3]) <= set(_FIRST)
    assert not set(NO_REWRITE) & (set(TEXT) | set(BUILT))
