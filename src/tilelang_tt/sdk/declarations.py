"""What a C++ header declares: functions, classes with their public methods, enums, macros, variables.

    template <bool out_of_order = false>
    ALWI void pack_tile(uint32_t idst, uint32_t ocb, uint32_t index = 0);
      ->  pack_tile<bool=false>(uint32, uint32, uint32=0)

Bodies are not looked into. What the parser could not read outside a body is returned too, never dropped in silence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from tree_sitter import Node

from tilelang_tt.sdk.cpp import base_kind, descend, find, line_of, parse, text_of
from tilelang_tt.sdk.table import Function, Name, Parameter

_INNER = (
    "namespace_definition",
    "declaration_list",
    "linkage_specification",
    "translation_unit",
    "preproc_if",
    "preproc_ifdef",
    "field_declaration_list",
)
_DECLARATORS = ("pointer_declarator", "reference_declarator", "parenthesized_declarator")
_DEDUCTION_GUIDE = re.compile(r"(\w+)\(.*\)\s*->\s*\1\b", re.DOTALL)
_PLAIN_DEFAULT = re.compile(r"-?[\w:.]+")


@dataclass
class Declarations:
    functions: list[Function] = field(default_factory=list)
    names: list[Name] = field(default_factory=list)
    includes: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)  # "line: text" of what the grammar could not take


def read_declarations(header: str, text: str, private: tuple[str, ...] = ()) -> Declarations:
    """Declarations of a header's text; what stands in `private` namespaces is left out."""
    found = Declarations()
    tree = parse(text)
    _Reader(header, found, private).visit(tree)
    found.unread = [f"{line_of(node)}: {text_of(node)[:80]!r}" for node in _unread(tree)]
    return found


def _unread(node: Node) -> Iterator[Node]:
    """What the grammar could not take, outside bodies of functions."""
    if node.is_error or node.is_missing:
        if not _DEDUCTION_GUIDE.match(text_of(node)):
            yield node
    elif node.type not in ("compound_statement", "preproc_def", "preproc_function_def", "preproc_call"):
        for child in node.children:
            yield from _unread(child)


@dataclass
class _Reader:
    header: str
    found: Declarations
    private: tuple[str, ...] = ()
    owner: str = ""
    template: tuple[Node, ...] = ()  # template_parameter_list nodes around this place

    def within(self, owner: str) -> _Reader:
        return replace(self, owner=owner)

    def visit(self, node: Node) -> None:
        private = node.type == "field_declaration_list" and node.parent is not None
        hidden = private and node.parent is not None and node.parent.type == "class_specifier"
        for child in node.children:
            if child.type == "access_specifier":
                hidden = text_of(child).rstrip(":") != "public"
            elif not hidden:
                self.one(child)

    def one(self, node: Node) -> None:
        kind = node.type
        if kind == "namespace_definition" and text_of(node.child_by_field_name("name")) in self.private:
            return
        if kind in _INNER:
            self.visit(node)
        elif kind == "template_declaration":
            parameters = node.child_by_field_name("parameters")
            inner = replace(self, template=(*self.template, *([parameters] if parameters else [])))
            for child in node.children:
                if child != parameters:
                    inner.one(child)
        elif kind == "preproc_include":
            self.found.includes.append(text_of(node.child_by_field_name("path")).strip('"<>'))
        elif kind == "preproc_def":
            self.name(text_of(node.child_by_field_name("name")), "macro")
        elif kind == "preproc_function_def":
            self.macro_function(node)
        elif kind in ("function_definition", "declaration", "field_declaration"):
            self.declaration(node)
        elif kind in ("class_specifier", "struct_specifier", "enum_specifier", "union_specifier"):
            self.type(node)
        elif kind in ("alias_declaration", "type_definition"):
            named = node.child_by_field_name("name") or node.child_by_field_name("declarator")
            self.name(text_of(named), "type")

    def name(self, name: str, sort: str, values: tuple[str, ...] = ()) -> None:
        if name and (not self.owner or sort.startswith("enum")):
            self.found.names.append(Name(name, sort, self.header, values))

    def macro_function(self, node: Node) -> None:
        """A macro with arguments is called like a function; kinds cannot be told from it."""
        parameters = node.child_by_field_name("parameters")
        written = [text_of(p) for p in parameters.children if p.type in ("identifier", "...")] if parameters else []
        kinds = tuple(Parameter("any", pack=text == "...") for text in written)
        name = text_of(node.child_by_field_name("name"))
        self.found.functions.append(Function(name, self.header, parameters=kinds, returns="any", constexpr=True))

    def type(self, node: Node) -> None:
        name = re.sub(r"<.*", "", text_of(node.child_by_field_name("name")), flags=re.DOTALL).rsplit("::", 1)[-1]
        body = node.child_by_field_name("body")
        if body is None or not name:
            return
        if node.type == "enum_specifier":
            values = [text_of(v.child_by_field_name("name")) for v in body.named_children if v.type == "enumerator"]
            scoped = any(child.type in ("class", "struct") for child in node.children)
            self.name(name, "enum class" if scoped else "enum", tuple(values))
            return
        self.name(name, "type")
        self.within(name).visit(body)

    def declaration(self, node: Node) -> None:
        inner = node.child_by_field_name("type")
        if inner is not None and inner.child_by_field_name("body") is not None:
            self.type(inner)
        declarator = node.child_by_field_name("declarator")
        returns = base_kind(text_of(inner)) if inner is not None else self.owner
        while declarator is not None and declarator.type in _DECLARATORS:
            returns = "pointer" if declarator.type == "pointer_declarator" else returns
            declarator = declarator.child_by_field_name("declarator") or next(reversed(declarator.named_children), None)
        if declarator is None:
            return
        if declarator.type == "init_declarator":
            declarator = declarator.child_by_field_name("declarator")
        if declarator is not None and declarator.type == "function_declarator":
            self.function(node, declarator, returns)
        elif node.type == "declaration" and declarator is not None:
            name = next((text_of(n) for n in descend(declarator) if n.type == "identifier"), "")
            self.name(name, "variable")

    def function(self, node: Node, declarator: Node, returns: str) -> None:
        name = text_of(declarator.child_by_field_name("declarator"))
        parameters = declarator.child_by_field_name("parameters")
        head = text_of(node)[: declarator.start_byte - node.start_byte]
        if not re.fullmatch(r"\w+", name) or parameters is None or find(node, "delete_method_clause"):
            return  # operators, destructors, definitions of methods outside their class, specialisations
        if not returns:
            return  # a deduction guide: it declares nothing that can be called
        types = _type_names(self.template)
        own = self.template[-1:] if not self.owner or len(self.template) > 1 else ()
        constructor = self.owner == name
        result = self.owner if constructor else ("any" if returns in types or returns == "auto" else returns)
        self.found.functions.append(
            Function(
                name=name,
                header=self.header,
                owner=self.owner,
                template=_template(own[0], text_of(parameters)) if own and not constructor else (),
                parameters=tuple(_parameter(p, types) for p in parameters.named_children if _is_parameter(p)),
                returns=result,
                deprecated="deprecated" in head.lower(),
                constexpr="constexpr" in head,
            )
        )


