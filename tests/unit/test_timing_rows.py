"""Rows of published figures become workloads that compute the right numbers and have a time."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
from benchmarks.timing import attention_rows, gemm_rows, measure, micro_rows, noc_rows
from benchmarks.timing.figures import Figure, LeftOut, read_figures, unknown_columns
from benchmarks.timing.matmul_1d import MulticastA, MulticastB
from benchmarks.timing.matmul_2d import Matmul2d
from benchmarks.timing.ranking import Judged, pairs

import tilelang_tt.device as tt

PUBLISHED = Path(micro_rows.__file__).parent / "published"


def micro(bench: str, config: str, variant: str = "") -> Figure:
    fields = {"chip": "blackhole", "bench": bench, "config": config, "variant": variant, "us": "1", "note": ""}
    return Figure("microbench", "blackhole", bench, 1.0, "us", fields)


@pytest.mark.parametrize(
    "figure",
    [
        micro("MB2 accumulate add, contributions streamed from DRAM", "acc_tiles=2,iters=3", "DST"),
        micro("MB2 accumulate add, contributions L1 resident", "acc_tiles=2,iters=3", "L1"),
        micro("MB3 matmul bf16 HiFi4", "2x4,kt=2", "DST-K"),
        micro("MB3 matmul bf16 HiFi4", "4x4(reuse2),kt=3", "L1-K"),
        micro("MB3.C matmul+gelu(fast) HiFi4", "2x2,kt=2", "L1-K"),
        micro("MB5.A passthrough hoisted half-sync", "tiles=8,chunk=4"),
        micro("MB5.D scale*acc + A@B 2x4", "kt=2,sub=1x4"),
    ],
    ids=lambda figure: figure.fields["bench"],
)
def test_kernels_of_microbenchmarks_compute_what_they_say(figure: Figure) -> None:
    workload = micro_rows.workload(figure)
    torch.manual_seed(1)
    with tt.open_device(figure.chip, strict=False) as device:
        prepared = micro_rows.prepare(device, workload)
        values = [torch.randn(*tensor.shape).bfloat16() / 4 for tensor in prepared.inputs]
        for tensor, value in zip(prepared.inputs, values, strict=True):
            tensor.copy_from(value)
        device.run(prepared.program)
        expected = workload.reference(*values)
        error = (prepared.out.to_torch().float() - expected).norm() / expected.norm()
    assert error < 0.01  # sums are rounded to bfloat16 in L1 at every step


def test_a_zone_is_as_long_as_its_slowest_processor() -> None:
    workload = micro_rows.workload(micro("MB5.A passthrough twocb half-sync", "tiles=64,chunk=8"))
    with tt.open_device("blackhole", numerics="none", strict=False) as device:
        report = device.run(micro_rows.prepare(device, workload).program)
    assert report.clock is not None
    zones = report.clock.zones
    assert {zone.lane for zone in zones} == {"unpack", "math", "pack"}
    # 64 tiles at 30 to 45 cycles each: what unpacking a tile costs by itself is 39.
    assert 64 * 30 < max(zone.cycles for zone in zones) < 64 * 45


def test_cores_of_noc_rows_are_those_of_the_sdk_tests() -> None:
    fields = {"mechanism": "multicast", "pattern": "ONE_TO_ALL", "nsub": "9", "loopback": "0", "same_axis": "1"}
    placed = noc_rows.place(fields, (8, 7))
    assert placed.masters == [(3, 0)]
    assert placed.corners == ((0, 0), (2, 2))
    whole = noc_rows.place({**fields, "mechanism": "unicast", "nsub": "55"}, (8, 7))
    assert whole.masters == [(0, 0)]
    assert len(whole.others) == 55
    crowd = noc_rows.place({**fields, "mechanism": "unicast", "pattern": "ALL_TO_ALL", "nsub": "4"}, (8, 7))
    assert crowd.others == [(0, 0), (0, 1), (1, 0), (1, 1)]  # the order in which each sender goes through them
    with pytest.raises(LeftOut, match="7 cores are neither a square nor the grid of 8 x 7"):
        noc_rows.place({**fields, "nsub": "7"}, (8, 7))


def gemm(m: int, k: int, n: int) -> gemm_rows.GemmRow:
    return gemm_rows.GemmRow("wormhole_b0", m, k, n, (8, 8), "BFLOAT16", "HiFi2", False, False, False, True)


def test_ttnn_takes_the_largest_blocks_that_fit() -> None:
    with tt.open_device("wormhole_b0") as device:
        kind, plan = gemm(2048, 2048, 2048).chosen(device)
    assert kind is Matmul2d
    assert plan.per_core == (8, 8)
    assert plan.block == (8, 8)
    assert plan.depth == 8
    assert plan.sub_block == (4, 2)


@pytest.mark.parametrize(
    ("shape", "kind", "per_core"),
    [
        ((512, 1024, 2048), MulticastA, (16, 1)),  # one block of 16 tiles is as high as C
        ((2048, 1024, 512), MulticastB, (1, 16)),
        ((64, 1024, 4096), MulticastA, (2, 2)),  # narrow
    ],
)
def test_ttnn_takes_its_1d_multicast_for_few_rows_or_columns(
    shape: tuple[int, int, int], kind: type, per_core: tuple[int, int]
) -> None:
    with tt.open_device("wormhole_b0") as device:
        chosen, plan = gemm(*shape).chosen(device)
    assert chosen is kind
    assert plan.per_core == per_core


def ops(op: str, shape: str, dtype: str, cores: str = "110") -> Figure:
    fields = {"chip": "blackhole", "op": op, "shape": shape, "dtype": dtype, "layout": "DRAM", "cores": cores}
    return Figure("ops", "blackhole", op, 1.0, "us", {**fields, "source": ""})


def test_attention_rows_are_read_in_the_words_they_are_written_in() -> None:
    causal = attention_rows.read(ops("SDPA prefill causal", "32q/8kv d128 s4096 q128 k128", "bfp8 HiFi2"))
    assert (causal.heads, causal.kv_heads, causal.tokens, causal.width, causal.chunks) == (32, 8, 4096, 128, (128, 128))
    assert causal.causal
    assert causal.fidelity is tt.MathFidelity.HiFi2
    latent = attention_rows.read(ops("FlashMLA prefill causal", "nh16 nkv1 dqk576 dv512 s1024 q32 k128", "bf16 HiFi4"))
    assert (latent.width, latent.values, latent.latent, latent.chunks) == (576, 512, 512, (32, 128))
    free = attention_rows.read(ops("SDPA non-causal", "b1 nh10 s9472 d128 q288 k512", "bf16"))
    assert not free.causal
    assert free.chunks == (288, 512)
    assert free.kv_heads == 10
    with pytest.raises(LeftOut, match="no grid of '77' cores"):
        attention_rows.read(ops("SDPA non-causal", "b1 nh10 s9472 d128", "bf16", "77"))


def test_files_are_recognised_and_a_third_is_held_out() -> None:
    figures = read_figures(PUBLISHED / "microbench.csv")
    assert {figure.family for figure in figures} == {"microbench"}
    assert len(figures) == 318
    held = sum(figure.held_out for figure in figures)
    assert 0.25 * len(figures) < held < 0.42 * len(figures)
    assert {figure.family for figure in read_figures(PUBLISHED / "gemm.csv")} == {"gemm-n150", "gemm-p150"}


NOC_HEAD = "chip,memory,mechanism,pattern,ntx,nsub,same_axis,stateful,loopback,noc"
GEMM_HEAD = "table,M,K,N,trace,grid,in0,in1,out,dtype,fidelity,time_ns,tflops,device_util"
OPS_HEAD = "chip,op,shape,dtype,layout,cores,measured_us,metric,source,note"


@pytest.mark.parametrize(
    ("head", "row", "reason"),
    [
        (f"{NOC_HEAD},cyc_64B", "quasar,L1,unicast,ONE_TO_ONE,1,0,0,0,0,0,300", "column 'chip': 'quasar' is none of"),
        (f"{NOC_HEAD},cyc_64B", "blackhole,L1,unicast,ONE_TO_ONE,,0,0,0,0,0,300", "column 'ntx': has no value"),
        (f"{NOC_HEAD},cyc_64B", "blackhole,L1,unicast,ONE_TO_ONE,0,0,0,0,0,0,300", "column 'ntx': 0 is not greater"),
        (
            f"{NOC_HEAD},cyc_64B",
            "blackhole,L1,unicast,ONE_TO_ONE,1,0,0,0,0,0,n/a",
            "column 'cyc_64B': 'n/a' is no number",
        ),
        (
            f"{NOC_HEAD},cyc_64B",
            "blackhole,L1,unicast,DIAGONAL,1,0,0,0,0,0,300",
            "no workload for the pattern DIAGONAL",
        ),
        (f"{NOC_HEAD},cyc_64B", "blackhole,L1,unicast,ALL_TO_ALL,3,9,0,0,0,0,300", "3 transfers are fewer than the 9"),
        (
            f"{NOC_HEAD},cyc_64B",
            "blackhole,L3,unicast,ONE_TO_ONE,1,0,0,0,0,0,300",
            "no workload for unicast and memory L3",
        ),
        (
            "chip,memory,mechanism,pattern,ntx,cyc_64B",
            "blackhole,L1,unicast,ONE_TO_ONE,1,300",
            "there is no column 'nsub'",
        ),
        (
            GEMM_HEAD,
            'N300,512,512,512,True,"(8,8)",L1,DRAM,L1,BFLOAT16,LoFi,1,1,1',
            "'N300' does not begin with N150 or P150",
        ),
        (
            GEMM_HEAD,
            'N150,512,512,512,True,"(9,9)",L1,DRAM,L1,BFLOAT16,LoFi,1,1,1',
            "9 x 9 cores, where the chip has 8 x 8",
        ),
        (
            GEMM_HEAD,
            'N150,500,512,512,True,"(8,8)",L1,DRAM,L1,BFLOAT16,LoFi,1,1,1',
            "M = 500 cannot be shared by 8 cores",
        ),
        (GEMM_HEAD, 'N150,512,512,512,True,"(8,8)",L1,DRAM,L1,INT8,LoFi,1,1,1', "no workload for INT8"),
        ("chip,bench,config,variant,us", "blackhole,MB9,tiles=1,,1", "no kernel for the benchmark 'MB9'"),
        ("chip,bench,config,variant,us", 'blackhole,MB3 matmul,"0x3,kt=1",DST,1', "a block of 0 x 3 tiles"),
        (OPS_HEAD, "blackhole,Softplus,32x32,bf16,TILE,64,1,,,", "no host code for this operation's kernels here"),
        (OPS_HEAD, "blackhole,Softplus,32x32,bf16,TILE,64,,,,", "column 'measured_us': has no value"),
    ],
)
def test_rows_that_cannot_be_run_say_why(head: str, row: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(f"{head},extra\n{row},more\n")
    assert unknown_columns(path) == ["extra"]
    (figure,) = read_figures(path)
    with pytest.raises(LeftOut, match=re.escape(reason)):
        measure.workload(figure)


@pytest.mark.parametrize("file", ["noc.csv", "microbench.csv"])
def test_every_published_row_has_a_workload(file: str) -> None:
    for figure in read_figures(PUBLISHED / file):
        measure.workload(figure)


def test_files_of_no_family_are_refused_in_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(SystemExit, match=r"no family has the columns a, b\. Known are noc: memory, mechanism"):
        read_figures(path)
    with pytest.raises(SystemExit, match="cannot be read"):
        read_figures(tmp_path / "nowhere.csv")


def test_pairs_count_where_variants_of_the_same_work_differ() -> None:
    dst, l1 = (micro("MB3 matmul bf16 HiFi4", "2x2,kt=8", variant) for variant in ("DST-K", "L1-K"))
    slow = Figure(dst.family, dst.chip, "slow", 9.0, "us", dst.fields)
    fast = Figure(l1.family, l1.chip, "fast", 7.0, "us", l1.fields)
    assert pairs([Judged(slow, 8.0), Judged(fast, 7.5)]) == (1, 1)
    assert pairs([Judged(slow, 7.0), Judged(fast, 7.5)]) == (1, 0)
