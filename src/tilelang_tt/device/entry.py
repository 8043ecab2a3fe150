"""Entry points with parameters, for which the SDK's build writes kernel_main.

    template <uint32_t tiles>
    TT_KERNEL void reader(uint32_t first) { ... }
    ->  void kernel_main() { reader<get_arg(args::tiles)>(get_arg(args::first)); }

Template parameters are the compile-time arguments, the others runtime arguments; all are uint32_t and found by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tilelang_tt.device.descriptors import KernelBindings
from tilelang_tt.diagnostics import ArgumentError

_NO_CODE = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"", re.DOTALL)
_ENTRY = re.compile(r"(?:template\s*<([^<>]*)>\s*)?\bTT_KERNEL\b(?:\s+void\s+(\w+)\s*\(([^()]*)\))?")
_PARAMETER = re.compile(r"(?:const\s+)?(?:std::)?uint32_t\s+(\w+)")


def with_entry(text: str, names: KernelBindings | None, file: str) -> str:
    """The kernel with its kernel_main, which stands behind its last line."""
    if "TT_KERNEL" not in text:
        return text
    code = _NO_CODE.sub(" ", text)
    found = list(_ENTRY.finditer(code))
    if not found:
        return text
    if len(found) > 1 or found[0][2] is None:
        raise ArgumentError(
            "TT321", f"kernel {file}: TT_KERNEL marks one function, `TT_KERNEL void name(uint32_t argument)`"
        )
    template, function, parameters = found[0].groups(default="")
    if names is None:
        raise ArgumentError(
            "TT321", f"kernel {file}: '{function}' is marked TT_KERNEL, but the kernel has no KernelBindings"
        )
    constants, values = _names(template, file), _names(parameters, file)
    _require_same(
        constants, names.compile_time_args, f"template parameters of {function}", "compile-time arguments", file
    )
    runtime = (*names.runtime_args, *names.common_runtime_args)
    _require_same(values, runtime, f"parameters of {function}", "runtime arguments", file)
    given = ", ".join(f"get_arg(args::{name})" for name in constants)
    called = f"{function}<{given}>" if constants else function
    return f"{text}\nvoid kernel_main() {{ {called}({', '.join(f'get_arg(args::{name})' for name in values)}); }}\n"


def _names(parameters: str, file: str) -> list[str]:
    found = []
    for parameter in filter(None, (part.strip() for part in parameters.split(","))):
        match = _PARAMETER.fullmatch(parameter)
        if match is None:
            raise ArgumentError(
                "TT321", f"kernel {file}: '{parameter}' is no parameter of a TT_KERNEL: write `uint32_t name`"
            )
        found.append(match[1])
    return found


def _require_same(parameters: list[str], names: Iterable[str], what: str, of: str, file: str) -> None:
    bound = list(names)
    if set(parameters) != set(bound):
        raise ArgumentError(
            "TT321",
            f"kernel {file}: {what} are {', '.join(parameters) or 'none'}; its {of} are {', '.join(bound) or 'none'}",
        )
