"""T.rng_rand gives the words of Philox 4x32-10: against its published vectors and a plain reference."""

import pytest
import tilelang
import tilelang.language as T
import torch

pytestmark = pytest.mark.filterwarnings("ignore:.*TT702")
THREADS, WORDS = 32, 11


def philox(counter: int, key: int) -> list[int]:
    words = [counter >> 32 * place & 0xFFFFFFFF for place in range(4)]
    keys = [key & 0xFFFFFFFF, key >> 32]
    for _ in range(10):
        high, low = divmod(0xD2511F53 * words[0], 1 << 32), divmod(0xCD9E8D57 * words[2], 1 << 32)
        words = [low[0] ^ words[1] ^ keys[0], low[1], high[0] ^ words[3] ^ keys[1], high[1]]
        keys = [(keys[0] + 0x9E3779B9) % (1 << 32), (keys[1] + 0xBB67AE85) % (1 << 32)]
    return words


def drawn(seed: int, offset: int):
    @T.prim_func
    def main(A: T.Tensor((THREADS, WORDS), "uint32"), B: T.Tensor((THREADS,), "float32")):
        with T.Kernel(1, threads=THREADS):
            tx = T.get_thread_binding()
            T.rng_init(seed, tx, offset)
            for k in T.serial(WORDS):
                A[tx, k] = T.rng_rand()
            B[tx] = T.rng_rand_float()

    words, floats = torch.zeros(THREADS, WORDS, dtype=torch.uint32), torch.zeros(THREADS)
    tilelang.compile(main, target="tenstorrent")(words, floats)
    return words.tolist(), floats.tolist()


@pytest.mark.parametrize(("seed", "offset"), [(0, 0), (42, 3), (123456789, 6)])
def test_words(seed, offset):
    words, floats = drawn(seed, offset)
    for thread in range(THREADS):
        counters = (number + (thread << 64) for number in range(6))
        stream = [word for counter in counters for word in philox(counter, seed)][offset:]
        assert words[thread] == stream[:WORDS]
        exact = torch.tensor(stream[WORDS], dtype=torch.float64).float() * 2**-32 + 2**-33
        assert floats[thread] == exact.item()


def test_published_vector():
    assert philox(0, 0) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
