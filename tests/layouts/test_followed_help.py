"""Who follows the help of TT204 gets right numbers: five kernels that do not fit L1, each followed to a run."""

import re
from collections.abc import Callable
from typing import Any

import pytest
import tilelang.language as T
import torch
from layout_kernels import attention, rms_norm, softmax
from placed import compiled

from tilelang_tt.diagnostics import ResourceError

MOST_CHANGES = 3


def product(bm: int, bn: int, bk: int, num_stages: int = 2) -> Any:
    @T.prim_func
    def main(
        A: T.Tensor((512, 512), "bfloat16"), B: T.Tensor((512, 1024), "bfloat16"), C: T.Tensor((512, 1024), "float32")
    ):
        with T.Kernel(T.ceildiv(1024, bn), T.ceildiv(512, bm), threads=128) as (bx, by):
            a = T.alloc_shared((bm, bk), "bfloat16")
            b = T.alloc_shared((bk, bn), "bfloat16")
            c = T.alloc_fragment((bm, bn), "float32")
            T.clear(c)
            for ko in T.Pipelined(T.ceildiv(512, bk), num_stages=num_stages):
                T.copy(A[by * bm, ko * bk], a)
                T.copy(B[ko * bk, bx * bn], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * bm, bx * bn])

    return main


def scores(block: int) -> Any:
    return attention(1024, 64, block)


def normal(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(len(shape))).bfloat16()


X, W, A, B = normal(32, 32768), normal(32768), normal(512, 512), normal(512, 1024)
ROWS, Q = normal(64, 16384), normal(1024, 64)


def weighted(q: torch.Tensor) -> torch.Tensor:
    return torch.softmax(q @ q.T * 0.125, 1) @ q


def normed(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return x * torch.rsqrt(x.square().mean(1, keepdim=True) + 1e-6) * w


CASES: dict[str, tuple[Callable[..., Any], dict[str, int], list[torch.Tensor], torch.Tensor]] = {
    "softmax": (softmax, {"m": 32, "n": 32768, "rows": 32}, [X], torch.softmax(X.double(), 1)),
    "product": (product, {"bm": 512, "bn": 1024, "bk": 512}, [A, B], A.double() @ B.double()),
    "norm": (rms_norm, {"m": 32, "n": 32768, "rows": 32}, [X, W], normed(X.double(), W.double())),
    "attention": (scores, {"block": 1024}, [Q, Q, Q], weighted(Q.double())),
    "softmax of 64 rows": (softmax, {"m": 64, "n": 16384, "rows": 64}, [ROWS], torch.softmax(ROWS.double(), 1)),
}


@pytest.mark.parametrize("name", CASES)
def test_numbers_of_a_kernel_that_fits(name: str) -> None:
    build, values, inputs, expected = CASES[name]
    kernel, helps = followed(build, values)
    assert helps, "it fits as it is"
    dtype = torch.float32 if name == "product" else torch.bfloat16
    result = torch.full(expected.shape, 9.0, dtype=dtype)
    kernel(*(tensor.clone() for tensor in inputs), result)
    off = float((result.double() - expected).norm() / expected.norm())
    assert off < 2.0**-6, (helps, off)


def followed(build: Callable[..., Any], values: dict[str, int]) -> tuple[Any, list[str]]:
    """What one gets who does what the help says, and what it said."""
    helps: list[str] = []
    options: dict[str, Any] = {}
    for _ in range(MOST_CHANGES):
        try:
            return compiled(build(**values), scalar_code=False, **options), helps
        except ResourceError as error:
            helps.append(str(error.help))
        changed = {one: int(value) for one, value in re.findall(r"(\w+)=(\d+)", helps[-1])}
        stored = re.search(r"storage='(\w+)' for (.*?) (?:with|fit)", helps[-1])
        assert changed or stored, helps
        values = {**values, **changed}
        if stored:
            options["storage"] = ",".join(f"{one}:{stored[1]}" for one in re.findall(r"'(\w+)'", stored[2]))
    raise AssertionError(helps)
