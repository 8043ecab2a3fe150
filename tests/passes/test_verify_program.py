"""What must hold of a tile program after each pass, broken by one edit each."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tilelang_tt.diagnostics import InternalError
from tilelang_tt.ir.elements import Access, Apply, ElementExpr, Number
from tilelang_tt.ir.fields import children, rewritten, with_children
from tilelang_tt.ir.layout import Role
from tilelang_tt.ir.section import SubBlock
from tilelang_tt.ir.tile import Each, Gemm, Loop, Map, Section, Stmt, TileProgram
from tilelang_tt.ops.expressions import apply, cast
from tilelang_tt.passes.a_metadata.infer_layout import infer_layout
from tilelang_tt.passes.c_tile.lower_positions import lower_positions
from tilelang_tt.passes.c_tile.schedule_sections import schedule_sections
from tilelang_tt.passes.c_tile.separate_roles import separate_roles
from tilelang_tt.passes.f_verify import verify_program as module
from tilelang_tt.passes.raise_elements.compose_views import compose_views
from tilelang_tt.passes.record import Pass, verify
from tilelang_tt.pipeline import TILE_INVARIANTS, TILE_PASSES

from .kernels import gemm, integer_quotients, reshaped, scale_in_place
from .stages import after, before
from .vector_kernels import padded_maxima

LAST = TILE_PASSES[-1]
EVERYTHING = TILE_INVARIANTS[LAST.name]


def finished() -> TileProgram:
    """A GEMM with its accumulator in L1, after the last tile pass."""
    return after(LAST.run, gemm(128, 128, 64, (128, 128, 32)))


def with_launch(program: TileProgram, **fields: Any) -> TileProgram:
    (launch,) = program.launches
    return replace(program, launches=(replace(launch, **fields),))


def without_buffers() -> TileProgram:
    return with_launch(finished(), buffers=())


def without_streams() -> TileProgram:
    return with_launch(finished(), streams={})


def with_stream(name: str, **fields: Any) -> TileProgram:
    program = finished()
    streams = program.launches[0].streams
    changed = {b: replace(s, **fields) if b.name == name else s for b, s in streams.items()}
    return with_launch(program, streams=changed)


def with_gemm(**fields: Any) -> TileProgram:
    program = finished()

    def change(stmt: Stmt) -> Stmt:
        if isinstance(stmt, Gemm):
            return replace(stmt, **fields)
        return with_children(stmt, tuple(tuple(map(change, body)) for body in children(stmt)))

    return with_launch(program, body=tuple(map(change, program.launches[0].body)))


def with_schedule(**fields: Any) -> TileProgram:
    """The one section of the program scheduled differently."""
    program = finished()

    def change(stmt: Stmt) -> tuple[Stmt] | None:
        if not isinstance(stmt, Section) or stmt.schedule is None:
            return None
        return (replace(stmt, schedule=replace(stmt.schedule, **fields)),)

    return with_launch(program, body=rewritten(program.launches[0].body, change))


def with_element() -> TileProgram:
    program = finished()
    (launch,) = program.launches
    element = Each((), Access(launch.buffers[0], ()), Number(1.0))
    return with_launch(program, body=(*launch.body, element))


def with_value(change: Callable[[ElementExpr], ElementExpr]) -> TileProgram:
    """A kernel that doubles its blocks, with another value."""
    program = after(separate_roles, scale_in_place())

    def changed(stmt: Stmt) -> list[Stmt] | None:
        return [replace(stmt, value=change(stmt.value))] if isinstance(stmt, Map) else None

    return with_launch(program, body=rewritten(program.launches[0].body, changed))


BREAKS: dict[str, tuple[Callable[[], TileProgram], ...]] = {
    "TT901": (without_buffers,),
    "TT902": (lambda: after(infer_layout, gemm()),),  # its copies are not turned into loads and stores yet
    "TT903": (without_streams,),
    "TT904": (lambda: with_stream("A_s", producer=Role.COMPUTE),),
    "TT905": (lambda: with_stream("A_s", consumer=Role.WRITER),),
    "TT906": (
        lambda: with_gemm(sub_block=None),
        lambda: with_gemm(sub_block=SubBlock(3, 1)),  # does not divide 4 x 4 tiles
        lambda: with_gemm(sub_block=SubBlock(4, 2)),  # 8 tiles, 32-bit DST holds 4
    ),
    "TT907": (lambda: with_gemm(transpose_a=True),),
    "TT908": (lambda: replace(finished(), layouts={}), lambda: with_launch(finished(), layouts={})),
    "TT936": (
        lambda: with_value(lambda _: Number(1, "int32")),
        lambda: with_value(lambda value: Apply("add", (value, Number(1, "int32")), "float32")),
    ),
    "TT938": (lambda: with_element(),),
    "TT939": (
        lambda: with_launch(before(compose_views, reshaped()), body=(), views={}),  # of a tensor
        lambda: replace(before(compose_views, reshaped()), views=()),  # of a block
    ),
    "TT937": (lambda: with_value(lambda value: cast(apply("floor_div", *[cast(value, "int32")] * 2), "float32")),),
    "TT909": (lambda: with_launch(finished(), work=None),),
    "TT918": (lambda: before(lower_positions, padded_maxima()),),
    "TT919": (lambda: before(separate_roles, scale_in_place()),),
    "TT933": (lambda: before(LAST.run, gemm()),),
    "TT934": (lambda: before(schedule_sections, gemm(128, 128, 64, (128, 128, 32))),),
    "TT935": (
        lambda: with_schedule(group=SubBlock(1, 8)),  # of 16 tiles, a 32-bit DST holds 4
        lambda: with_schedule(group=SubBlock(1, 3)),
    ),
}


@pytest.mark.parametrize(
    ("code", "broken"),
    [(code, broken) for code, breaks in BREAKS.items() for broken in breaks],
    ids=[f"{code}-{number}" for code, breaks in BREAKS.items() for number in range(len(breaks))],
)
def test_a_broken_invariant_has_its_code(code: str, broken: Callable[[], TileProgram]) -> None:
    with pytest.raises(InternalError) as caught:
        verify(broken(), EVERYTHING)
    assert caught.value.code == code


def test_the_error_names_the_line() -> None:
    with pytest.raises(InternalError) as caught:
        verify(with_gemm(transpose_a=True), EVERYTHING)
    loop = next(stmt for stmt in finished().launches[0].body if isinstance(stmt, Loop))
    product = next(stmt for stmt in loop.body if isinstance(stmt, Gemm))
    assert str(caught.value) == (
        f"{product.location}: error[TT907]: a transposed first operand was left to the matrix engine\n"
        "    T.gemm(A_s, B_s, C_l, transpose_A=transpose_A, transpose_B=transpose_B)\n"
        "  help: this is a bug of tilelang-tt: please report it"
    )


@pytest.mark.parametrize("tile_pass", TILE_PASSES, ids=lambda tile_pass: tile_pass.name)
def test_what_each_pass_makes_holds(tile_pass: Pass[TileProgram]) -> None:
    verify(after(tile_pass.run, gemm(transpose_A=True)), TILE_INVARIANTS[tile_pass.name])


@pytest.mark.parametrize("tile_pass", [one for one in TILE_PASSES if one.ensures], ids=lambda one: one.name)
def test_what_a_pass_ensures_did_not_hold_before(tile_pass: Pass[TileProgram]) -> None:
    """For one of several kernels at least: otherwise the invariant says nothing about the pass."""
    for invariant in tile_pass.ensures:
        broken = 0
        for func in (gemm(transpose_A=True), scale_in_place(), padded_maxima(), integer_quotients(), reshaped()):
            try:
                verify(before(tile_pass.run, func), (invariant,))
            except InternalError:
                broken += 1
        assert broken, invariant.name


def test_every_code_is_broken_here() -> None:
    source = Path(str(module.__file__)).read_text()
    assert set(re.findall(r'fail\(\s*"(TT\d{3})"', source)) == set(BREAKS)
