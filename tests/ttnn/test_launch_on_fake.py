"""Kernels through the ttnn launcher and a stand-in for ttnn that runs programs on the virtual device.

Not proven on a device: what is shown is that the descriptors, arguments and pages the launcher makes are a program
that computes the right numbers, and that they have the parameters ttnn's bindings have.
"""

import pytest
import tilelang
import tilelang.language as T
import torch
from fake_ttnn import FakeTtnn

from tilelang_tt.execution.kernel import TenstorrentKernel


def gemm(M: object, N: object, K: object, dtype: str = "bfloat16", block: int = 64) -> object:
    @T.prim_func
    def matmul(A: T.Tensor((M, K), dtype), B: T.Tensor((K, N), dtype), C: T.Tensor((M, N), dtype)):
        with T.Kernel(T.ceildiv(N, block), T.ceildiv(M, block)) as (bx, by):
            a = T.alloc_shared((block, block), dtype)
            b = T.alloc_shared((block, block), dtype)
            c = T.alloc_fragment((block, block), "float32")
            T.clear(c)
            for k in T.Pipelined(T.ceildiv(K, block), num_stages=2):
                T.copy(A[by * block, k * block], a)
                T.copy(B[k * block, bx * block], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * block, bx * block])

    return matmul


def compiled(func: object, **options: object) -> TenstorrentKernel:
    return tilelang.compile(func, out_idx=[-1], target={"kind": "tenstorrent", "device": "ttnn", **options})


def relative_error(got: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> float:
    expected = a.double() @ b.double()
    return float((got.double() - expected).norm() / expected.norm())


# One rounding of the result to bfloat16 (2^-9), fp32 sums below it; tf32 products for 10-bit mantissas.
TOLERANCE = {"bfloat16": 2**-8, "float16": 2**-9, "float32": 2**-9}


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
def test_dtypes_and_tails(fake: FakeTtnn, dtype: str) -> None:
    kernel = compiled(gemm(100, 70, 130, dtype), grid=(2, 2))
    a, b = (torch.randn(shape).to(getattr(torch, dtype)) for shape in ((100, 130), (130, 70)))
    got = kernel(a, b)
    assert got.dtype is getattr(torch, dtype)
    assert relative_error(got, a, b) < TOLERANCE[dtype]
    assert kernel.last_report.numerics == "card"
    assert kernel.last_report.statistics["launches"] == 1


@pytest.mark.parametrize("dtype", ["int8", "int32", "float8_e4m3fn"])
def test_types_without_a_format_of_their_own(fake: FakeTtnn, dtype: str) -> None:
    @T.prim_func
    def copy(A: T.Tensor((70, 40), dtype), B: T.Tensor((70, 40), dtype)):
        with T.Kernel(T.ceildiv(70, 32), threads=128) as by:
            block = T.alloc_fragment((32, 64), dtype)
            T.copy(A[by * 32, 0], block)
            T.copy(block, B[by * 32, 0])

    kernel = compiled(copy, grid=(2, 1))
    values = (torch.randn(70, 40) * 100).to(getattr(torch, dtype))
    assert torch.equal(kernel(values).double(), values.double())
    assert len(fake.programs()) == 1


def test_the_virtual_device_gives_the_same_bits(fake: FakeTtnn, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = compiled(gemm(128, 64, 96), grid=(2, 2), storage="bfloat8_b")
    a, b = torch.randn(128, 96).bfloat16(), torch.randn(96, 64).bfloat16()
    through_ttnn = kernel(a, b)
    assert len(fake.programs()) == 1
    monkeypatch.setenv("TILELANG_TT_DEVICE", "virtual")
    assert torch.equal(through_ttnn, kernel(a, b))
    assert len(fake.programs()) == 1


def test_dynamic_shapes_reuse_the_program(fake: FakeTtnn) -> None:
    m = T.dynamic("m")
    kernel = compiled(gemm(m, 64, 64), grid=(2, 1))
    cached = []
    for rows in (64, 200, 64):
        a, b = torch.randn(rows, 64).bfloat16(), torch.randn(64, 64).bfloat16()
        assert relative_error(kernel(a, b), a, b) < TOLERANCE["bfloat16"]
        cached.append(kernel.last_report.statistics["programs_cached"])
    assert len(set(cached)) == 1, "a call with other sizes made another program"
    first, second, _ = fake.programs()
    assert first["kernels"]["reader"]["compile_time_args"] == second["kernels"]["reader"]["compile_time_args"]
    assert first["kernels"]["reader"]["runtime_args"] != second["kernels"]["reader"]["runtime_args"]


def test_descriptors_of_a_gemm(fake: FakeTtnn) -> None:
    kernel = compiled(gemm(128, 64, 64), grid=(2, 1))
    kernel(torch.randn(128, 64).bfloat16(), torch.randn(64, 64).bfloat16())
    (program,) = fake.programs()
    a, b, c = program["tensors"]
    reader, compute, writer = (program["kernels"][role] for role in ("reader", "compute", "writer"))
    plan = kernel.compiled.plan.launches[0]
    for kernel_plan, facts in zip(plan.kernels, (reader, compute, writer), strict=True):
        assert facts["text"] == kernel.files[kernel_plan.source]
        assert facts["cores"] == [[0, 0, 1, 0]]
    assert reader["compile_time_args"] == [2, 2048, 2, 2048]  # DRAM, a bfloat16 tile: of A and of B
    assert [args[:2] for args in (row[2] for row in reader["runtime_args"])] == [[a, b], [a, b]]
    assert [row[2][0] for row in writer["runtime_args"]] == [c, c]
    names = [arg.name for arg in plan.kernels[0].runtime_args]
    shares = [[row[2][names.index("unit_start")], row[2][names.index("unit_count")]] for row in reader["runtime_args"]]
    assert shares == [[0, 1], [1, 1]]
    assert [[cb.pages * cb.page_bytes, cb.id] for cb in plan.cbs] == [
        [size, form[0][0]] for size, form in program["cbs"]
    ]
    assert compute["config"] == ["HiFi4", True, False]
    assert compute["direct"] == [cb.id for cb in plan.cbs if cb.unpack_to_dest]


def test_environment_variable_chooses_the_device(fake: FakeTtnn, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = tilelang.compile(gemm(64, 64, 64), out_idx=[-1], target={"kind": "tenstorrent", "grid": (1, 1)})
    a = torch.eye(64).bfloat16()
    monkeypatch.setenv("TILELANG_TT_DEVICE", "ttnn")
    assert torch.equal(kernel(a, a), a)
    assert len(fake.programs()) == 1


def test_what_kernels_print(fake: FakeTtnn, capsys: pytest.CaptureFixture[str]) -> None:
    """A worker starts anew for the first kernel that prints, and serves the others, too."""

    @T.prim_func
    def printing(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            T.print(A[tx], msg="an element")
            B[tx] = A[63 - tx]

    fake.change()
    kernel, other = compiled(printing), compiled(gemm(64, 64, 64), grid=(1, 1))
    square, vector = torch.ones(64, 64).bfloat16(), torch.arange(64.0)
    other(square, square)
    assert "printed" not in capsys.readouterr().err
    for _ in range(2):
        assert torch.equal(kernel(vector), vector.flip(0))
        assert capsys.readouterr().err.splitlines().count("core (0,1) printed") == 1
    other(square, square)
    assert "printed" not in capsys.readouterr().err
