"""Twenty kernels, every stage and every file, as text a reviewer can read. `make golden` rewrites them.

Each folder holds `kernel.py` (one PrimFunc and its TARGET), `stages/` (the program after each pass; `order.txt` lists
them) and the five generated files. A golden says what the compiler wrote; that it is right is said by the same kernel's
run here.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import tilelang
import torch
from tilelang.backend.target import determine_target
from tvm import tirx

from tilelang_tt.pipeline import KERNEL_PASSES, TILE_PASSES, compile_function
from tilelang_tt.target import options_of

HERE = Path(__file__).parent
KERNELS = sorted(path.parent.name for path in HERE.glob("*/kernel.py"))
UPDATE = os.environ.get("UPDATE_GOLDEN") == "1"


def load(name: str) -> tuple[Any, ModuleType]:
    spec = importlib.util.spec_from_file_location(f"golden_{name}", HERE / name / "kernel.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return next(value for value in vars(module).values() if isinstance(value, tirx.PrimFunc)), module


def generated(name: str) -> dict[str, str]:
    """Relative path -> text of everything the compiler says about a kernel."""
    func, module = load(name)
    compiled = compile_function(func, options_of(determine_target(module.TARGET, return_object=True)), stages=True)
    texts = {f"stages/{stage}.txt": text for stage, text in compiled.stages}
    texts["stages/order.txt"] = "".join(f"{stage}\n" for stage, _ in compiled.stages)
    texts |= compiled.files
    return {path: text.replace(f"{HERE / name}{os.sep}", "") for path, text in texts.items()}


@pytest.mark.filterwarnings("ignore:.*TT70[12]")
@pytest.mark.parametrize("name", KERNELS)
def test_golden(name: str) -> None:
    texts = generated(name)
    folder = HERE / name
    if UPDATE:
        for old in [*folder.glob("stages/*.txt"), *folder.glob("*.cpp"), *folder.glob("*.json")]:
            old.unlink()
        for path, text in texts.items():
            (folder / path).parent.mkdir(exist_ok=True)
            (folder / path).write_text(text)
    kept = {
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and path.suffix in (".txt", ".cpp", ".json")
    }
    assert kept == set(texts), "files of the golden folder; `make golden` rewrites them"
    for path, text in texts.items():
        assert (folder / path).read_text() == text, f"{name}/{path} differs; `make golden` rewrites it"


def numbers(*shape: int, dtype: torch.dtype) -> torch.Tensor:
    generator = torch.Generator().manual_seed(len(shape))
    return torch.randint(-1, 2, shape, generator=generator).to(dtype)


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    heads_first = (x.transpose(1, 2) for x in (q, k, v))
    return torch.nn.functional.scaled_dot_product_attention(*heads_first, is_causal=True).transpose(1, 2)


def hash_mask(x: torch.Tensor, seeds: torch.Tensor) -> torch.Tensor:
    words = (seeds.long() + torch.arange(seeds.numel()).reshape(seeds.shape)) * 2654435761 % 2**32
    return torch.where(words >> 31 == 0, x, 0)


def label_scores(x: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    at_label = x.gather(1, labels.long().clamp(min=0)[:, None])[:, 0]
    return torch.where(labels >= 0, at_label - x.max(1).values, 0)


def packed_weights(a: torch.Tensor, packed: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
    numbers = torch.stack([packed.long() & 15, packed.long() >> 4], -1).flatten(1) - 8.0
    return a @ (numbers * scales.repeat_interleave(32, 1)).T


def rotary(x: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
    total = x.sum(0)
    left, right = total.chunk(2, 1)
    return torch.cat([-right, left], 1) * c + total


def chunk_states(k: torch.Tensor) -> torch.Tensor:
    chunks = k.reshape(-1, 64, 64).transpose(1, 2)
    return (chunks.cumsum(0) - chunks).reshape(k.shape)


def triangle_in_step(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    place = torch.arange(256) // 32
    return (a * (place[None, :] <= place[:, None])) @ b


def first_drop(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    scores = a @ b
    rows = scores.reshape(*scores.shape[:1], -1, 64)
    falls = torch.nn.functional.pad(rows[..., :-1] >= rows[..., 1:], (0, 1), value=True)
    return (rows * falls.double().argmax(-1, keepdim=True)).reshape(scores.shape)


MEANINGS: dict[str, Callable[..., torch.Tensor]] = {
    "gemm": lambda a, b: a @ b,
    "gemm_dynamic": lambda a, b: a @ b,
    "gemm_scheduled": lambda a, b: a @ b,
    "gemm_multicast": lambda a, b: a @ b,
    "gemm_chosen_blocks": lambda a, b: a @ b,
    "gemm_last_round": lambda a, b, bias: (a @ b + bias).clamp(min=0),
    "gemm_long_sum": lambda a, b, bias: (a @ b + bias).clamp(min=0),
    "gemm_relu_in_dst": lambda a, b: (a @ b.T).clamp(min=0),
    "gemm_transposed": lambda a, b: a.T @ b.T,
    "triangle_in_step": triangle_in_step,
    "sum_of_parts": lambda p: p.sum(0),
    "split_k": lambda a, b: a @ b,
    "first_drop": first_drop,
    "sharded_residual": lambda x, r: r + torch.nn.functional.silu(x),
    "softmax": lambda x: torch.softmax(x, 1),
    "rms_norm": lambda x, w: torch.nn.functional.rms_norm(x, (256,), w, 1e-6),
    "flash_attention": attention,
    "add_vectors": lambda a, b: a + b,
    "chunk_states": chunk_states,
    "four_products": lambda a, b: a @ b @ b @ b @ b,
    "hash_mask": hash_mask,
    "label_scores": label_scores,
    "loops_product": lambda a, b: (a @ b).relu(),
    "packed_weights": packed_weights,
    "rotary": rotary,
    "histogram": lambda x: torch.stack([torch.bincount(part.long() & 15, minlength=16) for part in x.split(256)]),
}
# Small integers: every format and every order of summation gives the exact result, except where there are
# exponentials or roots. There: weights and results of 8 bits, a rounding of 2^-9 each.
TOLERANCES = {"softmax": 2**-8, "rms_norm": 2**-8, "flash_attention": 2**-8, "four_products": 2**-8}
TOLERANCES |= {"sharded_residual": 2**-8}


def test_every_pass_changes_a_golden() -> None:
    changing: set[str] = set()
    for name in KERNELS:
        stages = HERE / name / "stages"
        order = (stages / "order.txt").read_text().split()
        texts = [(stages / f"{stage}.txt").read_text() for stage in order]
        steps = zip(order[1:], pairwise(texts), strict=True)
        changing |= {stage for stage, (before, after) in steps if before != after}
    assert {row.name for row in (*TILE_PASSES, *KERNEL_PASSES)} <= changing


@pytest.mark.filterwarnings("ignore:.*TT70[12]")
@pytest.mark.parametrize("name", KERNELS)
def test_golden_kernel_runs(name: str) -> None:
    func, module = load(name)
    kernel = tilelang.compile(func, out_idx=[-1], target=module.TARGET)
    inputs = [
        numbers(
            *(int(e) if isinstance(e, tirx.IntImm) else 100 for e in buffer.shape),
            dtype=getattr(torch, buffer.dtype),
        )
        for buffer in list(func.buffer_map.values())[:-1]
    ]
    got = kernel(*inputs)
    expected = MEANINGS[name](*(x.double() for x in inputs))
    if name in TOLERANCES:
        assert (got.double() - expected).norm() <= TOLERANCES[name] * expected.norm()
    else:
        np.testing.assert_array_equal(got.double().numpy(), expected.to(got.dtype).double().numpy())
