"""The text of scalar code, and the way back.

    Code because "the kernel uses the thread index 'tx'"  # kernel.py:9
      block s: shared float32[128]
      block flat: shared int8[512], the bytes of s
      Threads tx < 128
        For i < 16                                        `For i from a, 16 times`, `For i < 16, together`
          Put s[tx] = A[bx * 128 + tx?] * 2.0 + float32(i)
        Barrier
        If s[tx] > 0.0
          Update add B[i] by x, old y: float32            `, where it is e` for an exchange under a condition
        Else
          Show "y is", y

Operators bind as in Python. An index with a question mark may lie outside. What a statement defines has its type behind
its name, but for an int32. Numbers show their types:

    2, -7    int32           2i64, 7u8    other integers        true, false    bool
    2.0      float32         2.0f16, 1.5bf16, inff64, 0.5f8_e4m3fn             other floats

    float32(x)            a cast
    bits as float32(x)    a cast of bits
    clz as int32(x)       an operation whose type is neither that of its last operand nor a truth value
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from tilelang_tt.ir import code, scalar
from tilelang_tt.ir.buffers import Buffer, Memory, Tensor
from tilelang_tt.ir.code import Code, CodeStmt, Constant, Input, Name, Op, Place, Value
from tilelang_tt.ir.fields import children, defined
from tilelang_tt.ir.grammar import Codec, Form, Grammar, listed
from tilelang_tt.ir.scalar import Var
from tilelang_tt.ir.text import INDENT, Line, Names, ParseError, Reader, Sight, place
from tilelang_tt.ir.text_facts import CODECS, typed
from tilelang_tt.ops import ELEMENT_OPS
from tilelang_tt.ops.scalar_code import CODE_OPS

# Weakest first, as in Python. Comparisons do not stand side by side.
_LEVELS = (
    {"or": "or"},
    {"and": "and"},
    {"eq": "==", "ne": "!=", "le": "<=", "ge": ">=", "lt": "<", "gt": ">"},
    {"bit_or": "|"},
    {"bit_xor": "^"},
    {"bit_and": "&"},
    {"shift_left": "<<", "shift_right": ">>"},
    {"add": "+", "sub": "-"},
    {"mul": "*", "floor_div": "//", "floor_mod": "%", "div": "/"},
)
_COMPARISONS = 2
_STRENGTH = {op: level for level, signs in enumerate(_LEVELS) for op in signs}
_SIGNS = {op: sign for signs in _LEVELS for op, sign in signs.items()}
_SHORT = (("bfloat", "bf"), ("float", "f"), ("uint", "u"), ("int", "i"))
_NUMBER = re.compile(r"(-?(?:inf|nan|\d+(?:\.\d+)?(?:[eE][-+]?\d+)?))((?:bf|f|u|i)\d\w*)?(?![\w.])")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_TYPE = re.compile(r"bool|u?int\d+|b?float\d+(?:_\w+)?")


# --- values ---------------------------------------------------------------------------------------


def value_text(value: Value, names: Names, around: int = 0) -> str:
    """`around`: how strongly what is around it binds."""
    match value:
        case Constant():
            return _constant_text(value)
        case Name():
            return names(value.var)
        case Place():
            return _place_text(value, names)
    if value.op in _SIGNS and value.dtype == _result_type(value.op, value.args):
        level = _STRENGTH[value.op]
        left, right = value.args
        sides = value_text(left, names, level + (level == _COMPARISONS)), value_text(right, names, level + 1)
        text = f" {_SIGNS[value.op]} ".join(sides)
        return f"({text})" if level < around else text
    args = ", ".join(value_text(arg, names) for arg in value.args)
    if value.op in ("cast", "bitcast"):
        return f"{'bits as ' if value.op == 'bitcast' else ''}{value.dtype}({args})"
    typed = "" if value.args and value.dtype == _result_type(value.op, value.args) else f" as {value.dtype}"
    return f"{value.op}{typed}({args})"


def _result_type(op: str, args: tuple[Value, ...]) -> str:
    """The type of an operation that need not be written."""
    known = ELEMENT_OPS.get(op) or CODE_OPS.get(op)
    return "bool" if known is not None and known.truth else args[-1].dtype


def _constant_text(constant: Constant) -> str:
    value, dtype = constant.value, constant.dtype
    if dtype == "bool":
        return "true" if value else "false"
    long, short = next((long, short) for long, short in _SHORT if dtype.startswith(long))
    number = repr(float(value)) if "float" in dtype else str(int(value))
    return number if dtype in ("int32", "float32") else f"{number}{short}{dtype.removeprefix(long)}"


def _place_text(place: Place, names: Names) -> str:
    marked = (f"{value_text(index, names)}{'?' * (axis in place.unsure)}" for axis, index in enumerate(place.indices))
    return f"{names(place.source)}[{', '.join(marked)}]"


def read_value(reader: Reader, level: int = 0) -> Value:
    if level == len(_LEVELS):
        return _operand(reader)
    left = read_value(reader, level + 1)
    while found := next((op for op, sign in _LEVELS[level].items() if reader.maybe(f"{sign} ")), None):
        args = (left, read_value(reader, level + 1))
        left = Op(found, args, _result_type(found, args))
    return left


def _operand(reader: Reader) -> Value:
    if reader.maybe("("):
        return reader.then(read_value(reader), ")")
    if reader.maybe("true") or reader.maybe("false"):
        return Constant(int(reader.text[: reader.at].endswith("true")), "bool")
    return reader.either(lambda: _named(reader), lambda: _constant(reader))


def _constant(reader: Reader) -> Constant:
    number, suffix = _NUMBER.fullmatch(reader.match(_NUMBER, "a number")).groups()  # type: ignore[union-attr]
    if suffix is None:
        return Constant(int(number), "int32") if number.lstrip("-").isdigit() else Constant(float(number), "float32")
    long, short = next((long, short) for long, short in _SHORT if suffix.startswith(short))
    dtype = long + suffix.removeprefix(short)
    return Constant(float(number) if "float" in dtype else int(number), dtype)


def _named(reader: Reader) -> Value:
    """What begins with a name: a variable, an element, an operation or a cast."""
    bits = reader.maybe("bits as ")
    name = reader.name()
    dtype = reader.name() if reader.maybe("as ") else None
    if reader.maybe("("):
        args = () if reader.peek(")") else tuple(reader.separated(lambda: read_value(reader)))
        reader.take(")")
        if _TYPE.fullmatch(name):
            return Op("bitcast" if bits else "cast", args, name)
        return Op(name, args, dtype or _result_type(name, args))
    thing = reader.sight.things.get(name)
    if isinstance(thing, Buffer | Tensor):
        return _place(reader, thing)
    if not scalar.is_var(thing):
        raise ParseError(f"'{name}' is no variable in sight")
    return Name(thing, str(thing.dtype))


def _place(reader: Reader, source: Buffer | Tensor) -> Place:
    reader.take("[")
    marked = [] if reader.peek("]") else reader.separated(lambda: (read_value(reader), reader.maybe("?")))
    reader.take("]")
    unsure = tuple(axis for axis, (_, outside) in enumerate(marked) if outside)
    return Place(source, tuple(index for index, _ in marked), unsure)


def _read_place(reader: Reader) -> Place:
    found = _named(reader)
    if not isinstance(found, Place):
        raise reader.fail("an element")
    return found


# --- statements -----------------------------------------------------------------------------------


def _new_text(var: Var | None, names: Names) -> str:
    if var is None:
        return ""
    known = names(var)
    name = names.bind(var, any_name=True) if known.startswith("?") else known
    return f"{name}{typed(var)}"


def _read_new(reader: Reader) -> Var:
    """A name for something new; what the same body defines again is the same variable."""
    name = reader.name()
    dtype = reader.name() if reader.maybe(":") else "int32"
    known = reader.sight.things.get(name)
    if not scalar.is_var(known) or str(known.dtype) != dtype:
        known = reader.sight.things[name] = scalar.typed_var(name.partition(".")[0], dtype)
    return known


_CODECS = {
    **CODECS,
    "new": Codec(_new_text, _read_new),
    "value": Codec(value_text, read_value),
    "place": Codec(_place_text, _read_place),
    "string": Codec(lambda text, _: json.dumps(text), lambda reader: json.loads(reader.match(_STRING, "a string"))),
    "axes": listed(
        Codec(
            lambda axis, names: f"{_new_text(axis[0], names)} < {axis[1]}",
            lambda reader: (reader.then(_read_new(reader), "<"), reader.int()),
        )
    ),
}
_CODECS["values"] = Codec(
    lambda values, names: "".join(f", {value_text(value, names)}" for value in values),
    lambda reader: tuple(reader.separated(lambda: read_value(reader))) if reader.maybe(",") else (),
)
_FORMS = (
    Form(code.For, "For {var:new} < {extent:value}{together?, together}", {"start": Constant(0, "int32")}),
    Form(code.For, "For {var:new} from {start:value}, {extent:value} times{together?, together}"),
    Form(code.While, "While {condition:value}"),
    Form(code.If, "If {condition:value}"),
    Form(code.Jump, "Jump {kind:word}"),
    Form(code.Let, "Let {var:new} = {value:value}"),
    Form(code.Put, "Put {target:place} = {value:value}"),
    Form(
        code.Update,
        "Update {op:word} {target:place} by {value:value}(?, where it is {expected:value}?)(?, old {old:new}?)",
    ),
    Form(code.Threads, "Threads {axes:axes}"),
    Form(code.Barrier, "Barrier{of_warp?, of a warp}"),
    Form(code.Show, "Show {text:string}{values:values}"),
    Form(code.Check, "Check {condition:value}(? told to {record:place}?), {text:string}{values:values}"),
)
_STATEMENTS = Grammar(_FORMS, _CODECS)
_HEAD = Form(Code, "Code(? because {why:string}?)")


def code_head(stmt: Code, names: Names) -> str:
    return _HEAD.write(stmt, names, _CODECS)


def code_text(stmt: Code, names: Names, depth: int) -> Iterator[str]:
    """What is below the line of scalar code."""
    given = [(one, CODECS["expr"].write(one.value, names)) for one in stmt.inputs]
    for one, value in given:
        yield f"{INDENT * depth}input {_new_text(one.var, names)} = {value}"
    for block in stmt.blocks:
        yield f"{INDENT * depth}block {_block_text(block, names)}{place(block.location)}"
    for view, block in stmt.views:
        yield f"{INDENT * depth}block {_block_text(view, names)}, the bytes of {names(block)}{place(view.location)}"
    yield from _body_text(stmt.body, names, depth)
    for block in (*stmt.blocks, *(view for view, _ in stmt.views)):
        names.release(block)
    for one in stmt.inputs:
        names.release(one.var)


def _block_text(block: Buffer, names: Names) -> str:
    shape = ", ".join(map(str, block.shape))
    return f"{names.bind(block, any_name=True)}: {block.memory.value} {block.dtype}[{shape}]"


def _body_text(body: tuple[CodeStmt, ...], names: Names, depth: int) -> Iterator[str]:
    found: list[Var] = []  # names that are in sight up to the end of this body
    for stmt in body:
        new = [var for var in defined(stmt) if names(var).startswith("?")]
        yield f"{INDENT * depth}{_STATEMENTS.write(stmt, names)}{place(stmt.location)}"
        for number, nested in enumerate(children(stmt)):
            if number and nested:
                yield f"{INDENT * depth}Else"
            yield from _body_text(nested, names, depth + 1)
        if isinstance(stmt, code.Let | code.Update):
            found += new
        else:
            for var in new:
                names.release(var)
    for var in found:
        names.release(var)


def read_code(line: Line, sight: Sight) -> Code:
    values = _HEAD.read(reader := Reader(line.text, sight), _CODECS)
    if not reader.done:
        raise reader.fail("the end")
    outside, blocks, views = dict(sight.things), [], []
    inputs = tuple(_read_inputs([one.text for one in line.nested if one.text.startswith("input ")], sight))
    for one in (inner for inner in line.nested if inner.text.startswith("block ")):
        reader = Reader(one.text.removeprefix("block "), sight)
        block = _read_block(reader, one)
        if reader.maybe(", the bytes of"):
            views.append((block, sight.thing(reader.name(), Buffer)))
        else:
            blocks.append(block)
    body = _read_body(tuple(one for one in line.nested if not one.text.startswith(("block ", "input "))), sight)
    sight.things = outside
    return Code(body, tuple(blocks), tuple(views), **values, location=line.location, inputs=inputs)


def _read_inputs(lines: list[str], sight: Sight) -> Iterator[Input]:
    """The values know the names outside, not each other's."""
    found: list[tuple[str, str, Any]] = []
    for text in lines:
        reader = Reader(text.removeprefix("input "), sight)
        name = reader.name()
        dtype = reader.name() if reader.maybe(":") else "int32"
        reader.take("=")
        found.append((name, dtype, CODECS["expr"].read(reader)))
    for name, dtype, value in found:
        var = sight.things[name] = scalar.typed_var(name.partition(".")[0], dtype)
        yield Input(var, value)


