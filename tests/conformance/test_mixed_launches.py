"""Of several launches in a function only those become scalar code that the tile engines refuse."""

import json
import warnings

import pytest
import tilelang
import tilelang.language as T
import torch
from reference import chip_error

from tilelang_tt.diagnostics import DeviceError, TenstorrentWarning
from tilelang_tt.options import Options
from tilelang_tt.pipeline import compile_function
from tilelang_tt.runtime.plan import Plan

pytestmark = pytest.mark.filterwarnings("ignore:.*TT702")
M, N, K, BINS = 64, 96, 64, 32


def product_histogram_softmax(extra="int32"):
    @T.prim_func
    def main(
        A: T.Tensor((M, K), "bfloat16"),
        B: T.Tensor((K, N), "bfloat16"),
        C: T.Tensor((M, N), "float32"),
        H: T.Tensor((BINS,), extra),
        S: T.Tensor((M, N), "float32"),
    ):
        with T.Kernel(N // 32, M // 32, threads=128) as (bx, by):
            a = T.alloc_shared((32, 32), "bfloat16")
            b = T.alloc_shared((32, 32), "bfloat16")
            c = T.alloc_fragment((32, 32), "float32")
            T.clear(c)
            for k in T.Pipelined(K // 32, num_stages=2):
                T.copy(A[by * 32, k * 32], a)
                T.copy(B[k * 32, bx * 32], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * 32, bx * 32])
        with T.Kernel(M, threads=N) as bx:
            tx = T.get_thread_binding()
            number = T.cast(T.max(T.min(C[bx, tx] + BINS // 2, BINS - 1), 0), "int32")
            T.atomic_add(H[number], T.cast(1, extra))
        with T.Kernel(M // 32, threads=128) as bx:
            x = T.alloc_fragment((32, N), "float32")
            m = T.alloc_fragment((32,), "float32")
            T.copy(C[bx * 32, 0], x)
            T.reduce_max(x, m, dim=1)
            for i, j in T.Parallel(32, N):
                x[i, j] = T.exp(x[i, j] - m[i])
            T.reduce_sum(x, m, dim=1)
            for i, j in T.Parallel(32, N):
                x[i, j] = x[i, j] / m[i]
            T.copy(x, S[bx * 32, 0])

    return main


def run(func, *tensors, numerics="fast"):
    tilelang.compile(func, target={"kind": "tenstorrent", "grid": "2x2", "numerics": numerics})(*tensors)
    return tensors


def plan_of(func):
    return json.loads(compile_function(func, Options()).files["tt.plan.json"])


def scalar_launches(func):
    launches = plan_of(func)["launches"]
    return [any(kernel["scalar"] for kernel in launch["kernels"]) for launch in launches]


def random(*shape, dtype=torch.float32, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


@pytest.mark.parametrize("numerics", ["fast", "exact"])
@pytest.mark.parametrize("extra", ["int32", "int64", "float64"])
def test_product_histogram_softmax(extra, numerics):
    """The histogram's own tensor lies flat, in whatever type; what it shares with the others lies in tiles."""
    func = product_histogram_softmax(extra)
    assert scalar_launches(func) == [False, True, False]
    assert {tensor["name"]: tensor["flat"] for tensor in plan_of(func)["tensors"]} == {
        **dict.fromkeys("ABCS", False),
        "H": True,
    }
    a, b = random(M, K, dtype=torch.bfloat16), random(K, N, dtype=torch.bfloat16, seed=1)
    outputs = torch.zeros(M, N), torch.zeros(BINS, dtype=getattr(torch, extra)), torch.zeros(M, N)
    _, _, c, h, s = run(func, a, b, *outputs, numerics=numerics)
    assert ((c.double() - a.double() @ b.double()).abs() <= 1e-4 + chip_error(a, b)).all()
    torch.testing.assert_close(s, torch.softmax(c, 1), atol=1e-5, rtol=1e-4)
    counts = torch.bincount((c + BINS // 2).clamp(0, BINS - 1).int().flatten(), minlength=BINS)
    assert torch.equal(h, counts.to(h.dtype))


def test_the_warning_names_the_launch():
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        compile_function(product_histogram_softmax(), Options())
    texts = [str(one.message) for one in found if isinstance(one.message, TenstorrentWarning)]
    (text,) = [text for text in texts if "TT702" in text]
    assert "kernel 'main_1' runs as scalar code" in text
    assert "thread index 'tx'" in text


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "int32"])
def test_scalar_code_between_tiles(dtype):
    """It writes a matrix with tails and vectors that tiles then read: along rows, along columns, and by themselves."""

    @T.prim_func
    def main(
        X: T.Tensor((50, 70), dtype),
        P: T.Tensor((50,), "int32"),
        Y: T.Tensor((50, 70), dtype),
        v: T.Tensor((70,), dtype),
        w: T.Tensor((50,), dtype),
        u: T.Tensor((64,), dtype),
        Z: T.Tensor((50, 70), dtype),
        t: T.Tensor((64,), dtype),
    ):
        with T.Kernel(50, threads=70) as bx:
            tx = T.get_thread_binding()
            Y[P[bx], tx] = X[bx, tx]
            if bx == 0:
                v[tx] = X[7, 69 - tx]
            if tx == 3:
                w[49 - bx] = X[bx, tx]
            if bx == 1 and tx < 64:
                u[63 - tx] = X[bx, tx]
        with T.Kernel(2, 3, threads=128) as (by, bx):
            y = T.alloc_fragment((32, 32), dtype)
            row = T.alloc_fragment((32,), dtype)
            col = T.alloc_fragment((32,), dtype)
            T.copy(Y[by * 32, bx * 32], y)
            T.copy(v[bx * 32], row)
            T.copy(w[by * 32], col)
            for i, j in T.Parallel(32, 32):
                y[i, j] = y[i, j] + row[j] * col[i]
            T.copy(y, Z[by * 32, bx * 32])
        with T.Kernel(1, threads=128) as bx:
            all_of_u = T.alloc_fragment((64,), dtype)
            T.copy(u, all_of_u)
            for i in T.Parallel(64):
                all_of_u[i] = all_of_u[i] * 2
            T.copy(all_of_u, t)

    assert scalar_launches(main) == [True, False, False]
    kind = getattr(torch, dtype)
    x = torch.randint(-8, 8, (50, 70), generator=torch.Generator().manual_seed(1)).to(kind)
    p = torch.randperm(50, generator=torch.Generator().manual_seed(2)).int()
    shapes = ((50, 70), (70,), (50,), (64,), (50, 70), (64,))
    _, _, y, v, w, u, z, t = run(main, x, p, *(torch.zeros(shape, dtype=kind) for shape in shapes))
    wanted = torch.empty_like(x)
    wanted[p.long()] = x
    assert torch.equal(y, wanted)
    assert torch.equal(v, x[7].flip(0))
    assert torch.equal(w, x[:, 3].flip(0))
    assert torch.equal(u, x[1, :64].flip(0))
    assert torch.equal(z, wanted + v[None, :] * w[:, None])
    assert torch.equal(t, u * 2)


def test_all_are_scalar_code_where_tiles_cannot_hold_what_they_share():
    @T.prim_func
    def main(A: T.Tensor((64,), "float64"), B: T.Tensor((64,), "float64")):
        with T.Kernel(1, threads=64) as _:
            tx = T.get_thread_binding()
            B[63 - tx] = A[tx]
        with T.Kernel(1, threads=128) as _:
            b = T.alloc_fragment((64,), "float64")
            T.copy(B, b)
            T.copy(b, A)

    assert scalar_launches(main) == [True, True]
    a, b = torch.arange(64, dtype=torch.float64), torch.zeros(64, dtype=torch.float64)
    run(main, a, b)
    assert torch.equal(a, torch.arange(63, -1, -1, dtype=torch.float64))


def test_a_table_that_scalar_code_writes_makes_all_scalar():
    """Tile launches take numbers that steer from a copy which the host makes before the first launch."""

    @T.prim_func
    def main(Q: T.Tensor((4,), "int32"), A: T.Tensor((128, 32), "float32"), B: T.Tensor((128, 32), "float32")):
        with T.Kernel(1, threads=4) as _:
            tx = T.get_thread_binding()
            Q[tx] = 3 - tx
        with T.Kernel(4, threads=128) as bx:
            a = T.alloc_shared((32, 32), "float32")
            T.copy(A[Q[bx] * 32, 0], a)
            T.copy(a, B[bx * 32, 0])

    assert scalar_launches(main) == [True, True]
    q, a, b = torch.zeros(4, dtype=torch.int32), random(128, 32), torch.zeros(128, 32)
    run(main, q, a, b)
    assert torch.equal(b, a.view(4, 32, 32).flip(0).reshape(128, 32))


def test_an_assertion_in_one_launch_beside_atomic_updates_in_another():
    @T.prim_func
    def main(A: T.Tensor((128, 32), "float32"), B: T.Tensor((32, 32), "float32"), C: T.Tensor((32, 32), "float32")):
        with T.Kernel(4, threads=128) as bx:
            x = T.alloc_shared((32, 32), "float32")
            T.copy(A[bx * 32, 0], x)
            T.atomic_add(B[0, 0], x)
        with T.Kernel(32, threads=32) as bx:
            tx = T.get_thread_binding()
            T.device_assert(B[bx, tx] < 1000, "too large")
            C[tx, bx] = B[bx, tx]

    a, b, c = torch.rand(128, 32), torch.rand(32, 32), torch.zeros(32, 32)
    total = ((b + a[:32]) + a[32:64] + a[64:96]) + a[96:]
    kernel = tilelang.compile(main, target="tenstorrent")
    kernel(a, b, c)
    assert torch.equal(b, total)
    assert torch.equal(c, total.T)
    assert [launch.scalar for launch in kernel_launches(main)] == [False, True]
    with pytest.raises(DeviceError, match="too large"):
        kernel(a, b + 2000, c)


def kernel_launches(func):
    plan = Plan.from_json(compile_function(func, Options()).files["tt.plan.json"])
    return [next(kernel for kernel in launch.kernels if kernel.role == "writer") for launch in plan.launches]
