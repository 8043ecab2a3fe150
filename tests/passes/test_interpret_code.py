"""What scalar code means, against NumPy and by hand."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tilelang_tt.ir import code as c
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Tensor
from tilelang_tt.ir.interpret import Array, Written, interpret
from tilelang_tt.ir.interpret_code import CheckError, OutsideError
from tilelang_tt.ir.text_program import parse_tile
from tilelang_tt.ir.tile import Launch, TileProgram
from tilelang_tt.ops import ELEMENT_OPS
from tilelang_tt.ops.scalar_code import CODE_OPS
from tilelang_tt.options import Options

HEAD = "program main\n  target wormhole_b0, 8 x 8 cores, HiFi4, 32-bit DST\n"


def run(facts: str, body: str, scalars: dict[str, Any] | None = None, **tensors: Array) -> dict[str, Array]:
    """Scalar code over one unit, or over as many as `blocks` of the facts say."""
    blocks = "bx < 1" if "blocks" not in facts else facts.rpartition("blocks ")[2].strip()
    head = "".join(f"  {line.strip()}\n" for line in facts.partition("blocks")[0].splitlines() if line.strip())
    code = "".join(f"      {line}\n" for line in body.strip("\n").splitlines())
    text = f"{HEAD}{head}\nlaunch main\n  blocks {blocks}\n  body\n    Code\n{code}"
    return interpret(parse_tile(text), tensors, scalars)


# --- operations -----------------------------------------------------------------------------------

FLOATS = ("float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2")
INTEGERS = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
SAMPLES = np.array([0.0, -0.0, 1.0, -1.5, 0.3, 2.5, 7.0, -100.0, 0.001, 3e4, np.inf, -np.inf, np.nan])
OF_FLOATS = ("add", "sub", "mul", "div", "max", "min", "exp", "sqrt", "abs", "floor", "rint", "pow", "lt", "ne", "fmod")
OF_INTEGERS = (
    *("add", "sub", "mul", "floor_div", "floor_mod", "trunc_div", "trunc_mod", "max", "min", "abs"),
    *("bit_and", "bit_or", "bit_xor", "eq", "ge"),
)


def computed(op: str, result: str, *operands: Array) -> Array:
    """An operation on every element of arrays, by scalar code."""
    count, at = len(operands[0]), scalar.var("at")
    tensors = [Tensor(f"A{n}", n, str(a.dtype), (scalar.const(count),)) for n, a in enumerate(operands)]
    out = Tensor("out", len(operands), result, (scalar.const(count),))
    places = [c.Place(tensor, (c.Name(at, "int32"),)) for tensor in (*tensors, out)]
    put = c.Put(places[-1], c.Op(op, tuple(places[:-1]), result))
    loop = c.For(at, c.Constant(0, "int32"), c.Constant(count, "int32"), (put,))
    launch = Launch("main", ((scalar.var("bx"), scalar.const(1)),), (), (c.Code((loop,)),))
    program = TileProgram("main", (*tensors, out), (), (launch,), Options())
    return interpret(program, {tensor.name: a for tensor, a in zip(tensors, operands, strict=True)})["out"]


def pairs(dtype: str) -> tuple[Array, Array]:
    if dtype in FLOATS:
        samples = SAMPLES.astype(dtype)
    else:
        info = np.iinfo(dtype)
        samples = np.array([0, 1, 2, 3, 7, 100, info.max, info.max - 3, info.min, info.min // 2], dtype)
        samples = np.concatenate([samples, -samples[1:5]]) if info.min else samples
    a, b = np.meshgrid(samples, samples)
    return a.ravel(), b.ravel()


def same(found: Array, expected: Array) -> None:
    expected = expected.astype(found.dtype)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", OF_FLOATS)
def test_floats_round_as_in_numpy(op: str, dtype: str) -> None:
    row = ELEMENT_OPS[op]
    a, b = pairs(dtype)
    operands = (a,) if op in ("exp", "sqrt", "abs", "floor", "rint") else (a, b)
    with np.errstate(all="ignore"):
        narrow = [operand if dtype == "float64" else operand.astype(np.float32) for operand in operands]
        meaning = {"max": np.fmax, "min": np.fmin}.get(op, row.meaning)  # of a number and NaN the number
        expected = meaning(*narrow) if row.truth else meaning(*narrow).astype(dtype)
    same(computed(op, "bool" if row.truth else dtype, *operands), expected)


@pytest.mark.parametrize("op", ["add", "mul"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_floats_round_as_ml_dtypes_does(op: str, dtype: str) -> None:
    a, b = pairs(dtype)
    with np.errstate(all="ignore"):
        same(computed(op, dtype, a, b), ELEMENT_OPS[op].meaning(a, b))


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("op", OF_INTEGERS)
def test_integers_wrap_as_in_numpy(op: str, dtype: str) -> None:
    row = ELEMENT_OPS[op]
    a, b = pairs(dtype)
    operands = (a,) if op == "abs" else (a, b)
    if op.startswith("trunc"):  # NumPy divides by zero, and the smallest number by -1, in its own way
        operands = tuple(operand[(b != 0) & ((a != np.iinfo(dtype).min) | (b + 1 != 0))] for operand in operands)
    with np.errstate(all="ignore"):
        same(computed(op, "bool" if row.truth else dtype, *operands), row.meaning(*operands))


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("op", ["shift_left", "shift_right"])
def test_shifts(op: str, dtype: str) -> None:
    a, b = pairs(dtype)
    b = (np.arange(len(b)) % np.iinfo(dtype).bits).astype(dtype)
    same(computed(op, dtype, a, b), ELEMENT_OPS[op].meaning(a, b))


def test_casts() -> None:
    numbers = np.array([2.75, -2.75, 300.0, -1.0, np.nan], np.float32)
    assert computed("cast", "int8", numbers).tolist() == [2, -2, 127, -1, 0]
    assert computed("cast", "uint32", numbers).tolist() == [2, 0, 300, 0, 0]
    assert computed("cast", "bool", numbers).tolist() == [True] * 5
    assert computed("cast", "bfloat16", np.array([1.00390625, 1.01171875], np.float32)).tolist() == [1.0, 1.015625]
    large = np.array([2**53 + 1, 2**24 + 1, -(2**63)], np.int64)
    same(computed("cast", "float32", large), large.astype(np.float32))
    same(computed("cast", "float64", large), large.astype(np.float64))
    assert computed("cast", "uint64", np.array([1e19, np.inf])).tolist() == [10**19, 2**64 - 1]
    assert computed("cast", "int64", np.array([1e19, -np.inf])).tolist() == [2**63 - 1, -(2**63)]


def test_bits() -> None:
    floats = np.array([1.0, -2.5, np.inf], np.float32)
    same(computed("bitcast", "int32", floats), floats.view(np.int32))
    halves = floats.astype(ml_dtypes.bfloat16)
    same(computed("bitcast", "uint16", halves), halves.view(np.uint16))
    same(computed("bitcast", "bfloat16", halves.view(np.int16)), halves)


def test_operations_of_scalar_code_alone() -> None:
    x = np.array([0.5, -2.5, 1.5, 0.49999997], np.float32)
    assert computed("round", "float32", x).tolist() == [1, -3, 2, 0]
    assert computed("popcount", "int32", np.array([-1, 5], np.int8)).tolist() == [8, 2]
    assert computed("clz", "int32", np.array([-1, 5, 0], np.int64)).tolist() == [0, 61, 64]
    assert computed("isinf", "bool", np.array([np.inf, 1])).tolist() == [True, False]
    assert computed("ldexp", "float32", x[:1], np.array([3], np.int32)).tolist() == [4]
    a, b = np.array([1 + 2**-12], np.float32), np.array([-1 - 2**-11], np.float32)
    assert computed("fma", "float32", a, a, b).tolist() == [2**-24]
    for op in ("exp10", "expm1", "log2", "log10", "reciprocal", "copysign", "hypot", "nextafter"):
        args = (np.abs(x),) * (2 if op in ("copysign", "hypot", "nextafter") else 1)
        same(computed(op, "float32", *args), CODE_OPS[op].meaning(*args).astype(np.float32))


def test_an_operation_without_meaning() -> None:
    with pytest.raises(TypeError, match="no meaning for operation 'lane' of scalar code"):
        computed("lane", "float32", np.zeros(1, np.float32))


# --- statements -----------------------------------------------------------------------------------


def test_loops_jumps_and_names() -> None:
    found = run(
        "tensor B: int32[4]",
        """
