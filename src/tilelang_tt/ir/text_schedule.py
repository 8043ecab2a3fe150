"""The schedule of a section to text and back: how many tiles at a time, then what each step puts into a slot of DST.

Schedule 2 x 2 tiles by 1 x 2; slots 1, 1 for the group
  s0 = out
  s1 = factor
  s0 = mul_binary_tile(s0, s1)
  out = s0
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.grammar import Codec, Form, Grammar, listed
from tilelang_tt.ir.scalar import Expr
from tilelang_tt.ir.scalar_parse import read_expr
from tilelang_tt.ir.section import Compute, ComputeFromBlocks, DstProgram, Fetch, Schedule, SetNumber, Step, SubBlock
from tilelang_tt.ir.text import INDENT, Line, Names, Reader, Sight, number_text, size
from tilelang_tt.ir.text_facts import CODECS
from tilelang_tt.ops import ELEMENT_OPS, Instruction
from tilelang_tt.ops.moves import COPY_SLOT
from tilelang_tt.ops.reductions import DOWN_COLUMNS

_SLOT = re.compile(r"s\d+\b")


def schedule_text(schedule: Schedule, targets: tuple[Buffer, ...], names: Names) -> Iterator[str]:
    """`targets`: the blocks that the results go to."""
    program, group = schedule.program, schedule.group
    walked = f"{size(schedule.rows, schedule.cols)} tiles by {size(group.rows, group.cols)}"
    common = f", {program.common} for the group" if program.common else ""
    yield f"Schedule {walked}{', in a run' if schedule.run else ''}; slots {program.slots}{common}"
    yield from (f"{INDENT}{_STEPS.write(step, names)}" for step in program.steps)
    for target, result in zip(targets, program.results, strict=True):
        yield f"{INDENT}{names(target)} = s{result}"


def read_schedule(line: Line, sight: Sight) -> Schedule:
    reader = Reader(line.text, sight)
    reader.take("Schedule ")
    rows, cols = reader.int("x"), reader.int("tiles by")
    group = SubBlock(reader.int("x"), reader.int())
    run = reader.maybe(", in a run")
    reader.take("; slots")
    slots = reader.int()
    common = reader.int("for the group") if reader.maybe(",") else 0
    steps: list[Step] = []
    results: list[int] = []
    for inner in line.nested:
        one = Reader(inner.text, sight)
        if _SLOT.match(inner.text):
            cls, values = _STEPS.read(one)
            steps.append(cls(**values))
        else:
            one.name("=")
            results.append(_read_slot(one))
    return Schedule(DstProgram(tuple(steps), slots, tuple(results), common), rows, cols, group, run)


# --- instructions ---------------------------------------------------------------------------------


@cache
def instructions() -> dict[str, Instruction]:
    """By the name of the call. Instructions with the same call differ only in how they order operands, now settled."""
    rows = [row for op in ELEMENT_OPS.values() for row in op.instructions]
    return {call_name(row): row for row in reversed([*rows, *DOWN_COLUMNS.values(), COPY_SLOT])}


def call_name(instruction: Instruction) -> str:
    """What is called, with its template arguments."""
    return instruction.call[: instruction.call.rindex("(")]


def _read_instruction(reader: Reader, of_blocks: bool) -> Instruction:
    for name in sorted(instructions(), key=len, reverse=True):
        if instructions()[name].of_blocks == of_blocks and reader.maybe(name):
            return instructions()[name]
    raise reader.fail("an instruction")


INSTRUCTION = Codec(lambda row, _: call_name(row), lambda reader: _read_instruction(reader, False))
BLOCK_INSTRUCTION = Codec(lambda row, _: call_name(row), lambda reader: _read_instruction(reader, True))


# --- steps ----------------------------------------------------------------------------------------


def _number_text(number: float | Expr, names: Names) -> str:
    return f"[{names.expr(number)}]" if scalar.is_expr(number) else number_text(number)


def _read_number(reader: Reader) -> float | Expr:
    return reader.then(read_expr(reader), "]") if reader.maybe("[") else reader.number()


NUMBER = Codec(_number_text, _read_number)
OPERAND = Codec(  # behind others
    lambda number, names: "" if number is None else f", {_number_text(number, names)}",
    lambda reader: _read_number(reader) if reader.maybe(",") else None,
)


def _read_slot(reader: Reader) -> int:
    return int(reader.match(_SLOT, "a slot").removeprefix("s"))


_SLOT_NAME = Codec(lambda slot, _: f"s{slot}", _read_slot)
_FETCH = "{buffer:buffer}(? from ({origin:exprs})?)(?[tile {tile:expr}]?)"
_BLOCK = Form(Fetch, _FETCH, {"slot": 0})  # of an operand: its slot means nothing
_STEPS: Grammar = Grammar(
    (
        Form(Compute, "{slot:slot} = {instruction:instruction}({operands:slots}{number:operand})"),
        Form(ComputeFromBlocks, "{slot:slot} = {instruction:block_instruction}({operands:blocks})"),
        Form(SetNumber, "{slot:slot} = {value:tile_number}"),
        Form(Fetch, f"{{slot:slot}} = {_FETCH}"),
    ),
    {
        **CODECS,
        "slot": _SLOT_NAME,
        "slots": listed(_SLOT_NAME),
        "blocks": listed(
            Codec(
                lambda fetch, names: _BLOCK.write(fetch, names, CODECS),
                lambda reader: Fetch(**_BLOCK.read(reader, CODECS)),
            )
        ),
        "instruction": INSTRUCTION,
        "block_instruction": BLOCK_INSTRUCTION,
        "tile_number": NUMBER,
        "operand": OPERAND,
    },
)
