"""Layouts, schedules and options drawn at random for a drawn kernel, and what the help of a refusal makes of them."""

import re
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import tilelang
from drawn import Drawn, Said

from tilelang_tt.arch import ARCHS
from tilelang_tt.diagnostics import TenstorrentError

Settings = dict[str, Any]


@dataclass(frozen=True)
class Wishes:
    """What is asked for, by the kernel or by its target."""

    layouts: dict[str, Settings] = field(default_factory=dict)
    schedule: Settings | None = None
    options: Settings = field(default_factory=dict)
    said: bool = False  # by the kernel

    @property
    def fewer_bits(self) -> int:
        """bfloat8_b has 7 bits, with one exponent for 16 numbers."""
        return 2 if any("storage" in one for one in self.layouts.values()) else 0

    def compiled(self, kernel: Drawn) -> Any:
        target = {"kind": "tenstorrent", **self.options}
        by_name = self.schedule is not None and ("match" in self.schedule or "0" in self.schedule)
        said = Said(self.layouts, None if by_name else self.schedule) if self.said else Said()
        if not self.said:
            target["layout"] = self.layouts
        if self.schedule is not None and (by_name or not self.said):
            target["schedule"] = self.schedule
        return tilelang.compile(kernel.kernel(said), target=target)


def wishes(rng: Random, kernel: Drawn) -> Wishes:
    options = {"arch": rng.choice(("wormhole_b0", "wormhole_b0", "blackhole"))}
    options |= {"numerics": rng.choice(("fast", "fast", "exact", "chip"))}
    options |= {"multicast": rng.choice((None, None, True, False)), "blocks": rng.choice((None, None, None, False))}
    grid, layouts = ARCHS[str(options["arch"])].grid, dict[str, Settings]()
    before: Settings | None = None
    for name, tensor in kernel.tensors.items():
        if rng.random() < 0.25:
            continue
        same = before is not None and not isinstance(before.get("shard"), tuple) and rng.random() < 0.4
        found = dict(before) if same and before is not None else layout(rng, tuple(tensor.shape), grid)
        if name not in kernel.results and rng.random() < 0.1 and kernel.kind not in ("moved_rows", "rows_looked_up"):
            found["storage"] = "bfloat8_b"
        layouts[name] = found
        before = {word: value for word, value in found.items() if word != "storage"}
    asked = schedule(rng, kernel, layouts, grid)
    found = Wishes(layouts, asked, {name: one for name, one in options.items() if one is not None}, rng.random() < 0.4)
    return _with_units(rng, kernel, found) if rng.random() < 0.1 and kernel.on_grid else found


def cores(rng: Random, grid: tuple[int, int], most: int = 5) -> str:
    """A rectangle, from the first core on or from another."""
    w, h = rng.randint(1, most), rng.randint(1, most)
    origin = (rng.randint(0, min(3, grid[0] - w)), rng.randint(0, min(3, grid[1] - h)))
    return f"{w}x{h}" + (f"+{origin[0]}+{origin[1]}" if rng.random() < 0.4 else "")


def layout(rng: Random, shape: tuple[int, ...], grid: tuple[int, int]) -> Settings:
    memory = rng.choice(("L1", "L1", "L1", "DRAM"))
    several = f"{rng.randint(1, 3)}x{rng.randint(1, 3)},{rng.randint(1, 3)}x{rng.randint(1, 3)}+4+4"
    where = several if rng.random() < 0.2 else cores(rng, grid)
    kind = rng.choice(("none", "rows", "height", "height", "width", "block", "block", "block", "extents", "extents"))
    found: Settings = {"memory": memory}
    if rng.random() < 0.15 and kind != "rows":
        found["tile"] = rng.choice(((16, 32), (32, 16)))
    if kind == "none":
        return found
    if kind == "rows":
        return {**found, "pages": "row"}
    found["shard"] = extents(rng, shape) if kind == "extents" else kind
    found["cores"] = f"{rng.randint(1, 8)}x1" if memory == "DRAM" else cores(rng, grid) if kind == "block" else where
    if kind == "extents" and rng.random() < 0.2:
        del found["cores"]
    if rng.random() < 0.3:
        found["order"] = "column"
    return found


def extents(rng: Random, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Of a shard: whole tiles, or whole axes; of the outer axes a run of matrices."""
    *outer, _, _ = (1, 1, *shape)[-max(2, len(shape)) :]
    inner = [rng.choice((32, 64, 96, -(-length // 32) * 32)) for length in shape[-2:]]
    found, whole = list[int](), True
    for length in reversed(outer):
        found.insert(0, rng.choice((1, 2, length)) if whole else 1)
        whole = whole and found[0] >= length
    return (*found, *inner)


def schedule(rng: Random, kernel: Drawn, layouts: dict[str, Settings], grid: tuple[int, int]) -> Settings | None:
    how = rng.choice(("none", "none", "policy", "policy", "order", "match"))
    if how == "none":
        return None
    if how == "match":
        return {"match": rng.choice(list(layouts or kernel.tensors))}
    found: Settings = {}
    if how == "policy":
        found["policy"] = rng.choice(("contiguous", "strided", "rectangle"))
    if rng.random() < 0.6:
        found["order"] = rng.choice(("row", "column", "block-linear", "block-linear-column", "z"))
    if "linear" in found.get("order", "") and rng.random() < 0.5:
        found["panel"] = rng.randint(1, 5)
    if rng.random() < 0.5:
        several = rng.random() < 0.3 and found.get("policy") != "rectangle"
        found["cores"] = f"2x2/{rng.randint(1, 3)}x2+3+3" if several else cores(rng, grid, 6)
    if rng.random() < 0.25:
        found["core_order"] = "column"
    if not kernel.on_grid and rng.random() < 0.4:
        return {"0": {"cores": cores(rng, grid, 4)}, "1": found or {"order": "z"}}
    return found or None


def _with_units(rng: Random, kernel: Drawn, asked: Wishes) -> Wishes:
    """A list of blocks for each core, in any order, if their number is known."""
    try:
        plan = Wishes(options={**asked.options, "blocks": False}).compiled(kernel).compiled.plan
    except TenstorrentError:
        return asked
    if not str(plan.launches[0].units).isdigit():
        return asked
    lists: list[list[int]] = [[] for _ in range(rng.choice((1, 2, 3, 5, 8)))]
    for unit in rng.sample(range(int(plan.launches[0].units)), int(plan.launches[0].units)):
        rng.choice(lists).append(unit)
    return replace(asked, schedule={"units": lists})


def as_the_help_says(error: TenstorrentError, asked: Wishes) -> Wishes | None:
    """What one gets who does so. None: the help says no such thing."""
    layouts = {name: dict(one) for name, one in asked.layouts.items()}
    named = next((one for one in re.findall(r"'(\w+)'", error.message) if one in layouts), None)
    if error.code in ("TT607", "TT608") and "leave" in str(error.help):
        return replace(asked, schedule=None)
    if named is None:
        return None
    here = layouts[named]
    if error.code == "TT182":
        memory = re.search(r"memory='(\w+)'", str(error.help))
        layouts[named] = {word: here[word] for word in ("storage", "pages", "tile") if word in here}
        layouts[named] |= {"memory": memory[1]} if memory else {}
    elif error.code in ("TT188", "TT189"):
        here.pop("storage" if error.code == "TT188" else "tile" if "leave out tile=" in str(error.help) else "pages")
    else:
        return None
    return replace(asked, layouts=layouts)
