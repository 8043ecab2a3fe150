"""Random kernels without products: chains, softmax, norms, reductions, transposes, halos, lookups, scalar code."""

from random import Random
from typing import Any

import tilelang.language as T
import torch
from drawn import Drawn, Said, annotations, block, dynamic, from_text, junk, normal, other_sizes, signature, size, whole

import tilelang_tt.language as TT


def chain(rng: Random) -> Drawn:
    """`A * B + A - 1`, with a row and a column added; over A or into C."""
    values = {
        "m": size(rng),
        "n": size(rng),
        "bm": block(rng),
        "bn": block(rng),
        "dtype": rng.choice(("bfloat16", "float32", "int32", "float16")),
        "row": rng.random() < 0.4,
        "column": rng.random() < 0.4,
        "open_sizes": rng.choice(("", "", "m", "mn")),
        "in_place": rng.random() < 0.25,
        "rows_first": rng.random() < 0.3,
    }
    found, dtype = Drawn("chain", values, chain_kernel), values["dtype"]
    for sizes in other_sizes(rng, values["open_sizes"], {"m": values["m"], "n": values["n"]}):
        m, n = sizes["m"], sizes["n"]
        a, b = (whole(rng, m, n, dtype=dtype, most=9) for _ in range(2))
        row, column = whole(rng, n, dtype=dtype), whole(rng, m, dtype=dtype)
        tensors, result = {"A": a, "B": b}, a.double() * b.double() + a.double() - 1
        if values["row"]:
            tensors, result = {**tensors, "R": row}, result + row.double()
        if values["column"]:
            tensors, result = {**tensors, "V": column}, result + column.double()[:, None]
        if values["in_place"]:
            found.calls.append((tensors, {"A": result}))
        else:
            found.calls.append(({**tensors, "C": junk(m, n, dtype=dtype)}, {"C": result}))
    return found


def chain_kernel(
    m: int,
    n: int,
    bm: int,
    bn: int,
    dtype: str,
    row: bool,
    column: bool,
    open_sizes: str,
    in_place: bool,
    rows_first: bool,
    said: Said,
) -> Any:
    shapes = {"A": "(m, n)", "B": "(m, n)", "R": "(n,)", "V": "(m,)", "C": "(m, n)"}
    left_out = {"R": not row, "V": not column, "C": in_place}
    names = [name for name in shapes if not left_out.get(name)]
    more = (" + r[j]" if row else "") + (" + v[i]" if column else "")
    lines = [
        signature(**{name: f"{shapes[name]}, dtype" for name in names}),
        f"    with T.Kernel(*grid, threads=128) as {'(by, bx)' if rows_first else '(bx, by)'}:",
        *annotations(names),
        "        a = T.alloc_shared((bm, bn), dtype)",
        "        b = T.alloc_shared((bm, bn), dtype)",
        *(["        r = T.alloc_shared((bn,), dtype)", "        T.copy(R[bx * bn], r)"] if row else []),
        *(["        v = T.alloc_shared((bm,), dtype)", "        T.copy(V[by * bm], v)"] if column else []),
        "        c = T.alloc_fragment((bm, bn), dtype)",
        "        T.copy(A[by * bm, bx * bn], a)",
        "        T.copy(B[by * bm, bx * bn], b)",
        "        for i, j in T.Parallel(bm, bn):",
        f"            c[i, j] = a[i, j] * b[i, j] + a[i, j] - T.cast(1, dtype){more}",
        f"        T.copy(c, {'A' if in_place else 'C'}[by * bm, bx * bn])",
    ]
    m, n = dynamic("m", open_sizes, m), dynamic("n", open_sizes, n)
    grid = T.ceildiv(n, bn), T.ceildiv(m, bm)
    return from_text(lines, said=said, m=m, n=n, bm=bm, bn=bn, dtype=dtype, grid=grid[::-1] if rows_first else grid)


def softmax(rng: Random) -> Drawn:
    n = rng.choice((32, 64, 96, 128, 160, 100, 33))
    values = {"m": size(rng), "n": n, "rows": rng.choice((32, 64)), "open_sizes": rng.choice(("", "", "m"))}
    found = Drawn("softmax", values, softmax_kernel, bits=7)
    for sizes in other_sizes(rng, values["open_sizes"], {"m": values["m"]}):
        x = normal(rng, sizes["m"], n)
        found.calls.append(({"A": x, "C": junk(*x.shape)}, {"C": torch.softmax(x.double(), 1)}))
    return found


