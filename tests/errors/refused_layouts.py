"""Layouts that a kernel cannot have: TT.layout and what it says."""

from typing import Any

import tilelang.language as T
from refusals import refused, with_scalar_code

import tilelang_tt.language as TT

KINDS = "height, width, block"
RANGES = "XxY, or XxY+X0+Y0 for a rectangle that begins at core (X0, Y0); several joined by commas"


def doubled(shape: tuple[int, ...] = (256, 256), **settings: Any) -> Any:
    """The last two axes in blocks of 32 x 32; settings are those of A."""
    *outer, m, n = shape
    first = [0] * len(outer)

    @T.prim_func
    def main(A: T.Tensor(shape, "bfloat16"), C: T.Tensor((m, n), "bfloat16")):
        with T.Kernel(n // 32, m // 32, threads=128) as (bx, by):
            TT.layout(A, **settings)  # refused
            a = T.alloc_shared((32, 32), "bfloat16")
            T.copy(A[(*first, by * 32, bx * 32)], a)
            for i, j in T.Parallel(32, 32):
                a[i, j] = a[i, j] + a[i, j]
            T.copy(a, C[by * 32, bx * 32])

    return main


# --- words ----------------------------------------------------------------------------------------


@refused(
    "TT180",
    "there is no layout setting 'shards'",
    help="valid settings: memory, shard, grid, cores, order, storage, tile, pages",
    kernel=doubled,
)
@with_scalar_code
def unknown_setting() -> Any:
    return doubled(shards="block")


@refused("TT180", "'memory' cannot be 'SRAM'", help="valid values: DRAM, L1", kernel=doubled)
def unknown_memory() -> Any:
    return doubled(memory="SRAM")


@refused(
    "TT180",
    "'shard' cannot be 'rows'",
    help=f"valid values: {KINDS}, or the extents of a shard in elements, one for each axis of the tensor",
    kernel=doubled,
)
def unknown_kind_of_shard() -> Any:
    return doubled(shard="rows", grid=(4, 1))


@refused(
    "TT180",
    "'shard' cannot be (64, 0)",
    help=f"valid values: {KINDS}, or the extents of a shard in elements, one for each axis of the tensor",
    kernel=doubled,
)
def empty_shard() -> Any:
    return doubled(shard=(64, 0))


@refused("TT180", "'order' cannot be 'z'", help="valid values: row, column", kernel=doubled)
def unknown_order() -> Any:
    return doubled(shard="height", grid=(4, 1), order="z")


@refused("TT180", "'storage' cannot be 'float8_e4m3'", help="valid values: bfloat8_b, bfloat4_b", kernel=doubled)
def format_that_tiles_cannot_have() -> Any:
    return doubled(storage="float8_e4m3")


@refused("TT180", "'grid' cannot be '4by4'", help=f"valid values: {RANGES}", kernel=doubled)
def grid_in_other_words() -> Any:
    return doubled(shard="block", grid="4by4")


@refused("TT180", "'grid' is one rectangle, not 2", help="several rectangles are given as cores=", kernel=doubled)
def grid_of_two_rectangles() -> Any:
    return doubled(shard="height", grid="2x2,1x1+4+4")


@refused("TT180", "'grid' and 'cores' both say which cores hold the shards", help="say one of them", kernel=doubled)
def grid_and_cores() -> Any:
    return doubled(shard="height", grid=(4, 1), cores="4x1")


@refused(
    "TT180",
    "'grid' says where shards go, but the tensor is not sharded",
    help=f"add shard=, one of {KINDS} or the extents of a shard",
    kernel=doubled,
)
def grid_without_shards() -> Any:
    return doubled(memory="L1", grid=(8, 8))


@refused(
    "TT180",
    "'order' says where shards go, but the tensor is not sharded",
    help=f"add shard=, one of {KINDS} or the extents of a shard",
    kernel=doubled,
)
def order_without_shards() -> Any:
    return doubled(memory="L1", order="column")


@refused(
    "TT180",
    "shard='block' needs the cores that hold the shards",
    help="add grid=(8, 8), or cores='8x4+0+2'",
    kernel=doubled,
)
def shards_without_cores() -> Any:
    return doubled(memory="L1", shard="block")


@refused(
    "TT180",
    "'cores': core (1, 1) is in two rectangles of 2x2,3x3+1+1",
    help="let the rectangles have no core in common",
    kernel=doubled,
)
def rectangles_that_overlap() -> Any:
    return doubled(memory="L1", shard="height", cores=["2x2", "3x3+1+1"])


@refused(
    "TT180",
    "'tile' cannot be (8, 32): tensors lie in tiles of 32x32, or in halves of these",
    help="valid values: (32, 32), (16, 32), (32, 16)",
    kernel=doubled,
)
def smaller_tiles() -> Any:
    return doubled(tile=(8, 32))


@refused(
    "TT180",
    "pages='row' and tile= exclude each other: rows are no tiles",
    help="leave one of them out",
    kernel=doubled,
)
def tiles_of_rows() -> Any:
    return doubled(pages="row", tile=(16, 32))


@refused(
    "TT186",
    "a shard of 24 x 256 elements of 'A' is not made of 16x32 tiles: axis 0 has 24",
    help="take a multiple of 16, for example 32",
    kernel=doubled,
)
def shards_of_parts_of_half_tiles() -> Any:
    return doubled(memory="L1", shard=(24, 256), tile=(16, 32))


@refused(
    "TT189",
    "tiles of 'A' cannot be 16x32: it is stored as Bfp8_b, where the exponents of a tile lie together",
    help="leave out tile=",
    kernel=doubled,
)
def half_tiles_of_block_floats() -> Any:
    return doubled(storage="bfloat8_b", tile=(16, 32))


@refused("TT189", "tiles of 'A' cannot be 32x16: its blocks have one axis", help="leave out tile=")
def half_tiles_of_a_vector() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64,), "bfloat16"), C: T.Tensor((32, 64), "bfloat16")):
        with T.Kernel(1, threads=128):
            TT.layout(A, tile=(32, 16))  # refused
            a = T.alloc_shared((64,), "bfloat16")
            c = T.alloc_fragment((32, 64), "bfloat16")
            T.copy(A, a)
            for i, j in T.Parallel(32, 64):
                c[i, j] = a[j]
            T.copy(c, C)

    return main


