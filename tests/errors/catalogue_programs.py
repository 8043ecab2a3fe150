"""Entries of the catalogue for what happens while kernels run (TT4xx): programs written by hand, and kernels."""

from __future__ import annotations

from catalogue import program

_HEAD = '''
from tilelang_tt.device import (
    CBDescriptor,
    CBFormatDescriptor,
    CoreRange,
    CoreRangeSet,
    DataType,
    KernelDescriptor,
    ProgramDescriptor,
    ReaderConfigDescriptor,
    open_device,
)

READER = """
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

void kernel_main() {
{body}
}
"""
CORE = CoreRangeSet([CoreRange((0, 0), (0, 0))])
KERNEL = KernelDescriptor(READER, CORE, ReaderConfigDescriptor(), KernelDescriptor.SourceType.SOURCE_CODE)
TILES = CBDescriptor({pages} * 2048, CORE, [CBFormatDescriptor(0, DataType.BFLOAT16, 2048)])

with open_device("wormhole_b0"{settings}) as device:
    device.run(ProgramDescriptor([KERNEL], cbs=[TILES]))
'''


def _text(body: str, pages: int, settings: str) -> str:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return _HEAD.replace("{body}", lines).replace("{pages}", str(pages)).replace("{settings}", settings)


def by_hand(
    code: str,
    title: str,
    meaning: str,
    fails: str,
    mended: str,
    *,
    pages: tuple[int, int] = (2, 2),
    settings: str = "",
    lines: int = 0,
) -> None:
    """`fails` and `mended`: what the reader does; `pages`: of its circular buffer in either program."""
    program(code, title, meaning, _text(fails, pages[0], settings), _text(mended, pages[1], settings), lines=lines)


_ASK = "The message names core, kernel and line; docs/debugging.md says how to go on."
_PUSH = "cb_reserve_back(0, 1);\ncb_push_back(0, 1);"
_POP = "cb_wait_front(0, 1);\ncb_pop_front(0, 1);"
by_hand(
    "TT401",
    "a kernel broke a contract of the chip",
    f"""The virtual device checks what the hardware takes for granted: that a circular buffer is reserved before it is
    written, that a transfer has landed before it is used, that nobody else writes the same page. {_ASK} Kernels that the
    compiler makes keep these contracts, so this is either a race in the TileLang kernel (two blocks write the same
    elements), a hand-written program, or a bug to report.""",
    f"cb_push_back(0, 1);\n{_POP}",
    f"{_PUSH}\n{_POP}",
)
by_hand(
    "TT402",
    "something of the SDK that the virtual device does not have",
    "docs/reference/device-api.md lists what there is. It stops instead of computing something else.",
    "get_local_cb_interface(0).fifo_page_size = 32;",
    "const uint32_t bytes = get_local_cb_interface(0).fifo_page_size;\n(void)bytes;",
)
by_hand(
    "TT404",
    "a deadlock: every kernel waits for another one",
    f"The notes say who waits for what: a circular buffer that nobody fills or frees, a semaphore. {_ASK}",
    _POP,
    f"{_PUSH}\n{_POP}",
)
by_hand(
    "TT405",
    "the time limit",
    "The kernels did not end. TILELANG_TT_TIMEOUT is the limit in seconds, 300 unless it is set.",
    "volatile uint32_t done = 0;\nwhile (done == 0) {\n}",
    "volatile uint32_t done = 1;\nwhile (done == 0) {\n}",
    settings=", time_limit=1",
)
by_hand(
    "TT406",
    "the kernels, or the process of ttnn, crashed",
    "The next call starts anew. The notes have what was said last.",
    "volatile uint32_t pages = 0;\nvolatile uint32_t each = 64 / pages;\n(void)each;",
    "volatile uint32_t pages = 2;\nvolatile uint32_t each = 64 / pages;\n(void)each;",
)
by_hand(
    "TT410",
    "a program that the device has no room for",
    "Circular buffers, arguments, semaphores and tensors of a hand-written program are counted as the SDK counts them.",
    "",
    "",
    pages=(1024, 512),
)

