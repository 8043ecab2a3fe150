"""The text of both IR levels: every statement prints with all its facts, the same in every process."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import get_args

import pytest

from tilelang_tt.diagnostics import Location
from tilelang_tt.ir import code, scalar, scalar_text
from tilelang_tt.ir import kernel as k
from tilelang_tt.ir import tile as t
from tilelang_tt.ir.buffers import Buffer, Memory, Read, Region, Tensor, TileAccess
from tilelang_tt.ir.cb import Cb, CbCall, CbKind
from tilelang_tt.ir.elements import Access, Element, Index, Number, Scalar
from tilelang_tt.ir.engine import (
    BinaryMode,
    BinaryTiles,
    CopyMode,
    CopyTile,
    DstCall,
    DstKind,
    DstUse,
    EndBlock,
    FillTile,
    Init,
    L1Accumulate,
    MatmulBlock,
    MatmulMode,
    PackTile,
    Reconfig,
    ReduceMode,
    ReduceTile,
    Sfpu,
    SfpuMode,
    Startup,
    TransposeDst,
    TransposeDstMode,
    TransposeMode,
    TransposeTile,
    Uninit,
    Unit,
)
from tilelang_tt.ir.fields import walk
from tilelang_tt.ir.layout import ONES, BufferLayout, Constant, MaskTile, Role, Stream, TensorLayout, TileOrder, Work
from tilelang_tt.ir.movement import (
    Ask,
    Barrier,
    BarrierKind,
    BlankRow,
    Half,
    MakeTile,
    PlaceRow,
    Pointer,
    ReadRow,
    ReadTable,
    ReadTile,
    RoomRow,
    RowPlace,
    Send,
    Take,
    WriteRow,
    WriteTile,
    ZeroRow,
    ZeroTile,
)
from tilelang_tt.ir.section import (
    Compute,
    ComputeFromBlocks,
    DstProgram,
    Fetch,
    Schedule,
    SetNumber,
    Start,
    SubBlock,
)
from tilelang_tt.ir.text_kernel import kernel_text, parse_kernels
from tilelang_tt.ir.text_program import parse_tile, tile_text
from tilelang_tt.ops import ELEMENT_OPS
from tilelang_tt.ops.expressions import apply
from tilelang_tt.ops.row import BB, TN, TT
from tilelang_tt.options import Options

from .stages import kernel_body

HERE = Location("/some/folder/user.py", 7)
AT_I, AT_J, LOOKED_UP = scalar.var("i"), scalar.var("j"), scalar.var("n")
ROW, COL, BATCH = scalar.var("row"), scalar.var("col"), scalar.var("b")
TENSOR = Tensor("A", 0, "bfloat16", (scalar.const(128), scalar.var("N")))
X = Buffer("X", "bfloat16", (32, 64), Memory.SHARED, HERE)
Y = Buffer("Y", "float32", (32, 64), Memory.FRAGMENT)
TEMPORARY = Buffer("s", "int8", (4,), Memory.LOCAL)
ACCESS = TileAccess(TENSOR, BATCH, ROW, COL + 2, 1, 2, True, True, BATCH < 3)
GEMM = t.Gemm(X, X, Y, True, True, scalar.is_zero(ROW), SubBlock(1, 2), HERE)

PROGRAM = DstProgram(
    (
        Fetch(Y, 0),
        SetNumber(0.5, 1),
        Compute(ELEMENT_OPS["mul"].instruction(TT), (0, 1), 0, None),
        ComputeFromBlocks(ELEMENT_OPS["mul"].instruction(BB), (Fetch(X, 1), Fetch(Y, 1)), 1),
        Compute(ELEMENT_OPS["add"].instruction(TN), (2,), 2, 3.0),
    ),
    2,
    (0,),
    1,
)
SCHEDULE = Schedule(PROGRAM, 1, 2, SubBlock(1, 2), run=True)

TILE_LINES: dict[t.Stmt, str] = {
    t.Loop(ROW, scalar.const(4), (t.Fill(Y, 0.5),), 3, HERE): """\
Loop row < 4, 3 stages  # user.py:7
  Fill Y = 0.5""",
    t.Branch(BATCH < 3, (t.Fill(Y, 1),), (t.Fill(Y, -2),), HERE): """\
Branch b < 3  # user.py:7
  Fill Y = 1
Else
  Fill Y = -2""",
    t.Section((t.Map(X, Element(Y)), t.Map(Y, Element(X))), location=HERE): """\
