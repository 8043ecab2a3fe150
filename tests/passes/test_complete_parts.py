"""C complete_parts: parts that make up a whole block begin it, and no zeros are put there before."""

from collections.abc import Callable
from typing import Any

import pytest
import tilelang.language as T

from tilelang_tt import costs
from tilelang_tt.passes.c_tile.complete_parts import complete_parts
from tilelang_tt.passes.c_tile.drop_dead_writes import drop_dead_writes
from tilelang_tt.passes.c_tile.separate_roles import separate_roles
from tilelang_tt.pipeline import KERNEL_PASSES

from .kernels import small_integers
from .stages import after, body, keeps_meaning, kernel_body, kernels_after

M, N, H = 32, 128, 64


def halves() -> Any:
    @T.prim_func
    def main(X: T.Tensor((M, N), "float32"), Y: T.Tensor((M, N), "float32")):
        with T.Kernel(1, threads=128):
            x = T.alloc_shared((M, N), "float32")
            y = T.alloc_fragment((M, N), "float32")
            T.copy(X, x)
            for i, j in T.Parallel(M, H):
                y[i, j] = x[i, j] - x[i, H + j]
            for i, j in T.Parallel(M, H):
                y[i, H + j] = x[i, H + j] + x[i, j]
            T.copy(y, Y)

    return main


def test_halves_of_a_block() -> None:
    """As rotary embeddings do. The parts go straight into the block that the writer takes."""
    assert body(after(separate_roles, halves())) == (
        "Load X tiles (0, 0) 1 x 4 -> x\n"
        "Map y[0, 0 : 32 x 64, first] = x[i, j + 0] - x[i, j + 64]\n"
        "Map y[0, 64 : 32 x 64, more] = x[i, j + 64] + x[i, j + 0]\n"
        "Store y -> Y tiles (0, 0) 1 x 4\n"
    )
    kernels = kernels_after(KERNEL_PASSES[-1].run, halves())
    assert costs.of(kernels).dst_sections == 2
    calls = [line.strip() for line in kernel_body(kernels, "compute").splitlines() if " y " in line]
    assert [call for call in calls if "pack" not in call] == ["reserve y 4", "push y 4"]


def looped() -> Any:
    @T.prim_func
    def main(X: T.Tensor((M, N), "float32"), Y: T.Tensor((M, N), "float32"), Z: T.Tensor((M, N), "float32")):
        with T.Kernel(1, threads=128):
            x = T.alloc_shared((M, N), "float32")
            y = T.alloc_fragment((M, N), "float32")
            z = T.alloc_fragment((M, N), "float32")
            T.copy(X, x)
            for c in T.serial(2):
                for i, j in T.Parallel(M, H):
                    y[i, c * H + j] = x[i, c * H + j] + c
            for i, j in T.Parallel(M, N):
                z[i, j] = y[i, j] * 2
            T.copy(y, Y)
            T.copy(z, Z)

    return main


def test_rounds_of_a_loop() -> None:
    assert body(after(drop_dead_writes, looped())) == (
        "Load X tiles (0, 0) 1 x 4 -> x\n"
        "Loop c < 2\n"
        "  Map y[0, c * 64 : 32 x 64, first if c == 0] = x[i, j + c * 64] + float32[c]\n"
        "Map z = y * 2\n"
        "Store y -> Y tiles (0, 0) 1 x 4\n"
        "Store z -> Z tiles (0, 0) 1 x 4\n"
    )


def looped_unseen() -> Any:
    """Nothing looks at y between two rounds: it is filled as before, and begun in no round."""

    @T.prim_func
    def main(X: T.Tensor((M, N), "float32"), Y: T.Tensor((M, N), "float32")):
        with T.Kernel(1, threads=128):
            x = T.alloc_shared((M, N), "float32")
            y = T.alloc_fragment((M, N), "float32")
            T.copy(X, x)
            for _ in T.serial(2):
                T.clear(y)
                for c in T.serial(2):
                    for i, j in T.Parallel(M, H):
                        y[i, c * H + j] = x[i, c * H + j] + c
            T.copy(y, Y)

    return main


def test_a_loop_begins_only_what_is_taken_afterwards() -> None:
    assert "first" not in body(after(complete_parts, looped_unseen()))
    kernels_after(KERNEL_PASSES[-1].run, looped_unseen())


def with_parts(parts: Callable[[Any, Any], None]) -> Any:
    """`parts` assigns to y from x; both have two halves."""

    @T.prim_func
    def main(X: T.Tensor((M, N), "float32"), Y: T.Tensor((M, N), "float32")):
        with T.Kernel(1, threads=128):
            x = T.alloc_shared((M, N), "float32")
            y = T.alloc_fragment((M, N), "float32")
            T.copy(X, x)
            parts(x, y)
            T.copy(y, Y)

    return main


@T.macro
def one_half(x: Any, y: Any) -> None:
    for i, j in T.Parallel(M, H):
        y[i, H + j] = x[i, j]


@T.macro
def the_same_half_twice(x: Any, y: Any) -> None:
    for i, j in T.Parallel(M, H):
        y[i, j] = x[i, j]
    for i, j in T.Parallel(M, H):
        y[i, j] = x[i, H + j]
    for i, j in T.Parallel(M, H):
        y[i, H + j] = x[i, j]


@T.macro
def looked_at_in_between(x: Any, y: Any) -> None:
    for i, j in T.Parallel(M, H):
        y[i, j] = x[i, j]
    for i, j in T.Parallel(M, H):
        y[i, H + j] = y[i, j] + x[i, j]


@T.macro
def overlapping(x: Any, y: Any) -> None:
    for i, j in T.Parallel(M, 96):
        y[i, j] = x[i, j]
    for i, j in T.Parallel(M, H):
        y[i, H + j] = x[i, j] + 1


OTHERS = {
    "one half": one_half,
    "looked at in between": looked_at_in_between,
    "overlapping": overlapping,
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_parts_keep_what_lies_around_them(name: str) -> None:
    text = body(after(complete_parts, with_parts(OTHERS[name])))
    assert "Fill y = 0" in text
    assert "first" not in text


def test_a_part_that_is_overwritten_unseen_goes() -> None:
    assert body(after(drop_dead_writes, with_parts(the_same_half_twice))) == (
        "Load X tiles (0, 0) 1 x 4 -> x\n"
        "Map y[0, 0 : 32 x 64, first] = x[i, j + 64]\n"
        "Map y[0, 64 : 32 x 64, more] = x[i, j + 0]\n"
        "Store y -> Y tiles (0, 0) 1 x 4\n"
    )


SHAPES = {"X": (M, N)}


@pytest.mark.parametrize(
    "func", [halves(), looped(), looped_unseen(), *map(with_parts, [*OTHERS.values(), the_same_half_twice])]
)
def test_what_is_computed_stays(func: Any) -> None:
    tensors = small_integers(SHAPES)
    assert keeps_meaning(complete_parts, func, tensors)
    assert keeps_meaning(drop_dead_writes, func, tensors)
