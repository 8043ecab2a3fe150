"""D allocate_cbs: numbers, depths and the L1 budget of circular buffers."""

import re

from tilelang_tt.ir.buffers import Buffer, Memory
from tilelang_tt.ir.layout import BufferLayout, Role, Stream
from tilelang_tt.ir.text_kernel import kernel_text
from tilelang_tt.ir.tile import Launch, TileProgram
from tilelang_tt.options import Options
from tilelang_tt.passes.d_split.allocate_cbs import allocate_cbs

from .kernels import gemm, gemm_relu
from .stages import plain, split


def _cbs(func, options: Options | None = None) -> list[str]:
    lines = plain(kernel_text(split(func, options or Options(blocks=False)))).splitlines()
    return [line.strip() for line in lines if re.match(r"\s+cb\d+ ", line)]


def test_inputs_from_0_outputs_from_16_own_from_24() -> None:
    assert _cbs(gemm_relu()) == [
        "cb0 A_s: reader -> compute, 3 blocks of 4 x 1 tiles Float16_b, 12 pages of 2048 B",
        "cb1 B_s: reader -> compute, 3 blocks of 1 x 2 tiles Float16_b, 6 pages of 2048 B",
        "cb24 C_l: compute -> compute, 1 block of 4 x 2 tiles Float32, 8 pages of 4096 B, 2 x 2 at a time",
        "cb16 C_l_out: compute -> writer, 2 blocks of 4 x 2 tiles Float16_b, 16 pages of 2048 B, 1 x 4 at a time",
    ]


def test_pages_follow_the_storage_format() -> None:
    options = Options(storage=(("B", "bfloat8_b"),))
    assert _cbs(gemm_relu(), options)[1] == (
        "cb1 B_s: reader -> compute, 3 blocks of 1 x 2 tiles Bfp8_b, 6 pages of 1088 B"
    )


def test_an_accumulator_in_dst_has_none() -> None:
    assert not any("C_l:" in line for line in _cbs(gemm()))


def _many_inputs(count: int, arch: str) -> tuple[TileProgram, Launch]:
    """A launch of `count` blocks of one tile, all filled by the reader."""
    buffers = [Buffer(f"X{number}", "bfloat16", (32, 32), Memory.SHARED) for number in range(count)]
    launch = Launch(
        "main",
        (),
        tuple(buffers),
        (),
        layouts={buffer: BufferLayout(1, 1, "Float16_b", 2048) for buffer in buffers},
        streams={buffer: Stream(Role.READER, Role.COMPUTE, 2) for buffer in buffers},
    )
    return TileProgram("main", (), (), (launch,), Options(arch=arch)), launch


def test_more_inputs_than_their_range_are_numbered_through() -> None:
    cbs, _ = allocate_cbs(*_many_inputs(20, "wormhole_b0"))
    assert [cb.id for cb in cbs.values()] == list(range(20))


def test_blackhole_has_more_of_them() -> None:
    cbs, _ = allocate_cbs(*_many_inputs(64, "blackhole"))
    assert [cb.id for cb in cbs.values()] == list(range(64))


def test_the_second_block_of_an_output_is_given_up_where_l1_is_short() -> None:
    """256 x 256 accumulator and output: 262,144 B + 2 x 131,072 B; the stages the user chose are kept."""
    roomy = gemm(512, 512, 128, (256, 256, 64), stages=2)
    tight = gemm(512, 512, 128, (256, 256, 64), stages=14)
    assert _cbs(roomy)[-1].startswith("cb16 C_l_out: compute -> writer, 2 blocks of 8 x 8 tiles")
    assert _cbs(tight)[-1].startswith("cb16 C_l_out: compute -> writer, 1 block of 8 x 8 tiles")
    assert _cbs(tight)[0].startswith("cb0 A_s: reader -> compute, 14 blocks")
