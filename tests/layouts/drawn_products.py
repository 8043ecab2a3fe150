"""Random kernels with products: GEMM in many forms, A times itself, split-K, stacks, attention, several launches."""

import math
from random import Random
from typing import Any

import tilelang.language as T
import torch
from drawn import (
    Drawn,
    Said,
    annotations,
    block,
    dynamic,
    from_text,
    junk,
    matrices,
    normal,
    other_sizes,
    signature,
    size,
    whole,
)

import tilelang_tt.language as TT


def product(rng: Random) -> Drawn:
    values = {
        "m": rng.choice((416, 640)) if rng.random() < 0.2 else size(rng),
        "n": size(rng),
        "k": size(rng, 160),
        "blocks": (block(rng), block(rng), block(rng, 64)),
        "dtype": rng.choice(("bfloat16", "bfloat16", "float32", "float16")),
        "turned": (rng.random() < 0.25, rng.random() < 0.25),
        "loop": rng.choice(("T.serial(rounds)", *(f"T.Pipelined(rounds, num_stages={n})" for n in (0, 1, 2, 2, 3)))),
        "end": rng.choice(("", "", "bias", "relu")),
        "swizzle": rng.choice((0, 0, 0, 2, 4)),
        "persistent": rng.random() < 0.15,
        "open_sizes": rng.choice(("", "", "", "m", "mn", "k")),
    }
    found = Drawn("product", values, product_kernel)
    turned, dtype = values["turned"], values["dtype"]
    for sizes in other_sizes(rng, values["open_sizes"], {name: values[name] for name in "mnk"}):
        m, n, k = (min(sizes[name], 640 if name == "m" else 256) for name in "mnk")
        a, b, bias = whole(rng, m, k, dtype=dtype), whole(rng, k, n, dtype=dtype), whole(rng, n, dtype=dtype)
        c = a.double() @ b.double() + (bias.double() if values["end"] == "bias" else 0)
        tensors = {"A": a.T.contiguous() if turned[0] else a, "B": b.T.contiguous() if turned[1] else b}
        tensors |= {"V": bias} if values["end"] == "bias" else {}
        expected = {"C": c.clamp(min=0) if values["end"] == "relu" else c}
        found.calls.append((tensors | {"C": junk(m, n, dtype=dtype)}, expected))
    return found


def product_kernel(
    m: int,
    n: int,
    k: int,
    blocks: tuple[int, int, int],
    dtype: str,
    turned: tuple[bool, bool],
    loop: str,
    end: str,
    swizzle: int,
    persistent: bool,
    open_sizes: str,
    said: Said,
) -> Any:
    a_turned, b_turned = turned
    names = ["A", "B", *(["V"] if end == "bias" else []), "C"]
    shapes = {"A": "k, m" if a_turned else "m, k", "B": "n, k" if b_turned else "k, n", "V": "n,", "C": "m, n"}
    inside = [
        "T.clear(c)",
        f"for ko in {loop}:",
        f"    T.copy(A[{'ko * bk, by * bm' if a_turned else 'by * bm, ko * bk'}], a)",
        f"    T.copy(B[{'bx * bn, ko * bk' if b_turned else 'ko * bk, bx * bn'}], b)",
        f"    T.gemm(a, b, c, transpose_A={a_turned}, transpose_B={b_turned})",
        *(["T.copy(V[bx * bn], v)"] if end == "bias" else []),
        *(["for i, j in T.Parallel(bm, bn):"] if end else []),
        *(["    c[i, j] = c[i, j] + v[j]"] if end == "bias" else []),
        *(["    c[i, j] = T.max(c[i, j], 0.0)"] if end == "relu" else []),
        "T.copy(c, C[by * bm, bx * bn])",
    ]
    lines = [
        signature(**{name: f"({shapes[name]}), dtype" for name in names}),
        f"    with T.Kernel({'7' if persistent else '*grid'}, threads=128) as {'core' if persistent else '(bx, by)'}:",
        *annotations(names),
        *([f"        T.use_swizzle({swizzle})"] if swizzle and not persistent else []),
        f"        a = T.alloc_shared({'(bk, bm)' if a_turned else '(bm, bk)'}, dtype)",
        f"        b = T.alloc_shared({'(bn, bk)' if b_turned else '(bk, bn)'}, dtype)",
        *(["        v = T.alloc_shared((bn,), dtype)"] if end == "bias" else []),
        '        c = T.alloc_fragment((bm, bn), "float32")',
        *(["        for bx, by in T.Persistent(list(grid), 7, core):"] if persistent else []),
        *(("    " if persistent else "") + "        " + line for line in inside),
    ]
    m, n, k = (dynamic(*one) for one in (("m", open_sizes, m), ("n", open_sizes, n), ("k", open_sizes, k)))
    bm, bn, bk = blocks
    grid, rounds = (T.ceildiv(n, bn), T.ceildiv(m, bm)), T.ceildiv(k, bk)
    return from_text(lines, said=said, m=m, n=n, k=k, bm=bm, bn=bn, bk=bk, dtype=dtype, grid=grid, rounds=rounds)


