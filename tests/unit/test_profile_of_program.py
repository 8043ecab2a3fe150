"""A program written by hand has the same profile as a compiled kernel: its own lines, its buffers, what would help."""

from __future__ import annotations

import pytest
from benchmarks.timing import micro_rows
from benchmarks.timing.figures import Figure

from tilelang_tt.device import open_device
from tilelang_tt.profile.profiled import Profile, profile_program


@pytest.fixture(scope="module")
def profile() -> Profile:
    fields = {"chip": "blackhole", "bench": "MB3 matmul bf16 HiFi4", "config": "2x2,kt=8", "variant": "L1-K", "us": "1"}
    micro = micro_rows.matmul(Figure("microbench", "blackhole", "product", 1.0, "us", fields).fields)
    with open_device("blackhole", numerics="none", strict=False) as device:
        found = profile_program(device, micro_rows.prepare(device, micro).program)
        assert found.timing.cycles > 0
        return found


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_page_names_lines_of_the_kernels_and_what_they_wait_for(profile: Profile) -> None:
    page = str(profile)
    assert "micro_reader.cpp:" in page
    assert "reads under way" in page
    assert "critical path, through core (0,0)" in page
    assert "what would help most" in page
    waits = [wait["at"] for wait in profile.to_json()["processors"]["unpack"]["waits"]]
    assert any(place.startswith("micro_matmul.cpp:") and "cb_wait_front" in place for place in waits)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_program_that_waits_for_dram_is_helped_by_its_reads(profile: Profile) -> None:
    subjects = {effect.change.subject: effect.microseconds for effect in profile.effects}
    assert {"reads of cb0", "reads of cb1"} & subjects.keys()
    assert all(microseconds < profile.launch.microseconds for microseconds in subjects.values())
