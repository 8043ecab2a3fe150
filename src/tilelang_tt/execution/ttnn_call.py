"""A call with ttnn tensors: the checks a call with torch tensors gets, on what ttnn says about them.

Inputs may lie on the device in any layout. A tensor that the kernel writes must already have the plan's layout,
because it is written where it lies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tilelang_tt.diagnostics import ArgumentError
from tilelang_tt.execution.call import BoundCall, Scalar, Signature
from tilelang_tt.runtime import ttnn_tensors
from tilelang_tt.runtime.plan import Param
from tilelang_tt.runtime.runner import RunReport
from tilelang_tt.runtime.settle import settled
from tilelang_tt.runtime.ttnn_tensors import Conversion, layout_text
from tilelang_tt.runtime.ttnn_worker import DTYPES


class TtnnCall(Signature):
    """The parameters of a kernel for one call whose tensors are ttnn's."""

    def __init__(self, ttnn: Any, signature: Signature, args: Sequence[Any]) -> None:
        super().__init__(signature.plan, signature.dtypes, signature.outputs)
        ttnn_tensors.check_layouts(self.plan)
        self.ttnn = ttnn
        self.layouts = {item.param: item for item in self.plan.tensors if not item.view}
        first = next(value for value in args if isinstance(value, ttnn.Tensor))
        self.device = first.device()  # None: on the host
        self.call = self.bind(args)

    def run(self, sources: Mapping[str, str]) -> RunReport | None:
        if not self.call.has_work:
            return None
        call = self.call
        return ttnn_tensors.launch(self.ttnn, self.device, self.plan, sources, call.tensors, call.sizes, call.scalars)

    def results(self) -> list[Any]:
        return [
            ttnn_tensors.as_declared(
                self.ttnn, self.layouts[index], tensor, self._resolve(self.plan.params[index], self.call.sizes)
            )
            for index, tensor in zip(self.outputs, self.call.results, strict=True)
        ]

    def _bound(
        self, tensors: dict[int, Any], sizes: dict[str, int], scalars: dict[str, Scalar], results: dict[int, Any]
    ) -> BoundCall:
        return BoundCall(
            tensors={item.name: tensors[item.param] for item in self.plan.tensors},
            sizes=sizes,
            scalars=scalars,
            results=tuple(results[index] for index in self.outputs),
            write_back=(),
            has_work=self._has_work(tensors, sizes),
        )

    def _check_tensor(self, index: int, param: Param, value: Any) -> None:
        if not isinstance(value, self.ttnn.Tensor):
            raise ArgumentError(
                "TT302",
                f"{self._place(index)} is a {type(value).__name__}; other arguments of this call are ttnn tensors",
                help="pass all tensors as ttnn tensors, or all as torch tensors",
            )
        if value.device() is None:
            raise ArgumentError(
                "TT307",
                f"{self._place(index)} is a ttnn tensor on the host",
                help=f"pass ttnn.to_device({param.name}, device)",
            )
        if value.device().id() != self.device.id():
            raise ArgumentError("TT307", f"{self._place(index)} is on another device than the arguments before it")
        self._check_dtype(index, param, value)
        rank = len(tuple(value.shape))
        if rank != len(param.shape):
            shape = ", ".join(map(str, param.shape))
            raise ArgumentError("TT304", f"{self._place(index)} has {rank} dimensions; the kernel takes ({shape})")

    def _check_dtype(self, index: int, param: Param, value: Any) -> None:
        """As declared, or as it is stored on the device."""
        accepted = {param.dtype}
        if index in self.layouts:
            accepted.add(DTYPES.get(self.layouts[index].format, param.dtype))
        named = [name for name in sorted(accepted) if hasattr(self.ttnn, name)]
        if value.dtype not in [getattr(self.ttnn, name) for name in named]:
            given = str(value.dtype).rpartition(".")[2].lower()
            raise ArgumentError(
                "TT303",
                f"{self._place(index)} has dtype {given}; the kernel takes {' or '.join(named)}",
                help=f"pass ttnn.typecast({param.name}, ttnn.{named[0]})",
            )

    def _check_writes(self, tensors: Mapping[int, Any], sizes: Mapping[str, int]) -> None:
        in_place = ttnn_tensors.in_place(settled(self.plan, sizes).plan)
        for index, tensor in tensors.items():
            if not self._writes(index) or index not in self.layouts:
                continue
            item = self.layouts[index]
            steps = set(Conversion.of(self.ttnn, item, tensor, sizes, in_place=item.name in in_place).steps)
            if self.plan.params[index].access == "write":
                steps -= {"padded with zeros"}  # nobody reads it
            if steps:
                raise ArgumentError(
                    "TT313",
                    f"{self._place(index)} is written where it lies, but would have to be {', '.join(sorted(steps))}",
                    help=f"pass a tensor that is {layout_text(item, len(tuple(tensor.shape)))}, with sizes that are "
                    "multiples of 32 if the kernel reads it too; or let the call return it (out_idx)",
                )
            for other, neighbour in tensors.items():
                if other != index and neighbour.buffer_address() == tensor.buffer_address():
                    raise ArgumentError(
                        "TT308",
                        f"{self._place(index)} is written, but shares memory with '{self.plan.params[other].name}'",
                        help=f"pass ttnn.clone({self.plan.params[other].name})",
                    )

    def _allocate(self, index: int, sizes: Mapping[str, int]) -> Any:
        shape = self._resolve(self.plan.params[index], sizes)
        return ttnn_tensors.allocate(self.ttnn, self.device, self.layouts[index], shape, sizes)
