"""The verifier: what the compiler makes passes, and every single way to break it is caught by its own code."""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import tilelang.language as T

import tilelang_tt.passes.f_verify as f_verify
from tilelang_tt.diagnostics import InternalError
from tilelang_tt.ir import scalar
from tilelang_tt.ir.cb import Cb, CbCall, CbKind
from tilelang_tt.ir.elements import Element
from tilelang_tt.ir.engine import (
    BinaryTiles,
    CopyTile,
    DstCall,
    DstKind,
    DstUse,
    EndBlock,
    Init,
    L1Accumulate,
    MatmulBlock,
    PackTile,
    Reconfig,
    ReduceMode,
    ReduceTile,
    Sfpu,
    SfpuMode,
    Startup,
    Uninit,
)
from tilelang_tt.ir.fields import walk
from tilelang_tt.ir.kernel import For, If, KernelSet, Let, Source
from tilelang_tt.ir.layout import Role
from tilelang_tt.ir.movement import Ask, Barrier, BarrierKind, Pointer, ReadTile, Send, Take, WriteTile
from tilelang_tt.ir.tile import Map
from tilelang_tt.layout_hints import parse_hints
from tilelang_tt.ops import ELEMENT_OPS
from tilelang_tt.ops.expressions import apply
from tilelang_tt.ops.row import BB, TR, TT
from tilelang_tt.options import Options
from tilelang_tt.passes.f_verify.check_blocks import check_blocks
from tilelang_tt.passes.f_verify.verify_kernels import verify_kernels
from tilelang_tt.pipeline import run_passes

from .edits import (
    altered,
    at,
    doubled,
    edit,
    find,
    inserted,
    line,
    places,
    removed,
    swapped,
)
from .kernels import gemm
from .vector_kernels import attention

READER, COMPUTE, WRITER = Role.READER, Role.COMPUTE, Role.WRITER


def gemm_updated_in_place() -> Any:
    """C_l is rewritten after the sum, group by group, then stored and summed."""

    @T.prim_func
    def main(
        A: T.Tensor((256, 96), "bfloat16"),
        B: T.Tensor((96, 64), "bfloat16"),
        C: T.Tensor((256, 64), "bfloat16"),
        D: T.Tensor((256,), "bfloat16"),
    ):
        with T.Kernel(1, 2, threads=128) as (bx, by):
            A_s = T.alloc_shared((128, 32), "bfloat16")
            B_s = T.alloc_shared((32, 64), "bfloat16")
            C_l = T.alloc_fragment((128, 64), "float32")
            sums = T.alloc_fragment((128,), "float32")
            T.clear(C_l)
            for k in T.Pipelined(3, num_stages=2):
                T.copy(A[by * 128, k * 32], A_s)
                T.copy(B[k * 32, bx * 64], B_s)
                T.gemm(A_s, B_s, C_l)
            for i, j in T.Parallel(128, 64):
                C_l[i, j] = T.exp(C_l[i, j])
            T.copy(C_l, C[by * 128, bx * 64])
            T.reduce_sum(C_l, sums, dim=1)
            T.copy(sums, D[by * 128])

    return main


def maxima_of_rows() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "bfloat16"), B: T.Tensor((64,), "bfloat16")):
        with T.Kernel(2, threads=128) as bx:
            X = T.alloc_fragment((32, 64), "bfloat16")
            m = T.alloc_fragment((32,), "bfloat16")
            T.copy(A[bx * 32, 0], X)
            T.reduce_max(X, m, dim=1)
            T.copy(m, B[bx * 32])

    return main


def product_of_blocks() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "bfloat16"), B: T.Tensor((64, 64), "bfloat16")):
        with T.Kernel(2, threads=128) as bx:
            X = T.alloc_shared((32, 64), "bfloat16")
            Y = T.alloc_fragment((32, 64), "bfloat16")
            T.copy(A[bx * 32, 0], X)
            for i, j in T.Parallel(32, 64):
                Y[i, j] = X[i, j] * X[i, j]
            T.copy(Y, B[bx * 32, 0])

    return main