Section  # user.py:7
  Map X = Y
  Map Y = X""",
    t.Section((t.Map(X, Element(Y)),), (t.Fill(Y, 0),), Y, SCHEDULE): """\
Section with Y in DST
  Fill Y = 0
  Map X = Y
  Schedule 1 x 2 tiles by 1 x 2, in a run; slots 2, 1 for the group
    s0 = Y
    s1 = 0.5
    s0 = mul_binary_tile(s0, s1)
    s1 = mul_tiles(X, Y)
    s2 = add_unary_tile(s2, 3)
    X = s0""",
    t.Copy(Region(TENSOR, (BATCH * 32, COL), (32, 64)), Region(X, (scalar.const(0),) * 2, (32, 64))): (
        "Copy A[b * 32, col : 32 x 64] -> X"
    ),
    Read(scalar.var("n"), TENSOR, COL + 1): "Read n = A[col + 1]",
    t.Set(ROW, ROW + 1): "Set row = row + 1",
    code.Code((code.Barrier(HERE),), (TEMPORARY,), why="it waits", location=HERE): """\
Code because "it waits"  # user.py:7
  block s: local int8[4]
  Barrier  # user.py:7""",
    t.Each((t.Axis(AT_I, 32),), Access(Y, (AT_I, COL)), Access(TENSOR, (AT_I + 1, BATCH)), location=HERE): (
        "Each i < 32: Y[i, col] = A[i + 1, b]  # user.py:7"
    ),
    t.Each(
        (t.Axis(AT_I, 32), t.Axis(AT_J, 64)),
        Access(Y, (AT_I, AT_J)),
        apply("mul", Access(TENSOR, (LOOKED_UP, AT_J)), Scalar(AT_I * 2, "float32")),
        Scalar(AT_I < AT_J, "bool"),
        (Read(LOOKED_UP, TENSOR, AT_I),),
        "max",
    ): "Each i < 32, j < 64: Read n = A[i], Y[i, j] max= A[n, j] * float32[i * 2] where bool[i < j]",
    t.Each((), Access(Y, (COL, ROW)), Number(2.0)): "Each once: Y[col, row] = 2",
    t.Fill(Y, 1e-30, HERE): "Fill Y = 1e-30  # user.py:7",
    GEMM: "Gemm Y += X^T @ X^T, overwriting where row == 0, sub-blocks 1 x 2  # user.py:7",
    t.Map(Y, apply("max", apply("mul", Element(X), Number(2)), Number(0))): "Map Y = max(X * 2, 0)",
    t.Map(Y, apply("where", Index((1, -2), COL), Element(Y, (1, 0)), Scalar(ROW, "float32"))): (
        "Map Y = where([i + -2 * j + col], Y[j, i], float32[row])"
    ),
    t.Reduce("max", X, Y, 1): "Reduce Y = max of X along j",
    t.Reduce("sum", X, Y, 0, clear=False): "Reduce Y sum= sum of X along i",
    t.Transpose(X, Y): "Transpose X -> Y",
    t.Load(ACCESS, X): "Load A tiles (b: row, col + 2) 1 x 2, guarded rows, guarded columns, if b < 3 -> X",
    t.Store(X, ACCESS): "Store X -> A tiles (b: row, col + 2) 1 x 2, guarded rows, guarded columns, if b < 3",
    t.Await(X): "Await X",
    t.Publish(X): "Publish X",
}


def _program(body: tuple[t.Stmt, ...]) -> t.TileProgram:
    blocks = ((ROW, scalar.const(4)), (COL, scalar.const(2)), (BATCH, scalar.const(3)))
    launch = t.Launch("main", blocks, (X, Y), body)
    return t.TileProgram("main", (TENSOR,), (TENSOR.shape[1],), (launch,), Options())


def _body(text: str) -> str:
    return "\n".join(line[4:] for line in text.split("  body\n")[1].splitlines())


def test_every_tile_statement_has_a_sample() -> None:
    assert {type(stmt) for stmt in TILE_LINES} == set(get_args(t.Stmt))


@pytest.mark.parametrize("stmt", TILE_LINES, ids=lambda stmt: type(stmt).__name__)
def test_tile_statement(stmt: t.Stmt) -> None:
    expected = TILE_LINES[stmt].replace("Loop row", "Loop row.1")  # block variable `row` is another one
    if isinstance(stmt, t.Loop):
        stmt = t.Loop(scalar.var("row"), *(getattr(stmt, name) for name in ("extent", "body", "stages", "location")))
    text = tile_text(_program((stmt,)))
    assert _body(text) == expected
    assert tile_text(parse_tile(text)) == text


