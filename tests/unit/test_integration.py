"""Every way TileLang offers to compile and call a kernel, on the virtual device."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import tilelang
import tilelang.language as T
import torch
from sample_kernels import eager_gemm, gemm, lazy_gemm
from tilelang.engine.lower import lower
from tilelang.engine.param import CompiledArtifact
from tvm.target import Target

from tilelang_tt.diagnostics import ArgumentError, TargetError, UnsupportedError
from tilelang_tt.execution.kernel import TenstorrentKernel

FILES = ["reader.cpp", "compute.cpp", "writer.cpp", "main.cpp", "tt.plan.json", "tt.lines.json"]
SQUARE = T.Tensor((64, 64), "bfloat16")


def inputs(M: int = 64, N: int = 64, K: int = 64) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(M, K).bfloat16(), torch.randn(K, N).bfloat16()


def check(c: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> None:
    """bfloat16 rounds the result once; fp32 sums round K times."""
    expected = a.double() @ b.double()
    bound = expected.abs() * 2**-8 + a.shape[-1] * 2**-24 * (a.abs().double() @ b.abs().double())
    assert c.shape == expected.shape
    assert ((c.double() - expected).abs() <= bound).all()


def test_lazy_jit() -> None:
    a, b = inputs()
    kernel = lazy_gemm()(64, 64, 64)
    assert isinstance(kernel, TenstorrentKernel)
    check(kernel(a, b), a, b)


def test_lazy_jit_compile() -> None:
    a, b = inputs()
    check(lazy_gemm().compile(64, 64, 64)(a, b), a, b)


def test_eager_jit() -> None:
    a, b = inputs(64, 96, 32)
    check(eager_gemm(a, b), a, b)


def test_eager_compile() -> None:
    a, b = inputs(32, 64, 96)
    check(eager_gemm.compile(M=32, N=64, K=96)(a, b), a, b)


@pytest.mark.parametrize(
    "target",
    [
        "tenstorrent/blackhole",
        {"kind": "tenstorrent", "grid": (2, 1), "numerics": "exact"},
        Target("tenstorrent"),
        Target("tenstorrent/blackhole"),
    ],
    ids=str,
)
def test_compile_function(target: Any) -> None:
    a, b = inputs()
    check(tilelang.compile(gemm(64, 64, 64), out_idx=[-1], target=target)(a, b), a, b)


def test_target_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILELANG_DEFAULT_TARGET", "tenstorrent -grid=1x1")
    kernel = tilelang.compile(gemm(64, 64, 64), out_idx=[-1])
    assert kernel.options.grid == (1, 1)
    a, b = inputs()
    check(kernel(a, b), a, b)


def test_output_passed_in() -> None:
    a, b = inputs()
    c = torch.zeros(64, 64).bfloat16()
    assert tilelang.compile(gemm(64, 64, 64), target="tenstorrent")(a, b, c) is None
    check(c, a, b)


def test_par_compile() -> None:
    shapes = [(32, 32, 32), (64, 32, 96), (96, 64, 32), (32, 96, 64)]
    kernels = lazy_gemm().par_compile(shapes, num_workers=4)
    for shape, kernel in zip(shapes, kernels, strict=True):
        a, b = inputs(*shape)
        check(kernel(a, b), a, b)


def test_calls_from_several_threads() -> None:
    kernel = lazy_gemm()(T.dynamic("m"), 64, 64)
    pairs = [inputs(M) for M in (32, 64, 96, 33)]
    with ThreadPoolExecutor(4) as threads:
        for (a, b), c in zip(pairs, threads.map(lambda pair: kernel(*pair), pairs), strict=True):
            check(c, a, b)


def test_dynamic_shapes_share_one_compilation() -> None:
    kernel = lazy_gemm()(T.dynamic("m"), T.dynamic("n"), T.dynamic("k"))
    for shape in [(64, 64, 64), (32, 128, 96), (40, 33, 70), (1, 1, 1)]:
        a, b = inputs(*shape)
        check(kernel(a, b), a, b)
    assert kernel(torch.empty(0, 64).bfloat16(), inputs()[1]).shape == (0, 64)
    assert kernel.last_report is None
    with pytest.raises(ArgumentError, match="TT311"):
        kernel(torch.empty(64, 0).bfloat16(), torch.empty(0, 64).bfloat16())


def test_non_contiguous_tensors() -> None:
    a, b = inputs()
    check(lazy_gemm()(64, 64, 64)(a.T, b.T), a.T, b.T)
    base = torch.zeros(64, 128).bfloat16()
    tilelang.compile(gemm(64, 64, 64), target="tenstorrent")(a, b, base[:, ::2])
    check(base[:, ::2], a, b)
    assert not base[:, 1::2].any()


def test_wrong_arguments_reach_the_caller() -> None:
    a, b = inputs()
    with pytest.raises(ArgumentError) as caught:
        lazy_gemm()(64, 64, 64)(a, b.float())
    assert str(caught.value) == (
        "error[TT303]: argument 2 ('B') of kernel 'matmul' has dtype torch.float32; "
        "the kernel takes torch.bfloat16\n"
        "  help: pass B.to(torch.bfloat16), or compile the kernel for this dtype"
    )


def test_lower_gives_an_artifact() -> None:
    artifact = lower(gemm(64, 64, 64), target="tenstorrent")
    assert isinstance(artifact, CompiledArtifact)
    assert [list(param.shape) for param in artifact.params] == [[64, 64]] * 3
    kernel = tilelang.compile(gemm(64, 64, 64), target="tenstorrent")
    assert artifact.kernel_source == kernel.get_kernel_source()


def test_lower_has_no_host_module() -> None:
    with pytest.raises(UnsupportedError) as caught:
        lower(gemm(64, 64, 64), target="tenstorrent", enable_host_codegen=True)
    assert str(caught.value) == (
        "error[TT191]: a Tenstorrent kernel has no TVM host module\n"
        "  help: call lower(...) without enable_host_codegen; main.cpp is the host program"
    )


def test_parameters_that_are_one_buffer() -> None:
    @T.prim_func
    def move(A: SQUARE, C: SQUARE):
        with T.Kernel(2, 2, threads=128) as (bx, by):
            block = T.alloc_shared((32, 32), "bfloat16")
            T.copy(A[by * 32, bx * 32], block)
            T.copy(block, C[by * 32, bx * 32])

    with pytest.raises(UnsupportedError) as caught:
        tilelang.compile(move, target="tenstorrent")
    assert str(caught.value) == (
        "error[TT193]: parameters 'A' and 'C' share one T.Tensor annotation, so they are one buffer\n"
        "  help: write T.Tensor(...) anew in the annotation of 'C'"
    )


def test_kernel_source_shows_the_files_apart() -> None:
    kernel = lazy_gemm()(64, 64, 64)
    assert list(kernel.files) == FILES
    source, whole = kernel.get_kernel_source(), kernel.get_kernel_source(kernel_only=False)
    for text, names in ((source, FILES[:3]), (whole, FILES)):
        positions = [text.index(f"matmul: {name} ===") for name in names]
        assert positions == sorted(positions)
        assert all(kernel.files[name].rstrip() in text for name in names)
        assert text.count(" ===") == 2 * len(names) or text.count("// ====") == len(names)
    assert kernel.get_host_source() == kernel.files["main.cpp"]
    assert kernel.kernel_source == source


def test_plan_is_what_runs() -> None:
    kernel = lazy_gemm()(64, 64, 64)
    plan = json.loads(kernel.files["tt.plan.json"])
    assert [param["name"] for param in plan["params"]] == ["A", "B", "C"]
    assert kernel.compiled.plan.to_json() == kernel.files["tt.plan.json"]


def test_no_shared_library() -> None:
    with pytest.raises(UnsupportedError) as caught:
        lazy_gemm()(64, 64, 64).export_library("k.so")
    assert str(caught.value) == (
        "error[TT190]: kernel 'matmul' has no shared library to write to k.so\n"
        '  help: kernel.export("directory") writes its sources, its plan and how to build them'
    )


def test_unknown_option_stops_the_compilation() -> None:
    with pytest.raises(TargetError, match="TT601"):
        lazy_gemm(target={"kind": "tenstorrent", "fidelity": "HiFi2"})(64, 64, 64)


def test_profiler_stays_on_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    def touched(*_: Any, **__: Any) -> None:
        raise AssertionError("CUDA was touched")

    for name in ("synchronize", "Event", "current_stream", "init"):
        monkeypatch.setattr(torch.cuda, name, touched)
    profiler = lazy_gemm()(64, 64, 64).get_profiler()
    profiler.assert_allclose(lambda a, b: a @ b)
    profiler.assert_consistent(repeat=2)
    assert profiler.run_once().shape == (64, 64)
    assert profiler.do_bench(n_warmup=1, n_repeat=1, backend="cupti") > 0
    seen = []
    profiler.manual_assert_close(lambda a, b: a @ b, manual_check_prog=lambda ours, ref: seen.append((ours, ref)))
    assert len(seen) == 1
    with pytest.raises(AssertionError):
        profiler.assert_allclose(lambda a, b: a @ b + 1)


@pytest.mark.parametrize("supply", list(tilelang.TensorSupplyType), ids=lambda supply: supply.name)
def test_profiler_supplies(supply: Any) -> None:
    profiler = lazy_gemm()(64, 64, 64).get_profiler(supply)
    profiler.assert_allclose(lambda a, b: a @ b)


def test_profiler_of_a_dynamic_kernel() -> None:
    profiler = lazy_gemm()(T.dynamic("m"), 64, 64).get_profiler()
    with pytest.raises(ValueError, match="dynamic_symbolic_constraints"):
        profiler.run_once()
    assert profiler.do_bench(n_warmup=1, n_repeat=1, dynamic_symbolic_constraints={"m": 32}) > 0


def test_autotune() -> None:
    @tilelang.autotune(configs=[{"block_M": 32}, {"block_M": 64}], warmup=1, rep=1)
    @tilelang.jit(out_idx=[-1], target="tenstorrent")
    def tuned(M, N, K, block_M=32):
        return gemm(M, N, K, block_M)

    kernel = tuned(64, 64, 64)
    assert kernel.config["block_M"] in (32, 64)
    a, b = inputs()
    check(kernel(a, b), a, b)


def test_same_function_is_compiled_once() -> None:
    func = gemm(64, 64, 64)
    first = tilelang.compile(func, target="tenstorrent")
    assert tilelang.compile(func, target="tenstorrent") is first
    assert tilelang.compile(func, target="tenstorrent/blackhole") is not first
    assert tilelang.compile(func, out_idx=[-1], target="tenstorrent") is not first


def test_explain() -> None:
    kernel = lazy_gemm()(64, 64, 64)
    brief, full = kernel.explain(), kernel.explain(stages=True)
    assert brief.startswith("kernel 'matmul' for Wormhole, 8x8 cores, HiFi4, 32-bit DST, numerics fast")
    assert "4 units over" in brief
    assert "== infer_layout\n" in full
    assert "== infer_layout\n" not in brief


@pytest.mark.parametrize("stages", [1, 2])
def test_a_block_that_nothing_is_loaded_beside_is_said(stages: int) -> None:
    """num_stages=1 leaves operands with one block: the reader cannot run ahead."""

    @T.prim_func
    def main(A: T.Tensor((64, 256), "bfloat16"), B: T.Tensor((256, 64), "bfloat16"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((64, 64), "bfloat16")
            b = T.alloc_shared((64, 64), "bfloat16")
            c = T.alloc_fragment((64, 64), "float32")
            T.clear(c)
            for k in T.Pipelined(4, num_stages=stages):
                T.copy(A[0, k * 64], a)
                T.copy(B[k * 64, 0], b)
                T.gemm(a, b, c)
            T.copy(c, C)

    text = tilelang.compile(main, target="tenstorrent -blocks=false").explain()
    said = [line.strip() for line in text.splitlines() if "num_stages=2 lets it run ahead" in line]
    assert [line.partition(":")[0] for line in said] == (["a, b"] if stages == 1 else [])
