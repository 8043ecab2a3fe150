"""F: a block that the first round of a loop fills and the others update; every call for it is needed, and once."""

from functools import cache
from typing import Any

import pytest
import tilelang.language as T

from tilelang_tt.diagnostics import InternalError
from tilelang_tt.ir import scalar
from tilelang_tt.ir.cb import CbCall, CbKind
from tilelang_tt.ir.kernel import If, KernelSet
from tilelang_tt.ir.layout import Role
from tilelang_tt.options import Options
from tilelang_tt.passes.f_verify.verify_kernels import verify_kernels
from tilelang_tt.pipeline import run_passes

from .edits import altered, at, doubled, find, places, removed


def decayed() -> Any:
    @T.prim_func
    def main(A: T.Tensor((128, 32), "bfloat16"), D: T.Tensor((128,), "float32"), C: T.Tensor((128, 64), "float32")):
        with T.Kernel(4, threads=128) as bx:
            a = T.alloc_shared((32, 32), "bfloat16")
            b = T.alloc_shared((32, 64), "bfloat16")
            decay = T.alloc_fragment((32,), "float32")
            state = T.alloc_fragment((32, 64), "float32")
            T.clear(state)
            for n in T.serial(bx + 1):
                T.copy(A[n * 32, 0], a)
                T.copy(A[n * 32, 0], b[:, 0:32])
                T.copy(A[n * 32, 0], b[:, 32:64])
                T.copy(D[n * 32], decay)
                for i, j in T.Parallel(32, 64):
                    state[i, j] *= decay[i]
                T.gemm(a, b, state)
            T.copy(state, C[bx * 32, 0])

    return main


@cache
def kernels() -> KernelSet:
    _, (found,) = run_passes(decayed(), Options(fast_math=True), lambda *_: None)
    return found


def code_of(changed: KernelSet) -> str | None:
    try:
        verify_kernels(changed)
    except InternalError as error:
        return error.code
    return None


def is_peeled(stmt: Any) -> bool:
    return isinstance(stmt, If) and "!=" in str(stmt.condition)


def test_it_is_peeled() -> None:
    assert code_of(kernels()) is None
    find(kernels(), Role.COMPUTE, is_peeled)


# Asking for room twice is harmless, and so is waiting for what one has; where nobody else fills or drains a block,
# both say nothing that the pushes and pops do not.
HARMLESS = {("doubled", CbKind.RESERVE), ("doubled", CbKind.WAIT)}


@pytest.mark.parametrize("edit", [removed, doubled], ids=["removed", "doubled"])
def test_every_call_counts(edit: Any) -> None:
    body = kernels().kernel(Role.COMPUTE).body
    calls = [place for place in places(body) if isinstance(at(body, place), CbCall)]
    of_state = [place for place in calls if at(body, place).cb.name == "state"]  # type: ignore[union-attr]
    assert len(of_state) >= 8
    unseen = {
        (edit.__name__, at(body, place).kind)  # type: ignore[union-attr]
        for place in of_state
        if code_of(edit(kernels(), Role.COMPUTE, place)) is None
    }
    assert unseen <= HARMLESS


@pytest.mark.parametrize("wrong", ["always", "never", "in the first round", "in the second"])
def test_the_condition_counts(wrong: str) -> None:
    place = find(kernels(), Role.COMPUTE, is_peeled)
    branch = at(kernels().kernel(Role.COMPUTE).body, place)
    assert isinstance(branch, If)
    (n,) = scalar.variables(branch.condition)
    conditions = {
        "always": scalar.true(),
        "never": scalar.false(),
        "in the first round": scalar.is_zero(n),
        "in the second": scalar.is_zero(n - 1),
    }
    assert code_of(altered(kernels(), Role.COMPUTE, place, condition=conditions[wrong])) is not None
