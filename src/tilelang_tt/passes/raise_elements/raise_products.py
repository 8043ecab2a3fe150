"""Raise loops that add up products of elements to products of matrices.

    before   Loop k < 64
               Each i < 64, j < 32: c[i, j] = c[i, j] + A[by * 64 + i, k] * b[k, j]
    after    Each i < 64, k < 64: A_operand[i, k] = A[by * 64 + i, k]
             Gemm c += A_operand @ b

What counts is the structure: a sum over an index of products of elements, in whatever loops and in whatever order. The
matrix engine takes floats in as it does for T.gemm. Loops that are neither rows, columns nor what is summed over stay
around the product. A sum into a tensor goes by way of a block. A sum that walks one axis at most, as a matrix times a
vector does, becomes a reduction.
"""

from __future__ import annotations

from dataclasses import replace

from tilelang_tt.compiled import Decision
from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.elements import Number
from tilelang_tt.ir.fields import walk, within
from tilelang_tt.ir.tile import Each, Fill, Launch, Loop, Stmt, TileProgram
from tilelang_tt.passes.raise_elements.box_blocks import Boxes
from tilelang_tt.passes.raise_elements.nests import LoopSplitter, Nest, assigns_all, nest_of, used, with_fused_loops
from tilelang_tt.passes.raise_elements.new_blocks import NewBlocks
from tilelang_tt.passes.raise_elements.operand_pieces import copies_of_few_bits
from tilelang_tt.passes.raise_elements.product_statements import ProductWriter
from tilelang_tt.passes.raise_elements.sums_of_products import Sum, sums


def raise_products(program: TileProgram) -> TileProgram:
    raisers = [_Launch(program, launch) for launch in program.launches]
    launches = tuple(raiser.changed() for raiser in raisers)
    decisions = [decision for raiser in raisers for decision in raiser.decisions]
    if not decisions:
        return program
    return replace(program, launches=launches).with_decisions(*decisions)


class _Launch:
    def __init__(self, program: TileProgram, launch: Launch) -> None:
        self.launch = launch
        self.fast_math = program.options.fast_math
        self.new = NewBlocks(launch)
        self.splitter = LoopSplitter(launch.body, self.new, self.is_product)
        self.boxes = Boxes(self.splitter)
        all_bits = program.options.fp32_acc and not self.fast_math
        self.writer = ProductWriter(self.new, copies_of_few_bits(launch), all_bits=all_bits)
        self.decisions: list[Decision] = []

    def changed(self) -> Launch:
        body = self.body(self.launch.body)
        if not self.decisions:
            return self.launch
        needed = set().union(*map(used, body))
        added = (block for block in self.new.found if block in needed)
        return replace(self.launch, body=body, buffers=(*self.launch.buffers, *added))

    def body(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        statements: list[Stmt] = []
        for stmt in body:
            pieces = self.splitter.pieces(stmt) if _adds(stmt) else (stmt,)
            statements += pieces if self.worth_it(stmt, pieces) else [stmt]
        statements = self.with_blocks(statements)
        targets = {found[0].each.target.source for found in map(self.found, statements) if found is not None}
        result: list[Stmt] = []
        for stmt in statements:
            if (raised := self.raised(stmt)) is not None:
                result += raised
            elif (cleared := _cleared(stmt)) is not None and cleared.dst in targets:
                result.append(cleared)
            else:
                result.append(within(stmt, self.body))
        return tuple(result)

    def worth_it(self, stmt: Stmt, pieces: tuple[Stmt, ...]) -> bool:
        """Whether to take a loop apart: for a product, where sums are all it does, or where it goes along vectors.

        For a reduction alone every round would keep the matrices that the rest of the loop works on.
        """
        found = [self.found(piece) is not None for piece in pieces]
        matrices = any(isinstance(each, Each) and len(each.axes) > 1 for each in walk((stmt,)))
        return any(found) and (all(found) or not matrices or any(map(self.is_product, pieces)))

    def with_blocks(self, statements: list[Stmt]) -> list[Stmt]:
        """Sums into tensors as sums into blocks, where that can be done."""
        for stmt in statements:
            found = self.found(stmt)
            target = found[0].each.target.source if found is not None else None
            if target is not None and (not isinstance(target, Buffer) or target in self.splitter.own):
                kept = self.boxes.kept(statements, target)
                if kept is not None:
                    return self.with_blocks(kept)
        return statements

    def found(self, stmt: Stmt) -> tuple[Nest, list[Sum]] | None:
        """The products of matrices, and reductions, that a statement consists of."""
        nest = nest_of(stmt) if _adds(stmt) else None
        if nest is None:
            return None
        nest = with_fused_loops(nest)
        found = sums(nest, self.fast_math)
        return (nest, found) if found else None

    def is_product(self, stmt: Stmt) -> bool:
        found = self.found(stmt)
        return found is not None and all(one.col is not None for one in found[1])

    def raised(self, stmt: Stmt) -> tuple[Stmt, ...] | None:
        found = self.found(stmt)
        if found is None:
            return None
        nest, parts = found
        self.decisions.append(_decision(nest, parts))
        return tuple(new for one in parts for new in self.writer.statements(nest, one))


def _adds(stmt: Stmt) -> bool:
    """Whether some statement adds to its own target."""
    return any(
        isinstance(each, Each)
        and (each.combine == "sum" or any(access.source is each.target.source for access in each.accesses[1:]))
        for each in walk((stmt,))
    )


def _cleared(stmt: Stmt) -> Fill | None:
    """A statement that fills a whole block with a number."""
    nest = nest_of(stmt) if isinstance(stmt, Each | Loop) else None
    if nest is None or not isinstance(nest.each.target.source, Buffer) or not isinstance(nest.each.value, Number):
        return None
    block = nest.each.target.source
    return Fill(block, nest.each.value.value, nest.each.location) if assigns_all(stmt, block) else None


def _decision(nest: Nest, found: list[Sum]) -> Decision:
    one = found[0]
    what = "a product of matrices, by the matrix engine" if one.col is not None else "a reduction"
    text = f"the sum over {one.along.name} is {what}"
    return Decision("raise_products", nest.each.target.source.name, text, nest.each.location)
