"""Limits of the chip: circular buffers, L1, runtime arguments."""

from __future__ import annotations

from tilelang_tt.arch import MAX_CB_PAGES, MAX_RUNTIME_ARGS
from tilelang_tt.formats import TILE_BYTES
from tilelang_tt.ir.kernel import KernelSet
from tilelang_tt.ir.room import l1_for_buffers
from tilelang_tt.passes.f_verify.failure import fail


def check_limits(kernels: KernelSet) -> None:
    arch = kernels.program.options.chip
    seen: set[int] = set()
    for cb in kernels.all_cbs:
        if cb.id in seen or not 0 <= cb.id < arch.cb_count:
            raise fail("TT913", f"circular buffer id {cb.id} of '{cb.name}' is taken or beyond {arch.cb_count}")
        seen.add(cb.id)
        if cb.page_bytes != TILE_BYTES[cb.format]:
            raise fail("TT914", f"'{cb.name}' has pages of {cb.page_bytes} B for {cb.format}")
        if not 0 < cb.pages <= MAX_CB_PAGES:
            raise fail("TT915", f"'{cb.name}' has {cb.pages} pages")
    used = sum(cb.bytes for cb in kernels.all_cbs)
    usable = l1_for_buffers(kernels.program)
    if used > usable:
        raise fail("TT916", f"circular buffers take {used} B of L1, {usable} B are there")
    for kernel in kernels.kernels:
        words = sum(arg.words for arg in kernel.args)
        if words > MAX_RUNTIME_ARGS:
            raise fail("TT917", f"the {kernel.role.value} kernel has {words} runtime arguments")
