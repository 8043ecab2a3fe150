"""Write the package of a new backend: the files of `template/`, with its name in place of `__chip__`.

template/src/tilelang___chip__/target.py.txt   ->   DIR/src/tilelang_toy/target.py
"""

from __future__ import annotations

import re
from pathlib import Path

from tilelang_tt.diagnostics import ArgumentError
from tilelang_tt.version import __version__

_NAME = re.compile(r"[a-z][a-z0-9]*")
# Other targets are called so: TVM's kinds, TileLang's words, and this package, `tilelang_tt`.
_TAKEN = frozenset(
    [
        "asc",
        "ascend",
        "auto",
        "c",
        "composite",
        "cpu",
        "cuda",
        "cutedsl",
        "gpu",
        "hexagon",
        "hip",
        "llvm",
        "metal",
        "nvptx",
        "opencl",
        "rocm",
        "tenstorrent",
        "test",
        "tt",
        "vulkan",
        "webgpu",
    ]
)
_TEMPLATE = Path(__file__).with_name("template")
_SUFFIX = ".txt"  # keeps tools from taking the template for a program


def new_backend(name: str, directory: Path) -> list[Path]:
    """The files that were written."""
    if not _NAME.fullmatch(name):
        raise ArgumentError(
            "TT340", f"'{name}' cannot be the name of a target", help="lower-case letters and digits, as in 'toy'"
        )
    if name in _TAKEN:
        raise ArgumentError("TT340", f"there is a target '{name}' already", help="choose another name, as in 'toy'")
    try:
        if directory.exists() and any(directory.iterdir()):
            raise ArgumentError("TT341", f"{directory} is not empty", help="name a directory that is not there yet")
        return [_written(file, directory / _named(file.relative_to(_TEMPLATE), name), name) for file in _templates()]
    except OSError as error:
        raise ArgumentError(
            "TT341", f"{directory} cannot be written: {error.strerror}", help="name a directory that can be made"
        ) from error


def _templates() -> list[Path]:
    return sorted(_TEMPLATE.rglob(f"*{_SUFFIX}"))


def _named(path: Path, name: str) -> Path:
    return Path(str(path).replace("__chip__", name).removesuffix(_SUFFIX))


def _written(template: Path, file: Path, name: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    text = template.read_text(encoding="utf-8")
    for word, value in (("__chip__", name), ("__CHIP__", name.upper()), ("__tilelang_tt__", __version__)):
        text = text.replace(word, value)
    file.write_text(text, encoding="utf-8")
    return file
