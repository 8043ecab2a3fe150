"""Run by the interpreter that has ttnn: build ProgramDescriptors for requests with the real bindings, read them back.

argv: the worker's file, a JSON file with requests and the parameters to look up. Prints one JSON line at the end.
"""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path
from typing import Any

import ttnn

ADDRESS = 0x1000000  # of the first tensor; nothing is launched


class Placed:
    """A tensor as far as a descriptor wants it."""

    def __init__(self, address: int) -> None:
        self.address = address

    def buffer_address(self) -> int:
        return self.address


def worker(path: str) -> Any:
    sys.path.insert(0, str(Path(path).parent))  # as it is when the worker is started
    spec = importlib.util.spec_from_file_location("ttnn_worker", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def read_back(program: Any) -> dict[str, Any]:
    return {
        "kernels": [
            {
                "config": type(kernel.config).__name__,
                "source": kernel.kernel_source,
                "source_type": str(kernel.source_type).rpartition(".")[2],
                "cores": kernel.core_ranges.num_cores(),
                "compile_time_args": list(kernel.compile_time_args),
                "runtime_args": runtime_args(kernel),
                "compute": compute(kernel.config),
            }
            for kernel in program.kernels
        ],
        "cbs": [
            [cb.total_size, [[f.buffer_index, f.data_format_as_uint8, f.page_size] for f in cb.format_descriptors]]
            for cb in program.cbs
        ],
        "semaphores": [[item.id, item.initial_value] for item in program.semaphores],
    }


def runtime_args(kernel: Any) -> list[Any]:
    """By coordinates: the view has no end to iterate to."""
    view, box = kernel.runtime_args, kernel.core_ranges.bounding_box()
    cores = [(x, y) for y in range(box.start.y, box.end.y + 1) for x in range(box.start.x, box.end.x + 1)]
    assert len(view) == len(cores)
    return [[x, y, list(view[x][y])] for x, y in cores]


def compute(config: Any) -> Any:
    if not isinstance(config, ttnn.ComputeConfigDescriptor):
        return None
    modes = enumerate(config.unpack_to_dest_mode)
    direct = [number for number, mode in modes if mode == ttnn.UnpackToDestMode.UnpackToDestFp32]
    fidelity = str(config.math_fidelity).rpartition(".")[2]
    flags = [config.fp32_dest_acc_en, config.dst_full_sync_en, config.math_approx_mode]
    return [fidelity, *flags, direct]


def parameters(name: str) -> list[str]:
    """Names of the longest overload, from the binding's own signature."""
    signatures = re.findall(r"__init__\(self(?:, )?(.*)\) -> None", getattr(ttnn, name).__init__.__doc__)
    longest = max(signatures, key=len)
    return re.findall(r"(?:^|, )(\w+): ", longest)


def main() -> None:
    module = worker(sys.argv[1])
    with open(sys.argv[2]) as file:
        question = json.load(file)
    programs = []
    for request in question["requests"]:
        names = [item["name"] for item in request["tensors"]]
        tensors = {name: Placed(ADDRESS + number * 0x100000) for number, name in enumerate(names)}
        accessors = {item["name"]: [2, item["page_bytes"]] for item in request["tensors"]}
        for cb in (cb for launch in request["launches"] for cb in launch["cbs"]):
            cb["tensor"] = None  # only a tensor on a device has shards that a buffer can be
        built = [module.build_program(ttnn, launch, tensors, accessors, tuple) for launch in request["launches"]]
        programs.append([read_back(program) for program in built])
    missing = [name for name in question["names"] if not hasattr(ttnn, name)]
    tensor = [name for name in question["tensor_names"] if not hasattr(ttnn.Tensor, name)]
    device = [name for name in question["device_names"] if not hasattr(ttnn.MeshDevice, name)]
    answer = {
        "programs": programs,
        "parameters": {name: parameters(name) for name in question["parameters"]},
        "missing": missing + tensor + device,
        "pages": pages_survive(),
    }
    print("\n" + json.dumps(answer))


def pages_survive() -> bool:
    """Host tensors of raw pages keep every bit, whatever the bits would mean as numbers."""
    import numpy

    values = numpy.random.default_rng(0).integers(0, 1 << 32, (3, 272), numpy.uint32)  # 1088 B: a Bfp8_b tile
    return bool((ttnn.Tensor(values, ttnn.uint32).to_numpy() == values).all())


main()
