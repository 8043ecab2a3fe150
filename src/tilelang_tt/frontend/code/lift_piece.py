"""Lift a piece that was cut out of a T.Kernel: scalar code among tile operations.

before   piece 0 (bx, k + 2)          after    Code bx = bx, k = k + 2
                                                 ...
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tvm import tirx

from tilelang_tt.frontend.code.check_blocks_filled import check_blocks_filled
from tilelang_tt.frontend.code.check_places_inside import check_places_inside
from tilelang_tt.frontend.code.declarations import Declarations
from tilelang_tt.frontend.code.lift_code import lift_statement
from tilelang_tt.frontend.scope import Scope
from tilelang_tt.frontend.tir.cut_out_code import Piece
from tilelang_tt.ir import fields, scalar
from tilelang_tt.ir.code import Code, Input
from tilelang_tt.ir.scalar import Expr


def lift_piece(scope: Scope, piece: Piece, numbers: Sequence[Expr], why: str) -> Code:
    """`numbers`: what its inputs are where it stands."""
    declared = _declarations(scope, piece)
    code = lift_statement(declared, piece.body, dict(piece.threads), why, piece.location)
    check_places_inside(check_blocks_filled(code))
    for buffer, tensor in declared.tensors.items():
        if buffer not in scope.tensors:
            (scope.tensors if tensor.workspace else scope.tensor_views)[buffer] = tensor
    names = {var: tirx.Var(var.name, var.dtype) for var in piece.inputs}
    inputs = tuple(Input(names[var], value) for var, value in zip(piece.inputs, numbers, strict=True))
    renamed = fields.rebuilt(code.body, lambda old, _: names.get(old) if scalar.is_var(old) else None)
    return replace(code, body=renamed, inputs=inputs)


def _declarations(scope: Scope, piece: Piece) -> Declarations:
    """The tensors of the function, and the piece's own blocks."""
    declared = Declarations(scope.func)
    declared.names, declared.grid = {tensor.name for tensor in scope.tensors.values()}, piece.grid
    for buffer, tensor in (*scope.tensor_views.items(), *scope.tensors.items()):
        declared.know(buffer, tensor)
    for buffer in piece.blocks:
        declared.allocate(buffer)
    return declared
