"""make bench: every figure in one run, because this is the only way to compare them on a noisy machine."""

from __future__ import annotations

import logging

import tilelang_tt  # noqa: F401
from benchmarks import clock_rate, compile_time, device_costs, device_rate, first_call, tile_kernels
from benchmarks.report import print_table


def main() -> None:
    logging.getLogger("tilelang").setLevel(logging.WARNING)
    parts = (compile_time, device_rate, tile_kernels, device_costs, clock_rate, first_call)
    print_table([row for part in parts for row in part.measure()])


main()
