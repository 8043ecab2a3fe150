"""Stop a kernel on the virtual device at a line of its source, with random inputs, and show what a core holds there:
circular buffers, DST, and blocks by name. `kernel.debug(*tensors)` does it with tensors, and steps."""

from __future__ import annotations

import argparse

from tilelang_tt.cli.usage import add_core, add_kernel, add_sizes, add_target, count, sizes_of

HELP = "stop a kernel at a line and show what a core holds there"
NEEDS_TILELANG = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_kernel(parser)
    add_target(parser)
    add_sizes(parser)
    parser.add_argument("--line", type=count, metavar="N", help="of the kernel's source; without one, the first breach")
    parser.add_argument("--hit", type=count, default=1, metavar="N", help="the N-th time it comes there (default: 1)")
    parser.add_argument("--show", action="append", default=[], metavar="NAME", help="print this block, too")
    add_core(parser, "which core stops")
    parser.add_argument("--role", choices=("reader", "compute", "writer"), default="compute", help="which kernel stops")


def run(arguments: argparse.Namespace) -> int:
    from tilelang_tt.cli.discover import kernel_of
    from tilelang_tt.cli.inputs import random_inputs
    from tilelang_tt.execution.call import BoundCall

    kernel = kernel_of(arguments)
    inputs = random_inputs(kernel.compiled.plan, sizes_of(arguments, kernel))
    call = BoundCall(inputs.tensors, inputs.sizes, inputs.scalars, (), (), has_work=True)
    session = kernel.debug_call(call, core=arguments.core, role=arguments.role)
    stop = session.run_to(arguments.line, arguments.hit) if arguments.line else session.run()
    if stop is None:
        print("the kernel ends without coming there" if arguments.line else "the kernel ends without a breach")
        return 0
    print(stop)
    for name in arguments.show:
        print(f"{name} = {stop[name]}")
    return 1 if stop.error else 0