def squared(rng: Random) -> Drawn:
    """A matrix times its transpose: one tensor, by rows and by columns of blocks."""
    m, k = size(rng), size(rng, 128)
    values = {"m": m, "k": k, "blocks": (block(rng, 64), block(rng, 64), 32)}
    a = whole(rng, m, k)
    call = {"A": a, "C": junk(m, m, dtype="float32")}, {"C": a.double() @ a.double().T}
    return Drawn("squared", values, squared_kernel, [call])


def squared_kernel(m: int, k: int, blocks: tuple[int, int, int], said: Said) -> Any:
    bm, bn, bk = blocks

    @T.prim_func
    def main(A: T.Tensor((m, k), "bfloat16"), C: T.Tensor((m, m), "float32")):
        with T.Kernel(T.ceildiv(m, bn), T.ceildiv(m, bm), threads=128) as (bx, by):
            for one in said.A:
                TT.layout(A, **one)
            for one in said.C:
                TT.layout(C, **one)
            for one in said.schedules:
                TT.schedule(**one)
            a = T.alloc_shared((bm, bk), "bfloat16")
            b = T.alloc_shared((bn, bk), "bfloat16")
            c = T.alloc_fragment((bm, bn), "float32")
            T.clear(c)
            for ko in T.Pipelined(T.ceildiv(k, bk), num_stages=2):
                T.copy(A[by * bm, ko * bk], a)
                T.copy(A[bx * bn, ko * bk], b)
                T.gemm(a, b, c, transpose_B=True)
            T.copy(c, C[by * bm, bx * bn])

    return main


def split_k(rng: Random) -> Drawn:
    """Blocks of the grid add to the same tiles."""
    m, n, k = rng.choice((32, 64, 96, 70)), rng.choice((32, 64, 128, 50)), rng.choice((64, 128, 192))
    values = {"m": m, "n": n, "k": k, "bn": rng.choice((32, 64))}
    a, b, c = whole(rng, m, k), whole(rng, k, n), whole(rng, m, n, dtype="float32")
    call = {"A": a, "B": b, "C": c}, {"C": c.double() + a.double() @ b.double()}
    return Drawn("split_k", values, split_k_kernel, [call])


def split_k_kernel(m: int, n: int, k: int, bn: int, said: Said) -> Any:
    @T.prim_func
    def main(A: T.Tensor((m, k), "bfloat16"), B: T.Tensor((k, n), "bfloat16"), C: T.Tensor((m, n), "float32")):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, 32), k // 32, threads=128) as (bx, by, bz):
            for one in said.A:
                TT.layout(A, **one)
            for one in said.B:
                TT.layout(B, **one)
            for one in said.C:
                TT.layout(C, **one)
            for one in said.schedules:
                TT.schedule(**one)
            a = T.alloc_shared((32, 32), "bfloat16")
            b = T.alloc_shared((32, bn), "bfloat16")
            c = T.alloc_fragment((32, bn), "float32")
            T.copy(A[by * 32, bz * 32], a)
            T.copy(B[bz * 32, bx * bn], b)
            T.gemm(a, b, c, clear_accum=True)
            T.atomic_add(C[by * 32, bx * bn], c)

    return main


def stack(rng: Random) -> Drawn:
    """Products of matrices of rank 3 or 4."""
    outer = rng.choice(((2,), (3,), (5,), (2, 3), (1, 4)))
    m, n, k = (rng.choice((32, 64, 96, 50, 70)) for _ in range(3))
    values = {"outer": outer, "m": m, "n": n, "k": k, "bm": block(rng, 64), "bn": block(rng, 64)}
    a, b = whole(rng, *outer, m, k), whole(rng, *outer, k, n)
    call = {"A": a, "B": b, "C": junk(*outer, m, n)}, {"C": a.double() @ b.double()}
    return Drawn("stack", values, stack_kernel, [call])


