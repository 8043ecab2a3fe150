"""Errors of softmax, norms and attention in every numerics mode, beside torch's: `make numerics`.

The error of a result y is measured against float64 on the same inputs: |y - exact| / |exact| over the whole tensor
(roots of the mean of squares), and the largest |y - exact| in units of the largest |exact|.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import tilelang
import torch
from torch.nn import functional

import tilelang_tt  # noqa: F401
from tilelang_tt.arch import ARCHS
from tilelang_tt.runtime.virtual import launch

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "numerics.md"
DTYPES = ("bfloat16", "float32")
CHIPS, MODES = ("wormhole_b0", "blackhole"), ("chip", "fast", "exact")
INTRODUCTION = """\
# Errors of softmax, norms and attention

Written by `make numerics`; `make test` measures a row again. The kernels are those of `examples/`, on standard normal
numbers; on-chip blocks are float32, as written there, apart from attention's weights. Every figure is an error against
float64 on the same inputs: the root of the mean square, relative to that of the exact result, and in brackets the
largest error, relative to the largest exact element. *Rounded once*: exact results in the element type. *torch*: its
own function on tensors of that type, on the host.

In `chip` and `fast`, float32 reaches the matrix engine with 10 fraction bits; this shows in attention where the element
type is float32. Sums and maxima that show with 32 bits are the vector unit's."""


@dataclass(frozen=True)
class Kernel:
    title: str
    func: Callable[[str], Any]  # by element type
    inputs: tuple[tuple[int, ...], ...]  # shapes
    reference: Callable[..., torch.Tensor]

    def tensors(self, dtype: str) -> list[torch.Tensor]:
        random = torch.Generator().manual_seed(0)
        return [torch.randn(shape, generator=random).to(getattr(torch, dtype)) for shape in self.inputs]


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{name}", ROOT / "examples" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    heads_first = (tensor.transpose(1, 2) for tensor in (q, k, v))
    return functional.scaled_dot_product_attention(*heads_first, is_causal=True).transpose(1, 2)


ROWS, WIDTH = 64, 1024
HEADS = (1, 256, 2, 64)
KERNELS = (
    Kernel(
        f"softmax, {ROWS} x {WIDTH}",
        lambda dtype: example("softmax").softmax.get_tir(ROWS, WIDTH, 32, dtype),
        ((ROWS, WIDTH),),
        lambda x: torch.softmax(x, 1),
    ),
    Kernel(
        f"RMSNorm, {ROWS} x {WIDTH}",
        lambda dtype: example("rms_norm").rms_norm.get_tir(ROWS, WIDTH, 32, dtype),
        ((ROWS, WIDTH), (WIDTH,)),
        lambda x, w: functional.rms_norm(x, (WIDTH,), w, 1e-6),
    ),
    Kernel(
        f"LayerNorm, {ROWS} x {WIDTH}",
        lambda dtype: example("layer_norm").layer_norm.get_tir(ROWS, WIDTH, 32, dtype),
        ((ROWS, WIDTH), (WIDTH,), (WIDTH,)),
        lambda x, w, b: functional.layer_norm(x, (WIDTH,), w, b, 1e-5),
    ),
    Kernel(
        "causal flash attention, 256 positions, 2 heads of 64",
        lambda dtype: example("flash_attention").flash_attention.get_tir(1, 2, 256, 64, 64, 64, dtype),
        (HEADS,) * 3,
        attention,
    ),
)


def error(got: torch.Tensor, exact: torch.Tensor) -> str:
    difference = got.double() - exact
    return f"{difference.norm() / exact.norm():.1e} ({difference.abs().max() / exact.abs().max():.1e})"


def measured(kernel: Kernel, dtype: str, arch: str) -> list[str]:
    """The errors in each mode on a chip."""
    compiled = tilelang.compile(kernel.func(dtype), out_idx=[-1], target={"kind": "tenstorrent", "arch": arch})
    inputs = kernel.tensors(dtype)
    exact = kernel.reference(*(tensor.double() for tensor in inputs))
    found = []
    for mode in MODES:
        bound = compiled.adapter.signature.bind(inputs)
        plan = compiled.compiled.plan
        launch(plan, compiled.compiled.files, bound.tensors, bound.sizes, bound.scalars, numerics=mode)
        bound.finish()
        found.append(error(bound.results[0], exact))
    return found


def row(kernel: Kernel, dtype: str, arch: str) -> str:
    inputs = kernel.tensors(dtype)
    exact = kernel.reference(*(tensor.double() for tensor in inputs))
    beside = [error(exact.to(inputs[0].dtype), exact), error(kernel.reference(*inputs), exact)]
    return " | ".join((f"| {kernel.title}", ARCHS[arch].title, *measured(kernel, dtype, arch), *beside)) + " |"


def page() -> Iterator[str]:
    yield from INTRODUCTION.splitlines()
    for dtype in DTYPES:
        yield from ("", f"## {dtype}", "")
        yield f"| kernel | chip | {' | '.join(f'`{mode}`' for mode in MODES)} | rounded once | torch |"
        yield "|---|---|" + "---|" * (len(MODES) + 2)
        for kernel in KERNELS:
            for arch in CHIPS:
                yield row(kernel, dtype, arch)


if __name__ == "__main__":
    PAGE.write_text("\n".join(page()) + "\n")
