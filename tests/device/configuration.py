"""One change of one setting of a kernel: an argument of an init, reconfiguration or start-up takes another legal value.

    before   copy_tile_to_dst_init_short(cb_x);
    after    { if (MUTANT(7)) { copy_tile_to_dst_init_short(cb_total); } else { copy_tile_to_dst_init_short(cb_x); } }

Circular buffers become each other one of the kernel, enumerators each other member, truth values the opposite, numbers
their neighbours. So do template arguments, also those of calls that an init must agree with. Unlike a protocol call
that is left out, another setting is often as good: a change that gives the same bytes is no hole. One that
gives other bytes must be reported.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from mutator import PARSER, Mutant, Mutated, blanked, flat, text_of
from tree_sitter import Node

# Calls that set something up, and calls whose template arguments must be those of their init.
_SETTING = re.compile(r"compute_kernel_hw_startup|\w*_init(?:_\w+)?|\w*_uninit|\w*reconfig\w*|pack_relu_config")
_AGREEING = re.compile(r"reduce_tile\w*|\w+_bcast\w*|typecast_tile|binary_dest_reuse_tiles|unary_bcast")
_MEMBERS = {
    "PoolType": ("SUM", "AVG", "MAX"),
    "ReduceDim": ("REDUCE_ROW", "REDUCE_COL", "REDUCE_SCALAR"),
    "BroadcastType": ("NONE", "COL", "ROW", "SCALAR"),
    "SrcOrder": ("Regular", "Reverse"),
    "EltwiseBinaryType": ("ELWMUL", "ELWADD", "ELWSUB"),
    "DataFormat": ("Float32", "Float16_b", "Int32", "UInt32", "UInt16"),
}
_BUFFER = re.compile(r"constexpr\s+(?:auto|uint32_t)\s+(\w+)\s*=\s*(?:\(uint32_t\)\s*)?tt::CBIndex::c_\d+")


# Settings that say what is computed, and nothing else says it: another value is another program, not a broken one.
MEANINGS = {
    r"set matmul_init\((.*), 1\) to matmul_init\(\1, 0\)": "only the init says that in1 is transposed",
    r"set pack_reconfig_l1_acc\(.*\) to pack_reconfig_l1_acc\(0\)": "who says 0 wants the page overwritten",
}


def another_program(mutant: Mutant) -> str:
    """Why other bytes are right, if they are."""
    return next((why for pattern, why in MEANINGS.items() if re.search(pattern, mutant.name)), "")


def change_settings(file: str, text: str, first: int) -> Mutated:
    """All changes of a kernel's settings, numbered from `first`."""
    source = text.encode()
    buffers = tuple(dict.fromkeys(_BUFFER.findall(text)))
    mutants: list[Mutant] = []
    seen: Counter[str] = Counter()
    out, last = [], 0
    for statement in _statements(PARSER.parse(blanked(text).encode()).root_node):
        branches = []
        for changed in dict.fromkeys(_changes(statement, source, buffers)):
            key = f"{flat(statement)} {changed}"
            seen[key] += 1
            number = first + len(mutants)
            call, to = flat(statement).rstrip(";"), changed.rstrip(";")
            mutants.append(Mutant(file, number, "set", call, to, count=seen[key]))
            branches.append(f"if (MUTANT({number})) {{ {changed} }} else ")
        if branches:
            body = source[statement.start_byte : statement.end_byte].decode()
            out += [source[last : statement.start_byte].decode(), "{ ", *branches, "{ ", body, " } }"]
            last = statement.end_byte
    return Mutated("".join([*out, source[last:].decode()]), tuple(mutants))


def _statements(node: Node) -> Iterator[Node]:
    """Statements that are a call, in the order of the text."""
    if node.type == "expression_statement" and node.named_children and node.named_children[0].type == "call_expression":
        yield node
        return
    for child in node.named_children:
        yield from _statements(child)


def _changes(statement: Node, source: bytes, buffers: tuple[str, ...]) -> Iterator[str]:
    call = statement.named_children[0]
    function, arguments = call.child_by_field_name("function"), call.child_by_field_name("arguments")
    assert function is not None
    assert arguments is not None
    name = re.sub(r"<.*", "", text_of(function), flags=re.DOTALL)
    sets = bool(_SETTING.fullmatch(name))
    templates = function.child_by_field_name("arguments") if function.type == "template_function" else None
    places = [*(templates.named_children if templates and (sets or _AGREEING.fullmatch(name)) else ())]
    places += arguments.named_children if sets else ()
    for place in places:
        for value in _other_values(text_of(place), buffers):
            start, end = place.start_byte - statement.start_byte, place.end_byte - statement.start_byte
            whole = source[statement.start_byte : statement.end_byte]
            yield " ".join((whole[:start].decode() + value + whole[end:].decode()).split())


def _other_values(value: str, buffers: tuple[str, ...]) -> Iterator[str]:
    if value in buffers:
        yield from (name for name in buffers if name != value)
    elif value in ("true", "false"):
        yield "false" if value == "true" else "true"
    elif re.fullmatch(r"\d+", value):
        yield from (str(other) for other in dict.fromkeys((0, 1, int(value) + 1)) if other != int(value))
    elif found := re.fullmatch(r"(.*\b(\w+)::)(\w+)", value):
        members = _MEMBERS.get(found[2], ())
        yield from (found[1] + member for member in members if member != found[3])
    elif re.search(r"[!=<>]=|[<>]", value):  # a condition, as the switch of accumulation in L1 takes it
        yield from ("0", "1")
