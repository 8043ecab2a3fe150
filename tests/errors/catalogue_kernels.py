"""Entries of the catalogue for kernels that are refused (TT1xx, TT2xx): what a code means, and the kernel mended."""

from __future__ import annotations

import refused_blocks  # noqa: F401  - their kernels
import refused_elements  # noqa: F401
import refused_gpu  # noqa: F401
import refused_integers  # noqa: F401
import refused_language  # noqa: F401
import refused_layouts  # noqa: F401
import refused_threads  # noqa: F401
from catalogue import PLAIN, TILES, program, refusal

SYNC = """        X = T.alloc_shared((32, 32), "float32")
        T.clear(X)
        T.sync_grid()
        if bx < 1:
            T.copy(X, A)"""

# --- what only GPUs have ----------------------------------------------------------------------------

refusal(
    "TT101",
    "thread_index_as_an_index",
    "the kernel uses a thread index",
    """A Tensix core has no SIMT threads: one program moves tiles, another computes with them. What each thread does
    to one element is a T.Parallel over all elements here.""",
    ("        tx = T.get_thread_binding(0)\n", ""),
    ("X[0, tx] = 1.0", "T.fill(X, 1.0)"),
)
refusal(
    "TT102",
    "grid_barrier",
    "an operation that only GPUs have",
    """Warp operations, clusters, PTX instructions and external GPU code have no counterpart on the chip. A barrier of
    the whole grid has one, where all blocks of the grid come to it.""",
    ("        if bx < 1:\n            T.sync_grid()", SYNC),
)
refusal(
    "TT108",
    "tensor_memory",
    "a buffer in a memory that the chip does not have",
    """Blocks lie in the L1 of a core, as T.alloc_shared and T.alloc_fragment make them, and tensors in DRAM or L1.
    Tensor memory and global scratch buffers do not exist; a workspace is a tensor parameter.""",
    ('T.alloc_tmem([128, 128], "float32")', 'T.alloc_fragment((128, 128), "float32")\n        T.clear(X)'),
)

# --- functions and launches -------------------------------------------------------------------------

refusal(
    "TT103",
    "empty_function",
    "a function without T.Kernel",
    "Every launch is a `with T.Kernel(...)` block; a function has one or several.",
    (
        "    pass",
        '    with T.Kernel(1, threads=128):\n        X = T.alloc_shared((32, 32), "float32")\n        T.clear(X)\n        T.copy(X, A)',
    ),
)
refusal(
    "TT105",
    "stride_as_a_number",
    "the kernel computes with a stride",
    """Tensors lie in tiles on the device, so the strides that the caller's tensor has mean nothing there, and a number
    of them cannot reach the kernel.""",
    ('A: T.StridedTensor((32, 32), (ld, 1), "float32"),', 'A: T.Tensor((32, 32), "float32"),'),
    ('B: T.Tensor((32, 32), "float32"),', 'B: T.Tensor((32, 32), "float32"),\n    ld: T.int32,'),
    ('ld = T.dynamic("ld")\n', ""),
)
refusal(
    "TT106",
    "loop_around_the_launch",
    "a statement outside of T.Kernel",
    """A function is a row of launches. Loops and conditions belong inside of a launch, or into the Python around the
    function, which runs when it is traced.""",
    (
        '    for _ in T.serial(2):\n        with T.Kernel(1, threads=128):\n            X = T.alloc_shared((32, 32), "float32")\n            T.copy(A, X)\n            T.copy(X, B)',
        '    with T.Kernel(1, threads=128):\n        X = T.alloc_shared((32, 32), "float32")\n        for _ in T.serial(2):\n            T.copy(A, X)\n            T.copy(X, B)',
    ),
)
refusal(
    "TT107",
    "unknown_annotation",
    "an annotation that this backend does not know",
    "What tunes GPU code alone is ignored with a warning; what could change the meaning and is not known is refused.",
    ("        T.annotate_restrict_buffers(A, B)\n", ""),
)

# --- types and buffers ------------------------------------------------------------------------------