def rows_of_vectors(dtype: str = "bfloat16") -> Any:
    """`V` is spread on its way to DST, `W` by the instruction that multiplies with it."""

    @T.prim_func
    def main(
        A: T.Tensor((64, 64), dtype),
        B: T.Tensor((64,), dtype),
        C: T.Tensor((64,), dtype),
        D: T.Tensor((64, 64), dtype),
    ):
        with T.Kernel(2, threads=128) as bx:
            X = T.alloc_shared((32, 64), dtype)
            V = T.alloc_shared((64,), dtype)
            W = T.alloc_shared((64,), dtype)
            Y = T.alloc_fragment((32, 64), dtype)
            T.copy(A[bx * 32, 0], X)
            T.copy(B, V)
            T.copy(C, W)
            for i, j in T.Parallel(32, 64):
                Y[i, j] = T.max(X[i, j] * W[j], V[j])
            T.copy(Y, D[bx * 32, 0])

    return main


def two_products() -> Any:
    """The reader loads X and Z, the writer Y; one core does so for several."""

    @T.prim_func
    def main(
        A: T.Tensor((128, 96), "bfloat16"),
        B: T.Tensor((96, 128), "bfloat16"),
        D: T.Tensor((96, 128), "bfloat16"),
        C: T.Tensor((128, 128), "bfloat16"),
    ):
        with T.Kernel(2, 2, threads=128) as (bx, by):
            X = T.alloc_shared((64, 32), "bfloat16")
            Y = T.alloc_shared((32, 64), "bfloat16")
            Z = T.alloc_shared((32, 64), "bfloat16")
            C_l = T.alloc_fragment((64, 64), "float32")
            T.clear(C_l)
            for k in T.Pipelined(3, num_stages=2):
                T.copy(A[by * 64, k * 32], X)
                T.copy(B[k * 32, bx * 64], Y)
                T.copy(D[k * 32, bx * 64], Z)
                T.gemm(X, Y, C_l)
                T.gemm(X, Z, C_l)
            T.copy(C_l, C[by * 64, bx * 64])

    return main


def sums_of_dynamic_size() -> Any:
    m = T.dynamic("m")

    @T.prim_func
    def main(A: T.Tensor((m, 64), "bfloat16"), B: T.Tensor((m, 64), "bfloat16"), C: T.Tensor((m, 64), "bfloat16")):
        with T.Kernel(T.ceildiv(m, 32), threads=128) as bx:
            a = T.alloc_shared((32, 64), "bfloat16")
            b = T.alloc_shared((32, 64), "bfloat16")
            c = T.alloc_fragment((32, 64), "bfloat16")
            T.copy(A[bx * 32, 0], a)
            T.copy(B[bx * 32, 0], b)
            for i, j in T.Parallel(32, 64):
                c[i, j] = a[i, j] + b[i, j]
            T.copy(c, C[bx * 32, 0])

    return main


SETS: dict[str, Callable[[], Any]] = {
    "accumulator in L1": lambda: gemm(100, 130, 96, (128, 128, 32)),
    "accumulator in DST": gemm,
    "updated in place": gemm_updated_in_place,
    "maxima": maxima_of_rows,
    "product of blocks": product_of_blocks,
    "first rows": rows_of_vectors,
    "first rows in DST": lambda: rows_of_vectors("float32"),
    "sent": two_products,
    "in place at the call": sums_of_dynamic_size,
    "sent from shards": lambda: gemm(64, 64, 64, (32, 32, 32)),
}
LAYOUTS = {
    "in place at the call": {name: {"memory": "L1", "shard": "height", "grid": "4x1"} for name in "ABC"},
    "sent from shards": {name: {"memory": "L1", "shard": "block", "grid": "2x2"} for name in "AC"},
}


