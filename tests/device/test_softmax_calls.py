"""A softmax of scores, and what happens when one of its set-up calls is left out: a breach, never a wrong number."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from device_programs import TileProgram, cb

from tilelang_tt.diagnostics import DeviceError
from tilelang_tt.runtime.plan import Plan

KERNEL = """
#include <cstdint>
#include "api/compute/common.h"
#include "api/compute/tile_move_copy.h"
#include "api/compute/matmul.h"
#include "api/compute/reduce.h"
#include "api/compute/bcast.h"
#include "api/compute/eltwise_binary_sfpu.h"
#include "api/compute/eltwise_unary/exp.h"
#include "api/compute/eltwise_unary/fill.h"
#include "api/compute/eltwise_unary/recip.h"

constexpr uint32_t x = 0, y = 1, out = 16, scores = 24, ones = 25, top = 26, weights = 27, total = 28;

void store(uint32_t cb) {
    tile_regs_commit();
    tile_regs_wait();
    cb_reserve_back(cb, 1);
    pack_tile(0, cb);
    tile_regs_release();
    cb_push_back(cb, 1);
}

void kernel_main() {
    compute_kernel_hw_startup<SrcOrder::Reverse>(x, y, ones);
    tile_regs_acquire();
    fill_tile_init();
    fill_tile(0, 1.0f);
    store(ones);
    cb_wait_front(ones, 1);
    cb_wait_front(x, 1);
    cb_wait_front(y, 1);

    pack_reconfig_data_format(scores);
    matmul_init(x, y, 1);
    tile_regs_acquire();
    matmul_tiles(x, y, 0, 0, 0);
    store(scores);
    cb_wait_front(scores, 1);

    reconfig_data_format(scores, ones);
    reduce_init<PoolType::MAX, ReduceDim::REDUCE_ROW>(scores, ones, top);
    tile_regs_acquire();
    reduce_tile<PoolType::MAX, ReduceDim::REDUCE_ROW>(scores, ones, 0, 0, 0);
    store(top);
    reduce_uninit();
    cb_wait_front(top, 1);

    reconfig_data_format_srcb(top);
    pack_reconfig_data_format(weights);
    sub_bcast_cols_init(scores, top);
    tile_regs_acquire();
    sub_tiles_bcast_cols(scores, top, 0, 0, 0);
    exp_tile_init();
    exp_tile(0);
    store(weights);
    cb_wait_front(weights, 1);

    reconfig_data_format_srca(ones);
    reconfig_data_format_srcb(weights);
    pack_reconfig_data_format(total);
    matmul_init(weights, ones);
    tile_regs_acquire();
    matmul_tiles(weights, ones, 0, 0, 0);
    store(total);
    cb_wait_front(total, 1);

    tile_regs_acquire();
    copy_tile_to_dst_init_short(weights);
    copy_tile(weights, 0, 0);
    reconfig_data_format_srca(total);
    copy_tile(total, 0, 1);
    recip_tile_init();
    recip_tile(1);
    mul_binary_tile_init();
    mul_binary_tile(0, 1, 0);
    pack_reconfig_data_format(out);
    store(out);
    constexpr uint32_t inputs[] = {x, y, scores, ones, top, weights, total};
    for (const uint32_t buffer : inputs) {
        cb_pop_front(buffer, 1);
    }
}
"""


class Softmax(TileProgram):
    def plan(self) -> Plan:
        plan = super().plan()
        extra = (
            cb(24, "scores", "Float32", 1, "compute", "compute"),
            cb(25, "ones", "Float16_b", 1, "compute", "compute"),
            cb(26, "top", "Float32", 1, "compute", "compute"),
            cb(27, "weights", "Float16_b", 1, "compute", "compute"),
            cb(28, "total", "Float32", 1, "compute", "compute"),
        )
        launch = plan.launches[0]
        return replace(plan, launches=(replace(launch, cbs=(*launch.cbs, *extra)),))


def run(text: str, arch: str = "wormhole_b0") -> tuple[torch.Tensor, torch.Tensor]:
    program = Softmax(
        "",
        x_format="Float16_b",
        y_format="Float16_b",
        out_format="Float16_b",
        direct=False,
        arch=arch,
        grid=(1, 1),
        extra={"compute.cpp": text},
    )
    generator = torch.Generator().manual_seed(3)
    x, y = (torch.randn((32, 32), generator=generator).bfloat16() for _ in range(2))
    return program.run(x, y), (x.double() @ y.double().t()).softmax(1)


@pytest.mark.parametrize("arch", ["wormhole_b0", "blackhole"])
def test_softmax(arch: str) -> None:
    out, wanted = run(KERNEL, arch)
    # scores lose 13 bits on the way to the subtraction, weights and result are bf16
    assert float((out.double() - wanted).norm() / wanted.norm()) < 5e-3


@pytest.mark.parametrize(
    ("call", "category"),
    [
        ("pack_reconfig_data_format(scores);", "data-format"),
        ("reconfig_data_format(scores, ones);", "data-format"),
        ("reduce_init<PoolType::MAX, ReduceDim::REDUCE_ROW>(scores, ones, top);", "init"),
        ("reduce_uninit();", "uninit"),
        ("reconfig_data_format_srcb(top);", "data-format"),
        ("pack_reconfig_data_format(weights);", "data-format"),
        ("sub_bcast_cols_init(scores, top);", "init"),
        ("exp_tile_init();", "init"),
        ("reconfig_data_format_srca(ones);", "data-format"),
        ("reconfig_data_format_srcb(weights);", "data-format"),
        ("pack_reconfig_data_format(total);", "data-format"),
        ("matmul_init(weights, ones);", "init"),
        ("copy_tile_to_dst_init_short(weights);", "init"),
        ("reconfig_data_format_srca(total);", "data-format"),
        ("recip_tile_init();", "init"),
        ("mul_binary_tile_init();", "init"),
        ("pack_reconfig_data_format(out);", "data-format"),
    ],
)
def test_call_left_out(call: str, category: str) -> None:
    assert KERNEL.count(call) == 1
    with pytest.raises(DeviceError) as caught:
        run(KERNEL.replace(call, ""))
    assert caught.value.code == "TT401"
    assert f"category: {category}\n" in str(caught.value)