block s: local int32[]
For i from 3, 10 times
  If i == 5
    Jump continue
  If i == 8
    Jump break
  Let double = i * 2
  Put s[] = s[] + double
Put B[0] = s[]
While s[] > 10
  Put s[] = s[] // 2
Put B[1] = s[]
If s[] == 5
  Put B[2] = 1
Else
  Put B[2] = 2
For i < 4
  If i == 1
    Jump return
Put B[3] = 7
""",
        B=np.zeros(4, np.int32),
    )
    assert found["B"].tolist() == [(3 + 4 + 6 + 7) * 2, 10, 2, 0]


def test_units_sizes_and_parameters() -> None:
    found = run(
        """
        size n
        tensor A: bfloat16[n]
        scalar x: float32
        blocks bx < 3
        """,
        "Put A[bx * 2] = A[bx * 2] + bfloat16(x * float32(n))",
        {"x": 0.5},
        A=np.ones(5, np.float32),
    )
    assert found["A"].tolist() == [3.5, 1, 3.5, 1, 3.5]


def test_every_unit_has_fresh_blocks() -> None:
    body = "block s: shared int32[2]\nPut s[bx] = s[bx] + s[1 - bx] + 1\nPut B[bx] = s[0] + s[1]"
    assert run("tensor B: int32[2]\n blocks bx < 2", body, B=np.zeros(2, np.int32))["B"].tolist() == [1, 1]


def test_outside_are_zeros_and_nothing_is_stored() -> None:
    body = """
