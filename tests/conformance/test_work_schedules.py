"""Kernels under every policy and order give the numbers of their references, on both chips; and the same bits."""

from typing import Any

import pytest
import tilelang
import tilelang.language as T
import torch

import tilelang_tt.language as TT
from tilelang_tt.runtime.plan import LaunchPlan, Plan

# Small grids of odd extents: fewer units than cores for most, more for cores:2x2.
SCHEDULES = [
    "policy:contiguous,cores:3x2+4+1",
    "policy:contiguous,order:column,cores:2x2",
    "policy:strided,order:z",
    "policy:strided,order:block-linear,panel:2,cores:2x2+1+0",
    "policy:rectangle",
    "policy:rectangle,order:column,cores:2x3+1+2",
    "policy:rectangle,order:z,cores:2x2,core_order:column",
    "policy:rectangle,order:block-linear-column,panel:2,cores:1x1+5+5",
    "policy:contiguous,order:block-linear-column,panel:3,cores:2x1+1+1/1x2+5+5,core_order:column",
]
ARCHS = ("wormhole_b0", "blackhole")


def numbers(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(len(shape) + sum(shape))).to(dtype)


def integers(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Small enough that every sum of products is exact."""
    return torch.randint(-4, 5, shape, generator=torch.Generator().manual_seed(sum(shape))).to(dtype)


def gemm(M: Any = 7 * 32, N: Any = 5 * 32, K: Any = 96) -> Any:
    @T.prim_func
    def main(A: T.Tensor((M, K), "bfloat16"), B: T.Tensor((K, N), "bfloat16"), C: T.Tensor((M, N), "float32")):
        with T.Kernel(T.ceildiv(N, 32), T.ceildiv(M, 32), threads=128) as (bx, by):
            A_s = T.alloc_shared((32, 32), "bfloat16")
            B_s = T.alloc_shared((32, 32), "bfloat16")
            acc = T.alloc_fragment((32, 32), "float32")
            T.clear(acc)
            for k in T.Pipelined(T.ceildiv(K, 32), num_stages=2):
                T.copy(A[by * 32, k * 32], A_s)
                T.copy(B[k * 32, bx * 32], B_s)
                T.gemm(A_s, B_s, acc)
            T.copy(acc, C[by * 32, bx * 32])

    return main


def run_gemm(compiled: Any) -> None:
    a, b = integers(224, 96, dtype=torch.bfloat16), integers(96, 160, dtype=torch.bfloat16)
    c = torch.zeros(224, 160)
    compiled(a, b, c)
    assert torch.equal(c, a.float() @ b.float())


def run_dynamic_gemm(compiled: Any) -> None:
    """A unit, fewer than cores, primes, and sizes that no block divides."""
    for M, N, K in ((32, 32, 32), (17, 70, 33), (7 * 32, 13 * 32, 32), (11 * 32 + 1, 3 * 32, 64)):
        a, b = integers(M, K, dtype=torch.bfloat16), integers(K, N, dtype=torch.bfloat16)
        c = torch.zeros(M, N)
        compiled(a, b, c)
        assert torch.equal(c, a.float() @ b.float()), (M, N, K)


def element_wise() -> Any:
    """The middle axis of three is the second block index; a row that all units share is loaded once by each core."""

    @T.prim_func
    def main(
        X: T.Tensor((3, 160, 96), "float32"), W: T.Tensor((1, 32), "float32"), Y: T.Tensor((3, 160, 96), "float32")
    ):
        with T.Kernel(3, 5, 3, threads=128) as (bx, by, bz):
            x = T.alloc_shared((32, 32), "float32")
            w = T.alloc_shared((1, 32), "float32")
            T.copy(X[bz, by * 32, bx * 32], x)
            T.copy(W[0, 0], w)
            for i, j in T.Parallel(32, 32):
                x[i, j] = x[i, j] * 2 + w[0, j]
            T.copy(x, Y[bz, by * 32, bx * 32])

    return main


def run_element_wise(compiled: Any) -> None:
    x, w, y = integers(3, 160, 96), integers(1, 32), torch.zeros(3, 160, 96)
    compiled(x, w, y)
    assert torch.equal(y, x * 2 + w.repeat(1, 3))


def softmax() -> Any:
    @T.prim_func
    def main(X: T.Tensor((7 * 32, 64), "float32"), Y: T.Tensor((7 * 32, 64), "float32")):
        with T.Kernel(7, threads=128) as bx:
            x = T.alloc_fragment((32, 64), "float32")
            most = T.alloc_fragment((32,), "float32")
            total = T.alloc_fragment((32,), "float32")
            T.copy(X[bx * 32, 0], x)
            T.reduce_max(x, most, dim=1)
            for i, j in T.Parallel(32, 64):
                x[i, j] = T.exp(x[i, j] - most[i])
            T.reduce_sum(x, total, dim=1)
            for i, j in T.Parallel(32, 64):
                x[i, j] = x[i, j] / total[i]
            T.copy(x, Y[bx * 32, 0])

    return main


def run_softmax(compiled: Any) -> None:
    x, y = numbers(7 * 32, 64), torch.zeros(7 * 32, 64)
    compiled(x, y)
    torch.testing.assert_close(y, torch.softmax(x, 1), rtol=2**-7, atol=2**-9)


def attention() -> Any:
    """One head of causal attention: units differ in length."""

    @T.prim_func
    def main(
        Q: T.Tensor((3, 96, 32), "bfloat16"),
        K: T.Tensor((3, 96, 32), "bfloat16"),
        V: T.Tensor((3, 96, 32), "bfloat16"),
        Out: T.Tensor((3, 96, 32), "float32"),
    ):
        with T.Kernel(3, 3, threads=128) as (bx, by):
            q = T.alloc_shared((32, 32), "bfloat16")
            k = T.alloc_shared((32, 32), "bfloat16")
            v = T.alloc_shared((32, 32), "bfloat16")
            s = T.alloc_fragment((32, 32), "float32")
            p = T.alloc_fragment((32, 32), "bfloat16")
            acc = T.alloc_fragment((32, 32), "float32")
            before = T.alloc_fragment((32,), "float32")
            most = T.alloc_fragment((32,), "float32")
            scale = T.alloc_fragment((32,), "float32")
            row = T.alloc_fragment((32,), "float32")
            total = T.alloc_fragment((32,), "float32")
            T.copy(Q[by, bx * 32, 0], q)
            T.fill(acc, 0)
            T.fill(total, 0)
            T.fill(most, -1e30)
            for n in T.serial(bx + 1):
                T.copy(K[by, n * 32, 0], k)
                for i, j in T.Parallel(32, 32):
                    s[i, j] = T.if_then_else(bx * 32 + i >= n * 32 + j, 0, -1e30)
                T.gemm(q, k, s, transpose_B=True)
                T.copy(most, before)
                T.reduce_max(s, most, dim=1, clear=False)
                for i in T.Parallel(32):
                    scale[i] = T.exp(before[i] - most[i])
                for i, j in T.Parallel(32, 32):
                    s[i, j] = T.exp(s[i, j] - most[i])
                T.reduce_sum(s, row, dim=1)
                for i in T.Parallel(32):
                    total[i] = total[i] * scale[i] + row[i]
                for i, j in T.Parallel(32, 32):
                    acc[i, j] = acc[i, j] * scale[i]
                T.copy(s, p)
                T.copy(V[by, n * 32, 0], v)
                T.gemm(p, v, acc)
            for i, j in T.Parallel(32, 32):
                acc[i, j] = acc[i, j] / total[i]
            T.copy(acc, Out[by, bx * 32, 0])

    return main


def run_attention(compiled: Any) -> None:
    q, k, v = (numbers(3, 96, 32, dtype=torch.bfloat16) * scale for scale in (0.5, 0.25, 1))
    o = torch.zeros(3, 96, 32)
    compiled(q, k, v, o)
    scores = q.double() @ k.double().mT + torch.full((96, 96), -1e30, dtype=torch.double).triu(1)
    expected = torch.softmax(scores, -1) @ v.double()
    torch.testing.assert_close(o.double(), expected, rtol=2**-5, atol=2**-5)


def reduction() -> Any:
    """Rows are summed up with blocks that update the same tiles: one index becomes a loop."""

    @T.prim_func
    def main(X: T.Tensor((96, 5 * 64), "float32"), Y: T.Tensor((96, 64), "float32")):
        with T.Kernel(2, 3, 5, threads=128) as (bx, by, bz):
            x = T.alloc_shared((32, 32), "float32")
            T.copy(X[by * 32, bz * 64 + bx * 32], x)
            T.atomic_add(Y[by * 32, bx * 32], x)

    return main


def run_reduction(compiled: Any) -> None:
    x, y = integers(96, 320), torch.ones(96, 64)
    compiled(x, y)
    assert torch.equal(y, 1 + x.reshape(96, 5, 64).sum(1))


def counted() -> Any:
    """Scalar code whose blocks are apart: each counts its own numbers."""

    @T.prim_func
    def main(X: T.Tensor((15, 64), "int32"), Y: T.Tensor((15, 8), "int32")):
        with T.Kernel(3, 5, threads=32) as (bx, by):
            found = T.alloc_shared((8,), "int32")
            for i in T.serial(8):
                found[i] = 0
            for i in T.serial(64):
                found[X[by * 3 + bx, i]] += 1
            for i in T.serial(8):
                Y[by * 3 + bx, i] = found[i]

    return main


def run_counted(compiled: Any) -> None:
    x = torch.randint(0, 8, (15, 64), generator=torch.Generator().manual_seed(1), dtype=torch.int32)
    y = torch.zeros(15, 8, dtype=torch.int32)
    compiled(x, y)
    assert torch.equal(y, torch.stack([row.bincount(minlength=8) for row in x]).int())


KERNELS = {
    "gemm": (gemm, run_gemm),
    "dynamic gemm": (lambda: gemm(T.dynamic("M"), T.dynamic("N"), T.dynamic("K")), run_dynamic_gemm),
    "element-wise": (element_wise, run_element_wise),
    "softmax": (softmax, run_softmax),
    "attention": (attention, run_attention),
    "reduction": (reduction, run_reduction),
    "scalar code": (counted, run_counted),
}


def compiled(func: Any, schedule: Any, arch: str = "wormhole_b0", **options: Any) -> Any:
    return tilelang.compile(func, target={"kind": "tenstorrent", "arch": arch, "schedule": schedule, **options})


def launches(kernel: Any) -> tuple[LaunchPlan, ...]:
    return Plan.from_json(kernel.files["tt.plan.json"]).launches


@pytest.mark.filterwarnings("ignore:.*TT70[24]")
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("kernel", KERNELS)
def test_numbers(kernel: str, schedule: str) -> None:
    """Each pair on one of the chips, in turn."""
    build, run = KERNELS[kernel]
    arch = ARCHS[(SCHEDULES.index(schedule) + list(KERNELS).index(kernel)) % 2]
    run(compiled(build(), schedule, arch))


@pytest.mark.parametrize("schedule", SCHEDULES[2:6:3])
@pytest.mark.parametrize("seed", [3, 11])
def test_seeds_of_the_device_do_not_matter(schedule: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILELANG_TT_SEED", str(seed))
    run_gemm(compiled(gemm(), schedule))
    run_reduction(compiled(reduction(), schedule))


def test_a_list_of_units() -> None:
    lists = [[*range(start, 35, 9)][::-1] for start in range(9)]
    kernel = compiled(gemm(), {"units": lists, "cores": "3x3+2+2"})
    run_gemm(kernel)
    text = kernel.files["reader.cpp"]
    assert "const uint32_t block = get_arg_val<uint32_t>(unit_list + unit);" in text


def test_what_a_core_does_is_said_in_the_kernel() -> None:
    @T.prim_func
    def main(A: T.Tensor((96, 160), "float32"), B: T.Tensor((96, 160), "float32")):
        with T.Kernel(5, 3, threads=128) as (bx, by):
            TT.schedule(policy="strided", order="column", cores="2x2+1+1")
            x = T.alloc_shared((32, 32), "float32")
            T.copy(A[by * 32, bx * 32], x)
            T.copy(x, B[by * 32, bx * 32])

    kernel = tilelang.compile(main, target="tenstorrent")
    a, b = numbers(96, 160), torch.zeros(96, 160)
    kernel(a, b)
    assert torch.equal(a, b)
    (launch,) = launches(kernel)
    assert (launch.policy, launch.order, str(launch.core_ranges[0])) == ("strided", "column", "2x2+1+1")


def two_launches() -> Any:
    @T.prim_func
    def main(A: T.Tensor((96, 160), "float32"), B: T.Tensor((96, 160), "float32"), C: T.Tensor((96, 160), "float32")):
        with T.Kernel(5, 3, threads=128) as (bx, by):
            x = T.alloc_shared((32, 32), "float32")
            T.copy(A[by * 32, bx * 32], x)
            T.copy(x, B[by * 32, bx * 32])
        with T.Kernel(5, 3, threads=128) as (bx, by):
            y = T.alloc_shared((32, 32), "float32")
            T.copy(B[by * 32, bx * 32], y)
            for i, j in T.Parallel(32, 32):
                y[i, j] = y[i, j] + 1
            T.copy(y, C[by * 32, bx * 32])

    return main


def test_one_schedule_for_each_launch() -> None:
    kernel = compiled(two_launches(), {"0": {"cores": "8x4"}, "1": {"cores": "8x4+0+4", "order": "z"}})
    a, b, c = integers(96, 160), torch.zeros(96, 160), torch.zeros(96, 160)
    kernel(a, b, c)
    assert torch.equal(c, a + 1)
    first, second = launches(kernel)
    assert [str(one) for one in (*first.ranges, *second.ranges)] == ["8x4", "8x4+0+4"]
    assert (first.order, second.order) == ("row", "z")


@pytest.mark.filterwarnings("ignore:.*TT702")
@pytest.mark.parametrize(("arch", "cores"), [("wormhole_b0", 64), ("blackhole", 130)])
def test_a_launch_of_scalar_code_keeps_its_own_schedule(arch: str, cores: int) -> None:
    """It is compiled apart from the other one, and after that was refused as tiles."""

    @T.prim_func
    def main(A: T.Tensor((96, 160), "int32"), B: T.Tensor((96, 160), "int32"), C: T.Tensor((15, 8), "int32")):
        with T.Kernel(5, 3, threads=128) as (bx, by):
            x = T.alloc_shared((32, 32), "int32")
            T.copy(A[by * 32, bx * 32], x)
            T.copy(x, B[by * 32, bx * 32])
        with T.Kernel(3, 5, threads=32) as (bx, by):
            found = T.alloc_shared((8,), "int32")
            for i in T.serial(8):
                found[i] = 0
            for i in T.serial(64):
                found[B[by * 3 + bx, i]] += 1
            for i in T.serial(8):
                C[by * 3 + bx, i] = found[i]

    schedules = {"0": {"policy": "rectangle"}, "1": {"policy": "strided", "order": "column", "cores": "2x2+1+1"}}
    kernel = compiled(main, schedules, arch)
    a = torch.randint(0, 8, (96, 160), generator=torch.Generator().manual_seed(2), dtype=torch.int32)
    b, c = torch.zeros_like(a), torch.zeros(15, 8, dtype=torch.int32)
    kernel(a, b, c)
    assert torch.equal(c, torch.stack([row[:64].bincount(minlength=8) for row in a[:15]]).int())
    first, second = launches(kernel)
    assert (first.policy, first.cores) == ("rectangle", cores)
    assert (second.policy, second.order, str(second.ranges[0])) == ("strided", "column", "2x2+1+1")


def swizzled(panel: int, order: str) -> Any:
    @T.prim_func
    def main(A: T.Tensor((160, 224), "float32"), B: T.Tensor((160, 224), "float32")):
        with T.Kernel(7, 5, threads=128) as (bx, by):
            T.use_swizzle(panel, order)
            x = T.alloc_shared((32, 32), "float32")
            T.copy(A[by * 32, bx * 32], x)
            T.copy(x, B[by * 32, bx * 32])

    return main


@pytest.mark.parametrize(("order", "here"), [("row", "block-linear"), ("column", "block-linear-column")])
def test_use_swizzle_is_an_order(order: str, here: str) -> None:
    kernel = tilelang.compile(swizzled(3, order), target="tenstorrent -grid=2x2")
    a, b = numbers(160, 224), torch.zeros(160, 224)
    kernel(a, b)
    assert torch.equal(a, b)
    (launch,) = launches(kernel)
    assert (launch.policy, launch.order, launch.panel) == ("contiguous", here, 3)
    assert f"T.use_swizzle: order {here} by panels of 3" in kernel.explain(whole=True)


def test_an_order_that_is_said_counts_more_than_a_swizzle() -> None:
    kernel = compiled(swizzled(3, "row"), "order:z")
    assert launches(kernel)[0].order == "z"
    assert "T.use_swizzle: 'order:z' counts" in kernel.explain(whole=True)


def test_units_that_meet_stay_on_one_core() -> None:
    """The place of a store does not depend on the block: the last block of the grid wins, whatever is asked for."""

    @T.prim_func
    def main(A: T.Tensor((64, 96), "float32"), B: T.Tensor((32, 32), "float32")):
        with T.Kernel(3, 2, threads=128) as (bx, by):
            x = T.alloc_shared((32, 32), "float32")
            T.copy(A[by * 32, bx * 32], x)
            T.copy(x, B[0, 0])

    kernel = compiled(main, "policy:strided,order:column,cores:2x2+3+3")
    a, b = numbers(64, 96), torch.zeros(32, 32)
    kernel(a, b)
    assert torch.equal(b, a[32:, 64:])
    (launch,) = launches(kernel)
    assert (launch.policy, launch.order, launch.cores, str(launch.ranges[0])) == ("contiguous", "row", 1, "1x1+3+3")
    assert "is not followed: one core does all units" in kernel.explain(whole=True)


def test_random_bits_survive_every_schedule() -> None:
    """Infinities, NaNs and signed zeros of float32, moved by each policy."""
    bits = torch.randint(-(2**31), 2**31, (96, 160), generator=torch.Generator().manual_seed(5)).to(torch.int32)
    bits[0, :4] = torch.tensor([0x7F800000, -0x800000, 0x7FC00000, -0x80000000]).to(torch.int32)

    @T.prim_func
    def main(A: T.Tensor((96, 160), "int32"), B: T.Tensor((96, 160), "int32")):
        with T.Kernel(5, 3, threads=128) as (bx, by):
            x = T.alloc_shared((32, 32), "int32")
            T.copy(A[by * 32, bx * 32], x)
            T.copy(x, B[by * 32, bx * 32])

    for schedule in SCHEDULES:
        out = torch.zeros_like(bits)
        compiled(main, schedule)(bits, out)
        assert torch.equal(out, bits), schedule


def test_numbers_of_the_chip_do_not_depend_on_the_schedule() -> None:
    a, b = numbers(224, 96, dtype=torch.bfloat16), numbers(96, 160, dtype=torch.bfloat16)
    results = []
    for schedule in ("", *SCHEDULES[2:6:3]):
        c = torch.zeros(224, 160)
        compiled(gemm(), schedule, numerics="chip")(a, b, c)
        results.append(c)
    assert all(torch.equal(results[0], other) for other in results[1:])
