"""D allocate_cbs: numbers, depths and the L1 budget of circular buffers."""

import re
from dataclasses import replace

from tilelang_tt.ir.layout import BufferLayout, Role, Stream
from tilelang_tt.ir.places import Buffer, Memory
from tilelang_tt.ir.text_kernel import kernel_text
from tilelang_tt.ir.tile import Launch, TileProgram
from tilelang_tt.options import Options
from tilelang_tt.passes.d_split.allocate_cbs import allocate_cbs

from .kernels import gemm, gemm_relu
from .stages import plain, refusal, split


def _cbs(func, options: Options | None = None) -> list[str]:
    lines = plain(kernel_text(split(func, options))).splitlines()
    return [line.strip() for line in lines if re.match(r"\s+cb\d+ ", line)]


def test_inputs_from_0_outputs_from_16_own_from_24() -> None:
    assert _cbs(gemm_relu()) == [
        "cb0 A_s: reader -> compute, 3 blocks of 4 x 1 tiles Float16_b, 12 pages of 2048 B",
        "cb1 B_s: reader -> compute, 3 blocks of 1 x 2 tiles Float16_b, 6 pages of 2048 B",
        "cb24 C_l: compute -> compute, 1 block of 4 x 2 tiles Float32, 8 pages of 4096 B",
        "cb16 C_l_out: compute -> writer, 2 blocks of 4 x 2 tiles Float16_b, 16 pages of 2048 B",
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


def test_more_buffers_than_the_chip_has_are_refused() -> None:
    assert (
        refusal(lambda: allocate_cbs(*_many_inputs(33, "wormhole_b0")))
        == """\
error[TT205]: kernel 'main' needs 33 circular buffers at the same time; Wormhole has 32
  note: 33 from the reader: """
        + ", ".join(f"X{number}" for number in range(33))
        + """
  help: read a block when it is needed, not before: blocks that follow each other share a circular buffer"""
    )
    cbs, _ = allocate_cbs(*_many_inputs(64, "blackhole"))
    assert [cb.id for cb in cbs.values()] == list(range(64))


def test_a_buffer_of_too_many_pages_is_refused() -> None:
    """Pages are counted in 16 bits. No L1 is that big, so the blocks here are of an imagined tiny format."""
    program, launch = _many_inputs(1, "wormhole_b0")
    (buffer,) = launch.buffers
    launch = replace(launch, layouts={buffer: BufferLayout(256, 256, "Float16_b", 1)})
    assert (
        refusal(lambda: allocate_cbs(program, launch))
        == """\
error[TT206]: 'X0' needs 131072 pages; a circular buffer has at most 65535
  help: use smaller blocks"""
    )


def test_the_second_block_of_an_output_is_given_up_where_l1_is_short() -> None:
    """256 x 256 accumulator and output: 262,144 B + 2 x 131,072 B; the stages the user chose are kept."""
    roomy = gemm(512, 512, 128, (256, 256, 64), stages=2)
    tight = gemm(512, 512, 128, (256, 256, 64), stages=14)
    assert _cbs(roomy)[-1].startswith("cb16 C_l_out: compute -> writer, 2 blocks of 8 x 8 tiles")
    assert _cbs(tight)[-1].startswith("cb16 C_l_out: compute -> writer, 1 block of 8 x 8 tiles")
    assert _cbs(tight)[0].startswith("cb0 A_s: reader -> compute, 14 blocks")


def test_too_much_for_l1_is_refused_with_the_budget_and_what_fits() -> None:
    func = gemm(512, 512, 1024, (256, 256, 128), stages=8)
    assert (
        refusal(lambda: split(func))
        == """\
kernels.py: error[TT204]: kernel 'main' needs 1,441,792 B of L1 per core; Wormhole has 1,393,280 B
    with T.Kernel(T.ceildiv(N, bn), T.ceildiv(M, bm), threads=128) as (bx, by):
  note: A_s 8 x 32 tiles Float16_b ... 524,288 B   (kernels.py)
  note: B_s 8 x 32 tiles Float16_b ... 524,288 B   (kernels.py)
  note: C_l 1 x 64 tiles Float32 ... 262,144 B   (kernels.py)
  note: C_l_out 1 x 64 tiles Float16_b ... 131,072 B   (kernels.py)
  help: num_stages=7 fits (1,310,720 B)"""
    )
    assert len(_cbs(gemm(512, 512, 1024, (256, 256, 128), stages=7))) == 4


def test_blocks_too_big_for_any_depth_are_refused() -> None:
    func = gemm(1024, 1024, 1024, (512, 512, 256), stages=2)
    text = refusal(lambda: split(func))
    assert text.startswith("kernels.py: error[TT204]: kernel 'main' needs 2,621,440 B of L1 per core;")
    assert text.endswith(
        "  help: use smaller blocks: even with num_stages=1 the kernel needs 2,097,152 B; "
        "with at most 1/2 of the tiles in each it fits"
    )
