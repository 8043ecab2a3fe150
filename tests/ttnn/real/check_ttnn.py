"""What can be shown with a real ttnn; `make test-ttnn` runs it. Skipped parts say NOT RUN and why.

Without a device: every golden's ProgramDescriptor is built by the real bindings and read back. With a card or the
simulator: the conformance kernels, computed there.
"""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from table import write_table

from tilelang_tt.diagnostics import DeviceError, EnvironmentProblem
from tilelang_tt.runtime import ttnn_worker
from tilelang_tt.runtime.formats import FORMATS
from tilelang_tt.runtime.plan import CbPlan, Plan
from tilelang_tt.runtime.ttnn_find import Ttnn, cards, find_ttnn, simulator, worker_environment
from tilelang_tt.runtime.ttnn_launch import resolve
from tilelang_tt.runtime.ttnn_process import Worker

TESTS = Path(__file__).parents[2]
GOLDENS = sorted(path.parent for path in (TESTS / "golden").glob("*/tt.plan.json"))
LAUNCHING = (
    "conformance",
    "irregular",
    "layouts",
    "golden/test_golden.py::test_golden_kernel_runs",
    "unit/test_examples.py::test_example",
)
SIZES = {"m": 200, "n": 130, "k": 96}  # for plans with sizes bound at the call

sys.path.insert(0, str(TESTS / "ttnn" / "fake"))
CLASSES = (
    "KernelDescriptor",
    "CBDescriptor",
    "CBFormatDescriptor",
    "SemaphoreDescriptor",
    "ProgramDescriptor",
    "ComputeConfigDescriptor",
    "CoreRange",
    "CoreRangeSet",
    "ShardSpec",
    "NdShardSpec",
)
FUNCTIONS = [
    "open_device",
    "close_device",
    "to_device",
    "from_device",
    "deallocate",
    "synchronize_device",
    "generic_op",
    "get_max_worker_l1_unreserved_size",
    "cb_descriptor_from_sharded_tensor",
    "allocate_tensor_on_device",
    "to_memory_config",
    "to_layout",
    "typecast",
    "permute",
    "reshape",
    "repeat",
    "slice",
    "fill_implicit_tile_padding",
]
VALUES = ["DRAM_MEMORY_CONFIG", "L1_MEMORY_CONFIG", "RuntimeArgs", "TensorAccessorArgs", "UnpackToDestMode"]
VALUES += ["MathFidelity", "MemoryConfig", "BufferType", "TensorMemoryLayout", "ShardOrientation", "Shape", "CoreCoord"]
TENSOR = ["buffer_address", "buffer_num_pages", "buffer_page_size", "buffer_aligned_page_size", "to_numpy"]
DEVICE = [
    "worker_core_from_logical_core",
    "arch",
    "compute_with_storage_grid_size",
    "enable_program_cache",
    "num_program_cache_entries",
]


@pytest.fixture(scope="module")
def ttnn() -> Ttnn:
    try:
        return find_ttnn()
    except EnvironmentProblem as problem:
        pytest.skip(f"NOT RUN, no descriptor was built and nothing was launched: {problem.message}")


def plan_of(golden: Path) -> Plan:
    return Plan.from_json((golden / "tt.plan.json").read_text())


def views_of_memory(cbs: tuple[CbPlan, ...]) -> list[tuple[CbPlan, list[CbPlan]]]:
    """Each circular buffer that has memory of its own, with all that see it, in the plan's order."""
    own = [cb for cb in cbs if cb.shares is None]
    return [(cb, [view for view in cbs if cb.id in (view.id, view.shares)]) for cb in own]


def request_of(golden: Path) -> dict[str, Any]:
    sources = {path.name: path.read_text() for path in golden.glob("*.cpp")}
    plan = plan_of(golden)
    return resolve(plan, sources, {name: SIZES[name] for name in plan.sizes}, {})


