"""What a census notes of one kernel, and small readings of TIR that its parts share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tvm import tirx

from tilelang_tt.frontend.refuse_gpu_code import GPU_ONLY
from tilelang_tt.ir import scalar

TILE = 32  # rows and columns of a hardware tile

# Operators of irregular kernels, by a part of their name.
_IRREGULAR: tuple[tuple[str, str], ...] = (
    ("atomic", "atomic"),
    ("im2col", "im2col"),
    ("cumsum", "scan"),
    ("cummax", "scan"),
    ("gemm_sp", "sparse gemm"),
    ("gemm_blockscaled", "block-scaled gemm"),
    ("wgmma", "warp group"),
    ("clc_", "cluster launch"),
    ("block_rank_in_cluster", "cluster launch"),
    ("mfma", "gpu instruction"),
    ("access_ptr", "pointer"),
    ("address_of", "pointer"),
    ("shift_", "bits"),
    ("bitwise_", "bits"),
    ("reinterpret", "bits"),
    ("rng_", "random numbers"),
    ("thread_allreduce", "thread index"),
    ("break", "break"),
    ("__ldg", "pointer"),
    ("ieee_", "cuda rounding"),
)
# Calls that say nothing about a kernel.
PLAIN_CALLS = frozenset(
    ("tl.region", "tl.launch_thread_idx", "tl.infinity", "tirx.tvm_tuple", "tirx.type_annotation", "tirx.assume")
)


@dataclass
class Features:
    """Words for what is used, and reasons why the kernel is irregular."""

    used: set[str] = field(default_factory=set)
    irregular: set[str] = field(default_factory=set)

    @property
    def pure(self) -> bool:
        return not self.irregular


@dataclass
class Notes:
    """What one walk has found and knows."""

    found: Features = field(default_factory=Features)
    tensors: set[Any] = field(default_factory=set)
    grid: set[Any] = field(default_factory=set)
    loops: set[Any] = field(default_factory=set)
    sizes: set[Any] = field(default_factory=set)
    threads: set[Any] = field(default_factory=set)
    lets: dict[Any, Any] = field(default_factory=dict)

    def use(self, word: str) -> None:
        self.found.used.add(word)

    def irregular(self, word: str) -> None:
        self.found.irregular.add(word)

    def place(self, buffer: Any) -> str:
        """Where a buffer lives: tensor, var, fragment, local or shared."""
        scope = str(buffer.scope())
        if buffer in self.tensors or scope == "global":
            return "tensor"
        return {"local.var": "var", "local.fragment": "fragment", "local": "local"}.get(scope, "shared")

    def dtype(self, dtype: Any) -> None:
        name = str(dtype)
        self.use(f"dtype {name}")
        if "float4" in name or name in ("int4", "uint4", "int2", "uint2"):
            self.irregular("sub-byte dtype")

    def allocation(self, buffer: Any) -> None:
        scope = str(buffer.scope())
        self.dtype(buffer.dtype)
        if "barrier" in scope:
            self.irregular("mbarrier")
        elif "tmem" in scope:
            self.irregular("tensor memory")
        elif scope in ("local.var", "global"):
            self.use(f"alloc_{scope.removeprefix('local.')}")
        else:
            self.use(f"{self.place(buffer)} rank {len(buffer.shape)}")
            shape = [number_of(extent) for extent in buffer.shape]
            live = [extent for extent in shape[-2:] if extent != 1]
            if any(extent is None or extent % TILE for extent in live):
                self.use("sub-tile buffer")

    def resolved(self, expr: Any) -> list[Any]:
        """Nodes of an expression and of the lets it stands on."""
        found, pending = [], [expr]
        while pending:
            for node in scalar.nodes(pending.pop()):
                found.append(node)
                if isinstance(node, tirx.Var) and node in self.lets:
                    pending.append(self.lets[node])
        return found

    def control(self, what: str, expr: Any) -> None:
        """What a bound, condition or address depends on."""
        self.expression(expr, what)
        nodes = self.resolved(expr)
        for node in nodes:
            if isinstance(node, tirx.BufferLoad):
                self.use(f"{what} from {self.place(node.buffer)}")
        variables = {node for node in nodes if isinstance(node, tirx.Var)}
        for known, name in ((self.grid, "block index"), (self.loops, "loop index"), (self.sizes, "size")):
            if variables & known and what != "address":
                self.use(f"{what} from {name}")

    def expression(self, expr: Any, where: str) -> None:
        for node in scalar.nodes(expr):
            if isinstance(node, tirx.Var) and node in self.threads:
                self.irregular("thread index")
            elif isinstance(node, tirx.Call):
                self.call(node)
            elif isinstance(node, tirx.BufferLoad) and where in ("element", "let"):
                self.use(f"element load from {self.place(node.buffer)}")

    def call(self, call: Any) -> str:
        """Its operator; an irregular one is noted. Conditions joined by `&` and `|` are no play with bits."""
        op = operator_of(call)
        if "bitwise_" in op and str(call.dtype) == "bool":
            return op
        if "reinterpret" in op and str(call.dtype) == "handle":
            self.irregular("pointer")
            return op
        for part, reason in _IRREGULAR:
            if part in op:
                self.irregular(reason)
                return op
        for prefix, what, _instead in GPU_ONLY:
            if op.startswith(prefix):
                self.irregular(what)
                return op
        return op


def mentions(expr: Any, variables: Any) -> bool:
    return any(isinstance(node, tirx.Var) and node in variables for node in scalar.nodes(expr))


def number_of(expr: Any) -> int | None:
    return int(expr) if isinstance(expr, (int, tirx.IntImm)) else None


def operator_of(call: Any) -> str:
    return str(getattr(call.op, "name", "")) if isinstance(call, tirx.Call) else ""