@refused(
    "TT189",
    "tiles of 'A' cannot be 16x32: this kernel uses it in pieces that do not begin at tiles",
    help="leave out tile=",
)
def half_tiles_in_pieces() -> Any:
    @T.prim_func
    def main(A: T.Tensor((96, 32), "bfloat16"), C: T.Tensor((128, 32), "bfloat16")):
        with T.Kernel(4, threads=128) as bx:
            TT.layout(A, tile=(16, 32))  # refused
            x = T.alloc_shared((24, 32), "bfloat16")
            T.copy(A[bx * 24, 0], x)
            T.copy(x, C[bx * 32, 0])

    return main


@refused("TT180", "'pages' cannot be 'column'", help="valid values: tile, row", kernel=doubled)
def pages_of_columns() -> Any:
    return doubled(pages="column")


@refused(
    "TT180",
    "pages='row' and a shard exclude each other: shards are of tiles",
    help="leave one of them out",
    kernel=doubled,
)
def pages_of_rows() -> Any:
    return doubled(pages="row", shard="height", grid=(4, 1))


@refused("TT189", "pages of 'A' cannot be rows: its blocks have one axis", help="leave out pages=")
@with_scalar_code
def rows_of_a_vector() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64,), "bfloat16"), C: T.Tensor((32, 64), "bfloat16")):
        with T.Kernel(1, threads=128):
            TT.layout(A, pages="row")  # refused
            a = T.alloc_shared((64,), "bfloat16")
            c = T.alloc_fragment((32, 64), "bfloat16")
            T.copy(A, a)
            for i, j in T.Parallel(32, 64):
                c[i, j] = a[j]
            T.copy(c, C)

    return main


# --- two that disagree ------------------------------------------------------------------------------


@refused(
    "TT181",
    "two layouts of 'A' disagree: memory is DRAM here, and L1 in the target option 'layout'",
    help="say 'memory' of 'A' once",
    kernel=doubled,
    options={"layout": {"A": {"memory": "L1"}}},
)
def annotation_against_the_target() -> Any:
    return doubled(memory="DRAM")


@refused(
    "TT181",
    "two layouts of 'A' disagree: cores is 2x2 here, and 4x4 in the target option 'layout'",
    help="say 'cores' of 'A' once",
    kernel=doubled,
    options={"layout": {"A": {"shard": "block", "grid": (4, 4)}}},
)
def grid_against_the_target() -> Any:
    return doubled(shard="block", grid=(2, 2))


# --- what this kernel does with the tensor ----------------------------------------------------------