@pytest.mark.parametrize(
    ("clear", "text"),
    [(scalar.true(), "Gemm Y = X @ X"), (scalar.false(), "Gemm Y += X @ X")],
    ids=["overwrites", "adds"],
)
def test_constant_clear(clear: scalar.Expr, text: str) -> None:
    assert _body(tile_text(_program((t.Gemm(X, X, Y, False, False, clear),)))) == text


def test_a_part_of_a_product_that_goes_on_with_a_sum() -> None:
    start = Start(Element(X), scalar.true())
    part = t.Gemm(X, X, Y, False, False, scalar.true(), start=start, origin=(ROW, scalar.const(2)))
    text = tile_text(_program((part,)))
    assert _body(text) == "Gemm Y = (X) + X @ X from tile (row, 2)"
    assert tile_text(parse_tile(text)) == text


def test_sibling_loops_may_share_a_name_and_nested_ones_do_not() -> None:
    def loop(*body: t.Stmt) -> t.Loop:
        return t.Loop(scalar.var("n"), scalar.const(2), body)

    assert (
        _body(tile_text(_program((loop(loop(t.Publish(X))), loop(t.Publish(X))))))
        == """\
Loop n < 2
  Loop n.1 < 2
    Publish X
Loop n < 2
  Publish X"""
    )


def test_what_nothing_defines_is_marked() -> None:
    stray = Buffer("stray", "float32", (32, 32), Memory.SHARED)
    loop = t.Loop(scalar.var("n"), scalar.var("m"), (t.Publish(stray),))
    assert _body(tile_text(_program((loop,)))) == "Loop n < ?m\n  Publish ?stray"


def test_facts_of_passes() -> None:
    unit = scalar.var("unit")
    launch = t.Launch(
        "main",
        ((ROW, scalar.const(4)),),
        (X,),
        (t.Publish(X),),
        HERE,
        hints=(("swizzle", "ignored"),),
        layouts={
            X: BufferLayout(1, 2, "Float16_b", 2048, TileOrder.COLUMNS),
            Y: BufferLayout(1, 2, "Float32", 4096),
        },
        streams={X: Stream(Role.READER, Role.COMPUTE, 3, unpack_to_dest=True)},
        work=Work(scalar.const(4), unit, ((ROW, unit),), (8, 8)),
    )
    size, scale = TENSOR.shape[1], t.ScalarParam("scale", "int32", scalar.var("scale"))
    layout = TensorLayout(0, 1, scalar.const(4), scalar.ceildiv(size, 32), scale.var, "Float16_b", 2048)
    program = t.TileProgram(
        "mm", (TENSOR, scale), (size,), (launch,), Options(arch="blackhole", fp32_acc=False), {TENSOR: layout}
    )
    assert (
        tile_text(program)
        == """\
program mm
  target blackhole, 13 x 10 cores, HiFi4, 16-bit DST
  size N
  tensor A: bfloat16[128, N]; rows axis 0, columns axis 1, \
scale x [4, (N + 31) // 32] tiles Float16_b of 2048 B
  scalar scale: int32

launch main  # user.py:7
  blocks row < 4
  units 4 by unit: row = unit; 8 x 8 cores
  hint swizzle: ignored
  buffer X: shared bfloat16[32, 64]; 1 x 2 tiles by columns Float16_b of 2048 B; \
reader -> compute, 3 blocks, unpacked to DST  # user.py:7
  buffer Y: fragment float32[32, 64]; 1 x 2 tiles Float32 of 4096 B; in DST
  body
    Publish X
"""
    )


def test_a_flat_tensor() -> None:
    pages = scalar.ceildiv(TENSOR.shape[1] * 256, 4096)
    layout = TensorLayout(None, None, pages, scalar.const(1), scalar.const(1), "UInt16", 4096, flat=True)
    program = t.TileProgram("k", (TENSOR,), (TENSOR.shape[1],), (), Options(), {TENSOR: layout})
    text = tile_text(program)
    assert "[(N * 256 + 4095) // 4096, 1] tiles UInt16 of 4096 B, flat\n" in text
    assert tile_text(parse_tile(text)) == text
    (read,) = parse_tile(text).layouts.values()
    assert read.flat


