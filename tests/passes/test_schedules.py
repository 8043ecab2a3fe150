"""B partition_work under schedules that are asked for: what units are, that nothing else changes, and the text."""

import pytest
import tilelang.language as T

from tilelang_tt import costs
from tilelang_tt.ir.text_kernel import kernel_text, parse_kernels
from tilelang_tt.ir.text_program import parse_tile, tile_text
from tilelang_tt.ir.tile import TileProgram
from tilelang_tt.options import Options
from tilelang_tt.passes.b_partition.partition_work import partition_work
from tilelang_tt.pipeline import KERNEL_PASSES, run_passes
from tilelang_tt.schedule_request import requests_of

from .kernels import batched_gemm, dynamic_gemm, small_integers
from .stages import after, facts, keeps_meaning, kernels_after

BOX = "; told first_column, columns, first_row, rows"
# For a grid of 3 x 2 x 3 blocks: words of the option; schedule and units of the program.
CASES = {
    "policy:strided,cores:2x2": (
        ["strided"],
        "18 by unit: bx = unit % 3, by = unit % 6 // 3, bz = unit // 6; 2 x 2 cores",
    ),
    "order:column": (
        ["contiguous, order column"],
        "18 by unit: bx = unit // 6, row = unit % 6, by = row % 2, bz = row // 2; 8 x 8 cores",
    ),
    "order:z,cores:2x1+3+4": (
        ["contiguous, order z, cores 2x1+3+4"],
        "18 by unit: block = z_order(unit, 3, 6), bx = block % 3, by = block % 6 // 3, bz = block // 6; 5 x 5 cores",
    ),
    "policy:rectangle": (
        [f"rectangle{BOX}"],
        "18 by unit: bx = first_column + unit % columns, row = first_row + unit // columns, by = row % 2, "
        "bz = row // 2; 8 x 8 cores",
    ),
    "panel:4": (
        ["contiguous, order block-linear, panel 4"],
        "18 by unit: panel = unit // 12, in_panel = unit % 12, "
        "panel_high = (4 if (panel + 1) * 4 <= 6 else 6 - panel * 4), across = in_panel // panel_high, "
        "bx = (across if panel % 2 == 0 else 2 - across), row = panel * 4 + in_panel % panel_high, by = row % 2, "
        "bz = row // 2; 8 x 8 cores",
    ),
    "units:17.0/1.2.3.4.5.6.7.8.9.10.11.12.13.14.15.16,cores:2x1": (
        ["list, units 17.0/1.2.3.4.5.6.7.8.9.10.11.12.13.14.15.16; told unit_list"],
        "18 by unit: block = argument(unit_list + unit), bx = block % 3, by = block % 6 // 3, bz = block // 6; "
        "2 x 1 cores",
    ),
}
MORE = (
    "policy:rectangle,order:z,cores:2x2+1+1",
    "policy:rectangle,order:block-linear-column,panel:2",
    "policy:strided,order:column,core_order:column",
)


def options(words: str) -> Options:
    """As `run_passes` has them: for every launch."""
    return Options(schedule=requests_of(words))


@pytest.mark.parametrize("words", CASES)
def test_units(words: str) -> None:
    program = after(partition_work, batched_gemm(), options(words))
    schedule, units = CASES[words]
    assert facts(program, "schedule") == schedule
    assert facts(program, "units") == [units]


@pytest.mark.parametrize("words", [*CASES, *MORE])
def test_meaning(words: str) -> None:
    tensors = small_integers({"A": (3, 64, 64), "B": (3, 64, 96)})
    assert keeps_meaning(partition_work, batched_gemm(), tensors, {}, options=options(words))


@pytest.mark.parametrize("words", ["order:z", "policy:strided,order:block-linear,panel:3", *MORE])
def test_meaning_of_symbolic_grids(words: str) -> None:
    tensors = small_integers({"A": (200, 40), "B": (40, 300)})
    sizes = {"M": 200, "N": 300, "K": 40}
    assert keeps_meaning(partition_work, dynamic_gemm(), tensors, sizes, options=options(words))


