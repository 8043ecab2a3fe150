"""Sums whose last round goes on in DST, where their result is computed (`merge_last_round`)."""

from dataclasses import replace
from typing import Any

import pytest
import tilelang
import tilelang.language as T
import torch
from three_ways import TWO_CORES, agree, whole_numbers

from tilelang_tt.diagnostics import InternalError
from tilelang_tt.ir import engine
from tilelang_tt.ir.fields import rewritten
from tilelang_tt.ir.kernel import If, KernelSet
from tilelang_tt.ir.layout import Role
from tilelang_tt.options import Options
from tilelang_tt.passes.c_tile.merge_costs import MergeCosts
from tilelang_tt.passes.f_verify.verify_kernels import verify_kernels
from tilelang_tt.pipeline import run_passes

ARCHS = ("wormhole_b0", "blackhole")
MERGED = "its last products stay in DST"


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Last rounds are merged whether that saves time or not."""
    monkeypatch.setattr(MergeCosts, "pays", lambda *_: True)


def product(epilogue: str, dtype: str, m: Any = 128, n: Any = 256, k: Any = 192, block: int = 128) -> Any:
    bias, residual, relu = (part in epilogue for part in ("bias", "residual", "relu"))

    @T.prim_func
    def main(
        A: T.Tensor((m, k), "bfloat16"),
        B: T.Tensor((k, n), "bfloat16"),
        V: T.Tensor((n,), "float32"),
        R: T.Tensor((m, n), "bfloat16"),
        C: T.Tensor((m, n), dtype),
    ):
        with T.Kernel(T.ceildiv(n, block), T.ceildiv(m, block), threads=128) as (bx, by):
            a = T.alloc_shared((block, 64), "bfloat16")
            b = T.alloc_shared((64, block), "bfloat16")
            v = T.alloc_shared((block,), "float32")
            r = T.alloc_shared((block, block), "bfloat16")
            c = T.alloc_fragment((block, block), "float32")
            T.clear(c)
            for i in T.Pipelined(T.ceildiv(k, 64), num_stages=2):
                T.copy(A[by * block, i * 64], a)
                T.copy(B[i * 64, bx * block], b)
                T.gemm(a, b, c)
            if bias:
                T.copy(V[bx * block], v)
                for i, j in T.Parallel(block, block):
                    c[i, j] += v[j]
            if residual:
                T.copy(R[by * block, bx * block], r)
                for i, j in T.Parallel(block, block):
                    c[i, j] = c[i, j] * 2 + r[i, j]
            if relu:
                for i, j in T.Parallel(block, block):
                    c[i, j] = T.max(c[i, j], 0)
            T.copy(c, C[by * block, bx * block])

    return main


def tensors(dtype: str, m: int = 128, n: int = 256, k: int = 192) -> dict[str, torch.Tensor]:
    bf16 = torch.bfloat16
    a, b = whole_numbers(m, k, low=-2, high=3, dtype=bf16), whole_numbers(k, n, low=-1, high=2, dtype=bf16)
    rest = {"V": whole_numbers(n), "R": whole_numbers(m, n, dtype=bf16)}
    return {"A": a, "B": b, **rest, "C": torch.zeros(m, n, dtype=getattr(torch, dtype))}


def expected(epilogue: str, given: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    c = given["A"].double() @ given["B"].double()
    c = c + given["V"].double() if "bias" in epilogue else c
    c = 2 * c + given["R"].double() if "residual" in epilogue else c
    c = c.clamp(min=0) if "relu" in epilogue else c
    return {"C": c.to(given["C"].dtype)}


def decisions(func: Any, options: Options) -> list[str]:
    program, _ = run_passes(func, options, lambda *_: None)
    return [decision.text for decision in program.decisions]


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
@pytest.mark.parametrize("epilogue", ["relu", "bias", "residual", "bias, residual, relu"])
def test_results_are_computed_in_the_last_round(epilogue: str, dtype: str, arch: str) -> None:
    given, options = tensors(dtype), replace(TWO_CORES, arch=arch)
    func = product(epilogue, dtype)
    assert any(MERGED in text for text in decisions(func, options))
    for numerics in ("exact", "chip"):
        agree(func, given, ("C",), numerics=numerics, options=options, reference=expected(epilogue, given))


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("arch", ARCHS)
def test_results_that_go_away_in_parts(arch: str) -> None:
    """Blocks of 8 x 8 tiles, one for a core: the parts are rows, stored while others are made."""
    given, options = tensors("bfloat16", 256, 512), Options(arch=arch, grid=(2, 1), multicast=True, blocks=False)
    func = product("bias", "bfloat16", 256, 512, block=256)
    _, (kernels,) = run_passes(func, options, lambda *_: None)
    parts = next(cb for cb in kernels.cbs.values() if cb.name == "c_out")
    assert parts.shape == (2, 8)
    agree(func, given, ("C",), options=options, reference=expected("bias", given))


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_what_the_rounds_before_left_keeps_all_of_its_bits(arch: str, dtype: str) -> None:
    """The sum is 8193 before the last round, which takes 8192 away: with ten bits of it nothing would be left."""
    a = torch.zeros(128, 192, dtype=torch.bfloat16)
    b = torch.zeros(192, 256, dtype=torch.bfloat16)
    a[:, 0], b[0] = 64, 128
    a[:, 64], b[64] = 1, 1
    a[:, 191], b[191] = -64, 128
    target = {"kind": "tenstorrent", "arch": arch, "numerics": "chip", "blocks": False}
    kernel = tilelang.compile(product("relu", dtype), out_idx=[-1], target=target)
    assert MERGED in str(kernel.explain())
    found = kernel(a, b, torch.zeros(256), torch.zeros(128, 256, dtype=torch.bfloat16))
    assert torch.equal(found.float(), torch.ones(128, 256))


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("arch", ARCHS)
def test_rounds_that_the_call_knows(arch: str) -> None:
    """Of one round there is nothing that others have left."""
    m, n, k = T.dynamic("m"), T.dynamic("n"), T.dynamic("k")
    target = {"kind": "tenstorrent", "arch": arch, "grid": "2x2"}
    kernel = tilelang.compile(product("bias, relu", "float32", m, n, k, 64), out_idx=[-1], target=target)
    assert MERGED in str(kernel.explain())
    for rows, columns, depth in ((200, 64, 64), (64, 130, 40), (64, 64, 128), (300, 200, 200)):
        given = tensors("float32", rows, columns, depth)
        found = kernel(given["A"], given["B"], given["V"], given["R"])
        assert torch.equal(found, expected("bias, relu", given)["C"])


@pytest.mark.usefixtures("always")
def test_a_single_round_needs_no_block_for_the_sum() -> None:
    given = tensors("bfloat16", k=64)
    func = product("relu", "bfloat16", k=64)
    _, (kernels,) = run_passes(func, TWO_CORES, lambda *_: None)
    assert all(cb.format != "Float32" for cb in kernels.cbs.values())
    agree(func, given, ("C",), reference=expected("relu", given))


@pytest.mark.usefixtures("always")
def test_a_sixteen_bit_dst_would_round_the_sum() -> None:
    options = replace(TWO_CORES, fp32_acc=False)
    assert not any(MERGED in text for text in decisions(product("relu", "bfloat16"), options))


@pytest.mark.usefixtures("always")
def test_a_sum_that_is_needed_again_stays() -> None:
    @T.prim_func
    def main(
        A: T.Tensor((128, 192), "bfloat16"), B: T.Tensor((192, 128), "bfloat16"), C: T.Tensor((256, 128), "bfloat16")
    ):
        with T.Kernel(1, threads=128) as _:
            a = T.alloc_shared((128, 64), "bfloat16")
            b = T.alloc_shared((64, 128), "bfloat16")
            c = T.alloc_fragment((128, 128), "float32")
            T.clear(c)
            for i in T.Pipelined(3, num_stages=2):
                T.copy(A[0, i * 64], a)
                T.copy(B[i * 64, 0], b)
                T.gemm(a, b, c)
            T.copy(c, C[0, 0])
            for i, j in T.Parallel(128, 128):
                c[i, j] += 1
            T.copy(c, C[128, 0])

    given = {"A": tensors("bfloat16")["A"], "B": whole_numbers(192, 128, low=-1, high=2, dtype=torch.bfloat16)}
    once = given["A"].double() @ given["B"].double()
    reference = {"C": torch.cat([once, once + 1]).bfloat16()}
    agree(main, {**given, "C": torch.zeros(256, 128, dtype=torch.bfloat16)}, ("C",), reference=reference)


def test_it_is_done_where_it_saves_time() -> None:
    """Not where a result is stored as a whole: there the reload of the sum costs more than a pass of its own."""
    small, large = product("relu", "bfloat16", 512, 512, 256), product("relu", "bfloat16", 2048, 2048, 2048)
    assert not any(MERGED in text for text in decisions(small, Options()))
    assert any(MERGED in text for text in decisions(large, Options()))


def test_it_saves_time_by_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    func = product("relu", "bfloat16", 2048, 2048, 1024)
    times = []
    for merged in (True, False):
        monkeypatch.setattr(MergeCosts, "pays", lambda *_, merged=merged: merged)
        tilelang.disable_cache()
        times.append(tilelang.compile(func, out_idx=[-1], target="tenstorrent").estimate().microseconds)
        tilelang.enable_cache()
    assert times[0] < times[1]


# --- what the verifier says -----------------------------------------------------------------------


def _without_reload(kernels: KernelSet, *, kept_where: bool) -> KernelSet:
    """Without the copies of the sum to DST, or without the condition around them."""

    def changed(stmt: Any) -> list[Any] | None:
        if isinstance(stmt, If) and any(isinstance(inner, engine.CopyTile) for inner in _flat(stmt.then)):
            return list(stmt.then) if kept_where else []
        if not kept_where and isinstance(stmt, engine.CopyTile):
            return []
        return None

    return kernels.with_body(Role.COMPUTE, rewritten(kernels.kernel(Role.COMPUTE).body, changed))


def _flat(body: tuple[Any, ...]) -> list[Any]:
    found: list[Any] = []
    rewritten(body, lambda stmt: found.append(stmt))  # type: ignore[func-returns-value]
    return found


@pytest.mark.usefixtures("always")
def test_a_sum_that_is_not_taken_in_is_found() -> None:
    _, (kernels,) = run_passes(product("relu", "bfloat16"), TWO_CORES, lambda *_: None)
    with pytest.raises(InternalError, match="TT958"):
        verify_kernels(_without_reload(kernels, kept_where=False))


@pytest.mark.usefixtures("always")
def test_a_sum_that_is_taken_in_before_there_is_one_is_found() -> None:
    func = product("relu", "float32", T.dynamic("m"), T.dynamic("n"), T.dynamic("k"), 128)
    _, (kernels,) = run_passes(func, TWO_CORES, lambda *_: None)
    with pytest.raises(InternalError, match="is read where nothing may have filled it"):
        verify_kernels(_without_reload(kernels, kept_where=True))