# --- kernels --------------------------------------------------------------------------------------

CB = Cb(0, "X", "Float16_b", 2048, 2, 3, Role.READER, Role.COMPUTE, False, (1, 2), HERE)
OUT = Cb(16, "Y", "Float32", 4096, 2, 1, Role.COMPUTE, Role.WRITER, True, (1, 2), None)
INDEX, BASE = scalar.var("i"), scalar.var("X_l1")
ADD, ADD_TILES, ADD_ROWS = ELEMENT_OPS["add"].instructions[2:5]
RELU = ELEMENT_OPS["max"].instructions[0]
POINTER = Pointer(BASE, CB, write=True)
HALF = Half(scalar.const(1), sideways=True)
ROOM_ROW = RoomRow(CB, BASE, scalar.const(3), 2, CB)
ROW_PLACE = RowPlace(CB, BASE, scalar.const(3), 2, 4, 1)

KERNEL_LINES: list[tuple[tuple[k.KernelStmt, ...], str]] = [
    (
        (k.For(INDEX, scalar.const(0), scalar.const(8), 2, (CopyTile(CB, INDEX, INDEX + 1),), HERE),),
        "for i in 0 .. 8 by 2\n  copy X[i] -> DST[i + 1]",
    ),
    (
        (k.If(k_ := scalar.const(1) < scalar.const(2), (k.Hand(X),), (k.Receive(X),)),),
        f"if {scalar_text.to_python(k_)}\n  hand X\nelse\n  receive X",
    ),
    ((k.Let(INDEX, scalar.const(3)), ZeroTile(CB, INDEX, INDEX)), "let i = 3\nzero X[i] at i"),
    ((k.Task(t.Publish(X)),), "Publish X"),
    (
        (code.Code((code.For(INDEX, code.Constant(0, "int32"), code.Constant(8, "int32"), ()),), (TEMPORARY,)),),
        "Code\n  block s: local int8[4]\n  For i < 8",
    ),
    ((k.Receive(X),), "receive X"),
    ((k.Hand(Y),), "hand Y"),
    ((k.Held((k.Task(t.Fill(Y, 0)),)),), "held\n  Fill Y = 0"),
    *[
        ((CbCall(kind, CB, 2),), f"{word} X 2")
        for kind, word in zip(CbKind, ("reserve", "push", "wait", "pop"), strict=True)
    ],
    (
        (POINTER, ReadTile(TENSOR, scalar.const(5), CB, BASE, scalar.const(1))),
        "let X_l1 = write address of X\nread A page 5 -> X[1] at X_l1",
    ),
    (
        (Pointer(BASE, CB, write=False), WriteTile(TENSOR, scalar.const(5), CB, BASE, scalar.const(1))),
        "let X_l1 = read address of X\nwrite X[1] at X_l1 -> A page 5",
    ),
    ((Barrier(BarrierKind.READ),), "read barrier"),
    ((Barrier(BarrierKind.FLUSH),), "writes flushed"),
    ((Barrier(BarrierKind.WRITE),), "write barrier"),
    ((Barrier(BarrierKind.SIGNAL),), "signal barrier"),
    ((POINTER, Ask(CB), Send(CB, BASE), Take(CB)), "let X_l1 = write address of X\nask for X\nsend X at X_l1\ntake X"),
    (
        (MatmulBlock(CB, CB, scalar.const(1), scalar.const(2), 0, True, 4, 2, 8),),
        "matmul X[1], X[2]^T -> DST[0], 2 x 4 tiles, A stride 8",
    ),
    (
        (POINTER, MakeTile(ONES, CB, BASE, scalar.const(0))),
        "let X_l1 = write address of X\nmake 1 -> X[0] at X_l1",
    ),
    (
        (POINTER, MakeTile(Constant(row=-1, col=1), CB, BASE, scalar.const(0))),
        "let X_l1 = write address of X\nmake -1 * i + j -> X[0] at X_l1",
    ),
    (
        (POINTER, MakeTile(MaskTile(0, 1, -1, 0.0, -math.inf), CB, BASE, scalar.const(1))),
        "let X_l1 = write address of X\nmake 0 where i + -1 * j >= 0 else -inf -> X[1] at X_l1",
    ),
    (
        (POINTER, MakeTile(MaskTile(-32, 1, -1, 0.0, -math.inf), CB, BASE, scalar.const(2))),
        "let X_l1 = write address of X\nmake 0 where i + -1 * j + -32 >= 0 else -inf -> X[2] at X_l1",
    ),
    (
        (ReduceTile(CB, OUT, scalar.const(1), scalar.const(2), True, OUT),),
        "maxima of each row of X[1] by Y -> DST[2] for Y",
    ),
    ((Init(ReduceMode(CB, CB, OUT, False)),), "init maxima of each column of X by X -> Y"),
    ((Uninit(CB),), "undo maxima of X"),
    ((EndBlock(),), "end of block"),
    ((ReadTable(INDEX, TENSOR, scalar.const(3), CB), k.Assign(INDEX, INDEX + 1)), "let i = A[3] in X\nset i = i + 1"),
    ((ReadTable(INDEX, TENSOR, scalar.const(3)),), "let i = A[3]"),
    (
        (POINTER, ReadRow(TENSOR, scalar.const(5), scalar.const(1), ROOM_ROW), BlankRow(ROOM_ROW)),
        "let X_l1 = write address of X\nread A page 5 from tile 1 -> row 3 of room X at X_l1, 2 tiles of X\n"
        "zero row 3 of room X at X_l1, 2 tiles of X",
    ),
    (
        (POINTER, PlaceRow(ROOM_ROW, ROW_PLACE), ZeroRow(ROW_PLACE)),
        "let X_l1 = write address of X\nplace row 3 of room X at X_l1, 2 tiles of X -> X row 3 at X_l1, 2 tiles, "
        "steps 4 and 1\nzero X row 3 at X_l1, 2 tiles, steps 4 and 1",
    ),
    (
        (POINTER, ReadTile(TENSOR, scalar.const(5), CB, BASE, scalar.const(1), half=HALF)),
        "let X_l1 = write address of X\nread A page 5 -> X[1] at X_l1, half 1, sideways",
    ),
    (
        (POINTER, ZeroTile(CB, BASE, scalar.const(1), HALF)),
        "let X_l1 = write address of X\nzero X[1] at X_l1, half 1, sideways",
    ),
    (
        (POINTER, WriteTile(TENSOR, scalar.const(5), CB, BASE, scalar.const(1), HALF)),
        "let X_l1 = write address of X\nwrite X[1] at X_l1, half 1, sideways -> A page 5",
    ),
    (
        (POINTER, WriteRow(TENSOR, scalar.const(5), scalar.const(0), ROW_PLACE)),
        "let X_l1 = write address of X\nwrite X row 3 at X_l1, 2 tiles, steps 4 and 1 -> A page 5 from tile 0",
    ),
    (
        (BinaryTiles(ADD_TILES, CB, OUT, scalar.const(1), scalar.const(2), scalar.const(3)),),
        "add_tiles X[1], Y[2] -> DST[3]",
    ),
    ((Init(BinaryMode(ADD_TILES, CB, OUT)),), "init add_tiles X, Y"),
    ((Init(BinaryMode(ADD_ROWS, CB, OUT)),), "init add_tiles_bcast_rows X, Y"),
    ((TransposeTile(CB, scalar.const(1), scalar.const(2)),), "transpose X[1] -> DST[2]"),
    ((TransposeDst(scalar.const(2)),), "transpose DST[2]"),
    ((Init(TransposeDstMode()),), "init transpose in DST"),
    ((FillTile(scalar.const(2), -1.5),), "fill DST[2] = -1.5"),
    (
        (Sfpu(ADD, (scalar.const(0), scalar.const(1)), scalar.const(0), None),),
        "sfpu add_binary_tile DST[0], DST[1] -> DST[0]",
    ),
    (
        (Sfpu(RELU, (scalar.const(0),), scalar.const(0), 0.0),),
        "sfpu relu_tile DST[0], 0 -> DST[0]",
    ),
    ((PackTile(scalar.const(0), OUT, scalar.const(1), scalar.true()),), "pack DST[0] -> Y[1]"),
    ((PackTile(scalar.const(0), OUT, scalar.const(1), scalar.false()),), "pack DST[0] -> Y[1], adding"),
    (
        (k.Let(INDEX, scalar.const(3)), PackTile(INDEX, OUT, scalar.const(1), scalar.is_zero(INDEX))),
        "let i = 3\npack DST[i] -> Y[1], adding unless i == 0",
    ),
    ((DstUse((k.Hand(X),), (k.Hand(Y),)),), "math\n  hand X\npack\n  hand Y"),
    *[
        ((DstCall(kind),), word)
        for kind, word in zip(DstKind, ("acquire", "commit", "wait DST", "release"), strict=True)
    ],
    ((Startup(CB, OUT, OUT, reverse=True),), "startup X, Y -> Y, reversed"),
    ((Startup(CB, CB, OUT, reverse=False),), "startup X, X -> Y"),
    ((Init(MatmulMode(CB, OUT, True, 4, 2, 8)),), "init matmul X, Y^T, 2 x 4 tiles, A stride 8"),
    ((Init(CopyMode(CB)),), "init copy X"),
    ((Init(TransposeMode(CB)),), "init transpose X"),
    ((Init(SfpuMode("exp_tile_init()", "exp.h")),), "init sfpu exp_tile_init()"),
    ((Reconfig(Unit.SRC_A, None, CB),), "reconfig srca X"),
    ((Reconfig(Unit.SRC_B, OUT, CB),), "reconfig srcb Y -> X"),
    ((Reconfig(Unit.PACK, CB, OUT),), "reconfig pack X -> Y"),
    ((L1Accumulate(scalar.false()),), "accumulate in L1 where False"),
]


