"""Turn the arguments of a call into what a launcher takes, or refuse them.

    kernel(a, b)  ->  tensors by name, symbolic sizes, scalars, fresh outputs

The plan is the only description of the parameters used here, as it is for the launch itself. A tensor
that is not contiguous is computed on as a copy, and copied back if the kernel writes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from tilelang_tt.diagnostics import ArgumentError
from tilelang_tt.execution.memory import overlaps_itself, share_memory
from tilelang_tt.formats import element_bits
from tilelang_tt.runtime.plan import Param, Plan, evaluate
from tilelang_tt.runtime.solve_size import solve_size

Scalar = int | float
_PACKED = ("int8", "uint8", "float4_e2m1fn_x2")  # types of a byte that torch keeps several elements in
_BYTES = tuple(getattr(torch, name) for name in _PACKED if hasattr(torch, name))  # torch 2.7 has not the last one


@dataclass(frozen=True)
class BoundCall:
    """One call, checked: ready for a launcher."""

    tensors: dict[str, torch.Tensor]  # by TensorPlan.name, contiguous
    sizes: dict[str, int]
    scalars: dict[str, Scalar]
    results: tuple[torch.Tensor, ...]  # outputs this call allocated, in out_idx order
    write_back: tuple[tuple[torch.Tensor, torch.Tensor], ...]  # (the caller's, the copy computed on)
    has_work: bool  # False: every written tensor is empty

    def finish(self) -> None:
        """Bring results into the caller's non-contiguous tensors."""
        for theirs, copy in self.write_back:
            theirs.copy_(copy)


