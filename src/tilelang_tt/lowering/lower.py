"""`tilelang_tt.lower`: one kernel, any target, one kind of answer.

    lower(gemm, "cuda")          CUDA C++ from TileLang's own pipeline
    lower(gemm, "tenstorrent")   TT-Metalium kernels from ours
    lower(gemm, "llvm")          error[TT520]: ... is built without LLVM

Every target but ours goes through TileLang's engine as it is; what this file adds is the scope that the engine expects
to stand in, plain loops for processors, and a sentence where TileLang answers with an internal error.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Mapping
from typing import Any

from tvm.ir import IRModule
from tvm.target import Target
from tvm.tirx import PrimFunc

from tilelang_tt import target as ours
from tilelang_tt import tilelang_hooks as hooks
from tilelang_tt.diagnostics import EnvironmentProblem, TargetError, TenstorrentError, UnsupportedError
from tilelang_tt.lowering.artifact import CompiledArtifact, artifact_of
from tilelang_tt.lowering.reason import reason_of
from tilelang_tt.lowering.rows import ALIASES, ROWS, Row
from tilelang_tt.version import TILELANG_VERSION

_NAMES = f"targets: {', '.join(ROWS)}"


def lower(
    func_or_module: Any,
    target: Any = None,
    *,
    build: bool = False,
    pass_configs: Mapping[str, Any] | None = None,
) -> CompiledArtifact:
    """The kernel for `target`, not run. None: TILELANG_DEFAULT_TARGET, a `with Target(...)` scope, or what is found.

    `build`: also compile its device code, so that `rt_mod` is there for targets that TVM's runtime loads.
    """
    functions = functions_of(func_or_module)
    resolved, row = resolve(target)
    missing = row.missing("build" if build else "emit")
    if missing is not None:
        code, verb = ("TT521", "built on this machine") if row.missing("emit") is None else ("TT520", "emitted")
        raise EnvironmentProblem(code, f"target '{row.kind}' cannot be {verb}: {missing}")
    configs = hooks.normalize_pass_configs({**row.configs, **(pass_configs or {})})
    # TVM builds modules for targets that its runtime loads. C, and our kernels, are compiled when they are first run.
    whole = build and row.kind not in ("c", ours.NAME)
    try:
        with contextlib.redirect_stdout(sys.stderr):  # TileLang prints what it did not find
            lowered = hooks.lower_in_scope(_module_of(row, func_or_module, functions), resolved, configs, whole)
    except TenstorrentError:
        raise
    except Exception as error:
        raise _refused(error, row, functions, build=whole) from error
    return artifact_of(lowered, row, functions, configs)


def functions_of(func_or_module: Any) -> tuple[PrimFunc, ...]:
    if isinstance(func_or_module, PrimFunc):
        return (func_or_module,)
    if isinstance(func_or_module, IRModule):
        return tuple(func_or_module.functions.values())
    raise UnsupportedError(
        "TT196",
        f"a {type(func_or_module).__name__} is neither a function of TileLang nor a module of them",
        help="of a @tilelang.jit function, pass kernel.get_tir(...) with its arguments",
    )


def resolve(target: Any) -> tuple[Target, Row]:
    """The target that was meant, and its row."""
    if target is None:
        target = hooks.env.get_default_target()
    meant = _spelled_out(target) if isinstance(target, str) else target
    try:
        with contextlib.redirect_stdout(sys.stderr):  # TileLang prints what it did not find
            resolved = hooks.determine_target(meant, return_object=True)
    except TenstorrentError:
        raise
    except Exception as error:
        raise _nothing_found() if target == "auto" else _no_target(target, error) from error
    kind = ours.NAME if ours.is_tenstorrent(resolved) else str(resolved.kind.name)
    if kind not in ROWS:
        raise TargetError("TT620", f"target '{target}' is not known here", help=_NAMES)
    return resolved, ROWS[kind]


def _no_target(target: Any, error: Exception) -> TargetError:
    kind = str(target.get("kind", "")) if isinstance(target, Mapping) else str(target).partition(" ")[0]
    if ALIASES.get(kind, kind) not in ROWS:
        return TargetError("TT620", f"there is no target '{target}'", help=_NAMES)
    reason = reason_of(error.__cause__ or error)  # TVM's own; TileLang says what to pass instead
    return TargetError("TT620", f"TileLang {TILELANG_VERSION} has no target '{target}': {reason}")


def _nothing_found() -> TargetError:
    return TargetError(
        "TT621",
        "no target is given, and this machine has neither a GPU nor a Tenstorrent card",
        help=f"name one of {', '.join(ROWS)}, or set TILELANG_DEFAULT_TARGET",
    )


def _spelled_out(text: str) -> Any:
    """As TVM wants it: `cuda -arch=sm_90a` is a dict, and a bare name what it means on this machine. Our own spellings
    stay as they are, and so do names that nobody here knows."""
    head, *options = text.split() or [""]
    head = ALIASES.get(head, head)
    if head not in ROWS or (options and head == ours.NAME):
        return text.strip()
    pairs = (option.lstrip("-").partition("=") for option in options)
    return {"kind": head, **{name: value for name, _, value in pairs}} if options else ROWS[head].bare()


def _module_of(row: Row, given: Any, functions: tuple[PrimFunc, ...]) -> Any:
    if isinstance(given, PrimFunc):
        return row.prepare(given)
    return IRModule({variable: row.prepare(func) for variable, func in zip(given.functions, functions, strict=True)})


def _refused(error: Exception, row: Row, functions: tuple[PrimFunc, ...], *, build: bool) -> TenstorrentError:
    names = ", ".join(f"'{func.attrs['global_symbol']}'" for func in functions)
    verb = "built" if build else "lowered"
    return UnsupportedError(
        "TT194",
        f"{names} cannot be {verb} for target '{row.kind}' by TileLang {TILELANG_VERSION}: {reason_of(error)}",
    )
