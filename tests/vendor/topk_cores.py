"""Top-k of long rows: cores find the best of their columns, one more core merges what they send it.

Host side of `reduction/topk/device/topk_multi_core_program_factory.cpp`. Neighbouring cores sort in opposite
directions, so that what arrives side by side is bitonic.
"""

from __future__ import annotations

from pathlib import Path

from tests.vendor.builder import Outcome, Program, accessor
from tests.vendor.sorting import BF16, TILE, UINT16, Sorting, Tensors, drawn, judged

from tilelang_tt.device import (
    ComputeConfigDescriptor,
    CoreCoord,
    CoreRange,
    CoreRangeSet,
    Device,
    ReaderConfigDescriptor,
    WriterConfigDescriptor,
)

KERNELS = "reduction/topk/device/kernels"
INPUT, INDEX, SORTED, SORTED_INDEX, GATHERED, GATHERED_INDEX, MERGED, MERGED_INDEX, VALUES, INDICES = range(10)


def _log2(number: int) -> int:
    return number.bit_length() - 1


def _program(device: Device, root: Path, case: Sorting, t: Tensors) -> Program:
    finders = CoreRangeSet([CoreRange((0, 0), (case.cores - 1, 0))])
    final = CoreCoord(0, 1)
    merger = CoreRangeSet([CoreRange(final, final)])
    program = Program(device, root, "topk_cores", CoreRangeSet([*finders.ranges, *merger.ranges]))
    height, width, kept = case.rows // TILE, case.columns // TILE, -(-case.k // TILE)
    share, gathered = width // case.cores, case.cores * kept
    program.buffer(INPUT, 4, BF16)
    program.buffer(INDEX, 4, UINT16)
    program.buffer(GATHERED, gathered, BF16)
    program.buffer(GATHERED_INDEX, gathered, UINT16)
    program.buffer(VALUES, 2, BF16)
    program.buffer(INDICES, 2, UINT16)
    program.buffer(SORTED, share, BF16, cores=finders)
    program.buffer(SORTED_INDEX, share, UINT16, cores=finders)
    program.buffer(MERGED, gathered, BF16, cores=merger)
    program.buffer(MERGED_INDEX, gathered, UINT16, cores=merger)
    sent, ready = program.semaphore(), program.semaphore()
    first, last, to = (
        device.worker_core_from_logical_core(core) for core in (CoreCoord(0, 0), CoreCoord(case.cores - 1, 0), final)
    )
    rows = [CoreCoord(i, 0) for i in range(case.cores)]
    program.kernel(
        f"{KERNELS}/dataflow/reader_create_index_local_topk.cpp", ReaderConfigDescriptor(),
        [INPUT, INDEX, height, share, width, *accessor(t.x)],
        {core: [t.x.buffer_address(), 0, i * share, 0, 0] for i, core in enumerate(rows)},
        defines={"GENERATE_INDICES": 1}, cores=finders,
    )  # fmt: skip
    program.kernel(
        f"{KERNELS}/dataflow/reader_final_topk.cpp", ReaderConfigDescriptor(),
        [ready, sent, first.x, first.y, last.x, last.y, height, gathered, case.cores, GATHERED, GATHERED_INDEX],
        {final: []}, cores=merger,
    )  # fmt: skip
    program.kernel(
        f"{KERNELS}/dataflow/writer_local_topk.cpp", WriterConfigDescriptor(),
        [ready, sent, to.x, to.y, height, case.k, kept, VALUES, INDICES, GATHERED, GATHERED_INDEX],
        {core: [i] for i, core in enumerate(rows)}, cores=finders,
    )  # fmt: skip
    program.kernel(
        f"{KERNELS}/dataflow/writer_final_topk.cpp", WriterConfigDescriptor(),
        [VALUES, INDICES, height, kept, *accessor(t.values), *accessor(t.indices)],
        {final: [t.values.buffer_address(), t.indices.buffer_address()]}, cores=merger,
    )  # fmt: skip
    order = [int(case.largest), 1, int(case.stable)]
    program.kernel(
        f"{KERNELS}/compute/topk_local.cpp", ComputeConfigDescriptor(),
        [INPUT, INDEX, SORTED, SORTED_INDEX, VALUES, INDICES, height, share, case.k, kept, _log2(case.k), _log2(share),
         *order],
        {core: [int(case.largest == (i % 2 == 1))] for i, core in enumerate(rows)}, cores=finders,
    )  # fmt: skip
    program.kernel(
        f"{KERNELS}/compute/topk_final.cpp", ComputeConfigDescriptor(),
        [GATHERED, GATHERED_INDEX, MERGED, MERGED_INDEX, VALUES, INDICES, height, gathered, case.k, kept, _log2(case.k),
         _log2(gathered), *order],
        {final: []}, cores=merger,
    )  # fmt: skip
    return program


def run(device: Device, root: Path, case: Sorting) -> Outcome:
    tensors, x = drawn(device, case)
    _program(device, root, case, tensors).run()
    return judged(case, tensors, x)