by_hand(
    "TT705",
    "a breach of a contract that was allowed",
    "`open_device(strict=False)` or `allow=` lets a program run on after it; docs/device.md.",
    f"cb_push_back(0, 1);\n{_POP}",
    f"{_PUSH}\n{_POP}",
    settings=', allow=("cb-push-without-reserve",)',
)

# --- kernels of TileLang ----------------------------------------------------------------------------

_LOOKUP = """
@T.prim_func
def main(A: T.Tensor((32,), "float32"), at: T.Tensor((32,), "int32"), C: T.Tensor((32,), "float32")):
    with T.Kernel(1, threads=32):
        for i in T.serial(32):
            C[i] = A[at[i]]


kernel = tilelang.compile(main, target="tenstorrent")
"""
program(
    "TT420",
    "a run for timing only has no data",
    "The kernel's course depends on numbers: time it with `kernel.time(*tensors)`.",
    _LOOKUP + "kernel.estimate()\n",
    _LOOKUP + "print(kernel.time(torch.ones(32), torch.zeros(32, dtype=torch.int32), torch.empty(32)))\n",
)
_ROWS = """
@T.prim_func
def main(A: T.Tensor((64, 64), "float32"), at: T.Tensor((32,), "int64"), B: T.Tensor((32, 64), "float32")):
    with T.Kernel(1, threads=128):
        X = T.alloc_shared((32, 64), "float32")
        for i, j in T.Parallel(32, 64):
            X[i, j] = A[at[i], j]
        T.copy(X, B)


kernel = tilelang.compile(main, target="tenstorrent")
"""
program(
    "TT315",
    "indices that do not fit 32 bits",
    "Tensors of int64 that a kernel takes for indices are passed in 32 bits, as far as their values fit.",
    _ROWS + "kernel(torch.ones(64, 64), torch.full((32,), 2**40), torch.empty(32, 64))\n",
    _ROWS + "kernel(torch.ones(64, 64), torch.full((32,), 40), torch.empty(32, 64))\n",
)
program(
    "TT321",
    "a value that the stand-in for ttnn does not take",
    "`tilelang_tt.ttnn` checks what it is given as ttnn does. The message says what is valid.",
    "import tilelang_tt.ttnn as ttnn\n\nttnn.KernelDescriptor(core_ranges=(0, 0))\n",
    "import tilelang_tt.ttnn as ttnn\n\n"
    "core = ttnn.CoreCoord(0, 0)\n"
    "ttnn.KernelDescriptor(core_ranges=ttnn.CoreRangeSet([ttnn.CoreRange(core, core)]))\n",
)
_SUMS = """
@T.prim_func
def main(X: T.Tensor((96, 320), "float32"), Y: T.Tensor((96, 64), "float32")):
    with T.Kernel(2, 3, 5, threads=128) as (bx, by, bz):
        x = T.alloc_shared((32, 32), "float32")
        T.copy(X[by * 32, bz * 64 + bx * 32], x)
        T.atomic_add(Y[by * 32, bx * 32], x)


"""
_TARGET = 'tilelang.compile(main, target="tenstorrent -schedule={words}")\n'
program(
    "TT607",
    "a schedule for blocks that run one after the other",
    "Blocks that update the same tiles keep their order on one core; only the other block indices are dealt to cores.",
    _SUMS + _TARGET.format(words="units:0.1"),
    _SUMS + _TARGET.format(words="policy:rectangle"),
    runs=False,
)
_BACKWARDS = """
@T.prim_func
def main(x: T.Tensor((64, 64), "float32"), y: T.Tensor((64, 64), "float32")):
    with T.Kernel(2, threads=128) as bx:
        for i, j in T.Parallel(32, 64):
            y[bx * 32 + i, j] = x[bx * 32 + i, 63 - j]


tilelang.compile(main, target="tenstorrent")
"""
program(
    "TT704",
    "a T.Parallel, or a scan, is computed in many rounds",
    """Its elements do not lie in tiles side by side, so the vector engine does few of them at a time. The help says how to
    walk by tiles: here the axis that runs backwards comes first, and the tensors are passed transposed.""",
    _BACKWARDS,
    _BACKWARDS.replace("[bx * 32 + i, 63 - j]", "[63 - (bx * 32 + i), j]"),
    runs=False,
)
