"""What people see of the clock: times, what bounds them, the profiler, the autotuner, profiles and traces."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest
import tilelang
import tilelang.language as T
import torch

from tilelang_tt.cli.main import main
from tilelang_tt.clock.errors import error_bar
from tilelang_tt.clock.tables import row_of
from tilelang_tt.clock.timing import PRODUCT_CYCLES
from tilelang_tt.diagnostics import ArgumentError, DeviceError
from tilelang_tt.execution import profiler as host_profiler
from tilelang_tt.profile import trace as traces

HERE = Path(__file__).resolve()


@tilelang.jit(out_idx=[-1], target="tenstorrent")
def product(M, N, K, block=32):
    @T.prim_func
    def mm(A: T.Tensor((M, K), "bfloat16"), B: T.Tensor((K, N), "bfloat16"), C: T.Tensor((M, N), "bfloat16")):
        with T.Kernel(T.ceildiv(N, block), T.ceildiv(M, block), threads=128) as (bx, by):
            A_shared = T.alloc_shared((block, 32), "bfloat16")
            B_shared = T.alloc_shared((32, block), "bfloat16")
            C_local = T.alloc_fragment((block, block), "float32")
            T.clear(C_local)
            for k in T.Pipelined(T.ceildiv(K, 32), num_stages=2):
                T.copy(A[by * block, k * 32], A_shared)
                T.copy(B[k * 32, bx * block], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[by * block, bx * block])

    return mm


@tilelang.jit(out_idx=[-1], target="tenstorrent")
def lookup(N):
    @T.prim_func
    def pick(A: T.Tensor((N,), "float32"), at: T.Tensor((N,), "int32"), C: T.Tensor((N,), "float32")):
        with T.Kernel(1, threads=32):
            for i in T.serial(N):
                C[i] = A[at[i]]

    return pick


@pytest.fixture(scope="module")
def kernel() -> Any:
    return product(64, 64, 64)


def operands() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(64, 64).bfloat16(), torch.randn(64, 64).bfloat16()


def test_with_and_without_numbers_the_time_is_the_same(kernel: Any) -> None:
    estimated, timed = kernel.estimate(), kernel.time(*operands())
    assert estimated.cycles == timed.cycles > 0
    assert estimated.microseconds == estimated.cycles / 1000  # Wormhole: 1 GHz
    (launch,) = estimated.launches
    assert launch.tile_products == 2 * 2 * 2
    assert estimated.tflops == pytest.approx(2 * 64**3 / estimated.microseconds / 1e6)
    assert launch.matrix_peak == pytest.approx(8 * PRODUCT_CYCLES["HiFi4"] / (64 * estimated.cycles))
    assert 0 < max(launch.shares.values()) < 1
    assert str(estimated).startswith("mm on Wormhole: ")
    assert f"bound by {estimated.bound}" in repr(estimated)


def test_what_has_no_figure_is_named(kernel: Any) -> None:
    assert kernel.estimate().guessed == ()
    assert "taken at a general cost" not in str(kernel.estimate())


@tilelang.jit(out_idx=[-1], target="tenstorrent")
def sine(M):
    @T.prim_func
    def sines(A: T.Tensor((M, 32), "bfloat16"), C: T.Tensor((M, 32), "bfloat16")):
        with T.Kernel(T.ceildiv(M, 32), threads=128) as bx:
            block = T.alloc_fragment((32, 32), "float32")
            T.copy(A[bx * 32, 0], block)
            for i, j in T.Parallel(32, 32):
                block[i, j] = T.sin(block[i, j])
            T.copy(block, C[bx * 32, 0])

    return sines


def test_assumed_costs_that_matter_are_named(kernel: Any) -> None:
    estimated = sine(32 * 128).estimate()
    row = row_of("wormhole_b0", "math.sfpu.sin_tile.dst32")
    assert row is not None
    assert row.how == "assumed"
    assert 0.2 < estimated.assumed["math.sfpu.sin_tile"] < 0.5
    assert "assumed, nobody has published it: math.sfpu.sin_tile (" in str(estimated)
    assert not any(name.startswith("math.matmul") for name in kernel.estimate().assumed)  # fitted


def test_the_error_bar_is_that_of_kernels_alike(kernel: Any) -> None:
    assert kernel.estimate().error_bar.family == "gemm"
    assert sine(32).estimate().error_bar.family == "exp"
    mixed = error_bar("blackhole", products=0.2, computes=True)
    assert mixed is not None
    assert mixed.family == "attention"
    moves = error_bar("blackhole", products=0.0, computes=False)
    assert moves is not None
    assert moves.family == "noc"


def test_sizes_are_given_by_name() -> None:
    dynamic = product(T.dynamic("m"), 64, 64)
    assert dynamic.estimate(m=256).cycles > dynamic.estimate(m=32).cycles
    with pytest.raises(ArgumentError) as missing:
        dynamic.estimate()
    assert str(missing.value) == (
        "error[TT318]: no value for m; kernel 'mm' is estimated for m\n  help: use kernel.estimate(m=1024)"
    )
    with pytest.raises(ArgumentError) as unknown:
        dynamic.estimate(m=32, k=7)
    assert str(unknown.value) == (
        "error[TT318]: there is no size 'k'; kernel 'mm' is estimated for m\n  help: use kernel.estimate(m=1024)"
    )
    with pytest.raises(ArgumentError, match="size 'm' is 0; sizes are integers from 1 on"):
        dynamic.estimate(m=0)
    assert "estimated time: depends on m; kernel.estimate(m=...) says" in dynamic.explain(time=True)


def test_a_kernel_that_looks_at_its_data_needs_them() -> None:
    looks = lookup(32)
    with pytest.raises(DeviceError, match="TT420") as refused:
        looks.estimate()
    assert "kernel.time(*tensors)" in str(refused.value)
    timed = looks.time(torch.randn(32), torch.arange(32, dtype=torch.int32))
    assert timed.microseconds > 0
    assert "estimated time: depends on data; kernel.time(*tensors) says" in looks.explain(time=True)
    assert looks.get_profiler().do_bench(input_tensors=[torch.randn(32), torch.zeros(32, dtype=torch.int32)]) > 0


def test_do_bench_is_the_chip_s_time(kernel: Any, caplog: pytest.LogCaptureFixture) -> None:
    host_profiler._said.clear()
    with caplog.at_level(logging.WARNING, logger=host_profiler.logger.name):
        bench = kernel.get_profiler()
        assert bench.do_bench() == bench.do_bench() == kernel.estimate().microseconds / 1e3
        assert bench.do_bench(quantiles=[0.2, 0.8]) == [bench.do_bench()] * 2
    assert [record.message for record in caplog.records] == [host_profiler._ON_CHIP]
    assert bench.do_bench(host=True, n_warmup=1, n_repeat=1) > bench.do_bench()


def test_autotune_takes_what_is_fastest_on_the_chip(capfd: pytest.CaptureFixture[str]) -> None:
    @tilelang.autotune(configs=[{"block": 32}, {"block": 128}, {"block": 64}], warmup=1, rep=1)
    @tilelang.jit(out_idx=[-1], target="tenstorrent")
    def tuned(M, N, K, block=32):
        return product.get_tir(M, N, K, block)

    best = tuned(128, 128, 128)
    times = {block: product(128, 128, 128, block).estimate().microseconds for block in (32, 64, 128)}
    assert best.config["block"] == min(times, key=lambda block: times[block])
    assert best.latency == min(times.values()) / 1e3
    assert "Traceback" not in "".join(capfd.readouterr())


def test_a_profile_says_where_the_time_goes(kernel: Any) -> None:
    profile = kernel.profile()
    text, data = str(profile), profile.to_json()
    for words in (
        "where the time goes",
        "critical path, through core",
        "roofline",
        "what would help most",
        "test_timing.py:",
    ):
        assert words in text
    assert len(text.splitlines()) <= 45
    path = sum(step["cycles"] for step in data["critical_path"]["steps"])
    assert path == pytest.approx(data["cycles"], rel=0.02)  # it covers the whole launch
    effects = {effect["subject"]: effect["microseconds"] for effect in data["effects"]}
    assert effects["reads of B_shared"] < data["microseconds"]
    assert data["roofline"]["tflops"] <= data["roofline"]["roof"]
    json.dumps(data)


PHASES = {"M", "X", "C", "b", "e"}


@tilelang.jit(out_idx=[-1], target="tenstorrent")
def exponentials(M):
    @T.prim_func
    def main(A: T.Tensor((M, 256), "bfloat16"), B: T.Tensor((M, 256), "bfloat16")):
        with T.Kernel(M // 32, threads=128) as bx:
            x = T.alloc_shared((32, 256), "bfloat16")
            T.copy(A[bx * 32, 0], x)
            for i, j in T.Parallel(32, 256):
                x[i, j] = T.exp(x[i, j] * 0.5)
            T.copy(x, B[bx * 32, 0])

    return main


def test_a_profile_says_what_coarse_exponentials_would_bring() -> None:
    profile = exponentials(4096).profile()
    text = "with exponentials that are right to 3.2 % (target option approx_exp)"
    assert text in str(profile)
    coarse = tilelang.compile(
        exponentials(4096).prim_func, out_idx=[-1], target={"kind": "tenstorrent", "approx_exp": True}
    )
    assert text not in str(coarse.profile())
    assert coarse.estimate().microseconds < exponentials(4096).estimate().microseconds


def test_a_trace_has_the_documented_form(kernel: Any, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    timing = kernel.time(*operands(), trace=path)
    trace = json.loads(path.read_text())
    events = trace["traceEvents"]
    assert {event["ph"] for event in events} == PHASES
    assert trace["otherData"]["selection"].startswith("all ")
    open_slices: dict[Any, float] = {}
    for event in events:
        assert isinstance(event["pid"], int)
        if event["ph"] == "X":
            assert event["ts"] >= 0
            assert event["dur"] >= 0
            assert event["ts"] + event["dur"] <= timing.microseconds + 1
        elif event["ph"] == "C":
            assert event["args"]["tiles"] >= 0
        elif event["ph"] == "b":
            open_slices[event["id"], event["cat"]] = event["ts"]
        elif event["ph"] == "e":
            assert open_slices.pop((event["id"], event["cat"])) <= event["ts"]
    assert not open_slices
    threads: dict[tuple[int, int], float] = {}
    for event in sorted((event for event in events if event["ph"] == "X"), key=lambda event: event["ts"]):
        place = (event["pid"], event["tid"])
        assert threads.get(place, 0.0) <= event["ts"] + 1e-6, "slices of a thread overlap"
        threads[place] = event["ts"] + event["dur"]


def test_a_trace_is_bounded_and_says_so(kernel: Any) -> None:
    profile = kernel.profile()
    rows = len(profile.log.rows)
    whole, _ = traces.select(profile.log, 1000, [(0, 0)], rows)
    some, kept = traces.select(profile.log, 1000, [(1, 0)], rows // 3)
    short, first = traces.select(profile.log, 1000, [(1, 0)], 10)
    assert str(whole) == "all 64 cores"
    assert some.cores[0] == (1, 0)
    assert len(kept) <= rows // 3
    assert str(some).startswith("cores (1,0), ")
    assert " of 64; " in str(some)
    assert len(first) == 10
    assert "the first " in str(short)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = f"{HERE}:product(M=64, N=64, K=64)"
    assert main(["profile", source, "--trace", str(tmp_path / "t.json")]) == 0
    text = capsys.readouterr().out
    assert "mm on Wormhole: " in text
    assert f"trace {tmp_path / 't.json'} of " in text
    assert main(["profile", source, "--json", "--target", "tenstorrent/blackhole"]) == 0
    assert json.loads(capsys.readouterr().out)["chip"] == "blackhole"
    assert main(["profile", source, "--schedule", "cores:1x1", "--layout", '{"A": {"memory": "L1"}}']) == 0
    assert "where the time goes (1 cores)" in capsys.readouterr().out
    assert main(["explain", source]) == 0
    assert "\nestimated time: mm on Wormhole: " in capsys.readouterr().out
