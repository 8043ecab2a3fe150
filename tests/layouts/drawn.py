"""What `drawn_products` and `drawn_elements` have in common: a kernel with sizes, blocks and a form drawn at random.

Numbers are small and whole where every bit can be right; otherwise `bits` says how small the error of the whole is.
"""

import linecache
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import Any

import tilelang.language as T
import torch

import tilelang_tt.language as TT

SIZES = (32, 64, 96, 128, 160, 192, 256)
ODD_SIZES = (1, 7, 31, 33, 50, 70, 97, 100, 127, 131, 200)
Tensors = dict[str, torch.Tensor]
_FILES = count(1)


class Said:
    """What a kernel says of itself by TT.layout, of a tensor by its name, and by TT.schedule: one each, or none."""

    def __init__(self, layouts: dict[str, Any] | None = None, schedule: dict[str, Any] | None = None) -> None:
        self.layouts, self.schedules = layouts or {}, [schedule] if schedule else []

    def __getattr__(self, name: str) -> list[dict[str, Any]]:
        return [self.layouts[name]] if name in self.layouts else []


@dataclass
class Drawn:
    """A kernel, and calls of it: tensors by name in the order of its parameters, and what they hold afterwards."""

    kind: str
    values: dict[str, Any]  # that the kernel is made of
    build: Callable[..., Any]
    calls: list[tuple[Tensors, Tensors]] = field(default_factory=list)
    bits: int | None = None  # relative error 2^-bits of the whole; None: every bit is right
    on_grid: bool = True  # one T.Kernel, whose blocks a list of units may name

    @property
    def tensors(self) -> Tensors:
        return self.calls[0][0]

    @property
    def results(self) -> set[str]:
        return set(self.calls[0][1])

    def kernel(self, said: Said) -> Any:
        return self.build(**self.values, said=said)

    def wrong(self, number: int, found: Tensors, fewer_bits: int = 0) -> str | None:
        """What a call got wrong. A tensor that is no result keeps its numbers."""
        tensors, expected = self.calls[number]
        for name, before in tensors.items():
            got, wanted = found[name].double(), expected.get(name, before)
            if self.bits is None or name not in expected:
                places = (got != wanted.to(before.dtype).double()).nonzero()
                if len(places):
                    at = tuple(places[0].tolist())
                    return f"{name}: {len(places)} of {got.numel()} differ, first at {at}: {got[at]} for {wanted[at]}"
            else:
                off = float((got - wanted).norm() / wanted.norm())
                if not off <= 2.0 ** (fewer_bits - self.bits):
                    return f"{name}: off by {off:.3g}"
        return None


def from_text(lines: Iterator[str] | list[str], **scope: Any) -> Any:
    """A kernel from its source, which TileLang reads again."""
    file, text = f"<drawn kernel {next(_FILES)}>", "\n".join(["@T.prim_func", *lines]) + "\n"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names = {"T": T, "TT": TT, **scope}
    exec(compile(text, file, "exec", dont_inherit=True), names)
    return names["main"]


def signature(**tensors: str) -> str:
    """`def main(A: T.Tensor((m, n), "bfloat16"), ...):`"""
    return f"def main({', '.join(f'{name}: T.Tensor({what})' for name, what in tensors.items())}):"


def annotations(names: str | list[str]) -> list[str]:
    """What `said` says, inside a T.Kernel."""
    layouts = [
        line for name in names for line in (f"        for one in said.{name}:", f"            TT.layout({name}, **one)")
    ]
    return [*layouts, "        for one in said.schedules:", "            TT.schedule(**one)"]


def whole(rng: Random, *shape: int, dtype: str = "bfloat16", most: int = 2) -> torch.Tensor:
    generator = torch.Generator().manual_seed(rng.randrange(2**31))
    return torch.randint(-most, most + 1, shape, generator=generator).to(getattr(torch, dtype))


def normal(rng: Random, *shape: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(rng.randrange(2**31))
    return torch.randn(shape, generator=generator).to(torch.bfloat16)


def junk(*shape: int, dtype: str = "bfloat16") -> torch.Tensor:
    """What results hold before."""
    return torch.full(shape, 9, dtype=getattr(torch, dtype))


def size(rng: Random, most: int = 256) -> int:
    return min(rng.choice(SIZES if rng.random() < 0.7 else ODD_SIZES), most)


def block(rng: Random, most: int = 128) -> int:
    return min(rng.choice((32, 32, 64, 64, 96, 128)), most)


def dynamic(name: str, open_sizes: str, length: int) -> Any:
    """A size that is known at the call, or to the compiler."""
    return T.dynamic(name) if name in open_sizes else length


def other_sizes(rng: Random, open_sizes: str, sizes: dict[str, int]) -> list[dict[str, int]]:
    """Sizes of each call: kernels whose sizes are open are called again with others."""
    if not open_sizes:
        return [sizes]
    return [sizes, {name: size(rng) if name in open_sizes else length for name, length in sizes.items()}]


def matrices(shape: tuple[int, ...]) -> int:
    return math.prod(shape)