refusal(
    "TT109",
    "buffer_of_unknown_size",
    "a block whose size is known only at run time, or is zero",
    "Circular buffers are laid out when the kernel is compiled. Copy blocks of constant size; the tensor may be dynamic.",
    ("with T.Kernel(1, threads=128):", "with T.Kernel(T.ceildiv(n, 32), threads=128) as bx:"),
    ("T.alloc_shared((n, 32)", "T.alloc_shared((32, 32)"),
    ("T.copy(A, X)", "T.copy(A[bx * 32, 0], X)\n        T.copy(X, A[bx * 32, 0])"),
)
refusal(
    "TT110",
    "dtype_of_a_tensor",
    "an element type that the tile engines cannot take",
    "The matrix and vector engines work on bfloat16, float32, bytes and 32-bit integers, and on types that tiles convert to them.",
    ('"int64"', '"int32"'),
    ("X[i, j] = A[i, j] * A[i, j]", 'X[i, j] = T.cast(A[i, j] * A[i, j], "float32")'),
)
refusal(
    "TT116",
    "view_with_strides",
    "a view that the tiles of a block do not give",
    "A block can be seen in another shape with T.reshape. A view with other strides or another type has other tiles.",
    ("    Y = T.view(X, (64, 64), strides=(1, 64))\n", '    Y = T.alloc_shared((64, 64), "float32")\n'),
    ("T.copy(A, X)", "T.copy(A, X)\n        T.transpose(X, Y)"),
)

# --- statements -------------------------------------------------------------------------------------

refusal(
    "TT111",
    "while_loop",
    "a statement that tile programs do not have",
    "How often a loop of tiles runs is known to all three kernels of a core before it begins.",
    ("while X[0, 0] > 0.0:", "for _ in T.serial(4):"),
)
refusal(
    "TT112",
    "swizzled_index",
    "an index that is no arithmetic on known integers",
    "Reader, compute and writer kernel each compute where tiles lie, from block indices, loop variables and sizes.",
    ("(bx ^ by) * 32", "((bx + by) % 2) * 32"),
)
refusal(
    "TT113",
    "early_exit",
    "an operation that the tile engines do not have",
    "`tilelang-tt help operations` lists the operations there are.",
    (
        "if k > bx:\n                break\n            T.copy(A[k * 32, 0], X)\n            T.copy(X, B[k * 32, 0])",
        "if k <= bx:\n                T.copy(A[k * 32, 0], X)\n                T.copy(X, B[k * 32, 0])",
    ),
)
refusal(
    "TT115",
    "copy_of_unknown_size",
    "a copy whose size is known only at run time",
    "Blocks have constant sizes. At the end of a tensor they reach beyond it: what is behind it is left out.",
    (
        "with T.Kernel(1, threads=128):\n        T.copy(A, B)",
        "with T.Kernel(T.ceildiv(n, 32), threads=128) as bx:\n        T.copy(A[bx * 32 : bx * 32 + 32, 0:32], B[bx * 32 : bx * 32 + 32, 0:32])",
    ),
)
refusal(
    "TT119",
    "copy_to_a_smaller_shape",
    "a copy between boxes of different shape",
    "Both sides of a copy have the same extents. T.reshape sees a block in another shape.",
    ("A[0:64, 0:32]", "A[0:32, 0:32]"),
    ("X[0:32, 0:32])", "X[0:32, 0:32])\n        T.copy(X, A[32:64, 0:32])"),
)
refusal(
    "TT120",
    "product_of_one_row",
    "a product whose operands are not matrices",
    "T.gemm multiplies blocks of tiles. A row counts as a matrix when its block has 32 rows.",
    ("T.alloc_shared((1, 32)", "T.alloc_shared((32, 32)"),
    ("T.alloc_fragment((1, 32)", "T.alloc_fragment((32, 32)"),
    ("T.copy(A, X)", "T.copy(A[0:32, 0:32], X)"),
    ("T.copy(C, A)", "T.copy(C, A[0:32, 0:32])"),
)
refusal(
    "TT121",
    "product_onto_its_operand",
    "a product that changes its own operand",
    "Tiles of the operand would be read after some of them have changed.",
    ("    T.copy(A, X)\n", '    C = T.alloc_fragment((32, 32), "float32")\n        T.copy(A, X)\n'),
    ("T.gemm(X, Y, X)\n        T.copy(X, B)", "T.clear(C)\n        T.gemm(X, Y, C)\n        T.copy(C, B)"),
)
refusal(
    "TT138",
    "condition_on_data",
    "a number computed on the chip controls what happens",
    "Bounds and conditions are known to all three kernels of a core: they are read from tensor parameters, not from blocks.",
    ('A: T.Tensor((32, 32), "float32"),', 'A: T.Tensor((32, 32), "float32"), N: T.Tensor((1,), "int32"),'),
    ("X[0, 0] > 0.0", "N[0] > 0"),
)
refusal(
    "TT150",
    "table_written_by_the_function",
    "a tensor that controls a loop is written by the same function",
    "All launches of a function are prepared before the first one runs, and read such tables then.",
    (
        '    with T.Kernel(1, threads=128):\n        numbers = T.alloc_shared((32,), "int32")\n        T.copy(M, numbers)\n        T.copy(numbers, N)\n',
        "",
    ),
    (' M: T.Tensor((32,), "int32"),', ""),
    ("T.serial(N[0])", "T.serial(N[0])"),
)

