"""Scalar code computes every operation in its type, to the last bit: against NumPy, with numbers of all kinds."""

import math

import ml_dtypes
import numpy as np
import pytest
import tilelang
import tilelang.language as T
import torch

from tilelang_tt.diagnostics import TenstorrentWarning, UnsupportedError

THREADS, COUNT = 64, 512
FLOATS = ("float16", "bfloat16", "float32", "float64")
SMALL_FLOATS = ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu")
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
LARGEST = {"float8_e4m3fn": 448.0, "float8_e5m2": 57344.0, "float8_e4m3fnuz": 240.0, "float8_e5m2fnuz": 57344.0}

pytestmark = pytest.mark.filterwarnings("ignore:.*TT702")


def numpy_type(dtype):
    return np.dtype(getattr(ml_dtypes, dtype, None) or dtype)


def as_torch(array, dtype):
    bits = array.view({1: np.uint8, 2: np.int16, 4: np.int32, 8: np.int64}[array.dtype.itemsize])
    return torch.from_numpy(bits.copy()).view(getattr(torch, dtype))


def as_numpy(tensor, dtype):
    return (
        tensor.view({1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[tensor.itemsize])
        .numpy()
        .view(numpy_type(dtype))
    )


def numbers(dtype, seed):
    """Bits of all kinds: NaN, infinities, zeros, denormals, ends of the range among them."""
    form, random = numpy_type(dtype), np.random.default_rng(seed)
    found = random.integers(0, 256, COUNT * form.itemsize, dtype=np.uint8).view(form)
    if dtype in INTEGERS:
        low, high = np.iinfo(form).min, np.iinfo(form).max
        found[:6] = np.array([low, high, 0, 1, low + 1, high - 1]).astype(form)
        found[6:200] = random.integers(0, 20, 194).astype(form)
    else:
        found[200:] = random.normal(size=COUNT - 200).astype(form)
        found[:6] = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0]).astype(form)
    return found


def same(got, wanted):
    """Equal bits, or both NaN."""
    bits = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}[got.dtype.itemsize]
    equal = got.view(bits) == wanted.view(bits)
    if got.dtype.kind not in "iub":
        equal |= np.isnan(got.astype(np.float64)) & np.isnan(wanted.astype(np.float64))
    return equal


