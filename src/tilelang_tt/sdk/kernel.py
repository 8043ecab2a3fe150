"""What a kernel file asks of the SDK: its includes, its calls with the kinds of their arguments, its foreign names.

    pack_tile<true>(t, cb_C, tile + t);   ->   Call("pack_tile", template [bool], arguments [uint32, CBIndex, uint32])

Kinds are those of the table. The kind of an expression that cannot be told without the SDK is asked from `returns`;
what stays unknown is `any` and fits everywhere. Functions the file defines itself are its own business.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tree_sitter import Node

from tilelang_tt.sdk.conditionals import without_comments
from tilelang_tt.sdk.cpp import SPECIFIERS, base_kind, descend, line_of, parse, text_of
from tilelang_tt.sdk.declarations import read_declarations
from tilelang_tt.sdk.table import INTEGERS

LITERAL = "literal"  # an integer written out: fits every number
_COMPARISONS = frozenset(["<", ">", "<=", ">=", "==", "!=", "&&", "||"])
_CASTS = frozenset(["static_cast", "reinterpret_cast", "const_cast", "bit_cast"])
_COMPILERS_OWN = ("std::", "__builtin_")
_LANGUAGE = frozenset(["std", "auto", "sizeof", "true", "false", "this", "nullptr", "__LINE__", "__FILE__"])


@dataclass(frozen=True)
class Call:
    name: str
    line: int
    owner: str  # class of the object a method is called on, "" for a free function
    template: tuple[str, ...]  # `type`, or the kind of a value
    arguments: tuple[str, ...]
    in_constant: bool  # its value initialises a constexpr variable or is a template argument


@dataclass(frozen=True)
class Use:
    """A name that is neither called nor declared in the file, such as `SrcOrder::Reverse`."""

    name: str
    line: int


@dataclass
class KernelFile:
    includes: list[tuple[str, int]] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    uses: list[Use] = field(default_factory=list)
    unread: list[int] = field(default_factory=list)  # lines the grammar could not take


class Scope:
    """Names in reach and their kinds, innermost first."""

    def __init__(self, outer: Scope | None = None) -> None:
        self.outer = outer
        self.kinds: dict[str, str] = {}

    def get(self, name: str) -> str | None:
        return self.kinds.get(name) or (self.outer.get(name) if self.outer else None)


Returns = Callable[[str, str, tuple[str, ...]], str]  # owner, name, written template types -> kind
KindOfName = Callable[[str], str]


def read_kernel(text: str, returns: Returns, kind_of_name: KindOfName) -> KernelFile:
    reader = _Reader(returns, kind_of_name)
    code = without_comments(text)
    own = read_declarations("", code)
    reader.own = {function.name for function in own.functions}
    outermost = Scope()
    outermost.kinds |= {name.name: "any" for name in own.names if name.sort == "type"}
    for number, line in enumerate(code.split("\n"), 1):
        for word in SPECIFIERS:
            if re.search(rf"\b{word}\b", line) and not line.lstrip().startswith("#"):
                reader.file.uses.append(Use(word, number))
    tree = parse(code)
    reader.file.unread += sorted({line_of(node) for node in _errors(tree)})
    reader.walk(tree, outermost)
    return reader.file


def _errors(node: Node) -> Iterator[Node]:
    if node.is_error or node.is_missing:
        yield node
    for child in node.children:
        yield from _errors(child)


class _Reader:
    def __init__(self, returns: Returns, kind_of_name: KindOfName) -> None:
        self.returns = returns
        self.kind_of_name = kind_of_name
        self.file = KernelFile()
        self.own: set[str] = set()

    def walk(self, node: Node, scope: Scope) -> None:
        kind = node.type
        if kind == "preproc_include":
            self.file.includes.append((text_of(node.child_by_field_name("path")), line_of(node)))
        elif kind.startswith("preproc_def"):
            scope.kinds[text_of(node.child_by_field_name("name"))] = "any"
        elif kind in ("declaration", "parameter_declaration", "optional_parameter_declaration"):
            self.declare(node, scope)
        elif kind == "alias_declaration":
            scope.kinds[text_of(node.child_by_field_name("name"))] = "any"
        elif kind in ("type_parameter_declaration", "optional_type_parameter_declaration"):
            for named in node.named_children[:1]:
                scope.kinds[text_of(named)] = "any"
        elif kind == "function_declarator":
            self.inside([child for child in node.named_children if child.type == "parameter_list"], scope)
        elif kind in ("call_expression", "identifier", "qualified_identifier", "type_identifier", "field_expression"):
            self.expression(node, scope)
        elif kind == "field_declaration_list":
            self.members(node, Scope(scope))
        elif kind == "gnu_asm_goto_list":
            return  # labels
        elif kind in ("template_declaration", "function_definition", "compound_statement", "for_statement"):
            self.inside(node.children, Scope(scope))
        else:
            self.inside(node.children, scope)

    def inside(self, nodes: list[Node], scope: Scope) -> None:
        for node in nodes:
            self.walk(node, scope)

    def members(self, node: Node, scope: Scope) -> None:
        """A class of the file's own: methods see all of its fields."""
        for field_node in (child for child in node.named_children if child.type == "field_declaration"):
            scope.kinds |= {text_of(name): "any" for name in descend(field_node) if name.type == "field_identifier"}
        self.inside(node.children, scope)

    def declare(self, node: Node, scope: Scope) -> None:
        """Initialisers are read before the name they initialise is known."""
        written = node.child_by_field_name("type")
        constant = any(text_of(child) == "constexpr" for child in node.children)
        base = base_kind(text_of(written))
        if written is not None:
            self.walk(written, scope)
        if base in scope.kinds or scope.get(base):
            base = "any"  # the type of a template
        for declarator in node.children_by_field_name("declarator"):
            value = declarator.child_by_field_name("value")
            inner = declarator.child_by_field_name("declarator") if declarator.type == "init_declarator" else declarator
            if inner is not None and inner.type == "function_declarator":
                self.vexing(inner, base, line_of(node), scope)
                continue
            arguments = value.named_children if value is not None and value.type == "argument_list" else None
            if arguments is not None:
                self.record(base, node, (), tuple(self.expression(a, scope) for a in arguments), constant)
            known = self.expression(value, scope, constant) if value is not None and arguments is None else "any"
            names = [n for n in descend(declarator if inner is None else inner) if n.type == "identifier"]
            pointer = inner is not None and inner.type in ("pointer_declarator", "array_declarator")
            for name in names[:1]:
                scope.kinds[text_of(name)] = "pointer" if pointer else (known if base == "auto" else base)

    def vexing(self, declarator: Node, base: str, line: int, scope: Scope) -> None:
        """`Type name(a, b);` looks like a function: it is one only if its parameters are types of the language."""
        name = declarator.child_by_field_name("declarator")
        parameters = declarator.child_by_field_name("parameters")
        written = [text_of(p) for p in parameters.named_children] if parameters is not None else []
        if written and all(scope.get(text) for text in written):
            kinds = tuple(scope.get(text) or "any" for text in written)
            self.file.calls.append(Call(base, line, "", (), kinds, False))
            scope.kinds[text_of(name)] = base
        else:
            self.own.add(text_of(name))

    def expression(self, node: Node, scope: Scope, constant: bool = False) -> str:
        """Reads the calls and names in an expression and tells its kind."""
        kind = node.type
        if kind == "number_literal":
            text = text_of(node)
            is_float = not text.lower().startswith("0x") and re.search(r"[.eEf]", text) is not None
            return "float" if is_float else LITERAL
        if kind in ("true", "false"):
            return "bool"
        if text_of(node) == "nullptr":
            return "pointer"
        if kind in ("string_literal", "pointer_expression") and not text_of(node).startswith("*"):
            self.inside(node.named_children, scope)
            return "pointer"
        if kind in ("identifier", "qualified_identifier", "type_identifier"):
            return self.name(node, scope)
        if kind == "call_expression":
            return self.call(node, scope, constant)
        if kind == "lambda_expression":
            self.inside(node.children, Scope(scope))
            return "any"
        if kind == "field_expression":
            argument = node.child_by_field_name("argument")
            if argument is not None:
                self.expression(argument, scope)
            return "any"
        kinds = [self.expression(child, scope, constant) for child in node.named_children if child.type != "comment"]
        if kind == "cast_expression":
            return base_kind(text_of(node.child_by_field_name("type")))
        if kind == "binary_expression":
            operator = text_of(node.child_by_field_name("operator"))
            return "bool" if operator in _COMPARISONS else _mix(kinds)
        if kind == "conditional_expression":
            return _mix(kinds[1:])
        if kind in ("parenthesized_expression", "unary_expression", "update_expression", "assignment_expression"):
            return _mix(kinds) if kinds else "any"
        return "size" if kind == "sizeof_expression" else "any"

    def name(self, node: Node, scope: Scope) -> str:
        text = text_of(node)
        known = scope.get(text)
        if known is not None:
            return known
        plain = text.removeprefix("std::").removesuffix("_t")
        if plain in INTEGERS or text in _LANGUAGE or text in self.own or text.startswith("std::"):
            return "any"
        template = next((n for n in descend(node) if n.type == "template_type"), None)
        if template is None:
            self.file.uses.append(Use(text, line_of(node)))
        return self.kind_of_name(text)

    def call(self, node: Node, scope: Scope, constant: bool) -> str:
        function = node.child_by_field_name("function")
        arguments = node.child_by_field_name("arguments")
        assert function is not None
        template: tuple[str, ...] = ()
        written: tuple[str, ...] = ()
        given = tuple(
            self.expression(a, scope) for a in (arguments.named_children if arguments else ()) if a.type != "comment"
        )
        owner = ""
        callee = function
        if function.type == "field_expression":
            target, member = function.child_by_field_name("argument"), function.child_by_field_name("field")
            owner = self.expression(target, scope) if target is not None else "any"
            callee = member if member is not None else function
        lists = [n for n in descend(callee) if n.type == "template_argument_list"]
        if lists:
            pairs = [self.template_argument(a, scope) for a in lists[0].named_children if a.type != "comment"]
            template, written = tuple(k for k, _ in pairs), tuple(t for _, t in pairs)
        if callee.type == "lambda_expression":
            self.inside([callee], scope)
            return "any"
        name = re.sub(r"<.*", "", text_of(callee), flags=re.DOTALL).strip()  # `a < b || c > (d)` looks like one
        if name.rsplit("::", 1)[-1] in _CASTS:
            wanted = base_kind(written[0])
            return "pointer" if "*" in written[0] else ("any" if scope.get(wanted) else wanted)
        if name.startswith(_COMPILERS_OWN) or base_kind(name) in INTEGERS or (name in self.own and not owner):
            return "any"
        if name in ("float", "double", "bool"):
            return name
        if owner == "any" or scope.get(name):
            return "any"
        self.file.calls.append(Call(name, line_of(node), owner, template, given, constant))
        return self.returns(owner, name, written)

    def record(self, name: str, node: Node, template: tuple[str, ...], given: tuple[str, ...], constant: bool) -> None:
        if name not in ("any", "auto") and name not in INTEGERS:
            self.file.calls.append(Call(name, line_of(node), "", template, given, constant))

    def template_argument(self, node: Node, scope: Scope) -> tuple[str, str]:
        text = text_of(node)
        if node.type == "type_descriptor":
            if scope.get(text) and text not in self.own:
                return str(scope.get(text)), text  # a value: the grammar cannot tell it from a type
            if re.fullmatch(r"\w+::\w+(::\w+)?", text) and not text.startswith("std::"):
                self.file.uses.append(Use(text, line_of(node)))
                return self.kind_of_name(text), text
            if base_kind(text) not in INTEGERS | {"bool", "float", "any"}:
                self.inside([node], scope)
                return "any", text
            return "type", text
        return self.expression(node, scope, constant=True), text


def _mix(kinds: list[str]) -> str:
    """The kind of arithmetic on these."""
    if "any" in kinds or not kinds:
        return "any"
    if "float" in kinds:
        return "float"
    named = [kind for kind in kinds if kind not in INTEGERS | {LITERAL, "bool"}]
    if named and all(kind == named[0] for kind in kinds):
        return named[0]
    return "any" if named else next((kind for kind in kinds if kind in INTEGERS), LITERAL)
