"""TileLang functions that compute many small cases, each on a matrix of its own."""

import linecache
from collections.abc import Callable, Sequence
from typing import Any

import tilelang.language as T
from support_layouts import Layout, Sizes


def element_kernel(layout: Layout, sizes: Sizes, dtype: str, functions: Sequence[Callable[[Any, Any], Any]]) -> Any:
    """One function that computes every case: f(x, y), element by element."""
    names = {"rows": sizes.rows, "columns": sizes.columns, "step": sizes.step}
    first, second = layout.first, layout.second
    tensors = {"A": first.shape(sizes), "B": second.shape(sizes)}
    parameters = [f"{name}: T.Tensor({shape}, '{dtype}')" for name, shape in tensors.items()]
    parameters += [f"at: T.Tensor(({sizes.cases},), 'int32')"] if layout.starts else []
    parameters += [f"C: T.Tensor({first.shape(sizes)}, '{dtype}')"]
    grid = (-(-sizes.columns // sizes.step[1]), -(-sizes.rows // sizes.step[0]), layout.batch)
    lines = [
        "@T.prim_func",
        f"def main({', '.join(parameters)}):",
        f"    with T.Kernel({', '.join(map(str, grid))}, threads=128) as (bx, by, bz):",
        f"        X = T.alloc_shared({first.block(sizes)}, '{dtype}')",
        f"        Y = T.alloc_shared({second.block(sizes)}, '{dtype}')",
        f"        Z = T.alloc_fragment({first.block(sizes)}, '{dtype}')",
    ]
    walk = f"        for {layout.indices} in T.Parallel{first.block(sizes)}:"
    for k in range(sizes.cases):
        x_start, y_start = (place.start.format(k=k, **names) for place in (first, second))
        lines += [
            f"        T.copy(A[{x_start}], X)",
            f"        T.copy(B[{y_start}], Y)",
            walk,
            f"            Z[{first.index}] = f{k}(X[{first.index}], Y[{second.index}])",
        ]
        if layout.starts:  # a block may reach into the next matrix
            lines += [
                walk,
                f"            if by * {sizes.step[0]} + i < {sizes.rows}:",
                f"                C[at[{k}] + by * 32 + i, bx * 64 + j] = Z[i, j]",
            ]
        else:
            lines.append(f"        T.copy(Z, C[{x_start}])")
    return function_of("\n".join(lines) + "\n", {f"f{k}": function for k, function in enumerate(functions)})


def block_kernel(layout: Layout, sizes: Sizes, dtype: str, cases: Sequence[tuple[str, Sequence[str]]]) -> Any:
    """One function that runs every case's statements; vectors of results go to tensors of their own."""
    side, shape = sizes.rows, layout.first.shape(sizes)
    vectors = (layout.batch, sizes.cases, side)
    starts = [f"at: T.Tensor(({sizes.cases},), 'int32')"] if layout.starts else []
    tensors = [f"{name}: T.Tensor({shape}, '{dtype}')" for name in "ABC"]
    results = [f"{name}: T.Tensor({vectors}, '{dtype}')" for name in ("rows", "columns")]
    lines = [
        "@T.prim_func",
        f"def main({', '.join((*tensors[:2], *starts, tensors[2], *results))}):",
        f"    with T.Kernel(1, 1, {layout.batch}, threads=128) as (bx, by, bz):",
        *(f"        {name} = T.alloc_shared(({side}, {side}), '{dtype}')" for name in "XYZ"),
        f"        S = T.alloc_fragment(({side}, {side}), 'float32')",
        f"        row = T.alloc_fragment(({side},), '{dtype}')",
        f"        column = T.alloc_fragment(({side},), '{dtype}')",
    ]
    for k, (result, statements) in enumerate(cases):
        start = layout.first.start.format(k=k, rows=side, columns=side, step=sizes.step)
        to = f"C[{start}]" if result == "Z" else f"{result}s[bz, {k}, 0]"
        body = [f"T.copy(A[{start}], X)", f"T.copy(B[{start}], Y)", *statements, f"T.copy({result}, {to})"]
        lines += [f"        {statement}" for statement in body]
    return function_of("\n".join(lines) + "\n", {})


def function_of(text: str, names: dict[str, Any]) -> Any:
    """The TileLang function that the text defines; TileLang reads its lines again."""
    file = f"<kernel {hash(text):x}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope: dict[str, Any] = {"T": T, **names}
    exec(compile(text, file, "exec", dont_inherit=True), scope)
    return scope["main"]
