"""Small shapes for a script that names its sizes: smaller literals, by what their names say.

    parser.add_argument("--seq_len", type=int, default=4096)     ->  default=256
    def main(batch=8, heads=128, dim=512):                       ->  batch=2, heads=32, dim=512
    M, N = 8192, 8192;  run_test(B=1, S=32768)                   ->  M, N = 256, 256;  S=256
    for sizes in [(4096, 1), (8192, 4)]: run_test(*sizes)        ->  by the names of run_test's parameters
    @pytest.mark.parametrize("M, N", [(4096, 8192)])             ->  [(256, 256)]
    parser.add_argument("--test_correctness", action="store_true")  ->  action="store_false": scripts check themselves

The virtual device is a host program; a GPU's shapes would take hours. Only numbers bound to the name of a count
(batch), of heads, of a length, of pages, or of repetitions shrink, and the width of a whole model; other widths and
block sizes, which decide what a kernel is, stay. Heads keep the 32 of a tile: kernels that walk them as rows would else
become kernels of part tiles. The `b` of `def ceildiv(a, b)` is no batch: a small letter says what a number is only
where the number is written next to it.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

_BATCH = re.compile(r"b|z|batch(_?size)?|bsz|num_seqs?")
_HEADS = re.compile(
    r"h|hq|hkv|h_?kv|hq?o?|n_?heads?(_?\w+)?|num_(q_|kv_)?heads?|heads?(_(q|k|kv|v))?|(q|kv|k|v)_heads?|(n_?)?groups?|ngroups"
)
_LENGTH = re.compile(
    r"m|n|k|s|l|skv|s_?q|s_?k|s_?kv|(n|kv|max|q)_?ctx|\w*seq_?(len)?(s|gth)?(_?\w+)?|\w*seqlen\w*|(num_)?tokens|"
    r"m_?total|n_?ctx"
)
_TOP = re.compile(r"top_?k")
_WIDTH = re.compile(r"d_(hidden|model|expert)")
_PAGES = re.compile(r"(n_?|num_)pages")
_CHECKS = re.compile(r"correct|check|verify|validate")  # flags that ask a script to compare its results
_REPEATS = re.compile(r"(n_|num_)?repeats?")


COUNTING = "__tilelang_tt_counting__"  # decorates assertions that a script defines itself; `session` gives it a meaning


@dataclass(frozen=True)
class Shrink:
    """The largest value a name of each kind keeps; None: any."""

    name: str
    batch: int | None = None
    heads: int | None = None
    length: int | None = None
    top: int | None = None
    width: int | None = None
    pages: int | None = None
    repeats: int | None = None
    scalar: bool = False  # small enough for kernels that run element by element

    def cap(self, name: str) -> int | None:
        word = name.lstrip("-").replace("-", "_").lower()
        kinds = (_BATCH, self.batch), (_HEADS, self.heads), (_LENGTH, self.length), (_TOP, self.top)
        others = (_WIDTH, self.width), (_PAGES, self.pages), (_REPEATS, self.repeats)
        for pattern, cap in (*kinds, *others):
            if pattern.fullmatch(word):
                return cap
        return None


# Tried in this order: a script may not accept every mixture of small sizes.
LADDER = (
    Shrink("small", batch=2, heads=32, length=256, top=64, width=1024, pages=64, repeats=2),
    Shrink("medium", batch=1, length=512, width=2048, pages=128, repeats=2),
    Shrink("full"),
)
# Instead of them, where a kernel runs as scalar code: the virtual device does some 100 million operations a second.
SCALAR_LADDER = (
    Shrink("tiny", batch=1, heads=4, length=128, top=64, width=256, pages=16, repeats=1, scalar=True),
    Shrink("short", batch=1, length=128, top=128, width=256, pages=16, repeats=1, scalar=True),
    Shrink("narrow", batch=1, heads=16, length=512, top=64, width=1024, pages=64, repeats=1, scalar=True),
)
STEPS = {shrink.name: shrink for shrink in (*LADDER, *SCALAR_LADDER)}


def shrink_source(source: str, filename: str, shrink: Shrink) -> ast.Module:
    """The module's syntax tree with its sizes made small; lines and columns stay."""
    tree = ast.parse(source, filename)
    signatures = {
        node.name: [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
    }
    _Sizes(shrink, signatures).visit(tree)
    return tree


class _Sizes(ast.NodeTransformer):
    def __init__(self, shrink: Shrink, signatures: dict[str, list[str]]) -> None:
        self._shrink = shrink
        self._signatures = signatures

    def small(self, name: str, value: ast.expr) -> ast.expr:
        cap, number = self._shrink.cap(name), _number(value)
        if cap is None or number is None or number <= cap:
            return value
        return ast.copy_location(ast.Constant(cap), value)

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        self.generic_visit(node)
        for target in node.targets:
            if isinstance(target, ast.Name):
                node.value = self.small(target.id, node.value)
            elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                for position, (part, value) in enumerate(zip(target.elts, node.value.elts, strict=False)):
                    if isinstance(part, ast.Name):
                        node.value.elts[position] = self.small(part.id, value)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        if node.name.startswith("assert_"):
            node.decorator_list.append(ast.copy_location(ast.Name(COUNTING, ast.Load()), node))
        arguments = [*node.args.posonlyargs, *node.args.args]
        first = len(arguments) - len(node.args.defaults)
        node.args.defaults = [
            self.small(argument.arg, value)
            for argument, value in zip(arguments[first:], node.args.defaults, strict=True)
        ]
        node.args.kw_defaults = [
            value if value is None else self.small(argument.arg, value)
            for argument, value in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
        ]
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.target, ast.Name):
            for call in ast.walk(node):
                if isinstance(call, ast.Call) and _unpacks(call, node.target.id):
                    self.small_rows(self._signatures.get(_called(call), []), node.iter)
        return node

    def small_rows(self, names: list[str], rows: ast.expr) -> None:
        """Literal tuples, or single numbers, for parameters of these names."""
        for position, row in enumerate(rows.elts if isinstance(rows, ast.List | ast.Tuple) else ()):
            if isinstance(row, ast.Tuple | ast.List):
                known = [self.small(name, value) for name, value in zip(names, row.elts, strict=False)]
                row.elts = [*known, *row.elts[len(known) :]]
            elif len(names) == 1:
                rows.elts[position] = self.small(names[0], row)  # type: ignore[attr-defined]

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        called = _called(node)
        if called == "parametrize" and len(node.args) > 1 and isinstance(node.args[0], ast.Constant):
            names = [name.strip() for name in str(node.args[0].value).split(",")]
            self.small_rows(names, node.args[1])
            return node
        flag = _flag(node)
        if flag is not None:
            for keyword in node.keywords:
                if keyword.arg == "default":
                    keyword.value = self.small(flag, keyword.value)
                if keyword.arg == "action" and _CHECKS.search(flag) and _is_text(keyword.value, "store_true"):
                    keyword.value = ast.copy_location(ast.Constant("store_false"), keyword.value)
            return node
        for position, name in enumerate(self._signatures.get(called, ())[: len(node.args)]):
            if len(name) == 1 and name.islower():
                continue
            node.args[position] = self.small(name, node.args[position])
        for keyword in node.keywords:
            if keyword.arg is not None:
                keyword.value = self.small(keyword.arg, keyword.value)
        return node


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _unpacks(call: ast.Call, name: str) -> bool:
    """Whether the call is `f(*name)`."""
    first = call.args[0] if call.args else None
    return isinstance(first, ast.Starred) and isinstance(first.value, ast.Name) and first.value.id == name


def _is_text(value: ast.expr, text: str) -> bool:
    return isinstance(value, ast.Constant) and value.value == text


def _flag(call: ast.Call) -> str | None:
    """The flag's name, if the call is `parser.add_argument("--name", ...)`."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "add_argument":
        return None
    names = [arg.value for arg in call.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
    return max(names, key=len, default=None)


def _number(value: ast.expr) -> int | None:
    """A whole number, or a product or power of such."""
    if isinstance(value, ast.Constant):
        return value.value if type(value.value) is int else None
    if isinstance(value, ast.BinOp):
        left, right = _number(value.left), _number(value.right)
        if left is not None and right is not None:
            if isinstance(value.op, ast.Mult):
                return left * right
            if isinstance(value.op, ast.Pow) and 0 <= right < 64:
                return int(left**right)
            if isinstance(value.op, ast.LShift) and 0 <= right < 64:
                return left << right
    return None
