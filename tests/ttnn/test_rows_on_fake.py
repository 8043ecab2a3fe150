"""Kernels whose pages are rows, on ttnn tensors: those in ROW_MAJOR_LAYOUT are used where they lie.

Against the stand-in for ttnn: right calls with right numbers, NOT proof that a device runs them.
"""

from typing import Any

import pytest
import tilelang
import tilelang.language as T
import torch
from fake_ttnn import FakeTtnn
from test_tensors_on_fake import place, random, refused


def twice(shape: tuple[int, ...], dtype: str = "bfloat16") -> Any:
    """2 A, in blocks of 64 x 32 of the last two axes."""
    rows, cols = shape[-2:]
    if len(shape) == 3:
        return _of_matrices(shape, dtype)

    @T.prim_func
    def matrix(A: T.Tensor(shape, dtype), C: T.Tensor(shape, dtype)):
        with T.Kernel(T.ceildiv(cols, 32), T.ceildiv(rows, 64)) as (bx, by):
            block = T.alloc_fragment((64, 32), dtype)
            T.copy(A[by * 64, bx * 32], block)
            for i, j in T.Parallel(64, 32):
                block[i, j] += block[i, j]
            T.copy(block, C[by * 64, bx * 32])

    return matrix


def _of_matrices(shape: tuple[int, ...], dtype: str) -> Any:
    batch, rows, cols = shape

    @T.prim_func
    def matrices(A: T.Tensor(shape, dtype), C: T.Tensor(shape, dtype)):
        with T.Kernel(T.ceildiv(cols, 32), T.ceildiv(rows, 64), batch) as (bx, by, bz):
            block = T.alloc_fragment((64, 32), dtype)
            T.copy(A[bz, by * 64 : by * 64 + 64, bx * 32 : bx * 32 + 32], block)
            for i, j in T.Parallel(64, 32):
                block[i, j] += block[i, j]
            T.copy(block, C[bz, by * 64 : by * 64 + 64, bx * 32 : bx * 32 + 32])

    return matrices


def compiled(func: Any, out_idx: Any = (-1,), names: str = "AC", **options: Any) -> Any:
    layout = {name: {"pages": "row"} for name in names}
    return tilelang.compile(func, out_idx=list(out_idx), target={"kind": "tenstorrent", "layout": layout, **options})


@pytest.mark.parametrize("memory", ["dram interleaved", "l1", "sharded"])
@pytest.mark.parametrize(
    ("shape", "dtype"), [((100, 64), "bfloat16"), ((3, 40, 96), "bfloat16"), ((33, 32), "float32")]
)
def test_rows_are_used_where_they_lie(
    ttnn: Any, device: Any, fake: FakeTtnn, shape: tuple[int, ...], dtype: str, memory: str
) -> None:
    kernel = compiled(twice(shape, dtype))
    a = random(*shape).to(getattr(torch, dtype))
    given = place(ttnn, device, a, layout="ROW_MAJOR", memory=memory)
    got = kernel(given)
    assert (got.layout, got.shape) == (ttnn.ROW_MAJOR_LAYOUT, shape)
    assert torch.equal(got.to_torch(), a + a)
    assert (ttnn.calls, kernel.last_report.notes) == ([], ())
    (program,) = fake.programs()
    assert program["tensors"] == [given.buffer_address(), got.buffer_address()]


@pytest.mark.parametrize(
    ("how", "shape", "calls", "note"),
    [
        ({"layout": "TILE"}, (64, 64), ["to_layout"], "untilized"),
        ({"layout": "ROW_MAJOR"}, (100, 70), ["pad", "slice"], "widened with zeros"),
        ({"layout": "TILE"}, (40, 33), ["to_layout", "pad", "slice"], "untilized, widened with zeros"),
        (
            {"layout": "TILE", "memory": "sharded"},
            (64, 64),
            ["to_memory_config", "to_layout"],
            "unsharded, untilized",
        ),
    ],
)
def test_others_become_rows_on_the_device(
    ttnn: Any, device: Any, how: dict[str, str], shape: tuple[int, int], calls: list[str], note: str
) -> None:
    kernel = compiled(twice(shape))
    a = random(*shape)
    got = kernel(place(ttnn, device, a, **how))
    assert torch.equal(got.to_torch(), a + a)
    assert ttnn.calls == calls
    assert kernel.last_report.notes[0].startswith(f"'A' was {note} on the device: ")


