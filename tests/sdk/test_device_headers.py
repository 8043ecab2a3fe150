"""The virtual device offers kernels nothing the SDK does not have: no name, no number of arguments."""

from __future__ import annotations

from device_headers import headers, offered

from tilelang_tt.sdk import load
from tilelang_tt.sdk.table import Function

BELOW = "llk_"  # the layer below the API, whose headers the table does not read
MOST = 20  # arguments; stands for "any number"

_INTERNAL = "the SDK declares it in a header outside api/, which the table does not read"
_TRAITS = "called by Noc, not by kernels; the device passes the length of a transfer along"
_HELPER = "a helper of the device's own class that kernels have no use for"
_NOTHING = "takes anything and does nothing: tiles are whole here, and the device counts transfers itself"

# What the device takes and the SDK does not -> why it may.
EXPLAINED: dict[str, str] = {
    "DfbScopedLock::DfbScopedLock": _HELPER,
    "LocalCBInterface::LocalCBInterface": _INTERNAL,
    **{f"SliceRange::h{name}": _INTERNAL for name in ("0_32_w0", "0_32_w1", "0_w0_32", "1_w0_32")},
    **{f"SliceRange::hw0_32_{step}": _INTERNAL for step in (4, 8, 16)},
    "TileSlice::TileSlice": "swallows the options of a print",
    **dict.fromkeys(("get_local_cb_interface", "get_tile_l1_byte_address", "load_blocking"), _INTERNAL),
    **dict.fromkeys(("mailbox_not_empty", "mailbox_read", "mailbox_write"), _INTERNAL),
    **dict.fromkeys(("mulsi3", "udivsi3", "umodsi3", "udivsi3_const_divisor", "umodsi3_const_divisor"), _INTERNAL),
    "StridedShardPages::StridedShardPages": _HELPER,
    "iterator::iterator": _HELPER,
    "InterleavedPow2AddrGen::get_aligned_page_size": _HELPER,
    **{f"ReluConfig::{name}": _INTERNAL for name in ("from_packed", "get_mode", "get_threshold", "none", "zero")},
    **{f"ReluConfig::{name}": _INTERNAL for name in ("max_threshold", "min_threshold")},
    **{f"TensorAccessorArgs::{name}": _HELPER for name in ("bank_coordinates", "has", "word")},
    **{f"TensorAccessorArgs::{name}": _HELPER for name in ("shard_shape", "tensor_shape")},
    **{f"noc_traits_t::{name}": _TRAITS for name in ("dst_addr", "dst_addr_mcast", "src_addr")},
    "invalidate_l1_cache": _INTERNAL,
    "ncrisc_noc_read_with_transaction_id_flushed": _INTERNAL,
    **dict.fromkeys(("TTI_SETRWC", "TTI_STALLWAIT", "clear_addr_mod_base", "set_addr_mod_base"), _INTERNAL),
    **dict.fromkeys(("TTI_NOP", "TTI_SEMWAIT", "TT_SETC16", "get_packer_dest_offset", "semaphore::t6_sem"), _INTERNAL),
    **{f"t6_semaphore_{name}": _INTERNAL for name in ("get", "init", "post", "wait_on_max", "wait_on_zero")},
    "reconfig_tile_shape": _NOTHING,
    "reset_noc_trid_barrier_counter": _NOTHING,
}


def accepted(function: Function) -> set[int]:
    fewest, most = function.arity()
    return set(range(fewest, int(min(most, MOST)) + 1))


def differences() -> dict[str, str]:
    """Name -> what the device takes and no release of the SDK does."""
    found: dict[str, str] = {}
    for function in offered():
        declared = [
            other
            for release in load().values()
            for other in release.functions.get(function.name, ())
            if other.owner == function.owner
        ]
        extra = accepted(function) - {n for other in declared for n in accepted(other)}
        if extra and not function.name.startswith(BELOW):
            name = f"{function.owner}::{function.name}" if function.owner else function.name
            found[name] = f"{function}: {'no such arity' if declared else 'no such name'}"
    return found


def test_the_device_has_functions_to_compare() -> None:
    assert len(offered()) > 500


def test_every_difference_is_explained() -> None:
    found = differences()
    new = {name: text for name, text in found.items() if name not in EXPLAINED}
    assert new == {}, "the virtual device offers what the SDK does not"
    assert sorted(EXPLAINED) == sorted(found), "an explanation whose reason is gone"


def test_every_header_exists_in_the_sdk() -> None:
    known = {header for release in load().values() for header in release.headers}
    assert set(headers()) <= known