@pytest.mark.parametrize("words", [*CASES, *MORE])
@pytest.mark.parametrize("build", [batched_gemm, dynamic_gemm])
def test_every_stage_reads_back(words: str, build) -> None:
    if words.startswith("units") and build is dynamic_gemm:
        words = "order:column"
    program: TileProgram | None = None

    def check(stage: str, state: object) -> None:
        nonlocal program
        if isinstance(state, TileProgram):
            text = tile_text(state)
            program = parse_tile(text)
            assert tile_text(program) == text, stage
        else:
            assert program is not None
            text = "\n".join(map(kernel_text, state))  # type: ignore[call-overload]
            assert "?" not in text
            assert "\n".join(map(kernel_text, parse_kernels(text, program))) == text, stage

    run_passes(build(), options(words), check)


def triangle():
    """Blocks of different lengths."""

    @T.prim_func
    def main(A: T.Tensor((128, 128), "bfloat16"), C: T.Tensor((192, 96), "float32")):
        with T.Kernel(3, 2, 3, threads=128) as (bx, by, bz):
            a = T.alloc_shared((32, 32), "bfloat16")
            c = T.alloc_fragment((32, 32), "float32")
            T.clear(c)
            for k in T.serial(bx + by + 1):
                T.copy(A[bz * 32, k * 32], a)
                T.gemm(a, a, c)
            T.copy(c, C[(by * 3 + bz) * 32, bx * 32])

    return main


@pytest.mark.parametrize("words", [*CASES, *MORE])
@pytest.mark.parametrize("build", [batched_gemm, triangle])
def test_what_is_done_in_all_stays(words: str, build) -> None:
    usual, dealt = (costs.of(kernels_after(KERNEL_PASSES[-1].run, build(), one)) for one in (Options(), options(words)))
    assert dealt == usual


def test_a_swizzle_without_an_order_is_ignored() -> None:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32")):
        with T.Kernel(2, 2, threads=128) as (bx, by):
            T.use_swizzle(4, "mlx")
            x = T.alloc_shared((32, 32), "float32")
            T.copy(A[by * 32, bx * 32], x)
            T.copy(x, B[by * 32, bx * 32])

    program = after(partition_work, main)
    assert "T.use_swizzle ignored: this pattern is no order of blocks here" in [one.text for one in program.decisions]
    assert facts(program, "schedule") == []


def test_one_index_has_no_order() -> None:
    @T.prim_func
    def main(A: T.Tensor((160, 32), "float32"), B: T.Tensor((160, 32), "float32")):
        with T.Kernel(5, threads=128) as bx:
            x = T.alloc_shared((32, 32), "float32")
            T.copy(A[bx * 32, 0], x)
            T.copy(x, B[bx * 32, 0])

    program = after(partition_work, main, options("order:z"))
    assert facts(program, "units") == ["5 by unit: bx = unit; 8 x 8 cores"]
    assert program.decisions[-1].text == "order z changes nothing: there is one block index"
    boxed = after(partition_work, main, options("policy:rectangle"))
    assert facts(boxed, "units") == ["5 by unit: bx = first_column + unit; 8 x 8 cores"]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("policy:strided,cores:2x2", "every 4th unit for a core, runs of at most 5 units over 2 x 2 cores, 0 idle"),
        ("policy:rectangle,cores:2x2+1+1", "rectangles of at most 6 units over cores 2x2+1+1, 0 idle"),
        ("cores:2x1/1x1+5+5", "contiguous runs of at most 6 units over cores 2x1, 1x1+5+5, 0 idle"),
    ],
)
def test_decisions(words: str, text: str) -> None:
    assert after(partition_work, batched_gemm(), options(words)).decisions[-1].text == text
