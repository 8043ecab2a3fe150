"""Random programs for threads: what the RISC-V cores do element by element, between tile operations on the same blocks.

    with T.Kernel(3, threads=64) as blk:
        tx = T.get_thread_binding()
        v0 = T.alloc_var("int32", init=0)              variables and arrays that each thread has for itself
        s0 = T.alloc_shared((64,), "uint64")           blocks that threads share, from barrier to barrier
        ...
        s0[P[blk, tid]] = T.cast(v0, "uint64")         scatters to distinct places
        T.sync_threads()
        while w0 < (v0 & 7) and X_int32[blk, v0 & 31] < v0:    loops and conditions that differ from thread to thread
            ...
        T.atomic_add(G_add_int32[v0 & 15], 5)          atomics: on places where they meet

A program brings its meaning along (`thread_statements.py`). It is free of races: between two barriers a shared block is
only read, or stored to at places that differ from thread to thread, or changed by atomics of one kind.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from thread_statements import Access, Block, Lines, Variable
from typed_elements import ALL_FLOATS, limits, numpy_type, width

SIZE = 32  # of a row of every input
PLACES = 16  # for atomics on tensors
SIDE = 32  # of matrices
SPECIALS = (0.0, -0.0, float("inf"), float("-inf"), float("nan"), 1.0, -1.0, 3.0e38, -6.0e4, 2.0**-126, 2.0**-140)
State = dict[str, Any]


@dataclass(frozen=True)
class Shared:
    name: str
    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True)
class Program:
    blocks: int
    threads: tuple[int, ...]
    inputs: tuple[str, ...]  # types of X
    variables: tuple[Variable, ...]
    arrays: tuple[Shared, ...]  # of each thread
    shared: tuple[Shared, ...]
    fragments: tuple[Shared, ...]
    atomics: tuple[tuple[str, str], ...]  # kind and type
    scattered: str  # type of W
    body: tuple[Any, ...]

    @property
    def count(self) -> int:
        return int(np.prod(self.threads))

    def parameters(self) -> dict[str, tuple[tuple[int, ...], str]]:
        """Shapes and types."""
        blocks, count = self.blocks, self.count
        found: dict[str, tuple[tuple[int, ...], str]] = {f"X_{dtype}": ((blocks, SIZE), dtype) for dtype in self.inputs}
        found |= {"P": ((blocks, count), "int32"), "Q": ((blocks * count,), "int32"), "R": ((blocks,), "int32")}
        if self.fragments:
            found["H"] = ((blocks, SIDE, SIDE), "float16")
        found |= {f"G_{kind}_{dtype}": ((PLACES,), dtype) for kind, dtype in self.atomics}
        found["W"] = ((blocks * count,), self.scattered)
        found |= {f"O_{v.name}": ((blocks, count), v.dtype) for v in self.variables}
        found |= {f"O_{a.name}": ((blocks, count, *a.shape), a.dtype) for a in self.arrays}
        return found | {f"O_{s.name}": ((blocks, *s.shape), s.dtype) for s in self.shared}

    @property
    def results(self) -> tuple[str, ...]:
        return tuple(name for name in self.parameters() if name[0] in "GWO")

    def source(self) -> str:
        tensors = [f'{name}: T.Tensor({shape}, "{dtype}")' for name, (shape, dtype) in self.parameters().items()]
        threads = self.threads[0] if len(self.threads) == 1 else self.threads
        inside = [
            *self._declarations(),
            *(line for statement in self.body for line in statement.lines()),
            *self._ends(),
        ]
        lines = ["import tilelang.language as T", "", "", "@T.prim_func", "def main("]
        lines += [*(f"    {tensor}," for tensor in tensors), "):"]
        lines += [
            f"    with T.Kernel({self.blocks}, threads={threads}) as blk:",
            *(f"        {line}" for line in inside),
        ]
        return "\n".join(lines) + "\n"

    def _declarations(self) -> list[str]:
        if len(self.threads) == 1:
            lines = ["tid = T.get_thread_binding()"]
        else:
            lines = [
                "tx = T.get_thread_binding(0)",
                "ty = T.get_thread_binding(1)",
                f"tid = ty * {self.threads[0]} + tx",
            ]
        lines += [f'{v.name} = T.alloc_var("{v.dtype}", init=0)' for v in self.variables]
        lines += [f'{a.name} = T.alloc_local({a.shape}, "{a.dtype}")' for a in self.arrays]
        lines += [f'{s.name} = T.alloc_shared({s.shape}, "{s.dtype}")' for s in self.shared]
        return lines + [f'{f.name} = T.alloc_fragment({f.shape}, "{f.dtype}")' for f in self.fragments]

    def _ends(self) -> list[str]:
        lines = [f"O_{v.name}[blk, tid] = {v.name}" for v in self.variables]
        for array in self.arrays:
            lines += [f"for k in T.serial({array.shape[0]}):", f"    O_{array.name}[blk, tid, k] = {array.name}[k]"]
        lines += ["T.sync_threads()"]
        return lines + [f"T.copy({s.name}, O_{s.name}[blk{', 0' * len(s.shape)}])" for s in self.shared]

    def tensors(self, seed: int) -> State:
        """What the parameters hold before the call."""
        random = np.random.default_rng(seed)
        found = {name: numbers(random, *parameter) for name, parameter in self.parameters().items()}
        found["P"] = np.array([random.permutation(self.count) for _ in range(self.blocks)], np.int32)
        found["Q"] = random.permutation(self.blocks * self.count).astype(np.int32)
        found["R"] = random.integers(0, 4, self.blocks).astype(np.int32)
        for name, (shape, dtype) in self.parameters().items():
            if name == "H" or (name[0] == "G" and dtype in ALL_FLOATS):
                found[name] = random.integers(-4, 5, shape).astype(numpy_type(dtype))
        return found

    def meaning(self, tensors: State) -> State:
        """Contents of the results."""
        found = {name: array.copy() for name, array in tensors.items()}
        with np.errstate(all="ignore"):
            for number in range(self.blocks):
                self._run(number, found)
        return {name: found[name] for name in self.results}

    def _run(self, number: int, tensors: State) -> None:
        count = self.count
        own: State = {"tid": np.arange(count, dtype=np.int32), "blk": np.full(count, number, np.int32)}
        own["tx"], own["ty"] = own["tid"] % self.threads[0], own["tid"] // self.threads[0]
        own |= {v.name: np.zeros(count, numpy_type(v.dtype)) for v in self.variables}
        own |= {a.name: np.zeros((count, *a.shape), numpy_type(a.dtype)) for a in self.arrays}
        own |= {s.name: np.zeros(s.shape, numpy_type(s.dtype)) for s in (*self.shared, *self.fragments)}
        block = Block(count, tensors | own)
        block.arrays["number"] = number
        block.run(self.body, np.ones(count, bool))
        for item in (*self.variables, *self.arrays, *self.shared):
            tensors[f"O_{item.name}"][number] = block.arrays[item.name]


def numbers(random: Any, shape: tuple[int, ...], dtype: str) -> Any:
    """The whole range, its ends, and small numbers; floats of all kinds."""
    if dtype == "bool":
        return random.integers(0, 2, shape).astype(bool)
    if dtype in ALL_FLOATS:
        with np.errstate(over="ignore"):
            plain = random.integers(-64, 65, shape) / 4
            return np.where(random.random(shape) < 0.3, random.choice(SPECIALS, shape), plain).astype(numpy_type(dtype))
    low, high = limits(dtype)
    found = random.integers(low, high, shape, dtype=dtype, endpoint=True)
    edges = np.array([low, high, low + 1, high - 1, 1 << (width(dtype) - 2)], dtype)
    found = np.where(random.random(shape) < 0.2, random.choice(edges, shape), found)
    return np.where(random.random(shape) < 0.4, random.integers(max(low, -9), 10, shape).astype(dtype), found)


# --- tile operations: on matrices of whole numbers, which every order of sums gives exactly ---------------------------

MATRICES = (
    Shared("m0", (SIDE, SIDE), "float16"),
    Shared("m1", (SIDE, SIDE), "float16"),
    Shared("m2", (SIDE, SIDE), "float32"),
    Shared("m3", (SIDE,), "float32"),
)
FRAGMENTS = (Shared("f0", (SIDE, SIDE), "float32"), Shared("f1", (SIDE,), "float32"))


def load(name: str) -> Lines:
    def meaning(arrays: State) -> None:
        arrays[name][:] = arrays["H"][arrays["number"]]

    return Lines((f"T.copy(H[blk, 0, 0], {name})",), meaning)


def fill(name: str, number: int) -> Lines:
    return Lines((f"T.fill({name}, {number})",), lambda arrays: arrays[name].fill(number))


def product(transposed: bool) -> Lines:
    def meaning(arrays: State) -> None:
        left, right = arrays["m0"].astype(np.float32), arrays["m1"].astype(np.float32)
        arrays["f0"][:] = left @ (right.T if transposed else right)
        arrays["m2"][:] = arrays["f0"]

    return Lines(("T.clear(f0)", f"T.gemm(m0, m1, f0, transpose_B={transposed})", "T.copy(f0, m2)"), meaning)


def reduction(kind: str, axis: int) -> Lines:
    def meaning(arrays: State) -> None:
        arrays["f0"][:] = arrays["m2"]
        arrays["f1"][:] = {"sum": np.sum, "max": np.max, "min": np.min}[kind](arrays["f0"], axis=axis)
        arrays["m3"][:] = arrays["f1"]

    return Lines(("T.copy(m2, f0)", f"T.reduce_{kind}(f0, f1, dim={axis})", "T.copy(f1, m3)"), meaning)


def clamped(factor: int) -> Lines:
    def meaning(arrays: State) -> None:
        found = arrays["m2"] * factor - arrays["m3"][:, None] + np.arange(SIDE)
        arrays["m2"][:] = np.clip(found, -64, 64)

    value = f"m2[i, j] * {factor} - m3[i] + T.cast(j, 'float32')"
    return Lines(
        (f"for i, j in T.Parallel({SIDE}, {SIDE}):", f"    m2[i, j] = T.max(T.min({value}, 64), -64)"), meaning
    )


def running_sums(axis: int) -> Lines:
    def meaning(arrays: State) -> None:
        arrays["m2"][:] = np.cumsum(np.clip(arrays["m2"], -64, 64), axis=axis)

    small = "m2[i, j] = T.max(T.min(m2[i, j], 64), -64)"
    return Lines((f"for i, j in T.Parallel({SIDE}, {SIDE}):", f"    {small}", f"T.cumsum(m2, dim={axis})"), meaning)


def matrix_access(name: str, row: Any, col: Any) -> Access:
    return Access(name, (row, col), "float32" if name == "m2" else "float16")
