"""The programs whose protocol calls are mutated: generated matrix products and this folder's own kernels."""

import importlib.util
import runpy
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import test_dataflow
import test_multicast
import test_objects
import test_placement
import test_programs
import test_softmax_calls
from device_programs import Gemm
from tilelang.backend.target import determine_target

from tilelang_tt.cli.fuzz import results_of
from tilelang_tt.options import Options
from tilelang_tt.pipeline import compile_function
from tilelang_tt.target import options_of

TESTS = Path(__file__).parent.parent
sys.path.insert(0, str(TESTS / "conformance"))
from gemm_cases import Case, gemm  # noqa: E402

Program = Callable[[], object]
TAIL = 70  # extent of symbolic dimensions: several blocks, the last of them incomplete


def golden(name: str, arch: str = "") -> Program:
    """For the chip that the golden names, or another."""

    def run() -> object:
        path = TESTS / "golden" / "test_golden.py"
        spec = importlib.util.spec_from_file_location("test_golden", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        func, kernel = module.load(name)
        options = replace(options_of(determine_target(kernel.TARGET, return_object=True)), grid=(1, 1))
        compiled = compile_function(func, replace(options, arch=arch or options.arch))
        return results_of(compiled, 0, dict.fromkeys(compiled.plan.sizes, TAIL))

    return run


def generated(case: Case, grid: tuple[int, int] = (1, 1)) -> Program:
    """On several cores, one of them reads blocks for the others."""

    def run() -> object:
        compiled = compile_function(gemm(case), Options(arch=case.arch, grid=grid, multicast=grid != (1, 1)))
        return results_of(compiled, 0, dict.fromkeys(compiled.plan.sizes, TAIL))

    return run


_PLAIN = Case("bfloat16", "bfloat16", "NN", (64, 64, 32), 2, "odd", "static", "wormhole_b0", "fast", "none")

# Small extents of what `tests/golden` shows: several blocks each way on one core, three steps along K.
GENERATED: dict[str, Program] = {
    "gemm, sums in L1": generated(replace(_PLAIN, block=(128, 128, 64), shape="aligned", stages=3)),
    "gemm, sums in L1, tails": generated(replace(_PLAIN, block=(64, 96, 32), stages=3)),
    "gemm, sums in DST, tails": generated(_PLAIN),
    "gemm, transposed, sums in the output": generated(replace(_PLAIN, transpose="TT", out="float32")),
    "gemm, ReLU, dynamic": generated(replace(_PLAIN, sizes="dynamic", epilogue="relu", arch="blackhole")),
    "gemm, epilogue through L1": generated(replace(_PLAIN, dtype="float16", out="float16", epilogue="through_shared")),
    "gemm, multicast": generated(replace(_PLAIN, block=(32, 32, 32), shape="aligned"), (3, 2)),
    "gemm, multicast, Blackhole": generated(replace(_PLAIN, block=(32, 32, 32), arch="blackhole"), (2, 3)),
    "golden gemm_dynamic": golden("gemm_dynamic"),
    "golden sum_of_parts": golden("sum_of_parts"),
}

HAND_WRITTEN: dict[str, Program] = {
    "vector add": lambda: runpy.run_path(
        str(test_programs.EXAMPLES / "vector_add" / "vector_add.py"), run_name="__main__"
    ),
    "tutorial": test_programs.run_tutorial,
    "L1 loopback": lambda: test_programs.test_loopback_through_a_buffer_in_l1("wormhole_b0"),
    "SFPU chain": lambda: test_programs.test_sfpu_chain("wormhole_b0", "fast"),
    "matmul": lambda: test_programs.test_matmul_on_one_and_many_cores("wormhole_b0", (3, 2), "fast"),
    "blocked matmul": lambda: test_programs.test_blocked_matmul_with_reuse("wormhole_b0"),
    "matmul with tails": lambda: Gemm(grid=(2, 1)).run(100, 200, 70),
    "sharded add": lambda: test_placement.test_add_of_shards_without_copies("wormhole_b0", "height", "fast"),
    "pad": lambda: test_placement.test_pad_of_rows("wormhole_b0", test_placement.MemoryConfig()),
    "two buffers over the same bytes": test_programs.test_two_buffers_over_the_same_bytes,
    "softmax": lambda: test_softmax_calls.run(test_softmax_calls.KERNEL),
    "every NoC form": lambda: test_dataflow.test_every_form_moves_its_bytes("wormhole_b0"),
    "multicast": lambda: test_multicast.test_one_core_sends_to_the_others("wormhole_b0", (3, 1)),
    "multicast, Blackhole": lambda: test_multicast.test_one_core_sends_to_the_others("blackhole", (3, 1)),
    "ring": lambda: test_multicast.test_ring("wormhole_b0", 3),
    "core to core": lambda: test_objects.pipe(),
    "core to core, Blackhole": lambda: test_objects.pipe(arch="blackhole"),
    "matmul with multicast": lambda: test_objects.grid_gemm((3, 2), 4, "wormhole_b0"),
    "matmul with multicast, Blackhole": lambda: test_objects.grid_gemm((3, 2), 4, "blackhole"),
}

PROGRAMS: dict[str, Program] = GENERATED | HAND_WRITTEN

# Programs whose settings are changed: kernels of every kind on both chips, and those of above that set something up.
_KINDS = (
    *("add_vectors", "chunk_states", "first_drop", "flash_attention", "four_products", "gemm", "gemm_multicast"),
    *("gemm_relu_in_dst", "gemm_transposed", "hash_mask", "loops_product", "packed_weights", "rms_norm", "rotary"),
    *("sharded_residual", "softmax", "split_k", "sum_of_parts"),
)
_HAND_SET = ("blocked matmul", "matmul with tails", "softmax", "matmul with multicast, Blackhole", "SFPU chain")
CONFIGURED: dict[str, Program] = {
    **{f"{name}, {arch}": golden(name, arch) for name in _KINDS for arch in ("wormhole_b0", "blackhole")},
    **{name: PROGRAMS[name] for name in ("gemm, multicast", "gemm, multicast, Blackhole", *_HAND_SET)},
}