For i < 6
  Put B[i - 1?, 0] = A[i - 2?] + 1
Update add B[9?, 1] by 5, old y
Put B[3, 1] = y
"""
    arrays = {"A": np.arange(10, 13, dtype=np.int32), "B": np.zeros((4, 2), np.int32)}
    assert run("tensor A: int32[3]\ntensor B: int32[4, 2]", body, **arrays)["B"].tolist() == [
        [1, 0],
        [11, 0],
        [12, 0],
        [13, 0],
    ]


@pytest.mark.parametrize("place", ["A[-1]", "A[3]", "A[2 + bx + 1]"])
def test_an_element_that_should_be_there(place: str) -> None:
    with pytest.raises(OutsideError, match=r"lies outside of A, whose shape is \(3,\)"):
        run("tensor A: int32[3]", f"Put {place} = 1", A=np.zeros(3, np.int32))
    with pytest.raises(OutsideError, match=r"^user.py:4: A\[-?\d\] lies outside"):
        run("tensor A: int32[3]", f"Put A[0] = {place}  # user.py:4", A=np.zeros(3, np.int32))


def test_what_is_not_chosen_is_not_computed() -> None:
    body = """
Put A[0] = where(bx == 1, A[7], 5)
If bx == 1 and A[8] == 0
  Put A[1] = 1
If bx == 0 or A[9] == 0
  Put A[1] = 2
"""
    assert run("tensor A: int32[3]", body, A=np.zeros(3, np.int32))["A"].tolist() == [5, 2, 0]


def test_views_share_bytes() -> None:
    body = """
block s: local bfloat16[2]
block words: local uint16[2], the bytes of s
block bytes: local uint8[2, 2], the bytes of words
Put s[0] = 1.0bf16
Put words[1] = words[0] + 128u16
Put A[0] = float32(s[1])
Put A[1] = float32(bytes[0, 1])
"""
    assert run("tensor A: float32[2]", body, A=np.zeros(2, np.float32))["A"].tolist() == [2, 0x3F]


def test_a_tensor_seen_as_another_type() -> None:
    facts = "tensor A: bfloat16[2]\nview of A bits: uint8[4]"
    found = run(facts, "Put bits[3] = bits[1]", A=np.array([1, 0], np.float32))["A"]
    assert found.astype(np.float32).tolist() == [1, float(np.array([0, 0x3F], np.uint8).view(ml_dtypes.bfloat16)[0])]


def test_updates() -> None:
    body = """