@refused(
    "TT182",
    "'A' cannot be sharded: this kernel uses it row by row, and shards are of tiles",
    help="leave out shard=; memory='L1' alone is possible",
)
def shards_of_rows() -> Any:
    @T.prim_func
    def main(A: T.Tensor((100, 64), "float32"), P: T.Tensor((32,), "int32"), C: T.Tensor((32, 64), "float32")):
        with T.Kernel(1, threads=128):
            TT.layout(A, memory="L1", shard="height", grid=(2, 1))  # refused
            a = T.alloc_shared((32, 64), "float32")
            for i, j in T.Parallel(32, 64):
                a[i, j] = A[P[i], j]
            T.copy(a, C)

    return main


@refused(
    "TT182",
    "'P' cannot be sharded: this kernel uses it element by element, and shards are of tiles",
    help="leave out shard=; memory='DRAM' alone is possible",
)
def shards_of_a_table() -> Any:
    @T.prim_func
    def main(A: T.Tensor((100, 64), "float32"), P: T.Tensor((32,), "int32"), C: T.Tensor((32, 64), "float32")):
        with T.Kernel(1, threads=128):
            TT.layout(P, shard=(32,))  # refused
            a = T.alloc_shared((32, 64), "float32")
            for i, j in T.Parallel(32, 64):
                a[i, j] = A[P[i], j]
            T.copy(a, C)

    return main


@refused(
    "TT182",
    "'A' cannot be sharded: this kernel uses it in pieces that do not begin at tiles, and shards are of tiles",
    help="leave out shard=; memory='L1' alone is possible",
)
def shards_of_folded_vectors() -> Any:
    @T.prim_func
    def main(A: T.Tensor((4096,), "float32"), C: T.Tensor((4096,), "float32")):
        with T.Kernel(4, threads=128) as bx:
            TT.layout(A, memory="L1", shard=(1024,))  # refused
            a = T.alloc_shared((1024,), "float32")
            T.copy(A[bx * 1024], a)
            for i in T.Parallel(1024):
                a[i] = a[i] * 2
            T.copy(a, C[bx * 1024])

    return main


@refused(
    "TT188",
    "'C' cannot be stored as bfloat8_b: 16 numbers share an exponent, and what is computed behind its 40 columns "
    "would count",
    help="give axis 1 a length that is a multiple of 16, or leave out storage=",
)
@with_scalar_code
def storage_of_a_result() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 40), "bfloat16"), C: T.Tensor((64, 40), "bfloat16")):
        with T.Kernel(1, threads=128):
            TT.layout(C, storage="bfloat8_b")  # refused
            a = T.alloc_shared((64, 40), "bfloat16")
            T.copy(A, a)
            T.copy(a, C)

    return main


@refused(
    "TT188",
    "'A' cannot be stored as bfloat8_b: the kernel stores to it and loads from it",
    help="store to another tensor, or leave out storage=",
)
@with_scalar_code
def storage_of_an_update() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "bfloat16")):
        with T.Kernel(1, threads=128):
            TT.layout(A, storage="bfloat8_b")  # refused
            a = T.alloc_shared((64, 64), "bfloat16")
            T.copy(A, a)
            for i, j in T.Parallel(64, 64):
                a[i, j] = a[i, j] + a[i, j]
            T.copy(a, A)

    return main


@refused(
    "TT188",
    "'A' cannot be stored as bfloat8_b: its elements are int32",
    help="leave out storage=",
)
@with_scalar_code
def storage_of_integers() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "int32"), C: T.Tensor((64, 64), "int32")):
        with T.Kernel(1, threads=128):
            TT.layout(A, storage="bfloat8_b")  # refused
            a = T.alloc_shared((64, 64), "int32")
            T.copy(A, a)
            T.copy(a, C)

    return main


# --- cores, shapes ----------------------------------------------------------------------------------


@refused(
    "TT183",
    "the cores 8x8+1+0 of 'A' do not exist: Wormhole has a compute grid of 8x8 cores",
    help="the largest is 8x8",
    kernel=doubled,
)
@with_scalar_code
def cores_outside_the_chip() -> Any:
    return doubled(memory="L1", shard="block", grid="8x8+1+0")


@refused(
    "TT183",
    "the banks 16x1 of 'A' do not exist: Blackhole has 8 DRAM banks",
    help="the largest is 8x1",
    arch="blackhole",
    kernel=doubled,
)
@with_scalar_code
def banks_that_do_not_exist() -> Any:
    return doubled(memory="DRAM", shard="height", grid=(16, 1))


@refused(
    "TT184",
    "'A' is sharded in blocks over 2x2,2x2+4+4, which is no rectangle",
    help="give one rectangle, or shard by height or width",
    kernel=doubled,
)
@with_scalar_code
def blocks_over_two_rectangles() -> Any:
    return doubled(memory="L1", shard="block", cores="2x2,2x2+4+4")


