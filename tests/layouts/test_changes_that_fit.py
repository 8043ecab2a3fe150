"""The help of TT204 is a change that was planned: who follows it gets a kernel of just that size."""

import inspect
import re
from collections.abc import Callable
from typing import Any

import pytest
import tilelang
import tilelang.language as T
import torch
from layout_kernels import gemm, softmax
from placed import compiled

from tilelang_tt.diagnostics import ResourceError, TenstorrentWarning


def refused(func: Any, **options: Any) -> str:
    """The help of TT204."""
    with pytest.raises(ResourceError) as error:
        compiled(func, scalar_code=False, **options)
    assert error.value.code == "TT204"
    assert error.value.help is not None
    return error.value.help


def followed(help: str, build: Callable[..., Any], **values: int) -> None:
    """Build the kernel as the help says; it fits, and takes as many bytes."""
    *_, last = help.rpartition(". ")
    options: dict[str, Any] = {}
    changed = {name: int(value) for name, value in re.findall(r"(\w+)=(\d+)", last)}
    stored = re.search(r"storage='(\w+)' for (.*?) (?:with|fit)", last)
    if stored:
        options["storage"] = ",".join(f"{name}:{stored[1]}" for name in re.findall(r"'(\w+)'", stored[2]))
    assert changed or stored
    size = re.search(r"\(([\d,]+) B\)", last)
    assert size
    told = compiled(build(**{**values, **changed}), **options).explain(whole=True)
    assert f"used {size[1]} B of" in told


def product(bm: int, bn: int, bk: int, num_stages: int = 2) -> Any:
    m = n = k = 2048

    @T.prim_func
    def main(A: T.Tensor((m, k), "bfloat16"), B: T.Tensor((k, n), "bfloat16"), C: T.Tensor((m, n), "bfloat16")):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), threads=128) as (bx, by):
            a = T.alloc_shared((bm, bk), "bfloat16")
            b = T.alloc_shared((bk, bn), "bfloat16")
            c = T.alloc_fragment((bm, bn), "float32")
            T.clear(c)
            for ko in T.Pipelined(T.ceildiv(k, bk), num_stages=num_stages):
                T.copy(A[by * bm, ko * bk], a)
                T.copy(B[ko * bk, bx * bn], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * bm, bx * bn])

    return main


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"bm": 512, "bn": 512, "bk": 512}, "bm=256 with num_stages=1 fits (1,376,256 B)"),
        ({"bm": 1024, "bn": 1024, "bk": 64}, "bm=512 and bn=512 fit (1,376,256 B)"),
        ({"bm": 256, "bn": 256, "bk": 1024}, "num_stages=1 fits (1,343,488 B)"),
        ({"bm": 256, "bn": 256, "bk": 2048, "num_stages": 1}, "bk=1024 fits (1,343,488 B)"),
    ],
)
def test_products(values: dict[str, int], text: str) -> None:
    help = refused(product(**values))
    assert help == text
    followed(help, product, **values)


def test_blocks_as_long_as_tensors() -> None:
    """Half of `m`, `n` or `k` would be another problem; `bm` and `bn` are as large, and sizes of blocks."""

    def build(m: int, n: int, k: int, bm: int, bn: int) -> Any:
        @T.prim_func
        def main(
            A: T.Tensor((m, k), "bfloat16"),
            B: T.Tensor((k, n), "bfloat16"),
            H: T.Tensor((m, k), "bfloat16"),
            C: T.Tensor((m, n), "bfloat16"),
        ):
            with T.Kernel(T.ceildiv(k, 64), T.ceildiv(m, 64), threads=128) as (bx, by):
                x = T.alloc_shared((64, 64), "bfloat16")
                T.copy(A[by * 64, bx * 64], x)
                for i, j in T.Parallel(64, 64):
                    x[i, j] = x[i, j] * 2
                T.copy(x, H[by * 64, bx * 64])
            with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), threads=128) as (bx, by):
                a = T.alloc_shared((bm, 64), "bfloat16")
                b = T.alloc_shared((64, bn), "bfloat16")
                c = T.alloc_fragment((bm, bn), "float32")
                T.clear(c)
                for ko in T.serial(T.ceildiv(k, 64)):
                    T.copy(H[by * bm, ko * 64], a)
                    T.copy(B[ko * 64, bx * bn], b)
                    T.gemm(a, b, c)
                T.copy(c, C[by * bm, bx * bn])

        return main

    values = dict.fromkeys(("m", "n", "k", "bm", "bn"), 1024)
    help = refused(build(**values))
    assert help == "bm=256 fits (1,376,256 B)"
    followed(help, build, **values)


