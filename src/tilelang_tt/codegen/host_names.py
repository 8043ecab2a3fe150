"""C++ spellings of what a plan names: sizes, scalars, tensors, launches.

    plan    sizes M, new      tensors A, B.t
    C++     args.M, args.new_ tensors.A, tensors.B_t

Sizes and tensors are fields of structs of their own, so only keywords, macros and the types of the fields are
in the way. Files and the command line use the plan's own spelling.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass

from tilelang_tt.codegen.host_expression import cpp_size
from tilelang_tt.diagnostics import InternalError
from tilelang_tt.runtime.plan import Param, Plan, Size
from tilelang_tt.runtime.unit_lists import list_tensors

# C++ keywords; types of the fields and macros of the standard headers.
_RESERVED_WORDS = """
alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t char8_t
class co_await co_return co_yield compl concept const const_cast consteval constexpr constinit continue
decltype default delete do double dynamic_cast else enum explicit export extern false float for friend
goto if inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private
protected public register reinterpret_cast requires return short signed sizeof static static_assert
static_cast struct switch template this thread_local throw true try typedef typeid typename union unsigned
using virtual void volatile wchar_t while xor xor_eq

int64_t TileTensor NULL EOF NAN INFINITY OVERFLOW UNDERFLOW DOMAIN SING PLOSS TLOSS HUGE_VAL RAND_MAX
assert errno stdin stdout stderr linux unix
"""
_RESERVED = frozenset(_RESERVED_WORDS.split())


@dataclass(frozen=True)
class Names:
    """C++ spellings by the plan's names."""

    sizes: dict[str, str]
    scalars: tuple[Param, ...]  # that kernels take and that are not sizes
    scalar_fields: dict[str, str]
    tensor_fields: dict[str, str]
    launches: tuple[str, ...]  # functions, in the order of the launches

    @staticmethod
    def of(plan: Plan) -> Names:
        taken = {
            arg.scalar
            for launch in plan.launches
            for kernel in launch.kernels
            for arg in kernel.runtime_args
            if arg.scalar is not None
        }
        scalars = {param.name: param for param in plan.params if param.kind == "scalar"}
        if unknown := sorted(taken - scalars.keys()):
            raise InternalError("TT990", f"'{unknown[0]}' in the plan is not a scalar parameter")
        own = tuple(p for p in scalars.values() if p.name in taken and p.name not in plan.sizes)
        fields = _identifiers([*plan.sizes, *(param.name for param in own)])
        tensors = [tensor.name for tensor in (*plan.tensors, *list_tensors(plan))]
        return Names(
            sizes=dict(zip(plan.sizes, fields[: len(plan.sizes)], strict=True)),
            scalars=own,
            scalar_fields={p.name: field for p, field in zip(own, fields[len(plan.sizes) :], strict=True)},
            tensor_fields=dict(zip(tensors, _identifiers(tensors), strict=True)),
            launches=_identifiers(f"{launch.name}_workload" for launch in plan.launches),
        )

    @property
    def has_arguments(self) -> bool:
        """Whether the program takes sizes or scalars at all."""
        return bool(self.sizes or self.scalar_fields)

    @property
    def size_values(self) -> dict[str, str]:
        return {name: f"args.{field}" for name, field in self.sizes.items()}

    def size(self, size: Size) -> str:
        return cpp_size(size, self.size_values)

    def scalar_bits(self, name: str) -> str:
        """The 32 bits of a scalar; a 64-bit integer keeps its low word, as with every launcher."""
        if name in self.sizes:
            return f"static_cast<uint32_t>(args.{self.sizes[name]})"
        param = next(param for param in self.scalars if param.name == name)
        value = f"args.{self.scalar_fields[name]}"
        return f"std::bit_cast<uint32_t>({value})" if is_float(param) else f"static_cast<uint32_t>({value})"

    def tensor(self, name: str) -> str:
        if name not in self.tensor_fields:
            raise InternalError("TT990", f"'{name}' in the plan is not one of its tensors")
        return f"tensors.{self.tensor_fields[name]}"


def is_float(param: Param) -> bool:
    return param.dtype.startswith(("float", "bfloat"))


def string(text: str) -> str:
    """A C++ string literal."""
    return json.dumps(text, ensure_ascii=False)


def one_line(text: str) -> str:
    """Text that is safe in a `//` comment: no line break, no backslash that would continue it."""
    return " ".join(text.replace("\\", "/").split())


def _identifiers(names: Iterable[str]) -> tuple[str, ...]:
    """A distinct C++ identifier for each name, the name itself where it is one."""
    result: list[str] = []
    for name in names:
        word = re.sub(r"\W", "_", name, flags=re.ASCII)
        if not word or word[0].isdigit():
            word = f"_{word}"
        while word in _RESERVED or word in result:
            word += "_"
        result.append(word)
    return tuple(result)
