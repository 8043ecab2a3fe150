"""C++ as a syntax tree: a thin layer over tree-sitter, shared by the readers of headers and of kernels."""

from __future__ import annotations

import re
from collections.abc import Iterator

import tree_sitter_cpp
from tree_sitter import Language, Node, Parser

from tilelang_tt.sdk.table import INTEGERS

# Macros that stand where the grammar expects a specifier. They mean nothing for a call.
SPECIFIERS = ("ALWI", "FORCE_INLINE", "tt_l1_ptr", "tt_reg_ptr")
_EMPTY = ("DFB_TEMPLATE_DECL",)  # expands to nothing on the chips we know
_SPECIFIER = re.compile(rf"\b(?:{'|'.join((*SPECIFIERS, *_EMPTY))})\b")
_DEPRECATION = re.compile(r'\b\w+_DEPRECATED\w*\("[^"]*"\)')
_ATTRIBUTE = re.compile(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)")
_EMPTY_DEFAULT = re.compile(r"=\s*\{\}(?=\s*[,)])")  # a default the grammar does not know
_QUALIFIERS = re.compile(r"\b(?:const|volatile|constexpr|static|inline|typename|struct|class|enum|extern)\b")
_PARSER = Parser(Language(tree_sitter_cpp.language()))


def parse(text: str) -> Node:
    """The tree of a text whose specifier macros and attributes are blanked."""
    lines = [line if line.lstrip().startswith("#") else _SPECIFIER.sub("", line) for line in text.split("\n")]
    plain = _EMPTY_DEFAULT.sub("= (0)", "\n".join(lines))
    plain = _DEPRECATION.sub("[[deprecated]]", _ATTRIBUTE.sub("", plain))
    return _PARSER.parse(plain.encode()).root_node


def text_of(node: Node | None) -> str:
    return (node.text or b"").decode() if node is not None else ""


def line_of(node: Node) -> int:
    return node.start_point[0] + 1


def descend(node: Node) -> Iterator[Node]:
    yield node
    for child in node.named_children:
        yield from descend(child)


def find(node: Node, *types: str) -> Node | None:
    return next((child for child in node.children if child.type in types), None)


def base_kind(type_text: str) -> str:
    """The kind a type's text stands for: `const std::uint32_t` -> uint32, `tt::DataFormat` -> DataFormat."""
    bare = " ".join(_QUALIFIERS.sub(" ", type_text).split())
    bare = re.sub(r"<.*", "", bare, flags=re.DOTALL).strip(" &*")
    last = bare.rsplit("::", 1)[-1].strip()
    if last in ("unsigned int", "unsigned"):
        return "unsigned"
    if last == "double":
        return "float"
    plain = last.removesuffix("_t")
    return plain if plain in INTEGERS else (last if re.fullmatch(r"\w+", last) else "any")
