"""make bench: every figure in one run, because this is the only way to compare them on a noisy machine."""

from __future__ import annotations

import logging

import tilelang_tt  # noqa: F401
from benchmarks import compile_time, device_costs, device_rate, first_call
from benchmarks.report import print_table


def main() -> None:
    logging.getLogger("tilelang").setLevel(logging.WARNING)
    print_table([*compile_time.measure(), *device_rate.measure(), *device_costs.measure(), *first_call.measure()])


main()
