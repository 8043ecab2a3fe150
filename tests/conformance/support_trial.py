"""One kernel of many cases run on the virtual device and on TileLang's CPU backend, and the errors of its results."""

import math
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import tilelang
import tilelang.language as T
import torch
from block_cases import MATRIX, ROW, BlockCase
from element_cases import C_LIBRARY_ULP, Case, last_place
from reference import UNIT
from support_kernels import block_kernel, element_kernel
from support_layouts import LAYOUTS, block_sizes

from tilelang_tt.cpu.kernel import CpuKernel
from tilelang_tt.runtime.virtual import launch

MODES = ("chip", "fast", "exact")
AnyCase = Case | BlockCase
Tensors = list[torch.Tensor]


class Trial(ABC):
    def __init__(self, cases: Sequence[Any], dtype: str, layout: str, tail: bool) -> None:
        self.cases = cases
        self.dtype: torch.dtype = getattr(torch, dtype)
        self.layout = LAYOUTS[layout]
        self.sizes = self.layout.sizes(len(cases), tail)
        self.places = {"x": self.layout.first, "y": self.layout.second}

    func: Any
    operands: dict[str, torch.Tensor]

    @abstractmethod
    def draw(self, k: int, name: str, shape: tuple[int, ...]) -> torch.Tensor:
        """Numbers for an operand of case k: the same whatever other cases there are."""

    @abstractmethod
    def results(self) -> Tensors:
        """Tensors for results, full of what no case gives."""

    @abstractmethod
    def part(self, results: Tensors, k: int) -> torch.Tensor:
        """What case k wrote."""

    @abstractmethod
    def bound(self, k: int, exact: torch.Tensor) -> torch.Tensor:
        """The largest error each element of case k may have."""

    @abstractmethod
    def upstream_error(self, k: int) -> torch.Tensor:
        """What TileLang's CPU backend may be off beyond a rounding."""

    def operands_of(self, k: int) -> Tensors:
        return [place.spread(place.part(self.operands[name], k, self.sizes)) for name, place in self.places.items()]

    def operand(self, name: str) -> torch.Tensor:
        place = self.places[name]
        tensor = torch.zeros(place.shape(self.sizes), dtype=torch.float64)
        for k in range(len(self.cases)):
            part = place.part(tensor, k, self.sizes)
            part.copy_(self.draw(k, name, tuple(part.shape)))
        return (tensor.to(self.dtype).double() + 0.0).to(self.dtype)  # no zero is negative: the chip keeps no such sign

    def unset(self, *shape: int) -> torch.Tensor:
        return torch.full(shape, 77.0).to(self.dtype)

    def run(self, arch: str) -> dict[str, Tensors]:
        """Each case's result in every numerics mode."""
        kernel = tilelang.compile(
            self.func, target={"kind": "tenstorrent", "grid": "2x1", "arch": arch, "scalar_code": False}
        )
        return {mode: self._call(lambda *arguments, mode=mode: launch_in(mode, kernel, arguments)) for mode in MODES}

    def run_upstream(self) -> Tensors:
        """Each case's result by TileLang's CPU backend."""
        return self._call(CpuKernel(self.func))

    def _call(self, kernel: Callable[..., None]) -> Tensors:
        starts = torch.arange(len(self.cases), dtype=torch.int32) * self.sizes.rows
        results = self.results()
        kernel(*self.operands.values(), *([starts] if self.layout.starts else []), *results)
        return [self.part(results, k).double() for k in range(len(self.cases))]

    def error(self, k: int, got: torch.Tensor, upstream: torch.Tensor | None) -> float:
        """The largest error of case k, in units of its bound."""
        x, y = self.operands_of(k)
        exact = self.cases[k].reference(x.double(), y.double()).expand_as(got)
        if not self.dtype.is_floating_point:
            right = torch.equal(got, exact) and (upstream is None or torch.equal(got, upstream))
            return 0.0 if right else math.inf
        bound = self.bound(k, exact).expand_as(exact)
        held = exact.abs() <= torch.finfo(self.dtype).max
        worst = largest_share((got - exact)[held], bound[held])
        if upstream is not None:  # which rounds, too
            apart = bound + C_LIBRARY_ULP * last_place(exact) + UNIT[self.dtype] * exact.abs() + self.upstream_error(k)
            worst = max(worst, largest_share((got - upstream)[held], apart[held]))
        return worst


