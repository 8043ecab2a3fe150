"""F: what must hold of finished kernels. Runs on every compilation and cannot be switched off.

Form          no task, marker or section is left; each kernel holds only calls of its own kind; every variable is
              an argument, a loop variable or defined before.
Limits        circular-buffer ids, pages and bytes, L1, runtime arguments.
Streams       a circular buffer is pushed by its producer and popped by its consumer only, and both do so the same
              number of times in the same loops; counts land on the end of the buffer; nothing waits for or reserves
              more than the buffer holds; compute's own buffers never wait for what they have not pushed.
Transfers     reads have landed before their pages are pushed, writes have left before theirs are popped, and all
              are acknowledged before the kernel ends; places stay inside the block.
DST           acquire, commit, wait, release in order; computing before commit, packing after wait; indices inside DST.
Tiles         operands are waited for, results reserved, indices inside what was waited for or reserved, and inside the
              block where several lie in one buffer; of tiles whose first row alone is read nothing else is used.
Blocks        pages are filled before they are pushed, and written out before the writer pops them; the packer adds only
              to pages that hold a sum; DST tiles are computed before they are used, and none is lost.
Operations    the SFPU instructions are those the tile program asks for.
Engines       whatever an operation needs set (mode, source and pack formats, accumulation, SFPU constants) is set
              on every way to it; the packer's accumulation is off at the end.
"""

from __future__ import annotations

from tilelang_tt.ir.kernel import KernelSet
from tilelang_tt.passes.f_verify.check_blocks import check_blocks
from tilelang_tt.passes.f_verify.check_dst import check_dst
from tilelang_tt.passes.f_verify.check_engines import check_engines
from tilelang_tt.passes.f_verify.check_form import check_form
from tilelang_tt.passes.f_verify.check_limits import check_limits
from tilelang_tt.passes.f_verify.check_operations import check_operations
from tilelang_tt.passes.f_verify.check_streams import check_streams
from tilelang_tt.passes.f_verify.check_tiles import check_tiles
from tilelang_tt.passes.f_verify.check_transfers import check_transfers


def verify_kernels(kernels: KernelSet) -> None:
    """Raise InternalError at the first invariant that does not hold."""
    check_form(kernels)
    check_limits(kernels)
    check_streams(kernels)
    for kernel in kernels.kernels:
        check_transfers(kernel)
        check_tiles(kernel, kernels)
        check_dst(kernel, kernels)
        check_blocks(kernel, kernels)
    check_operations(kernels)
    check_engines(kernels)