def test_the_warning_of_scalar_code_has_the_help() -> None:
    with pytest.warns(TenstorrentWarning, match=r"(?s)TT702.*help: num_stages=1 fits \(1,343,488 B\)"):
        compiled(product(256, 256, 1024))


def test_a_row_that_must_be_whole() -> None:
    """The length of a row is no size of a block, though a variable says both: half of it would be half of the work."""
    help = refused(softmax(128, 32768, 32))
    assert help == "storage='bfloat8_b' for 'A' fits (1,230,848 B)"
    followed(help, lambda m, n, rows: softmax(m, n, rows), m=128, n=32768, rows=32)


def test_a_grid_that_does_not_follow_its_blocks() -> None:
    """With smaller blocks this grid would leave out three quarters of C."""
    side = 1024

    @T.prim_func
    def main(A: T.Tensor((2048, 2048), "float32"), C: T.Tensor((2048, 2048), "float32")):
        with T.Kernel(2, 2, threads=128) as (bx, by):
            a = T.alloc_shared((side, side), "float32")
            b = T.alloc_shared((side, side), "float32")
            T.copy(A[by * side, bx * side], a)
            T.gemm(a, a, b, clear_accum=True)
            T.copy(b, C[by * side, bx * side])

    help = refused(main)
    assert "side=" not in help
    assert help.endswith("takes most of it: use smaller blocks, if the algorithm allows")


def test_sizes_known_at_the_call() -> None:
    """Block sizes of a kernel whose tensors have any size."""

    def build(rows: int, cols: int) -> Any:
        m, n = T.dynamic("m, n")

        @T.prim_func
        def main(A: T.Tensor((m, n), "float32"), B: T.Tensor((n, m), "float32"), C: T.Tensor((m, m), "float32")):
            with T.Kernel(T.ceildiv(m, rows), T.ceildiv(m, rows), threads=128) as (bx, by):
                a = T.alloc_shared((rows, cols), "float32")
                b = T.alloc_shared((cols, rows), "float32")
                c = T.alloc_fragment((rows, rows), "float32")
                T.clear(c)
                for k in T.serial(T.ceildiv(n, cols)):
                    T.copy(A[by * rows, k * cols], a)
                    T.copy(B[k * cols, bx * rows], b)
                    T.gemm(a, b, c)
                T.copy(c, C[by * rows, bx * rows])

        return main

    help = refused(build(512, 256))
    assert "rows=" in help
    followed(help, build, rows=512, cols=256)


SIDE = 512


@T.prim_func
def squared(A: T.Tensor((2048, 2048), "float32"), C: T.Tensor((2048, 2048), "float32")):
    with T.Kernel(T.ceildiv(2048, SIDE), T.ceildiv(2048, SIDE), threads=128) as (bx, by):
        a = T.alloc_shared((SIDE, SIDE), "float32")
        b = T.alloc_shared((SIDE, SIDE), "float32")
        T.copy(A[by * SIDE, bx * SIDE], a)
        T.gemm(a, a, b, clear_accum=True)
        T.copy(b, C[by * SIDE, bx * SIDE])


def test_variables_of_the_module() -> None:
    assert refused(squared) == "SIDE=256 fits (1,048,576 B)"


