"""Every element-wise operation, in every arithmetic of the virtual device, against float64."""

import linecache
import operator
from typing import Any

import pytest
import tilelang
import tilelang.language as T
import torch
from element_cases import ARITHMETIC, FUNCTIONS, LOGIC, NARROW, Case

from tilelang_tt.ops import ELEMENT_OPS
from tilelang_tt.ops.derived import DERIVED

FAMILIES = {"arithmetic": ARITHMETIC, "functions": FUNCTIONS, "logic": LOGIC}
SETTINGS = [
    (arch, numerics, dtype, fp32_acc)
    for arch in ("wormhole_b0", "blackhole")
    for numerics, dtype, fp32_acc in (
        ("chip", "float32", True),
        ("fast", "float32", True),
        ("exact", "float32", True),
        ("chip", "bfloat16", True),
        ("chip", "bfloat16", False),
    )
]
COLUMNS = 64


def kernel_of(cases: tuple[Case, ...], dtype: str) -> Any:
    """One kernel that computes every case: case k on rows 32 k and following."""
    tensor = f"T.Tensor(({32 * len(cases)}, {COLUMNS}), '{dtype}')"
    lines = [
        "@T.prim_func",
        f"def main(A: {tensor}, B: {tensor}, C: {tensor}):",
        "    with T.Kernel(1, threads=128) as _:",
        f"        X = T.alloc_shared((32, {COLUMNS}), '{dtype}')",
        f"        Y = T.alloc_shared((32, {COLUMNS}), '{dtype}')",
        f"        Z = T.alloc_shared((32, {COLUMNS}), '{dtype}')",
    ]
    for k in range(len(cases)):
        lines += [
            f"        T.copy(A[{32 * k}, 0], X)",
            f"        T.copy(B[{32 * k}, 0], Y)",
            f"        for i, j in T.Parallel(32, {COLUMNS}):",
            f"            Z[i, j] = f{k}(T.cast(X[i, j], 'float32'), T.cast(Y[i, j], 'float32'))",
            f"        T.copy(Z, C[{32 * k}, 0])",
        ]
    text = "\n".join(lines) + "\n"
    file = f"<{len(cases)} cases of {dtype}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope: dict[str, Any] = {"T": T, **{f"f{k}": case.kernel for k, case in enumerate(cases)}}
    exec(compile(text, file, "exec", dont_inherit=True), scope)
    return scope["main"]


