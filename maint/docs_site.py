"""What the site has beside the pages of docs/: references made from the code, and links that stay inside.

mkdocs calls these functions (`hooks` in mkdocs.yml).
"""

from __future__ import annotations

import argparse
import json
import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

_ROOT = Path(__file__).parents[1]
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)#\s]+)(#[^)\s]*)?\)")
_FETCHED = re.compile(r'<script src="https?://[^>]*></script>')
# What a page of README or CONTRIBUTING is on the site; other files outside docs/ are named, not linked.
_INSTEAD = {"README.md": "index.md"}
_PYTHON = (
    ("tilelang_tt.execution.kernel.TenstorrentKernel", "what compiling returns"),
    ("tilelang_tt.clock.timing.Timing", "what `estimate` and `time` return"),
    ("tilelang_tt.profile.profiled.Profile", "what `profile` returns"),
    ("tilelang_tt.tuning.tune", "the search"),
    ("tilelang_tt.language", "annotations in kernels"),
    ("tilelang_tt.options.Options", "what a target says"),
    ("tilelang_tt.device.open_device", "hand-written programs"),
    ("tilelang_tt.diagnostics", "errors and warnings"),
)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    made = {"command": _command(), "python": _python(), "plan": _plan()}
    for name, text in made.items():
        files.append(File.generated(config, f"reference/{name}.md", content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Links to files that are no page become their text."""
    here = posixpath.dirname(page.file.src_uri)

    def kept(match: re.Match[str]) -> str:
        text, target, anchor = match[1], match[2], match[3] or ""
        if "://" in target:
            return match[0]
        inside = posixpath.normpath(posixpath.join(here, target))
        if files.get_file_from_path(inside) is not None:
            return match[0]
        instead = _INSTEAD.get(posixpath.normpath(posixpath.join("docs", inside)))
        return f"[{text}]({posixpath.relpath(instead, here or '.')})" if instead and not anchor else text

    return _LINK.sub(kept, markdown)


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:  # noqa: ARG001
    """No page asks the network for anything: the script that the theme would fetch for searches has a stand-in here."""
    path = posixpath.relpath("assets/worker_from_file.js", posixpath.dirname(page.file.dest_uri) or ".")
    return _FETCHED.sub(f'<script src="{path}"></script>', output)


def on_post_template(output_content: str, template_name: str, config: MkDocsConfig) -> str:  # noqa: ARG001
    return _FETCHED.sub("", output_content)


def _command() -> str:
    from tilelang_tt.cli.main import all_commands

    lines = ["# The command `tilelang-tt`", ""]
    for name, command in all_commands().items():
        parser = argparse.ArgumentParser(prog=f"tilelang-tt {name}", add_help=False)
        command.add_arguments(parser)
        lines += [f"## {name}", "", " ".join((command.__doc__ or command.HELP).split()), ""]
        lines += ["```text", parser.format_usage().removeprefix("usage: ").rstrip(), "```", ""]
        rows = [_argument(action) for action in parser._actions]
        lines += ["| | |", "|---|---|", *rows, ""] if rows else []
    return "\n".join(lines)


def _argument(action: argparse.Action) -> str:
    names = ", ".join(f"`{text}`" for text in action.option_strings) or f"`{action.metavar or action.dest}`"
    shown = f" `{action.metavar}`" if action.option_strings and isinstance(action.metavar, str) else ""
    help = (action.help or "").replace("%(default)s", str(action.default)).replace("|", "\\|")
    return f"| {names}{shown} | {help} |"


def _python() -> str:
    lines = ["# Python", ""]
    for name, what in _PYTHON:
        lines += [f"## {what}", "", f"::: {name}", "    options:", "      heading_level: 3", ""]
    return "\n".join(lines)


def _plan() -> str:
    """Fields of `tt.plan.json`, from its schema."""
    schema = json.loads((_ROOT / "src/tilelang_tt/runtime/plan.schema.json").read_text())
    lines = ["# The plan, `tt.plan.json`", "", str(schema.get("description", schema.get("title", ""))), ""]
    lines += _table(schema)
    for name, part in sorted(schema.get("$defs", {}).items()):
        lines += [f"## {name}", "", str(part.get("description", "")), "", *_table(part)]
    return "\n".join(lines)


def _table(part: dict[str, Any]) -> list[str]:
    fields = part.get("properties", {})
    if not fields:
        return []
    required = part.get("required", [])
    rows = [
        f"| `{name}` | {_type(field)} | {'' if name in required else 'optional'} | {field.get('description', '')} |"
        for name, field in fields.items()
    ]
    return ["| field | type | | |", "|---|---|---|---|", *rows, ""]


def _type(field: dict[str, Any]) -> str:
    if "$ref" in field:
        name = field["$ref"].rsplit("/", 1)[-1]
        return f"[{name}](#{name})"
    if "enum" in field:
        return ", ".join(f"`{value}`" for value in field["enum"])
    if "const" in field:
        return f"`{field['const']}`"
    for choice in ("anyOf", "oneOf"):
        if choice in field:
            return " or ".join(map(_type, field[choice]))
    kind = field.get("type", "")
    names = " or ".join(kind) if isinstance(kind, list) else kind
    return f"{names} of {_type(field['items'])}" if "items" in field and isinstance(field["items"], dict) else names
