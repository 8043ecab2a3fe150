"""Printing C++: indentation, names in scope, and which user line each printed line stems from."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager

from tilelang_tt.diagnostics import Location
from tilelang_tt.ir import scalar
from tilelang_tt.ir.kernel import ArgKind, Cb, For, If, Kernel, KernelStmt, Let, Source
from tilelang_tt.ir.scalar import Expr, Var
from tilelang_tt.runtime.plan import SourceLine

_INDENT = "    "
# Names a variable must not take: C++ words and SDK names that kernels use.
_RESERVED = frozenset(
    """
    alignas and auto bool break case catch char class const constexpr continue default delete do double else enum
    explicit extern false float for friend goto if inline int long mutable namespace new not operator or private
    public register return short signed sizeof static struct switch template this throw true try typedef typename
    union unsigned using virtual void volatile while xor
    kernel_main zero_tile tt std
    """.split()  # noqa: SIM905
)


class Printer:
    """Lines of one kernel file."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.lines: list[str] = []
        self.source_map: list[SourceLine] = []
        self.depth = 0
        self.scopes: list[dict[Var, str]] = [{}]
        self.location: Location | None = None

    def line(self, text: str = "") -> None:
        self.lines.append(_INDENT * self.depth + text if text else "")
        if self.location is not None and self.depth:
            entry = SourceLine(self.file, len(self.lines), self.location.file, self.location.line)
            self.source_map.append(entry)

    @property
    def text(self) -> str:
        return "\n".join(self.lines) + "\n"

    # --- names ------------------------------------------------------------------------------------

    def declare(self, var: Var) -> str:
        """A name for a new variable that hides nothing in scope."""
        taken = {name for scope in self.scopes for name in scope.values()} | _RESERVED
        name, count = str(var.name), 0
        while name in taken:
            count += 1
            name = f"{var.name}_{count}"
        self.scopes[-1][var] = name
        return name

    def reserve(self, name: str) -> None:
        """Keep a name of the file (a circular buffer, an accessor) from variables."""
        self.scopes[0][scalar.var(name)] = name

    def name(self, var: Var) -> str:
        return next(scope[var] for scope in reversed(self.scopes) if var in scope)

    def expr(self, expr: Expr) -> str:
        return scalar.to_c(expr, self.name)

    # --- structure --------------------------------------------------------------------------------

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        self.line(head + " {")
        self.depth += 1
        self.scopes.append({})
        before = self.location
        yield
        self.location = before
        self.scopes.pop()
        self.depth -= 1
        self.line("}")

    def source(self, location: Location) -> None:
        """A comment with the user's line, once where it changes."""
        if location != self.location:
            self.location = location
            self.line(f"// {os.path.basename(location.file)}:{location.line}  {location.text}".rstrip())

    def control(self, stmt: KernelStmt) -> bool:
        """Print a loop, branch, definition or source mark; False if it is none of these."""
        if isinstance(stmt, For):
            if stmt.location:
                self.source(stmt.location)
            start, stop = self.expr(stmt.start), self.expr(stmt.stop)
            self.scopes.append({})
            var = self.declare(stmt.var)
            step = f"++{var}" if stmt.step == 1 else f"{var} += {stmt.step}"
            with self.block(f"for (uint32_t {var} = {start}; {var} < {stop}; {step})"):
                self.body(stmt.body)
            self.scopes.pop()
        elif isinstance(stmt, If):
            self.branch(stmt)
        elif isinstance(stmt, Let):
            value = self.expr(stmt.value)
            self.line(f"const uint32_t {self.declare(stmt.var)} = {value};")
        elif isinstance(stmt, Source):
            self.source(stmt.location)
        else:
            return False
        return True

    def branch(self, stmt: If) -> None:
        condition = self.expr(stmt.condition)
        if not stmt.then:
            condition = self.expr(scalar.negate(stmt.condition))
        with self.block(f"if ({condition})"):
            self.body(stmt.then or stmt.otherwise)
        if stmt.then and stmt.otherwise:
            self.lines.pop()  # the closing brace: continued by else
            with self.block("} else"):
                self.body(stmt.otherwise)

    def body(self, body: tuple[KernelStmt, ...]) -> None:
        raise NotImplementedError

    def runtime_args(self, kernel: Kernel) -> None:
        for index, arg in enumerate(kernel.args):
            name = self.declare(arg.var) if arg.var is not None else arg.name
            comment = _ARG_COMMENT.get(arg.kind, "")
            if arg.size is not None and arg.size is not arg.var:
                comment = scalar.to_python(arg.size)
            note = f"  // {comment}" if comment else ""
            self.line(f"const uint32_t {name} = get_arg_val<uint32_t>({index});{note}")
            if arg.var is None:
                self.reserve(arg.name)


_ARG_COMMENT = {
    ArgKind.START: "first unit of work of this core",
    ArgKind.COUNT: "units of work of this core",
}


def cb_constant(cb: Cb) -> str:
    blocks = f"{cb.depth} block{'s' if cb.depth > 1 else ''} of " if cb.depth > 1 else ""
    return (
        f"constexpr uint32_t {cb_name(cb)} = tt::CBIndex::c_{cb.id};"
        f"  // {blocks}{cb.shape[0]} x {cb.shape[1]} tiles, {cb.format}"
    )


def cb_name(cb: Cb) -> str:
    return f"cb_{cb.name}"


def float_bits(value: float) -> str:
    """A float32 as the SFPU takes it: its bits, with the number beside them."""
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    return f"0x{bits:08x}u /* {value:.9g} */"
