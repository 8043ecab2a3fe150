"""Tenstorrent backend for TileLang. Importing it makes target="tenstorrent" known.

`lower` compiles a kernel for any target of TileLang, `cpu_kernel` makes a callable of one without any accelerator.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tilelang_tt.environment import let_tilelang_have_a_folder, require_tilelang
from tilelang_tt.version import __version__

if TYPE_CHECKING:
    from tilelang_tt.cpu.kernel import CpuKernel
    from tilelang_tt.lowering.artifact import CompiledArtifact

__all__ = ["__version__", "cpu_kernel", "lower", "register"]


def register() -> None:
    """Make target="tenstorrent" known; an import of this package has done so already.

    In this order: the import of the backend presumes the TileLang that the checks ask for.
    """
    require_tilelang()
    let_tilelang_have_a_folder()

    from tilelang_tt.hook_table import require_hooks

    require_hooks()

    from tilelang_tt import backend, short_errors

    backend.register()
    short_errors.install()


def lower(
    func_or_module: Any,
    target: Any = None,
    *,
    build: bool = False,
    pass_configs: Mapping[str, Any] | None = None,
) -> CompiledArtifact:
    """A kernel's host module, device module, parameters and source for `target`: cuda, hip, c, llvm, webgpu, metal,
    tenstorrent, or any of them with options. None means what TileLang's default means. Nothing is run.

    `build` also compiles the device code. See docs/targets.md.
    """
    from tilelang_tt.lowering.lower import lower as lowered

    return lowered(func_or_module, target, build=build, pass_configs=pass_configs)


def cpu_kernel(func: Any) -> CpuKernel:
    """A tile kernel as a function of host tensors, compiled to C: it takes every parameter and writes results in place.

    Blocks round to their element types, as they do on a chip. Slow, and independent of the compiler for Tenstorrent.
    """
    from tilelang_tt.cpu.kernel import CpuKernel

    return CpuKernel(func, rounds=True)


# The command registers when it knows that it needs to.
if not getattr(sys.modules.get("tilelang_tt_launcher"), "started", False):
    register()