def test_what_a_note_names_is_in_explain(ttnn: Any, device: Any) -> None:
    kernel = compiled(twice((100, 70)))
    kernel(place(ttnn, device, random(100, 70), layout="ROW_MAJOR"))
    said = kernel.explain(whole=True)
    assert "  A: bfloat16, ROW_MAJOR_LAYOUT in rows of 96, any memory of whole rows\n" in said


def test_a_kernel_that_does_not_say_so_gets_tiles(ttnn: Any, device: Any) -> None:
    """Rows are tilized on the device then, and a note says so."""
    kernel = compiled(twice((64, 64)), names="")
    a = random(64, 64)
    assert torch.equal(kernel(place(ttnn, device, a, layout="ROW_MAJOR")).to_torch(), a + a)
    assert ttnn.calls == ["to_layout"]
    assert kernel.last_report.notes[0] == "'A' was tilized on the device: 8,192 B"


def test_rows_of_another_dtype_are_cast_as_tiles(ttnn: Any, device: Any) -> None:
    """float16 is stored as float32, so a kernel of float16 takes rows of float32 as they are; int32 is refused."""
    kernel = compiled(twice((64, 64), "float16"))
    a = torch.randn(64, 64)
    got = kernel(place(ttnn, device, a, layout="ROW_MAJOR"))
    assert ttnn.calls == []
    assert torch.allclose(got.to_torch(), a + a, rtol=2**-10)


def test_written_where_they_lie(ttnn: Any, device: Any) -> None:
    kernel = compiled(twice((64, 64)), out_idx=())
    a = random(64, 64)
    c = place(ttnn, device, torch.zeros(64, 64).bfloat16(), layout="ROW_MAJOR")
    kernel(place(ttnn, device, a, layout="ROW_MAJOR"), c)
    assert torch.equal(c.to_torch(), a + a)
    tiles = place(ttnn, device, torch.zeros(64, 64).bfloat16())
    assert refused(kernel, place(ttnn, device, a, layout="ROW_MAJOR"), tiles) == (
        "error[TT313]: argument 2 ('C') of kernel 'matrix' is written where it lies, but would have to be untilized\n"
        "  help: pass a tensor that is bfloat16, ROW_MAJOR_LAYOUT in rows of 64, any memory of whole rows, with sizes "
        "that are multiples of 32 if the kernel reads it too; or let the call return it (out_idx)"
    )


def test_the_worker_gets_them(ttnn: Any, fake: FakeTtnn) -> None:
    """Torch tensors through the launcher: 16 bits to a number."""
    kernel = compiled(twice((100, 70)), device="ttnn")
    a = random(100, 70)
    assert torch.equal(kernel(a), a + a)


def test_rows_that_nobody_asked_for(ttnn: Any, device: Any) -> None:
    """A block that begins anywhere: its tensor lies in rows of float32, which were refused before."""

    @T.prim_func
    def shifted(A: T.Tensor((96, 64), "float32"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(2) as bx:
            x = T.alloc_shared((32, 64), "float32")
            for i, j in T.Parallel(32, 64):
                x[i, j] = A[95 - bx * 32 - i, j]
            T.copy(x, C[bx * 32, 0])

    kernel = tilelang.compile(shifted, out_idx=[-1], target="tenstorrent")
    a = torch.randn(96, 64)
    assert torch.equal(kernel(place(ttnn, device, a, layout="ROW_MAJOR")).to_torch(), a.flip(0)[:64])
    assert ttnn.calls == []
