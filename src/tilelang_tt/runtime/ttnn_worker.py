"""The process that holds the device: descriptors out of a resolved plan, then `ttnn.generic_op`.

    request  {"launches": [...], "tensors": [...]} + a file descriptor with the tensors' pages
    reply    {"stage": ...}*  then  {"done": {...}} or {"error": {...}}

It runs under the interpreter that has ttnn, which need not be the user's: this file imports nothing of the
package but one file beside it, neither torch nor TileLang, and is started by its path. Messages travel over a socket
that the parent opened; stdout and stderr belong to ttnn and its compiler.

A tensor is raw pages on the device: a row-major uint32 tensor with one row per tile. ttnn converts nothing, so
the device holds the very bytes of the plan's formats, and an accessor sees pages of exactly a tile's size. A sharded
one has the axes of its grid of pages before that row, and ttnn's N-D shards.

Machine code lies in L1 too, below the circular buffers, in room that is set aside when the device is opened. A program
that exceeds it, and leaves enough for its buffers, gets a device that is opened anew with more.
"""

from __future__ import annotations

import faulthandler
import json
import mmap
import re
import socket
import struct
import sys
import time
import traceback
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or __package__:
    from tilelang_tt.runtime.ttnn_memory import lies_so, memory_config
else:  # started by its path: Python looks in this folder first
    from ttnn_memory import lies_so, memory_config

HEADER = struct.Struct("<Q")  # bytes of the JSON text that follows
Node = Callable[[list[int]], tuple[int, int]]  # where a core is on the NoC

OPENING = "opening the device"  # a stage
GRACE = 10.0  # seconds after the parent's own time limit until this process ends itself
_LISTS = ""  # stands among the addresses of tensors for that of the lists of units
CB_MODES = 64  # length of unpack_to_dest_mode on the host: NUM_CIRCULAR_BUFFERS of the largest chip

# tt::DataFormat of the plan -> name of ttnn's DataType. ttnn binds no Float16.
DTYPES = {
    "Float32": "float32",
    "Float16_b": "bfloat16",
    "Bfp8_b": "bfloat8_b",
    "Bfp4_b": "bfloat4_b",
    "Int32": "int32",
    "UInt32": "uint32",
    "UInt16": "uint16",
    "UInt8": "uint8",
}

# ttnn's words for a program beyond the room that its device was opened with.
_BEYOND_ROOM = re.compile(r"Program size \((\d+)\) too large for kernel config buffer \((\d+)\)")


class ProgramSizeError(RuntimeError):
    """Machine code and circular buffers together exceed a core's L1."""


def program_bytes(error: Exception) -> tuple[int, int] | None:
    """What a program takes and what there was, in bytes, when that is what ttnn says; None otherwise."""
    found = _BEYOND_ROOM.search(str(error))
    return (int(found[1]), int(found[2])) if found else None


def l1_beside(ttnn: Any, program: int) -> int:
    """Bytes of L1 for circular buffers and tensors beside a program: `worker_l1_size` of `ttnn.open_device`."""
    return int(ttnn.get_max_worker_l1_unreserved_size()) - program


def build_program(
    ttnn: Any,
    launch: dict[str, Any],
    tensors: dict[str, Any],
    accessors: dict[str, list[int]],
    node: Node,
    lists: Any = None,
) -> Any:
    """The ttnn.ProgramDescriptor of one launch; `accessors` are the TensorAccessorArgs words of each tensor.

    `lists`: the tensor that holds each core's units, where they are too many for runtime arguments.
    """
    addresses = {name: tensor.buffer_address() for name, tensor in tensors.items()}
    if lists is not None:
        addresses[_LISTS] = lists.buffer_address()
    cores = ttnn.CoreRangeSet(
        [
            ttnn.CoreRange(ttnn.CoreCoord(x, y), ttnn.CoreCoord(last_x, last_y))
            for x, y, last_x, last_y in launch["cores"]
        ]
    )
    kernels = [
        ttnn.KernelDescriptor(
            kernel_source=kernel["text"],
            source_type=ttnn.KernelDescriptor.SourceType.SOURCE_CODE,
            core_ranges=cores,
            compile_time_args=_compile_time_words(kernel, accessors),
            runtime_args=_runtime_args(ttnn, launch, kernel, addresses, node),
            config=_config(ttnn, launch, kernel["role"]),
        )
        for kernel in launch["kernels"]
    ]
    cbs = [_buffer(ttnn, launch, cb, cores, tensors) for cb in launch["cbs"] if cb.get("shares") is None]
    semaphores = [
        ttnn.SemaphoreDescriptor(id=item["id"], core_ranges=cores, initial_value=item["initial"])
        for item in launch["semaphores"]
    ]
    return ttnn.ProgramDescriptor(kernels=kernels, semaphores=semaphores, cbs=cbs)


