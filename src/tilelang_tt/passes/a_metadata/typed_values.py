"""Integer expressions for a machine that has floats and 32-bit words.

    before   A + B                      A, B : int8
    after    a wrap of float32(A) + float32(B)
    before   A % B                      A, B : int32
    after    A_rest, a block that earlier statements compute

An integer is computed as a float32, which holds whole numbers up to 2^24, or as a word: an int32 with its last 32 bits.
Types of 8 and 16 bits are stored as floats, and computed as floats while the results are small. Types of 32 bits are
words, unless their range shows that a float holds them. Whether a word has a sign matters only to divisions,
comparisons, extremes, right shifts and casts to floats, which have their own forms for unsigned words.
"""

from __future__ import annotations

from dataclasses import replace

from tilelang_tt.diagnostics import Location, UnsupportedError
from tilelang_tt.ir.elements import Apply, Element, ElementExpr, Index, Number, Scalar
from tilelang_tt.ir.ranges import BFLOAT16_WHOLE, FLOAT32_WHOLE, RESULTS, Range, Ranges, fits, type_range
from tilelang_tt.ops import ELEMENT_OPS
from tilelang_tt.ops.conversion import SMALL_INTEGERS, WORDS
from tilelang_tt.ops.expressions import apply, bitcast, cast, numeral
from tilelang_tt.ops.logic import COMPARISONS
from tilelang_tt.passes.a_metadata.word_arithmetic import WORD, Keep, chosen, divided, flipped, once, ordered, shifted

DIVISIONS = ("floor_div", "floor_mod", "trunc_div", "trunc_mod")
_RING = ("add", "sub", "mul")  # the last bits of a result come from the last bits of the operands
_SHIFTS = ("shift_left", "shift_right")
_BITS = ("bit_and", "bit_or", "bit_xor")
_LOGIC = {"bit_and": "and", "min": "and", "mul": "and", "bit_or": "or", "max": "or"}  # of truth values
_LONG = ("int64", "uint64")  # of expressions; no block has them


