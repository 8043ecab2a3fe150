"""Thread groups that meet at barriers, and whose threads work by themselves, too."""

from typing import Any

import pytest
import tilelang
import tilelang.language as T
import torch

TARGET = {"kind": "tenstorrent", "grid": "2x1"}


def rows_by_number(rounds: int) -> Any:
    """A group fetches rows whose numbers a table holds, each thread a part of one; another group adds them up."""

    @T.prim_func
    def main(A: T.Tensor((100, 64), "float32"), N: T.Tensor((rounds * 16,), "int32"), S: T.Tensor((16, 64), "float32")):
        with T.Kernel(1, threads=256):
            x = T.alloc_shared((2, 16, 64), "float32")
            total = T.alloc_fragment((16, 64), "float32")
            full = T.alloc_barrier([128] * 2)
            free = T.alloc_barrier([128] * 2)
            number = T.alloc_var("int32")
            tx = T.get_thread_binding()
            if tx < 128:
                T.clear(total)
                for k in T.serial(rounds):
                    T.barrier_wait(full[k % 2], k // 2 % 2)
                    for i, j in T.Parallel(16, 64):
                        total[i, j] += x[k % 2, i, j]
                    T.barrier_arrive(free[k % 2])
                T.copy(total, S)
            else:
                for k in T.serial(rounds):
                    T.barrier_wait(free[k % 2], k // 2 % 2 ^ 1)
                    number = N[k * 16 + (tx - 128) // 8]
                    for e in T.serial(2):
                        column = (tx - 128) % 8 * 8 + e * 4
                        T.ptx_cp_async(
                            T.access_ptr(x[k % 2, (tx - 128) // 8, column], "w", 4),
                            T.access_ptr(A[number, column], "r", 4),
                            4,
                        )
                    T.cp_async_barrier_noinc(full[k % 2])

    return main


@pytest.mark.parametrize("rounds", [1, 2, 5])
def test_rows_by_number(rounds: int) -> None:
    source = torch.Generator().manual_seed(rounds)
    a = torch.randint(-8, 9, (100, 64), generator=source).float()
    numbers = torch.randint(0, 100, (rounds * 16,), generator=source, dtype=torch.int32)
    total = torch.zeros(16, 64)
    tilelang.compile(rows_by_number(rounds), target=TARGET)(a, numbers, total)
    assert torch.equal(total, a[numbers.long()].reshape(rounds, 16, 64).sum(0))


def test_a_barrier_of_all_threads() -> None:
    """Every thread takes its own elements of what a TMA copy brought."""

    @T.prim_func
    def main(A: T.Tensor((8, 64), "float32"), B: T.Tensor((8, 64), "float32")):
        with T.Kernel(1, threads=64):
            x = T.alloc_shared((8, 64), "float32")
            loaded = T.alloc_barrier(64)
            tx = T.get_thread_binding()
            T.tma_copy(A, x, barrier=loaded)
            T.barrier_arrive(loaded)
            T.barrier_wait(loaded, 0)
            for i in T.serial(8):
                B[i, tx] = x[i, 63 - tx]

    a, b = torch.randn(8, 64), torch.zeros(8, 64)
    tilelang.compile(main, target=TARGET)(a, b)
    assert torch.equal(b, a.flip(1))