def scalar_code(dtype, results, operations):
    """One thread an element, which the tile engines cannot do: as many results as operations."""

    @T.prim_func
    def main(A: T.Tensor((COUNT,), dtype), B: T.Tensor((COUNT,), dtype), C: T.Tensor((results, COUNT), dtype)):
        with T.Kernel(COUNT // THREADS, threads=THREADS) as bx:
            at = bx * THREADS + T.get_thread_binding()
            for number, operation in enumerate(operations):
                C[number, at] = operation(A[at], B[at])

    return tilelang.compile(main, target="tenstorrent")


def run(dtype, operations):
    a, b = numbers(dtype, 1), numbers(dtype, 2)
    if dtype in INTEGERS:
        b = np.where(b == 0, np.ones_like(b), b)  # nobody divides by zero
        b[0] = b.dtype.type(0) - b.dtype.type(1)  # the least number by -1
    c = as_torch(np.zeros((len(operations), COUNT), numpy_type(dtype)), dtype)
    scalar_code(dtype, len(operations), operations)(as_torch(a, dtype), as_torch(b, dtype), c)
    return a, b, as_numpy(c, dtype)


@pytest.mark.parametrize("dtype", FLOATS)
def test_arithmetic_of_floats(dtype):
    operations = [lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, lambda a, b: a / b]
    a, b, got = run(dtype, operations)
    with np.errstate(all="ignore"):
        for number, operation in enumerate(operations):
            assert same(got[number], operation(a, b).astype(a.dtype)).all(), number


@pytest.mark.parametrize("dtype", INTEGERS)
def test_arithmetic_of_integers(dtype):
    """What does not fit wraps around; bits and shifts too."""
    by = 3
    operations = [
        lambda a, b: a + b,
        lambda a, b: a - b,
        lambda a, b: a * b,
        lambda a, b: a & b,
        lambda a, b: a | b,
        lambda a, b: a ^ b,
        lambda a, _: a << by,
        lambda a, _: a >> by,
    ]
    a, b, got = run(dtype, operations)
    with np.errstate(all="ignore"):
        for number, operation in enumerate(operations):
            assert same(got[number], operation(a, b).astype(a.dtype)).all(), number


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint32", "int64"])
def test_divisions_of_integers(dtype):
    """// and % round down; T.truncdiv and T.truncmod towards zero."""
    operations = [T.floordiv, T.floormod, T.truncdiv, T.truncmod, T.max, T.min]
    a, b, got = run(dtype, [*operations, lambda a, b: T.cast(a >= T.floormod(a, b), dtype)])
    with np.errstate(all="ignore"):
        down = np.where((a == np.iinfo(a.dtype).min) & (b.astype(np.float64) == -1), a, a // b)
        rest = (a - down * b).astype(a.dtype)
        cut = (down + ((rest != 0) & ((a < 0) != (b < 0)))).astype(a.dtype)
        left = (a - cut * b).astype(a.dtype)
    for number, wanted in enumerate((down, rest, cut, left, np.maximum(a, b), np.minimum(a, b), a >= rest)):
        assert same(got[number], wanted.astype(a.dtype)).all(), number


def converted(dtype, results):
    @T.prim_func
    def main(A: T.Tensor((COUNT,), dtype), B: T.Tensor((COUNT,), results)):
        with T.Kernel(COUNT // THREADS, threads=THREADS) as bx:
            at = bx * THREADS + T.get_thread_binding()
            B[at] = T.cast(A[at], results)

    return tilelang.compile(main, target="tenstorrent")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", *SMALL_FLOATS])
def test_narrow_floats(dtype):
    """To fewer bits: nearest, ties to even; 8 bits end at their largest number. And back."""
    a = numbers("float32", 3)
    got = as_torch(np.zeros(COUNT, numpy_type(dtype)), dtype)
    converted("float32", dtype)(as_torch(a, "float32"), got)
    found = as_numpy(got, dtype)
    with np.errstate(all="ignore"):
        if dtype == "float8_e8m0fnu":
            wanted = np.exp2(np.clip(np.ceil(np.log2(np.abs(a.astype(np.float64)))), -127, 127)).astype(found.dtype)
        elif dtype in LARGEST:
            kept = np.where(np.isnan(a), a, np.clip(a, -LARGEST[dtype], LARGEST[dtype])).astype(np.float32)
            wanted = kept.astype(found.dtype)
        else:
            wanted = a.astype(found.dtype)
    assert same(found, wanted).all()
    back = torch.zeros(COUNT)
    converted(dtype, "float32")(got, back)
    assert same(back.numpy(), found.astype(np.float32)).all()


@pytest.mark.parametrize("dtype", INTEGERS)
def test_floats_to_integers(dtype):
    """Towards zero; beyond the ends of the type its end, NaN is 0."""
    a, form = numbers("float32", 4) * np.float32(100), numpy_type(dtype)
    got = torch.zeros(COUNT, dtype=getattr(torch, dtype))
    converted("float32", dtype)(torch.from_numpy(a), got)
    low, high = np.iinfo(form).min, np.iinfo(form).max
    wanted = [0 if np.isnan(x) else int(min(max(float(x), float(low)), float(high))) for x in a]
    assert as_numpy(got, dtype).tolist() == [min(x, high) for x in wanted]


FUNCTIONS = {
    **{name: getattr(np, name) for name in ("exp", "exp2", "log", "log2", "log10", "log1p", "sin", "cos", "tan")},
    **{name: getattr(np, name) for name in ("sinh", "cosh", "tanh", "sqrt", "floor", "ceil", "trunc")},
    **{f"a{name}": getattr(np, f"arc{name}") for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    "nearbyint": np.rint,
    "exp10": lambda x: np.power(10.0, x),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "erf": np.vectorize(math.erf, otypes=[np.float64]),
}
FUNCTIONS_OF_TWO = {"pow": np.power, "atan2": np.arctan2, "hypot": np.hypot, "fmod": np.fmod, "copysign": np.copysign}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_functions(dtype):
    """The nearest number of the type, of the smallest and the largest arguments too."""
    of_two = {name: function for name, function in FUNCTIONS_OF_TWO.items() if dtype != "bfloat16" or name != "pow"}
    calls = [lambda a, _, name=name: getattr(T, name)(a) for name in FUNCTIONS]
    calls += [lambda a, b, name=name: getattr(T, name)(a, b) for name in of_two]  # TVM has no pow of bfloat16
    a, b, got = run(dtype, calls)
    wide = a.astype(np.float64), b.astype(np.float64)
    for number, (name, function) in enumerate((FUNCTIONS | of_two).items()):
        with np.errstate(all="ignore"):
            exact = function(*wide[: 2 if name in FUNCTIONS_OF_TWO else 1])
        wanted = exact.astype(np.float32).astype(a.dtype)
        assert same(got[number], wanted).all(), (name, a[~same(got[number], wanted)][:4], got[number], wanted)


# --- what the user is told ------------------------------------------------------------------------


def threads_kernel():
    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            B[tx] = A[63 - tx]

    return main


@pytest.mark.filterwarnings("default")
def test_the_warning_says_where_why_and_how_long():
    with pytest.warns(TenstorrentWarning) as caught:
        kernel = tilelang.compile(threads_kernel(), target="tenstorrent")
    (text,) = [str(one.message) for one in caught]
    place, _, rest = text.partition(": warning[TT702]: ")
    assert place.endswith(f"test_scalar_code.py:{threads_kernel.__code__.co_firstlineno + 5}")
    assert rest.startswith(
        "this kernel runs as scalar code on the cores' small processors, element by element: the kernel uses the "
        "thread index 'tx' (about 0.0"
    )
    assert "\n    B[tx] = A[63 - tx]\n  help: " in rest
    a, b = torch.arange(64.0), torch.zeros(64)
    kernel(a, b)
    assert torch.equal(b, a.flip(0))


def test_it_can_be_refused():
    with pytest.raises(UnsupportedError, match=r"error\[TT101\]: the kernel uses the thread index 'tx'"):
        tilelang.compile(threads_kernel(), target="tenstorrent -scalar_code=false")