@cache
def kernels_of(name: str) -> KernelSet:
    """The finished kernels; `run_passes` has verified them."""
    options = Options(multicast=name.startswith("sent"), blocks=False, layout=parse_hints(LAYOUTS.get(name, {})))
    _, (kernels,) = run_passes(SETS[name](), options, lambda *_: None)
    return kernels


def in_l1() -> KernelSet:
    return kernels_of("accumulator in L1")


def code_of(kernels: KernelSet) -> str | None:
    """The code of the invariant that does not hold, None if all do."""
    try:
        verify_kernels(kernels)
    except InternalError as error:
        return error.code
    return None


@pytest.mark.parametrize("name", SETS)
def test_finished_kernels_pass(name: str) -> None:
    assert code_of(kernels_of(name)) is None


# --- one edit, one code ---------------------------------------------------------------------------


def call(kind: CbKind, name: str) -> Callable[[Any], bool]:
    return lambda stmt: isinstance(stmt, CbCall) and stmt.kind is kind and stmt.cb.name == name


def dst(kind: DstKind) -> Callable[[Any], bool]:
    return lambda stmt: isinstance(stmt, DstCall) and stmt.kind is kind


def without(role: Role, wanted: Any, number: int = 0, kernels: KernelSet | None = None) -> KernelSet:
    kernels = kernels or in_l1()
    return removed(kernels, role, find(kernels, role, wanted, number))


def with_before(role: Role, wanted: Any, stmt: Any, kernels: KernelSet | None = None) -> KernelSet:
    kernels = kernels or in_l1()
    return inserted(kernels, role, find(kernels, role, wanted), stmt)


def with_fields(role: Role, wanted: Any, kernels: KernelSet | None = None, **fields: Any) -> KernelSet:
    kernels = kernels or in_l1()
    return altered(kernels, role, find(kernels, role, wanted), **fields)


def only_if(role: Role, wanted: Any) -> KernelSet:
    """The statement made to depend on the unit."""
    kernels = in_l1()
    unit = kernels.launch.work.unit  # type: ignore[union-attr]
    place = find(kernels, role, wanted)
    return edit(kernels, role, place, lambda b, i: (*b[:i], If(scalar.floormod(unit, 2) < 1, (b[i],)), *b[i + 1 :]))


def at_end(stmt: Any) -> KernelSet:
    kernels = in_l1()
    return kernels.with_body(COMPUTE, (*kernels.kernel(COMPUTE).body, stmt))


def earlier(role: Role, wanted: Any, before: Any) -> KernelSet:
    """The statement moved before another one."""
    kernels = in_l1()
    stmt = at(kernels.kernel(role).body, find(kernels, role, wanted))
    return with_before(role, before, stmt, without(role, wanted, kernels=kernels))


def cb_with(**fields: Any) -> KernelSet:
    """The first circular buffer altered, in the table alone."""
    kernels = in_l1()
    (buffer, cb), *_ = kernels.cbs.items()
    return replace(kernels, cbs={**kernels.cbs, buffer: replace(cb, **fields)})


def cb(name: str, kernels: KernelSet | None = None) -> Cb:
    return next(cb for cb in (kernels or in_l1()).cbs.values() if cb.name == name)


def many_arguments() -> KernelSet:
    reader = in_l1().kernel(READER)
    return in_l1().with_kernel(replace(reader, args=reader.args * 200))


def steps_of_three() -> KernelSet:
    """Push and pop agree, but on steps of which 8 pages are no multiple."""
    kernels = with_fields(READER, call(CbKind.PUSH, "A_s"), pages=3)
    return with_fields(COMPUTE, call(CbKind.POP, "A_s"), kernels, pages=3)