# --- T.Parallel -------------------------------------------------------------------------------------

refusal(
    "TT130",
    "parallel_of_unknown_size",
    "a T.Parallel whose extent is known only at run time",
    "T.Parallel is an operation on a block, and blocks have constant sizes.",
    ("with T.Kernel(1, threads=128):", "with T.Kernel(T.ceildiv(n, 32), threads=128) as bx:"),
    ("T.Parallel(n, 32)", "T.Parallel(32, 32)"),
    ("B[i, j] = A[i, j]", "B[bx * 32 + i, j] = A[bx * 32 + i, j]"),
)
refusal(
    "TT131",
    "atomic_addition_where_a_tensor_says",
    "something that T.Parallel cannot do with tiles",
    """T.Parallel becomes vector operations on whole tiles. Sums at places that a tensor gives, and loops whose length
    differs from element to element, are none; scalar code can do the sums, in any order and without a race.""",
    target=PLAIN,
)
refusal(
    "TT134",
    "next_number",
    "an operation without a form for elements of tiles",
    "`tilelang-tt help operations` lists the operations there are.",
    ("T.nextafter(X[i, j], 0.0)", "X[i, j] * T.float32(1 - 2.0**-24)"),
    ("    T.copy(A, X)\n", "    T.copy(A, X)\n"),
)
refusal(
    "TT135",
    "narrowing_inside_an_expression",
    "a cast to a type that the vector engine does not round to",
    "Storing to a block rounds; the vector engine computes in float32.",
    ("    for i, j", '    N = T.alloc_shared((32, 32), "float8_e4m3fn")\n        for i, j'),
    (
        'X[i, j] = T.cast(T.cast(X[i, j], "float8_e4m3fnuz"), "float32") * 2.0',
        "N[i, j] = X[i, j]\n        for i, j in T.Parallel(32, 32):\n            X[i, j] = N[i, j] * 2.0",
    ),
)
refusal(
    "TT136",
    "one_element_for_a_row",
    "several rounds of T.Parallel assign to one element",
    "The rounds have no order, so which one wins is not said. A reduction says what is wanted.",
    (
        "    for i, j in T.Parallel(32, 32):\n            X[i] = A[i, j]\n",
        '    rows = T.alloc_shared((32, 32), "float32")\n        T.copy(A, rows)\n        T.reduce_sum(rows, X, dim=1)\n',
    ),
)
refusal(
    "TT137",
    "product_of_a_reducer",
    "a reducer is used for something other than its operation",
    "A reducer collects sums, maxima or minima; T.reducer_update is the statement for it.",
    ("total[i] = total[i] * X[i, j]", "total[i] = total[i] + X[i, j]"),
)

# --- places in tensors and blocks -------------------------------------------------------------------