def _buffer(ttnn: Any, launch: dict[str, Any], cb: dict[str, Any], cores: Any, tensors: dict[str, Any]) -> Any:
    """A circular buffer with all its views; its pages are its own, or the core's shard of a tensor."""
    descriptor = ttnn.CBDescriptor(
        total_size=cb["pages"] * cb["page_bytes"],
        core_ranges=cores,
        format_descriptors=[
            ttnn.CBFormatDescriptor(
                buffer_index=view["id"],
                data_format=getattr(ttnn, DTYPES[view["format"]]),
                page_size=view["page_bytes"],
            )
            for view in launch["cbs"]
            if cb["id"] in (view["id"], view.get("shares"))
        ],
    )
    if cb.get("tensor") is not None:
        shard = ttnn.cb_descriptor_from_sharded_tensor(cb["id"], tensors[cb["tensor"]], core_ranges=cores)
        descriptor.set_buffer_from_cb(shard)
    return descriptor


def _compile_time_words(kernel: dict[str, Any], accessors: dict[str, list[int]]) -> list[int]:
    words: list[int] = []
    for arg in kernel["compile_time_args"]:
        words += accessors[arg["accessor"]] if isinstance(arg, dict) else [arg]
    return words


def _runtime_args(
    ttnn: Any, launch: dict[str, Any], kernel: dict[str, Any], addresses: dict[str, int], node: Node
) -> Any:
    longest = max(len(work["units"]) for work in launch["work"])
    values = ttnn.RuntimeArgs()
    for work in launch["work"]:
        words = [word for arg in kernel["runtime_args"] for word in _words(arg, work, addresses, longest, node)]
        values.append(ttnn.CoreCoord(*work["core"]), words)
    return values


def _unit_lists(ttnn: Any, device: Any, launch: dict[str, Any]) -> Any:
    """Each core's units in its L1, if kernels look for them there."""
    if launch.get("unit_lists") is None:
        return None
    import numpy

    shards, words = launch["unit_lists"]["shards"], launch["unit_lists"]["page_bytes"] // 4
    pages = numpy.zeros((*shards["pages"], words), dtype=numpy.uint32)
    for page, work in zip(pages.reshape(-1, words), launch["work"], strict=True):
        page[: len(work["units"])] = work["units"]
    config = memory_config(ttnn, "l1", shards, [*shards["shape"], words])
    return ttnn.to_device(ttnn.Tensor(pages, ttnn.uint32), device, memory_config=config)


def _words(arg: Any, work: dict[str, Any], addresses: dict[str, int], longest: int, node: Node) -> list[int]:
    """One word; or the units of a core, as many words on every core."""
    if isinstance(arg, int):
        return [arg]
    if "address" in arg:
        return [addresses[arg["address"]]]
    if "delivery" in arg:
        return [_delivery_word(work["deliveries"][arg["delivery"]], arg["word"], arg.get("turn", 0), node)]
    if arg["work"] == "units_address":
        return [addresses[_LISTS]]
    value = work[arg["work"]]
    return [*value, *[0] * (longest - len(value))] if arg["work"] == "units" else [value]


# Words of a delivery that are coordinates on the NoC: of which core, along which axis.
_COORDINATES = {
    "from_x": ("sender", 0), "from_y": ("sender", 1),
    "first_x": ("first", 0), "first_y": ("first", 1),
    "last_x": ("last", 0), "last_y": ("last", 1),
}  # fmt: skip


def _delivery_word(delivery: dict[str, Any], word: str, turn: int, node: Node) -> int:
    if word == "owner":  # a core without work has none
        x, y = node(delivery["owners"][turn]) if delivery["owners"] else (0, 0)
        return x << 16 | y
    if word not in _COORDINATES:
        return int(delivery[word])
    which, axis = _COORDINATES[word]
    core = delivery[which]
    return 0 if core is None else node(core)[axis]


def _config(ttnn: Any, launch: dict[str, Any], role: str) -> Any:
    if role == "reader":
        return ttnn.ReaderConfigDescriptor()
    if role == "writer":
        return ttnn.WriterConfigDescriptor()
    chosen = launch["compute_config"]
    config = ttnn.ComputeConfigDescriptor(
        math_fidelity=getattr(ttnn.MathFidelity, chosen["math_fidelity"]),
        math_approx_mode=chosen["math_approx_mode"],
        fp32_dest_acc_en=chosen["fp32_dest_acc_en"],
        dst_full_sync_en=chosen["dst_full_sync_en"],
    )
    direct = [cb["id"] for cb in launch["cbs"] if cb["unpack_to_dest"]]
    if direct:
        modes = ttnn.UnpackToDestMode
        config.unpack_to_dest_mode = [
            modes.UnpackToDestFp32 if number in direct else modes.Default for number in range(CB_MODES)
        ]
    return config


