"""The interpreter: rounding, uninitialised blocks, what is outside a tensor, and broken promises."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tilelang_tt.frontend.lift import lift
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer, Memory, Region, Tensor, TileAccess
from tilelang_tt.ir.elements import Element
from tilelang_tt.ir.interpret import interpret
from tilelang_tt.ir.layout import TensorLayout
from tilelang_tt.ir.tile import (
    Branch,
    Copy,
    Fill,
    Launch,
    Load,
    Map,
    Publish,
    ScalarParam,
    Section,
    Stmt,
    Store,
    TileProgram,
    Transpose,
)
from tilelang_tt.options import Options

from .kernels import cast_copy, dynamic_gemm, small_integers

ZERO = scalar.const(0)


def _tensor(name: str, *shape: int, dtype: str = "float32") -> Tensor:
    return Tensor(name, 0, dtype, tuple(map(scalar.const, shape)))


def _block(name: str, *shape: int, dtype: str = "float32") -> Buffer:
    return Buffer(name, dtype, shape, Memory.SHARED)


def _run(tensors: tuple[Tensor, ...], body: tuple[Stmt, ...], **given: np.ndarray) -> dict[str, np.ndarray]:
    """One unit that executes `body`."""
    layouts = {
        tensor: TensorLayout(
            len(tensor.shape) - 2,
            len(tensor.shape) - 1,
            scalar.ceildiv(tensor.shape[-2], 32),
            scalar.ceildiv(tensor.shape[-1], 32),
            scalar.product(tensor.shape[:-2]),
            "Float32",
            4096,
        )
        for tensor in tensors
    }
    launch = Launch("main", ((scalar.var("bx"), scalar.const(1)),), (), body)
    return interpret(TileProgram("main", tensors, (), (launch,), Options(), layouts), given)


def _everything(buffer: Buffer) -> Region:
    return Region(buffer, tuple(ZERO for _ in buffer.shape), buffer.shape)


def test_storing_rounds_to_the_element_type_unless_exact() -> None:
    program = lift(cast_copy(32, 64), Options())
    given = {"A": np.full((32, 64), 1 + 2**-9, np.float32)}
    assert (interpret(program, given)["B"] == 1).all()  # bfloat16 has 7 fraction bits
    assert (interpret(program, given, exact=True)["B"] == 1 + 2**-9).all()


def test_float16_rounds_to_ten_fraction_bits_and_overflows() -> None:
    block, out = _block("X", 32, 32, dtype="float16"), _tensor("B", 32, 32)
    copy = Copy(_everything(block), Region(out, (ZERO, ZERO), (32, 32)))
    for value, kept in ((1 + 2**-10, 1 + 2**-10), (1 + 2**-12, 1.0), (1e6, np.inf)):
        assert (_run((out,), (Fill(block, value), copy))["B"] == np.float32(kept)).all()


def test_a_block_nothing_wrote_is_nan() -> None:
    block, out = _block("X", 32, 32), _tensor("B", 32, 64)
    result = _run((out,), (Copy(_everything(block), Region(out, (ZERO, ZERO), (32, 32))),), B=np.zeros((32, 64)))
    assert np.isnan(result["B"][:, :32]).all()
    assert (result["B"][:, 32:] == 0).all()


def test_blocks_do_not_outlive_their_unit() -> None:
    out, block, bx = _tensor("B", 64, 32), _block("X", 32, 32), scalar.var("bx")
    first = Branch(scalar.is_zero(bx), (Fill(block, 1),))
    launch = Launch(
        "main",
        ((bx, scalar.const(2)),),
        (block,),
        (first, Copy(_everything(block), Region(out, (bx * 32, ZERO), (32, 32)))),
    )
    result = interpret(TileProgram("main", (out,), (), (launch,), Options()), {})["B"]
    assert (result[:32] == 1).all()
    assert np.isnan(result[32:]).all()


def test_copies_read_zero_outside_and_drop_writes_outside() -> None:
    source, out, block = _tensor("A", 40, 40), _tensor("B", 40, 40), _block("X", 32, 32)
    given = np.arange(1600, dtype=np.float32).reshape(40, 40)
    for row, col in ((16, -8), (-32, 0), (64, 8)):
        box = (scalar.const(row), scalar.const(col))
        body = (
            Copy(Region(source, box, (32, 32)), _everything(block)),
            Copy(_everything(block), Region(out, box, (32, 32))),
        )
        expected = np.full((40, 40), -1, np.float32)
        rows, cols = slice(max(row, 0), max(row + 32, 0)), slice(max(col, 0), col + 32)
        expected[rows, cols] = given[rows, cols]
        result = _run((source, out), body, A=given, B=np.full((40, 40), -1))
        np.testing.assert_array_equal(result["B"], expected)
    beyond = Region(source, (scalar.const(64), ZERO), (32, 32))
    shown = Copy(_everything(block), Region(out, (ZERO, ZERO), (32, 32)))
    assert (_run((source, out), (Copy(beyond, _everything(block)), shown), A=given)["B"][:32, :32] == 0).all()


def test_tile_accesses_cut_at_the_tensor_not_at_the_tile() -> None:
    source, out, block = _tensor("A", 3, 40, 50), _tensor("B", 3, 40, 50), _block("X", 64, 64)
    given = np.arange(6000, dtype=np.float32).reshape(3, 40, 50)
    body: list[Stmt] = []
    for batch in (2, 0):
        access = TileAccess(source, scalar.const(batch), ZERO, ZERO, 2, 2, False, False)
        target = replace(access, tensor=out)
        body += [Load(access, block), Map(block, Element(block)), Publish(block), Store(block, target)]
    result = _run((source, out), tuple(body), A=given, B=np.zeros((3, 40, 50)))["B"]
    np.testing.assert_array_equal(result, given * np.array([1, 0, 1])[:, None, None])


def test_padding_is_zero_inside_a_block() -> None:
    source, out, block = _tensor("A", 40, 50), _tensor("B", 64, 64), _block("X", 64, 64)
    body = (
        Load(TileAccess(source, ZERO, ZERO, ZERO, 2, 2, False, False), block),
        Store(block, TileAccess(out, ZERO, ZERO, ZERO, 2, 2, False, False)),
    )
    result = _run((source, out), body, A=np.ones((40, 50)))["B"]
    expected = np.zeros((64, 64))
    expected[:40, :50] = 1
    np.testing.assert_array_equal(result, expected)


def test_guards() -> None:
    source, out, block = _tensor("A", 32, 32), _tensor("B", 32, 32), _block("X", 32, 32)
    store = Store(block, TileAccess(out, ZERO, ZERO, ZERO, 1, 1, False, False))
    beyond = TileAccess(source, ZERO, scalar.const(5), ZERO, 1, 1, True, False)
    closed = TileAccess(source, scalar.const(9), ZERO, ZERO, 1, 1, False, False, guard=scalar.false())
    for access in (beyond, closed):
        result = _run((source, out), (Fill(block, 3), Load(access, block), store), A=np.ones((32, 32)))
        assert (result["B"] == 0).all()
        written = _run((source,), (Fill(block, 3), Store(block, access)), A=np.ones((32, 32)))
        assert (written["A"] == 1).all()


@pytest.mark.parametrize(
    ("row", "col", "batch", "message"),
    [
        (3, 0, 0, "unguarded access of 'A': tile row 3..4 of 4"),
        (-1, 0, 0, "unguarded access of 'A': tile row -1..0 of 4"),
        (0, 2, 0, "unguarded access of 'A': tile column 2..2 of 2"),
        (0, 0, 2, "unguarded access of 'A': tile batch 2..2 of 2"),
    ],
)
def test_a_broken_promise_is_an_error(row: int, col: int, batch: int, message: str) -> None:
    source, block = _tensor("A", 2, 128, 64), _block("X", 64, 32)
    access = TileAccess(source, scalar.const(batch), scalar.const(row), scalar.const(col), 2, 1, False, False)
    with pytest.raises(IndexError) as caught:
        _run((source,), (Load(access, block),), A=np.zeros((2, 128, 64)))
    assert str(caught.value) == message


def test_transpose_and_dst() -> None:
    source, out = _tensor("A", 32, 64), _tensor("B", 64, 32)
    block, turned = _block("X", 32, 64), _block("Y", 64, 32)
    body = (
        Copy(Region(source, (ZERO, ZERO), (32, 64)), _everything(block)),
        Section((Map(turned, Element(turned)),), (Transpose(block, turned),), turned),
        Copy(_everything(turned), Region(out, (ZERO, ZERO), (64, 32))),
    )
    given = np.arange(2048, dtype=np.float32).reshape(32, 64)
    np.testing.assert_array_equal(_run((source, out), body, A=given)["B"], given.T)


def test_sizes_come_from_tensors_or_by_name() -> None:
    program = lift(dynamic_gemm(), Options())
    tensors = small_integers({"A": (40, 50), "B": (50, 70)})
    assert interpret(program, tensors)["C"].shape == (40, 70)
    given = interpret(program, {}, {"M": 3, "N": 4, "K": 5})
    assert {name: value.shape for name, value in given.items()} == {"A": (3, 5), "B": (5, 4), "C": (3, 4)}
    with pytest.raises(ValueError) as caught:
        interpret(program, tensors | {"C": np.zeros((40, 71))}, {"N": 70})
    assert str(caught.value) == "'C' has shape (40, 71); the program wants (40, 70)"


def test_scalar_parameters() -> None:
    out, block, n = _tensor("B", 32, 32), _block("X", 32, 32), scalar.var("n")
    body = (
        Branch(n > 3, (Fill(block, 1),), (Fill(block, 2),)),
        Copy(_everything(block), Region(out, (ZERO, ZERO), (32, 32))),
    )
    launch = Launch("main", ((scalar.var("bx"), scalar.const(1)),), (), body)
    program = TileProgram("main", (out, ScalarParam("n", "int32", n)), (), (launch,), Options())
    assert [interpret(program, {}, {"n": value})["B"][0, 0] for value in (3, 4)] == [2, 1]


def test_given_tensors_are_left_alone() -> None:
    program = lift(cast_copy(32, 64), Options())
    given = {"A": np.full((32, 64), 1 / 3, np.float32), "B": np.zeros((32, 64), np.float32)}
    assert (interpret(program, given)["B"] != 0).all()
    assert (given["B"] == 0).all()