@pytest.fixture(scope="module")
def answer(ttnn: Ttnn, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    question = {
        "requests": [request_of(golden) for golden in GOLDENS],
        "parameters": CLASSES,
        "names": [*CLASSES, *FUNCTIONS, *VALUES, "uint32", *ttnn_worker.DTYPES.values()],
        "tensor_names": TENSOR,
        "device_names": DEVICE,
    }
    file = tmp_path_factory.mktemp("question") / "question.json"
    file.write_text(json.dumps(question))
    done = subprocess.run(
        [ttnn.python, str(Path(__file__).with_name("build_descriptors.py")), ttnn_worker.__file__, str(file)],
        capture_output=True,
        text=True,
        env=worker_environment(ttnn.python),
    )
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


@pytest.mark.parametrize("golden", GOLDENS, ids=lambda path: path.name)
def test_real_descriptors_of_a_golden(answer: dict[str, Any], golden: Path) -> None:
    plan, request = plan_of(golden), request_of(golden)
    programs = answer["programs"][GOLDENS.index(golden)]
    assert len(programs) == len(plan.launches)
    for program, launch, asked in zip(programs, plan.launches, request["launches"], strict=True):
        for kernel, wanted, resolved in zip(program["kernels"], launch.kernels, asked["kernels"], strict=True):
            assert kernel["config"] == f"{wanted.role.capitalize()}ConfigDescriptor"
            assert kernel["source"] == (golden / wanted.source).read_text()
            assert kernel["source_type"] == "SOURCE_CODE"
            assert kernel["cores"] == launch.cores == len(kernel["runtime_args"])
            words = [2 if isinstance(arg, dict) else 1 for arg in resolved["compile_time_args"]]
            assert len(kernel["compile_time_args"]) == sum(words)
            assert all(len(values) == len(wanted.runtime_args) for _, _, values in kernel["runtime_args"])
            counts = [i for i, arg in enumerate(wanted.runtime_args) if arg.work == "count"]
            for i in counts:
                shared = sum(values[i] for _, _, values in kernel["runtime_args"])
                assert shared == sum(item["count"] for item in asked["work"])
        assert program["cbs"] == [
            [cb.pages * cb.page_bytes, [[view.id, FORMATS[view.format].number, view.page_bytes] for view in views]]
            for cb, views in views_of_memory(launch.cbs)
        ]
        config = launch.compute_config
        (compute,) = [kernel["compute"] for kernel in program["kernels"] if kernel["compute"]]
        direct = [cb.id for cb in launch.cbs if cb.unpack_to_dest]
        flags = [config.fp32_dest_acc_en, config.dst_full_sync_en, config.math_approx_mode]
        assert compute == [config.math_fidelity, *flags, direct]
        assert program["semaphores"] == [[item.id, item.initial] for item in launch.semaphores]


@pytest.mark.parametrize("name", CLASSES)
def test_the_stand_in_has_the_parameters_of_the_real_one(answer: dict[str, Any], name: str) -> None:
    import ttnn as fake

    assert list(inspect.signature(getattr(fake, name)).parameters) == answer["parameters"][name]


def test_every_name_the_worker_uses_exists(answer: dict[str, Any]) -> None:
    assert answer["missing"] == []


def test_raw_pages_survive_a_host_tensor(answer: dict[str, Any]) -> None:
    assert answer["pages"]


def test_conformance_kernels_on_the_device(ttnn: Ttnn, tmp_path: Path) -> None:
    """Every conformance test, golden kernel and example, computed there and compared bit by bit with `chip`.

    $TTNN_RECORDED names a folder that keeps what was computed: a run that was stopped, or a compiler that has changed a
    few kernels, launches only what is not there.
    """
    if not cards() and not simulator():
        pytest.skip("NOT RUN, nothing was launched: no Tenstorrent card and no simulator (TT_METAL_SIMULATOR)")
    results, paths = tmp_path / "results.json", [TESTS / part for part in LAUNCHING]
    path = os.pathsep.join([str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-rs", "-p", "on_device", "-p", "no:xdist", *map(str, paths)],
        env={**os.environ, "PYTHONPATH": path, "TTNN_RESULTS": str(results)},
    )
    if os.environ.get("UPDATE_TTNN_TABLE") == "1":
        write_table(json.loads(results.read_text()))
    assert done.returncode == 0


def test_without_a_device_the_worker_says_so(ttnn: Ttnn) -> None:
    if cards() or simulator():
        pytest.skip("NOT RUN: there is a device")
    with pytest.raises(DeviceError) as caught:
        Worker(60.0, prints=False)
    assert caught.value.code == "TT411"
    assert caught.value.message.startswith("ttnn failed while 'opening the device': ")