class Values:
    """The values of one statement."""

    def __init__(self, ranges: Ranges, keep: Keep, *, wide_dst: bool, location: Location | None) -> None:
        self.ranges = ranges
        self.keep = keep
        self.location = location
        self.wide_dst = wide_dst
        limit = FLOAT32_WHOLE if wide_dst else BFLOAT16_WHOLE
        self.whole = (-limit, limit)

    def stored(self, expr: ElementExpr) -> ElementExpr:
        """An expression of any type, in the form in which a block of that type stores it."""
        if expr.dtype in WORDS and not isinstance(expr, Element):
            return bitcast(self.word(expr), expr.dtype)
        if expr.dtype in SMALL_INTEGERS and not isinstance(expr, Element):
            return cast(self.float(expr), expr.dtype)
        return self.legal(expr)

    def legal(self, expr: ElementExpr) -> ElementExpr:
        """A float, as a float32, or a truth value."""
        if not isinstance(expr, Apply):
            return expr
        if expr.op in COMPARISONS:
            return self.comparison(expr)
        if expr.op == "cast":
            return self.truth_of(expr.args[0]) if expr.dtype == "bool" else self.float_of(expr.args[0])
        if expr.op == "bitcast":
            return bitcast(self.word(expr.args[0]), expr.dtype)
        if expr.dtype == "bool":
            return self.logic(expr)
        return replace(expr, args=tuple(map(self.legal, expr.args)))

    def logic(self, expr: Apply) -> ElementExpr:
        """Truth values: their bits, extremes and products are logic."""
        args = tuple(map(self.legal, expr.args))
        if expr.op == "bit_xor":
            return apply("ne", *(cast(arg, "float32") for arg in args))
        op = _LOGIC.get(expr.op, expr.op)
        if not ELEMENT_OPS[op].truth and op != "where":
            self.refuse(expr)
        return apply(op, *args)

    # --- integers as floats -----------------------------------------------------------------------

    def holds(self, expr: ElementExpr) -> bool:
        """Whether a float surely holds an integer."""
        return fits(self.ranges.of(expr), self.whole)

    def is_float(self, expr: ElementExpr) -> bool:
        """Whether an integer is computed as a float: it is small, and so is everything that it is computed from."""
        if not self.holds(expr):
            return False
        if not isinstance(expr, Apply):
            return not (isinstance(expr, Element) and expr.dtype in WORDS)
        if expr.op == "cast":
            source = expr.args[0]
            return source.dtype in ("bool", "float32") or self.is_float(source)
        if expr.op in (*_BITS, *_SHIFTS, "bitcast"):
            return False
        if expr.op in DIVISIONS:
            return self.divides_as_floats(expr)
        operands = expr.args[1:] if expr.op == "where" else expr.args
        return fits(self.ranges.exact(expr), self.whole) and all(map(self.is_float, operands))

    def float(self, expr: ElementExpr) -> ElementExpr:
        """An integer that a float holds, as a float32."""
        if not self.is_float(expr):
            return cast(self.word(expr), "float32")
        if isinstance(expr, Scalar):
            return Scalar(expr.expr, "float32")
        if not isinstance(expr, Apply):
            return cast(expr, "float32")
        if expr.op == "cast":
            return self.wrapped(self.float_of_cast(expr), self.ranges.exact(expr), expr.dtype)
        if expr.op in DIVISIONS:
            return self.wrapped(self.float_division(expr), self.ranges.exact(expr), expr.dtype)
        if expr.op in _RING:
            return self.wrapped(*self.unwrapped(expr), expr.dtype)
        first = [self.legal(expr.args[0])] if expr.op == "where" else []
        result = apply(expr.op, *first, *(self.float(arg) for arg in expr.args[len(first) :]))
        return self.wrapped(result, self.ranges.exact(expr), expr.dtype)

    def unwrapped(self, expr: ElementExpr) -> tuple[ElementExpr, Range]:
        """A float, and where it lies, that differs from an integer by a multiple of 2^n, n its bits.

        Operands of sums and products are wrapped only where a float would not hold the result otherwise.
        """
        if not (isinstance(expr, Apply) and expr.op in _RING):
            return self.float(expr), self.ranges.of(expr)
        operands = [self.unwrapped(arg) for arg in expr.args]
        reach = RESULTS[expr.op](*(range_ for _, range_ in operands))
        if fits(reach, self.whole):
            return apply(expr.op, *(value for value, _ in operands)), reach
        wrapped = (self.wrapped(*operand, expr.dtype) for operand in operands)
        return apply(expr.op, *wrapped), self.ranges.exact(expr)

    def float_of_cast(self, expr: Apply) -> ElementExpr:
        source = expr.args[0]
        if source.dtype == "bool":
            return cast(self.legal(source), "float32")
        return apply("trunc", self.legal(source)) if source.dtype == "float32" else self.float(source)

    def wrapped(self, value: ElementExpr, exact: Range, dtype: str) -> ElementExpr:
        """A whole number in a float brought into the range of a type."""
        low, high = type_range(dtype)
        if fits(exact, (low, high)):
            return value
        span = high - low + 1
        above = apply("sub", value, Number(float(low)))
        rounds = apply("floor", apply("mul", above, Number(1.0 / span)))
        return apply("sub", value, apply("mul", rounds, Number(float(span))))

    def divides_as_floats(self, expr: Apply) -> bool:
        """Whether a float quotient of two numbers is never rounded to the next whole number."""
        small = (self.whole[0] // 8, self.whole[1] // 8)
        return all(fits(self.ranges.of(arg), small) and self.is_float(arg) for arg in expr.args)

    def float_division(self, expr: Apply) -> ElementExpr:
        """The half keeps the quotient clear of whole numbers, which a rounding could miss."""
        a, b = map(self.float, expr.args)
        positive = self.ranges.of(expr.args[1])[0] > 0
        if expr.op in ("floor_div", "floor_mod"):
            half = Number(0.5) if positive else apply("mul", apply("sign", b), Number(0.5))
            quotient = apply("floor", apply("div", apply("add", a, half), b))
        else:
            half = apply("mul", apply("sign", a), Number(0.5))
            quotient = apply("trunc", apply("div", apply("add", a, half), b))
        return quotient if expr.op.endswith("div") else apply("sub", a, apply("mul", quotient, b))

    def float_of(self, expr: ElementExpr) -> ElementExpr:
        """The float32 nearest to a number of any type."""
        if expr.dtype == "float32":
            return self.legal(expr)
        if expr.dtype == "bool":
            return cast(self.legal(expr), "float32")
        if isinstance(expr, Scalar):
            return Scalar(expr.expr, "float32")
        if isinstance(expr, Apply) and expr.op == "cast" and expr.args[0].dtype == "float32":
            return apply("trunc", self.legal(expr.args[0]))
        if self.is_float(expr):
            return self.float(expr)
        word = self.number(expr)
        if expr.dtype != "uint32":
            return cast(word, "float32")
        word = once(word, self.keep)
        high = cast(apply("bit_and", apply("shift_right", word, Number(16, WORD)), Number(0xFFFF, WORD)), "float32")
        low = cast(apply("bit_and", word, Number(0xFFFF, WORD)), "float32")
        return apply("add", apply("mul", high, Number(2.0**16)), low)

    # --- integers as words ------------------------------------------------------------------------

    def number(self, expr: ElementExpr) -> ElementExpr:
        """An integer as a word, where its value matters and not only its last bits."""
        if expr.dtype in _LONG and not fits(self.ranges.of(expr), type_range(WORD)):
            raise UnsupportedError(
                "TT143",
                "an integer of 64 bits is computed, which may not fit the chip's 32",
                location=self.location,
                help='compute in int32, with T.cast(x, "int32") around what is of 64 bits',
            )
        return self.word(expr)

    def word(self, expr: ElementExpr) -> ElementExpr:
        """An int32 with the last 32 bits of an integer."""
        if not self.wide_dst:
            raise UnsupportedError(
                "TT142",
                f"a 16-bit DST cannot hold integers of up to {max(map(abs, self.ranges.exact(expr))):,}",
                location=self.location,
                help="leave out target option fp32_acc=false",
            )
        if isinstance(expr, Number):
            return numeral(expr.value, WORD)
        if isinstance(expr, Scalar):
            return Scalar(expr.expr, WORD)
        if isinstance(expr, Index) or (isinstance(expr, Element) and expr.dtype in WORDS):
            return bitcast(expr, WORD)
        if self.is_float(expr):
            return cast(self.float(expr), WORD)
        assert isinstance(expr, Apply)
        result = self.computed_word(expr)
        return result if expr.dtype in (*WORDS, *_LONG) or expr.op == "cast" else self.cut(result, expr)

    def computed_word(self, expr: Apply) -> ElementExpr:
        if expr.op == "cast":
            return self.cast_word(expr)
        if expr.op == "bitcast":
            return bitcast(self.legal(expr.args[0]), WORD)
        if expr.op in DIVISIONS:
            a, b = (self.keep(self.number(arg), WORD) for arg in expr.args)
            return divided(expr.op, a, b, self.keep, unsigned=expr.dtype == "uint32")
        if expr.op == "where":
            condition, one, other = expr.args
            return chosen(self.legal(condition), self.word(one), self.word(other), self.keep)
        if expr.op in ("abs", "sign"):
            return self.word(self.by_zero(expr))
        if expr.op in _SHIFTS:
            return self.shifted_word(expr)
        a, b = map(self.word if expr.op in (*_RING, *_BITS) else self.number, expr.args)
        if expr.op in ("max", "min") and expr.dtype == "uint32":
            return flipped(apply(expr.op, flipped(a), flipped(b)))
        if expr.op not in (*_RING, *_BITS, "max", "min"):
            self.refuse(expr)
        return apply(expr.op, a, b)

    def by_zero(self, expr: Apply) -> ElementExpr:
        """An absolute value or a sign by comparing with zero."""
        value, zero = expr.args[0], numeral(0, expr.dtype)
        if expr.op == "abs":
            return apply("max", value, apply("sub", zero, value)) if expr.dtype != "uint32" else value
        above, below = (cast(apply(test, value, zero), expr.dtype) for test in ("gt", "lt"))
        return apply("sub", above, below)

    def cast_word(self, expr: Apply) -> ElementExpr:
        source, dtype = expr.args[0], expr.dtype
        if source.dtype == "bool":
            return cast(cast(self.legal(source), "float32"), WORD)
        if source.dtype == "float32":
            return bitcast(cast(self.legal(source), dtype if dtype == "uint32" else WORD), WORD)
        word = self.word(source)
        return word if dtype in (*WORDS, *_LONG) else self.cut(word, expr)

    def cut(self, word: ElementExpr, expr: ElementExpr) -> ElementExpr:
        """The last bits of a word as an integer of 8 or 16 bits."""
        low, high = type_range(expr.dtype)
        if fits(self.ranges.exact(expr), (low, high)):
            return word
        if low == 0:
            return apply("bit_and", word, Number(high, WORD))
        gap = Number(32 - (high - low).bit_length(), WORD)
        return apply("shift_right", apply("shift_left", word, gap), gap)

    def shifted_word(self, expr: Apply) -> ElementExpr:
        value = (self.number if expr.op == "shift_right" else self.word)(expr.args[0])
        by = expr.args[1]
        unsigned = expr.op == "shift_right" and expr.dtype == "uint32"
        if isinstance(by, Number | Scalar):
            return shifted(expr.op, value, self.word(by), unsigned=unsigned)
        by = self.keep(self.word(by), WORD)
        for bit in range((type_range(expr.dtype)[1].bit_length()).bit_length()):
            value = self.keep(value, WORD)
            moved = shifted(expr.op, value, Number(1 << bit, WORD), unsigned=unsigned)
            taken = apply("ne", cast(apply("bit_and", by, Number(1 << bit, WORD)), "float32"), Number(0.0))
            value = chosen(taken, moved, value, self.keep)
        return value

    # --- truth ------------------------------------------------------------------------------------

    def truth_of(self, expr: ElementExpr) -> ElementExpr:
        """Whether a number of any type is not zero. A cast to a float keeps that, and the sign."""
        if expr.dtype == "bool":
            return self.legal(expr)
        word = expr.dtype in WORDS and not self.is_float(expr)
        value = cast(self.word(expr), "float32") if word else self.float_of(expr)
        return apply("ne", value, Number(0.0))

    def comparison(self, expr: Apply) -> ElementExpr:
        a, b = expr.args
        if a.dtype == "float32":
            return replace(expr, args=(self.legal(a), self.legal(b)))
        if a.dtype == "bool":
            return apply(expr.op, *(cast(self.legal(arg), "float32") for arg in expr.args))
        if isinstance(a, Index) and b == Number(0, "int32"):
            return expr  # `lower_positions` knows better
        if self.holds(a) and self.holds(b):
            return apply(expr.op, self.float(a), self.float(b))
        zeros = [arg == numeral(0, arg.dtype) for arg in expr.args]
        if sum(zeros) == 1 and (a.dtype != "uint32" or expr.op in ("eq", "ne")):  # a cast keeps the sign
            sides = zip(zeros, expr.args, strict=True)
            return apply(expr.op, *(Number(0.0) if zero else cast(self.number(arg), "float32") for zero, arg in sides))
        return self.compared(expr.op, a, b)

    def compared(self, op: str, first: ElementExpr, second: ElementExpr) -> ElementExpr:
        """Equal words differ in no bit."""
        a, b = self.number(first), self.number(second)
        if op in ("eq", "ne"):
            return apply(op, cast(apply("bit_xor", a, b), "float32"), Number(0.0))
        if first.dtype == "uint32":
            a, b = flipped(a), flipped(b)
        return ordered(op, a, b, self.keep)

    def refuse(self, expr: Apply) -> None:
        raise UnsupportedError(
            "TT134",
            f"'{expr.op}' of {expr.dtype} has no element-wise form in this version",
            location=self.location,
            help='compute it in float32: T.cast(x, "float32")',
        )
