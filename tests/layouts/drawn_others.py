"""Random kernels that are rarer: integers of 64 bits, blocks under another shape, windows, groups of threads."""

from random import Random
from typing import Any

import torch
from drawn import Drawn, Said, annotations, dynamic, from_text, junk, other_sizes, signature, size, whole


def labels(rng: Random) -> Drawn:
    """Indices of 64 bits, as torch gives them: rows looked up, or one element of each row."""
    values = {
        "m": size(rng, 128),
        "n": rng.choice((32, 64, 100)),
        "how": rng.choice(("rows", "elements")),
        "dtype": rng.choice(("float32", "bfloat16")),
    }
    m, n, elements = values["m"], values["n"], values["how"] == "elements"
    x = whole(rng, m if elements else 50, n, dtype=values["dtype"], most=9)
    at = torch.tensor([rng.randrange(n if elements else 50) for _ in range(m)], dtype=torch.int64)
    found = x.gather(1, at[:, None])[:, 0] if elements else x[at]
    call = {"A": x, "L": at, "C": junk(*found.shape, dtype=values["dtype"])}, {"C": found.double()}
    return Drawn("labels", values, labels_kernel, [call])


def labels_kernel(m: int, n: int, how: str, dtype: str, said: Said) -> Any:
    elements = how == "elements"
    inside = [
        "T.copy(A[bx * 32, 0], x)",
        "for i, j in T.Parallel(32, n):",
        "    x[i, j] = T.if_then_else(L[bx * 32 + i] == j, x[i, j], T.cast(0, dtype))",
        "T.copy(x, y)",
        "T.reduce_sum(y, s, dim=1)",
        "T.copy(s, C[bx * 32])",
    ]
    if not elements:
        inside = [
            "for i, j in T.Parallel(32, n):",
            "    x[i, j] = A[L[bx * 32 + i], j]",
            "T.copy(x, C[bx * 32, 0])",
        ]
    lines = [
        signature(
            A="(m, n), dtype" if elements else "(50, n), dtype",
            L='(m,), "int64"',
            C="(m,), dtype" if elements else "(m, n), dtype",
        ),
        "    with T.Kernel(T.ceildiv(m, 32), threads=128) as bx:",
        *annotations("ALC"),
        "        x = T.alloc_shared((32, n), dtype)",
        *(['        y = T.alloc_fragment((32, n), "float32")'] if elements else []),
        *(['        s = T.alloc_fragment((32,), "float32")'] if elements else []),
        *("        " + line for line in inside),
    ]
    return from_text(lines, said=said, m=m, n=n, dtype=dtype)


def long_numbers(rng: Random) -> Drawn:
    """Sums of 64 bits: scalar code."""
    values = {"m": rng.choice((8, 33, 40)), "n": rng.choice((16, 40))}
    high, low = (whole(rng, values["m"], values["n"], dtype="int64", most=2**30) for _ in range(2))
    a, b = (high << 32) + low, whole(rng, values["m"], values["n"], dtype="int64", most=2**20)
    call = {"A": a, "B": b, "C": junk(*a.shape, dtype="int64")}, {"C": a * 3 + b}
    return Drawn("long_numbers", values, long_kernel, [call])


def long_kernel(m: int, n: int, said: Said) -> Any:
    lines = [
        signature(**dict.fromkeys("ABC", '(m, n), "int64"')),
        "    with T.Kernel(m, threads=1) as bx:",
        *annotations("ABC"),
        "        for j in T.serial(n):",
        "            C[bx, j] = A[bx, j] * T.int64(3) + B[bx, j]",
    ]
    return from_text(lines, said=said, m=m, n=n)


def viewed(rng: Random) -> Drawn:
    """A block under another shape, changed in both: more axes, fewer, or others."""
    values = {
        "m": size(rng),
        "rows": rng.choice((32, 64)),
        "n": rng.choice((32, 64, 128)),
        "view": rng.choice(("more", "fewer", "other")),
        "open_sizes": rng.choice(("", "", "m")),
    }
    found = Drawn("viewed", values, viewed_kernel)
    for sizes in other_sizes(rng, values["open_sizes"], {"m": values["m"]}):
        a = whole(rng, sizes["m"], values["n"], dtype="float32", most=99)
        found.calls.append(({"A": a, "C": junk(*a.shape, dtype="float32")}, {"C": (a.double() + 1) * 2}))
    return found


