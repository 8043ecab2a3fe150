"""kernel.debug: what a core holds where it stops, against torch."""

from pathlib import Path
from typing import Any

import pytest
import tilelang
import tilelang.language as T
import torch

from tilelang_tt.diagnostics import ArgumentError
from tilelang_tt.execution.debugger import Debugger, Stop

HERE = Path(__file__).read_text().splitlines()
GEMM, EXP = (next(at for at, line in enumerate(HERE, 1) if line.endswith(f"# {word}")) for word in ("gemm", "exp"))


def matmul() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 128), "bfloat16"), B: T.Tensor((64, 128), "bfloat16"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, 1, threads=128):
            A_s = T.alloc_shared((64, 64), "bfloat16")
            B_s = T.alloc_shared((64, 64), "bfloat16")
            C_l = T.alloc_fragment((64, 64), "float32")
            T.clear(C_l)
            for k in T.Pipelined(2, num_stages=2):
                T.copy(A[0, k * 64], A_s)
                T.copy(B[0, k * 64], B_s)
                T.gemm(A_s, B_s, C_l, transpose_B=True)  # gemm
            for i, j in T.Parallel(64, 64):
                C_l[i, j] = T.exp(C_l[i, j])  # exp
            T.copy(C_l, C)

    return main


A = torch.randn(64, 128, generator=torch.Generator().manual_seed(1)).bfloat16()
B = (torch.randn(64, 128, generator=torch.Generator().manual_seed(2)) / 16).bfloat16()


@pytest.fixture(scope="module")
def kernel() -> Any:
    return tilelang.compile(matmul(), target="tenstorrent")


@pytest.fixture
def session(kernel: Any) -> Debugger:
    return kernel.debug(A, B, torch.empty(64, 64))


def stopped(stop: Stop | None) -> Stop:
    assert stop is not None
    return stop


def test_blocks_are_those_of_the_round(session: Debugger) -> None:
    """Bit by bit; B_s lies by columns, because it is transposed, and is shown as the kernel's matrix."""
    for hit in (1, 2):
        stop = stopped(session.run_to(GEMM, hit=hit))
        assert stop.location is not None
        assert stop.location.line == GEMM
        columns = slice(64 * (hit - 1), 64 * hit)
        assert torch.equal(stop["A_s"], A[:, columns].float())
        assert torch.equal(stop["B_s"], B[:, columns].float())
    assert session.run_to(GEMM, hit=3) is None


def test_step(session: Debugger) -> None:
    lines = []
    while (stop := session.step()) is not None and stop.location is not None:
        lines.append(stop.location.line)
    assert lines.count(GEMM) == 2
    assert lines[-1] == EXP


def test_dst_before_a_generated_line(session: Debugger) -> None:
    """Between the product and exp: DST is the product."""
    text = session.compiled.files["compute.cpp"].splitlines()
    line = next(at for at, code in enumerate(text, 1) if "exp_tile(t)" in code)
    stop = stopped(session.run_to(generated=line))
    expected = A.float() @ B.float().T
    assert set(stop.dst) == {0, 1, 2, 3}
    assert torch.allclose(stop.dst[1], expected[:32, 32:], atol=1e-4)


def test_compare(session: Debugger) -> None:
    stop = stopped(session.run_to(GEMM))
    assert stop.compare("A_s", A[:, :64]) == "'A_s' is as expected: all 4,096 elements within 0.0078125"
    wrong = A[:, :64].clone()
    wrong[3, 5] += 8
    assert stop.compare("A_s", wrong).startswith("'A_s' differs in 1 of 4,096 elements, first at [3, 5]: ")


def test_to_the_end(kernel: Any) -> None:
    out = torch.empty(64, 64)
    assert kernel.debug(A, B, out).run() is None
    assert torch.allclose(out, (A.float() @ B.float().T).exp(), rtol=1e-4)


def test_a_breach_is_a_stop(kernel: Any) -> None:
    """A kernel that pops before it waits."""
    session = kernel.debug(A, B, torch.empty(64, 64))
    text = session.compiled.files["compute.cpp"]
    files = {**session.compiled.files, "compute.cpp": text.replace("cb_wait_front(cb_A_s, A_s_tiles);", "", 1)}
    session.compiled = type(session.compiled)(session.compiled.name, files)
    stop = stopped(session.run())
    assert stop.error is not None
    assert stop.error.code == "TT401"
    assert "A_s" in stop.buffers
    assert "contract breach" in str(stop)


@pytest.mark.parametrize(
    ("words", "message"),
    [({"line": 1}, "the compute kernel has nothing of line 1"), ({"generated": 1}, "line 1 of compute.cpp begins no")],
)
def test_places_that_do_not_exist(session: Debugger, words: dict[str, int], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        session.run_to(**words)


def test_names_that_do_not_exist(kernel: Any, session: Debugger) -> None:
    with pytest.raises(ArgumentError, match="there is no buffer 'X' here; there are A_s, B_s"):
        stopped(session.run_to(GEMM))["X"]
    with pytest.raises(ArgumentError, match="there is no launch 'second'"):
        kernel.debug(A, B, torch.empty(64, 64), launch="second")


def test_reader(kernel: Any) -> None:
    session = kernel.debug(A, B, torch.empty(64, 64), role="reader")
    assert session.file == "reader.cpp"
    assert stopped(session.run_to(session.lines[0])).role == "reader"
