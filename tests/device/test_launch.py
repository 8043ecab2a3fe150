"""What a launch does to tensors: partial writes, several launches, batches, scalars, concurrency."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
import torch
from device_programs import TILE_WRITER, Gemm, TileProgram, cb, tensor_plan

from tilelang_tt.diagnostics import DeviceError
from tilelang_tt.runtime.plan import Param, RuntimeArg, TensorPlan
from tilelang_tt.runtime.virtual import RunReport, launch

COPY = "copy_tile_to_dst_init_short(x); copy_tile(x, 0, 0);"
ODD_PAGES_ONLY = TILE_WRITER.replace("noc_async_write_page(page", "if (page % 2) noc_async_write_page(page")


@pytest.mark.parametrize("out_format", ["Float32", "Bfp8_b"])
def test_pages_nobody_writes_keep_their_values(out_format: str) -> None:
    program = TileProgram(COPY, extra={"writer.cpp": ODD_PAGES_ONLY}, out_format=out_format)
    x, out = torch.ones(64, 80), torch.full((64, 80), 0.3)
    launch(program.plan(), program.sources(), {"x": x, "y": x, "out": out}, {"M": 64, "N": 80})
    expected = torch.full((64, 80), 0.3)  # which Bfp8_b could not hold
    expected[:32, 32:64] = 1
    expected[32:, :32] = 1
    expected[32:, 64:] = 1
    assert torch.equal(out, expected)


def test_inputs_are_never_changed() -> None:
    x = torch.randn(40, 40)
    kept = x.clone()
    TileProgram(COPY, x_format="Bfp8_b", direct=False).run(x)
    assert torch.equal(x, kept)


def test_several_launches_run_in_order() -> None:
    """The second launch doubles what the first one wrote: intermediates stay in DRAM."""
    one = TileProgram(COPY + " square_tile_init(); square_tile(0);", ("compute_kernel_api.h",))
    two = TileProgram(
        "add_binary_tile_init(); copy_tile_to_dst_init_short(x); copy_tile(x, 0, 0); copy_tile(x, 0, 1);"
        "add_binary_tile(0, 1, 0);",
        ("eltwise_binary_sfpu.h",),
    )
    plan, second = one.plan(), two.plan().launches[0]
    reader, compute, writer = second.kernels
    swap = {"x": "out", "y": "y", "out": "final"}
    args = tuple(replace(arg, accessor=swap[arg.accessor or ""]) for arg in reader.compile_time_args)
    addresses = tuple(replace(arg, address=swap[arg.address]) if arg.address else arg for arg in reader.runtime_args)
    kernels = (
        replace(reader, compile_time_args=args, runtime_args=addresses),
        replace(compute, source="double.cpp"),
        replace(
            writer,
            compile_time_args=(replace(writer.compile_time_args[0], accessor="final"),),
            runtime_args=(replace(writer.runtime_args[0], address="final"), *writer.runtime_args[1:]),
        ),
    )
    final = tensor_plan("final", 3, "Float32", "(M + 31) // 32", "(N + 31) // 32")
    plan = replace(
        plan,
        tensors=(*plan.tensors, final),
        params=(*plan.params, Param("final", "tensor", "float", ("M", "N"))),
        launches=(plan.launches[0], replace(second, name="double", kernels=kernels)),
    )
    x = torch.randn(64, 64)
    tensors = {"x": x, "y": x, "out": torch.zeros(64, 64), "final": torch.zeros(64, 64)}
    sources = {**one.sources(), "double.cpp": two.sources()["compute.cpp"]}
    launch(plan, sources, tensors, {"M": 64, "N": 64})
    assert torch.equal(tensors["out"], x * x)
    assert torch.equal(tensors["final"], 2 * (x * x))


def test_failure_in_a_later_launch_names_its_kernel() -> None:
    good, bad = TileProgram(COPY), TileProgram("copy_tile(x, 0, 0);")
    plan = good.plan()
    reader, compute, writer = bad.plan().launches[0].kernels
    second = replace(plan.launches[0], name="bad", kernels=(reader, replace(compute, source="bad.cpp"), writer))
    sources = {**good.sources(), "bad.cpp": bad.sources()["compute.cpp"]}
    x = torch.ones(32, 32)
    with pytest.raises(DeviceError, match=r"compute bad\.cpp:\d+"):
        launch(
            replace(plan, launches=(plan.launches[0], second)),
            sources,
            {"x": x, "y": x, "out": torch.zeros(32, 32)},
            {"M": 32, "N": 32},
        )


def test_batched_tensors() -> None:
    x = torch.randn(3, 40, 50)
    program = TileProgram(COPY)
    plan = program.plan()
    tensors = tuple(
        TensorPlan(item.name, item.param, item.format, item.page_bytes, 1, 2, item.row_tiles, item.col_tiles, "B")
        for item in plan.tensors
    )
    one = replace(plan.launches[0], units=f"B * ({plan.launches[0].units})")
    out = torch.zeros_like(x)
    launch(
        replace(plan, tensors=tensors, launches=(one,), sizes=("M", "N", "B")),
        program.sources(),
        {"x": x, "y": x, "out": out},
        {"M": 40, "N": 50, "B": 3},
    )
    assert torch.equal(out, x)


ADD = (
    "copy_tile_to_dst_init_short(x); copy_tile(x, 0, 0); copy_tile_to_dst_init_short(y); copy_tile(y, 0, 1);"
    " add_binary_tile_init(); add_binary_tile(0, 1, 0);"
)


@pytest.mark.parametrize("numerics", ["fast", "exact", "chip"])
@pytest.mark.parametrize("axis", [0, 1])
def test_a_vector_lies_in_tiles_of_equal_rows_or_columns(axis: int, numerics: str) -> None:
    """A matrix plus a vector, and twice the vector, without a broadcast instruction."""
    shape = (70, 20) if axis == 0 else (20, 70)
    x, y = torch.randint(-99, 99, shape).float(), torch.randint(-99, 99, (70,)).float()
    program = TileProgram(ADD, ("eltwise_binary_sfpu.h",))
    plan = program.plan()
    vector: dict[str, int | None] = (
        {"row_axis": 0, "col_axis": None} if axis == 0 else {"row_axis": None, "col_axis": 0}
    )
    as_vector = {item.name: replace(item, **vector) for item in plan.tensors}  # type: ignore[arg-type]
    sizes = dict(zip("MN", shape, strict=True))
    out = torch.full(shape, 777.0)
    with_y = replace(plan, tensors=(plan.tensor("x"), as_vector["y"], plan.tensor("out")))
    launch(with_y, program.sources(), {"x": x, "y": y, "out": out}, sizes, numerics=numerics)
    assert torch.equal(out, x + (y[:, None] if axis == 0 else y[None, :]))
    twice = torch.full((70,), 777.0)
    all_of_it = replace(plan, tensors=tuple(as_vector.values()))
    launch(all_of_it, program.sources(), {"x": y, "y": y, "out": twice}, sizes, numerics=numerics)
    assert torch.equal(twice, 2 * y)


def test_scalar_arguments_arrive_as_32_bits() -> None:
    body = (
        COPY + " binop_with_scalar_tile_init(); mul_unary_tile(0, get_arg_val<uint32_t>(1));"
        " add_unary_tile(0, get_arg_val<int32_t>(2) == -5 ? 0x3f800000 : 0);"
    )
    program = TileProgram(body, ("eltwise_unary/binop_with_scalar.h",))
    plan = program.plan()
    reader, compute, writer = plan.launches[0].kernels
    extra = (RuntimeArg("scale", scalar="scale"), RuntimeArg("shift", scalar="shift"))
    compute = replace(compute, runtime_args=(*compute.runtime_args, *extra))
    plan = replace(
        plan,
        launches=(replace(plan.launches[0], kernels=(reader, compute, writer)),),
        params=(*plan.params, Param("scale", "scalar", "float32"), Param("shift", "scalar", "int32")),
    )
    x, out = torch.randn(32, 32), torch.zeros(32, 32)
    tensors = {"x": x, "y": x, "out": out}
    launch(plan, program.sources(), tensors, {"M": 32, "N": 32}, {"scale": 0.3, "shift": -5})
    assert torch.equal(out, x * torch.tensor(0.3) + 1)


def test_launches_may_run_at_the_same_time() -> None:
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda seed: Gemm(grid=(2, 1)).run(64, 64, 64, seed=seed), range(8)))
    assert all(result.relative_error < 0.002 for result in results)


def test_exact_numerics_may_exceed_l1() -> None:
    """1.2 MB of bf16 buffers fit the chip; in Float32 they are 2.4 MB, which only exact numerics may use."""
    wide = {0: cb(0, "A", "Float16_b", 600, "reader", "compute")}
    assert Gemm(cb_changes=wide).run(64, 64, 64, numerics="exact").relative_error < 0.002


def test_nothing_to_do() -> None:
    out = TileProgram(COPY).run(torch.zeros(0, 32))
    assert out.shape == (0, 32)


@pytest.mark.parametrize(("fidelity", "low", "high"), [("LoFi", 1e-2, 5e-2), ("HiFi2", 2e-3, 8e-3), ("HiFi4", 0, 1e-6)])
def test_math_fidelity_cuts_operands(fidelity: str, low: float, high: float) -> None:
    gemm = Gemm(formats=("Float16_b", "Float16_b", "Float32"))
    plan = gemm.plan()
    config = replace(plan.launches[0].compute_config, math_fidelity=fidelity)  # type: ignore[arg-type]
    plan = replace(plan, launches=(replace(plan.launches[0], compute_config=config),))
    a, b, c = torch.randn(64, 64).bfloat16(), torch.randn(64, 64).bfloat16(), torch.zeros(64, 64)
    launch(plan, gemm.sources(), {"A": a, "B": b, "C": c}, {"M": 64, "N": 64, "K": 64})
    reference = a.double() @ b.double()
    assert low <= float((c - reference).norm() / reference.norm()) < high


def test_report() -> None:
    report = Gemm(grid=(2, 2)).run(128, 64, 128).report
    assert isinstance(report, RunReport)
    assert report.numerics == "fast"
    statistics = report.statistics
    assert statistics["cores_used"] == 4
    assert statistics["tile_products"] == 4 * 2 * 4
    assert statistics["noc_read_bytes"] == 4 * (4 + 4) * 2048
    assert statistics["noc_write_bytes"] == 16 * 2048
    assert 0 < report.device_seconds < report.run_seconds
