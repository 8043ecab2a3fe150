"""make bench: every figure in one run, because this is the only way to compare them on a noisy machine.

python -m benchmarks device_rate first_call     the parts that are named: here the speed of the virtual device
"""

from __future__ import annotations

import argparse
import logging

import tilelang_tt  # noqa: F401
from benchmarks import clock_rate, compile_time, device_costs, device_rate, first_call, tile_kernels
from benchmarks.report import print_table


def main() -> None:
    logging.getLogger("tilelang").setLevel(logging.WARNING)
    parts = (compile_time, device_rate, tile_kernels, device_costs, clock_rate, first_call)
    named = {part.__name__.rpartition(".")[2]: part for part in parts}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(named)}; all of them otherwise")
    asked = parser.parse_args().parts
    if unknown := [name for name in asked if name not in named]:
        parser.error(f"no part {', '.join(unknown)}")
    print_table([row for name in asked or named for row in named[name].measure()])


main()
