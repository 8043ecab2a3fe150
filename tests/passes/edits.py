"""Break finished kernels by one edit: find statements of a kernel, take them out, exchange or alter them.

A place is the way to a statement from the body of its kernel: (list among the parent's lists, index in it), ....
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from tilelang_tt.ir.fields import children, with_children
from tilelang_tt.ir.kernel import KernelSet, KernelStmt, Let, Source
from tilelang_tt.ir.layout import Role
from tilelang_tt.ir.text_kernel import kernel_text

from .stages import in_numbers

Place = tuple[tuple[int, int], ...]
Body = tuple[KernelStmt, ...]


def places(body: Body, above: Place = ()) -> Iterator[Place]:
    """Every statement, outer before inner, except marks of source lines and definitions of indices."""
    for index, stmt in enumerate(body):
        here = (*above[:-1], (above[-1][0], index)) if above else ((0, index),)
        if not isinstance(stmt, Source | Let):
            yield here
        for number, nested in enumerate(children(stmt)):
            yield from places(nested, (*here, (number, 0)))


def at(body: Body, place: Place) -> KernelStmt:
    (_, index), *rest = place
    stmt = body[index]
    return at(children(stmt)[rest[0][0]], tuple(rest)) if rest else stmt


def rewrite(body: Body, place: Place, change: Callable[[Body, int], Body]) -> Body:
    """`body` with the list that holds `place` changed at its index."""
    (_, index), *rest = place
    if not rest:
        return change(body, index)
    lists = list(children(body[index]))
    lists[rest[0][0]] = rewrite(lists[rest[0][0]], tuple(rest), change)
    return (*body[:index], with_children(body[index], tuple(lists)), *body[index + 1 :])


def find(kernels: KernelSet, role: Role, wanted: Callable[[Any], bool], number: int = 0) -> Place:
    """The place of the statement that is `wanted`, the first or a later one; a class finds its instances."""
    body = kernels.kernel(role).body
    test = (lambda stmt: isinstance(stmt, wanted)) if isinstance(wanted, type) else wanted
    return [place for place in places(body) if test(at(body, place))][number]


def edit(kernels: KernelSet, role: Role, place: Place, change: Callable[[Body, int], Body]) -> KernelSet:
    return kernels.with_body(role, rewrite(kernels.kernel(role).body, place, change))


def removed(kernels: KernelSet, role: Role, place: Place) -> KernelSet:
    return edit(kernels, role, place, lambda body, i: (*body[:i], *body[i + 1 :]))


def doubled(kernels: KernelSet, role: Role, place: Place) -> KernelSet:
    return edit(kernels, role, place, lambda body, i: (*body[:i], body[i], *body[i:]))


def swapped(kernels: KernelSet, role: Role, place: Place) -> KernelSet:
    """The statement exchanged with the one that follows it."""
    return edit(kernels, role, place, lambda body, i: (*body[:i], body[i + 1], body[i], *body[i + 2 :]))


def inserted(kernels: KernelSet, role: Role, place: Place, stmt: KernelStmt) -> KernelSet:
    """`stmt` before the statement at `place`."""
    return edit(kernels, role, place, lambda body, i: (*body[:i], stmt, *body[i:]))


def altered(kernels: KernelSet, role: Role, place: Place, **fields: Any) -> KernelSet:
    return edit(kernels, role, place, lambda body, i: (*body[:i], replace(body[i], **fields), *body[i + 1 :]))


def line(kernels: KernelSet, role: Role, place: Place) -> str:
    """The statement as the printed kernel set shows it."""
    lines = in_numbers(kernel_text(kernels), kernels).splitlines()
    start = next(number for number, text in enumerate(lines) if text.startswith(f"{role.value}("))
    printed = [text for text in lines[start + 1 :] if not re.match(r"\s*(accessor \d|else$|$)", text)]
    number = list(_everything(kernels.kernel(role).body)).index(place)
    return re.sub(r"\s*# \S+\.py:\d+$", "", printed[number]).strip()


def _everything(body: Body, above: Place = ()) -> Iterator[Place]:
    for index, stmt in enumerate(body):
        here = (*above[:-1], (above[-1][0], index)) if above else ((0, index),)
        yield here
        for number, nested in enumerate(children(stmt)):
            yield from _everything(nested, (*here, (number, 0)))
