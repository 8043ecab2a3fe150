"""Entries of errors about other targets, and about TileLang itself."""

from catalogue import program

_ADD = """
import tilelang_tt


@T.prim_func
def main(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32")):
    with T.Kernel(2, threads=128) as bx:
        X = T.alloc_fragment((32, 64), "float32")
        T.copy(A[bx * 32, 0], X)
        for i, j in T.Parallel(32, 64):
            X[i, j] = X[i, j] + 1.0
        T.copy(X, B[bx * 32, 0])


"""
_SUM = """
import tilelang_tt


@T.prim_func
def main(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64,), "float32")):
    with T.Kernel(2, threads=128) as bx:
        X = T.alloc_fragment((32, 64), "float32")
        S = T.alloc_fragment((32,), "float32")
        T.copy(A[bx * 32, 0], X)
        T.reduce_sum(X, S, dim=1)
        T.copy(S, B[bx * 32])


"""

program(
    "TT194",
    "TileLang cannot lower this kernel for this target",
    """The reason is TileLang's own, in a line. Its backends do not all have every tile operation: WebGPU has elements
    alone, Metal no reductions.""",
    _SUM + 'tilelang_tt.lower(main, "webgpu")',
    _SUM + 'tilelang_tt.lower(main, "c")',
)
program(
    "TT195",
    "a module of several functions is no kernel",
    "It can be lowered, and its source read; a callable is made of one function.",
    _ADD + 'module = tilelang.tvm.IRModule({"one": main, "two": main})\ntilelang_tt.lower(module, "c").kernel()',
    _ADD + 'tilelang_tt.lower(main, "c").kernel()',
)
program(
    "TT196",
    "this is no function of TileLang",
    "`lower` takes a T.prim_func or a module of them.",
    _ADD + 'tilelang_tt.lower("main", "c")',
    _ADD + 'tilelang_tt.lower(main, "c")',
)
_NEW = "from pathlib import Path\n\nfrom tilelang_tt.new_backend.write import new_backend\n\n"
program(
    "TT340",
    "this cannot be the name of a new backend",
    "It becomes the name of a target and of a package: lower-case letters and digits, and no other target's name.",
    _NEW + 'new_backend("My-Chip", Path("fails"))',
    _NEW + 'files = new_backend("mychip", Path("made"))\nassert all(file.exists() for file in files)',
)
program(
    "TT341",
    "the folder for a new backend is not empty, or cannot be written",
    "Nothing is overwritten. The folder may be one that is not there yet.",
    _NEW + 'Path("full").mkdir()\nPath("full", "notes.txt").write_text("mine")\nnew_backend("mychip", Path("full"))',
    _NEW + 'files = new_backend("mychip", Path("empty"))\nassert all(file.exists() for file in files)',
)
program(
    "TT520",
    "the installed TileLang cannot emit this target",
    "Code generators are compiled into TileLang's wheel or not. The one of 0.1.15 has none for LLVM.",
    _ADD + 'tilelang_tt.lower(main, "llvm")',
    _ADD + 'tilelang_tt.lower(main, "c")',
)
program(
    "TT620",
    "there is no such target",
    "`tilelang-tt targets` lists those that a kernel can be lowered for. Or TileLang refuses an option; its reason is quoted.",
    _ADD + 'tilelang_tt.lower(main, "vulcan")',
    _ADD + 'tilelang_tt.lower(main, "metal")',
)
