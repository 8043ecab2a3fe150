"""Loops whose first round is different: left out with fast math, or written so by the author."""

import math
from dataclasses import replace
from typing import Any

import pytest
import tilelang
import tilelang.language as T
import torch
from three_ways import TWO_CORES, agree, whole_numbers

FAST = replace(TWO_CORES, fast_math=True)


def _decayed(rounds: int = 4) -> Any:
    """A recurrence: the state decays and a product is added. Block b takes b + 1 rounds."""

    @T.prim_func
    def main(
        A: T.Tensor((32 * rounds, 32), "bfloat16"),
        B: T.Tensor((32 * rounds, 64), "bfloat16"),
        D: T.Tensor((32 * rounds,), "float32"),
        C: T.Tensor((32 * rounds, 64), "float32"),
    ):
        with T.Kernel(rounds, threads=128) as bx:
            a = T.alloc_shared((32, 32), "bfloat16")
            b = T.alloc_shared((32, 64), "bfloat16")
            decay = T.alloc_fragment((32,), "float32")
            state = T.alloc_fragment((32, 64), "float32")
            T.clear(state)
            for n in T.serial(bx + 1):
                T.copy(A[n * 32, 0], a)
                T.copy(B[n * 32, 0], b)
                T.copy(D[n * 32], decay)
                for i, j in T.Parallel(32, 64):
                    state[i, j] *= decay[i]
                T.gemm(a, b, state)
            T.copy(state, C[bx * 32, 0])

    return main


def _tensors() -> dict[str, torch.Tensor]:
    return {
        "A": whole_numbers(128, 32, dtype=torch.bfloat16),
        "B": whole_numbers(128, 64, dtype=torch.bfloat16),
        "D": whole_numbers(128),
        "C": torch.zeros(128, 64),
    }


@pytest.mark.parametrize("arch", ["wormhole_b0", "blackhole"])
@pytest.mark.parametrize("numerics", ["fast", "exact", "chip"])
def test_a_state_that_decays(arch: str, numerics: str) -> None:
    for options in (TWO_CORES, FAST):
        agree(_decayed(), _tensors(), ("C",), numerics=numerics, options=replace(options, arch=arch))


def _partial_sums(suffix: bool) -> Any:
    """Block b adds up the first b + 1 products, or those from b on: at least one, as the index of the block tells."""

    @T.prim_func
    def main(A: T.Tensor((128, 32), "bfloat16"), B: T.Tensor((128, 96), "bfloat16"), C: T.Tensor((128, 96), "float32")):
        with T.Kernel(4, threads=128) as bx:
            a = T.alloc_shared((32, 32), "bfloat16")
            b = T.alloc_shared((32, 96), "bfloat16")
            total = T.alloc_fragment((32, 96), "float32")
            T.clear(total)
            for n in T.Pipelined(bx if suffix else 0, 4 if suffix else bx + 1, num_stages=2):
                T.copy(A[n * 32, 0], a)
                T.copy(B[n * 32, 0], b)
                T.gemm(a, b, total)
            for i, j in T.Parallel(32, 96):
                total[i, j] = total[i, j] * 2
            T.copy(total, C[bx * 32, 0])

    return main


@pytest.mark.parametrize("suffix", [False, True], ids=["prefix", "suffix"])
def test_sums_of_some_rounds_need_no_clear(suffix: bool) -> None:
    shapes = {"A": (128, 32), "B": (128, 96)}
    tensors = {name: whole_numbers(*shape, dtype=torch.bfloat16) for name, shape in shapes.items()}
    func = _partial_sums(suffix)
    agree(func, {**tensors, "C": torch.zeros(128, 96)}, ("C",))
    assert "fill_tile" not in tilelang.compile(func, target="tenstorrent").files["compute.cpp"]