def straddling_step() -> KernelSet:
    """Two pages are taken beforehand, so that a group of four runs past the end."""
    kernels = kernels_of("updated in place")
    waits = call(CbKind.WAIT, "C_l")
    group_by_group = find(kernels, COMPUTE, lambda s: isinstance(s, For) and any(map(waits, s.body)), -1)
    pages = next(cb for cb in kernels.cbs.values() if cb.name == "C_l")
    return inserted(kernels, COMPUTE, group_by_group, CbCall(CbKind.POP, pages, 2))


def reserved_before_the_units() -> KernelSet:
    """Held when the loop over units begins, given away by its first round."""
    reserve = call(CbKind.RESERVE, "C_l_out")
    return earlier(COMPUTE, reserve, lambda stmt: isinstance(stmt, For))


def without_sfpu() -> KernelSet:
    return without(COMPUTE, Sfpu, kernels=kernels_of("updated in place"))


def with_another_sfpu() -> KernelSet:
    kernels = kernels_of("updated in place")
    place = find(kernels, COMPUTE, Sfpu)
    sfpu = at(kernels.kernel(COMPUTE).body, place)
    assert isinstance(sfpu, Sfpu)
    return inserted(kernels, COMPUTE, place, replace(sfpu, instruction=replace(sfpu.instruction, call="sin_tile({a})")))


def with_exchanged_blocks() -> KernelSet:
    """max(X * V, W) for max(X * W, V): the same instructions in the same order."""
    kernels = kernels_of("first rows in DST")
    (place_v, v), (place_w, w) = ((find(kernels, COMPUTE, copying(name)), cb(name, kernels)) for name in "VW")
    kernels = altered(kernels, COMPUTE, place_v, cb=w)
    return altered(kernels, COMPUTE, place_w, cb=v)


def copying(name: str) -> Callable[[Any], bool]:
    return lambda stmt: isinstance(stmt, CopyTile) and stmt.cb.name == name


def without_a_statement() -> KernelSet:
    """The tile program says one thing more than compute does."""
    kernels = kernels_of("updated in place")
    block = next(buffer for buffer in kernels.cbs if buffer.name == "C_l")
    body = (*kernels.launch.body, Map(block, apply("sin", Element(block))))
    return replace(kernels, launch=replace(kernels.launch, body=body))


def taking(name: str) -> Callable[[Any], bool]:
    """The instruction that spreads a row of a block."""
    return lambda stmt: isinstance(stmt, BinaryTiles) and stmt.b.name == name


def with_whole_tiles(name: str) -> KernelSet:
    whole = ELEMENT_OPS["add"].instruction(BB)
    return with_fields(COMPUTE, taking(name), kernels_of("first rows"), instruction=whole)


def row_in_dst_packed() -> KernelSet:
    """The instruction that spreads a row over a tile works on the row itself instead."""
    kernels = kernels_of("first rows in DST")
    place = find(kernels, COMPUTE, lambda stmt: isinstance(stmt, Sfpu) and stmt.instruction.operands == TR)
    spread = at(kernels.kernel(COMPUTE).body, place)
    assert isinstance(spread, Sfpu)
    whole = ELEMENT_OPS["mul"].instruction(TT)
    return altered(kernels, COMPUTE, place, instruction=whole)


def with_a_row_first() -> KernelSet:
    kernels = kernels_of("first rows")
    rows = next(cb for cb in kernels.cbs.values() if cb.name == "W")
    return with_fields(COMPUTE, taking("W"), kernels, a=rows)


def product_onto_a_product() -> KernelSet:
    kernels = kernels_of("product of blocks")
    place = find(kernels, COMPUTE, BinaryTiles)
    return doubled(kernels, COMPUTE, place)


def of(kind: type, name: str) -> Callable[[Any], bool]:
    return lambda stmt: isinstance(stmt, kind) and stmt.cb.name == name


def not_sent(kind: type, name: str) -> KernelSet:
    return without(READER, of(kind, name), kernels=kernels_of("sent"))


