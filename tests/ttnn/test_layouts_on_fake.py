"""ttnn tensors for kernels whose tensors lie as no ttnn tensor can: refused by name, before anything is converted."""

from typing import Any

import pytest
import tilelang.language as T
import torch
from fake_ttnn import FakeTtnn
from test_tensors_on_fake import compiled, place

from tilelang_tt.diagnostics import DeviceError


def table() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 32), "bfloat16"), N: T.Tensor((2,), "int32"), B: T.Tensor((64, 32), "bfloat16")):
        with T.Kernel(2, threads=128) as bx:
            x = T.alloc_shared((32, 32), "bfloat16")
            T.copy(A[N[bx] * 32, 0], x)
            T.copy(x, B[bx * 32, 0])

    return main


def rows() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 32), "float32"), N: T.Tensor((32,), "int32"), B: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            x = T.alloc_shared((32, 32), "float32")
            for i, j in T.Parallel(32, 32):
                x[i, j] = A[N[i], j]
            T.copy(x, B)

    return main


def windows() -> Any:
    @T.prim_func
    def main(A: T.Tensor((96, 32), "bfloat16"), B: T.Tensor((128, 32), "bfloat16")):
        with T.Kernel(4, threads=128) as bx:
            x = T.alloc_shared((24, 32), "bfloat16")
            T.copy(A[bx * 24, 0], x)
            T.copy(x, B[bx * 32, 0])

    return main


WORDS = "as 32-bit words, not in tiles"
PIECES = "in pieces that do not begin at tiles"


@pytest.mark.parametrize(
    ("func", "name", "how"), [(table(), "N", WORDS), (rows(), "N", WORDS), (windows(), "A", PIECES)]
)
def test_no_ttnn_tensor_lies_so(fake: FakeTtnn, ttnn: Any, device: Any, func: Any, name: str, how: str) -> None:
    kernel = compiled(func)
    tensors = [
        place(ttnn, device, torch.zeros(*param.shape, dtype=getattr(torch, param.dtype)), dtype=param.dtype.upper())
        for param in kernel.compiled.plan.params[:-1]
    ]
    with pytest.raises(DeviceError) as caught:
        kernel(*tensors)
    assert str(caught.value) == (
        f"error[TT412]: kernel 'main' takes '{name}' {how}; no ttnn tensor lies so\n  help: pass torch tensors"
    )
    assert fake.programs() == []
    assert "typecast" not in str(ttnn.calls)
