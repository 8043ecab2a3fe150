"""Kernels at the edge: no crash, no hang, no wrong number; and names that mean something to C++."""

import importlib.util
import inspect
from pathlib import Path
from typing import Any

import odd_blocks
import odd_loops
import pytest
import tilelang
import torch
from odd_kernels import ODD, Odd

# One core for all units, so that every kernel shows what its second unit finds.
TARGET = {"kind": "tenstorrent", "grid": "1x1"}


def run(func: Any, inputs: list[torch.Tensor]) -> torch.Tensor:
    buffer = list(func.buffer_map.values())[-1]
    result = torch.zeros([int(extent) for extent in buffer.shape], dtype=getattr(torch, str(buffer.dtype)))
    tilelang.compile(func, target=TARGET)(*inputs, result)
    return result


def test_every_kernel_is_in_the_list() -> None:
    builders = [
        value
        for module in (odd_loops, odd_blocks)
        for value in vars(module).values()
        if inspect.isfunction(value) and value.__module__ == module.__name__
    ]
    assert {odd.build for odd in ODD} == set(builders)


def small_integers(func: Any) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [
        torch.randint(-3, 4, [int(extent) for extent in buffer.shape], generator=generator).float()
        for buffer in list(func.buffer_map.values())[:-1]
    ]


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: odd.build.__name__)
def test_right_numbers(odd: Odd) -> None:
    func = odd.build()
    inputs = small_integers(func)
    assert torch.equal(run(func, inputs), odd.meaning(*inputs))


# --- names ----------------------------------------------------------------------------------------

KERNEL = """\
import tilelang.language as T


@T.prim_func
def {function}({a}: T.Tensor((64, 64), "float32"), {b}: T.Tensor((64, 64), "float32")):
    with T.Kernel(2, threads=128) as {bx}:
        {x} = T.alloc_shared((32, 64), "float32")
        for {k} in T.serial(2):
            T.copy({a}[{bx} * 32, 0], {x})
            for {i}, {j} in T.Parallel(32, 64):
                {x}[{i}, {j}] = {x}[{i}, {j}] * 2.0
            T.copy({x}, {b}[{bx} * 32, 0])
"""
PLACES = ("function", "a", "b", "x", "bx", "k", "i", "j")

NAMES = {
    "C++ types": "long short int double bool auto uint32_t char",
    "C++ statements": "main switch goto do case struct template typename",
    "C++ operators": "main bitand xor_eq compl not_eq sizeof typeid alignof",
    "newer C++": "main nullptr constexpr decltype co_await requires static_assert noexcept",
    "C++ and Python": "main this new delete operator register namespace volatile",
    "calls of kernels": "kernel_main cb_wait_front get_arg_val TensorAccessor noc_async_read copy_tile tt pack_tile",
    "generated variables": "main unit unit_start unit_count i j t tile",
    "generated buffers": "main cb_x x x_in x_out x_l1 x_args x_addr",
    "other generated buffers": "main A A_addr A_args A_l1 A_tile_bytes cb_A A_tile",
    "names of the host program": "run device program workload buffer main_ queue cores",
    "letters of other scripts": "größe λ β θ δ κ ι ζ",
    "long names": " ".join(f"{'n' * 300}{place}" for place in PLACES),
}


@pytest.mark.parametrize("kind", NAMES)
def test_names_mean_nothing(kind: str, tmp_path: Path) -> None:
    """A user may call anything anything; the printed C++ must still be C++."""
    names = dict(zip(PLACES, NAMES[kind].split(), strict=True))
    file = tmp_path / "named.py"
    file.write_text(KERNEL.format(**names))
    spec = importlib.util.spec_from_file_location("named", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    func = getattr(module, names["function"])
    (a,) = small_integers(func)
    assert torch.equal(run(func, [a]), a * 2)
