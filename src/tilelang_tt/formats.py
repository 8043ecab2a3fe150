"""Data formats of tiles in L1 and DRAM, and which one stands for an element type."""

from __future__ import annotations

# Bytes of one 32x32 tile, by tt::DataFormat name (block formats: mantissas + 64 exponent bytes).
TILE_BYTES: dict[str, int] = {
    "Float32": 4096,
    "Float16": 2048,
    "Float16_b": 2048,
    "Bfp8_b": 1088,
    "Bfp4_b": 576,
    "Int32": 4096,
    "UInt32": 4096,
    "UInt16": 2048,
    "UInt8": 1024,
}

_DTYPE_FORMAT = {"bfloat16": "Float16_b", "float32": "Float32", "bfloat8_b": "Bfp8_b"}


def format_of(dtype: str, float16: str) -> str:
    """The tile format of an element type; `float16` names the type that stands in for float16.

    The SDK's Python side cannot declare float16 buffers, so float16 is stored as float32 by default:
    that keeps its 10 mantissa bits, where bfloat16 would drop three.
    """
    return _DTYPE_FORMAT[float16 if dtype == "float16" else dtype]
