"""Every declaration of the SDK's device API is carried out or refused by name, and the docs say which."""

from __future__ import annotations

import os

from device_api import ABSENT, PAGE, STOPS, WORKS, page, status

# Names a kernel has no business with, or that are part of what the device does in its own way.
NOT_FOR_KERNELS = ("api/compute/sentinel/", "api/compute/experimental/2_0/", "api/debug/", "internal/")
_PARTS = "a part of other functions of its header"
_THREADS = "for chips whose kernels have several threads"
_TEMPLATE = "a template that kernels name through TensorAccessorArgs and Noc only"
NOT_DECLARED = {
    **dict.fromkeys(("make_array", "get_named_ct_arg", "bitwise_instr_mode", "reconfigure_unary_bcast"), _PARTS),
    **dict.fromkeys(("pack_untilize_init_impl", "pack_untilize_dest_init_impl", "fast_tilize_init_impl"), _PARTS),
    **dict.fromkeys(
        ("fast_tilize_init_with_dt_impl", "fast_untilize_init_impl", "mul_reduce_scalar_tile_impl"), _PARTS
    ),
    **dict.fromkeys(("RECONFIG_DF_DEPRECATED", "RECONFIG_DF_TILE_DIM_DEPRECATED"), _PARTS),
    **{f"reconfig_{what}_{where}": _PARTS for what in ("df", "ts") for where in ("both", "srca", "srcb")},
    **dict.fromkeys(("deepseek_first_present_cb", "sdpa_fidelity_from_sel", "dummy_pack", "dummy_unpack"), _PARTS),
    **dict.fromkeys(("topk_tie_order_from_global_direction", "sfpu_reduce_format_supported"), _PARTS),
    **dict.fromkeys(("TensorBindingToken::TensorBindingToken", "LocalTensorAccessor::scoped_lock"), _PARTS),
    **dict.fromkeys(("get_barrier_id", "sync_dm_compute_threads", "tensix_global_sem_barrier"), _THREADS),
    **dict.fromkeys(("thread_sync_init", "wait_threads", "Semaphore::wait_not_full"), _THREADS),
    **dict.fromkeys(("Noc::write_zeros_dram_barrier", "make_dfb_scoped_lock", "DataflowBuffer::front"), _PARTS),
    "DataflowBuffer::back": _PARTS,
    **{
        f"RemoteCircularBuffer::{name}": "of a class whose free functions stop"
        for name in (
            *("RemoteCircularBuffer", "barrier", "commit", "pop_front", "push_back", "reserve_back", "scoped_lock"),
            *("set_receiver_page_size", "set_sender_page_size", "wait_front"),
        )
    },
    **dict.fromkeys(("compute_sdpa_chunk", "compute_sdpa_recip"), "compositions of names that stop"),
    **{f"IteratorPageNocTraits::{name}": _TEMPLATE for name in ("src_addr", "dst_addr")},
    **{f"AccessorPage::{name}": _TEMPLATE for name in ("AccessorPage", "accessor", "noc_addr")},
    **{f"ShardPage::{name}": _TEMPLATE for name in ("ShardPage", "noc_addr", "page_in_shard", "shard_id")},
    **dict.fromkeys(("PageAccess::sw_noc_addr", "ShardView::is_local_shard", "make_tensor_accessors"), _TEMPLATE),
    **dict.fromkeys(("get_tensor_accessor_args_cta_offset", "get_tensor_accessor_args_cta_offsets"), _TEMPLATE),
    "make_tensor_accessor_args_tuple_from_cta_offsets": _TEMPLATE,
}


def test_the_page_is_up_to_date() -> None:
    text = page()
    if os.environ.get("UPDATE_GOLDEN") == "1":
        PAGE.parent.mkdir(exist_ok=True)
        PAGE.write_text(text)
    assert PAGE.read_text() == text, "docs/reference/device-api.md is out of date: make golden"


def test_states_are_what_they_say() -> None:
    known = status()
    assert known["api/compute/matmul.h", "matmul_tiles"] == WORKS
    assert known["api/dataflow/noc.h", "Noc::async_read"] == WORKS
    assert known["api/compute/common_globals.h", "MATH"] == WORKS
    assert known["api/compute/quantization.h", "quant_tile"] == WORKS
    assert known["api/compute/ema.h", "ema_tile"] == STOPS


def test_a_name_that_is_not_declared_has_a_reason() -> None:
    unknown = {
        name for (header, name), state in status().items() if state == ABSENT and not header.startswith(NOT_FOR_KERNELS)
    }
    assert sorted(unknown - NOT_DECLARED.keys()) == []
    assert sorted(NOT_DECLARED.keys() - unknown) == [], "a reason without its name"