def sent_before_asking() -> KernelSet:
    """Z is asked for only when X has been sent: two cores could wait for each other."""
    kernels = kernels_of("sent")
    ask = at(kernels.kernel(READER).body, find(kernels, READER, of(Ask, "Z")))
    return with_before(READER, of(Send, "Z"), ask, not_sent(Ask, "Z"))


def sent_under_way() -> KernelSet:
    """The read barrier comes behind the first send."""
    kernels = kernels_of("sent")
    barrier = Barrier(BarrierKind.READ)
    changed = without(READER, lambda stmt: stmt == barrier, kernels=kernels)
    return with_before(READER, of(Send, "Z"), barrier, changed)


def moving(role: Role, name: str, condition: Callable[[Any, Any], Any]) -> KernelSet:
    """The branch that moves a block has another condition: one on what says so of this block, and of A."""
    kernels = kernels_of("in place at the call")
    told = {cb.name: cb.moves for cb in kernels.cbs.values()}
    place = find(kernels, role, lambda s: isinstance(s, If) and told[name] in scalar.variables(s.condition))
    return altered(kernels, role, place, condition=condition(told[name], told["a"]))


def without_call_for_a_shard(role: Role, kind: CbKind, name: str) -> KernelSet:
    """A call that only calls need in which compute finds blocks in the shard."""

    def wanted(stmt: Any) -> bool:
        call = isinstance(stmt, CbCall) and stmt.kind is kind and stmt.count is not None
        return call and stmt.count.name == f"{name}_shard_pages"

    return without(role, wanted, kernels=kernels_of("in place at the call"))


def maxima_for_another_block() -> KernelSet:
    """The packer is set up for another block than the one that is packed."""
    kernels = kernels_of("maxima")
    other = next(cb for cb in kernels.cbs.values() if cb.name == "m")
    place = find(kernels, COMPUTE, lambda s: isinstance(s, Init) and isinstance(s.mode, ReduceMode))
    init = at(kernels.kernel(COMPUTE).body, place)
    assert isinstance(init, Init)
    assert isinstance(init.mode, ReduceMode)
    kernels = altered(kernels, COMPUTE, place, mode=replace(init.mode, out=other))
    return with_fields(COMPUTE, ReduceTile, kernels, out=other)


def not_named(mode: Any) -> Callable[[Any], bool]:
    return lambda stmt: isinstance(stmt, Init) and not isinstance(stmt.mode, mode)


