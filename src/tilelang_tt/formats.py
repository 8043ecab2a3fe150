"""Data formats of tiles in L1 and DRAM, and which one stands for an element type."""

from __future__ import annotations

import re

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

# The tile format that holds every value of an element type. The chip computes with 16- and 32-bit floats and 32-bit
# integers; a narrower type is kept in a wider format, and the host converts on the way in and out.
_FORMATS: dict[str, str] = {
    "bfloat16": "Float16_b",
    "float32": "Float32",
    "float8_e4m3": "Float16_b",  # TileLang's other name for float8_e4m3fn
    "float8_e4m3fn": "Float16_b",
    "float8_e4m3fnuz": "Float16_b",
    "float8_e5m2": "Float16_b",
    "float8_e5m2fnuz": "Float16_b",
    "bool": "Float16_b",
    "int8": "Float16_b",
    "uint8": "Float16_b",
    "int16": "Float32",
    "uint16": "Float32",
    "int32": "Int32",
    "uint32": "UInt32",
    "int64": "Int32",  # of numbers that steer, which a call checks
    "bfloat8_b": "Bfp8_b",  # these two by target option
    "bfloat4_b": "Bfp4_b",
}
BY_OPTION = ("bfloat8_b", "bfloat4_b")  # how tensors may be stored, apart from the format that the dtype implies

# Element types of tensors and blocks, as TileLang names them.
DTYPES = ("float16", *(dtype for dtype in _FORMATS if dtype not in (*BY_OPTION, "int64")))
STEERING_DTYPES = ("int64",)  # more of them, for tensors whose elements steer and do nothing else
STORED = frozenset((*DTYPES, *STEERING_DTYPES))  # types of tensors that may lie in tiles
INTEGERS = frozenset(("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32"))
# Floats of 8 bits by the layout of those bits; the others are stored, but nothing rounds to them.
FLOAT8 = {"float8_e4m3": "e4m3", "float8_e4m3fn": "e4m3", "float8_e5m2": "e5m2"}
BLOCK_FORMATS = frozenset(("Bfp8_b", "Bfp4_b"))  # sixteen numbers share an exponent
EIGHT_BITS = frozenset(("Float16_b", "Bfp8_b", "Bfp4_b"))  # numbers with at most 8 significant bits
INTEGER_FORMATS = frozenset(("Int32", "UInt32", "UInt16", "UInt8"))

FLAT_PAGE_BYTES = 4096  # of a tensor without tiles, whose elements follow each other in the bytes of their own type


def is_float(dtype: str) -> bool:
    return dtype.startswith(("float", "bfloat"))


def element_bits(dtype: str) -> int:
    """Bits of an element type, by the name that TileLang gives it."""
    if dtype == "bool":
        return 8
    found = re.match(r"[a-z]+(\d+)", dtype)
    assert found is not None, dtype
    return int(found[1])


def flat_format(dtype: str) -> str:
    """The format that stands for the words of a flat tensor; elements of 8 bytes are two words."""
    return {1: "UInt8", 2: "UInt16"}.get(-(-element_bits(dtype) // 8), "UInt32")


def format_of(dtype: str, float16: str) -> str:
    """The tile format of an element type; `float16` names the type that stands in for float16.

    The SDK's Python side cannot declare float16 buffers, so float16 is stored as float32 by default:
    that keeps its 10 mantissa bits, where bfloat16 would drop three.
    """
    return _FORMATS[float16 if dtype == "float16" else dtype]


def storage_note(dtype: str, format: str) -> str:
    """What a user should know about this format for this type; empty where it is the type's own."""
    if format in BLOCK_FORMATS:
        return "block floating point by option"
    if dtype == "float16":
        return f"float16 is stored as {format}" + (
            " so that it keeps its 10 mantissa bits" if format == "Float32" else ", which rounds to 7 mantissa bits"
        )
    if dtype in ("bfloat16", "float32", "int32", "uint32"):
        return ""
    return f"{dtype} is stored as {format}, which holds all of its values"
