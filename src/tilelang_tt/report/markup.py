"""Elements of HTML and SVG. Every text and every attribute is escaped here, and nowhere else."""

from __future__ import annotations

import html
from collections.abc import Iterable

VOID = frozenset(("meta", "input", "rect", "line", "path"))


class Markup(str):
    """Text that is markup already."""


Part = str | Iterable["Part"]


def tag(element: str, /, *parts: Part, **attributes: object) -> Markup:
    """An element; `class_` is the attribute class, `data_line` is data-line. Attributes that are None are left out."""
    words = [
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(str(value), quote=True)}"'
        for key, value in attributes.items()
        if value is not None
    ]
    inside = joined(parts)
    if element in VOID and not inside:
        return Markup(f"<{element}{''.join(words)}/>")
    return Markup(f"<{element}{''.join(words)}>{inside}</{element}>")


def joined(parts: Iterable[Part]) -> Markup:
    texts = []
    for part in parts:
        if isinstance(part, Markup):
            texts.append(str(part))
        elif isinstance(part, str):
            texts.append(html.escape(part, quote=True))
        else:
            texts.append(str(joined(part)))
    return Markup("".join(texts))


def svg(width: float, height: float, *parts: Part, label: str, class_: str | None = None) -> Markup:
    return tag(
        "svg",
        *parts,
        viewBox=f"0 0 {width:g} {height:g}",
        width=f"{width:g}",
        height=f"{height:g}",
        role="img",
        aria_label=label,
        class_=class_,
    )


def text(x: float, y: float, words: str, **more: object) -> Markup:
    return tag("text", words, x=f"{x:g}", y=f"{y:g}", **more)


def box(x: float, y: float, width: float, height: float, title: str = "", **more: object) -> Markup:
    """A rectangle; `title` is what the pointer shows."""
    inside = (tag("title", title),) if title else ()
    return tag(
        "rect", *inside, x=f"{x:.2f}", y=f"{y:.2f}", width=f"{max(width, 0):.2f}", height=f"{height:.2f}", **more
    )