BREAKS: dict[str, tuple[Callable[[], KernelSet], ...]] = {
    # form
    "TT910": (lambda: with_before(COMPUTE, MatmulBlock, DstUse((), ())),),
    "TT911": (
        lambda: with_before(COMPUTE, MatmulBlock, Barrier(BarrierKind.READ)),
        lambda: with_before(READER, ReadTile, DstCall(DstKind.ACQUIRE)),
    ),
    "TT912": (lambda: without(READER, Pointer), lambda: without(WRITER, Pointer)),
    # limits
    "TT913": (lambda: cb_with(id=1), lambda: cb_with(id=32), lambda: cb_with(id=-1)),
    "TT914": (lambda: cb_with(format="Float32"),),
    "TT915": (lambda: cb_with(depth=0), lambda: cb_with(depth=20_000)),
    "TT916": (lambda: cb_with(depth=200),),
    "TT917": (many_arguments,),
    # streams
    "TT920": (lambda: with_before(COMPUTE, MatmulBlock, CbCall(CbKind.PUSH, cb("A_s"), 4)),),
    "TT921": (
        lambda: without_call_for_a_shard(READER, CbKind.PUSH, "a"),
        lambda: without(READER, call(CbKind.PUSH, "A_s")),
        lambda: without(COMPUTE, call(CbKind.POP, "B_s")),
        lambda: without(WRITER, call(CbKind.POP, "C_l_out")),
        lambda: with_fields(READER, call(CbKind.PUSH, "A_s"), pages=8),
        lambda: only_if(READER, call(CbKind.PUSH, "A_s")),
    ),
    "TT922": (lambda: with_fields(COMPUTE, call(CbKind.WAIT, "A_s"), pages=9),),
    "TT923": (steps_of_three,),
    "TT924": (lambda: at_end(CbCall(CbKind.PUSH, cb("C_l"), 16)),),
    "TT925": (lambda: only_if(COMPUTE, call(CbKind.POP, "C_l")),),
    "TT926": (lambda: without(COMPUTE, call(CbKind.POP, "C_l")),),
    "TT927": (lambda: with_before(COMPUTE, call(CbKind.WAIT, "C_l"), CbCall(CbKind.RESERVE, cb("C_l"), 1)),),
    "TT928": (
        lambda: without(COMPUTE, call(CbKind.PUSH, "C_l")),
        lambda: swapped(in_l1(), COMPUTE, find(in_l1(), COMPUTE, call(CbKind.PUSH, "C_l"))),
    ),
    "TT929": (straddling_step,),
    # transfers
    "TT930": (lambda: without(WRITER, lambda s: s == Barrier(BarrierKind.WRITE)),),
    "TT931": (
        lambda: without(READER, Barrier),
        lambda: swapped(in_l1(), READER, find(in_l1(), READER, Barrier)),
    ),
    "TT932": (
        lambda: without(WRITER, lambda s: s == Barrier(BarrierKind.FLUSH)),
        lambda: with_fields(WRITER, Barrier, kind=BarrierKind.READ),
    ),
    # tiles
    "TT940": (reserved_before_the_units,),
    "TT942": (lambda: earlier(COMPUTE, call(CbKind.POP, "A_s"), call(CbKind.WAIT, "A_s")),),
    "TT943": (lambda: earlier(READER, call(CbKind.PUSH, "A_s"), call(CbKind.RESERVE, "A_s")),),
    "TT944": (
        lambda: without_call_for_a_shard(COMPUTE, CbKind.RESERVE, "c"),
        lambda: without(COMPUTE, call(CbKind.WAIT, "A_s")),
        lambda: without(READER, call(CbKind.RESERVE, "B_s")),
        lambda: without(WRITER, call(CbKind.WAIT, "C_l_out")),
        lambda: with_fields(COMPUTE, call(CbKind.WAIT, "B_s"), pages=3),
        lambda: with_fields(COMPUTE, MatmulBlock, a_stride=2),
        lambda: with_fields(WRITER, WriteTile, slot=scalar.const(16)),
        lambda: only_if(COMPUTE, call(CbKind.RESERVE, "C_l_out")),
    ),
    # blocks
    "TT945": (
        lambda: without(READER, ReadTile),
        lambda: with_fields(READER, ReadTile, slot=scalar.const(0)),
        lambda: with_fields(COMPUTE, PackTile, index=scalar.const(3)),
    ),
    "TT946": (lambda: with_fields(COMPUTE, PackTile, overwrite=scalar.false()),),
    "TT947": (lambda: without(WRITER, WriteTile),),
    "TT948": (lambda: with_fields(READER, ReadTile, first_row=True),),
    "TT949": (
        lambda: with_whole_tiles("V"),
        lambda: with_whole_tiles("W"),
        lambda: with_a_row_first(),
        lambda: row_in_dst_packed(),
    ),
    # DST
    "TT950": (lambda: at_end(DstCall(DstKind.ACQUIRE)),),
    "TT951": (
        lambda: swapped(in_l1(), COMPUTE, find(in_l1(), COMPUTE, dst(DstKind.COMMIT))),
        lambda: doubled(in_l1(), COMPUTE, find(in_l1(), COMPUTE, dst(DstKind.ACQUIRE))),
    ),
    "TT952": (lambda: without(COMPUTE, dst(DstKind.RELEASE)),),
    "TT953": (lambda: only_if(COMPUTE, dst(DstKind.RELEASE)),),
    "TT954": (
        lambda: without(COMPUTE, dst(DstKind.ACQUIRE)),
        lambda: earlier(COMPUTE, MatmulBlock, dst(DstKind.ACQUIRE)),
    ),
    "TT955": (
        lambda: with_fields(COMPUTE, MatmulBlock, dst=1),
        lambda: with_fields(COMPUTE, PackTile, dst=scalar.const(4)),
    ),
    "TT956": (lambda: without(COMPUTE, MatmulBlock),),
    "TT957": (lambda: without(COMPUTE, PackTile), lambda: with_fields(COMPUTE, PackTile, dst=scalar.const(0))),
    # operations
    "TT958": (without_sfpu, with_another_sfpu, with_exchanged_blocks),
    "TT959": (without_a_statement,),
    # engines
    "TT960": (
        lambda: without(COMPUTE, Startup),
        lambda: doubled(in_l1(), COMPUTE, find(in_l1(), COMPUTE, Startup)),
    ),
    "TT961": (lambda: at_end(L1Accumulate(scalar.true())),),
    "TT962": (lambda: with_fields(COMPUTE, lambda s: isinstance(s, Reconfig) and s.old, old=cb("C_l")),),
    "TT963": (
        lambda: without(COMPUTE, Reconfig),
        lambda: without(COMPUTE, not_named(SfpuMode)),
        lambda: without(COMPUTE, L1Accumulate),
        lambda: with_fields(COMPUTE, MatmulBlock, transpose=True),
    ),
    "TT964": (lambda: without(COMPUTE, Uninit, kernels=kernels_of("maxima")),),
    "TT965": (maxima_for_another_block,),
    "TT966": (product_onto_a_product,),
    # deliveries
    "TT967": (sent_under_way,),
    "TT968": (
        lambda: not_sent(Ask, "X"),
        lambda: not_sent(Send, "Z"),
        lambda: without(WRITER, of(Take, "Y"), kernels=kernels_of("sent")),
        lambda: doubled(kernels_of("sent"), READER, find(kernels_of("sent"), READER, of(Send, "X"))),
    ),
    "TT969": (sent_before_asking,),
    "TT971": (lambda: moving(READER, "b", lambda _, a: a > 0), lambda: moving(WRITER, "c", lambda c, _: c < 1)),
    "TT970": (lambda: without(READER, ReadTile, kernels=kernels_of("sent")),),
}