@refused(
    "TT185",
    "a shard of 64 x 64 has 2 axes; 'A' has 3",
    help="give one extent for each axis of the tensor",
    kernel=doubled,
)
@with_scalar_code
def shard_of_another_rank() -> Any:
    return doubled((2, 256, 256), memory="L1", shard=(64, 64))


@refused(
    "TT186",
    "a shard of 48 x 256 elements of 'A' is not made of 32x32 tiles: axis 0 has 48",
    help="take a multiple of 32, for example 64",
    kernel=doubled,
)
@with_scalar_code
def shard_of_parts_of_tiles() -> Any:
    return doubled(memory="L1", shard=(48, 256))


@refused(
    "TT187",
    "a shard of 2 x 2 x 32 x 32 of 'A' takes parts of several outer axes",
    help="let the shard have all of axis 1, or 1 of axis 0",
    kernel=doubled,
)
@with_scalar_code
def shard_of_several_outer_axes() -> Any:
    return doubled((4, 4, 64, 64), memory="L1", shard=(2, 2, 32, 32))


# --- room -------------------------------------------------------------------------------------------


@refused(
    "TT209",
    "tensors of kernel 'main' need 2,097,152 B of L1 per core; Wormhole has 1,393,280 B",
    notes=("tensor A ... 2,097,152 B   ({file}:{layout})",),
    help="leave out shard= of 'A': dealt to all cores it takes 131,072 B of each",
)
@with_scalar_code
def shards_beyond_l1() -> Any:
    @T.prim_func
    def main(A: T.Tensor((2048, 2048), "bfloat16"), C: T.Tensor((2048, 2048), "bfloat16")):
        with T.Kernel(64, 64, threads=128) as (bx, by):
            TT.layout(A, memory="L1", shard="block", grid=(2, 2))  # refused  # line: layout
            a = T.alloc_shared((32, 32), "bfloat16")
            T.copy(A[by * 32, bx * 32], a)
            T.copy(a, C[by * 32, bx * 32])

    return main


def beside_a_tensor(block: int, **settings: Any) -> Any:
    """A product whose A lies in L1."""

    @T.prim_func
    def main(
        A: T.Tensor((1024, 1024), "bfloat16"),
        B: T.Tensor((1024, 1024), "bfloat16"),
        C: T.Tensor((1024, 1024), "bfloat16"),
    ):
        with T.Kernel(1024 // block, 1024 // block, threads=128) as (bx, by):  # refused
            TT.layout(A, **{"memory": "L1", **settings})  # line: layout
            A_s = T.alloc_shared((block, 256), "bfloat16")  # line: a
            B_s = T.alloc_shared((256, block), "bfloat16")  # line: b
            C_l = T.alloc_fragment((block, block), "float32")  # line: c
            T.clear(C_l)
            for k in T.Pipelined(4, num_stages=2):
                T.copy(A[by * block, k * 256], A_s)
                T.copy(B[k * 256, bx * block], B_s)
                T.gemm(A_s, B_s, C_l)
            T.copy(C_l, C[by * block, bx * block])  # line: out

    return main


BESIDE = (
    "A_s 2 x 64 tiles Float16_b ... 262,144 B   ({file}:{a})",
    "B_s 2 x 64 tiles Float16_b ... 262,144 B   ({file}:{b})",
    "C_l 1 x 64 tiles Float32 ... 262,144 B   ({file}:{c})",
    "C_l_out 1 x 64 tiles Float16_b ... 131,072 B   ({file}:{out})",
)


@refused(
    "TT204",
    "kernel 'main' needs 1,966,080 B of L1 per core; Wormhole has 1,393,280 B",
    notes=("tensor A ... 1,048,576 B   ({file}:{layout})", *BESIDE),
    help="grid=(8, 8) for 'A' fits (1,114,112 B)",
    kernel=beside_a_tensor,
)
@with_scalar_code
def blocks_beside_shards() -> Any:
    return beside_a_tensor(256, shard="height", grid=(2, 1))


@refused(
    "TT204",
    "kernel 'main' needs 1,966,080 B of L1 per core; Wormhole has 1,393,280 B",
    notes=("tensor A ... 1,048,576 B   ({file}:{layout})", *BESIDE),
    help="memory='DRAM' for 'A' fits (1,048,576 B)",
    kernel=beside_a_tensor,
)
@with_scalar_code
def blocks_beside_boxes() -> Any:
    return beside_a_tensor(256, shard=(512, 1024))