def softmax_kernel(m: int, n: int, rows: int, open_sizes: str, said: Said) -> Any:
    m = dynamic("m", open_sizes, m)

    @T.prim_func
    def main(A: T.Tensor((m, n), "bfloat16"), C: T.Tensor((m, n), "bfloat16")):
        with T.Kernel(T.ceildiv(m, rows), threads=128) as bx:
            for one in said.A:
                TT.layout(A, **one)
            for one in said.C:
                TT.layout(C, **one)
            for one in said.schedules:
                TT.schedule(**one)
            x = T.alloc_fragment((rows, n), "float32")
            most = T.alloc_fragment((rows,), "float32")
            total = T.alloc_fragment((rows,), "float32")
            T.copy(A[bx * rows, 0], x)
            T.reduce_max(x, most, dim=1)
            for i, j in T.Parallel(rows, n):
                x[i, j] = T.exp(x[i, j] - most[i])
            T.reduce_sum(x, total, dim=1)
            for i, j in T.Parallel(rows, n):
                x[i, j] = x[i, j] / total[i]
            T.copy(x, C[bx * rows, 0])

    return main


def norm(rng: Random) -> Drawn:
    """Layer norm, or RMS norm."""
    n = rng.choice((32, 64, 128, 256, 96))
    values = {"m": size(rng), "n": n, "rows": rng.choice((32, 64)), "centred": rng.random() < 0.5}
    x, w = normal(rng, values["m"], n), normal(rng, n)
    e = x.double() - (x.double().mean(1, keepdim=True) if values["centred"] else 0)
    result = e * torch.rsqrt(e.square().mean(1, keepdim=True) + 1e-5) * w.double()
    return Drawn("norm", values, norm_kernel, [({"A": x, "W": w, "C": junk(*x.shape)}, {"C": result})], bits=6)


def norm_kernel(m: int, n: int, rows: int, centred: bool, said: Said) -> Any:
    @T.prim_func
    def main(A: T.Tensor((m, n), "bfloat16"), W: T.Tensor((n,), "bfloat16"), C: T.Tensor((m, n), "bfloat16")):
        with T.Kernel(T.ceildiv(m, rows), threads=128) as bx:
            for one in said.A:
                TT.layout(A, **one)
            for one in said.W:
                TT.layout(W, **one)
            for one in said.C:
                TT.layout(C, **one)
            for one in said.schedules:
                TT.schedule(**one)
            x = T.alloc_shared((rows, n), "bfloat16")
            w = T.alloc_shared((n,), "bfloat16")
            e = T.alloc_fragment((rows, n), "float32")
            squares = T.alloc_fragment((rows, n), "float32")
            total = T.alloc_fragment((rows,), "float32")
            T.copy(A[bx * rows, 0], x)
            T.copy(W, w)
            T.copy(x, e)
            if centred:
                T.reduce_sum(e, total, dim=1)
                for i, j in T.Parallel(rows, n):
                    e[i, j] = e[i, j] - total[i] / n
            for i, j in T.Parallel(rows, n):
                squares[i, j] = e[i, j] * e[i, j]
            T.reduce_sum(squares, total, dim=1)
            for i in T.Parallel(rows):
                total[i] = T.rsqrt(total[i] / n + 1e-5)
            for i, j in T.Parallel(rows, n):
                e[i, j] = e[i, j] * total[i] * w[j]
            T.copy(e, C[bx * rows, 0])

    return main


