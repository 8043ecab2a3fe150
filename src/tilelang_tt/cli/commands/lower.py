"""Print the source that a kernel is lowered to, for any target that TileLang knows: cuda, hip, c, llvm, webgpu, metal,
tenstorrent. Nothing is run; what a target is missing is said in a sentence."""

from __future__ import annotations

import argparse
import sys

from tilelang_tt.cli.usage import add_kernel

HELP = "print what a kernel is lowered to, for any target"
NEEDS_TILELANG = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_kernel(parser, scripts=False)
    parser.add_argument(
        "--target",
        default=None,
        help="cuda, hip, c (or cpu), llvm, webgpu, metal, tenstorrent, or with options: 'cuda -arch=sm_90a' "
        "(default: TILELANG_DEFAULT_TARGET, or what is found)",
    )
    parser.add_argument("--build", action="store_true", help="also compile the device code")


def run(arguments: argparse.Namespace) -> int:
    from tilelang_tt.cli.discover import function_of
    from tilelang_tt.lowering.lower import lower

    artifact = lower(function_of(arguments.kernel), arguments.target, build=arguments.build)
    print(artifact.kernel_source)
    here = "runs here" if artifact.can_run_here else f"does not run here: {artifact.why_not}"
    print(f"{artifact.kind}: {len(artifact.kernel_source):,} characters; {here}", file=sys.stderr)
    return 0
