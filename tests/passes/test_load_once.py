"""C load_less: what no block index chooses is read before the first unit, and kept."""

from typing import Any

import pytest
import tilelang.language as T

from tilelang_tt import costs
from tilelang_tt.ir.tile import TileProgram
from tilelang_tt.options import Options
from tilelang_tt.passes.c_tile.load_less import load_less
from tilelang_tt.pipeline import KERNEL_PASSES

from .kernels import small_integers
from .stages import after, facts, keeps_meaning, kernel_body, kernels_after

TWO_CORES = Options(grid=(2, 1))


def kernel(units: Any = 5, *, by_block: bool = False, in_loop: bool = False) -> Any:
    """Y = X * V, a unit for 32 rows."""
    rows, length = units * 32, 64

    @T.prim_func
    def main(
        X: T.Tensor((rows, length), "float32"),
        V: T.Tensor((64, length), "float32"),
        Y: T.Tensor((rows, length), "float32"),
    ):
        with T.Kernel(T.ceildiv(rows, 32), threads=128) as bx:
            x = T.alloc_shared((32, length), "float32")
            v = T.alloc_shared((32, length), "float32")
            y = T.alloc_fragment((32, length), "float32")
            T.copy(X[bx * 32, 0], x)
            if in_loop:
                for _ in T.serial(2):
                    T.copy(V[0, 0], v)
                    for i, j in T.Parallel(32, length):
                        y[i, j] = x[i, j] * v[i, j]
            else:
                T.copy(V[bx % 2 * 32 if by_block else 0, 0], v)
                for i, j in T.Parallel(32, length):
                    y[i, j] = x[i, j] * v[i, j]
            T.copy(y, Y[bx * 32, 0])

    return main


def kept(program: TileProgram) -> list[str]:
    return [fact.partition(":")[0] for fact in facts(program, "buffer") if ", once" in fact]


def test_what_all_units_use_is_kept() -> None:
    program = after(load_less, kernel(), TWO_CORES)
    assert kept(program) == ["v"]
    text = next(d.text for d in program.decisions if d.stage == "load_less")
    assert text == "the same for all units: read once by each of 2 cores, for 5 units"


OTHERS = {
    "as many units as cores": kernel(2),
    "as many units as the call says": kernel(T.dynamic("n")),
    "another block for every unit": kernel(by_block=True),
    "in a loop": kernel(in_loop=True),
}


@pytest.mark.parametrize("name", OTHERS)
def test_anything_else_is_read_for_every_unit(name: str) -> None:
    assert kept(after(load_less, OTHERS[name], TWO_CORES)) == []


def test_around_the_units() -> None:
    kernels = kernels_after(KERNEL_PASSES[-1].run, kernel(), TWO_CORES)
    reader = [line for line in kernel_body(kernels, "reader").splitlines() if " v" in line]
    compute = [line for line in kernel_body(kernels, "compute").splitlines() if "wait v" in line or "pop v" in line]
    assert all(not line.startswith(" ") for line in (reader[0], reader[-1], *compute))
    assert [line.split()[0] for line in compute] == ["wait", "pop"]
    assert costs.of(kernels).dram_read == 5 * 2 * 4096 + 2 * 2 * 4096


def test_what_is_computed_stays() -> None:
    tensors = small_integers({"X": (160, 64), "V": (64, 64)})
    assert keeps_meaning(load_less, kernel(), tensors)
