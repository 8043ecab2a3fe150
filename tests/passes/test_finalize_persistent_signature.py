"""E1 finalize_persistent_signature: runtime arguments of each kernel, and no variable without a use."""

import pytest
import tilelang.language as T

from tilelang_tt.ir.fields import walk
from tilelang_tt.ir.kernel import Let
from tilelang_tt.ir.text_kernel import kernel_text
from tilelang_tt.options import Options
from tilelang_tt.passes.e_finalize.finalize_persistent_signature import finalize_persistent_signature
from tilelang_tt.pipeline import run_passes

from .kernels import CASES, Case, dynamic_gemm
from .stages import kernel_body, kernels_after, plain


def _heads(func) -> list[str]:
    """The lines that name a kernel and its arguments."""
    text = plain(kernel_text(kernels_after(finalize_persistent_signature, func)))
    return [line for line in text.splitlines() if line[0] != " " and "(" in line]


def test_the_host_computes_what_kernels_need_of_symbolic_sizes() -> None:
    reader, compute, writer = _heads(dynamic_gemm())
    sizes = {
        "N_blocks_64": "N_blocks_64: size (N + 63) // 64",
        "K_tiles": "K_tiles: size (K + 31) // 32",
        "M_tiles": "M_tiles: size (M + 31) // 32",
        "N_tiles": "N_tiles: size (N + 31) // 32",
    }
    assert compute == f"compute(unit_count: count, {sizes['K_tiles']})"
    assert all(text in reader for text in sizes.values())
    assert all((text in writer) == (name != "K_tiles") for name, text in sizes.items())
    assert "//" not in kernel_body(kernels_after(finalize_persistent_signature, dynamic_gemm()), "reader").replace(
        "unit // N_blocks_64", ""
    )


def test_a_loop_that_depends_on_the_unit_keeps_its_number() -> None:
    @T.prim_func
    def main(A: T.Tensor((128, 128), "bfloat16"), C: T.Tensor((128, 32), "float32")):
        with T.Kernel(4, threads=128) as bx:
            A_s = T.alloc_shared((32, 32), "bfloat16")
            C_l = T.alloc_fragment((32, 32), "float32")
            T.clear(C_l)
            for k in T.serial(bx):
                T.copy(A[bx * 32, k * 32], A_s)
                T.gemm(A_s, A_s, C_l)
            T.copy(C_l, C[bx * 32, 0])

    assert "compute(unit_start: start, unit_count: count)" in _heads(main)
    text = kernel_body(kernels_after(finalize_persistent_signature, main), "compute")
    assert "\nfor unit in unit_start .. unit_start + unit_count\n  let bx = unit\n" in text


def test_a_kernel_without_work_has_no_arguments() -> None:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((64, 64), "float32")
            T.copy(A, X)
            T.copy(X, B)

    assert _heads(main)[1] == "compute()"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_variable_is_defined_and_used(case: Case) -> None:
    """A question mark in the text is a variable nothing defines."""
    kernels = kernels_after(finalize_persistent_signature, case.build())
    assert "?" not in kernel_text(kernels)
    for kernel in kernels.kernels:
        text = kernel_body(kernels, kernel.role.value)
        for stmt in walk(kernel.body):
            if isinstance(stmt, Let):
                assert text.count(str(stmt.var.name)) > 1, (kernel.role, stmt.var.name)


@pytest.mark.parametrize("arch", ["wormhole_b0", "blackhole"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_verifier_accepts_the_result(case: Case, arch: str) -> None:
    stages: list[str] = []
    run_passes(case.build(), Options(arch=arch), lambda stage, _: stages.append(stage))
    assert stages[-1] == "finalize_persistent_signature"