def viewed_kernel(m: int, rows: int, n: int, view: str, open_sizes: str, said: Said) -> Any:
    shape = {"more": (rows, n // 32, 32), "fewer": (rows * n,), "other": (rows // 2, n * 2)}[view]
    names = ", ".join("ijk"[: len(shape)])
    lines = [
        signature(A='(m, n), "float32"', C='(m, n), "float32"'),
        "    with T.Kernel(T.ceildiv(m, rows), threads=128) as bx:",
        *annotations("AC"),
        '        x = T.alloc_shared((rows, n), "float32")',
        "        v = T.reshape(x, shape)",
        "        T.copy(A[bx * rows, 0], x)",
        "        for i, j in T.Parallel(rows, n):",
        "            x[i, j] = x[i, j] + 1",
        f"        for {names} in T.Parallel(*shape):",
        f"            v[{names}] = v[{names}] * 2",
        "        T.copy(x, C[bx * rows, 0])",
    ]
    return from_text(lines, said=said, m=dynamic("m", open_sizes, m), n=n, rows=rows, shape=shape)


def window(rng: Random) -> Drawn:
    """Sums or maxima over windows of rows, or of columns; zeros behind the end."""
    values = {
        "m": size(rng, 128),
        "n": size(rng, 128),
        "length": rng.choice((2, 3, 5)),
        "axis": rng.choice((0, 1)),
        "step": rng.choice((1, 1, 32)),
        "how": rng.choice(("sum", "max")),
        "side": rng.choice((32, 64)),
    }
    axis, length, step = values["axis"], values["length"], values["step"]
    a = whole(rng, values["m"], values["n"], dtype="float32", most=99)
    far = (length - 1) * step
    padded = torch.nn.functional.pad(a.double(), (0, 0, 0, far) if axis == 0 else (0, far))
    parts = torch.stack([padded.narrow(axis, d * step, a.shape[axis]) for d in range(length)])
    call = (
        {"A": a, "C": junk(*a.shape, dtype="float32")},
        {"C": parts.sum(0) if values["how"] == "sum" else parts.amax(0)},
    )
    return Drawn("window", values, window_kernel, [call])


def window_kernel(m: int, n: int, length: int, axis: int, step: int, how: str, side: int, said: Said) -> Any:
    at = f"by * side + d * {step}, bx * side" if axis == 0 else f"by * side, bx * side + d * {step}"
    change = "y[i, j] + x[i, j]" if how == "sum" else "T.max(y[i, j], x[i, j])"
    lines = [
        signature(A='(m, n), "float32"', C='(m, n), "float32"'),
        "    with T.Kernel(T.ceildiv(n, side), T.ceildiv(m, side), threads=128) as (bx, by):",
        *annotations("AC"),
        '        x = T.alloc_shared((side, side), "float32")',
        '        y = T.alloc_fragment((side, side), "float32")',
        "        T.copy(A[by * side, bx * side], y)",
        f"        for d in T.serial(1, {length}):",
        f"            T.copy(A[{at}], x)",
        "            for i, j in T.Parallel(side, side):",
        f"                y[i, j] = {change}",
        "        T.copy(y, C[by * side, bx * side])",
    ]
    return from_text(lines, said=said, m=m, n=n, side=side)


def groups(rng: Random) -> Drawn:
    """A product in which one group of threads loads and another multiplies, with barriers between them."""
    values = {
        "m": rng.choice((64, 128, 256)),
        "n": rng.choice((64, 128)),
        "rounds": rng.choice((1, 2, 5)),
        "stages": rng.choice((1, 2, 3)),
        "open_sizes": rng.choice(("", "", "m")),
    }
    found = Drawn("groups", values, groups_kernel)
    for sizes in other_sizes(rng, values["open_sizes"], {"m": values["m"]}):
        m, k = -(-sizes["m"] // 64) * 64, values["rounds"] * 32
        a, b = whole(rng, m, k), whole(rng, k, values["n"])
        call = {"A": a, "B": b, "C": junk(m, values["n"], dtype="float32")}
        found.calls.append((call, {"C": a.double() @ b.double()}))
    return found


def groups_kernel(m: int, n: int, rounds: int, stages: int, open_sizes: str, said: Said) -> Any:
    lines = [
        signature(A='(m, rounds * 32), "bfloat16"', B='(rounds * 32, n), "bfloat16"', C='(m, n), "float32"'),
        "    with T.Kernel(T.ceildiv(n, 64), T.ceildiv(m, 64), threads=256) as (bx, by):",
        *annotations("ABC"),
        '        a = T.alloc_shared((stages, 64, 32), "bfloat16")',
        '        b = T.alloc_shared((stages, 32, 64), "bfloat16")',
        '        c = T.alloc_fragment((64, 64), "float32")',
        "        full = T.alloc_barrier([128] * stages)",
        "        free = T.alloc_barrier([128] * stages)",
        "        with T.ws(0):",
        "            T.clear(c)",
        "        for k in T.serial(rounds):",
        "            with T.ws(1):",
        "                T.mbarrier_wait_parity(free[k % stages], k // stages % 2 ^ 1)",
        "                T.tma_copy(A[by * 64 : by * 64 + 64, k * 32 : k * 32 + 32], a[k % stages, :, :], "
        "barrier=full[k % stages])",
        "                T.tma_copy(B[k * 32 : k * 32 + 32, bx * 64 : bx * 64 + 64], b[k % stages, :, :], "
        "barrier=full[k % stages])",
        "                T.barrier_arrive(full[k % stages])",
        "            with T.ws(0):",
        "                T.mbarrier_wait_parity(full[k % stages], k // stages % 2)",
        "                T.wgmma_gemm(a[k % stages, :, :], b[k % stages, :, :], c)",
        "                T.wait_wgmma(0)",
        "                T.barrier_arrive(free[k % stages])",
        "        with T.ws(0):",
        "            T.copy(c, C[by * 64, bx * 64])",
    ]
    return from_text(lines, said=said, m=dynamic("m", open_sizes, m), n=n, rounds=rounds, stages=stages)


OTHERS = (
    (labels, 2),
    (long_numbers, 1),
    (viewed, 3),
    (window, 3),
    (groups, 2),
)