class ElementTrial(Trial):
    """Element by element; floats of any type are computed as float32."""

    def __init__(self, cases: Sequence[Case], dtype: str, layout: str, tail: bool) -> None:
        super().__init__(cases, dtype, layout, tail)
        functions = [computed_in_float32(case) if self.dtype.is_floating_point else case.kernel for case in cases]
        self.func = element_kernel(self.layout, self.sizes, dtype, functions)
        self.operands = {name: self.operand(name) for name in self.places}

    def draw(self, k: int, name: str, shape: tuple[int, ...]) -> torch.Tensor:
        drawn: torch.Tensor = self.cases[k].draw(getattr(self.cases[k], name), shape, generator(name))
        return drawn

    def results(self) -> Tensors:
        return [self.unset(*self.layout.first.shape(self.sizes))]

    def part(self, results: Tensors, k: int) -> torch.Tensor:
        return self.layout.first.part(results[0], k, self.sizes)

    def bound(self, k: int, exact: torch.Tensor) -> torch.Tensor:
        bound: torch.Tensor = self.cases[k].bound(exact, self.dtype)
        return bound

    def upstream_error(self, _: int) -> torch.Tensor:
        return torch.zeros(())


class BlockTrial(Trial):
    """Statements on whole blocks, one per case."""

    def __init__(self, cases: Sequence[BlockCase], dtype: str, layout: str, tail: bool) -> None:
        super().__init__(cases, dtype, layout, tail)
        self.sizes = block_sizes(len(cases), tail)
        texts = [(case.result, case.statements) for case in cases]
        self.func = block_kernel(self.layout, self.sizes, dtype, texts)
        self.operands = {name: self.operand(name) for name in self.places}

    def draw(self, k: int, name: str, shape: tuple[int, ...]) -> torch.Tensor:
        return torch.randn(shape, generator=generator(self.cases[k].op + name), dtype=torch.float64)

    def results(self) -> Tensors:
        vectors = (self.layout.batch, self.sizes.cases, self.sizes.rows)
        return [self.unset(*shape) for shape in (self.layout.first.shape(self.sizes), vectors, vectors)]

    def part(self, results: Tensors, k: int) -> torch.Tensor:
        matrices, rows, columns = results
        result = self.cases[k].result
        if result == MATRIX:
            return self.layout.first.part(matrices, k, self.sizes)
        vectors = (rows if result == "row" else columns)[:, k]
        return vectors if self.layout.batch > 1 else vectors[0]

    def bound(self, k: int, exact: torch.Tensor) -> torch.Tensor:
        bound: torch.Tensor = self.cases[k].bound(*self.operands_of(k), exact)
        return bound

    def upstream_error(self, k: int) -> torch.Tensor:
        """It adds in the type of the block."""
        if not self.cases[k].adds:
            return torch.zeros(())
        x, _ = self.operands_of(k)
        rows = (x.transpose(-1, -2) if self.cases[k].result == ROW else x).abs().double()
        return rows.sum(-1) * rows.shape[-1] * UNIT[self.dtype]


def generator(name: str) -> torch.Generator:
    return torch.Generator().manual_seed(zlib.crc32(name.encode()))


def launch_in(mode: str, kernel: Any, arguments: Sequence[torch.Tensor]) -> None:
    """A call of a kernel in a numerics mode it was not compiled for: its sources are the same."""
    bound = kernel.adapter.signature.bind(arguments)
    launch(kernel.compiled.plan, kernel.compiled.files, bound.tensors, bound.sizes, bound.scalars, numerics=mode)
    bound.finish()


def largest_share(error: torch.Tensor, bound: torch.Tensor) -> float:
    """Of the bound; an error of nothing is nothing of a bound of nothing."""
    share = torch.where(error == 0, 0.0, error.abs() / bound)
    return float(share.nan_to_num(nan=math.inf).max())


def computed_in_float32(case: Case) -> Callable[[Any, Any], Any]:
    return lambda x, y: case.kernel(T.cast(x, "float32"), T.cast(y, "float32"))
