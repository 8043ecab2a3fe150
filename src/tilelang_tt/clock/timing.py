"""How long a kernel takes on the chip, and what holds it back: what `kernel.time` and `kernel.estimate` return."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tilelang_tt.arch import TILE, Arch
from tilelang_tt.clock.errors import ErrorBar, error_bar
from tilelang_tt.clock.report import ClockReport, LaunchClock
from tilelang_tt.clock.tables import costs, row_of

FLOP_OF_A_PRODUCT = 2 * TILE**3  # multiplications and additions of a tile by a tile
# Cycles in which the matrix engine can multiply two tiles: a phase is 16 cycles (tech_reports/GEMM_FLOPS of tt-metal).
PRODUCT_CYCLES = {"LoFi": 16, "HiFi2": 32, "HiFi3": 48, "HiFi4": 64}
LATENCY = "latency"
ASSUMED = "assumed"  # how such a cost is known, in the tables
WORTH_SAYING = 0.02  # share of a processor's time from which an assumed cost is named
_BOUND_FROM = 0.5  # a resource that is busy less than this share of the time bounds nothing

MATRIX, VECTOR, UNPACK, PACK = "matrix engine", "vector unit", "unpack", "pack"
DRAM, NOC = "DRAM", "NoC"
READER, WRITER = "reader's processor", "writer's processor"


@dataclass(frozen=True)
class LaunchTiming:
    """One launch. Shares are parts of the launch's time, from 0 to 1."""

    name: str
    chip: Arch
    clock: LaunchClock

    @property
    def cycles(self) -> float:
        return self.clock.cycles

    @property
    def microseconds(self) -> float:
        return self.clock.microseconds

    @property
    def cores(self) -> int:
        return len(self.clock.cores)

    @property
    def tile_products(self) -> int:
        return sum(self.products.values())

    @property
    def tflops(self) -> float:
        """Of the tile products; other arithmetic is not counted."""
        return FLOP_OF_A_PRODUCT * self.tile_products / self.microseconds / 1e6 if self.cycles else 0.0

    @property
    def matrix_peak(self) -> float:
        """Share of what all matrix engines of the chip can do, at the fidelity of these products."""
        ideal = sum(PRODUCT_CYCLES[fidelity] * count for fidelity, count in self.products.items())
        return _share(ideal, self.cycles * self.chip.cores)

    @property
    def dram_peak(self) -> float:
        """Share of the bytes that all DRAM banks can move."""
        rate = costs(self.chip.name)["dram.rate"].value * self.chip.dram_banks
        return _share(self.clock.dram_bytes, self.cycles * rate)

    @property
    def noc_peak(self) -> float:
        """Share of the time in which the busiest link of a NoC carries something."""
        return _share(max(self.clock.noc_busiest_link), self.cycles)

    @property
    def shares(self) -> Mapping[str, float]:
        """How long each resource is busy. Of processors and engines: on the core where it is busiest."""
        busiest = {
            lane: _share(max((core[lane].busy for core in self.clock.cores.values()), default=0.0), self.cycles)
            for lane in self.clock.lanes
        }
        vector = _share(self.cycles_of("math.sfpu"), self.cycles_of("math"))
        return {
            MATRIX: busiest["math"] * (1 - vector),
            VECTOR: busiest["math"] * vector,
            UNPACK: busiest["unpack"],
            PACK: busiest["pack"],
            READER: busiest["reader"],
            WRITER: busiest["writer"],
            DRAM: _share(max(self.clock.dram_busy), self.cycles),
            NOC: self.noc_peak,
        }

    @property
    def bound(self) -> str:
        """The resource that is busy for most of the time; `latency` if none is for half of it."""
        shares = self.shares
        most = max(shares, key=lambda name: shares[name])
        return most if shares[most] >= _BOUND_FROM else LATENCY

    @property
    def products(self) -> dict[str, int]:
        """Tile products by fidelity."""
        counts: dict[str, int] = {}
        for kind in self.clock.kinds:
            parts = kind.name.split(".")
            if parts[:2] == ["math", "matmul"]:
                counts[parts[2]] = counts.get(parts[2], 0) + kind.units
        return counts

    def cycles_of(self, beginning: str) -> float:
        return sum(kind.cycles for kind in self.clock.kinds if f"{kind.name}.".startswith(f"{beginning}."))