def device_facts(device: Any) -> dict[str, Any]:
    grid = device.compute_with_storage_grid_size()
    arch = str(device.arch()).rpartition(".")[2].lower()
    return {"arch": arch, "grid": [grid.x, grid.y], "ttnn": _version("ttnn")}


def check_pages(item: dict[str, Any], tensor: Any) -> None:
    """The tensor on the device must be the pages that the plan counts on; ttnn holds no empty tensor."""
    sizes = (tensor.buffer_num_pages(), tensor.buffer_page_size(), tensor.buffer_aligned_page_size())
    expected = (max(item["pages"], 1), item["page_bytes"], item["page_bytes"])
    if sizes != expected:
        raise RuntimeError(
            f"tensor '{item['name']}' has (pages, bytes, aligned bytes) {sizes} on the device; "
            f"the plan needs {expected}"
        )


def run_launches(
    ttnn: Any,
    device: Any,
    request: dict[str, Any],
    tensors: dict[str, Any],
    stage: Callable[[str], None] = lambda _name: None,
) -> float:
    """Every launch in order on tensors that are on the device; the seconds they took."""
    if not tensors:
        return 0.0  # nobody could see what it did, and ttnn takes no program without a tensor
    accessors = {name: _accessor(ttnn, name, tensor) for name, tensor in tensors.items()}
    in_place = {cb["tensor"] for launch in request["launches"] for cb in launch["cbs"] if cb.get("tensor")}
    in_place |= {name for launch in request["launches"] for name in launch.get("sent", [])}
    for item in request["tensors"]:
        if item["name"] in in_place and not lies_so(ttnn, device, item["shards"], accessors[item["name"]]):
            raise RuntimeError(f"the shards of tensor '{item['name']}' lie otherwise than the plan says")
    # Outputs come last; a list of one tensor would leave no input, so it is named as both.
    order = [tensors[item["name"]] for item in sorted(request["tensors"], key=lambda item: bool(item["written"]))]
    order = order if len(order) > 1 else order * 2
    seconds = 0.0

    def node(core: list[int]) -> tuple[int, int]:
        at = device.worker_core_from_logical_core(ttnn.CoreCoord(*core))
        return at.x, at.y

    for launch in request["launches"]:
        stage(f"running launch '{launch['name']}'")
        lists = _unit_lists(ttnn, device, launch)
        program = build_program(ttnn, launch, tensors, accessors, node, lists)
        started = time.perf_counter()
        ttnn.generic_op(order, program)
        ttnn.synchronize_device(device)
        seconds += time.perf_counter() - started
        if lists is not None:
            ttnn.deallocate(lists)
    return seconds


def _accessor(ttnn: Any, name: str, tensor: Any) -> list[int]:
    args = ttnn.TensorAccessorArgs(tensor)
    if list(args.get_common_runtime_args()):
        raise RuntimeError(f"the accessor of tensor '{name}' wants common runtime arguments; the plan has none")
    return [int(word) for word in args.get_compile_time_args()]


