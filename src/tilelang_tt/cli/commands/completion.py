"""Print what makes a shell complete `tilelang-tt`.

tilelang-tt completion bash > ~/.local/share/bash-completion/completions/tilelang-tt
tilelang-tt completion zsh > ~/.zfunc/_tilelang-tt
"""

from __future__ import annotations

import argparse

HELP = "print the completion of commands and options for a shell"
NEEDS_TILELANG = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("shell", choices=("bash", "zsh", "tcsh"))


def run(arguments: argparse.Namespace) -> int:
    import shtab

    from tilelang_tt.cli.main import parser

    print(shtab.complete(parser(), shell=arguments.shell))
    return 0