def _read_block(reader: Reader, line: Line) -> Buffer:
    name, memory, dtype = reader.name(":"), Memory(reader.name()), reader.name("[")
    shape = reader.then(CODECS["ints"].read(reader), "]")
    block = reader.sight.things[name] = Buffer(name.partition(".")[0], dtype, shape, memory, line.location)
    return block


def _read_body(lines: tuple[Line, ...], sight: Sight) -> tuple[CodeStmt, ...]:
    outside, found = dict(sight.things), list[CodeStmt]()
    for line in lines:
        if line.text == "Else":
            branch = found.pop()
            assert isinstance(branch, code.If)
            found.append(replace(branch, otherwise=_read_body(line.nested, sight)))
        else:
            found.append(_read_stmt(line, sight))
    sight.things = outside
    return tuple(found)


def _read_stmt(line: Line, sight: Sight) -> CodeStmt:
    """A statement with what is nested in it; without the other arm of an If, which is the next line."""
    outside = dict(sight.things)
    cls, values = _STATEMENTS.read(Reader(line.text, sight))
    nested: dict[str, Any] = {}
    if cls in (code.For, code.While, code.If, code.Threads):
        nested["then" if cls is code.If else "body"] = _read_body(line.nested, sight)
        sight.things = outside
    return cls(**values, **nested, location=line.location)  # type: ignore[no-any-return]