def _kernels(body: tuple[k.KernelStmt, ...]) -> k.KernelSet:
    program = _program(())
    kernels = tuple(k.Kernel(role, body if role is Role.COMPUTE else ()) for role in Role)
    start, count = scalar.var("unit_start"), scalar.var("unit_count")
    return k.KernelSet(program, program.launches[0], kernels, {X: CB, Y: OUT}, start, count)  # type: ignore[arg-type]


def test_every_kernel_statement_has_a_sample() -> None:
    sampled = {type(stmt) for body, _ in KERNEL_LINES for stmt in walk(body)} - set(get_args(code.CodeStmt))
    assert sampled == set(get_args(k.KernelStmt)) - {k.Source}  # Source: below


@pytest.mark.parametrize(
    ("body", "text"), KERNEL_LINES, ids=lambda part: part.split("\n")[0] if isinstance(part, str) else ""
)
def test_kernel_statement(body: tuple[k.KernelStmt, ...], text: str) -> None:
    kernels = _kernels(body)
    assert kernel_body(kernels, "compute") == text + "\n"
    (again,) = parse_kernels(kernel_text(kernels), kernels.program)
    assert kernel_text(again) == kernel_text(kernels)


def test_kernel_set_head_arguments_and_places() -> None:
    kernels = _kernels((k.Source(HERE), k.Hand(X)))
    size = TENSOR.shape[1]
    args = (k.Arg("A_addr", k.ArgKind.ADDRESS, tensor=TENSOR), k.Arg("columns", k.ArgKind.SIZE, size, size=size + 1))
    kernels = kernels.with_kernel(k.Kernel(Role.READER, (k.Let(INDEX, size),), args, (TENSOR,)))
    assert (
        kernel_text(kernels)
        == """\
kernels main
  cb0 X: reader -> compute, 3 blocks of 1 x 2 tiles Float16_b, 6 pages of 2048 B  # user.py:7
  cb16 Y: compute -> writer, 1 block of 1 x 2 tiles Float32, 2 pages of 4096 B, unpacked to DST

reader(A_addr: address of A, columns: size N + 1 -> N)
  accessor 0: A
  let i = N

compute()
  # user.py:7
  hand X

writer()
"""
    )


_PRINT_ALL = """
from passes.kernels import CASES
from tilelang_tt.options import Options
from tilelang_tt.pipeline import compile_function
for case in CASES:
    for stage, text in compile_function(case.build(), Options(), stages=True).stages:
        print(case.name, stage)
        print(text)
"""


def test_texts_are_the_same_in_every_process() -> None:
    """Addresses of objects and the seed of hashing differ between the two; nothing printed may."""
    texts = [
        subprocess.run(
            [
                sys.executable,
                "-c",
                f"import sys; sys.path.insert(0, {str(_tests())!r}); junk = [0] * {junk}\n{_PRINT_ALL}",
            ],
            env={"PYTHONHASHSEED": str(junk), "PATH": ""},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for junk in (1, 100_003)
    ]
    assert texts[0] == texts[1]
    assert "finalize_persistent_signature" in texts[0]
    assert " at 0x" not in texts[0]
    assert "/" not in texts[0].replace(" // ", "")


def _tests() -> str:
    return str(__file__).rsplit("/passes/", 1)[0]
