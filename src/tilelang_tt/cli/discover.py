"""Find and build the kernel that `FILE.py`, `FILE.py:name` or `FILE.py:name(M=1024, ...)` means.

The file is imported under a name other than `__main__`, so a guarded `main()` does not run. A kernel is
a module-level `@tilelang.jit` function, a `@T.prim_func`, or a kernel the file compiled while imported.
"""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import inspect
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tilelang
from tilelang.autotuner.tuner import AutoTuneImpl
from tilelang.jit import JITImpl
from tvm.tirx import PrimFunc

from tilelang_tt.cli.host_stand_ins import host_stand_ins
from tilelang_tt.cli.variables import variable
from tilelang_tt.diagnostics import TenstorrentError
from tilelang_tt.execution.kernel import TenstorrentKernel
from tilelang_tt.target import NAME, normalize, options_of

MODULE_NAME = "tilelang_tt_user_file"


class UsageError(Exception):
    """The command line asks for something that is not there."""


@dataclass(frozen=True)
class Reference:
    """`FILE.py[:name[(arguments)]]`, taken apart."""

    path: Path
    name: str | None
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def parse_reference(text: str) -> Reference:
    file, colon, call = text.partition(".py:")
    path = Path(file + ".py" if colon else text)
    if not path.is_file():
        raise UsageError(f"there is no file {path}")
    if not call:
        return Reference(path, None, (), {})
    try:
        tree = ast.parse(call.strip(), mode="eval").body
        if isinstance(tree, ast.Name):
            return Reference(path, tree.id, (), {})
        if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name):
            args = tuple(ast.literal_eval(arg) for arg in tree.args)
            kwargs = {str(item.arg): ast.literal_eval(item.value) for item in tree.keywords}
            return Reference(path, tree.func.id, args, kwargs)
    except (SyntaxError, ValueError):
        pass
    raise UsageError(f"'{call}' is neither a name nor a call with literal arguments, as in mm(M=1024, N=1024)")


def load_kernel(text: str, target: str | None) -> TenstorrentKernel:
    """Import the file and build the kernel; `target` None: what the kernel says, or the default."""
    reference = parse_reference(text)
    default = target or NAME
    resolved = normalize(default)
    assert resolved is not None  # the command line accepts no other
    os.environ.setdefault("TILELANG_PRINT_ON_COMPILATION", "0")
    # What the file prints is no part of this command's output.
    with (
        variable("TILELANG_DEFAULT_TARGET", default),
        resolved,
        host_stand_ins(options_of(resolved).chip),
        contextlib.redirect_stdout(sys.stderr),
    ):
        kernels = _kernels_in(reference.path)
        return _build(_choose(reference, kernels), reference, target)


def _kernels_in(path: Path) -> dict[str, Any]:
    spec = importlib.util.spec_from_file_location(MODULE_NAME, path.resolve())
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[MODULE_NAME] = module
    sys.path.insert(0, str(path.resolve().parent))
    spec.loader.exec_module(module)
    found: dict[str, Any] = {}
    for name, value in vars(module).items():
        kernel = value.jit_impl if isinstance(value, AutoTuneImpl) else value
        is_kernel = isinstance(kernel, (JITImpl, PrimFunc, TenstorrentKernel))
        if is_kernel and not any(kernel is other for other in found.values()):
            found[name] = kernel
    return found


def _choose(reference: Reference, kernels: dict[str, Any]) -> tuple[str, Any]:
    path = reference.path
    if not kernels:
        raise UsageError(f"{path} has no kernel: no @tilelang.jit function and no @T.prim_func at module level")
    listing = "".join(f"\n  {path}:{name}{_signature(kernel)}" for name, kernel in kernels.items())
    if reference.name is not None:
        if reference.name not in kernels:
            raise UsageError(f"{path} has no kernel '{reference.name}'; it has{listing}")
        return reference.name, kernels[reference.name]
    if len(kernels) > 1:
        raise UsageError(f"{path} has {len(kernels)} kernels; name one of{listing}")
    return next(iter(kernels.items()))


def _signature(kernel: Any) -> str:
    if isinstance(kernel, JITImpl):
        return str(inspect.signature(kernel.func.orig_func))
    return " (compiled)" if isinstance(kernel, TenstorrentKernel) else " (prim_func)"


def _build(named: tuple[str, Any], reference: Reference, target: str | None) -> TenstorrentKernel:
    name, kernel = named
    if isinstance(kernel, JITImpl):
        func = _elaborate(name, kernel, reference)
        own = kernel.target if kernel.target is not None and _is_ours(kernel.target) else NAME
        return _compile(func, kernel.out_idx, target or own)
    if reference.args or reference.kwargs:
        raise UsageError(f"'{name}' of {reference.path} takes no arguments: it is already built")
    if isinstance(kernel, TenstorrentKernel):
        return kernel if target is None else _compile(kernel.prim_func, kernel.out_idx, target)
    return _compile(kernel, None, target or NAME)


def _elaborate(name: str, kernel: Any, reference: Reference) -> PrimFunc:
    try:
        return kernel.get_tir(*reference.args, **reference.kwargs)
    except TenstorrentError:
        raise
    except Exception as error:
        raise UsageError(
            f"'{name}' of {reference.path} cannot be built from ({_arguments(reference)}): {error}\n"
            f"  it is {name}{_signature(kernel)}; give its arguments and sizes, as in\n"
            f"  '{reference.path}:{name}(M=1024, N=1024, K=1024, block_M=128)'"
        ) from error


def _arguments(reference: Reference) -> str:
    given = [repr(arg) for arg in reference.args]
    return ", ".join(given + [f"{name}={value!r}" for name, value in reference.kwargs.items()])


def _is_ours(target: Any) -> bool:
    return normalize(target) is not None


def _compile(func: PrimFunc, out_idx: Any, target: Any) -> TenstorrentKernel:
    own_outputs = bool(func.attrs) and "tilelang_out_idx" in func.attrs
    kernel: TenstorrentKernel = tilelang.compile(func, out_idx=None if own_outputs else out_idx, target=target)
    return kernel