@pytest.mark.parametrize(
    ("code", "broken"),
    [(code, broken) for code, breaks in BREAKS.items() for broken in breaks],
    ids=[f"{code}-{number}" for code, breaks in BREAKS.items() for number in range(len(breaks))],
)
def test_a_broken_invariant_has_its_code(code: str, broken: Callable[[], KernelSet]) -> None:
    assert code_of(broken()) == code


def test_a_broken_invariant_is_reported_as_a_bug_of_the_compiler() -> None:
    with pytest.raises(InternalError) as caught:
        verify_kernels(without(READER, call(CbKind.PUSH, "A_s")))
    assert str(caught.value) == (
        "error[TT921]: 'A_s' is not popped by compute as reader pushes it\n"
        "  help: this is a bug of tilelang-tt: please report it"
    )


def test_every_code_of_the_verifier_is_broken_here() -> None:
    folder = Path(next(iter(f_verify.__path__)))
    files = (*folder.glob("check_*.py"), folder / "block_state.py", folder / "ways_at_call.py")
    raised = {code for file in files for code in re.findall(r'fail\("(TT\d{3})"', file.read_text())}
    assert raised == set(BREAKS)


# --- every statement is needed --------------------------------------------------------------------


@pytest.mark.parametrize("name", SETS)
def test_no_statement_can_be_left_out(name: str) -> None:
    kernels = kernels_of(name)
    accepted = [
        f"{role.value}: {line(kernels, role, place)}"
        for role in Role
        for place in places(kernels.kernel(role).body)
        if not isinstance(at(kernels.kernel(role).body, place), EndBlock)  # for the SDK's compiler, not for the chip
        if code_of(removed(kernels, role, place)) is None
    ]
    assert accepted == []