class Signature:
    """The parameters of one kernel, with the dtypes and outputs TileLang gave them."""

    def __init__(self, plan: Plan, dtypes: Sequence[torch.dtype], outputs: Sequence[int]) -> None:
        self.plan = plan
        self.outputs = tuple(outputs)
        self.workspaces = tuple(index for index, param in enumerate(plan.params) if param.workspace)
        told = {item.tensor for item in plan.assertions}
        self.records = tuple(item.param for item in plan.tensors if item.name in told)
        self.dtypes = (*dtypes, *(getattr(torch, plan.params[index].dtype) for index in self.workspaces))
        ours = (*self.outputs, *self.workspaces)
        self.inputs = tuple(index for index in range(len(plan.params)) if index not in ours)
        self.in_own_bytes = frozenset(tensor.param for tensor in plan.tensors if tensor.flat)

    def bind(self, args: Sequence[Any]) -> BoundCall:
        self._check_count(args)
        given = dict(zip(self.inputs, args, strict=True))
        sizes: dict[str, int] = {}
        scalars: dict[str, Scalar] = {}
        tensors: dict[int, torch.Tensor] = {}
        for index, value in given.items():
            param = self.plan.params[index]
            if param.kind == "scalar":
                scalars[param.name] = self._scalar(index, param, value)
                if param.name in self.plan.sizes:
                    self._check_size(index, scalars[param.name])
                    self._bind_size(param.name, int(scalars[param.name]), f"'{param.name}'", sizes)
            else:
                value = self._as_stored(index, param, value)
                self._check_tensor(index, param, value)
                self._bind_shape(index, param, value, sizes)
                tensors[index] = value
        self._solve_sizes(tensors, sizes)
        self._check_shapes(tensors, sizes)
        self._check_writes(tensors, sizes)
        results = {index: self._allocate(index, sizes) for index in self.outputs}
        workspaces = {index: self._allocate(index, sizes) for index in self.workspaces}
        for index in self.records:
            workspaces[index].zero_()
        return self._bound({**tensors, **results, **workspaces}, sizes, scalars, results)

    def _bound(
        self,
        tensors: dict[int, torch.Tensor],
        sizes: dict[str, int],
        scalars: dict[str, Scalar],
        results: dict[int, torch.Tensor],
    ) -> BoundCall:
        has_work = self._has_work(tensors, sizes)
        plain = {index: _plain(tensor) for index, tensor in tensors.items()}
        return BoundCall(
            tensors={item.name: plain[item.param] for item in self.plan.tensors},
            sizes=sizes,
            scalars=scalars,
            results=tuple(results[index] for index in self.outputs),
            write_back=tuple(
                (tensor, plain[index])
                for index, tensor in tensors.items()
                if self._writes(index) and plain[index].data_ptr() != tensor.data_ptr()
            ),
            has_work=has_work,
        )

    # What a parameter is called, and what is done to it.

    def _place(self, index: int) -> str:
        name = self.plan.params[index].name
        return f"argument {self.inputs.index(index) + 1} ('{name}') of kernel '{self.plan.name}'"

    def _writes(self, index: int) -> bool:
        return self.plan.params[index].access in ("write", "read_write")

    def _as_stored(self, index: int, param: Param, value: Any) -> Any:
        """Packed elements, several to a byte, may come as bytes of any type; the kernel writes into the same memory."""
        given_in_bytes = isinstance(value, torch.Tensor) and value.dtype in _BYTES
        return value.view(self.dtypes[index]) if given_in_bytes and element_bits(param.dtype) < 8 else value

    # Checks, in the order of their codes.

    def refuse_names(self, named: Sequence[str]) -> None:
        """Of arguments that a call gives by name: TileLang's kernels take them by position."""
        if named:
            names = ", ".join(self.plan.params[index].name for index in self.inputs)
            raise ArgumentError(
                "TT301",
                f"kernel '{self.plan.name}' takes its arguments by position; given by name: {', '.join(named)}",
                help=f"kernel({names})",
            )

    def _check_count(self, args: Sequence[Any]) -> None:
        if len(args) == len(self.inputs):
            return
        names = ", ".join(self.plan.params[index].name for index in self.inputs)
        returned = ", ".join(self.plan.params[index].name for index in self.outputs)
        raise ArgumentError(
            "TT301",
            f"kernel '{self.plan.name}' takes {len(self.inputs)} arguments ({names}), {len(args)} given",
            help=f"do not pass {returned}: the call allocates and returns it" if returned else None,
        )

    def _check_tensor(self, index: int, param: Param, value: Any) -> None:
        if not isinstance(value, torch.Tensor):
            raise ArgumentError(
                "TT302",
                f"{self._place(index)} is a {type(value).__name__}; the kernel takes a torch.Tensor",
                help=f"pass torch.as_tensor({param.name}), with dtype {self.dtypes[index]}",
            )
        if value.layout != torch.strided:
            raise ArgumentError(
                "TT302",
                f"{self._place(index)} has layout {value.layout}; the kernel takes dense tensors",
                help="pass its to_dense()",
            )
        wanted = self.dtypes[index]
        if value.dtype != wanted:
            raise ArgumentError(
                "TT303",
                f"{self._place(index)} has dtype {value.dtype}; the kernel takes {wanted}",
                help=f"pass {param.name}.to({wanted}), or compile the kernel for this dtype",
            )
        if value.dim() != len(param.shape):
            raise ArgumentError(
                "TT304",
                f"{self._place(index)} has {value.dim()} dimensions; the kernel takes {_shape(param.shape)}",
                help=f"reshape or index {param.name}, so that it has {len(param.shape)}",
            )
        narrowed = value.dtype == torch.int64 and index not in self.in_own_bytes
        if narrowed and value.numel() and not _fits_32_bits(value):
            raise ArgumentError(
                "TT315",
                f"{self._place(index)} holds {int(value.min())} to {int(value.max())}; the kernel takes it for indices "
                "of 32 bits",
                help="pass indices from -2**31 to 2**31 - 1",
            )
        if value.device.type != "cpu":
            raise ArgumentError(
                "TT307",
                f"{self._place(index)} is on device '{value.device}'; kernels take tensors on the host",
                help=f"pass {param.name}.cpu(); the launcher moves it to the Tenstorrent device",
            )

    def _bind_shape(self, index: int, param: Param, value: torch.Tensor, sizes: dict[str, int]) -> None:
        for axis, (wanted, actual) in enumerate(zip(param.shape, value.shape, strict=True)):
            if isinstance(wanted, int):
                if wanted != actual:
                    raise self._wrong_shape(index, param, value)
            elif wanted in self.plan.sizes:
                self._bind_size(wanted, actual, f"axis {axis} of '{param.name}'", sizes)

    def _solve_sizes(self, tensors: Mapping[int, torch.Tensor], sizes: dict[str, int]) -> None:
        """Sizes that no axis has by itself: of an axis of n * 4 elements, n."""
        before = -1
        while len(sizes) > before:
            before = len(sizes)
            for index, tensor in tensors.items():
                param = self.plan.params[index]
                in_byte = max(1, 8 // element_bits(param.dtype))
                for axis, (wanted, actual) in enumerate(zip(param.shape, tensor.shape, strict=True), 1):
                    solution = solve_size(wanted, actual, sizes, in_byte if axis == len(param.shape) else 1)
                    if solution is not None and solution.value is None:
                        raise self._wrong_shape(index, param, tensor)
                    if solution is not None and solution.value is not None:
                        sizes[solution.name] = solution.value

    def _bind_size(self, name: str, value: int, where: str, sizes: dict[str, int]) -> None:
        if sizes.setdefault(name, value) != value:
            raise ArgumentError(
                "TT306",
                f"size '{name}' of kernel '{self.plan.name}' is {value} in {where}, "
                f"but {sizes[name]} in an argument before it",
            )

    def _check_shapes(self, tensors: Mapping[int, torch.Tensor], sizes: Mapping[str, int]) -> None:
        """Axes whose size is an expression over sizes other axes have bound."""
        for index, tensor in tensors.items():
            param = self.plan.params[index]
            if all(isinstance(size, int) or size in self.plan.sizes for size in param.shape):
                continue
            if self._resolve(param, sizes) != tuple(tensor.shape):
                raise self._wrong_shape(index, param, tensor)

    def _wrong_shape(self, index: int, param: Param, value: torch.Tensor) -> ArgumentError:
        return ArgumentError(
            "TT305",
            f"{self._place(index)} has shape {_shape(value.shape)}; the kernel takes {_shape(param.shape)}",
            help="compile the kernel for this shape; a size of T.dynamic is one that calls decide",
        )

    def _resolve(self, param: Param, sizes: Mapping[str, int]) -> tuple[int, ...]:
        try:
            return tuple(evaluate(size, sizes) for size in param.shape)
        except KeyError as missing:
            name = missing.args[0]
            raise ArgumentError(
                "TT309",
                f"size '{name}' of '{param.name}' does not follow from the arguments of kernel '{self.plan.name}'",
                help=f"let an input have an axis of size '{name}', or pass '{param.name}' yourself",
            ) from None

    def _check_writes(self, tensors: Mapping[int, torch.Tensor], _: Mapping[str, int]) -> None:
        """Tensors the kernel writes in place: nothing else may lie in their memory."""
        for index, tensor in tensors.items():
            if not self._writes(index):
                continue
            name = self.plan.params[index].name
            if tensor.requires_grad and torch.is_grad_enabled():
                raise ArgumentError(
                    "TT310",
                    f"{self._place(index)} is written, but requires a gradient that would not be recorded",
                    help=f"pass {name}.detach(), or call the kernel under torch.no_grad()",
                )
            if overlaps_itself(tensor):
                raise ArgumentError(
                    "TT308",
                    f"{self._place(index)} is written, but some of its elements share memory",
                    help=f"pass {name}.contiguous() and copy the result",
                )
            for other, neighbour in tensors.items():
                if other != index and share_memory(tensor, neighbour):
                    raise ArgumentError(
                        "TT308",
                        f"{self._place(index)} is written, but shares memory with '{self.plan.params[other].name}'",
                        help=f"pass {self.plan.params[other].name}.clone()",
                    )

    def _has_work(self, tensors: Mapping[int, torch.Tensor], sizes: Mapping[str, int]) -> bool:
        """False when nothing would be written. An empty operand of a result that is not empty (K = 0) is
        refused: what such a kernel writes depends on what it does before its loop."""
        if all(_is_empty(tensor) for index, tensor in tensors.items() if self._writes(index)):
            return False
        for item in self.plan.tensors:
            if _is_empty(tensors[item.param]):
                param = self.plan.params[item.param]
                raise ArgumentError(
                    "TT311",
                    f"'{param.name}' of kernel '{self.plan.name}' is empty, with shape "
                    f"{_shape(tensors[item.param].shape)}, but the result is not",
                    help="treat this shape before the call; a product over no elements is zeros",
                )
        if any(not _is_empty(tensors[index]) for index in self.outputs):
            self._refuse_empty_grid(sizes)
        return True

    def _refuse_empty_grid(self, sizes: Mapping[str, int]) -> None:
        """Nobody would write the results that this call allocates; a tensor of the caller's stays as it is."""
        for launch in self.plan.launches:
            if evaluate(launch.units, sizes) < 1:
                known = ", ".join(f"{name} = {size}" for name, size in sizes.items())
                where = f" where {known}" if known else ""
                raise ArgumentError(
                    "TT311",
                    f"launch '{launch.name}' of kernel '{self.plan.name}' has no blocks{where}, but the result is not "
                    "empty",
                    help="treat this shape before the call, or round the number of blocks up: T.ceildiv",
                )

    def _scalar(self, index: int, param: Param, value: Any) -> Scalar:
        if isinstance(value, torch.Tensor) and value.dim() == 0:
            value = value.item()
        whole = not param.dtype.startswith(("float", "bfloat"))
        accepted = (bool, int) if whole else (bool, int, float)
        number = value.item() if hasattr(value, "item") and not isinstance(value, torch.Tensor) else value
        if not isinstance(number, accepted):
            raise ArgumentError(
                "TT302", f"{self._place(index)} is a {type(value).__name__}; the kernel takes {param.dtype}"
            )
        if whole:
            low, high = _integer_range(param.dtype)
            if not low <= number <= high:
                raise ArgumentError("TT312", f"{self._place(index)} is {number}, which {param.dtype} cannot hold")
        if param.dtype.endswith("64") and not _is_of_32_bits(number, param.dtype):
            raise ArgumentError(
                "TT316",
                f"{self._place(index)} is {number}; kernels get the numbers of a call in 32 bits, which cannot hold it",
                help=f"pass it as a tensor of one element of {param.dtype}",
            )
        return int(number) if whole else float(number)

    def _check_size(self, index: int, value: Scalar) -> None:
        if value < 1:
            raise ArgumentError(
                "TT314",
                f"{self._place(index)} is {value}; the kernel takes it for a size, which is at least 1",
                help="where there is nothing to compute, leave out the call",
            )

    def _allocate(self, index: int, sizes: Mapping[str, int]) -> torch.Tensor:
        return torch.empty(self._resolve(self.plan.params[index], sizes), dtype=self.dtypes[index], device="cpu")


def _is_empty(tensor: Any) -> bool:
    return 0 in tuple(tensor.shape)


def _plain(tensor: torch.Tensor) -> torch.Tensor:
    """The values as dense row-major memory, apart from autograd; a copy only when needed."""
    return tensor.detach().resolve_neg().contiguous()


def _shape(shape: Sequence[int | str]) -> str:
    text = ", ".join(str(size) for size in shape)
    return f"({text},)" if len(shape) == 1 else f"({text})"


def _is_of_32_bits(number: Scalar, dtype: str) -> bool:
    """Whether the type of half the size holds a number of this one."""
    if dtype == "float64":
        short = float(torch.tensor(number, dtype=torch.float64).to(torch.float32))
        return short == number or number != number
    low, high = _integer_range(dtype.replace("64", "32"))
    return low <= number <= high


def _fits_32_bits(value: torch.Tensor) -> bool:
    low, high = _integer_range("int32")
    return low <= int(value.min()) and int(value.max()) <= high


def _integer_range(dtype: str) -> tuple[int, int]:
    if dtype == "bool":
        return 0, 1
    bits = int("".join(char for char in dtype if char.isdecimal()))
    return (0, 2**bits - 1) if dtype.startswith("uint") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
