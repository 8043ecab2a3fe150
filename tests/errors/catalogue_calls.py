"""Entries of the catalogue for calls, runs, this machine, targets and warnings (TT3xx to TT7xx)."""

from __future__ import annotations

from catalogue import explained, program

_DOUBLE = """
@T.prim_func
def main(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32")):
    with T.Kernel(2, threads=128) as bx:
        X = T.alloc_shared((32, 64), "float32")
        T.copy(A[bx * 32, 0], X)
        for i, j in T.Parallel(32, 64):
            X[i, j] = X[i, j] * 2.0
        T.copy(X, B[bx * 32, 0])


"""
_DYNAMIC = (
    _DOUBLE.replace("@T", 'n = T.dynamic("n")\n\n\n@T', 1)
    .replace("T.Tensor((64, 64)", "T.Tensor((n, 64)")
    .replace("T.Kernel(2", "T.Kernel(T.ceildiv(n, 32)")
)
_SCALED = _DOUBLE.replace("def main(A", "def main(s: T.float32, A").replace("* 2.0", "* s")
_CHECKED = """
@T.prim_func
def main(A: T.Tensor((32,), "int32"), B: T.Tensor((32,), "int32")):
    with T.Kernel(1, threads=32):
        tx = T.get_thread_binding()
        T.device_assert(A[tx] > 0, "positive")
        B[tx] = A[tx]


"""
_COMPILED = 'kernel = tilelang.compile(main, target="tenstorrent")\n'
_RETURNS = 'kernel = tilelang.compile(main, out_idx=[-1], target="tenstorrent")\n'


def call(code: str, title: str, meaning: str, fails: str, mended: str, kernel: str = _DOUBLE + _COMPILED) -> None:
    program(code, title, meaning, kernel + fails + "\n", kernel + mended + "\n")


def target(code: str, title: str, meaning: str, fails: str, mended: str, kernel: str = _DOUBLE) -> None:
    """`fails` and `mended` are targets."""
    lines = [f"{kernel}tilelang.compile(main, target={text})\n" for text in (fails, mended)]
    program(code, title, meaning, *lines, runs=False)


# --- arguments of a call ----------------------------------------------------------------------------

