"""What the SDK's build puts before a kernel that knows its arguments by name.

    KernelBindings(runtime_args=["rows"], buffers={"in": 0}, tensors={"src": a})
    ->  namespace args { constexpr experimental::RtaArg<uint32_t> rows{0}; }
        namespace dfb { constexpr DFBBindingToken in{0}; }
        namespace tensor { constexpr tensor_accessor::TensorBindingToken<0, 0> src{}; }

The words of a tensor's accessor follow the kernel's own compile-time arguments, its address the named common ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tilelang_tt.device.descriptors import KernelBindings, KernelDescriptor, TensorAccessorArgs
from tilelang_tt.diagnostics import ArgumentError

WORD = 4  # bytes
_HEADERS = (
    "experimental/kernel_args.h",
    "api/dataflow/dataflow_buffer.h",
    "api/tensor/tensor_binding_token.h",
)


@dataclass(frozen=True)
class Bound:
    """A kernel's arguments with those that come from names, and the text that declares the names."""

    compile_time_args: Sequence[int]
    common_runtime_args: Sequence[int]
    declarations: str = ""


def bind(kernel: KernelDescriptor, file: str) -> Bound:
    names = kernel.bindings
    if names is None:
        return Bound(kernel.compile_time_args, kernel.common_runtime_args)
    _check(names, kernel, file)
    named = len(names.common_runtime_args)
    words = list(kernel.compile_time_args)
    tokens = []
    for index, (name, tensor) in enumerate(names.tensors.items()):
        token = f"tensor_accessor::TensorBindingToken<{len(words)}, {(named + index) * WORD}>"
        tokens += [f"using {name}_t = ::{token};", f"constexpr {name}_t {name}{{}};"]
        words += TensorAccessorArgs(tensor).get_compile_time_args()
    addresses = [tensor.buffer_address() for tensor in names.tensors.values()]
    common = [*kernel.common_runtime_args[:named], *addresses, *kernel.common_runtime_args[named:]]
    return Bound(words, common, _declarations(names, tokens, named + len(addresses)))


def _declarations(names: KernelBindings, tokens: Iterable[str], common_words: int) -> str:
    arguments = [
        *_offsets("RtaArg", names.runtime_args),
        *_offsets("CrtaArg", names.common_runtime_args),
        *(f"constexpr experimental::CtaVal<uint32_t> {name}{{{value}u}};" for name, value in _values(names)),
    ]
    lines = [
        *(f'#include "{header}"' for header in _HEADERS),
        *_namespace("args", arguments),
        *_namespace("dfb", (f"constexpr DFBBindingToken {name}{{{cb}}};" for name, cb in names.buffers.items())),
        *_namespace("sem", (f"constexpr uint32_t {name} = {number};" for name, number in names.semaphores.items())),
        *_namespace("tensor", tokens),
        *_vararg("get_vararg", "get_arg_val", len(names.runtime_args)),
        *_vararg("get_common_vararg", "get_common_arg_val", common_words),
    ]
    return "\n".join(lines)


def _values(names: KernelBindings) -> Iterable[tuple[str, int]]:
    return ((name, value & 0xFFFFFFFF) for name, value in names.compile_time_args.items())


def _offsets(kind: str, names: Sequence[str]) -> Iterable[str]:
    return (f"constexpr experimental::{kind}<uint32_t> {name}{{{WORD * at}}};" for at, name in enumerate(names))


def _namespace(name: str, lines: Iterable[str]) -> list[str]:
    return [f"namespace {name} {{", *lines, "}"]


def _vararg(name: str, call: str, first: int) -> list[str]:
    return [
        f"FORCE_INLINE uint32_t {name}(uint32_t index, VD_LINE)",
        f"{{ return {call}<uint32_t>({first} + static_cast<int>(index), line); }}",
    ]


def _check(names: KernelBindings, kernel: KernelDescriptor, file: str) -> None:
    arguments = (*names.runtime_args, *names.common_runtime_args, *names.compile_time_args)
    for kind in (arguments, names.buffers, names.semaphores, names.tensors):
        for name in kind:
            if not name.isidentifier() or list(kind).count(name) > 1:
                raise ArgumentError("TT321", f"kernel {file}: {name!r} is no name of its own for a binding")
    if len(kernel.common_runtime_args) < len(names.common_runtime_args):
        raise ArgumentError(
            "TT321",
            f"kernel {file} names {len(names.common_runtime_args)} common runtime arguments and has "
            f"{len(kernel.common_runtime_args)}",
        )