class Device:
    """One open device, and what a call does on it."""

    def __init__(self, ttnn: Any, stage: Callable[[str], None]) -> None:
        self.ttnn = ttnn
        self.stage = stage
        self.program_room = 0  # bytes set aside for machine code; 0: as many as ttnn likes
        self.device = self._open()

    def _open(self) -> Any:
        self.stage(OPENING)
        settings = {"worker_l1_size": l1_beside(self.ttnn, self.program_room)} if self.program_room else {}
        device = self.ttnn.open_device(device_id=0, **settings)
        device.enable_program_cache()
        return device

    def _open_again(self, program_room: int) -> None:
        self.stage("closing the device")
        self.ttnn.close_device(self.device)
        self.program_room = program_room
        self.device = self._open()

    def close(self) -> None:
        self.ttnn.close_device(self.device)

    def facts(self) -> dict[str, Any]:
        return device_facts(self.device)

    def call(self, request: dict[str, Any], memory: mmap.mmap) -> dict[str, Any]:
        buffers = max(_buffer_bytes(launch) for launch in request["launches"])
        if self.program_room and buffers > l1_beside(self.ttnn, self.program_room):
            self._open_again(0)
        try:
            return self._call(request, memory)
        except RuntimeError as error:
            found = program_bytes(error)
            if found is None:
                raise
        program, _ = found
        if buffers > l1_beside(self.ttnn, program):
            raise ProgramSizeError(
                f"its machine code takes {program:,} B and its circular buffers {buffers:,} B of L1; a core has "
                f"{l1_beside(self.ttnn, 0):,} B for both"
            )
        self._open_again(program)
        return self._call(request, memory)

    def _call(self, request: dict[str, Any], memory: mmap.mmap) -> dict[str, Any]:
        tensors: dict[str, Any] = {}
        try:
            for item in request["tensors"]:
                self.stage(f"sending tensor '{item['name']}'")
                tensors[item["name"]] = self._upload(item, memory)
            seconds = run_launches(self.ttnn, self.device, request, tensors, self.stage)
            for item in request["tensors"]:
                if item["written"]:
                    self.stage(f"fetching tensor '{item['name']}'")
                    self._download(tensors[item["name"]], item, memory)
        finally:
            for tensor in tensors.values():
                self.ttnn.deallocate(tensor)
        return {"seconds": seconds, "programs": self.device.num_program_cache_entries()}

    def _upload(self, item: dict[str, Any], memory: mmap.mmap) -> Any:
        import numpy

        words = item["page_bytes"] // 4
        pages = numpy.zeros((max(item["pages"], 1), words), dtype=numpy.uint32)  # ttnn holds no empty tensor
        if item["pages"]:
            count = item["pages"] * words
            pages[:] = numpy.frombuffer(memory, numpy.uint32, count, item["offset"]).reshape(pages.shape)
        if item["shards"]:
            pages = pages.reshape((*item["shards"]["pages"], words))
        host = self.ttnn.Tensor(pages, self.ttnn.uint32)
        shape = [*item["shards"].get("shape", []), words]
        config = memory_config(self.ttnn, item["memory"], item["shards"], shape)
        tensor = self.ttnn.to_device(host, self.device, memory_config=config)
        check_pages(item, tensor)
        return tensor

    def _download(self, tensor: Any, item: dict[str, Any], memory: mmap.mmap) -> None:
        data = self.ttnn.from_device(tensor).to_numpy().tobytes()
        size = item["pages"] * item["page_bytes"]
        memory[item["offset"] : item["offset"] + size] = data[:size]


def _buffer_bytes(launch: dict[str, Any]) -> int:
    return sum(cb["pages"] * cb["page_bytes"] for cb in launch["cbs"] if cb.get("shares") is None)


class Channel:
    """Messages to and from the parent."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.limit = 0.0  # seconds per stage, said by the parent
        self.current = "starting"

    def send(self, message: dict[str, Any]) -> None:
        text = json.dumps(message).encode()
        self.connection.sendall(HEADER.pack(len(text)) + text)

    def stage(self, name: str) -> None:
        """Tell the parent, and set the alarm for the case that nobody is left to end a hanging device."""
        self.current = name
        self.send({"stage": name})
        faulthandler.dump_traceback_later(self.limit + GRACE, exit=True)

    def rest(self) -> None:
        """Nothing runs: wait for the next request as long as it takes."""
        faulthandler.cancel_dump_traceback_later()

    def fail(self, error: BaseException) -> None:
        self.send({"error": {"kind": type(error).__name__, "text": str(error), "stage": self.current}})

    def receive(self) -> tuple[dict[str, Any], list[int]] | None:
        """The next request with its descriptors; None when the parent is gone."""
        header, descriptors, _, _ = socket.recv_fds(self.connection, HEADER.size, 1)
        if len(header) < HEADER.size:
            return None
        (size,) = HEADER.unpack(header)
        text = bytearray()
        while len(text) < size:
            part = self.connection.recv(size - len(text))
            if not part:
                return None
            text += part
        return json.loads(text), list(descriptors)


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "unknown"


def serve(channel: Channel) -> int:
    first = channel.receive()
    if first is None:
        return 0
    channel.limit = float(first[0]["limit"])
    try:
        channel.stage("importing ttnn")
        import ttnn

        device = Device(ttnn, channel.stage)
        channel.send({"ready": device.facts()})
    except Exception as error:
        traceback.print_exc()
        channel.fail(error)
        return 1
    channel.rest()
    while (received := channel.receive()) is not None:
        request, (descriptor,) = received
        channel.limit = float(request["limit"])
        try:
            with mmap.mmap(descriptor, request["bytes"]) as memory:
                done = device.call(request, memory)
            channel.send({"done": done})
        except Exception as error:
            traceback.print_exc()
            channel.fail(error)
        finally:
            channel.rest()
            socket.close(descriptor)
    device.close()
    return 0


def main() -> int:
    return serve(Channel(socket.socket(fileno=int(sys.argv[1]))))


if __name__ == "__main__":
    sys.path.pop(0)  # this folder: its modules are not those that ttnn means
    sys.exit(main())