call(
    "TT301",
    "a call with too few or too many arguments",
    "A kernel with `out_idx` allocates and returns those tensors; they are not passed.",
    "kernel(torch.ones(64, 64), torch.empty(64, 64))",
    "print(kernel(torch.ones(64, 64)))",
    _DOUBLE + _RETURNS,
)
call(
    "TT302",
    "an argument is no dense tensor, or no number",
    "Kernels take torch tensors (or all of them ttnn tensors), and numbers for scalar parameters.",
    "kernel([[1.0] * 64] * 64, torch.empty(64, 64))",
    "kernel(torch.tensor([[1.0] * 64] * 64), torch.empty(64, 64))",
)
call(
    "TT303",
    "an argument has another type than the kernel",
    "Nothing is converted behind the caller's back.",
    "kernel(torch.ones(64, 64).bfloat16(), torch.empty(64, 64))",
    "kernel(torch.ones(64, 64).bfloat16().float(), torch.empty(64, 64))",
)
call(
    "TT304",
    "an argument has another number of axes than the kernel",
    "Give it the axes of the kernel, with reshape or indexing.",
    "kernel(torch.ones(1, 64, 64), torch.empty(64, 64))",
    "kernel(torch.ones(1, 64, 64)[0], torch.empty(64, 64))",
)
call(
    "TT305",
    "an argument has another shape than the kernel",
    "Sizes that were numbers when the kernel was compiled are fixed; T.dynamic makes a size that calls decide.",
    "kernel(torch.ones(64, 32), torch.empty(64, 64))",
    "kernel(torch.ones(64, 64), torch.empty(64, 64))",
)
call(
    "TT306",
    "two arguments disagree about a dynamic size",
    "A name of T.dynamic is one number for each call.",
    "kernel(torch.ones(64, 64), torch.empty(96, 64))",
    "kernel(torch.ones(96, 64), torch.empty(96, 64))",
    _DYNAMIC + _COMPILED,
)
call(
    "TT307",
    "an argument lies on another device",
    "Tensors are taken from the host, and brought to the Tenstorrent device by the launcher.",
    'kernel(torch.empty(64, 64, device="meta"), torch.empty(64, 64))',
    "kernel(torch.zeros(64, 64), torch.empty(64, 64))",
)
call(
    "TT308",
    "a tensor that is written shares memory with another argument",
    "Blocks run in any order, and may read what others have written already.",
    "x = torch.ones(64, 64)\nkernel(x, x)",
    "x = torch.ones(64, 64)\nkernel(x.clone(), x)",
)
program(
    "TT309",
    "a dynamic size follows from no argument",
    "A returned tensor can only have sizes that inputs have.",
    _DYNAMIC.replace("B: T.Tensor((n", "B: T.Tensor((m").replace('n = T.dynamic("n")', 'n, m = T.dynamic("n, m")')
    + _RETURNS
    + "kernel(torch.ones(64, 64))\n",
    _DYNAMIC + _RETURNS + "print(kernel(torch.ones(64, 64)))\n",
)
call(
    "TT310",
    "a tensor that is written requires a gradient",
    "What the kernel does is not recorded by torch's autograd.",
    "kernel(torch.ones(64, 64), torch.ones(64, 64, requires_grad=True))",
    "kernel(torch.ones(64, 64), torch.ones(64, 64, requires_grad=True).detach())",
)
_COLUMNS = """
n = T.dynamic("n")


@T.prim_func
def main(A: T.Tensor((32, n), "float32"), B: T.Tensor((32,), "float32")):
    with T.Kernel(1, threads=128):
        X = T.alloc_shared((32, 32), "float32")
        total = T.alloc_fragment((32,), "float32")
        T.clear(total)
        for k in T.serial(T.ceildiv(n, 32)):
            T.copy(A[0, k * 32], X)
            T.reduce_sum(X, total, dim=1, clear=False)
        T.copy(total, B)


"""
call(
    "TT311",
    "there is nothing to compute from, but the result is not empty",
    "A device cannot hold a tensor without elements, and a grid without blocks writes nothing.",
    "kernel(torch.ones(32, 0), torch.empty(32))",
    "kernel(torch.zeros(32, 1), torch.empty(32))",
    _COLUMNS + _COMPILED,
)
_INTEGER = _DOUBLE.replace("def main(A", "def main(s: T.int32, A").replace("* 2.0", '* T.cast(s, "float32")')
call(
    "TT312",
    "a number that its type cannot hold",
    "It is refused, not cut.",
    "kernel(2**31, torch.ones(64, 64), torch.empty(64, 64))",
    "kernel(2**31 - 1, torch.ones(64, 64), torch.empty(64, 64))",
    _INTEGER + _COMPILED,
)
_SIZED = _DOUBLE.replace("def main(A", "def main(blocks: T.int32, A").replace("T.Kernel(2", "T.Kernel(blocks")
call(
    "TT314",
    "a number that the kernel takes for a size is below 1",
    "Where there is nothing to compute, leave out the call.",
    "kernel(0, torch.ones(64, 64), torch.empty(64, 64))",
    "result = torch.empty(64, 64)\nkernel(2, torch.ones(64, 64), result)\nassert torch.equal(result, torch.full((64, 64), 2.0))",
    _SIZED + _COMPILED,
)
call(
    "TT316",
    "a number that 32 bits cannot hold, or a setting that is no number",
    "Kernels get the numbers of a call in words of 32 bits. A tensor of one element has all bits of its type.",
    "kernel(0.1, torch.ones(64, 64), torch.empty(64, 64))",
    "kernel(0.5, torch.ones(64, 64), torch.empty(64, 64))",
    _SCALED.replace("s: T.float32", "s: T.float64").replace("* s", '* T.cast(s, "float32")') + _COMPILED,
)
program(
    "TT317",
    "a text that is no plan of a version that is known",
    "`tt.plan.json` of an earlier version is read; one of a later version, or something else, is not.",
    'from tilelang_tt.runtime.plan import Plan\n\nPlan.from_json("""{"schema": 99}""")\n',
    _DOUBLE
    + "from tilelang_tt.runtime.plan import Plan\n\n"
    + _COMPILED
    + 'Plan.from_json(kernel.files["tt.plan.json"])\n',
    runs=False,
)
call(
    "TT318",
    "an estimate without the sizes that it depends on",
    "`kernel.estimate` takes the dynamic sizes and scalars of the kernel by name.",
    "kernel.estimate()",
    "print(kernel.estimate(n=1024))",
    _DYNAMIC + _COMPILED,
)
call(
    "TT319",
    "a call without work cannot be timed",
    "All of its results are empty.",
    "kernel.time(torch.ones(0, 64), torch.empty(0, 64))",
    "print(kernel.time(torch.ones(32, 64), torch.empty(32, 64)))",
    _DYNAMIC + _COMPILED,
)
program(
    "TT320",
    "a program for the device that is not complete, or not consistent",
    "`tilelang_tt.device` checks a hand-written program before it runs; docs/device.md explains its parts.",
    """
    from tilelang_tt.device import open_device

    open_device("wormhole_b0", allow=("everything",))
    """,
    """
    from tilelang_tt.device import open_device

    open_device("wormhole_b0", allow=("dram-race",))
    """,
)
program(
    "TT322",
    "something of ttnn that the stand-in does not have",
    "`tilelang_tt.ttnn` has what programs for `generic_op` need: tensors, memory configurations, descriptors.",
    "import tilelang_tt.ttnn as ttnn\n\nttnn.Tile((8, 32))\n",
    "import tilelang_tt.ttnn as ttnn\n\nttnn.Tile((32, 32))\n",
)
call(
    "TT324",
    "a profile of a launch that the kernel does not have",
    "A function with several T.Kernel blocks has several launches; the message names them.",
    "from tilelang_tt.execution.timing import estimate\nfrom tilelang_tt.profile.profiled import profile_kernel\n\n"
    'profile_kernel(kernel.compiled, lambda record: estimate(kernel.compiled, {}, record), "second")',
    "print(kernel.profile())",
)

