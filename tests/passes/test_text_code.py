"""The text of scalar code: statements and values print with all their facts, and are read back with their types."""

from __future__ import annotations

from typing import get_args

import pytest

from tilelang_tt.diagnostics import Location
from tilelang_tt.ir import code as c
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer, Memory, Tensor
from tilelang_tt.ir.fields import walk
from tilelang_tt.ir.text import ParseError
from tilelang_tt.ir.text_program import parse_tile, tile_text
from tilelang_tt.ir.tile import Launch, ScalarParam, TileProgram
from tilelang_tt.options import Options

HERE = Location("/some/folder/user.py", 7)
BX, ROW, J, TX, N = (scalar.var(name) for name in ("bx", "i", "j", "tx", "n"))
LONG, X = scalar.typed_var("long", "int64"), scalar.typed_var("x", "bfloat16")
A = Tensor("A", 0, "float32", (scalar.const(128), N))
B = Tensor("B", 1, "bfloat16", (N,))
S = Buffer("s", "float32", (128,), Memory.SHARED, HERE)
FLAT = Buffer("flat", "int8", (512,), Memory.SHARED)
ONE = Buffer("one", "bool", (), Memory.LOCAL)
bx, tx, n = (c.Name(var, "int32") for var in (BX, TX, N))
ZERO, TWO = c.Constant(0, "int32"), c.Constant(2.0, "float32")


def op(name: str, *args: c.Value, dtype: str | None = None) -> c.Op:
    return c.Op(name, args, dtype or args[-1].dtype)


def at(source: Tensor | Buffer, *indices: c.Value, unsure: tuple[int, ...] = ()) -> c.Place:
    return c.Place(source, indices, unsure)


def number(value: float, dtype: str = "int32") -> c.Constant:
    return c.Constant(value, dtype)


def program(*body: c.CodeStmt) -> TileProgram:
    code = c.Code(body, (S, ONE), ((FLAT, S),), location=HERE)
    launch = Launch("main", ((BX, scalar.const(4)),), (), (code,))
    params = (A, B, ScalarParam("x", "bfloat16", X))
    return TileProgram("main", params, (N,), (launch,), Options())


HEAD = """\
    Code  # user.py:7
      block s: shared float32[128]  # user.py:7
      block one: local bool[]
      block flat: shared int8[512], the bytes of s
"""


def printed(*body: c.CodeStmt) -> str:
    text = tile_text(program(*body))
    assert HEAD in text
    return "\n".join(line[6:] for line in text.split(HEAD)[1].splitlines())


def read_back(*body: c.CodeStmt) -> tuple[c.CodeStmt, ...]:
    text = tile_text(program(*body))
    parsed = parse_tile(text)
    assert tile_text(parsed) == text
    (code,) = parsed.launches[0].body
    assert isinstance(code, c.Code)
    return code.body


def types(body: tuple[c.CodeStmt, ...]) -> list[tuple[type, str]]:
    found = [part for stmt in walk(body) for value in c.values(stmt) for part in c.parts(value)]
    return [(type(part), part.dtype) for part in found]


STATEMENTS: dict[c.CodeStmt, str] = {
    c.For(ROW, ZERO, number(16), (c.Barrier(),), location=HERE): "For i < 16  # user.py:7\n  Barrier",
    c.For(ROW, ZERO, n, (), together=True): "For i < n, together",
    c.For(ROW, bx, number(16), (c.Jump("continue"),)): "For i from bx, 16 times\n  Jump continue",
    c.For(LONG, number(0, "int64"), number(3, "int64"), ()): "For long: int64 from 0i64, 3i64 times",
    c.While(op("lt", n, number(10), dtype="bool"), (c.Jump("break", HERE),)): (
        "While n < 10\n  Jump break  # user.py:7"
    ),
    c.If(op("gt", at(S, bx), TWO, dtype="bool"), (c.Jump("return"),), (c.Barrier(),)): (
        "If s[bx] > 2.0\n  Jump return\nElse\n  Barrier"
    ),
    c.If(at(ONE), (), (c.Barrier(),)): "If one[]\nElse\n  Barrier",
    c.Let(LONG, op("cast", bx, dtype="int64")): "Let long: int64 = int64(bx)",
    c.Put(at(A, bx, n, unsure=(0,)), TWO, HERE): "Put A[bx?, n] = 2.0  # user.py:7",
    c.Update(at(B, n), "add", c.Name(X, "bfloat16")): "Update add B[n] by x",
    c.Update(at(A, bx, n, unsure=(0, 1)), "set", TWO, scalar.typed_var("y", "float32"), number(1.0, "float32")): (
        "Update set A[bx?, n?] by 2.0, where it is 1.0, old y: float32"
    ),
    c.Update(at(S, n), "max", TWO, scalar.typed_var("y", "float32")): "Update max s[n] by 2.0, old y: float32",
    c.Threads(((TX, 128), (J, 2)), (c.Put(at(S, tx), TWO),)): "Threads tx < 128, j < 2\n  Put s[tx] = 2.0",
    c.Jump("return"): "Jump return",
    c.Barrier(HERE): "Barrier  # user.py:7",
    c.Barrier(HERE, of_warp=True): "Barrier, of a warp  # user.py:7",
    c.Show('a "b"\n# c:3', (n, TWO)): 'Show "a \\"b\\"\\n# c:3", n, 2.0',
    c.Show("alone", ()): 'Show "alone"',
    c.Check(at(ONE), "it holds"): 'Check one[], "it holds"',
    c.Check(at(ONE), "{}", None, (at(ONE),), at(ONE)): 'Check one[] told to one[], "{}", one[]',
}