def inputs_of(cases: tuple[Case, ...], dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    random = torch.Generator().manual_seed(0)
    x, y = ([case.draw(getattr(case, name), (32, COLUMNS), random) for case in cases] for name in ("x", "y"))
    return torch.cat(x).to(dtype), torch.cat(y).to(dtype)


@pytest.mark.parametrize(("arch", "numerics", "dtype", "fp32_acc"), SETTINGS)
@pytest.mark.parametrize("family", FAMILIES)
def test_operation(family: str, arch: str, numerics: str, dtype: str, fp32_acc: bool) -> None:
    arithmetic = numerics if fp32_acc else NARROW
    cases = tuple(case for case in FAMILIES[family] if case.not_in != arithmetic)
    target = {"kind": "tenstorrent", "grid": "1x1", "arch": arch, "numerics": numerics, "fp32_acc": fp32_acc}
    kernel = tilelang.compile(kernel_of(cases, dtype), out_idx=[-1], target=target)
    x, y = inputs_of(cases, getattr(torch, dtype))
    result = kernel(x, y)
    wrong = []
    for k, case in enumerate(cases):
        rows = slice(32 * k, 32 * k + 32)
        exact = case.reference(x[rows].double(), y[rows].double())
        bound = case.bound(exact, getattr(torch, dtype), fp32_acc)
        error = (result[rows].double() - exact).abs()
        if not bool((error <= bound).all()):
            at = (error - bound).nan_to_num(nan=torch.inf).argmax()
            a, b, got, want = (t.flatten()[at].item() for t in (x[rows], y[rows], result[rows], exact))
            wrong.append(f"case {k}, {case.op} of {a}, {b}: {got}, not {want}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("family", FAMILIES)
def test_calls_are_those_of_the_later_sdk(family: str) -> None:
    """Compiling checks every call against the SDK's declarations (conftest.py)."""
    target = {"kind": "tenstorrent", "grid": "1x1", "sdk": "0.81"}
    tilelang.compile(kernel_of(FAMILIES[family], "float32"), out_idx=[-1], target=target)


@pytest.mark.parametrize("arch", ["wormhole_b0", "blackhole"])
def test_infinity_and_nan(arch: str) -> None:
    """In float32, which reaches DST with all its bits."""

    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32"), C: T.Tensor((160, 32), "float32")):
        with T.Kernel(1, threads=128) as _:
            X = T.alloc_shared((32, 32), "float32")
            Z = T.alloc_shared((32, 32), "float32")
            T.copy(A, X)
            for i, j in T.Parallel(32, 32):
                Z[i, j] = T.cast(T.isnan(X[i, j]), "float32")
            T.copy(Z, C[0, 0])
            for i, j in T.Parallel(32, 32):
                Z[i, j] = T.cast(T.isfinite(X[i, j]), "float32")
            T.copy(Z, C[32, 0])
            for i, j in T.Parallel(32, 32):
                Z[i, j] = T.if_then_else(T.isfinite(X[i, j]), X[i, j], 0.0)
            T.copy(Z, C[64, 0])
            for i, j in T.Parallel(32, 32):
                Z[i, j] = T.if_then_else(T.isnan(X[i, j]), 7.0, T.max(X[i, j], -T.infinity("float32")))
            T.copy(Z, C[96, 0])
            for i, j in T.Parallel(32, 32):
                Z[i, j] = T.cast(T.isinf(X[i, j]), "float32")
            T.copy(Z, C[128, 0])

    x = torch.tensor([0.0, 1.5, -3.0, torch.inf, -torch.inf, torch.nan, 3e38, -1e-30]).repeat(128).reshape(32, 32)
    target = {"kind": "tenstorrent", "grid": "1x1", "arch": arch, "numerics": "chip"}
    result = tilelang.compile(main, out_idx=[-1], target=target)(x).split(32)
    finite = x.isfinite()
    wanted = (
        x.isnan().float(),
        finite.float(),
        torch.where(finite, x, 0.0),
        torch.where(x.isnan(), 7.0, x),
        x.isinf().float(),
    )
    for got, want in zip(result, wanted, strict=True):
        assert torch.equal(got, want)


@pytest.mark.parametrize("arch", ["wormhole_b0", "blackhole"])
def test_comparisons_with_infinity(arch: str) -> None:
    """The chip's comparison with a number subtracts it, which makes NaNs of equal infinities."""
    comparisons = (operator.eq, operator.ne, operator.lt, operator.gt, operator.le, operator.ge)
    whole = tuple(
        Case(op.__name__, lambda x, y, f=f: T.cast(f(x), "float32"), lambda x, y, f=f: f(x).double())
        for op in comparisons
        for end in (torch.inf, -torch.inf)
        for f in (lambda x, op=op, end=end: op(x, end), lambda x, op=op, end=end: op(end, x))
    )
    target = {"kind": "tenstorrent", "grid": "1x1", "arch": arch, "numerics": "chip"}
    x = torch.tensor([0.0, 1.5, -3.0, torch.inf, -torch.inf, 3e38, -1e-30, 7.0]).repeat(8 * 32 * len(whole))
    x = x.reshape(32 * len(whole), COLUMNS)
    result = tilelang.compile(kernel_of(whole, "float32"), out_idx=[-1], target=target)(x, x)
    wanted = torch.cat([case.reference(part, part) for case, part in zip(whole, x.double().split(32), strict=True)])
    assert torch.equal(result.double(), wanted)


@pytest.mark.parametrize("arch", ["wormhole_b0", "blackhole"])
def test_numbers_known_when_the_kernel_runs(arch: str) -> None:
    """Block and loop indices, sizes and parameters as operands; whole numbers become the nearest float32."""
    rows = T.dynamic("rows")

    @T.prim_func
    def main(A: T.Tensor((rows, 32), "float32"), C: T.Tensor((rows, 32), "float32"), s: T.float32, n: T.int32):
        with T.Kernel(T.ceildiv(rows, 64), threads=128) as bx:
            X = T.alloc_shared((32, 32), "float32")
            for k in T.serial(2):
                T.copy(A[bx * 64 + k * 32, 0], X)
                for i, j in T.Parallel(32, 32):
                    X[i, j] = T.if_then_else(k == 1, X[i, j] * s, (bx - 1) * n + k) + rows * X[i, j] / (bx + k + 1)
                T.copy(X, C[bx * 64 + k * 32, 0])

    kernel = tilelang.compile(main, out_idx=[1], target={"kind": "tenstorrent", "grid": "2x1", "arch": arch})
    for size, s, n in ((256, 0.3, 5), (192, -2.5, -(2**24) - 1), (64, 1e-3, 2**31 - 1)):
        x = torch.randn(size, 32, generator=torch.Generator().manual_seed(size))
        row = torch.arange(size)[:, None]
        bx, k = row // 64, row // 32 % 2
        s32 = torch.tensor(s).double()
        first = torch.where(k == 1, x.double() * s32, ((bx - 1) * n + k).double())
        second = size * x.double() / (bx + k + 1)
        bound = 2.0**-22 * (first.abs() + second.abs())
        assert bool(((kernel(x, s, n).double() - (first + second)).abs() <= bound).all())


@pytest.mark.parametrize("fp32_acc", [True, False])
def test_an_expression_larger_than_dst(fp32_acc: bool) -> None:
    """A balanced tree of 32 different leaves: six tiles at once, where a 32-bit DST holds four."""

    def tree(x: Any, y: Any, low: int, high: int) -> Any:
        if high - low == 1:
            return x * (low + 1.0) + y
        middle = (low + high) // 2
        return tree(x, y, low, middle) * 0.5 - tree(y, x, middle, high) * 0.25

    @T.prim_func
    def main(A: T.Tensor((32, 64), "float32"), B: T.Tensor((32, 64), "float32"), C: T.Tensor((32, 64), "float32")):
        with T.Kernel(1, threads=128) as _:
            X = T.alloc_shared((32, 64), "float32")
            Y = T.alloc_shared((32, 64), "float32")
            T.copy(A, X)
            T.copy(B, Y)
            for i, j in T.Parallel(32, 64):
                X[i, j] = tree(X[i, j], Y[i, j], 0, 32)
            T.copy(X, C)

    target = {"kind": "tenstorrent", "grid": "1x1", "fp32_acc": fp32_acc}
    random = torch.Generator().manual_seed(0)
    x, y = (torch.rand(32, 64, generator=random) for _ in range(2))
    result = tilelang.compile(main, out_idx=[-1], target=target)(x, y)
    exact = tree(x.double(), y.double(), 0, 32)
    unit = 2.0**-23 if fp32_acc else 2.0**-7
    assert bool(((result - exact).abs() <= 12 * unit * 33).all())  # a dozen roundings of numbers up to 33


def test_every_operation_has_a_case() -> None:
    tested = {case.op for cases in FAMILIES.values() for case in cases} | SPECIAL
    tested |= {case.to_float32 for case in FUNCTIONS if case.to_float32}
    assert tested == {*ELEMENT_OPS, *DERIVED}


SPECIAL = {"isnan", "isfinite", "sign"}  # `sign` has no name in TileLang: it is a part of T.round
SPECIAL |= {"cast", "to_float8_e4m3", "to_float8_e5m2"}  # test_casts.py, as what follows
SPECIAL |= {"bitcast", "bit_and", "bit_or", "bit_xor", "shift_left", "shift_right"}
SPECIAL |= {"coarse_exp"}  # test_approx_exp.py
SPECIAL |= {"floor_div", "floor_mod", "trunc_div", "trunc_mod"}  # test_integers.py
