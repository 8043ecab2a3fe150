"""What a device computed, kept under everything that it depends on, so that a long run can be stopped and gone on with.

    device, plan, sources, sizes, numbers, tensors that are read  ->  key  ->  the tensors that were written

A kernel that the compiler writes differently has another key and runs; one whose launch failed is not kept.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from tilelang_tt.cli.inputs import written
from tilelang_tt.runtime.plan import Plan
from tilelang_tt.runtime.ttnn_launch import resolve


class Recorded:
    """Results in a folder, one file each."""

    def __init__(self, folder: Path, device: Mapping[str, Any]) -> None:
        self.folder = folder
        self.device = device
        folder.mkdir(parents=True, exist_ok=True)

    def file(
        self,
        plan: Plan,
        sources: Mapping[str, str],
        tensors: Mapping[str, torch.Tensor],
        sizes: Mapping[str, int],
        scalars: Mapping[str, int | float] = {},
    ) -> Path:
        """Where the result of this very launch is, or will be."""
        request = resolve(plan, sources, sizes, scalars)
        digest = hashlib.sha256(json.dumps([self.device, request], sort_keys=True).encode())
        for tensor in plan.tensors:
            value = tensors[tensor.name]
            digest.update(f"{tensor.name} {value.dtype} {tuple(value.shape)}".encode())
            if plan.access(tensor) != "write":
                digest.update(value.contiguous().view(torch.uint8).numpy().tobytes())
        return self.folder / f"{digest.hexdigest()}.pt"

    @staticmethod
    def fill(file: Path, tensors: Mapping[str, torch.Tensor]) -> bool:
        """The recorded results into `tensors`; False if there are none."""
        if not file.exists():
            return False
        for name, value in torch.load(file, weights_only=True).items():
            tensors[name].copy_(value)
        return True

    @staticmethod
    def keep(file: Path, plan: Plan, tensors: Mapping[str, torch.Tensor]) -> None:
        part = file.with_suffix(".part")
        torch.save({name: tensors[name] for name in written(plan)}, part)
        part.rename(file)
