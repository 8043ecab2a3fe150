"""Operations on whole numbers and truth values; results are exact. Ranges keep them inside int8 and uint8."""

import tilelang.language as T
import torch
from element_cases import Case, truth


def _whole(op, kernel, reference, x, y):
    return Case(op, kernel, reference, x, y, whole=True)


INTEGERS = (
    _whole("add", lambda x, y: x + y, lambda x, y: x + y, (0, 60), (0, 60)),
    _whole("sub", lambda x, y: x - y, lambda x, y: x - y, (50, 99), (0, 50)),
    _whole("mul", lambda x, y: x * y, lambda x, y: x * y, (0, 11), (0, 11)),
    _whole("floor_div", lambda x, y: x // 7, lambda x, y: (x / 7).floor(), (0, 99), (0, 9)),
    _whole("floor_mod", lambda x, y: x % 7, lambda x, y: x.remainder(7), (0, 99), (0, 9)),
    _whole("max", lambda x, y: T.max(x, y), torch.maximum, (0, 99), (0, 99)),
    _whole("min", lambda x, y: T.min(x, y), torch.minimum, (0, 99), (0, 99)),
    *(
        _whole(
            op,
            lambda x, y, f=f: T.if_then_else(f(x, y), T.cast(1, x.dtype), T.cast(0, x.dtype)),
            lambda x, y, f=f: truth(f(x, y)),
            (0, 5),
            (0, 5),
        )
        for op, f in {
            "eq": lambda x, y: x == y,
            "ne": lambda x, y: x != y,
            "lt": lambda x, y: x < y,
            "gt": lambda x, y: x > y,
            "le": lambda x, y: x <= y,
            "ge": lambda x, y: x >= y,
        }.items()
    ),
    _whole(
        "where",
        lambda x, y: T.if_then_else(x > y, x, y + T.cast(1, x.dtype)),
        lambda x, y: torch.where(x > y, x, y + 1),
        (0, 99),
        (0, 99),
    ),
    _whole("bit_and", lambda x, y: x & y, lambda x, y: (x.long() & y.long()).double(), (0, 99), (0, 99)),
    _whole("bit_or", lambda x, y: x | y, lambda x, y: (x.long() | y.long()).double(), (0, 99), (0, 99)),
    _whole("bit_xor", lambda x, y: x ^ y, lambda x, y: (x.long() ^ y.long()).double(), (0, 99), (0, 99)),
    _whole("shift_left", lambda x, y: x << T.cast(3, x.dtype), lambda x, y: x * 8, (0, 15), (0, 9)),
    _whole("shift_right", lambda x, y: x >> T.cast(3, x.dtype), lambda x, y: (x / 8).floor(), (0, 99), (0, 9)),
)

TRUTH_VALUES = (
    _whole("and", lambda x, y: T.And(x, y), lambda x, y: truth((x > 0) & (y > 0)), (0, 1), (0, 1)),
    _whole("or", lambda x, y: T.Or(x, y), lambda x, y: truth((x > 0) | (y > 0)), (0, 1), (0, 1)),
    _whole("not", lambda x, y: T.Not(x), lambda x, y: 1 - x, (0, 1), (0, 1)),
    _whole("where", lambda x, y: T.if_then_else(x, y, T.Not(y)), lambda x, y: truth(x == y), (0, 1), (0, 1)),
)
