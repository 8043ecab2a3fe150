"""Lists of units that are too long for runtime arguments: each core finds its own in its L1."""

import random
from typing import Any

import pytest
import tilelang
import tilelang.language as T
import torch

from tilelang_tt.compiled import PLAN_FILE
from tilelang_tt.runtime.plan import Plan
from tilelang_tt.schedule import UNITS_AS_ARGUMENTS

CHIPS = ("wormhole_b0", "blackhole")


def scaled(rows: int, columns: int) -> Any:
    """Blocks of 32 x 32; each is multiplied by its number, so that none can stand for another."""
    shape = (rows * 32, columns * 32)

    @T.prim_func
    def main(A: T.Tensor(shape, "float32"), B: T.Tensor(shape, "float32")):
        with T.Kernel(columns, rows, threads=128) as (bx, by):
            x = T.alloc_shared((32, 32), "float32")
            T.copy(A[by * 32, bx * 32], x)
            for i, j in T.Parallel(32, 32):
                x[i, j] = x[i, j] * T.Cast("float32", by * columns + bx + 1)
            T.copy(x, B[by * 32, bx * 32])

    return main


def sorted_rows() -> Any:
    """Blocks of scalar code: of each 4 numbers the largest comes first."""

    @T.prim_func
    def main(A: T.Tensor((600, 4), "int32"), B: T.Tensor((600, 4), "int32")):
        with T.Kernel(300, threads=1) as bx:
            for row in T.serial(2):
                best = T.alloc_local((1,), "int32")
                best[0] = 0
                for i in T.serial(4):
                    if A[bx * 2 + row, i] > A[bx * 2 + row, best[0]]:
                        best[0] = i
                for i in T.serial(4):
                    B[bx * 2 + row, i] = A[bx * 2 + row, (best[0] + i) % 4]

    return main


def shuffled(units: int, *lengths: int) -> list[list[int]]:
    """Lists of these lengths, and one for the rest."""
    numbers = list(range(units))
    random.Random(units).shuffle(numbers)
    lists = []
    for length in lengths:
        lists.append(numbers[:length])
        numbers = numbers[length:]
    return [*lists, numbers]


def target(chip: str, lists: list[list[int]], **options: Any) -> dict[str, Any]:
    return {"kind": "tenstorrent", "arch": chip, "schedule": {"units": lists}, **options}


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize(
    "lists",
    [
        shuffled(340, 339),  # beyond what runtime arguments could hold
        shuffled(1000),
        shuffled(1000, 0, 660, 1),
        shuffled(260, UNITS_AS_ARGUMENTS, UNITS_AS_ARGUMENTS),  # the longest that are arguments
        shuffled(260, UNITS_AS_ARGUMENTS + 1),
    ],
    ids=["339", "one core", "uneven", "128", "129"],
)
def test_every_block_is_done_once(chip: str, lists: list[list[int]]) -> None:
    units = sum(map(len, lists))
    rows, columns = units // 20, 20
    kernel = tilelang.compile(scaled(rows, columns), target=target(chip, lists))
    a, b = torch.randn(rows * 32, columns * 32), torch.zeros(rows * 32, columns * 32)
    kernel(a, b)
    numbers = torch.arange(1, units + 1).reshape(rows, 1, columns, 1).expand(rows, 32, columns, 32).reshape(a.shape)
    assert torch.equal(b, a * numbers)
    (launch,) = Plan.from_json(kernel.files[PLAN_FILE]).launches
    longest = max(map(len, lists))
    assert (launch.list_bytes >= 4 * longest) == (longest > UNITS_AS_ARGUMENTS)
    assert ("listed_unit(" in kernel.files["reader.cpp"]) == (longest > UNITS_AS_ARGUMENTS)


def test_blocks_of_scalar_code() -> None:
    kernel = tilelang.compile(sorted_rows(), target=target("wormhole_b0", shuffled(300, 200)))
    a, b = torch.randint(-100, 100, (600, 4), dtype=torch.int32), torch.zeros(600, 4, dtype=torch.int32)
    kernel(a, b)
    assert torch.equal(b, torch.stack([row.roll(-int(row.argmax())) for row in a]))


def test_the_clock_reads_them_too() -> None:
    """By the clock, which runs without tensors: as long as in runs, of as many blocks."""
    few, many = ([list(range(300)), list(range(300, 600))], shuffled(600, 300))
    times = [tilelang.compile(scaled(30, 20), target=target("wormhole_b0", lists)).estimate() for lists in (few, many)]
    assert times[1].cycles == pytest.approx(times[0].cycles, rel=0.1)


def test_explain_counts_them() -> None:
    lists = shuffled(1000, 500)
    text = tilelang.compile(scaled(50, 20), target=target("wormhole_b0", lists)).explain()
    (line,) = (line for line in text.splitlines() if "list of the core's units" in line)
    assert line.split()[:2] == ["L1", "units"]
    assert line.endswith("2,048 B")
