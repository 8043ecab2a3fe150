"""A kernel's own headers: they are found, a change builds it again, and breaches inside them name them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hand_written import DATAFLOW, ONE_CORE, READER, cb
from test_api import program_of

from tilelang_tt.device import KernelDescriptor, open_device
from tilelang_tt.diagnostics import DeviceError


def test_own_headers_of_a_kernel(tmp_path: Path) -> None:
    """A kernel file finds the headers beside it, and is built again when one of them changes."""
    source = tmp_path / "kernel.cpp"
    source.write_text(
        DATAFLOW + '#include "limits.h"\nvoid kernel_main() { if (LIMIT > 1) get_arg_val<uint32_t>(LIMIT); }'
    )
    program = program_of(KernelDescriptor(source, ONE_CORE, READER))
    with open_device() as device:
        (tmp_path / "limits.h").write_text("constexpr uint32_t LIMIT = 1;\n")
        device.run(program)
        (tmp_path / "limits.h").write_text("constexpr uint32_t LIMIT = 5;\n")
        with pytest.raises(DeviceError, match="runtime argument 5: this kernel has 0") as caught:
            device.run(program)
    assert "core (0,0), reader kernel.cpp:" in str(caught.value)


def test_headers_that_headers_include(tmp_path: Path) -> None:
    """From their own folder, which is no include directory: a change there builds the kernel again."""
    (tmp_path / "lib" / "inner").mkdir(parents=True)
    source = tmp_path / "kernel.cpp"
    source.write_text(DATAFLOW + '#include "lib/outer.h"\nvoid kernel_main() { get_arg_val<uint32_t>(LIMIT); }')
    (tmp_path / "lib" / "outer.h").write_text('#include "inner/limits.h"\n')
    program = program_of(KernelDescriptor(source, ONE_CORE, READER))
    with open_device() as device:
        for limit in (5, 6):
            (tmp_path / "lib" / "inner" / "limits.h").write_text(f"constexpr uint32_t LIMIT = {limit};\n")
            with pytest.raises(DeviceError, match=f"runtime argument {limit}: this kernel has 0"):
                device.run(program)


HELPER = """#pragma once
// Not the first line.
inline void fetch(uint64_t from, uint32_t to) {
    noc_async_read(from, to, 32);
}
inline void hold(bool condition) {
    ASSERT(condition);
}
"""


@pytest.mark.parametrize(
    ("body", "place", "code"),
    [
        ("fetch(get_noc_addr(MEM_ZEROS_BASE), get_write_ptr(0) + 4096);", 4, "noc_async_read(from, to, 32);"),
        ("hold(false);", 7, "ASSERT(condition);"),
    ],
)
def test_a_breach_inside_a_header_names_it(tmp_path: Path, body: str, place: int, code: str) -> None:
    (tmp_path / "helper.h").write_text(HELPER)
    source = tmp_path / "kernel.cpp"
    source.write_text(f'{DATAFLOW}#include "api/debug/assert.h"\n#include "helper.h"\nvoid kernel_main() {{ {body} }}')
    with open_device() as device, pytest.raises(DeviceError) as caught:
        device.run(program_of(KernelDescriptor(source, ONE_CORE, READER), cbs=[cb(0, 1)]))
    assert caught.value.notes[1:] == (
        f"core (0,0), reader helper.h:{place} (included by kernel.cpp)",
        f"    {code}",
    )


def test_a_line_of_a_header_in_a_message(tmp_path: Path) -> None:
    (tmp_path / "helper.h").write_text(HELPER)
    source = tmp_path / "kernel.cpp"
    source.write_text(
        f"""{DATAFLOW}
#include "helper.h"
void kernel_main() {{
    cb_reserve_back(0, 1);
    fetch(get_noc_addr(MEM_ZEROS_BASE), get_write_ptr(0));
    cb_push_back(0, 1);
}}"""
    )
    with open_device() as device, pytest.raises(DeviceError) as caught:
        device.run(program_of(KernelDescriptor(source, ONE_CORE, READER), cbs=[cb(0, 1)]))
    assert "while the transfer of line 4 of helper.h is still under way" in caught.value.message
    assert "core (0,0), reader kernel.cpp:9" in caught.value.notes


def test_a_header_that_does_not_compile(tmp_path: Path) -> None:
    (tmp_path / "helper.h").write_text("#pragma once\nint broken = nothing;\n")
    source = tmp_path / "kernel.cpp"
    source.write_text(f'{DATAFLOW}#include "helper.h"\nvoid kernel_main() {{}}')
    with open_device() as device, pytest.raises(DeviceError, match=r"helper.h:2:14: error") as caught:
        device.run(program_of(KernelDescriptor(source, ONE_CORE, READER)))
    assert caught.value.code == "TT407"
