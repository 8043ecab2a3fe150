"""What would help: the record replayed with one resource made free."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tilelang_tt.clock.replay import Record
from tilelang_tt.clock.report import LaunchClock
from tilelang_tt.clock.tables import costs
from tilelang_tt.profile.subject import Subject

_UNLIMITED = 1e9  # bytes in a cycle
_CHEAPER = {"HiFi4": "HiFi2", "HiFi3": "HiFi2", "HiFi2": "LoFi"}
_SET_UP = tuple(
    f"{processor}.{call}"
    for processor in ("unpack", "math", "pack")
    for call in ("startup", "init", "reconfig", "uninit")
)


@dataclass(frozen=True)
class Change:
    """Something that could be different."""

    subject: str  # "reads of B_shared"
    text: str  # "with B_shared delivered at no cost"
    words: tuple[str, ...] = ()
    costs: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Effect:
    """How long the launch takes then, in microseconds."""

    change: Change
    microseconds: float


def effects(
    record: Record, index: int, launch: Subject, chip: str, clock: LaunchClock, least: float = 0.01
) -> list[Effect]:
    """Changes that save at least the part `least` of the launch's time, the best first."""
    found = []
    for change in changes(launch, chip, clock):
        microseconds = record.replay(change.costs, words=change.words).launches[index].microseconds
        if microseconds <= clock.microseconds * (1 - least):
            found.append(Effect(change, microseconds))
    return sorted(found, key=lambda effect: effect.microseconds)


def changes(launch: Subject, chip: str, clock: LaunchClock) -> list[Change]:
    """Everything that is tried."""
    kinds = [kind.name for kind in clock.kinds]
    return [
        *_blocks(launch),
        *_bandwidths(chip),
        *_products(chip, kinds),
        *_exponentials(chip, kinds),
        *_without(kinds),
        *_deeper_buffers(launch, clock),
        *_halves_of_dst(launch),
    ]


def _blocks(launch: Subject) -> list[Change]:
    reads = [cb for cb in launch.buffers if cb.read]
    writes = [cb for cb in launch.buffers if cb.written]
    return [
        *(Change(f"reads of {cb.name}", f"with {cb.name} delivered at no cost", _free_buffer(cb.id)) for cb in reads),
        *(Change(f"writes of {cb.name}", f"with {cb.name} stored at no cost", _free_buffer(cb.id)) for cb in writes),
    ]


def _free_buffer(number: int) -> tuple[str, ...]:
    return ("free_buffer", str(number))


def _bandwidths(chip: str) -> list[Change]:
    rates = {name: _UNLIMITED for name, row in costs(chip).items() if row.unit == "B/cycle"}
    dram = {name: rate for name, rate in rates.items() if name.startswith("dram.")}
    noc = {name: rate for name, rate in rates.items() if name.startswith("noc.")}
    return [
        Change("DRAM bandwidth", "with DRAM of unlimited bandwidth", costs={**dram, "dram.interval": 0.0}),
        Change("NoC bandwidth", "with a NoC of unlimited bandwidth", costs=noc),
    ]


def _products(chip: str, kinds: Sequence[str]) -> list[Change]:
    used = sorted({name.split(".")[2] for name in kinds if name.startswith("math.matmul.")})
    found = []
    for fidelity in used:
        found.append(Change("tile products", "with tile products at no cost", ("free", "math.matmul")))
        lower = _CHEAPER.get(fidelity)
        if lower is not None:
            found.append(
                Change(
                    "fidelity", f"with math_fidelity {lower} instead of {fidelity}", costs=_as(chip, fidelity, lower)
                )
            )
    return found


def _as(chip: str, fidelity: str, lower: str) -> dict[str, float]:
    """The rows of one fidelity with the values of another."""
    table = costs(chip)
    base = f"math.matmul.{fidelity}"
    return {
        name: table.get(name.replace(fidelity, lower), table[f"math.matmul.{lower}"]).value
        for name in table
        if name == base or name.startswith(f"{base}.")
    }


def _exponentials(chip: str, kinds: Sequence[str]) -> list[Change]:
    """As target option `approx_exp` computes them in matrices, but for factors that it takes in."""
    if not any(map(_is_accurate_exponential, kinds)):
        return []
    table = costs(chip)
    coarse = table["math.sfpu.exp_tile.approx.clamped"].value
    rows = dict.fromkeys(filter(_is_accurate_exponential, table), coarse)
    return [Change("exponentials", "with exponentials that are right to 3.2 % (target option approx_exp)", costs=rows)]


def _is_accurate_exponential(name: str) -> bool:
    return name.startswith(("math.sfpu.exp_tile", "math.sfpu.exp2_tile")) and ".approx" not in name


def _without(kinds: Sequence[str]) -> list[Change]:
    set_up = tuple(word for name in _SET_UP for word in ("free", name))
    found = [
        Change("unpacking", "with unpack at no cost", ("free", "unpack")),
        Change("packing", "with pack at no cost", ("free", "pack")),
        Change("inits and reconfigurations", "with inits and reconfigurations at no cost", set_up),
        Change(
            "issuing of transfers", "with transfers issued and awaited at no cost for their processors", ("free", "dm")
        ),
    ]
    if any(name.startswith("math.sfpu.") for name in kinds):
        found.append(Change("vector functions", "with vector functions at no cost", ("free", "math.sfpu")))
    return found


def _deeper_buffers(launch: Subject, clock: LaunchClock) -> list[Change]:
    """Buffers for whose room somebody waits."""
    full = {wait.id for lane in clock.lanes.values() for wait in lane.waits if wait.cause == "cb_reserve_back"}
    return [
        Change(
            f"depth of {cb.name}",
            f"with {cb.name} twice as deep ({2 * cb.pages} tiles)",
            ("pages", str(cb.id), str(2 * cb.pages)),
        )
        for cb in launch.buffers
        if cb.id in full
    ]


def _halves_of_dst(launch: Subject) -> list[Change]:
    if not launch.full_sync:
        return []
    return [Change("DST", "with DST in two halves (dst_full_sync off)", ("dst", "2"))]