Update add A[0] by 3, old x
Update max A[1] by x
Update set A[2] by 9, old y
Update set A[3] by 8, where it is 4, old z
Update set A[4] by 8, where it is 4
Put A[5] = x * 100 + y * 10 + z
"""
    found = run("tensor A: int32[6]", body, A=np.array([1, 0, 2, 4, 5, 0], np.int32))["A"]
    assert found.tolist() == [4, 1, 9, 8, 5, 124]


def test_show_and_check(capsys: pytest.CaptureFixture[str]) -> None:
    run("tensor A: int32[1]", 'Show "A is", A[0], 0.5\nCheck A[0] == 3, "three"', A=np.array([3], np.int32))
    assert capsys.readouterr().out == "A is 3 0.5\n"
    with pytest.raises(CheckError, match=r"^user.py:3: four$"):
        run("tensor A: int32[1]", 'Check A[0] == 4, "four"  # user.py:3', A=np.array([3], np.int32))


def test_stores_are_recorded() -> None:
    a, at = Tensor("A", 0, "int32", (scalar.const(3),)), scalar.var("at")
    put = c.Put(c.Place(a, (c.Name(at, "int32"),)), c.Constant(1, "int32"))
    loop = c.For(at, c.Constant(1, "int32"), c.Constant(2, "int32"), (put,))
    launch = Launch("main", ((scalar.var("bx"), scalar.const(1)),), (), (c.Code((loop,)),))
    stores: list[Written] = []
    interpret(TileProgram("main", (a,), (), (launch,), Options()), {}, stores=stores)
    assert [(one.where, one.stmt) for one in stores] == [((slice(1, 2),), put), ((slice(2, 3),), put)]


# --- threads --------------------------------------------------------------------------------------


def test_threads_wait_for_each_other() -> None:
    body = """
block s: shared int32[8]
block mine: local int32[1]
Threads tx < 4, ty < 2
  Put mine[0] = tx + ty * 4
  Put s[mine[0]] = mine[0] * 10
  For k < 2
    Barrier
    Let other = s[(mine[0] + 1) % 8]
    Barrier
    Put s[mine[0]] = other
  Put A[mine[0]] = s[mine[0]]
"""
    expected = [(number + 2) % 8 * 10 for number in range(8)]
    assert run("tensor A: int32[8]", body, A=np.zeros(8, np.int32))["A"].tolist() == expected


def test_a_loop_of_all_threads() -> None:
    body = """
block s: shared int32[8]
Threads tx < 4
  Put s[tx] = tx
  For i < 8, together
    Put s[i] = s[i] + 1
    For j < 2, together
      Update add A[0] by 1
  Put A[tx + 1] = s[3 - tx]
"""
    assert run("tensor A: int32[5]", body, A=np.zeros(5, np.int32))["A"].tolist() == [16, 4, 3, 2, 1]


def test_threads_of_a_branch_wait_for_each_other() -> None:
    """The others are ahead of them, at the barrier behind."""
    body = """
block s: shared int32[4]
Threads tx < 4
  For k < 2
    Barrier
    Put s[tx] = tx + k
    If tx >= 2
      Barrier
      Let other = s[5 - tx]
      Barrier
      Put s[tx] = other * 10
    Barrier
    Update add A[tx] by s[3 - tx]
"""
    expected = [20 + 30, 30 + 40, 1 + 2, 0 + 1]
    assert run("tensor A: int32[4]", body, A=np.zeros(4, np.int32))["A"].tolist() == expected


def test_a_shared_loop_in_a_branch_is_done_once() -> None:
    body = "Threads tx < 4\n  If tx >= 2\n    For i < 4, together\n      Update add A[i] by tx"
    assert run("tensor A: int32[4]", body, A=np.zeros(4, np.int32))["A"].tolist() == [2] * 4


def test_floats_become_integers_as_the_device_has_it() -> None:
    """Towards zero; beyond the ends of the type its end, NaN is 0."""
    floats = np.array([np.inf, -np.inf, np.nan, 3e38, -300.7, 255.9], np.float32)
    body = "For i < 6\n  Put B[i] = int8(A[i])\n  Put C[i] = uint64(A[i])\n  Put D[i] = int32(A[i])"
    tensors = "tensor A: float32[6]\n  tensor B: int8[6]\n  tensor C: uint64[6]\n  tensor D: int32[6]"
    found = run(tensors, body, A=floats, B=np.zeros(6, np.int8), C=np.zeros(6, np.uint64), D=np.zeros(6, np.int32))
    assert found["B"].tolist() == [127, -128, 0, 127, -128, 127]
    assert found["C"].tolist() == [2**64 - 1, 0, 0, 2**64 - 1, 0, 255]
    assert found["D"].tolist() == [2**31 - 1, -(2**31), 0, 2**31 - 1, -300, 255]