refusal(
    "TT122",
    "columns_here_and_rows_there",
    "blocks of one tensor lie across each other",
    "A tensor lies in tiles along two of its axes, the same for all launches of a function.",
    ("B[5, 0:32, 0:32]", "B[0:32, 0:32, 6]"),
)
refusal(
    "TT123",
    "one_tensor_two_layouts",
    "blocks of one tensor lie along different axes",
    "A tensor lies in tiles along two of its axes, the same for all launches of a function.",
    ("B[0:32, 5, 7]", "B[5, 7, 0:32]"),
)
refusal(
    "TT124",
    "blocks_that_overlap",
    "a block is stored where no tile begins",
    "The writer stores whole tiles. Two blocks in one tile would overwrite each other's part.",
    ("B[0, bx * 16]", "B[0, bx * 32]"),
)
refusal(
    "TT144",
    "rows_of_unknown_length",
    "blocks begin anywhere in a tensor of unknown row length",
    "Where rows begin anywhere, they are kept one by one, and their length has to be known.",
    ("B[bx * 16, 0]", "B[bx * 32, 0]"),
)
refusal(
    "TT153",
    "narrow_block_beside_wide_ones",
    "a store would overwrite what is behind it",
    "The writer stores whole tiles: a block that ends inside of a tile takes the rest of it along.",
    ("T.alloc_shared((32, 16)", "T.alloc_shared((32, 64)"),
    ("A[0:32, 0:16]", "A[0:32, 0:64]"),
)
refusal(
    "TT154",
    "more_elements_than_the_block_has",
    "elements outside of a block are used",
    "On a GPU this reads or writes somebody else's memory. It is refused here as far as it can be seen before the run.",
    ("T.alloc_fragment((32,)", "T.alloc_fragment((64,)"),
)

# --- what blocks hold -------------------------------------------------------------------------------

refusal(
    "TT125",
    "never_filled",
    "a block is read before anything fills it",
    "What it would hold is not said.",
    ("    T.copy(X, B", "    T.clear(X)\n        T.copy(X, B"),
)
refusal(
    "TT127",
    "filled_on_one_way_only",
    "a block is filled on some paths only",
    "On the other ones, what it would hold is not said.",
    ("    if bx == 0:", "    T.clear(X)\n        if bx == 0:"),
)
refusal(
    "TT128",
    "sum_never_cleared",
    "a product adds to a block that nothing clears",
    "GPU code often gets away with it: registers may happen to be zero.",
    ("    for k in", "    T.clear(C)\n        for k in"),
)

# --- integers ---------------------------------------------------------------------------------------

refusal(
    "TT140",
    "product_of_integers",
    "a product of types that the matrix engine does not multiply",
    "It multiplies floats, and bytes into 32-bit integers.",
    ('X = T.alloc_shared((32, 32), "int16")', 'X = T.alloc_shared((32, 32), "float32")'),
    ('Y = T.alloc_fragment((32, 32), "int32")', 'Y = T.alloc_fragment((32, 32), "float32")'),
)
refusal(
    "TT142",
    "integers_in_a_narrow_dst",
    "integers that a 16-bit DST cannot hold",
    "Target option fp32_acc=false halves the destination registers. Integers need all of their bits.",
    target=TILES,
)
refusal(
    "TT143",
    "long_products",
    "an integer of 64 bits may not fit the chip's 32",
    "Numbers of 64 bits are computed in 32 where it is known that they fit.",
    ('T.cast((T.cast(X[i, j], "int64") * T.int64(5)) >> T.int64(16), "int32")', "(X[i, j] * 5) >> 16"),
)

# --- threads ----------------------------------------------------------------------------------------

refusal(
    "TT160",
    "barrier_in_a_loop_of_each_thread",
    "a barrier that not all threads come to",
    "On a GPU this hangs, or does what nobody wrote down. All threads have to come to a barrier equally often.",
    (
        "    for i in T.serial(tx):\n            S[tx] = i\n            T.sync_threads()\n",
        "    S[tx] = 0\n        for i in T.serial(64):\n            if i < tx:\n                S[tx] = i\n            T.sync_threads()\n",
    ),
)
refusal(
    "TT161",
    "parallel_loop_by_the_thread_index",
    "what all threads do together depends on a single one",
    "T.Parallel shares its rounds among all threads, so a thread index inside of it says nothing certain.",
    ("T.Parallel(32)", "T.serial(32)"),
)
refusal(
    "TT170",
    "groups_that_wait_for_each_other",
    "thread groups wait for each other forever",
    "The groups of a warp-specialised kernel are put into one order. Here none exists: a GPU would hang, too.",
    ("            T.barrier_wait(first, 0)\n", ""),
)
refusal(
    "TT171",
    "barrier_by_the_block_index",
    "whether thread groups wait forever is not known",
    "Which barrier is meant, and how often a loop runs, must be known when the kernel is compiled.",
    ("    T.barrier_arrive(full[bx])\n", "    T.barrier_arrive(full[0])\n"),
)
refusal(
    "TT172",
    "fragment_of_all_groups",
    "registers that several thread groups use",
    "Each group of threads has registers of its own; what they share lies in shared memory.",
    ("T.alloc_fragment", "T.alloc_shared"),
)