def _is_parameter(node: Node) -> bool:
    return node.type.endswith("parameter_declaration") and text_of(node) != "void"


def _type_names(templates: tuple[Node, ...]) -> frozenset[str]:
    names = [
        text_of(next((n for n in descend(p) if n.type == "type_identifier"), None))
        for template in templates
        for p in template.named_children
        if "type_parameter" in p.type
    ]
    return frozenset(names)


def _parameter(node: Node, types: frozenset[str]) -> Parameter:
    declarator = node.child_by_field_name("declarator")
    whole = text_of(declarator)
    kind = base_kind(text_of(node.child_by_field_name("type")))
    if "*" in whole.split("=")[0] or whole.startswith("["):
        kind = "pointer"
    elif kind in types or kind == "auto":
        kind = "object" if "&" in whole else "any"
    pack = node.type.startswith("variadic") or "..." in whole
    return Parameter(kind, _default(node.child_by_field_name("default_value")), pack)


def _template(node: Node, parameters: str) -> tuple[Parameter, ...]:
    """A parameter that the types of the function's arguments name need not be written at a call."""
    found = []
    for p in node.named_children:
        is_type = "type_parameter" in p.type
        if not is_type and not p.type.endswith("parameter_declaration"):
            continue
        default = p.child_by_field_name("default_value") or p.child_by_field_name("default_type")
        names = [text_of(n) for n in descend(p) if n.type in ("type_identifier", "identifier")]
        own = (names[0] if is_type else text_of(p.child_by_field_name("declarator"))) if names else ""
        own = own.strip(".& ")
        deduced = bool(own) and re.search(rf"\b{re.escape(own)}\b", parameters) is not None
        pack = p.type.startswith("variadic")
        kind = "type" if is_type else base_kind(text_of(p.child_by_field_name("type")))
        kind = "any" if kind == "auto" else kind
        found.append(Parameter(kind, _default(default), pack, deduced))
    return tuple(found)


def _default(node: Node | None) -> str | None:
    if node is None:
        return None
    text = text_of(node)
    return text if _PLAIN_DEFAULT.fullmatch(text) else "?"
