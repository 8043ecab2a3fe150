"""Explain an error or warning by its code: what it means, a program that fails, the same program mended. Without a
code, list all of them. `tilelang-tt help operations` lists the operations that kernels may use."""

from __future__ import annotations

import argparse

from tilelang_tt.cli.usage import UsageError

HELP = "explain an error code, such as TT131, or list the operations there are"
NEEDS_TILELANG = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("topic", nargs="?", metavar="TTnnn | operations", help="default: list all codes")


def run(arguments: argparse.Namespace) -> int:
    print(_text(arguments.topic), end="")
    return 0


def _text(topic: str | None) -> str:
    from tilelang_tt import register
    from tilelang_tt.error_pages import all_codes, error_page

    if topic is None:
        return "".join(f"{code}  {title}\n" for code, title in all_codes().items())
    if topic == "operations":
        register()  # its table speaks of types that TVM brings
        from tilelang_tt.ops.operations_page import page

        return page()
    text = error_page(topic)
    if text is None:
        raise UsageError(f"there is no error {topic}; `tilelang-tt help` lists them all")
    return text
