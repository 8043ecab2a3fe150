"""fit_l1 and room: what launches need of L1, and the ways that are tried where that is too much."""

import re
from typing import Any

import pytest
import tilelang.language as T
from benchmarks.tile_kernels import example

from tilelang_tt.compiled import Decision
from tilelang_tt.diagnostics import ResourceError
from tilelang_tt.ir.room import room
from tilelang_tt.options import Options
from tilelang_tt.pipeline import compile_function, print_files, run_passes

from .kernels import CASES, Case, gemm
from .stages import refusal
from .vector_kernels import VECTOR_CASES


def tried(decisions: tuple[Decision, ...]) -> list[str]:
    return [decision.text for decision in decisions if decision.stage == "fit_l1"]


@pytest.mark.parametrize("case", [*CASES, *VECTOR_CASES], ids=lambda case: case.name)
def test_what_is_allocated_is_what_a_launch_was_said_to_need(case: Case) -> None:
    program, sets = run_passes(case.build(), Options(), lambda *_: None)
    for kernels in sets:
        need = room(program, kernels.launch)
        assert sum(cb.bytes for cb in kernels.all_cbs) == need.bytes
        assert len(kernels.all_cbs) == need.numbers + need.views + len(need.tables)
    assert not tried(program.decisions)


def softmax(n: int) -> Any:
    @T.prim_func
    def main(X: T.Tensor((32, n), "bfloat16"), Y: T.Tensor((32, n), "bfloat16")):
        with T.Kernel(1, threads=128):
            x = T.alloc_fragment((32, n), "float32")
            m = T.alloc_fragment((32,), "float32")
            s = T.alloc_fragment((32,), "float32")
            T.copy(X, x)
            T.reduce_max(x, m, dim=1)
            for i, j in T.Parallel(32, n):
                x[i, j] = T.exp(x[i, j] - m[i])
            T.reduce_sum(x, s, dim=1)
            for i, j in T.Parallel(32, n):
                x[i, j] = x[i, j] / s[i]
            T.copy(x, Y)

    return main


def test_ways_are_tried_in_order_and_nothing_remains_of_those_that_do_not_fit() -> None:
    stages: list[str] = []
    program, (kernels,) = run_passes(softmax(16384), Options(), lambda stage, _: stages.append(stage))
    assert len(stages) == len(set(stages))
    assert tried(program.decisions) == [
        "as written it needs 4,204,544 B of L1 per core; Wormhole has 1,393,280 B",
        "with results in parts of 8 tile columns it needs 3,172,352 B of L1 per core; Wormhole has 1,393,280 B",
        "with results in parts of 4 tile columns it needs more than 3,145,728 B of L1 per core; "
        "Wormhole has 1,393,280 B",
        "in parts of 8 tile columns it needs 2,142,208 B of L1 per core; Wormhole has 1,393,280 B",
        "in parts of 2 tile columns it needs more than 2,097,152 B of L1 per core; Wormhole has 1,393,280 B",
        "in parts of 8 tile columns, computed again for each use, it needs 1,165,312 B of L1 per core; that fits",
    ]
    splits = [decision.text for decision in program.decisions if decision.stage == "split_blocks"]
    assert set(splits) == {"comes in 64 parts of (32, 256): as a whole it does not fit L1"}
    assert room(program, kernels.launch).fits(program.options.chip)


@pytest.mark.parametrize("name", ["layer_norm", "rms_norm", "softmax"])
@pytest.mark.parametrize(("columns", "dtype"), [(8192, "float32"), (12288, "float32"), (16384, "bfloat16")])
@pytest.mark.parametrize("rows", [32, 64])
def test_ways_that_are_not_tried_would_not_fit(
    name: str, columns: int, dtype: str, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    func = getattr(example(name), name).get_tir(64, columns, rows, dtype)
    files, quick = outcome(func)
    monkeypatch.setattr("tilelang_tt.passes.fit_l1.fit_l1.bytes_left_whole", lambda *_: 0)
    same_files, slow = outcome(func)
    assert files == same_files
    for said, needed in zip(quick, slow, strict=True):
        if " more than " in said:
            assert number_in(said) <= number_in(needed)
            assert said.replace(f"more than {number_in(said):,}", f"{number_in(needed):,}") == needed
        else:
            assert said == needed


def outcome(func: Any) -> tuple[dict[str, str], list[str]]:
    """The generated files, or the refusal, and what was tried."""
    try:
        program, sets = run_passes(func, Options(scalar_code=False), lambda *_: None)
    except ResourceError as refused:
        return {"refusal": str(refused)}, []
    return print_files(program, sets), tried(program.decisions)


def number_in(text: str) -> int:
    """How many bytes a decision says that a way needs."""
    return int(re.findall(r"([0-9,]+) B of L1", text)[0].replace(",", ""))


def two_launches(n: int) -> Any:
    """Of two launches only the second one has too large blocks."""

    @T.prim_func
    def main(X: T.Tensor((32, n), "float32"), Y: T.Tensor((32, n), "float32"), Z: T.Tensor((32, n), "float32")):
        with T.Kernel(n // 64, threads=128) as bx:
            x = T.alloc_shared((32, 64), "float32")
            T.copy(X[0, bx * 64], x)
            for i, j in T.Parallel(32, 64):
                x[i, j] = x[i, j] + 1
            T.copy(x, Y[0, bx * 64])
        with T.Kernel(1, threads=128):
            y = T.alloc_shared((32, n), "float32")
            T.copy(Y, y)
            for i, j in T.Parallel(32, n):
                y[i, j] = y[i, j] * 2
            T.copy(y, Z)

    return main


def test_a_launch_that_fits_is_left_alone() -> None:
    program, _ = run_passes(two_launches(16384), Options(), lambda *_: None)
    subjects = {decision.subject for decision in program.decisions if decision.stage in ("fit_l1", "split_blocks")}
    assert subjects == {"main_1", "y", "y_in", "y_out"}


def test_too_much_for_l1_is_refused_with_the_budget_and_what_fits() -> None:
    func = gemm(512, 512, 1024, (256, 256, 128), stages=9)
    assert (
        refusal(lambda: compile_function(func, Options()))
        == """\
kernels.py: error[TT204]: kernel 'main' needs 1,572,864 B of L1 per core; Wormhole has 1,393,280 B
    with T.Kernel(T.ceildiv(N, bn), T.ceildiv(M, bm), threads=128) as (bx, by):
  note: A_s 9 x 32 tiles Float16_b ... 589,824 B   (kernels.py)
  note: B_s 9 x 32 tiles Float16_b ... 589,824 B   (kernels.py)
  note: C_l 1 x 64 tiles Float32 ... 262,144 B   (kernels.py)
  note: C_l_out 1 x 64 tiles Float16_b ... 131,072 B   (kernels.py)
  help: num_stages=7 fits (1,310,720 B)"""
    )
    (launch,) = compile_function(gemm(512, 512, 1024, (256, 256, 128), stages=7), Options(blocks=False)).plan.launches
    assert len(launch.cbs) == 4


def test_blocks_too_big_for_any_depth_are_refused() -> None:
    func = gemm(1024, 1024, 1024, (512, 512, 256), stages=2)
    text = refusal(lambda: compile_function(func, Options()))
    assert text.startswith("kernels.py: error[TT204]: kernel 'main' needs 2,621,440 B of L1 per core;")
    assert text.endswith("  help: storage='bfloat8_b' for 'A' and 'B' with num_stages=1 fits (1,392,640 B)")