def _of_any_length() -> Any:
    length = T.dynamic("length")

    @T.prim_func
    def main(
        A: T.Tensor((length, 32), "bfloat16"),
        B: T.Tensor((length, 64), "bfloat16"),
        D: T.Tensor((length,), "float32"),
        C: T.Tensor((32, 64), "float32"),
    ):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((32, 32), "bfloat16")
            b = T.alloc_shared((32, 64), "bfloat16")
            decay = T.alloc_fragment((32,), "float32")
            state = T.alloc_fragment((32, 64), "float32")
            T.clear(state)
            for n in T.Pipelined(T.ceildiv(length, 32), num_stages=2):
                T.copy(A[n * 32, 0], a)
                T.copy(B[n * 32, 0], b)
                T.copy(D[n * 32], decay)
                for i, j in T.Parallel(32, 64):
                    state[i, j] *= decay[i]
                T.gemm(a, b, state, transpose_A=True)
            T.copy(state, C)

    return main


@pytest.mark.parametrize("length", [20, 32, 100])
def test_a_length_known_at_the_call(length: int) -> None:
    kernel = tilelang.compile(_of_any_length(), out_idx=[-1], target="tenstorrent -fast_math=true")
    a, b = (whole_numbers(length, width, dtype=torch.bfloat16) for width in (32, 64))
    decay, expected = whole_numbers(length), torch.zeros(32, 64)
    for start in range(0, length, 32):
        rows, factors = slice(start, start + 32), torch.zeros(32)  # behind the end of a tensor there are zeros
        factors[: len(decay[rows])] = decay[rows]
        expected = expected * factors[:, None] + a[rows].float().T @ b[rows].float()
    assert torch.equal(kernel(a, b, decay), expected)


def test_fast_math_comes_with_the_pass_configuration() -> None:
    func = _decayed()
    config = {tilelang.PassConfigKey.TL_ENABLE_FAST_MATH: True}
    plain, fast = (tilelang.compile(func, target="tenstorrent", pass_configs=given) for given in (None, config))
    asked = tilelang.compile(func, target="tenstorrent -fast_math=true")
    assert "if (n != 0)" not in plain.files["compute.cpp"]
    assert "if (n != 0)" in fast.files["compute.cpp"]
    assert "fill_tile" not in fast.files["compute.cpp"]
    assert fast.files["compute.cpp"] == asked.files["compute.cpp"]
    assert "(fast math)" in fast.explain(stages=True)


def test_without_fast_math_an_infinite_factor_shows() -> None:
    """0 * inf is no number, and a compiler that was not told otherwise keeps it."""
    tensors = _tensors()
    tensors["D"][:3] = torch.tensor([math.inf, -math.inf, math.nan])
    tensors["D"][32:34] = 2e38  # overflows in the second round
    got = {}
    for options in (TWO_CORES, FAST):
        kernel = tilelang.compile(_decayed(), target={"kind": "tenstorrent", "fast_math": options.fast_math})
        results = {name: tensor.clone() for name, tensor in tensors.items()}
        kernel(*results.values())
        got[options.fast_math] = results["C"]
    assert got[False][:3].isnan().all()
    assert got[True][:3].isfinite().all()
    assert torch.equal(got[False][3:32], got[True][3:32])


def _written_by_hand(condition: str) -> Any:
    first = condition == "first"

    @T.prim_func
    def main(A: T.Tensor((128, 64), "bfloat16"), C: T.Tensor((128, 64), "float32")):
        with T.Kernel(4, threads=128) as bx:
            a = T.alloc_shared((32, 64), "bfloat16")
            total = T.alloc_fragment((32, 64), "float32")
            for n in T.serial(bx + 1):
                T.copy(A[n * 32, 0], a)
                if first:
                    if n == 0:
                        T.copy(a, total)
                    else:
                        for i, j in T.Parallel(32, 64):
                            total[i, j] = total[i, j] * 2 + a[i, j]
                else:
                    if n > 0:
                        for i, j in T.Parallel(32, 64):
                            total[i, j] = total[i, j] * 2 + a[i, j]
                    else:
                        T.copy(a, total)
            T.copy(total, C[bx * 32, 0])

    return main


@pytest.mark.parametrize("condition", ["first", "others"])
def test_a_first_round_that_the_author_peeled(condition: str) -> None:
    """Nothing is filled before the loop, and nothing need be."""
    tensors = {"A": whole_numbers(128, 64, dtype=torch.bfloat16), "C": torch.zeros(128, 64)}
    agree(_written_by_hand(condition), tensors, ("C",))
