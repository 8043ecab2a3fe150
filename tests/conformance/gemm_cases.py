"""A family of matrix-product kernels, and a small set of cases that covers every pair of choices."""

import itertools
from dataclasses import dataclass, fields
from typing import Any

import tilelang.language as T
import torch

CHOICES: dict[str, tuple[Any, ...]] = {
    "dtype": ("bfloat16", "float16", "float32"),
    "out": ("bfloat16", "float16", "float32"),
    "transpose": ("NN", "NT", "TN", "TT"),
    "block": (
        (32, 32, 32),
        (64, 64, 32),
        (128, 128, 64),
        (64, 128, 32),
        (128, 32, 64),
        (96, 160, 32),
        (256, 256, 32),
        (32, 256, 64),
    ),
    "stages": (0, 1, 2, 3, 4),
    "shape": ("aligned", "tile_tail", "odd"),
    "sizes": ("static", "dynamic"),
    "arch": ("wormhole_b0", "blackhole"),
    "numerics": ("fast", "exact"),
    "epilogue": ("none", "relu", "through_shared"),
}


@dataclass(frozen=True)
class Case:
    dtype: str
    out: str
    transpose: str
    block: tuple[int, int, int]
    stages: int
    shape: str
    sizes: str
    arch: str
    numerics: str
    epilogue: str

    @property
    def id(self) -> str:
        block = "x".join(map(str, self.block))
        rest = "-".join(str(getattr(self, f.name)) for f in fields(self) if f.name not in ("block",))
        return f"{block}-{rest}"

    def extents(self) -> tuple[int, int, int]:
        """M, N, K: two blocks each way and three K steps, cut as `shape` says."""
        full = (2 * self.block[0], 2 * self.block[1], 3 * self.block[2])
        if self.shape == "aligned":
            return full
        cut = (32, 32, 32) if self.shape == "tile_tail" else (17, 9, 5)
        m, n, k = (size - less if size - less > 0 else size for size, less in zip(full, cut, strict=True))
        return m, n, k


def all_pairs() -> list[Case]:
    """Greedy covering array: every pair of values of every two choices appears in some case."""
    names = list(CHOICES)
    open_pairs = {((a, x), (b, y)) for a, b in itertools.combinations(names, 2) for x in CHOICES[a] for y in CHOICES[b]}
    cases: list[Case] = []
    while open_pairs:
        (a, x), (b, y) = min(open_pairs, key=repr)
        picked: dict[str, Any] = {a: x, b: y}
        for name in names:
            if name not in picked:
                picked[name] = max(CHOICES[name], key=lambda v, n=name: _gain({**picked, n: v}, n, open_pairs))
        open_pairs -= {((p, picked[p]), (q, picked[q])) for p, q in itertools.combinations(names, 2)}
        cases.append(Case(**picked))
    return cases


def core_product() -> list[Case]:
    """All combinations of what changes the generated code most, on one block size."""
    names = ("dtype", "transpose", "shape", "sizes", "arch")
    combinations = itertools.product(*(CHOICES[name] for name in names))
    rest = {"block": (64, 96, 32), "stages": 2, "numerics": "fast", "epilogue": "none"}
    return [Case(**dict(zip(names, values, strict=True)), out=values[0], **rest) for values in combinations]


def _gain(picked: dict[str, Any], name: str, open_pairs: set[Any]) -> int:
    pairs = (
        ((p, picked[p]), (q, picked[q])) for p, q in itertools.combinations(CHOICES, 2) if p in picked and q in picked
    )
    return sum(name in (pair[0][0], pair[1][0]) and pair in open_pairs for pair in pairs)


def gemm(case: Case) -> Any:
    """The kernel of a case, as a user writes it."""
    dtype, out, stages = case.dtype, case.out, case.stages
    block_m, block_n, block_k = case.block
    trans_a, trans_b = case.transpose[0] == "T", case.transpose[1] == "T"
    m, n, k = T.dynamic("m, n, k") if case.sizes == "dynamic" else case.extents()
    relu, through_shared = case.epilogue == "relu", case.epilogue == "through_shared"

    @T.prim_func
    def matmul(
        A: T.Tensor((k, m) if trans_a else (m, k), dtype),
        B: T.Tensor((n, k) if trans_b else (k, n), dtype),
        C: T.Tensor((m, n), out),
    ):
        with T.Kernel(T.ceildiv(n, block_n), T.ceildiv(m, block_m), threads=128) as (bx, by):
            A_shared = T.alloc_shared((block_k, block_m) if trans_a else (block_m, block_k), dtype)
            B_shared = T.alloc_shared((block_n, block_k) if trans_b else (block_k, block_n), dtype)
            C_local = T.alloc_fragment((block_m, block_n), "float32")
            C_shared = T.alloc_shared((block_m, block_n), out)
            T.clear(C_local)
            for ko in T.Pipelined(T.ceildiv(k, block_k), num_stages=stages):
                if trans_a:
                    T.copy(A[ko * block_k, by * block_m], A_shared)
                else:
                    T.copy(A[by * block_m, ko * block_k], A_shared)
                if trans_b:
                    T.copy(B[bx * block_n, ko * block_k], B_shared)
                else:
                    T.copy(B[ko * block_k, bx * block_n], B_shared)
                T.gemm(A_shared, B_shared, C_local, trans_a, trans_b)
            if relu:
                for i, j in T.Parallel(block_m, block_n):
                    C_local[i, j] = T.max(C_local[i, j], 0)
            if through_shared:
                T.copy(C_local, C_shared)
                T.copy(C_shared, C[by * block_m, bx * block_n])
            else:
                T.copy(C_local, C[by * block_m, bx * block_n])

    return matmul


def operands(case: Case, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Random A and B in the layout the kernel takes."""
    m, n, k = case.extents()
    dtype = getattr(torch, case.dtype)
    generator = torch.Generator().manual_seed(seed)
    a = torch.randn(m, k, generator=generator).to(dtype)
    b = torch.randn(k, n, generator=generator).to(dtype)
    return (
        a.T.contiguous() if case.transpose[0] == "T" else a,
        b.T.contiguous() if case.transpose[1] == "T" else b,
    )
