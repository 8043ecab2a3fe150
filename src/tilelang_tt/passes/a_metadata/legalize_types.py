"""A: compute in types that the chip has.

    before   Map C = A * B + 1i8                              A, B, C : int8
    after    Map C = a wrap of float32(A) * float32(B) + 1
    before   Copy x -> Y                                      x : float32, Y : int32
    after    Map Y_cast = int32(x) ; Copy Y_cast -> Y
    before   Reduce s = sum of X along j                      X, s : int32
    after    sums of pieces of the bits of X, small enough for float32, and s computed from these sums

DST holds floats and integers of 32 bits; products and reductions take floats only. Before this pass an expression may
have any type; after it every value in DST is a float32, an int32 or a truth value. `typed_values` rewrites
expressions, `integer_sums` reductions, `integer_products` products.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tilelang_tt.diagnostics import Location, UnsupportedError
from tilelang_tt.formats import FLOAT8, INTEGERS, format_of
from tilelang_tt.ir.buffers import Buffer, Memory, Region, unique_name, whole
from tilelang_tt.ir.elements import Apply, Element, ElementExpr, Number, value_type
from tilelang_tt.ir.facts import Facts
from tilelang_tt.ir.fields import children, with_children
from tilelang_tt.ir.ranges import Ranges
from tilelang_tt.ir.tile import Copy, Fill, Gemm, Launch, Loop, Map, Reduce, Stmt, TileProgram, reads, writes
from tilelang_tt.ops.conversion import SMALL_INTEGERS, WORDS
from tilelang_tt.ops.derived import to_float8
from tilelang_tt.ops.expressions import apply, cast, numeral
from tilelang_tt.passes.a_metadata.integer_products import products, small_sums
from tilelang_tt.passes.a_metadata.integer_sums import integer_reduction
from tilelang_tt.passes.a_metadata.typed_values import Values


def legalize_types(program: TileProgram) -> TileProgram:
    launches = []
    for launch in program.launches:
        legalizer = _Legalizer(launch, wide_dst=program.options.fp32_acc)
        launches.append(legalizer.run(Facts(program.sizes, launch.blocks)))
    return replace(program, launches=tuple(launches))


class _Legalizer:
    def __init__(self, launch: Launch, *, wide_dst: bool) -> None:
        self.launch = launch
        self.wide_dst = wide_dst
        self.names = launch.names
        self.new: list[Buffer] = []
        self.sums = {block: self.block(block.name, "float32", block.shape) for block in small_sums(launch)}

    def run(self, facts: Facts) -> Launch:
        body = self.body(self.launch.body, facts)
        buffers = tuple(block for block in (*self.launch.buffers, *self.new) if block not in self.sums)
        if not self.wide_dst:
            for buffer in buffers:
                _check_width(buffer)
        return replace(self.launch, buffers=buffers, body=body)

    def body(self, body: tuple[Stmt, ...], facts: Facts) -> tuple[Stmt, ...]:
        return tuple(new for stmt in body for new in self.stmt(stmt, facts))

    def stmt(self, stmt: Stmt, facts: Facts) -> Iterator[Stmt]:
        if nested := children(stmt):
            inner = facts.with_loop(stmt.var, stmt.extent) if isinstance(stmt, Loop) else facts
            yield with_children(stmt, tuple(self.body(part, inner) for part in nested))
        elif isinstance(stmt, Copy):
            yield from self.copy(stmt, facts)
        elif isinstance(stmt, Map):
            yield from self.map(stmt, facts)
        elif isinstance(stmt, Fill):
            yield from self.fill(stmt, facts)
        elif isinstance(stmt, Reduce) and _has_integers(stmt):
            for part in integer_reduction(stmt, self.block):
                yield from self.map(part, facts) if isinstance(part, Map) else (part,)
        elif isinstance(stmt, Gemm) and _has_integers(stmt):
            _check_product(stmt)
            for part in products(replace(stmt, c=self.sums.get(stmt.c, stmt.c)), self.block):
                yield from self.stmt(part, facts)
        else:
            yield stmt

    def block(self, like: str, dtype: str, shape: tuple[int, ...], location: Location | None = None) -> Buffer:
        buffer = Buffer(unique_name(f"{like}_{dtype}", self.names), dtype, shape, Memory.SHARED, location)
        self.names.add(buffer.name)
        self.new.append(buffer)
        return buffer

    # --- statements -------------------------------------------------------------------------------

    def map(self, stmt: Map, facts: Facts) -> Iterator[Stmt]:
        before: list[Stmt] = []

        def keep(value: ElementExpr, dtype: str) -> ElementExpr:
            if isinstance(value, Element | Number):
                return value
            block = self.block(stmt.dst.name, dtype, stmt.shape, stmt.location)
            before.append(Map(block, value, stmt.location))
            return Element(block)

        values = Values(Ranges(stmt.shape, facts), keep, wide_dst=self.wide_dst, location=stmt.location)
        dst = self.sums.get(stmt.dst, stmt.dst)
        typed = cast(self.with_sums(stmt.value), value_type(dst.dtype))
        value = values.stored(typed)
        if dst.dtype == "bfloat16" and self.wide_dst and _is_integer_cast(typed):
            value = apply("to_bfloat16", value)  # the packer rounds ties away from zero, and integers have many
        if dst.dtype in FLOAT8 and not (isinstance(value, Element) and value.buffer.dtype == dst.dtype):
            value = to_float8(value, dst.dtype)
        yield from before
        yield replace(stmt, dst=dst, value=value)

    def with_sums(self, expr: ElementExpr) -> ElementExpr:
        """Sums of products of bytes are small: their blocks hold floats."""
        if isinstance(expr, Element) and expr.buffer in self.sums:
            return cast(replace(expr, buffer=self.sums[expr.buffer]), expr.dtype)
        return replace(expr, args=tuple(map(self.with_sums, expr.args))) if isinstance(expr, Apply) else expr

    def fill(self, stmt: Fill, facts: Facts) -> Iterator[Stmt]:
        """Small integers are stored as floats."""
        dst = self.sums.get(stmt.dst, stmt.dst)
        if dst.dtype in WORDS:
            yield from self.map(Map(dst, numeral(stmt.value, dst.dtype), stmt.location), facts)
        elif dst.dtype in SMALL_INTEGERS:
            yield replace(stmt, value=float(numeral(stmt.value, dst.dtype).value))
        else:
            yield replace(stmt, dst=dst, value=float(stmt.value != 0) if dst.dtype == "bool" else stmt.value)

    def copy(self, copy: Copy, facts: Facts) -> Iterator[Stmt]:
        """A copy that casts becomes a Map; between tensors and blocks with a further block in between."""
        source, target = copy.src.source, copy.dst.source
        if not _is_computed(source.dtype, target.dtype) and not {source, target} & self.sums.keys():
            yield copy
            return
        src = self.whole_block(copy.src, copy.location)
        dst = self.whole_block(copy.dst, copy.location)
        if src is not source:
            yield Copy(copy.src, whole(src), copy.location)
        yield from self.map(Map(dst, Element(src), copy.location), facts)
        if dst is not target:
            yield Copy(whole(dst), copy.dst, copy.location)

    def whole_block(self, region: Region, location: Location | None) -> Buffer:
        """The block that a region is, or a new one for it."""
        if isinstance(region.source, Buffer) and region.extents == region.source.shape:
            return region.source
        shape = tuple(extent for extent in region.extents if extent != 1)
        return self.block(region.source.name, region.source.dtype, shape, location)


def _is_integer_cast(expr: ElementExpr) -> bool:
    return isinstance(expr, Apply) and expr.op == "cast" and expr.args[0].dtype not in ("float32", "bool")


def _is_computed(source: str, target: str) -> bool:
    """Whether a copy between these types must change the numbers, not only their format."""
    return value_type(source) != value_type(target) or (target in FLOAT8 and source != target)


def _has_integers(stmt: Reduce | Gemm) -> bool:
    return any(buffer.dtype in INTEGERS for buffer in (*reads(stmt), *writes(stmt)))


def _check_product(stmt: Gemm) -> None:
    """The matrix engine multiplies floats; bytes are split into halves, which it reads exactly."""
    for factor in (stmt.a, stmt.b):
        if factor.dtype in INTEGERS and factor.dtype not in ("int8", "uint8", "bool"):
            _refuse_product(factor, stmt, "int8, uint8 or float32")
        if stmt.c.dtype in INTEGERS and factor.dtype not in INTEGERS:
            _refuse_product(stmt.c, stmt, "float32")
    if stmt.c.dtype in (*SMALL_INTEGERS, "bool"):
        _refuse_product(stmt.c, stmt, "int32")


def _refuse_product(buffer: Buffer, stmt: Gemm, instead: str) -> None:
    raise UnsupportedError(
        "TT140",
        f"'{buffer.name}' has dtype {buffer.dtype}; T.gemm multiplies floats, or bytes into 32-bit integers",
        location=stmt.location,
        help=f"make it a block of {instead}; T.copy casts it",
    )


def _check_width(buffer: Buffer) -> None:
    if buffer.dtype in INTEGERS and format_of(buffer.dtype, "float32") != "Float16_b":
        raise UnsupportedError(
            "TT142",
            f"'{buffer.name}' has dtype {buffer.dtype}, which a 16-bit DST cannot hold",
            location=buffer.location,
            help="leave out target option fp32_acc=false",
        )
