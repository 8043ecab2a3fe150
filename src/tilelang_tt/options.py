"""What a user may choose about a compilation, apart from the kernel itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tilelang_tt.arch import ARCHS, DST_TILES_16BIT, DST_TILES_32BIT, Arch
from tilelang_tt.layout_hints import Hints
from tilelang_tt.schedule_request import Requests


@dataclass(frozen=True)
class Options:
    """Target options, checked and complete. `tilelang_tt.target` builds this from a target."""

    arch: str = "wormhole_b0"
    grid: tuple[int, int] | None = None  # cores (x, y) to use; None: the chip's whole compute grid
    math_fidelity: Literal["LoFi", "HiFi2", "HiFi3", "HiFi4"] = "HiFi4"
    fp32_acc: bool = True  # 32-bit DST (fp32_dest_acc_en)
    fast_math: bool = False  # numbers are finite; also set by TileLang's pass config `tl.enable_fast_math`
    approx_exp: bool = False  # exponentials of blocks by the vector unit's fast approximation: right to 3.2 %
    scalar_code: bool = (
        True  # what the tile engines cannot do runs on the cores' small processors; False: it is refused
    )
    multicast: bool | None = None  # one core reads what several need, and sends it to the others; None: where it pays
    split_k: bool | None = None  # several cores make parts of a long sum of products; None: where it pays
    blocks: bool = True  # sizes of blocks that suit the chip; False: those that the kernel is written with
    numerics: Literal["fast", "exact", "chip"] = "fast"
    sdk: str = "0.77"
    device: Literal["virtual", "ttnn", "auto"] = "virtual"
    float16: str = "float32"  # how float16 tensors are stored on the device
    storage: tuple[tuple[str, str], ...] = ()  # (parameter, or "*" for all inputs; format)
    layout: Hints = ()  # where tensors lie, by name; TT.layout says the same in the kernel
    schedule: Requests = ()  # which core does what: (number of a T.Kernel, or "*"; request); as TT.schedule

    @property
    def chip(self) -> Arch:
        return ARCHS[self.arch]

    @property
    def dst_tiles(self) -> int:
        """Tiles that DST holds between acquire and release."""
        return DST_TILES_32BIT if self.fp32_acc else DST_TILES_16BIT

    @property
    def core_grid(self) -> tuple[int, int]:
        return self.grid or self.chip.grid
