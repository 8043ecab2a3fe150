"""What scalar code needs of L1: its blocks, and for each tensor a line of it."""

from __future__ import annotations

import math

from tilelang_tt.formats import element_bits
from tilelang_tt.ir.buffers import Buffer, Memory
from tilelang_tt.ir.code import Code, used_tensors

ALIGNED = 64  # of blocks in L1
LINE_ROOM = 320  # bytes of L1 for each tensor: `Elements::room`


def room_of(code: Code) -> int:
    """Bytes of L1 that scalar code needs."""
    tensors = {tensor.param for tensor in used_tensors(code)}
    blocks = [block for block in code.blocks if not is_variable(code, block)]
    return sum(aligned(bytes_of(block)) for block in blocks) + len(tensors) * LINE_ROOM  # aligned, too


def is_variable(code: Code, block: Buffer) -> bool:
    """Whether a block is a variable of the C++ program: one element, and no other name for its bytes."""
    shared = any(block in pair for pair in code.views)
    return math.prod(block.shape) == 1 and block.memory is not Memory.SHARED and not shared


def bytes_of(block: Buffer) -> int:
    return -(-math.prod(block.shape) * element_bits(block.dtype) // 8)


def aligned(size: int) -> int:
    return -(-size // ALIGNED) * ALIGNED
