"""The simulator of Wormhole ends where a kernel unpacks to DST: what is said, and what can be done."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tilelang_tt.diagnostics import DeviceError, TenstorrentWarning
from tilelang_tt.runtime.plan import Plan
from tilelang_tt.runtime.simulator_limits import explained, narrowed
from tilelang_tt.runtime.ttnn_find import SIMULATOR_VARIABLE

GOLDEN = Path(__file__).parents[1] / "golden" / "flash_attention" / "tt.plan.json"
CRASH = DeviceError("TT406", "crash: the ttnn worker ended (exit status 1)", notes=("ERROR: tensix_unpacr: ...",))


@pytest.fixture
def plan(monkeypatch: pytest.MonkeyPatch) -> Plan:
    monkeypatch.setenv(SIMULATOR_VARIABLE, "libttsim_wh.so")
    monkeypatch.delenv("TILELANG_TT_NARROW", raising=False)
    plan = Plan.from_json(GOLDEN.read_text())
    assert plan.arch == "wormhole_b0"
    assert any(cb.unpack_to_dest for cb in plan.launches[0].cbs)
    return plan


def test_the_crash_in_words_of_the_kernel(plan: Plan) -> None:
    error = explained(CRASH, plan)
    first = next(cb for cb in plan.launches[0].cbs if cb.unpack_to_dest)
    assert error.code == "TT419"
    start = f"the simulator of Wormhole cannot unpack to DST, as kernel '{plan.name}' does from "
    assert error.message.startswith(f"{start}CB {first.id} '{first.name}' (Float32)")
    assert error.help == (
        'the simulator of Blackhole can, with target="tenstorrent/blackhole"; '
        "TILELANG_TT_NARROW=1 runs it with 10 fraction bits of float32"
    )
    assert error.notes == CRASH.notes


def test_integers_cannot_be_narrowed(plan: Plan) -> None:
    one = plan.launches[0]
    integers = replace(plan, launches=(replace(one, cbs=(replace(one.cbs[0], format="Int32"), *one.cbs[1:])),))
    help_text = explained(CRASH, integers).help
    assert help_text == 'the simulator of Blackhole can, with target="tenstorrent/blackhole"'


def test_other_ends_stay_as_they_are(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    other = DeviceError("TT406", "crash", notes=("something else",))
    assert explained(other, plan) is other
    assert explained(CRASH, replace(plan, arch="blackhole")) is CRASH
    monkeypatch.delenv(SIMULATOR_VARIABLE)
    assert explained(CRASH, plan) is CRASH


def test_narrowed_only_when_asked(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    assert narrowed(plan) is plan
    monkeypatch.setenv("TILELANG_TT_NARROW", "1")
    with pytest.warns(TenstorrentWarning, match=r"warning\[TT706\]: kernel .* runs without unpack to DST"):
        narrow = narrowed(plan)
    assert not any(cb.unpack_to_dest for item in narrow.launches for cb in item.cbs)
    assert narrowed(replace(plan, arch="blackhole")).launches[0].cbs == plan.launches[0].cbs