call(
    "TT325",
    "a place, buffer or launch that a debugging session does not have",
    "The help names those there are; `session.lines` has the lines at which a kernel can stop.",
    "kernel.debug(torch.ones(64, 64), torch.empty(64, 64)).run_to(1)",
    "session = kernel.debug(torch.ones(64, 64), torch.empty(64, 64))\nprint(session.run_to(session.lines[0]))",
)

# --- while kernels run ------------------------------------------------------------------------------

program(
    "TT409",
    "unknown numerics",
    "`fast` uses float32 of the host, `exact` keeps every bit, `chip` rounds as the chip does; `none` has time alone.",
    'from tilelang_tt.device import open_device\n\nopen_device("wormhole_b0", numerics="float64")\n',
    'from tilelang_tt.device import open_device\n\nopen_device("wormhole_b0", numerics="exact")\n',
)
_ASSERTING = """
@T.prim_func
def main(A: T.Tensor((32, 32), "int32"), B: T.Tensor((32, 32), "int32")):
    with T.Kernel(1, threads=128):
        for i, j in T.Parallel(32, 32):
            T.device_assert(A[i, j] > 0)
            B[i, j] = A[i, j]


"""
call(
    "TT417",
    "T.device_assert does not hold",
    "The call ends, and its results are not to be used. The line is that of the assertion.",
    "kernel(torch.zeros(32, dtype=torch.int32), torch.empty(32, dtype=torch.int32))",
    "kernel(torch.ones(32, dtype=torch.int32), torch.empty(32, dtype=torch.int32))",
    _CHECKED + _COMPILED,
)

# --- this machine -----------------------------------------------------------------------------------

_CACHED = """
import os
from unittest.mock import patch

open("taken", "w").close()
result = torch.empty(64, 64)
with patch.dict(os.environ, TILELANG_TT_CACHE_DIR="taken"):
    kernel(torch.ones(64, 64), result)"""
call(
    "TT502",
    "the directory of built kernels cannot be used",
    "TILELANG_TT_CACHE_DIR names another one.",
    _CACHED,
    "result = torch.empty(64, 64)\nkernel(torch.ones(64, 64), result)\nassert torch.equal(result, torch.full((64, 64), 2.0))",
)
_SEEDED = """
import os
from unittest.mock import patch

result = torch.empty(64, 64)
with patch.dict(os.environ, TILELANG_TT_SEED="{seed}"):
    kernel(torch.ones(64, 64), result)
assert torch.equal(result, torch.full((64, 64), 2.0))"""
call(
    "TT504",
    "an environment variable has a value that it cannot have",
    "The help has an example.",
    _SEEDED.format(seed="first"),
    _SEEDED.format(seed="3"),
)
call(
    "TT505",
    "a folder cannot be written to",
    "Choose another one.",
    'open("taken", "w").close()\nkernel.export("taken")',
    'folder = kernel.export("build")\nassert (folder / "compute.cpp").read_text() == kernel.files["compute.cpp"]',
)
program(
    "TT506",
    "a folder holds other versions of the exported files",
    "`overwrite=True` replaces them.",
    _DOUBLE
    + _COMPILED
    + 'kernel.export("exported")\nopen("exported/main.cpp", "a").write("// mine\\n")\nkernel.export("exported")\n',
    _DOUBLE + _COMPILED + 'kernel.export("exported", overwrite=True)\n',
    runs=False,
)
explained(
    "TT509",
    "a kernel without source",
    """TileLang reads the text of a kernel. There is none behind `python -c`, standard input and Python's own `>>>`: write
    the kernel to a file, or use IPython or Jupyter, which keep the text of cells.""",
)

