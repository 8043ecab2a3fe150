"""Find and build the kernel that `FILE.py`, `FILE.py:name` or `FILE.py:name(M=1024, ...)` means.

The file is imported under a name other than `__main__`, so a guarded `main()` does not run. A kernel is
a module-level `@tilelang.jit` function, a `@T.prim_func`, or a kernel the file compiled while imported. With `--run`,
and where only a file is named that has no such kernel without arguments, it is a script that is run to its end, and the
kernel is one that it asked for: any factory, any arguments.
"""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import inspect
import os
import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tvm.tirx import PrimFunc

from tilelang_tt.cli.host_stand_ins import host_stand_ins
from tilelang_tt.cli.run import run_as_script
from tilelang_tt.cli.usage import UsageError, existing_file
from tilelang_tt.cli.variables import variable
from tilelang_tt.diagnostics import TenstorrentError
from tilelang_tt.execution.kernel import TenstorrentKernel, watchers
from tilelang_tt.target import NAME, normalize, options_of
from tilelang_tt.tilelang_hooks import AutoTuneImpl, JITImpl, tilelang

MODULE_NAME = "tilelang_tt_user_file"


class OnlyScriptBuildsError(UsageError):
    """A file is named alone, and nothing in it is a kernel as it stands."""

    def __init__(self, why: str, more: str) -> None:
        super().__init__(why + more)
        self.why = why


@dataclass(frozen=True)
class Reference:
    """`FILE.py[:name[(arguments)]]`, taken apart."""

    path: Path
    name: str | None
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def parse_reference(text: str) -> Reference:
    file, colon, call = text.partition(".py:")
    path = existing_file(file + ".py" if colon else text)
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


def kernel_of(arguments: Namespace) -> TenstorrentKernel:
    """The kernel that a command line means."""
    found_none = UsageError(f"{arguments.kernel} ran, but built no Tenstorrent kernel")
    if not arguments.run_script:
        try:
            return load_kernel(arguments.kernel, arguments.target)
        except OnlyScriptBuildsError as error:
            print(f"{error.why}: it runs as a script, as with --run", file=sys.stderr)
            found_none = error
    with _answers(arguments.target):
        return _from_script(arguments.kernel, arguments.script_args, arguments.target, found_none)


def load_kernel(text: str, target: str | None) -> TenstorrentKernel:
    """Import the file and build the kernel; `target` None: what the kernel says, or the default."""
    reference = parse_reference(text)
    with _answers(target):
        return _build(_choose(reference, _kernels_in(reference.path)), reference, target)


@contextlib.contextmanager
def _answers(target: str | None) -> Iterator[None]:
    """While a user's file runs: the target where it names none, a host in the place of CUDA."""
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
        yield


def _from_script(text: str, args: Sequence[str], target: str | None, found_none: UsageError) -> TenstorrentKernel:
    """Run a script to its end and take the kernel that it asked for; those of one name are numbered, `name@2`."""
    file, colon, name = text.partition(".py:")
    path = existing_file(file + ".py" if colon else text)
    found: list[TenstorrentKernel] = []
    watchers.append(found.append)
    try:
        run_as_script(path, args)
    finally:
        watchers.remove(found.append)
    named: dict[str, TenstorrentKernel] = {}
    for kernel in dict.fromkeys(found):
        own = kernel.compiled.name
        number = sum(key.partition("@")[0] == own for key in named)
        named[f"{own}@{number + 1}" if number else own] = kernel
    if not named:
        raise found_none
    listing = "".join(f"\n  {path}:{one}" for one in named)
    if not name and len(named) > 1:
        raise UsageError(f"{path} builds {len(named)} kernels; name one of{listing}")
    if name and name not in named:
        raise UsageError(f"{path} builds no kernel '{name}'; it builds{listing}")
    kernel = named[name] if name else next(iter(named.values()))
    return kernel if target is None else _compile(kernel.prim_func, kernel.out_idx, target)


@dataclass(frozen=True)
class JitFunction:
    """A `@tilelang.jit` function of the file that `load_kernel` has imported."""

    name: str
    parameters: tuple[inspect.Parameter, ...]
    given: dict[str, Any]  # what the reference says of them
    configs: tuple[dict[str, Any], ...] | None  # of `@tilelang.autotune`


def jit_function(reference: Reference) -> JitFunction | None:
    """What `load_kernel` has built the kernel from; None: the kernel was built already."""
    functions = {
        name: value
        for name, value in vars(sys.modules[MODULE_NAME]).items()
        if isinstance(value, (JITImpl, AutoTuneImpl)) and reference.name in (None, name)
    }
    if not functions:
        return None
    name, found = next(iter(functions.items()))
    tuned = isinstance(found, AutoTuneImpl)
    signature = inspect.signature((found.jit_impl if tuned else found).func.orig_func)
    sizes = {size: value for size, value in reference.kwargs.items() if size not in signature.parameters}
    own = {parameter: value for parameter, value in reference.kwargs.items() if parameter not in sizes}
    given = dict(signature.bind_partial(*reference.args, **own).arguments) | sizes
    configs = None
    if tuned:
        rows = found.configs(**given) if callable(found.configs) else found.configs
        configs = tuple({key: value for key, value in row.items() if key not in given} for row in rows)
    return JitFunction(name, tuple(signature.parameters.values()), given, configs)