# --- layouts ----------------------------------------------------------------------------------------

_DOUBLED = {"shape": "(256, 256)", "m": "256", "n": "256", r"\*first, ": ""}


def layout(code: str, title: str, meaning: str, fails: str, mended: str, shape: str = "(256, 256)") -> None:
    """Entries whose kernel doubles a tensor; `fails` and `mended` are settings of TT.layout, and more."""
    outer = shape.strip("()").split(", ")[:-2]
    first = "".join("0, " for _ in outer)
    last = ", ".join(shape.strip("()").split(", ")[-2:])

    def text(settings: str) -> str:
        settings, _, target = settings.partition(" on ")
        return f"""
@T.prim_func
def main(A: T.Tensor({shape}, "bfloat16"), C: T.Tensor(({last}), "bfloat16")):
    with T.Kernel({int(last.split(", ")[1]) // 32}, {int(last.split(", ")[0]) // 32}, threads=128) as (bx, by):
        TT.layout({settings})
        a = T.alloc_shared((32, 32), "bfloat16")
        T.copy(A[{first}by * 32, bx * 32], a)
        for i, j in T.Parallel(32, 32):
            a[i, j] = a[i, j] + a[i, j]
        T.copy(a, C[by * 32, bx * 32])


tilelang.compile(main, target={target or '"tenstorrent"'})
"""

    program(code, title, meaning, text(fails), text(mended), runs=False)


layout(
    "TT180",
    "TT.layout has a setting that does not exist, or a value that it cannot have",
    "docs/layouts_and_schedules.md explains the settings.",
    'A, shards="block"',
    'A, memory="L1", shard="block", grid=(8, 8)',
)
layout(
    "TT181",
    "two layouts of one tensor disagree",
    "TT.layout in the kernel and target option `layout` may both speak of a tensor, but not against each other.",
    'A, memory="DRAM" on {"kind": "tenstorrent", "layout": {"A": {"memory": "L1"}}}',
    'A, memory="L1" on {"kind": "tenstorrent", "layout": {"A": {"memory": "L1"}}}',
)
refusal(
    "TT182",
    "shards_of_rows",
    "a tensor that this kernel uses by rows or elements cannot be sharded",
    "Shards are made of tiles.",
    (', shard="height", grid=(2, 1)', ""),
)
layout(
    "TT183",
    "a layout names cores or banks that the chip does not have",
    "`tilelang-tt explain` shows the grid of the chip in its first line.",
    'A, memory="L1", shard="block", grid="8x8+1+0"',
    'A, memory="L1", shard="block", grid="8x8"',
)
layout(
    "TT184",
    "block shards over cores that are no rectangle",
    "Shards in blocks have rows and columns, and so must their cores.",
    'A, memory="L1", shard="block", cores="2x2,2x2+4+4"',
    'A, memory="L1", shard="height", cores="2x2,2x2+4+4"',
)
layout(
    "TT185",
    "a shard has another number of axes than its tensor",
    "A shard given by its extents says one for every axis.",
    'A, memory="L1", shard=(64, 64)',
    'A, memory="L1", shard=(1, 64, 64)',
    shape="(2, 256, 256)",
)
layout(
    "TT186",
    "a shard that is not made of whole tiles",
    "Tiles are 32 x 32 elements.",
    'A, memory="L1", shard=(48, 256)',
    'A, memory="L1", shard=(64, 256)',
)
layout(
    "TT187",
    "a shard takes parts of several outer axes",
    "Matrices of a shard lie one behind the other, as they do in the tensor.",
    'A, memory="L1", shard=(2, 2, 32, 32)',
    'A, memory="L1", shard=(1, 2, 32, 32)',
    shape="(4, 4, 64, 64)",
)
refusal(
    "TT188",
    "storage_of_a_result",
    "a tensor that cannot be stored in a shorter format",
    "Tiles of bfloat8_b take half the bytes, and lose bits: sixteen numbers in a row share an exponent. `storage` is for "
    "tensors of floating point that lie in tiles. Results have to be whole sixteens, and are not loaded again.",
    ("40", "48"),
)
refusal(
    "TT189",
    "rows_of_a_vector",
    "pages that this tensor cannot have",
    "A page is a row, a tile or half a tile. Tensors whose blocks have one axis have tiles alone.",
    ('        TT.layout(A, pages="row")\n', ""),
)