def stack_kernel(outer: tuple[int, ...], m: int, n: int, k: int, bm: int, bn: int, said: Said) -> Any:
    inner, many = outer[-1], matrices(outer)

    @T.prim_func
    def main(
        A: T.Tensor((*outer, m, k), "bfloat16"),
        B: T.Tensor((*outer, k, n), "bfloat16"),
        C: T.Tensor((*outer, m, n), "bfloat16"),
    ):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), many, threads=128) as (bx, by, bz):
            for one in said.A:
                TT.layout(A, **one)
            for one in said.B:
                TT.layout(B, **one)
            for one in said.C:
                TT.layout(C, **one)
            for one in said.schedules:
                TT.schedule(**one)
            at = (bz // inner, bz % inner) if len(outer) == 2 else (bz,)
            a = T.alloc_shared((bm, 32), "bfloat16")
            b = T.alloc_shared((32, bn), "bfloat16")
            c = T.alloc_fragment((bm, bn), "float32")
            T.clear(c)
            for ko in T.Pipelined(T.ceildiv(k, 32), num_stages=2):
                T.copy(A[(*at, by * bm, ko * 32)], a)
                T.copy(B[(*at, ko * 32, bx * bn)], b)
                T.gemm(a, b, c)
            T.copy(c, C[(*at, by * bm, bx * bn)])

    return main


def attention(rng: Random) -> Drawn:
    """Heads that share keys and values; with or without a causal mask."""
    batch, groups, each = rng.choice((1, 2)), rng.choice((1, 2)), rng.choice((1, 2, 3))
    length, width, causal = rng.choice((64, 96, 128)), rng.choice((32, 64)), rng.random() < 0.3
    rows = 32 if length % 64 else rng.choice((32, 64))
    q = normal(rng, batch, groups * each, length, width)
    k, v = normal(rng, batch, groups, length, width), normal(rng, batch, groups, length, width)
    keys, numbers = (one.double().repeat_interleave(each, 1) for one in (k, v))
    scores = q.double() @ keys.transpose(-1, -2) * 0.125
    if causal:
        scores = scores.masked_fill(torch.ones(length, length).triu(1).bool(), -math.inf)
    values = {"shape": tuple(q.shape), "each": each, "rows": rows, "causal": causal}
    call = {"A": q, "B": k, "V": v, "C": junk(*q.shape)}, {"C": torch.softmax(scores, -1) @ numbers}
    return Drawn("attention", values, attention_kernel, [call], bits=6)


def attention_kernel(shape: tuple[int, int, int, int], each: int, rows: int, causal: bool, said: Said) -> Any:
    batch, heads, length, width = shape
    groups = heads // each
    masked = [
        "            for i, j in T.Parallel(rows, 32):",
        "                above = bx * rows + i < ko * 32 + j",
        '                scores[i, j] = T.if_then_else(above, -T.infinity("float32"), 0)',
        "            T.gemm(q, k, scores, transpose_B=True)",
    ]
    lines = [
        signature(A=f"{shape}, half", B="of_groups, half", V="of_groups, half", C=f"{shape}, half"),
        "    with T.Kernel(length // rows, heads, batch, threads=128) as (bx, by, bz):",
        *annotations("ABVC"),
        "        q = T.alloc_shared((rows, width), half)",
        "        k = T.alloc_shared((32, width), half)",
        "        v = T.alloc_shared((32, width), half)",
        '        scores = T.alloc_fragment((rows, 32), "float32")',
        "        weights = T.alloc_fragment((rows, 32), half)",
        '        out = T.alloc_fragment((rows, width), "float32")',
        *(f'        {name} = T.alloc_fragment((rows,), "float32")' for name in ("most", "before", "part", "total")),
        "        T.copy(A[bz, by, bx * rows, 0], q)",
        "        T.clear(out)",
        "        T.clear(total)",
        '        T.fill(most, -T.infinity("float32"))',
        f"        for ko in T.Pipelined({'(bx + 1) * rows // 32' if causal else 'length // 32'}, num_stages=2):",
        "            T.copy(B[bz, by // each, ko * 32, 0], k)",
        "            T.copy(V[bz, by // each, ko * 32, 0], v)",
        *(masked if causal else ["            T.gemm(q, k, scores, transpose_B=True, clear_accum=True)"]),
        "            T.copy(most, before)",
        "            T.reduce_max(scores, most, dim=1, clear=False)",
        "            for i, j in T.Parallel(rows, 32):",
        "                scores[i, j] = T.exp((scores[i, j] - most[i]) * 0.125)",
        "            T.reduce_sum(scores, part, dim=1)",
        "            for i in T.Parallel(rows):",
        "                before[i] = T.exp((before[i] - most[i]) * 0.125)",
        "                total[i] = total[i] * before[i] + part[i]",
        "            T.copy(scores, weights)",
        "            for i, j in T.Parallel(rows, width):",
        "                out[i, j] = out[i, j] * before[i]",
        "            T.gemm(weights, v, out)",
        "        for i, j in T.Parallel(rows, width):",
        "            out[i, j] = out[i, j] / total[i]",
        "        T.copy(out, C[bz, by, bx * rows, 0])",
    ]
    sizes = {"batch": batch, "heads": heads, "length": length, "width": width, "each": each, "rows": rows}
    return from_text(lines, said=said, half="bfloat16", of_groups=(batch, groups, length, width), **sizes)


def launches(rng: Random) -> Drawn:
    """Two or three T.Kernels; what they hand on is a tensor, or memory that the caller never sees."""
    m, n = rng.choice((64, 96, 128, 192)), rng.choice((64, 96, 128))
    blocks = tuple(block(rng, 64) for _ in range(4))
    values = {"m": m, "n": n, "blocks": blocks, "turned": rng.random() < 0.4, "third": rng.random() < 0.4}
    values["hidden"] = rng.random() < 0.6
    a, b = whole(rng, m, n), whole(rng, n, m)
    h = a.double() * 2 + 1
    c = (h.T @ b.double().T if values["turned"] else h @ b.double()) * (2 if values["third"] else 1)
    tensors, expected = {"A": a, "B": b}, {"C": c}
    if not values["hidden"]:
        tensors, expected = {**tensors, "H": junk(m, n)}, {"H": h, "C": c}
    call = {**tensors, "C": junk(*c.shape, dtype="float32")}, expected
    return Drawn("launches", values, launches_kernel, [call], on_grid=False)


def launches_kernel(
    m: int, n: int, blocks: tuple[int, ...], turned: bool, third: bool, hidden: bool, said: Said
) -> Any:
    side, inner = (n, m) if turned else (m, n)
    bm, bn, cm, cn = blocks
    half, whole_numbers = '"bfloat16"', '"float32"'
    tensors = {
        "A": f"(m, n), {half}",
        "B": f"(n, m), {half}",
        "H": f"(m, n), {half}",
        "C": f"(side, side), {whole_numbers}",
    }
    names = [name for name in tensors if name != "H" or not hidden]
    if turned:
        second = [
            f"        x = T.alloc_shared((inner, cm), {half})",
            f"        y = T.alloc_shared((cn, inner), {half})",
            "        T.copy(H[0, by * cm], x)",
            "        T.copy(B[bx * cn, 0], y)",
            "        T.gemm(x, y, z, transpose_A=True, transpose_B=True, clear_accum=True)",
        ]
    else:
        second = [
            f"        x = T.alloc_shared((cm, 32), {half})",
            f"        y = T.alloc_shared((32, cn), {half})",
            "        T.clear(z)",
            "        for k in T.Pipelined(inner // 32, num_stages=2):",
            "            T.copy(H[by * cm, k * 32], x)",
            "            T.copy(B[k * 32, bx * cn], y)",
            "            T.gemm(x, y, z)",
        ]
    last = [
        "    with T.Kernel(T.ceildiv(side, 32), T.ceildiv(side, 64), threads=128) as (bx, by):",
        f"        w = T.alloc_shared((64, 32), {whole_numbers})",
        "        T.copy(W[by * 64, bx * 32], w)",
        "        for i, j in T.Parallel(64, 32):",
        "            w[i, j] = w[i, j] * 2",
        "        T.copy(w, C[by * 64, bx * 32])",
    ]
    lines = [
        signature(**{name: tensors[name] for name in names}),
        *([f"    H = T.alloc_global((m, n), {half})"] if hidden else []),
        *([f"    W = T.alloc_global((side, side), {whole_numbers})"] if third else []),
        "    with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), threads=128) as (bx, by):",
        *annotations(names),
        f"        a = T.alloc_shared((bm, bn), {half})",
        "        T.copy(A[by * bm, bx * bn], a)",
        "        for i, j in T.Parallel(bm, bn):",
        "            a[i, j] = a[i, j] * 2 + 1",
        "        T.copy(a, H[by * bm, bx * bn])",
        "    with T.Kernel(T.ceildiv(side, cn), T.ceildiv(side, cm), threads=128) as (bx, by):",
        f"        z = T.alloc_fragment((cm, cn), {whole_numbers})",
        *second,
        f"        T.copy(z, {'W' if third else 'C'}[by * cm, bx * cn])",
        *(last if third else []),
    ]
    return from_text(lines, said=said, m=m, n=n, side=side, inner=inner, bm=bm, bn=bn, cm=cm, cn=cn)


PRODUCTS = ((product, 6), (squared, 2), (split_k, 2), (stack, 2), (attention, 2), (launches, 3))
