"""`strict=False` and `allow`: a breach becomes a warning, and the run goes on with the numbers that luck would give."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest
import torch
from hand_written import DATAFLOW, READER, STREAM_IN, STREAM_OUT, WRITER, cb, kernel, random, words
from reports import category_of

import tilelang_tt.device
from tilelang_tt.device import Device, ProgramDescriptor, RunReport, open_device
from tilelang_tt.device.strictness import CONTINUABLE
from tilelang_tt.diagnostics import ArgumentError, DeviceError, TenstorrentWarning


def copied(device: Device, reader: str, writer: str) -> tuple[RunReport, bool]:
    """Two kernels that copy 4 pages through one buffer; whether they did."""
    values = random(64, 64)
    source, out = device.from_torch(values), device.allocate_tensor((64, 64))
    args = [source.buffer_address(), 0, 4]
    out_args = [out.buffer_address(), 0, 4]
    named = [("cb", 0)]
    program = ProgramDescriptor(
        [
            kernel(reader, READER, args=args, compile_args=words(source)),
            kernel(writer, WRITER, args=out_args, compile_args=words(out), named_compile_time_args=named),
        ],
        cbs=[cb(0, 4)],
    )
    report = device.run(program)
    return report, torch.equal(out.to_torch(), values)


FLUSHED = "        noc_async_writes_flushed();\n"
# name: the reader's edit, the writer's, categories that are met
BROKEN = {
    "no reserve": (("cb_reserve_back(0, 1);", ""), None, {"cb-unreserved-write", "cb-push-without-reserve"}),
    "no barrier at the end": (None, ("noc_async_write_barrier();", ""), {"noc-write-barrier"}),
    "no flush before the pop": (None, (FLUSHED, ""), {"noc-write-flush"}),
    "never popped": (None, ("        cb_pop_front(cb, 1);\n", ""), {"cb-unbalanced"}),
    "no read barrier": (
        ("        noc_async_read_barrier();\n", "        for (volatile int i = 0; i < 3; ++i) {}\n"),
        None,
        {"noc-read-barrier"},
    ),
}


def edited(text: str, edit: tuple[str, str] | None) -> str:
    assert edit is None or edit[0] in text
    return text if edit is None else text.replace(*edit)


@pytest.mark.parametrize("name", BROKEN)
def test_a_breach_becomes_a_warning(name: str) -> None:
    reader, writer, categories = BROKEN[name]
    texts = edited(STREAM_IN, reader), edited(STREAM_OUT, writer)
    with open_device() as device, pytest.raises(DeviceError) as caught:
        copied(device, *texts)
    assert category_of(caught.value) in categories
    with (
        open_device(strict=False) as device,
        pytest.warns(TenstorrentWarning, match=r"warning\[TT705\]: contract breach"),
    ):
        report, _ = copied(device, *texts)
    assert {re.search(r"category: ([\w-]+)", text)[1] for text in report.warnings} == categories  # type: ignore[index]


@pytest.mark.parametrize("name", ["no reserve", "no barrier at the end", "no flush before the pop"])
def test_numbers_are_those_that_luck_gives(name: str) -> None:
    reader, writer, _ = BROKEN[name]
    with open_device(strict=False) as device, pytest.warns(TenstorrentWarning):
        assert copied(device, edited(STREAM_IN, reader), edited(STREAM_OUT, writer))[1]


def test_a_warning_says_where_and_how_often() -> None:
    with open_device(allow=["noc-write-flush"]) as device, pytest.warns(TenstorrentWarning):
        report, _ = copied(device, STREAM_IN, STREAM_OUT.replace(FLUSHED, ""))
    assert report.warnings == (
        "contract breach: cb_pop_front on CB 0 'cb0' while the transfer of line 12 is still under way: "
        "noc_async_writes_flushed or noc_async_write_barrier must come first\n"
        "  note: category: noc-write-flush, which was allowed (4 times)\n"
        "  note: core (0,0), writer writer.cpp:13\n"
        "  note:     cb_pop_front(cb, 1);",
    )


def test_only_what_was_named_is_allowed() -> None:
    with open_device(allow=["noc-write-flush"]) as device, pytest.raises(DeviceError) as caught:
        copied(device, STREAM_IN.replace("cb_reserve_back(0, 1);", ""), STREAM_OUT)
    assert category_of(caught.value) == "cb-unreserved-write"


def test_a_right_program_warns_of_nothing() -> None:
    with open_device(strict=False) as device, warnings.catch_warnings():
        warnings.simplefilter("error")
        report, same = copied(device, STREAM_IN, STREAM_OUT)
    assert same
    assert report.warnings == ()


def test_what_leaves_nothing_to_compute_with_still_stops() -> None:
    outside = DATAFLOW + "void kernel_main() { noc_async_read(get_noc_addr(MEM_ZEROS_BASE), get_write_ptr(9), 32); }"
    with open_device(strict=False) as device, pytest.raises(DeviceError) as caught:
        device.run(ProgramDescriptor([kernel(outside, READER)], cbs=[cb(0, 1)]))
    assert category_of(caught.value) == "noc-bounds"


@pytest.mark.parametrize("category", ["noc-bounds", "flush"])
def test_a_category_that_cannot_be_allowed(category: str) -> None:
    with pytest.raises(ArgumentError, match=rf"error\[TT320\]: breaches of category '{category}' cannot be allowed"):
        open_device(allow=[category])


def test_the_list_is_that_of_the_device() -> None:
    sources = (Path(tilelang_tt.device.__file__).parent / "src").rglob("*.cpp")
    complaints = {
        name for source in sources for name in re.findall(r'complain\(\s*"([\w-]+)"', source.read_text())
    }  # fmt: skip
    assert complaints == set(CONTINUABLE)