# --- what a kernel cannot be asked for --------------------------------------------------------------

_COPY = """
@T.prim_func
def main(A: T.Tensor((32, 32), "float32"), B: T.Tensor((32, 32), "float32")):
    with T.Kernel(1, threads=128):
        X = T.alloc_shared((32, 32), "float32")
        T.copy(A, X)
        T.copy(X, B)

"""
program(
    "TT190",
    "a kernel has no shared library",
    "A kernel is three C++ programs for each core and one for the host: they are exported as sources.",
    _COPY + 'kernel = tilelang.compile(main, target="tenstorrent")\nkernel.export_library("kernel.so")\n',
    _COPY + 'kernel = tilelang.compile(main, target="tenstorrent")\nkernel.export("copied", overwrite=True)\n',
    runs=False,
)
program(
    "TT191",
    "a kernel has no TVM host module",
    "The host program is `main.cpp`, which `kernel.export` writes.",
    _COPY + 'tilelang.lower(main, target="tenstorrent", enable_host_codegen=True)\n',
    _COPY + 'tilelang.lower(main, target="tenstorrent")\n',
    runs=False,
)
program(
    "TT192",
    "tuning results are not kept on disk",
    "TileLang's autotuner asks for a library to keep. It logs this message, and the result holds for the process.",
    _COPY + 'kernel = tilelang.compile(main, target="tenstorrent")\nkernel.adapter.libpath\n',
    _COPY + 'kernel = tilelang.compile(main, target="tenstorrent")\nprint(kernel.get_kernel_source())\n',
    runs=False,
)
program(
    "TT193",
    "two parameters share one T.Tensor annotation",
    "TileLang knows a buffer by its annotation: one object on two parameters makes them the same buffer.",
    _COPY.replace('A: T.Tensor((32, 32), "float32"), B: T.Tensor((32, 32), "float32")', "A: Matrix, B: Matrix").replace(
        "\n@T", 'Matrix = T.Tensor((32, 32), "float32")\n\n\n@T', 1
    )
    + 'tilelang.compile(main, target="tenstorrent")\n',
    _COPY + 'tilelang.compile(main, target="tenstorrent")\n',
    runs=False,
)

# --- limits of the chip -----------------------------------------------------------------------------

_GEMM = {"size": "2048", "block": "512", "stages": "2"}
refusal(
    "TT204",
    "too_big_blocks",
    "the blocks of a kernel do not fit the L1 of a core",
    """The notes say what takes how much. The help is tried before it is given: it names fewer stages, smaller blocks, or
    another layout that fits.""",
    ("512", "256"),
    **_GEMM,
)
refusal(
    "TT205",
    "too_many_buffers",
    "more circular buffers at the same time than a core has",
    "Blocks that are not in use at the same time share a circular buffer.",
    (
        "    for block in blocks:\n            T.copy(A, block)\n        for block in blocks:\n            T.copy(block, B)",
        "    for block in blocks:\n            T.copy(A, block)\n            T.copy(block, B)",
    ),
    count="40",
)
refusal(
    "TT208",
    "table_beyond_l1",
    "a table does not fit beside the blocks of a kernel",
    "A tensor whose elements control loops or indices is held in L1 as a whole.",
    ("512", "256"),
)
refusal(
    "TT209",
    "shards_beyond_l1",
    "tensors in L1 do not fit a core",
    "A tensor in L1 stays there for the whole call, beside the blocks.",
    (', shard="block", grid=(2, 2)', ""),
)
