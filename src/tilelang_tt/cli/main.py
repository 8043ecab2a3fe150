"""The `tilelang-tt` command: run, compile, explain, profile, fuzz, diff, conformance, doctor."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from tilelang_tt.cli.diff import CHIP_TOLERANCE, diff, text
from tilelang_tt.cli.discover import UsageError, load_kernel
from tilelang_tt.cli.doctor import doctor
from tilelang_tt.cli.fuzz import fuzz
from tilelang_tt.cli.run import run_script
from tilelang_tt.diagnostics import TargetError, TenstorrentError
from tilelang_tt.target import NAME, OPTIONS, normalize
from tilelang_tt.version import __version__

KERNEL_HELP = "FILE.py, FILE.py:kernel, or FILE.py:kernel(M=1024, block_M=128) with literal arguments"
RUN_HELP = (
    "Run a script with Tenstorrent as TileLang's default target. CUDA tensors, streams and events become "
    "the host's. A kernel whose decorator names another target, such as target='cuda', keeps it."
)
CONFORMANCE_HELP = (
    "Run every example of a TileLang checkout, unmodified, with small sizes, each in a process of its own, and say of "
    "each kernel whether it compiled, ran and was right, and if not, why. A folder without examples, but with pytest "
    "files: every test, with Tenstorrent in place of CUDA, judged by its own comparisons."
)


def main(argv: list[str]) -> int:
    arguments = _parser().parse_args(argv)
    try:
        _with_places(arguments)
        status: int = arguments.command(arguments)
    except TenstorrentError as error:
        print(error, file=sys.stderr)
        return 1
    except UsageError as error:
        print(f"tilelang-tt: error: {error}", file=sys.stderr)
        return 2
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tilelang-tt", description="TileLang kernels on Tenstorrent devices")
    parser.add_argument("--version", action="version", version=f"tilelang-tt {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    run = commands.add_parser("run", help="run a script on the virtual device", description=RUN_HELP)
    _add_target(run, default=_default_target())
    run.add_argument("script", type=Path, metavar="FILE.py")
    run.add_argument("args", nargs=argparse.REMAINDER, help="arguments of the script")
    run.set_defaults(command=_run)

    compile_ = commands.add_parser("compile", help="write a kernel's five files to a directory")
    compile_.add_argument("kernel", help=KERNEL_HELP)
    compile_.add_argument("-o", "--output", type=Path, required=True, metavar="DIR")
    _add_target(compile_)
    compile_.add_argument("--force", action="store_true", help="replace files that differ")
    compile_.set_defaults(command=_compile)

    explain = commands.add_parser("explain", help="show stages, decisions, L1 map and work map of a kernel")
    explain.add_argument("kernel", help=KERNEL_HELP)
    _add_target(explain)
    explain.add_argument("--no-stages", action="store_true", help="leave out the program after each pass")
    explain.add_argument("--no-time", action="store_true", help="leave out the estimated time")
    explain.set_defaults(command=_explain)

    profile_ = commands.add_parser("profile", help="show where the time of a kernel goes on the chip")
    profile_.add_argument("kernel", help=KERNEL_HELP)
    profile_.add_argument("--target", type=_target, help="default: the kernel's own, or tenstorrent")
    profile_.add_argument("--size", type=_size, action="append", default=[], metavar="NAME=N", help="of a dynamic axis")
    profile_.add_argument("--launch", metavar="NAME", help="look at this launch (default: the longest)")
    profile_.add_argument("--json", action="store_true", help="everything, as JSON")
    profile_.add_argument("--trace", type=Path, metavar="FILE.json", help="write a trace for Perfetto")
    profile_.set_defaults(command=_profile)

    fuzz_ = commands.add_parser("fuzz", help="run a kernel under many schedules of the virtual device")
    fuzz_.add_argument("kernel", help=KERNEL_HELP)
    _add_target(fuzz_)
    fuzz_.add_argument("--seeds", type=int, default=100, metavar="N", help="schedules to run (default: %(default)s)")
    fuzz_.set_defaults(command=_fuzz)

    diff_ = commands.add_parser("diff", help="run a kernel in every way there is and show where answers part")
    diff_.add_argument("kernel", help=KERNEL_HELP)
    _add_target(diff_)
    diff_.add_argument("--seed", type=int, default=0, metavar="N", help="of the random inputs (default: %(default)s)")
    diff_.add_argument("--size", type=_size, action="append", default=[], metavar="NAME=N", help="of a dynamic axis")
    diff_.add_argument(
        "--tolerance",
        type=float,
        default=CHIP_TOLERANCE,
        metavar="X",
        help="largest error of the chip's numbers, relative to an element or its tensor's root mean square "
        "(default: %(default)s)",
    )
    diff_.add_argument("--strict", action="store_true", help="fail unless ttnn ran too")
    diff_.set_defaults(command=_diff)

    measure = commands.add_parser(
        "conformance", help="run every example of a TileLang checkout", description=CONFORMANCE_HELP
    )
    measure.add_argument(
        "directory", type=Path, metavar="DIR", help="a checkout of TileLang, or a folder of examples or tests"
    )
    measure.add_argument("--target", type=_target, default=_default_target(), help="default: %(default)s")
    measure.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="scripts at a time")
    measure.add_argument(
        "--timeout",
        type=float,
        default=300,
        metavar="SECONDS",
        help="of processor time, per script and size; by the clock, per test (default: %(default)s)",
    )
    measure.add_argument(
        "--results",
        type=Path,
        default=Path("conformance.jsonl"),
        metavar="FILE",
        help="scripts it holds are not run again (default: %(default)s)",
    )
    measure.add_argument("--report", type=Path, metavar="FILE.md", help="write the table to this file")
    measure.add_argument("--only", metavar="PATTERN", help="scripts whose path fits, such as 'examples/gemm/*'")
    measure.set_defaults(command=_conformance)

    check = commands.add_parser("doctor", help="say what is found on this machine and what is missing")
    check.add_argument("--strict", action="store_true", help="fail unless device 'ttnn' can run too")
    check.set_defaults(command=lambda arguments: doctor(strict=arguments.strict))
    return parser


def _add_target(parser: argparse.ArgumentParser, default: str | None = None) -> None:
    """Which target; where its tensors lie and which core does what may be said apart, without quotes inside quotes."""
    own = "the kernel's own, or tenstorrent"
    parser.add_argument("--target", type=_target, default=default, help=f"default: {default or own}")
    parser.add_argument("--layout", metavar="JSON", help="""as TT.layout, by tensor: '{"A": {"memory": "L1"}}'""")
    parser.add_argument("--schedule", metavar="WORDS", help="as TT.schedule: policy:rectangle,order:z,cores:4x4+2+1")


def _with_places(arguments: argparse.Namespace) -> None:
    """Put --layout and --schedule into --target."""
    for name in ("layout", "schedule"):
        said = getattr(arguments, name, None)
        if said is not None:
            spec = OPTIONS[name]
            try:
                value = spec.text(spec.parse(said))
            except ValueError as error:
                raise UsageError(f"--{name} cannot be {said!r}: {error or f'valid values: {spec.valid}'}") from None
            arguments.target = f"{arguments.target or NAME} -{name}={value}"


def _target(text: str) -> str:
    try:
        ours = normalize(text)
    except TargetError as error:
        raise argparse.ArgumentTypeError(f"{error.message}; {error.help}") from error
    if ours is None:
        raise argparse.ArgumentTypeError(f"'{text}' is not a Tenstorrent target")
    return text


def _default_target() -> str:
    """A Tenstorrent target from the environment, so that its options reach the script; or the plain one."""
    text = os.environ.get("TILELANG_DEFAULT_TARGET", "")
    return text if NAME in text else NAME


def _run(arguments: argparse.Namespace) -> int:
    if not arguments.script.is_file():
        raise UsageError(f"there is no file {arguments.script}")
    return run_script(arguments.script, arguments.args, arguments.target)


def _compile(arguments: argparse.Namespace) -> int:
    kernel = load_kernel(arguments.kernel, arguments.target)
    directory = kernel.export(arguments.output, overwrite=arguments.force)
    for name in kernel.files:
        print(directory / name)
    return 0


def _fuzz(arguments: argparse.Namespace) -> int:
    kernel = load_kernel(arguments.kernel, arguments.target)
    fuzz(kernel.compiled, arguments.seeds)
    print(f"{kernel.compiled.name}: {arguments.seeds} schedules, the same bits in every one")
    return 0


def _size(text: str) -> tuple[str, int]:
    name, _, number = text.partition("=")
    if not name.isidentifier() or not number.isdecimal() or int(number) == 0:
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME=N with a size N of at least 1")
    return name, int(number)


def _diff(arguments: argparse.Namespace) -> int:
    kernel = load_kernel(arguments.kernel, arguments.target)
    sizes = dict(arguments.size)
    for name in sizes:
        if name not in kernel.compiled.plan.sizes:
            raise UsageError(f"'{kernel.compiled.name}' has no dynamic axis '{name}'")
    report = diff(
        kernel.prim_func,
        kernel.compiled,
        kernel.options,
        sizes,
        seed=arguments.seed,
        tolerance=arguments.tolerance,
    )
    print(text(report))
    return 0 if report.equal and (report.ttnn_ran or not arguments.strict) else 1


def _conformance(arguments: argparse.Namespace) -> int:
    # TVM and torch's profiler come along: not for the other commands.
    from tilelang_tt.cli.conformance import conformance

    return conformance(
        arguments.directory,
        target=arguments.target,
        jobs=arguments.jobs,
        seconds=arguments.timeout,
        results=arguments.results,
        page=arguments.report,
        only=arguments.only,
    )


def _explain(arguments: argparse.Namespace) -> int:
    kernel = load_kernel(arguments.kernel, arguments.target)
    print(kernel.explain(stages=not arguments.no_stages, time=not arguments.no_time), end="")
    return 0


def _profile(arguments: argparse.Namespace) -> int:
    kernel = load_kernel(arguments.kernel, arguments.target)
    # numpy and the clock come along: not for the other commands.
    from tilelang_tt.cli.profile import profile

    sizes = dict(arguments.size)
    print(
        profile(kernel, sizes, launch=arguments.launch, as_json=arguments.json, trace=arguments.trace),
        end="",
    )
    return 0
