"""The vendor's programs on a real ttnn: the device of `tilelang_tt.device`, with its programs run somewhere else.

    host script of tests/vendor  ->  ProgramDescriptor of tilelang_tt.device  ->  that of ttnn  ->  ttnn.generic_op
    pages of every tensor        ->  a raw tensor of ttnn, and back

Addresses and coordinates on the NoC are those of the real device; numbers are encoded and decoded as on the virtual one
in numerics `chip`, so that results can be compared bit by bit. Needs a Python that has ttnn and this package.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from tilelang_tt.arch import ARCHS, TILE
from tilelang_tt.device import (
    ComputeConfigDescriptor,
    CoreCoord,
    DataMovementConfigDescriptor,
    DataType,
    Device,
    KernelDescriptor,
    Layout,
    MemoryConfig,
    ProgramDescriptor,
    ReaderConfigDescriptor,
    Tensor,
    TensorAccessorArgs,
)
from tilelang_tt.device.cores import Cores, cores_of
from tilelang_tt.device.descriptors import CBDescriptor, Config, SourceKind
from tilelang_tt.device.memory import DRAM_MEMORY_CONFIG, BufferType
from tilelang_tt.diagnostics import ArgumentError
from tilelang_tt.runtime.ttnn_memory import memory_config, page_places
from tilelang_tt.runtime.ttnn_worker import CB_MODES, device_facts

WORD = 4  # bytes


class RealTensor(Tensor):
    """Kernels get the address that the tensor has on the real device."""

    real: Any

    def buffer_address(self) -> int:
        return int(self.real.buffer_address())


class TtnnDevice(Device):
    """What host scripts see; `run` is ttnn's."""

    def __init__(self, ttnn: Any, opened: Any) -> None:
        facts = device_facts(opened)
        most = ARCHS[facts["arch"]].grid  # without dispatch cores a device has more, which kernels do not use
        width, height = (min(pair) for pair in zip(facts["grid"], most, strict=True))
        super().__init__(facts["arch"], numerics="chip", grid=(width, height))
        self.ttnn, self.opened = ttnn, opened

    def worker_core_from_logical_core(self, core: tuple[int, int]) -> CoreCoord:
        at = self.opened.worker_core_from_logical_core(self.ttnn.CoreCoord(*core))
        return CoreCoord(at.x, at.y)

    def allocate_tensor(
        self,
        shape: Sequence[int],
        dtype: DataType = DataType.BFLOAT16,
        layout: Layout = Layout.TILE,
        memory_config: MemoryConfig = DRAM_MEMORY_CONFIG,
        *,
        name: str | None = None,
        tile: tuple[int, int] = (TILE, TILE),
    ) -> Tensor:
        virtual = super().allocate_tensor(shape, dtype, layout, memory_config, name=name, tile=tile)
        tensor = RealTensor(**vars(virtual))
        self._tensors[-1] = tensor
        tensor.real = self._to_real(tensor)
        real = list(self.ttnn.TensorAccessorArgs(tensor.real).get_compile_time_args())
        if not _same_places(TensorAccessorArgs(tensor).get_compile_time_args(), real):
            raise ArgumentError("TT320", f"tensor '{tensor.name}' lies otherwise on the real device")
        return tensor

    def run(self, program: ProgramDescriptor) -> None:  # type: ignore[override]
        """As `Device.run`; there is no report."""
        tensors = [tensor for tensor in self._tensors if isinstance(tensor, RealTensor)]
        for tensor in tensors:
            self.ttnn.copy_host_to_device_tensor(self._on_host(tensor), tensor.real)
        order = [tensor.real for tensor in tensors]
        self.ttnn.generic_op(order if len(order) > 1 else order * 2, self._program(program))
        self.ttnn.synchronize_device(self.opened)
        for tensor in tensors:
            self._download(tensor)

    # --- tensors ----------------------------------------------------------------------------------

    def _to_real(self, tensor: Tensor) -> Any:
        """Its pages as rows of words, in shards where it has shards."""
        pages, place = tensor.pages, tensor.placement
        if pages.page_bytes % WORD:
            raise ArgumentError("TT320", f"tensor '{tensor.name}': pages of {pages.page_bytes} B are no words")
        words = pages.page_bytes // WORD
        memory = "l1" if tensor.memory_config.buffer_type is BufferType.L1 else "dram"
        shards = {"cores": [list(core) for core in place.banks]} if place else {}
        config = memory_config(self.ttnn, memory, shards, [*(place.shard if place else ()), words])
        return self.ttnn.to_device(self._on_host(tensor), self.opened, memory_config=config)

    def _on_host(self, tensor: Tensor) -> Any:
        """The bytes it has now."""
        pages, place = tensor.pages, tensor.placement
        data = tensor._gather()[:, : pages.page_bytes].contiguous().view(torch.int32)
        shape = (*(place.pages if place else (pages.count,)), pages.page_bytes // WORD)
        return self.ttnn.from_torch(data.view(shape), dtype=self.ttnn.uint32, layout=self.ttnn.ROW_MAJOR_LAYOUT)

    def _download(self, tensor: RealTensor) -> None:
        size = tensor.pages.page_bytes
        data = self.ttnn.from_device(tensor.real).to_numpy().tobytes()
        found = torch.frombuffer(bytearray(data), dtype=torch.uint8).reshape(-1, size)
        dense = tensor._gather()
        dense[:, :size] = found
        tensor._scatter(dense)

    # --- programs ---------------------------------------------------------------------------------

    def _program(self, program: ProgramDescriptor) -> Any:
        ttnn = self.ttnn
        semaphores = [
            ttnn.SemaphoreDescriptor(
                id=one.id, core_ranges=self._cores(one.core_ranges), initial_value=one.initial_value
            )
            for one in program.semaphores
        ]
        return ttnn.ProgramDescriptor(
            kernels=[self._kernel(one) for one in program.kernels],
            semaphores=semaphores,
            cbs=[self._buffer(one) for one in program.cbs],
        )

    def _kernel(self, kernel: KernelDescriptor) -> Any:
        if kernel.bindings is not None:
            raise ArgumentError("TT321", f"{kernel.kernel_source}: ttnn's Python has no names for arguments")
        ttnn, kinds = self.ttnn, self.ttnn.KernelDescriptor.SourceType
        args = ttnn.RuntimeArgs()
        for core, values in kernel.args_by_core().items():
            args.append(ttnn.CoreCoord(*core), _words(values))
        return ttnn.KernelDescriptor(
            kernel_source=str(kernel.kernel_source),
            source_type=kinds.FILE_PATH if kernel.source_type is SourceKind.FILE_PATH else kinds.SOURCE_CODE,
            core_ranges=self._cores(kernel.core_ranges),
            compile_time_args=_words(kernel.compile_time_args),
            named_compile_time_args=[(name, value & 0xFFFFFFFF) for name, value in kernel.named_compile_time_args],
            defines=[(name, str(value)) for name, value in kernel.defines],
            runtime_args=args,
            common_runtime_args=_words(kernel.common_runtime_args),
            config=self._config(kernel.config),
            compiler_include_paths=[str(path) for path in kernel.compiler_include_paths],
        )

    def _config(self, config: Config) -> Any:
        ttnn = self.ttnn
        if isinstance(config, ComputeConfigDescriptor):
            made = ttnn.ComputeConfigDescriptor(
                math_fidelity=getattr(ttnn.MathFidelity, config.math_fidelity.value),
                math_approx_mode=config.math_approx_mode,
                fp32_dest_acc_en=config.fp32_dest_acc_en,
                dst_full_sync_en=config.dst_full_sync_en,
            )
            modes = config.unpack_to_dest_mode
            listed = dict(enumerate(modes)) if isinstance(modes, Sequence) else dict(modes)
            if listed:
                named = [listed[cb].name if cb in listed else "Default" for cb in range(CB_MODES)]
                made.unpack_to_dest_mode = [getattr(ttnn.UnpackToDestMode, name) for name in named]
            return made
        if isinstance(config, DataMovementConfigDescriptor):
            return ttnn.DataMovementConfigDescriptor(
                processor=getattr(ttnn.DataMovementProcessor, config.processor.name),
                noc=(ttnn.NOC.NOC_0, ttnn.NOC.NOC_1)[int(config.noc)],
            )
        is_reader = isinstance(config, ReaderConfigDescriptor)
        return ttnn.ReaderConfigDescriptor() if is_reader else ttnn.WriterConfigDescriptor()

    def _buffer(self, cb: CBDescriptor) -> Any:
        ttnn = self.ttnn
        made = ttnn.CBDescriptor(
            total_size=cb.total_size,
            core_ranges=self._cores(cb.core_ranges),
            format_descriptors=[
                ttnn.CBFormatDescriptor(
                    buffer_index=one.buffer_index,
                    data_format=getattr(ttnn, DataType(one.format).name.lower()),
                    page_size=one.page_size,
                )
                for one in cb.format_descriptors
            ],
        )
        if cb.tensor is not None:
            assert isinstance(cb.tensor, RealTensor)
            number = cb.format_descriptors[0].buffer_index
            shard = ttnn.cb_descriptor_from_sharded_tensor(
                number, cb.tensor.real, address_offset=cb.address_offset, core_ranges=self._cores(cb.core_ranges)
            )
            made.set_buffer_from_cb(shard)
            made.address_offset = cb.address_offset
        return made

    def _cores(self, cores: Cores) -> Any:
        ttnn = self.ttnn
        found = [ttnn.CoreCoord(*core) for core in cores_of(cores)]
        return ttnn.CoreRangeSet([ttnn.CoreRange(core, core) for core in found])


def _same_places(ours: list[int], real: list[int]) -> bool:
    """Whether accessors with these words find every page at one place; the real tensor may have an axis more."""
    if ours[0] != real[0] or len(ours) == 2:
        return ours == real
    return all(bool((a == b).all()) for a, b in zip(page_places(ours), page_places(real), strict=True))


def _words(values: Sequence[int]) -> list[int]:
    return [int(value) & 0xFFFFFFFF for value in values]
