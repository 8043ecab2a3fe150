"""T.rng_*: cuRAND's generators, against plain references, published vectors and numbers that GPUs drew."""

import math

import numpy as np
import pytest
import tilelang
import tilelang.language as T
import torch

pytestmark = pytest.mark.filterwarnings("ignore:.*TT702")
THREADS, WORDS = 32, 11
LOW = 0xFFFFFFFF
PHILOX, XORWOW, MRG = "curandStatePhilox4_32_10_t", "curandStateXORWOW_t", "curandStateMRG32k3a_t"


# --- references ---------------------------------------------------------------------------------------


def philox(counter: int, key: int) -> list[int]:
    words = [counter >> 32 * place & LOW for place in range(4)]
    keys = [key & LOW, key >> 32]
    for _ in range(10):
        high, low = divmod(0xD2511F53 * words[0], 1 << 32), divmod(0xCD9E8D57 * words[2], 1 << 32)
        words = [low[0] ^ words[1] ^ keys[0], low[1], high[0] ^ words[3] ^ keys[1], high[1]]
        keys = [(keys[0] + 0x9E3779B9) % (1 << 32), (keys[1] + 0xBB67AE85) % (1 << 32)]
    return words


def philox_words(seed: int, sequence: int, offset: int, count: int) -> list[int]:
    counters = (number + (sequence << 64) for number in range((offset + count) // 4 + 1))
    return [word for counter in counters for word in philox(counter, seed)][offset : offset + count]


def xorshift(state: int) -> int:
    """One step of XORWOW's five words, as a number of 160 bits."""
    v = [state >> 32 * place & LOW for place in range(5)]
    t = v[0] ^ v[0] >> 2
    new = v[4] ^ v[4] << 4 ^ t ^ t << 1
    return sum(word << 32 * place for place, word in enumerate((*v[1:], new & LOW)))


def times(matrix: list[int], vector: int) -> int:
    """A matrix over GF(2), by columns, and a vector."""
    found = 0
    for place, column in enumerate(matrix):
        found ^= column if vector >> place & 1 else 0
    return found


def jump_of_sequences() -> list[int]:
    """The matrix of 2^67 steps."""
    matrix = [xorshift(1 << place) for place in range(160)]
    for _ in range(67):
        matrix = [times(matrix, column) for column in matrix]
    return matrix


JUMP = jump_of_sequences()


def xorwow_words(seed: int, sequence: int, offset: int, count: int) -> list[int]:
    t0 = 1099087573 * ((seed & LOW) ^ 0xAAD26B49) & LOW
    t1 = 2591861531 * ((seed >> 32) ^ 0xF7DCEFDD) & LOW
    words = (123456789 + t0, 362436069 ^ t0, 521288629 + t1, 88675123 ^ t1, 5783321 + t0)
    state = sum((word & LOW) << 32 * place for place, word in enumerate(words))
    for _ in range(sequence):
        state = times(JUMP, state)
    found = []
    for number in range(1, offset + count + 1):
        state = xorshift(state)
        found.append((state >> 128) + 6615241 + t0 + t1 + 362437 * number & LOW)
    return found[offset:]


PRIMES = (4294967087, 4294944443)


def mrg_numbers(seed: int, sequence: int, offset: int, count: int) -> list[int]:
    x1, x2 = (seed & LOW) ^ 0x55555555, (seed >> 32) ^ 0xAAAAAAAA
    salted = (x1, x2, x1, x2, x1, x2) if seed else (1,) * 6
    state = [12345 * salt % PRIMES[place // 3] for place, salt in enumerate(salted)]
    parts = []
    for which, factors in enumerate(((-810728, 1403580, 0), (-1370589, 0, 527612))):
        matrix = np.array([[0, 1, 0], [0, 0, 1], factors], object)
        power, part = (sequence << 76) + offset, np.array(state[3 * which : 3 * which + 3], object)
        while power:
            part = matrix @ part % PRIMES[which] if power & 1 else part
            matrix, power = matrix @ matrix % PRIMES[which], power >> 1
        new = []
        for _ in range(count):
            part = np.array([part[1], part[2], int(np.dot(factors, part)) % PRIMES[which]], object)
            new.append(part[2])
        parts.append(new)
    return [a - b if a > b else a - b + PRIMES[0] for a, b in zip(*parts, strict=True)]


def mrg_words(seed: int, sequence: int, offset: int, count: int) -> list[int]:
    return [min(int(float(number) * 1.000000048662), LOW) for number in mrg_numbers(seed, sequence, offset, count)]


WORDS_OF = {PHILOX: philox_words, XORWOW: xorwow_words, MRG: mrg_words}


def test_published_vectors():
    assert philox(0, 0) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    # L'Ecuyer's own first numbers.
    first = [number / (PRIMES[0] + 1) for number in mrg_numbers(0, 0, 0, 3)]
    assert [round(number, 10) for number in first] == [0.127011122, 0.3185275654, 0.3091860156]
    # What GPUs drew with curand_init(0, thread, 0), as float32: threads 0, 1 and 2.
    drawn = {
        0: (0.74021935, 0.43845114, 0.51701266, 0.15698862),
        1: (0.9209938, 0.46036443, 0.33346406),
        2: (0.03902049,),
    }
    for thread, numbers in drawn.items():
        words = np.array(xorwow_words(0, thread, 0, len(numbers)), np.uint32)
        assert (uniform(words) == np.array(numbers, np.float32)).all()


def uniform(words):
    return words.astype(np.float32) * np.float32(2**-32) + np.float32(2**-33)


# --- on the device ------------------------------------------------------------------------------------


def drawn(generator: str, seed: int, offset: int, factor: int = 1):
    """Words and a number of each thread; its sequence is a multiple of its index."""

    @T.prim_func
    def main(A: T.Tensor((THREADS, WORDS), "uint32"), B: T.Tensor((THREADS,), "float32")):
        with T.Kernel(1, threads=THREADS):
            tx = T.get_thread_binding()
            T.rng_init(seed, tx * factor, offset, generator=generator)
            for k in T.serial(WORDS):
                A[tx, k] = T.rng_rand()
            B[tx] = T.rng_rand_float()

    words, floats = torch.zeros(THREADS, WORDS, dtype=torch.uint32), torch.zeros(THREADS)
    tilelang.compile(main, target="tenstorrent")(words, floats)
    return words.tolist(), floats.numpy()


@pytest.mark.parametrize(("seed", "offset"), [(0, 0), (42, 3), (123456789, 6)])
@pytest.mark.parametrize("generator", WORDS_OF)
def test_words(generator, seed, offset):
    words, floats = drawn(generator, seed, offset)
    for thread in range(THREADS):
        stream = WORDS_OF[generator](seed, thread, offset, WORDS + 1)
        assert words[thread] == stream[:WORDS]
        if generator == MRG:
            exact = np.float32(mrg_numbers(seed, thread, offset + WORDS, 1)[0] * 2.3283065498378288e-10)
        else:
            exact = uniform(np.array(stream[-1:], np.uint32))[0]
        assert floats[thread] == exact


def test_far_sequences_and_offsets():
    """The offset times the step of XORWOW's counter passes 2^32; the seed has two halves."""

    @T.prim_func
    def main(A: T.Tensor((3, 4), "uint32"), S: T.Tensor((1,), "int64"), sequence: T.int32, offset: T.int32):
        with T.Kernel(1, threads=1):
            for k in T.serial(4):
                T.rng_init(S[0], sequence, offset + k, generator=XORWOW)
                A[0, k] = T.rng_rand()
            for k in T.serial(4):
                T.rng_init(S[0], sequence, offset + k, generator=MRG)
                A[1, k] = T.rng_rand()
            for k in T.serial(4):
                T.rng_init(S[0], sequence, offset + k)
                A[2, k] = T.rng_rand()

    seed, sequence, offset = 0x123456789ABCDEF, 1043, 20011
    words = torch.zeros(3, 4, dtype=torch.uint32)
    tilelang.compile(main, target="tenstorrent")(words, torch.tensor([seed]), sequence, offset)
    for row, generator in enumerate((XORWOW, MRG, PHILOX)):
        assert words[row].tolist() == WORDS_OF[generator](seed, sequence, offset, 4)


def numbers_of(generator: str, seed: int):
    """Numbers of every distribution, one after the other: pairs of normal numbers are kept between other draws."""

    @T.prim_func
    def main(A: T.Tensor((THREADS, 5), "float32"), B: T.Tensor((THREADS, 4), "float64")):
        with T.Kernel(1, threads=THREADS):
            tx = T.get_thread_binding()
            T.rng_init(seed, tx, 0, generator=generator)
            A[tx, 0] = T.rng_rand_float(dist="normal")
            B[tx, 0] = T.rng_rand_float(64)
            A[tx, 1] = T.rng_rand_float(dist="normal")
            B[tx, 1] = T.rng_rand_float(64, "normal")
            A[tx, 2] = T.rng_rand_float()
            B[tx, 2] = T.rng_rand_float(64, "normal")
            A[tx, 3] = T.rng_rand_float(dist="normal")
            A[tx, 4] = T.rng_rand_float(dist="normal")
            B[tx, 3] = T.rng_rand_float(64)

    floats, doubles = torch.zeros(THREADS, 5), torch.zeros(THREADS, 4, dtype=torch.float64)
    tilelang.compile(main, target="tenstorrent")(floats, doubles)
    return floats.numpy(), doubles.numpy()


def pair(u: float, turns: float) -> tuple[float, float]:
    size = math.sqrt(-2 * math.log(u))
    return size * math.sin(2 * math.pi * turns), size * math.cos(2 * math.pi * turns)


class Draws:
    """Uniform numbers of words."""

    def __init__(self, words: list[int], generator: str) -> None:
        self.words, self.generator = iter(words), generator

    def one(self) -> float:
        return (next(self.words) + 0.5) * 2**-32

    def long(self) -> float:
        first = next(self.words)
        return float((first ^ next(self.words) << 21) * 2**-53 + 2**-54)

    def double(self) -> float:
        return self.long() if self.generator == XORWOW else (next(self.words) + 1) * 2**-32


@pytest.mark.parametrize("generator", [PHILOX, XORWOW])
def test_distributions_of_words(generator):
    floats, doubles = numbers_of(generator, 5)
    for thread in range(THREADS):
        draw = Draws(WORDS_OF[generator](5, thread, 0, 20), generator)
        normal = pair(draw.one(), draw.one())
        double = [draw.double()]
        wide = pair(draw.long(), draw.long())
        plain = draw.one()
        more = pair(draw.one(), draw.one())
        double += [draw.double()]
        assert np.allclose(floats[thread], [*normal, plain, *more], rtol=0, atol=3e-6)
        assert doubles[thread, [0, 3]].tolist() == double
        assert np.allclose(doubles[thread, 1:3], wide, rtol=0, atol=1e-14)


def test_distributions_of_mrg32k3a():
    floats, doubles = numbers_of(MRG, 5)
    for thread in range(THREADS):
        numbers = [number * 2.3283065498378288e-10 for number in mrg_numbers(5, thread, 0, 9)]
        wanted = [*pair(*numbers[:2]), numbers[5], *pair(*numbers[6:8])]
        assert np.allclose(floats[thread], wanted, rtol=0, atol=3e-6)
        assert doubles[thread, [0, 3]].tolist() == [numbers[2], numbers[8]]
        assert np.allclose(doubles[thread, 1:3], pair(*numbers[3:5]), rtol=0, atol=1e-14)
