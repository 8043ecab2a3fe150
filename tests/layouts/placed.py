"""Run a kernel with tensors placed by the target option, and compare with a reference that shares no code."""

from typing import Any

import tilelang
import torch


def compiled(func: Any, layout: dict[str, Any] | None = None, **options: Any) -> Any:
    return tilelang.compile(func, target={"kind": "tenstorrent", "layout": layout or {}, **options})


def check(
    func: Any, tensors: dict[str, torch.Tensor], expected: dict[str, torch.Tensor], layout: Any = None, **options: Any
) -> Any:
    """Every bit of `expected` is found, other tensors keep theirs. The kernel, with its report."""
    kernel, given = compiled(func, layout, **options), {name: tensor.clone() for name, tensor in tensors.items()}
    kernel(*given.values())
    for name, tensor in given.items():
        wanted = expected.get(name, tensors[name])
        assert torch.equal(tensor, wanted.to(tensor.dtype)), f"'{name}' is wrong"
    return kernel


def moved(kernel: Any) -> tuple[int, int]:
    """Bytes over the NoC in the latest call: read, written."""
    counted = kernel.last_report.statistics
    return int(counted["noc_read_bytes"]), int(counted["noc_write_bytes"])


def whole(*shape: int, dtype: torch.dtype = torch.bfloat16, most: int = 3, seed: int = 0) -> torch.Tensor:
    """Small whole numbers: exact in every format here."""
    generator = torch.Generator().manual_seed(seed + len(shape))
    return torch.randint(-most, most + 1, shape, generator=generator).to(dtype)