# Neighbours whose order means nothing: both only claim pages, both only give pages back, both set different parts of
# the engines, or one counts pages and the other works in DST.
COMMUTING = {
    "accumulator in L1": [
        "reader: reserve A_s 4 <> reserve B_s 4",
        "reader: push A_s 4 <> push B_s 4",
        "compute: reserve C_l 16 <> reconfig srca B_s",
        "compute: reconfig srca B_s <> init matmul A_s, B_s, 2 x 2 tiles, A stride 1",
        "compute: init matmul A_s, B_s, 2 x 2 tiles, A stride 1 <> reconfig pack C_l_out -> C_l",
        "compute: wait A_s 4 <> wait B_s 4",
        "compute: pop A_s 4 <> pop B_s 4",
        "compute: wait C_l 16 <> reserve C_l_out 16",
        "compute: reconfig srca B_s -> C_l <> init copy C_l",
        "compute: init copy C_l <> reconfig pack C_l -> C_l_out",
        "compute: reconfig pack C_l -> C_l_out <> accumulate in L1 where False",
        "compute: pop C_l 16 <> push C_l_out 16",
    ],
    "accumulator in DST": [
        "reader: reserve A_s 2 <> reserve B_s 2",
        "reader: push A_s 2 <> push B_s 2",
        "compute: for k in 0 .. 4 <> reserve C_l_out 4",
        "compute: wait A_s 2 <> wait B_s 2",
        "compute: pop A_s 2 <> pop B_s 2",
        "compute: reserve C_l_out 4 <> commit",
        "compute: release <> push C_l_out 4",
    ],
}


@pytest.mark.parametrize("name", COMMUTING)
def test_no_other_neighbours_can_be_exchanged(name: str) -> None:
    kernels = kernels_of(name)
    accepted = []
    for role in Role:
        body = kernels.kernel(role).body
        for place in places(body):
            *above, (number, index) = place
            after = (*above, (number, index + 1))
            if after in set(places(body)) and code_of(swapped(kernels, role, place)) is None:
                accepted.append(f"{role.value}: {line(kernels, role, place)} <> {line(kernels, role, after)}")
    assert accepted == COMMUTING[name]


def test_only_marks_and_index_definitions_are_left_alone() -> None:
    """The two kinds of statement the tests above do not touch, in all three kernels."""
    skipped = set()
    for name in SETS:
        for kernel in kernels_of(name).kernels:
            seen = {id(at(kernel.body, place)) for place in places(kernel.body)}
            skipped |= {type(stmt) for stmt in walk(kernel.body) if id(stmt) not in seen}
    assert skipped == {Source, Let}


def test_a_sum_that_starts_where_a_branch_put_nothing() -> None:
    """Scores are masked on the diagonal alone, so the product must overwrite off it: there, and not elsewhere."""
    _, (kernels,) = run_passes(attention(masked=-1e30), Options(fp32_acc=False), lambda *_: None)

    def sums(stmt: Any) -> bool:
        return isinstance(stmt, PackTile) and stmt.cb.name == "scores" and scalar.int_value(stmt.overwrite) is None

    place = find(kernels, COMPUTE, sums)
    (n, bx) = scalar.variables(at(kernels.kernel(COMPUTE).body, place).overwrite)

    def check(overwrite: Any) -> None:
        broken = altered(kernels, COMPUTE, place, overwrite=overwrite)
        check_blocks(broken.kernel(COMPUTE), broken)

    check(n <= bx)
    for overwrite in (scalar.false(), bx < n):
        with pytest.raises(InternalError, match="TT946"):
            check(overwrite)