# --- targets and schedules --------------------------------------------------------------------------

target(
    "TT601",
    "an option that the target does not have",
    "README.md has the table of options.",
    '"tenstorrent -cores=4"',
    '"tenstorrent -grid=4x4"',
)
target(
    "TT602",
    "a value that an option cannot have",
    "The help lists the valid values.",
    '"tenstorrent -grid=four"',
    '"tenstorrent -grid=4x4"',
)
target(
    "TT603",
    "a target that does not exist",
    "The part behind the slash is the chip.",
    '"tenstorrent-blackhole"',
    '"tenstorrent/blackhole"',
)


def schedule(code: str, title: str, meaning: str, fails: str, mended: str) -> None:
    """`fails` and `mended` are settings of TT.schedule."""
    lines = [
        _DOUBLE.replace("        X = ", f"        TT.schedule({text})\n        X = ") + _COMPILED
        for text in (fails, mended)
    ]
    program(code, title, meaning, *lines, runs=False)


program(
    "TT604",
    "a schedule that does not suit the kernel, or two that disagree",
    "TT.schedule in the kernel and target option `schedule` may both speak of a launch, but not against each other.",
    _DOUBLE.replace("        X = ", '        TT.schedule(policy="strided")\n        X = ')
    + 'tilelang.compile(main, target="tenstorrent -schedule=policy:contiguous")\n',
    _DOUBLE.replace("        X = ", '        TT.schedule(policy="strided")\n        X = ') + _COMPILED,
    runs=False,
)
schedule(
    "TT605",
    "a schedule names cores outside of the grid",
    "Ranges lie within the grid of the target.",
    'cores="4x4+6+6"',
    'cores="2x2+6+6"',
)
schedule(
    "TT606",
    "lists of units that do not make up the kernel",
    "Every block of the grid is in one list, once.",
    "units=[[0], [0]]",
    "units=[[0], [1]]",
)
schedule(
    "TT608",
    "a schedule that follows a tensor which is not there, or does not lie in whole blocks",
    "`match` deals blocks to the cores on which a tensor in L1 lies.",
    "match=A",
    'policy="contiguous"',
)
target(
    "TT610",
    "target option `layout` names a tensor that the kernel does not have",
    "Names are those of the parameters.",
    '{"kind": "tenstorrent", "layout": {"C": {"memory": "L1"}}}',
    '{"kind": "tenstorrent", "layout": {"A": {"memory": "L1"}}}',
)

# --- warnings ---------------------------------------------------------------------------------------

_LOOP = """
@T.prim_func
def main(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32")):
    with T.Kernel(1, threads=128):
        H = T.alloc_fragment((32, 64), "float32")
        X = T.alloc_shared((32, 64), "float32")
        for k in T.serial(2):
            T.copy(A[k * 32, 0], X)
            for i, j in T.Parallel(32, 64):
                X[i, j] = X[i, j] + H[i, j]
            T.copy(X, H)
            T.copy(X, B[k * 32, 0])


"""
program(
    "TT701",
    "a block that a loop reads before it fills it starts as zeros",
    "On a GPU it would hold whatever was in its registers.",
    _LOOP + _COMPILED,
    _LOOP.replace("        for k", "        T.clear(H)\n        for k") + _COMPILED,
    runs=False,
)
program(
    "TT702",
    "this runs as scalar code",
    """The cores' small processors compute element by element, which takes hundreds of times as long as tiles do; the
    message estimates it. Nothing is wrong with the result. The mended kernel uses tiles.""",
    _DOUBLE.replace("X[i, j] * 2.0", "T.nextafter(X[i, j], 0.0)") + _COMPILED,
    _DOUBLE.replace("X[i, j] * 2.0", "X[i, j] * T.float32(1 - 2.0**-24)") + _COMPILED,
    runs=False,
)
program(
    "TT703",
    "a statement is left out",
    "It looks at numbers one by one, or tells a GPU something; tile programs go on without it, or pay for it.",
    _ASSERTING + _COMPILED,
    _ASSERTING.replace("            T.device_assert(A[i, j] > 0)\n", "") + _COMPILED,
    runs=False,
)