def test_every_statement_has_a_sample() -> None:
    assert {type(stmt) for stmt in STATEMENTS} == set(get_args(c.CodeStmt))


@pytest.mark.parametrize("stmt", STATEMENTS, ids=lambda stmt: type(stmt).__name__)
def test_statement(stmt: c.CodeStmt) -> None:
    assert printed(stmt) == STATEMENTS[stmt]
    assert types(read_back(stmt)) == types((stmt,))


a, b = at(S, bx), at(S, n)
VALUES: dict[c.Value, str] = {
    op("mul", op("add", a, b), TWO): "(s[bx] + s[n]) * 2.0",
    op("add", a, op("mul", b, TWO)): "s[bx] + s[n] * 2.0",
    op("sub", a, op("sub", b, TWO)): "s[bx] - (s[n] - 2.0)",
    op("sub", op("sub", a, b), number(-1.0, "float32")): "s[bx] - s[n] - -1.0",
    op("div", a, op("div", a, b)): "s[bx] / (s[bx] / s[n])",
    op("floor_mod", op("floor_div", n, number(-3)), bx): "n // -3 % bx",
    op("trunc_div", n, op("trunc_mod", n, bx)): "trunc_div(n, trunc_mod(n, bx))",
    op("eq", op("lt", n, bx, dtype="bool"), op("ge", a, b, dtype="bool")): "(n < bx) == (s[bx] >= s[n])",
    op("or", op("and", at(ONE), at(ONE)), op("not", at(ONE))): "one[] and one[] or not(one[])",
    op("and", op("or", at(ONE), at(ONE)), number(1, "bool")): "(one[] or one[]) and true",
    op("bit_or", n, op("bit_and", n, op("shift_left", n, op("add", n, bx)))): "n | n & n << n + bx",
    op("bit_xor", op("shift_right", n, bx), number(-1)): "n >> bx ^ -1",
    op("where", op("ne", n, ZERO, dtype="bool"), a, b): "where(n != 0, s[bx], s[n])",
    op("max", a, op("exp", b)): "max(s[bx], exp(s[n]))",
    op("bitcast", at(FLAT, n), dtype="uint8"): "bits as uint8(flat[n])",
    op("cast", op("cast", a, dtype="float8_e4m3fn"), dtype="bool"): "bool(float8_e4m3fn(s[bx]))",
    op("clz", op("cast", n, dtype="int64"), dtype="int32"): "clz as int32(int64(n))",
    op("isinf", a, dtype="bool"): "isinf(s[bx])",
    c.Op("lane", (), "int32"): "lane as int32()",
    number(float("inf"), "float32"): "inf",
    number(float("-inf"), "float16"): "-inff16",
    number(1e-30, "float32"): "1e-30",
    number(1e16, "float64"): "1e+16f64",
    number(1.5, "bfloat16"): "1.5bf16",
    number(0.5, "float8_e5m2"): "0.5f8_e5m2",
    number(-8, "int4"): "-8i4",
    number(255, "uint8"): "255u8",
    number(2**63, "uint64"): "9223372036854775808u64",
    number(0, "bool"): "false",
    c.Name(X, "bfloat16"): "x",
}


@pytest.mark.parametrize("value", VALUES, ids=VALUES.values())
def test_value(value: c.Value) -> None:
    let = c.Let(scalar.typed_var("y", value.dtype), value)
    assert printed(let).partition(" = ")[2] == VALUES[value]
    assert types(read_back(let)) == types((let,))


def test_names_are_in_sight_up_to_the_end_of_their_body() -> None:
    first, second, third = (scalar.typed_var("v", dtype) for dtype in ("int32", "float32", "int32"))
    use = c.Put(at(S, c.Name(first, "int32")), c.Name(second, "float32"))
    body = (c.If(at(ONE), (c.Let(first, n), c.Let(second, TWO), use)), c.Let(third, n), c.Let(third, n))
    assert (
        printed(*body)
        == """\
If one[]
  Let v = n
  Let v.1: float32 = 2.0
  Put s[v] = v.1
Let v = n
Let v = n"""
    )
    first, _, again, more = (stmt.var for stmt in walk(read_back(*body)) if isinstance(stmt, c.Let))
    assert again is more
    assert again is not first


@pytest.mark.parametrize("wrong", ["Put s = 2.0", "Put n = 2.0", "Let y = 3 +", "Let y = q", "Code for nothing"])
def test_what_is_no_scalar_code(wrong: str) -> None:
    text = tile_text(program(c.Barrier()))
    text = text.replace("Code", wrong) if wrong.startswith("Code") else text.replace("Barrier", wrong)
    with pytest.raises(ParseError):
        parse_tile(text)
