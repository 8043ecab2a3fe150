"""Which statements of a kernel may change places: those that touch nothing in common, or only look at it.

The SDK's contracts, as a table of what each call changes and what it relies on. It is written from the SDK's words
and knows nothing of the virtual device; the mutation test holds the two against each other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from tree_sitter import Node

Touch = tuple[str, str]  # what, and of which buffer, semaphore ... ("" where there is one only, "?" when not known)
Touches = Mapping[Touch, bool]  # True: changes it, False: relies on it

_CHANGES, _RELIES = True, False
EVERYTHING = ("everything", "")  # a jump: what follows it does not run
ENGINE = ("started", "srca", "srcb", "math", "vector", "packer format", "packer sums", "packer mask")

# call -> what it does to the buffer named by its first argument (or by the object), and to everything else
_BUFFER_CALLS: dict[str, dict[str, bool]] = {
    "reserve_back": {"back": _CHANGES, "room": _CHANGES},
    "push_back": {"back": _CHANGES, "data": _CHANGES, "write pointer": _CHANGES, "landed": _RELIES, "l1": _RELIES},
    "wait_front": {"front": _CHANGES, "data": _CHANGES},
    "pop_front": {"front": _CHANGES, "room": _CHANGES, "read pointer": _CHANGES, "writes": _RELIES},
}
_OTHER_CALLS: tuple[tuple[str, dict[str, bool]], ...] = (
    (r"(noc_)?async_read_barrier(_with_trid)?", {"reads": _CHANGES, "landed": _CHANGES}),
    (r"(noc_)?async_(posted_)?writes?_(flushed|barrier)\w*", {"writes": _CHANGES}),
    (r"(noc_)?async_atomic_barrier", {"atomics": _CHANGES}),
    (r"(noc_)?async_full_barrier", {"reads": _CHANGES, "landed": _CHANGES, "writes": _CHANGES, "atomics": _CHANGES}),
    (r"noc_async_read\w*_set_state", {"read state": _CHANGES}),
    (r"noc_async_write\w*_set_state", {"write state": _CHANGES}),
    (r"noc_async_read\w*_with_state", {"read state": _CHANGES, "reads": _RELIES, "trid": _RELIES, "l1": _RELIES}),
    (r"noc_async_write\w*_with_state", {"write state": _CHANGES, "writes": _RELIES, "l1": _RELIES, "landed": _RELIES}),
    (r"noc_async_read_set_trid", {"trid": _CHANGES}),
    # An ordinary transfer takes the registers in which the stateful forms keep their state.
    (r"(noc_)?async_read\w*", {"reads": _RELIES, "trid": _RELIES, "read state": _RELIES, "l1": _RELIES}),
    (r"(noc_)?async_write\w*", {"writes": _RELIES, "write state": _RELIES, "l1": _RELIES, "landed": _RELIES}),
    # A signal says that all that was done before is done.
    (r"noc_semaphore_set_multicast|set_multicast", {"writes": _CHANGES, "semaphore": _CHANGES}),
    (r"noc_semaphore_inc|up", {"atomics": _RELIES, "semaphore": _CHANGES, "writes": _CHANGES}),
    # What others have written is there once a wait has passed.
    (r"noc_semaphore_wait(_min)?|wait|wait_min|down", {"own semaphore": _CHANGES, "l1": _CHANGES}),
    (r"noc_semaphore_set|set", {"own semaphore": _CHANGES}),
    # Two processors: what the one does with DST the other sees at commit and release only.
    (r"tile_regs_(acquire|commit)", {"dst": _CHANGES, "started": _RELIES}),
    (r"tile_regs_(wait|release)", {"packed dst": _CHANGES, "started": _RELIES}),
    (r"compute_kernel_hw_startup", dict.fromkeys(ENGINE, _CHANGES)),
    (r"reconfig_data_format", {"srca": _CHANGES, "srcb": _CHANGES}),
    (r"reconfig_data_format_srca", {"srca": _CHANGES}),
    (r"reconfig_data_format_srcb", {"srcb": _CHANGES}),
    (r"pack_reconfig_data_format", {"packer format": _CHANGES}),
    (r"pack_reconfig_l1_acc", {"packer sums": _CHANGES}),
    (r"reduce_(un)?init", {"math": _CHANGES, "packer mask": _CHANGES}),
    (r"copy_tile_\w*init\w*", {"math": _CHANGES}),
    (r"\w+_tile_init", {"vector": _CHANGES}),
    (r"\w+_init(_\w+)?|\w+_uninit", {"math": _CHANGES}),
)
_MATRIX_ENGINE = r"(copy|reduce|transpose|transpose_wh)_tile|matmul_\w+|\w+_tiles(_\w+)?|\w+_block"
_READ_POINTER = re.compile(r"get_read_ptr\(([^()]*)\)|(\w+)\.get_read_ptr\(")
_WRITE_POINTER = re.compile(r"get_write_ptr\(([^()]*)\)|(\w+)\.get_write_ptr\(")


# Of compute: unpack, math and pack are three processors, which wait for each other wherever that stands in the text.
_WAITED_FOR = ("data", "room")


def independent(one: Touches, other: Touches, *, compute: bool = False) -> bool:
    return EVERYTHING not in (*one, *other) and not any(
        (changes or also)
        and not (compute and what in _WAITED_FOR)
        and what == name
        and ("?" in (whose, of) or whose == of)
        for (what, whose), changes in one.items()
        for (name, of), also in other.items()
    )


def touches(node: Node, functions: Mapping[str, Node], depth: int = 0) -> dict[Touch, bool]:
    """Of a statement and all that it contains; calls of the file's own functions are followed."""
    found: dict[Touch, bool] = {}
    if node.type in ("return_statement", "break_statement", "continue_statement"):
        return {EVERYTHING: _CHANGES}
    if node.type == "call_expression":
        _add(found, _of_call(node, functions, depth))
    elif node.type in ("assignment_expression", "update_expression"):
        left = node.child_by_field_name("left") or node.child_by_field_name("argument")
        if left is not None and left.type in ("pointer_expression", "subscript_expression"):
            found |= {("l1", ""): _CHANGES, ("landed", ""): _RELIES, ("writes", ""): _RELIES}
    for child in node.named_children:
        _add(found, touches(child, functions, depth))
    return found