def reduction(rng: Random) -> Drawn:
    """Along either axis; over blocks of the grid by atomic updates, or each block alone."""
    m, n, axis = size(rng), size(rng), rng.choice((0, 1))
    values = {"m": m, "n": n, "axis": axis, "how": rng.choice(("sum", "max", "absmax")), "atomic": rng.random() < 0.3}
    values |= {"side": 32 if (m, n)[axis] > 256 else rng.choice((32, 64)), "dtype": rng.choice(("float32", "bfloat16"))}
    x = whole(rng, m, n, dtype=values["dtype"])
    start = whole(rng, (n, m)[axis], dtype="float32")
    if values["atomic"]:
        values["how"] = "sum"
    d = x.double()
    found = {"sum": d.sum(axis), "max": d.amax(axis), "absmax": d.abs().amax(axis)}[values["how"]]
    found = found + start.double() if values["atomic"] else found
    return Drawn("reduction", values, reduction_kernel, [({"A": x, "S": start}, {"S": found})])


def reduction_kernel(m: int, n: int, axis: int, how: str, atomic: bool, side: int, dtype: str, said: Said) -> Any:
    long, out = (m, n)[axis], (n, m)[axis]
    part = 32 if atomic else long
    at = "bx * side, by * part" if axis else "by * part, bx * side"
    lines = [
        signature(A="(m, n), dtype", S='(out,), "float32"'),
        "    with T.Kernel(T.ceildiv(out, side), T.ceildiv(long, part), threads=128) as (bx, by):",
        *annotations("AS"),
        "        x = T.alloc_shared(shape, dtype)",
        '        y = T.alloc_fragment(shape, "float32")',
        '        s = T.alloc_fragment((side,), "float32")',
        f"        T.copy(A[{at}], x)",
        "        T.copy(x, y)",
        f"        T.reduce_{how}(y, s, dim={axis})",
        f"        {'T.atomic_add(S[bx * side], s)' if atomic else 'T.copy(s, S[bx * side])'}",
    ]
    shape = (side, part) if axis else (part, side)
    return from_text(lines, said=said, m=m, n=n, out=out, long=long, part=part, side=side, shape=shape, dtype=dtype)


def turned(rng: Random) -> Drawn:
    m, n = size(rng), size(rng)
    a = whole(rng, m, n, most=9)
    values = {"m": m, "n": n, "bm": block(rng, 64), "bn": block(rng, 64)}
    return Drawn("turned", values, turned_kernel, [({"A": a, "C": junk(n, m)}, {"C": a.double().T})])


def turned_kernel(m: int, n: int, bm: int, bn: int, said: Said) -> Any:
    lines = [
        signature(A='(m, n), "bfloat16"', C='(n, m), "bfloat16"'),
        "    with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), threads=128) as (bx, by):",
        *annotations("AC"),
        '        a = T.alloc_shared((bm, bn), "bfloat16")',
        '        c = T.alloc_shared((bn, bm), "bfloat16")',
        "        T.copy(A[by * bm, bx * bn], a)",
        "        for i, j in T.Parallel(bn, bm):",
        "            c[i, j] = a[j, i]",
        "        T.copy(c, C[bx * bn, by * bm])",
    ]
    return from_text(lines, said=said, m=m, n=n, bm=bm, bn=bn)


