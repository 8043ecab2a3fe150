"""One change of one protocol call in a kernel's text: left out, made twice, or moved past its neighbour.

    before   cb_wait_front(out, 1);
             noc_async_write_page(page, target, get_read_ptr(out));
    after    if (!MUTANT(7) ...) { cb_wait_front(out, 1); } if (MUTANT(8)) { cb_wait_front(out, 1); } ...

All mutants of a file are compiled at once; the last common runtime argument of a kernel says which one runs, so a
mutant costs a run and no build. Line numbers stay as they were.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import tree_sitter_cpp
from independence import functions_of, independent, touches
from tree_sitter import Language, Node, Parser

Kind = Literal["drop", "double", "swap", "set"]

# Calls that say when and how data moves. What is computed (matmul_tiles, exp_tile ...) is not protocol.
_FUNCTIONS = re.compile(
    r"cb_(?:reserve_back|push_back|wait_front|pop_front)|noc_\w+|tile_regs_\w+|acquire_dst|release_dst"
    r"|compute_kernel_hw_startup|\w*_init(?:_\w+)?|\w*_uninit|\w*reconfig\w*|pack_tile|pack_relu_config"
)
_METHODS = re.compile(
    r"reserve_back|push_back|wait_front|pop_front|async_\w+|up|down|set|wait|wait_min|set_multicast|inc_multicast"
    r"|ask|send|take"
)
_MACROS = re.compile(r"\b(?:ALWI|FORCE_INLINE|tt_l1_ptr|tt_reg_ptr)\b")  # the grammar does not know them
PARSER = Parser(Language(tree_sitter_cpp.language()))


@dataclass(frozen=True)
class Mutant:
    """`call` is changed: a swap moves it past `neighbour`, before or after it; "set" makes it `neighbour`."""

    file: str
    number: int
    kind: Kind
    call: str
    neighbour: str = ""
    earlier: bool = False  # the call moves to the front of its neighbour
    count: int = 1  # which of several equal ones in the file
    unbound: str = ""  # a name of the neighbour's declaration that the moved call uses: it cannot compile
    independent: bool = False  # of its neighbour

    @property
    def name(self) -> str:
        how = "to" if self.kind == "set" else "before" if self.earlier else "after"
        past = f" {how} {shorten(self.neighbour)}" if self.neighbour else ""
        which = f" #{self.count}" if self.count > 1 else ""
        return f"{self.file}: {self.kind} {self.call}{past}{which}"


def shorten(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."


@dataclass(frozen=True)
class Mutated:
    text: str  # needs the macro MUTANT(number)
    mutants: tuple[Mutant, ...]


def mutate(file: str, text: str, first: int) -> Mutated:
    """All mutants of a kernel, numbered from `first`."""
    return _Mutator(file, text, first).run()


class _Mutator:
    def __init__(self, file: str, text: str, first: int) -> None:
        self.file, self.text, self.next = file, text.encode(), first
        self.mutants: list[Mutant] = []
        self.before: dict[int, str] = {}  # inserted where a statement begins
        self.after: dict[int, str] = {}  # inserted where one ends
        self.absent: dict[tuple[int, int], list[int]] = {}  # statement -> mutants in which it is not at its place
        self.twice: dict[tuple[int, int], int] = {}
        self.seen: Counter[str] = Counter()
        self.functions: dict[str, Node] = {}

    def run(self) -> Mutated:
        root = PARSER.parse(blanked(self.text.decode()).encode()).root_node
        self.functions = functions_of(root)
        for statements in _sequences(root):
            self._sequence(statements)
        return Mutated(self._printed(), tuple(self.mutants))

    def _sequence(self, statements: list[Node]) -> None:
        for at, statement in enumerate(statements):
            if not is_protocol(statement):
                continue
            place = (statement.start_byte, statement.end_byte)
            self.absent.setdefault(place, []).append(self._add("drop", statement))
            self.twice[place] = self._add("double", statement)
            if at > 0:
                self._swap(statement, statements[at - 1], earlier=True)
            if at + 1 < len(statements) and not is_protocol(statements[at + 1]):
                self._swap(statement, statements[at + 1], earlier=False)

    def _swap(self, statement: Node, neighbour: Node, *, earlier: bool) -> None:
        unbound = next(iter(_declared(neighbour) & _names(statement)), "") if earlier else ""
        number = self._add("swap", statement, neighbour, earlier, unbound)
        if unbound:
            return
        self.absent.setdefault((statement.start_byte, statement.end_byte), []).append(number)
        moved = f" if (MUTANT({number})) {{ {flat(statement)} }} "
        if earlier:
            self.before[neighbour.start_byte] = moved + self.before.get(neighbour.start_byte, "")
        else:
            self.after[neighbour.end_byte] = self.after.get(neighbour.end_byte, "") + moved

    def _add(
        self, kind: Kind, statement: Node, neighbour: Node | None = None, earlier: bool = False, unbound: str = ""
    ) -> int:
        call, past = flat(statement), flat(neighbour) if neighbour else ""
        key = f"{kind} {call} {earlier} {past}"
        self.seen[key] += 1
        compute = b"api/compute/" in self.text
        free = neighbour is not None and independent(
            touches(statement, self.functions), touches(neighbour, self.functions), compute=compute
        )
        self.mutants.append(
            Mutant(
                self.file,
                self.next,
                kind,
                call.rstrip(";"),
                past.rstrip(";"),
                earlier,
                self.seen[key],
                unbound,
                free,
            )
        )
        self.next += 1
        return self.next - 1

    def _printed(self) -> str:
        edits: list[tuple[int, int, str]] = []  # offset, order among those at the same offset, text
        edits += [(at, 1, text) for at, text in self.before.items()]
        edits += [(at, 0, text) for at, text in self.after.items()]
        for (start, end), numbers in self.absent.items():
            moved = " || ".join(f"MUTANT({number})" for number in numbers)
            copy = _one_line(self.text[start:end].decode())
            edits.append((start, 2, f"{{ if (!({moved})) {{ "))
            edits.append((end, -1, f" }} if (MUTANT({self.twice[start, end]})) {{ {copy} }} }}"))
        out, last = [], 0
        for at, _, text in sorted(edits, key=lambda edit: edit[:2]):
            out += [self.text[last:at].decode(), text]
            last = at
        return "".join([*out, self.text[last:].decode()])


def _sequences(node: Node) -> Iterator[list[Node]]:
    """Statements of every block in order; a lone body of a loop or condition is a block of one."""
    if node.type == "compound_statement":
        yield [child for child in node.named_children if child.type != "comment"]
    elif not _guarded(node):
        yield from ([child] for child in node.named_children if node.type in _OWNERS and is_protocol(child))
    for child in node.named_children:
        yield from _sequences(child)


_OWNERS = ("if_statement", "else_clause", "for_statement", "for_range_loop", "while_statement")


def _guarded(node: Node) -> Node | None:
    """The call of `if (condition) call;`."""
    if node.type != "if_statement" or node.child_by_field_name("alternative"):
        return None
    body = node.child_by_field_name("consequence")
    return body if body is not None and body.type == "expression_statement" and is_protocol(body) else None


def is_protocol(statement: Node) -> bool:
    if statement.type != "expression_statement":
        return _guarded(statement) is not None
    call = statement.named_children[0] if statement.named_children else None
    return call is not None and call.type == "call_expression" and bool(_protocol_name(call))


def _protocol_name(call: Node) -> str:
    function = call.child_by_field_name("function")
    assert function is not None
    if function.type == "field_expression":
        field = function.child_by_field_name("field")
        name = re.sub(r"<.*", "", text_of(field), flags=re.DOTALL) if field else ""
        return name if _METHODS.fullmatch(name) else ""
    name = re.sub(r"<.*", "", text_of(function), flags=re.DOTALL)
    return name if _FUNCTIONS.fullmatch(name) else ""


def blanked(text: str) -> str:
    """Without the macros that the grammar does not know; everything stays at its place."""
    return _MACROS.sub(lambda found: " " * len(found[0]), text)


def text_of(node: Node) -> str:
    return (node.text or b"").decode()


def flat(node: Node) -> str:
    return _one_line(text_of(node))


def _one_line(text: str) -> str:
    return " ".join(re.sub(r"//[^\n]*|/\*.*?\*/", "", text).split())


def _names(node: Node) -> set[str]:
    found = {text_of(node)} if node.type == "identifier" else set()
    return found.union(*(_names(child) for child in node.named_children))


def _declared(node: Node) -> set[str]:
    """Names that a declaration brings: the first identifier of each declarator."""
    if node.type != "declaration":
        return set()
    ends = ("init_declarator", "identifier", "function_declarator", "pointer_declarator")
    return {_first_name(child) for child in node.children_by_field_name("declarator") if child.type in ends}


def _first_name(node: Node) -> str:
    while node.type != "identifier" and node.named_children:
        node = node.named_children[0]
    return text_of(node)
