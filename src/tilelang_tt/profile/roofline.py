"""The roofline: what the matrix engines and DRAM allow, and where a launch is below it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tilelang_tt.clock.tables import costs
from tilelang_tt.clock.timing import FLOP_OF_A_PRODUCT, PRODUCT_CYCLES, LaunchTiming

_WIDTH, _HEIGHT = 44, 7  # characters


@dataclass(frozen=True)
class Roofline:
    peak_tflops: float  # of all matrix engines, at the fidelity of the launch
    dram_gigabytes: float  # a second
    intensity: float  # flop for each byte of DRAM
    tflops: float

    @property
    def roof(self) -> float:
        """TFLOPS that this intensity allows."""
        return min(self.peak_tflops, self.intensity * self.dram_gigabytes / 1e3)

    @property
    def ridge(self) -> float:
        """The intensity from which on DRAM no longer bounds."""
        return self.peak_tflops * 1e3 / self.dram_gigabytes


def roofline(launch: LaunchTiming) -> Roofline | None:
    """Of a launch with tile products that touches DRAM."""
    counts = launch.products
    if not counts or launch.clock.dram_bytes == 0:
        return None
    cycles = sum(PRODUCT_CYCLES[fidelity] * count for fidelity, count in counts.items()) / sum(counts.values())
    chip = launch.chip
    rate = costs(chip.name)["dram.rate"].value * chip.dram_banks
    return Roofline(
        peak_tflops=FLOP_OF_A_PRODUCT / cycles * chip.cores * chip.clock_mhz / 1e6,
        dram_gigabytes=rate * chip.clock_mhz / 1e3,
        intensity=FLOP_OF_A_PRODUCT * launch.tile_products / launch.clock.dram_bytes,
        tflops=launch.tflops,
    )


def draw(line: Roofline) -> list[str]:
    """Both axes by powers; the star is the launch."""
    left = min(line.intensity, line.ridge) / 4
    right = max(line.intensity, line.ridge) * 4
    top, bottom = line.peak_tflops * 1.5, min(line.tflops, left * line.dram_gigabytes / 1e3)
    canvas = [[" "] * _WIDTH for _ in range(_HEIGHT)]
    for column in range(_WIDTH):
        intensity = left * (right / left) ** (column / (_WIDTH - 1))
        roof = min(line.peak_tflops, intensity * line.dram_gigabytes / 1e3)
        canvas[_row(roof, bottom, top)][column] = "-" if roof == line.peak_tflops else "/"
    star = round((_WIDTH - 1) * math.log(line.intensity / left) / math.log(right / left))
    canvas[_row(line.tflops, bottom, top)][star] = "*"
    notes = {
        0: f"matrix engines {line.peak_tflops:,.0f} TFLOPS",
        1: f"DRAM {line.dram_gigabytes:,.0f} GB/s, ridge at {line.ridge:,.0f} flop/B",
        2: f"* {line.tflops:,.1f} TFLOPS at {line.intensity:,.0f} flop/B",
        3: f"  {line.tflops / line.roof:.0%} of its roof of {line.roof:,.1f} TFLOPS",
    }
    return [f"  |{''.join(row)}  {notes.get(number, '')}".rstrip() for number, row in enumerate(canvas)] + [
        f"  +{'-' * _WIDTH}  flop for each byte of DRAM"
    ]


def _row(value: float, bottom: float, top: float) -> int:
    share = math.log(max(value, bottom) / bottom) / math.log(top / bottom)
    return min(_HEIGHT - 1, max(0, _HEIGHT - 1 - round(share * (_HEIGHT - 1))))