def test_kernels_of_the_decorator() -> None:
    """Values of a function that TileLang's own decorator calls."""

    @tilelang.jit(target="tenstorrent")
    def matmul(bm: int, bn: int, bk: int) -> Any:
        return gemm(2048, 2048, 2048, (bm, bn, bk))

    with pytest.raises(ResourceError) as error:
        matmul(1024, 1024, 64)
    assert error.value.help == "bm=512 and bn=512 fit (1,376,256 B)"


@tilelang.jit(target={"kind": "tenstorrent", "scalar_code": False})
def eager(A, B, bm: int, bn: int = 64, side: int = 64):
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), "bfloat16")
    B: T.Tensor((K, N), "bfloat16")
    C = T.empty((M, N), "bfloat16")
    with T.Kernel(T.ceildiv(N, bn), T.ceildiv(M, bm), threads=128) as (bx, by):
        a = T.alloc_shared((bm, side), "bfloat16")
        b = T.alloc_shared((side, bn), "bfloat16")
        c = T.alloc_fragment((bm, bn), "float32")
        T.clear(c)
        for k in T.serial(T.ceildiv(K, side)):
            T.copy(A[by * bm, k * side], a)
            T.copy(B[k * side, bx * bn], b)
            T.gemm(a, b, c)
        T.copy(c, C[by * bm, bx * bn])
    return C


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"bm": 1024, "bn": 1024}, "bm=512 and bn=512 fit (1,376,256 B)"),
        ({"bm": 256, "bn": 256, "side": 2048}, "side=1024 fits (1,343,488 B)"),
    ],
)
def test_arguments_of_a_call(arguments: dict[str, int], text: str) -> None:
    """An eager function: TileLang builds the kernel for each call, and keeps neither function nor arguments in it."""
    a, b = torch.zeros(2048, 2048).bfloat16(), torch.zeros(2048, 2048).bfloat16()
    with pytest.raises(ResourceError) as error:
        eager(a, b, **arguments)
    assert error.value.help == text
    changed = {name: int(value) for name, value in re.findall(r"(\w+)=(\d+)", text)}
    told = eager.compile(M=2048, N=2048, K=2048, **{**arguments, **changed}).explain(whole=True)
    assert f"used {text.split('(')[1].split(' B')[0]} B of" in told
    with pytest.raises(ResourceError) as error:
        eager.compile(M=2048, N=2048, K=2048, **arguments)
    assert error.value.help == text


def test_literals() -> None:
    """The lines are named, and the kernel with the other number takes what the help says."""

    @T.prim_func
    def main(A: T.Tensor((2048, 2048), "float32"), C: T.Tensor((2048, 2048), "float32")):
        with T.Kernel(T.ceildiv(2048, 512), T.ceildiv(2048, 512), threads=128) as (bx, by):
            a = T.alloc_shared((512, 512), "float32")
            b = T.alloc_shared((512, 512), "float32")
            T.copy(A[by * 512, bx * 512], a)
            T.gemm(a, a, b, clear_accum=True)
            T.copy(b, C[by * 512, bx * 512])

    first = inspect.getsourcelines(main.orig_func)[1] + 2
    lines = f"lines {first}, {first + 1}, {first + 2}, {first + 3} and {first + 5}"
    assert refused(main) == f"256 for 512 in {lines} fits (1,048,576 B)"
    assert refused(squared) == "SIDE=256 fits (1,048,576 B)"  # the same kernel


def test_literals_that_say_how_much_there_is_to_do() -> None:
    """With 512 for 1024 everywhere this grid would leave out three quarters of C."""

    @T.prim_func
    def main(A: T.Tensor((2048, 2048), "float32"), C: T.Tensor((2048, 2048), "float32")):
        with T.Kernel(2, 2, threads=128) as (bx, by):
            a = T.alloc_shared((1024, 1024), "float32")
            b = T.alloc_shared((1024, 1024), "float32")
            T.copy(A[by * 1024, bx * 1024], a)
            T.gemm(a, a, b, clear_accum=True)
            T.copy(b, C[by * 1024, bx * 1024])

    assert "for 1024" not in refused(main)