def _add(into: dict[Touch, bool], more: Mapping[Touch, bool]) -> None:
    for touch, changes in more.items():
        into[touch] = into.get(touch, False) or changes


def _of_call(call: Node, functions: Mapping[str, Node], depth: int) -> dict[Touch, bool]:
    function, arguments = call.child_by_field_name("function"), call.child_by_field_name("arguments")
    assert function is not None
    assert arguments is not None
    args = [text(child) for child in arguments.named_children if child.type != "comment"]
    target, name = "", re.sub(r"<.*", "", text(function), flags=re.DOTALL)
    if function.type == "field_expression":
        target, name = (re.sub(r"<.*", "", part, flags=re.DOTALL) for part in text(function).rsplit(".", 1))
    if name in functions and depth < 3:
        return {(what, _outside(of)): c for (what, of), c in touches(functions[name], functions, depth + 1).items()}
    for suffix, effects in _BUFFER_CALLS.items():
        if name in (suffix, f"cb_{suffix}"):
            shared = ("landed", "writes", "l1")
            return {(what, "" if what in shared else target or args[0]): c for what, c in effects.items()}
    if name == "pack_tile":
        return {
            ("dst", ""): _RELIES, ("packed dst", ""): _RELIES, ("back", args[1]): _RELIES,
            **{(what, ""): _RELIES for what in ENGINE if what.startswith("packer")},
        }  # fmt: skip
    whole = text(call)
    found: dict[Touch, bool] = {}
    for pattern, end in ((_READ_POINTER, "read pointer"), (_WRITE_POINTER, "write pointer")):
        for match in pattern.finditer(whole):
            found[end, (match[1] or match[2]).strip()] = _RELIES
    for pattern_text, effects in _OTHER_CALLS:
        if re.fullmatch(pattern_text, name):
            whose = target or (args[0] if args else "")
            own = {(what, whose if what == "own semaphore" else ""): changes for what, changes in effects.items()}
            named = [of for _, of in found] or ["?"]  # buffers whose pages move, as far as pointers tell
            if effects.get("reads") is _RELIES:
                own |= {("back", of): _RELIES for of in named}
            if effects.get("writes") is _RELIES:
                own |= {(end, of): _RELIES for of in named for end in ("front", "back")}
            if "own semaphore" in effects:
                own["semaphore", ""] = _RELIES
            return found | own
    if re.fullmatch(_MATRIX_ENGINE, name):
        buffers = {("front", arg): _RELIES for arg in args}
        return {("dst", ""): _CHANGES, **{(what, ""): _RELIES for what in ENGINE[:4]}, **buffers}
    if re.fullmatch(r"\w+_tile(_\w+)?", name) and not name.startswith(("get_", "noc_")):
        return {("dst", ""): _CHANGES, ("started", ""): _RELIES, ("vector", ""): _RELIES}
    return found


def _outside(of: str) -> str:
    """A callee's names mean nothing to its caller."""
    return of if of == "" else "?"


def functions_of(root: Node) -> dict[str, Node]:
    """Bodies of the file's own functions and of lambdas that have a name."""
    found: dict[str, Node] = {}
    for node in _descend(root):
        if node.type == "function_definition":
            declarator, body = node.child_by_field_name("declarator"), node.child_by_field_name("body")
            if declarator is not None and body is not None:
                found[re.sub(r"\(.*", "", text(declarator), flags=re.DOTALL).strip()] = body
        elif node.type == "init_declarator":
            name, value = node.child_by_field_name("declarator"), node.child_by_field_name("value")
            if name is not None and value is not None and value.type == "lambda_expression":
                found[text(name)] = value
    return found


def _descend(node: Node) -> list[Node]:
    return [node, *(inner for child in node.named_children for inner in _descend(child))]


def text(node: Node) -> str:
    return (node.text or b"").decode()
