"""F: what holds of the kernels of a launch once the pass that ensures it has run (`pipeline.py`).

Checked after that pass, and all of it again for finished kernels. It cannot be switched off.
"""

from __future__ import annotations

from collections.abc import Callable

from tilelang_tt.ir.kernel import Kernel, KernelSet
from tilelang_tt.passes.f_verify import check_form
from tilelang_tt.passes.f_verify.check_blocks import check_blocks
from tilelang_tt.passes.f_verify.check_deliveries import check_deliveries
from tilelang_tt.passes.f_verify.check_dst import check_dst
from tilelang_tt.passes.f_verify.check_engines import check_engines
from tilelang_tt.passes.f_verify.check_limits import check_limits
from tilelang_tt.passes.f_verify.check_operations import check_operations
from tilelang_tt.passes.f_verify.check_streams import check_streams
from tilelang_tt.passes.f_verify.check_tiles import check_tiles
from tilelang_tt.passes.f_verify.check_transfers import check_transfers
from tilelang_tt.passes.f_verify.ways_at_call import ways_at_call
from tilelang_tt.passes.record import Invariant, verify


def _each(check: Callable[[Kernel, KernelSet], None]) -> Callable[[KernelSet], None]:
    def check_all(kernels: KernelSet) -> None:
        for kernel in kernels.kernels:
            check(kernel, kernels)

    return check_all


def _in_each_way(check: Callable[[KernelSet], None]) -> Callable[[KernelSet], None]:
    """Of each way in which calls may use shards."""

    def check_all(kernels: KernelSet) -> None:
        for way in ways_at_call(kernels):
            check(way)

    return check_all


NO_MARKERS = Invariant("no markers", "blocks are handed over by circular-buffer calls alone", check_form.no_markers)
NO_TASKS = Invariant("no tasks", "no statement of the tile program is left", check_form.no_tasks)
NO_SECTIONS = Invariant("no sections", "every use of DST is four calls of its protocol", check_form.no_sections)
OWN_STATEMENTS = Invariant("own statements", "each kernel holds only calls of its own kind", check_form.own_statements)
LIMITS = Invariant("limits", "circular-buffer ids, pages and bytes, L1, runtime arguments", check_limits)
TRANSFERS = Invariant(
    "transfers",
    "reads have landed before their pages are pushed, writes have left L1 before their pages are popped, and all "
    "writes are acknowledged before the kernel ends",
    _in_each_way(_each(lambda kernel, _: check_transfers(kernel))),
)
DELIVERIES = Invariant(
    "deliveries",
    "a block that one core reads for several is asked for, sent and taken once, and before a core waits it has asked",
    _in_each_way(_each(lambda kernel, _: check_deliveries(kernel))),
)
DST_PROTOCOL = Invariant(
    "DST protocol",
    "acquire, commit, wait, release in order; computing before commit, packing after wait; indices inside DST",
    _each(check_dst),
)
VARIABLES = Invariant(
    "variables", "every variable is an argument, a loop variable or defined before", check_form.variables
)
CB_STREAMS = Invariant(
    "circular buffers",
    "a circular buffer is pushed by its producer and popped by its consumer only, and both do so the same number of "
    "times in the same loops; counts land on the end of the buffer; nothing waits for or reserves more than the buffer "
    "holds; compute's own buffers never wait for what they have not pushed",
    _in_each_way(check_streams),
)
TILES = Invariant(
    "tiles",
    "operands are waited for and results reserved; indices lie inside what was waited for or reserved, and in a pool "
    "inside the block; of a tile whose first row alone was read, nothing else is used",
    _in_each_way(_each(check_tiles)),
)
BLOCKS = Invariant(
    "blocks",
    "pages are filled before they are pushed, and written out before the writer pops them; the packer adds only to "
    "pages that hold a sum; DST tiles are computed before they are used, and none is lost",
    _in_each_way(_each(check_blocks)),
)
OPERATIONS = Invariant(
    "operations", "the element-wise instructions are those the tile program asks for", check_operations
)
ENGINES = Invariant(
    "engines",
    "every setting that an operation needs (mode, source and pack formats, accumulation, SFPU constants) is made on "
    "every path to it; the packer's accumulation is off at the end",
    check_engines,
)

FINISHED = (
    NO_MARKERS,
    NO_TASKS,
    NO_SECTIONS,
    OWN_STATEMENTS,
    VARIABLES,
    LIMITS,
    CB_STREAMS,
    TRANSFERS,
    DELIVERIES,
    TILES,
    DST_PROTOCOL,
    BLOCKS,
    OPERATIONS,
    ENGINES,
)


def verify_kernels(kernels: KernelSet) -> None:
    """Raise InternalError at the first invariant of finished kernels that does not hold."""
    verify(kernels, FINISHED)