@dataclass(frozen=True)
class Timing:
    """A call of a kernel: all its launches, one after the other."""

    kernel: str
    chip: Arch
    launches: tuple[LaunchTiming, ...]
    guessed: tuple[str, ...]  # names of costs without a figure of their own
    scalar: tuple[str, ...] = ()  # launches with scalar code
    scalar_counted: bool = True  # its instructions have a cost: counted on this host

    @property
    def cycles(self) -> float:
        return sum(launch.cycles for launch in self.launches)

    @property
    def microseconds(self) -> float:
        return sum(launch.microseconds for launch in self.launches)

    @property
    def tflops(self) -> float:
        products = sum(launch.tile_products for launch in self.launches)
        return FLOP_OF_A_PRODUCT * products / self.microseconds / 1e6 if self.microseconds else 0.0

    @property
    def matrix_peak(self) -> float:
        return self._mean([launch.matrix_peak for launch in self.launches])

    @property
    def dram_peak(self) -> float:
        return self._mean([launch.dram_peak for launch in self.launches])

    @property
    def noc_peak(self) -> float:
        return self._mean([launch.noc_peak for launch in self.launches])

    @property
    def bound(self) -> str:
        """What bounds the launch that takes longest."""
        return max(self.launches, key=lambda launch: launch.cycles).bound if self.launches else LATENCY

    @property
    def assumed(self) -> dict[str, float]:
        """Costs that are neither measured nor fitted, by their share of a processor's time; small ones are left out."""
        shares: dict[str, float] = {}
        for launch in self.launches:
            for kind in launch.clock.kinds:
                row = row_of(self.chip.name, kind.name)
                if row is not None and row.how == ASSUMED:
                    share = _share(kind.cycles, self.cycles * len(launch.clock.cores))
                    shares[row.name] = shares.get(row.name, 0.0) + share
        return {name: share for name, share in sorted(shares.items()) if share >= WORTH_SAYING}

    @property
    def error_bar(self) -> ErrorBar | None:
        """How far the clock was from published figures of kernels like this one."""
        math, products, functions = (
            sum(one.cycles_of(what) for one in self.launches) for what in ("math", "math.matmul", "math.sfpu")
        )
        return error_bar(self.chip.name, products=_share(products, products + functions), computes=math > 0)

    def _mean(self, values: Sequence[float]) -> float:
        """Over time."""
        parts = (value * launch.cycles for value, launch in zip(values, self.launches, strict=True))
        return _share(sum(parts), self.cycles)

    def __str__(self) -> str:
        return "\n".join([self.line, *self._by_launch(), *self.caveats])

    __repr__ = __str__

    @property
    def line(self) -> str:
        """Time and bound in one line."""
        bar = self.error_bar
        error = f" +-{bar.mean:.0f} %" if bar else ""
        return (
            f"{self.kernel} on {self.chip.title}: {_time(self.microseconds)}{error} ({self.cycles:,.0f} cycles), "
            f"{_work(self.tflops, self.matrix_peak, self.dram_peak, self.noc_peak)}, bound by {self.bound}"
        )

    def _by_launch(self) -> list[str]:
        if len(self.launches) < 2:
            return []
        return [
            f"  {launch.name}: {_time(launch.microseconds)}, "
            f"{_work(launch.tflops, launch.matrix_peak, launch.dram_peak, launch.noc_peak)}, bound by {launch.bound}"
            for launch in self.launches
        ]

    @property
    def caveats(self) -> list[str]:
        """What a reader should know of these numbers."""
        lines = []
        bar = self.error_bar
        if bar is not None:
            lines.append(
                f"  error: {bar.mean:.1f} % on average, {bar.worst:.1f} % at worst, over {bar.figures} published "
                f"figures of '{bar.family}' that were kept apart from fitting"
            )
        else:
            lines.append("  error: unknown, no published figures of kernels like this one were compared")
        if self.guessed:
            lines.append(f"  without a figure of their own, taken at a general cost: {', '.join(self.guessed)}")
        if assumed := self.assumed:
            named = ", ".join(f"{name} ({share:.0%} of a processor's time)" for name, share in assumed.items())
            lines.append(f"  assumed, nobody has published it: {named}")
        if self.scalar:
            what = (
                "its instructions were counted on this host and weighed, good to a factor of two"
                if self.scalar_counted
                else "its transfers are timed, its instructions cannot be counted on this host: a lower bound"
            )
            lines.append(f"  scalar code of {', '.join(self.scalar)}: {what}")
        return lines


def timing(
    kernel: str,
    chip: Arch,
    names: Sequence[str],
    report: ClockReport,
    scalar: tuple[str, ...] = (),
    *,
    scalar_counted: bool = True,
) -> Timing:
    launches = tuple(LaunchTiming(name, chip, one) for name, one in zip(names, report.launches, strict=True))
    return Timing(kernel, chip, launches, report.guessed, scalar, scalar_counted)


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _time(microseconds: float) -> str:
    return f"{microseconds / 1e3:,.2f} ms" if microseconds >= 1e4 else f"{microseconds:,.1f} us"


def _work(tflops: float, matrix: float, dram: float, noc: float) -> str:
    products = f"{tflops:.1f} TFLOPS, {matrix:.0%} of the matrix engines, " if tflops else ""
    return f"{products}{dram:.0%} of DRAM, {noc:.0%} of the busiest NoC link"