def moved_rows(rng: Random) -> Drawn:
    """Blocks of rows from elsewhere: neighbours, the rows in reverse, every second block, a part of them alone."""
    blocks, n = rng.choice((2, 3, 4, 6)), rng.choice((32, 64, 70))
    m, how = 32 * blocks, rng.choice(("halo", "halo by elements", "reverse", "half", "loop"))
    x, before = (whole(rng, m, n, dtype="float32", most=99) for _ in range(2))
    rows = x.reshape(blocks, 32, n)
    result = before.clone()
    if how.startswith("halo"):
        far = 32 if how == "halo" else 5
        padded = torch.nn.functional.pad(x, (0, 0, far, far))
        result = padded[:m] + x + padded[2 * far :]
    elif how == "reverse":
        result = rows.flip(0).reshape(m, n) + x
    elif how == "half":
        result[: blocks // 2 * 32] = rows[::2][: blocks // 2].reshape(-1, n)
    else:
        result = x * 2
    values = {"blocks": blocks, "n": n, "how": how}
    call = {"A": x, "C": before}, {"C": result.double()}
    return Drawn("moved_rows", values, moved_rows_kernel, [call])


def moved_rows_kernel(blocks: int, n: int, how: str, said: Said) -> Any:
    far = 32 if how == "halo" else 5
    more = {
        "halo": [f"A[by * 32 - {far}, 0]", f"A[by * 32 + {far}, 0]"],
        "halo by elements": [f"A[by * 32 - {far}, 0]", f"A[by * 32 + {far}, 0]"],
        "reverse": [f"A[({blocks} - 1 - by) * 32, 0]"],
    }.get(how, [])
    first = "A[by * 64, 0]" if how == "half" else "A[by * 32, 0]"
    inside = [
        f"T.copy({first}, x)",
        *(line for place in more for line in (f"T.copy({place}, y)", "for i, j in T.Parallel(32, n):", ADDED)),
        *(["for i, j in T.Parallel(32, n):", "    x[i, j] = x[i, j] * 2"] if how == "loop" else []),
        "T.copy(x, C[by * 32, 0])",
    ]
    grid = {"half": blocks // 2, "loop": 1}.get(how, blocks)
    loop = [f"        for by in T.serial({blocks}):"] if how == "loop" else []
    lines = [
        signature(A='(m, n), "float32"', C='(m, n), "float32"'),
        f"    with T.Kernel({grid}, threads=128) as {'bx' if loop else 'by'}:",
        *annotations("AC"),
        '        x = T.alloc_shared((32, n), "float32")',
        '        y = T.alloc_shared((32, n), "float32")',
        *loop,
        *(("    " if loop else "") + "        " + line for line in inside),
    ]
    return from_text(lines, said=said, m=32 * blocks, n=n)


ADDED = "    x[i, j] = x[i, j] + y[i, j]"


def rows_looked_up(rng: Random) -> Drawn:
    m, n, many = rng.choice((40, 64, 100)), rng.choice((32, 64)), rng.choice((64, 96))
    w = whole(rng, m, n, dtype="float32", most=9)
    p = torch.tensor([rng.randrange(m) for _ in range(many)], dtype=torch.int32)
    call = {"W": w, "P": p, "C": junk(many, n, dtype="float32")}, {"C": w[p.long()].double()}
    return Drawn("rows_looked_up", {"m": m, "n": n, "many": many}, looked_up_kernel, [call])


def looked_up_kernel(m: int, n: int, many: int, said: Said) -> Any:
    lines = [
        signature(W='(m, n), "float32"', P='(many,), "int32"', C='(many, n), "float32"'),
        "    with T.Kernel(many // 32, threads=128) as bx:",
        *annotations("WPC"),
        '        x = T.alloc_shared((32, n), "float32")',
        "        for i, j in T.Parallel(32, n):",
        "            x[i, j] = W[P[bx * 32 + i], j]",
        "        T.copy(x, C[bx * 32, 0])",
    ]
    return from_text(lines, said=said, m=m, n=n, many=many)


def walk(rng: Random) -> Drawn:
    """A number that changes from element to element: no work for tiles, but for scalar code."""
    m, n = rng.choice((8, 33)), rng.choice((16, 40))
    x = whole(rng, m, n, dtype="int32", most=9)
    found = torch.zeros(m, dtype=torch.float64)
    for i, row in enumerate(x.tolist()):
        state = 0
        for number in row:
            state = (state * 3 + number) % 101 if number % 2 == 0 else state + 1
        found[i] = state
    return Drawn("walk", {"m": m, "n": n}, walk_kernel, [({"A": x, "S": junk(m, dtype="int32")}, {"S": found})])


def walk_kernel(m: int, n: int, said: Said) -> Any:
    lines = [
        signature(A='(m, n), "int32"', S='(m,), "int32"'),
        "    with T.Kernel(m, threads=1) as bx:",
        *annotations("AS"),
        '        state = T.alloc_var("int32")',
        "        state = 0",
        "        for j in T.serial(n):",
        "            if T.floormod(A[bx, j], 2) == 0:",
        "                state = T.floormod(state * 3 + A[bx, j], 101)",
        "            else:",
        "                state = state + 1",
        "        S[bx] = state",
    ]
    return from_text(lines, said=said, m=m, n=n)


ELEMENTS = (
    (chain, 6),
    (softmax, 2),
    (norm, 2),
    (reduction, 3),
    (turned, 1),
    (moved_rows, 3),
    (rows_looked_up, 1),
    (walk, 1),
)