def _kernels_in(path: Path) -> dict[str, Any]:
    if path.suffix != ".py":
        raise UsageError(f"{path} is not a Python file; write FILE.py, or FILE.py:kernel")
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
        why, more = f"{path} has no kernel", ": no @tilelang.jit function and no @T.prim_func at module level"
        raise UsageError(why + more) if reference.name else OnlyScriptBuildsError(why, more)
    listing = "".join(f"\n  {path}:{name}{_signature(kernel)}" for name, kernel in kernels.items())
    if reference.name is not None:
        if reference.name not in kernels:
            raise UsageError(f"{path} has no kernel '{reference.name}'; it has{listing}")
        return reference.name, kernels[reference.name]
    if len(kernels) > 1:
        why, more = f"{path} has {len(kernels)} kernels", f"; name one of{listing}"
        if all(isinstance(kernel, JITImpl) and _needed(kernel) for kernel in kernels.values()):
            raise OnlyScriptBuildsError(f"{why}, which take arguments", more)
        raise UsageError(why + more)
    return next(iter(kernels.items()))


def _signature(kernel: Any) -> str:
    if isinstance(kernel, JITImpl):
        return f"({', '.join((*_sizes(kernel), *map(str, _parameters(kernel).values())))})"
    return " (compiled)" if isinstance(kernel, TenstorrentKernel) else " (prim_func)"


def _parameters(kernel: JITImpl) -> dict[str, inspect.Parameter]:
    """Of a jit function, without the tensors of an eager one: their sizes are given instead."""
    every = inspect.signature(kernel.func.orig_func).parameters
    return {name: one for name, one in every.items() if name not in kernel.func.tensor_args}


def _sizes(kernel: JITImpl) -> list[str]:
    """What an eager function says with T.const, which is known when it has been traced."""
    return sorted({size.orig_name for template in kernel.func.p1_cache.values() for size in template.matcher or ()})


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
    place = f"'{name}' of {reference.path}"
    given = (*reference.args, *reference.kwargs.values())
    try:
        _bind(kernel, reference)
        if Ellipsis in given:
            raise TypeError("a value has to stand in the place of each ...")
    except TypeError as error:
        why = f"{place} takes {_signature(kernel)}"
        more = (
            f": {error}\n  write '{reference.path}:{name}({_needed(kernel)})', "
            "or add --run to take the kernel that the script builds when it runs"
        )
        raise (UsageError(why + more) if reference.name else OnlyScriptBuildsError(why, more)) from None
    try:
        return kernel.get_tir(*reference.args, **reference.kwargs)
    except TenstorrentError:
        raise
    except Exception as error:
        raise UsageError(
            f"{place} cannot be built from ({_arguments(reference)}): {error or type(error).__name__}\n"
            f"  it takes {_signature(kernel)}; a script that builds it works, too: add --run"
        ) from error


def _bind(kernel: JITImpl, reference: Reference) -> None:
    """Refuse, as Python does, arguments that are too many or too few."""
    if not kernel.func.tensor_args:
        inspect.signature(kernel.func.orig_func).bind(*reference.args, **reference.kwargs)
        return
    parameters = _parameters(kernel)
    if reference.args:
        raise TypeError("sizes and other arguments have to be given by name")
    with contextlib.suppress(TypeError, ValueError):  # it lacks sizes, and is traced so far that they are known
        kernel.get_tir(**{name: value for name, value in reference.kwargs.items() if name in parameters})
    required = [*_sizes(kernel), *(name for name, one in parameters.items() if one.default is one.empty)]
    if unknown := [name for name in reference.kwargs if name not in (*required, *parameters)]:
        raise TypeError(f"got an unexpected keyword argument '{unknown[0]}'")
    if missing := [name for name in required if name not in reference.kwargs]:
        raise TypeError(f"missing a required argument: '{missing[0]}'")


def _needed(kernel: Any) -> str:
    """A call as it has to be written, with values left open."""
    params = [one.name for one in _parameters(kernel).values() if one.default is one.empty]
    return ", ".join(f"{name}=..." for name in (*_sizes(kernel), *params))


def _arguments(reference: Reference) -> str:
    given = [repr(arg) for arg in reference.args]
    return ", ".join(given + [f"{name}={value!r}" for name, value in reference.kwargs.items()])


def _is_ours(target: Any) -> bool:
    return normalize(target) is not None


def _compile(func: PrimFunc, out_idx: Any, target: Any) -> TenstorrentKernel:
    own_outputs = bool(func.attrs) and "tilelang_out_idx" in func.attrs
    kernel: TenstorrentKernel = tilelang.compile(func, out_idx=None if own_outputs else out_idx, target=target)
    return kernel


def functions_in(text: str) -> tuple[dict[str, PrimFunc], Any]:
    """Every function that `FILE.py[:kernel[(arguments)]]` means, for any target, and the module of the file."""
    reference = parse_reference(text)
    with _answers(None):
        kernels = _kernels_in(reference.path)
        if reference.name is not None or len(kernels) < 2:
            kernels = dict([_choose(reference, kernels)])
        return {name: _function(name, kernel, reference) for name, kernel in kernels.items()}, sys.modules[MODULE_NAME]


def function_of(text: str) -> PrimFunc:
    """The one function that `FILE.py[:kernel[(arguments)]]` means, for any target."""
    reference = parse_reference(text)
    with _answers(None):
        name, kernel = _choose(reference, _kernels_in(reference.path))
        return _function(name, kernel, reference)


def _function(name: str, kernel: Any, reference: Reference) -> PrimFunc:
    if isinstance(kernel, JITImpl):
        return _elaborate(name, kernel, reference)
    return kernel.prim_func if isinstance(kernel, TenstorrentKernel) else kernel
