"""Spellings of the target, its options, and what is refused."""

from __future__ import annotations

import copy
import pickle
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import tilelang
from tilelang.backend.target import determine_target, list_target_detectors
from tvm.target import Target

from tilelang_tt import target as targets
from tilelang_tt.diagnostics import TargetError
from tilelang_tt.lowering import lower as lower_file
from tilelang_tt.options import Options
from tilelang_tt.out_of_tree.family import BUILD_FEATURE, Family
from tilelang_tt.runtime import ttnn_find

targets.register()

SPELLINGS = [
    ("tenstorrent", Options()),
    ("tenstorrent/wormhole_b0", Options(arch="wormhole_b0")),
    ("tenstorrent/blackhole", Options(arch="blackhole")),
    ("tenstorrent -arch=blackhole -grid=4x4", Options(arch="blackhole", grid=(4, 4))),
    ("tenstorrent/blackhole --math-fidelity=LoFi", Options(arch="blackhole", math_fidelity="LoFi")),
    ("tenstorrent -storage=B:bfloat8_b", Options(storage=(("B", "bfloat8_b"),))),
    ('{"kind": "tenstorrent", "grid": [2, 3]}', Options(grid=(2, 3))),
    ({"kind": "tenstorrent"}, Options()),
    ({"kind": "tenstorrent/blackhole", "grid": (13, 10)}, Options(arch="blackhole", grid=(13, 10))),
    ({"kind": "tenstorrent", "grid": "8x8"}, Options(grid=(8, 8))),
    ({"kind": "tenstorrent", "grid": None}, Options()),
    ({"kind": "tenstorrent", "fp32_acc": False}, Options(fp32_acc=False)),
    ({"kind": "tenstorrent", "fp32_acc": "true"}, Options(fp32_acc=True)),
    ({"kind": "tenstorrent", "numerics": "exact", "sdk": "0.81"}, Options(numerics="exact", sdk="0.81")),
    ({"kind": "tenstorrent", "sdk": 0.81}, Options(sdk="0.81")),
    (
        {"kind": "tenstorrent", "device": "ttnn", "float16": "bfloat16"},
        Options(device="ttnn", float16="bfloat16"),
    ),
    ({"kind": "tenstorrent", "storage": "bfloat8_b"}, Options(storage=(("*", "bfloat8_b"),))),
    (
        {"kind": "tenstorrent", "storage": {"W": "bfloat8_b", "A": "bfloat8_b"}},
        Options(storage=(("A", "bfloat8_b"), ("W", "bfloat8_b"))),
    ),
]


@pytest.mark.parametrize(("spelling", "options"), SPELLINGS, ids=[str(spelling) for spelling, _ in SPELLINGS])
def test_spelling(spelling: Any, options: Options) -> None:
    assert targets.options_of(determine_target(spelling, return_object=True)) == options


@pytest.mark.parametrize("name", ["tenstorrent", "tenstorrent/wormhole_b0", "tenstorrent/blackhole"])
def test_plain_tvm_target(name: str) -> None:
    target = Target(name)
    assert targets.is_tenstorrent(target)
    assert targets.options_of(target) == targets.options_of(determine_target(name, return_object=True))


@pytest.mark.parametrize(
    "duplicate",
    [
        copy.copy,
        copy.deepcopy,
        lambda t: pickle.loads(pickle.dumps(t)),
        lambda t: Target(str(t)),
        lambda t: Target(t, Target("c")),
    ],
)
def test_options_survive(duplicate: Any) -> None:
    options = Options(arch="blackhole", grid=(3, 2), fp32_acc=False, storage=(("A", "bfloat8_b"),))
    assert targets.options_of(duplicate(targets.make_target(options))) == options


def test_every_option_is_a_field() -> None:
    assert list(targets.OPTIONS) == [field.name for field in fields(Options)]


def test_other_targets_are_left_alone() -> None:
    assert targets.normalize("cuda") is None
    assert targets.normalize({"kind": "llvm"}) is None
    assert targets.normalize('{"kind": "cuda"}') is None
    assert targets.normalize(Target("c")) is None
    assert not targets.is_tenstorrent(Target({"kind": "ext_dev"}))


def test_a_name_that_only_begins_like_ours_is_somebody_else_s() -> None:
    assert targets.normalize("tenstorrentx -a=1") is None
    assert targets.normalize({"kind": "tenstorrents"}) is None
    ten = Family("ten", lambda: "1", lambda head, options: Target("c"), ValueError)
    assert ten.normalize("tenstorrent") is None
    assert ten.normalize("ten -lanes=8") is not None
    assert ten.normalize("") is None


REFUSALS = [
    (
        {"kind": "tenstorrent", "gird": (4, 4)},
        "error[TT601]: target 'tenstorrent' has no option 'gird'\n"
        "  help: valid options: "
        "arch, grid, math_fidelity, fp32_acc, fast_math, approx_exp, scalar_code, multicast, split_k, blocks, "
        "numerics, sdk, device, float16, storage, layout, schedule",
    ),
    (
        "tenstorrent arch=blackhole",
        "error[TT601]: target option 'arch=blackhole' does not start with '-'\n"
        "  help: write 'tenstorrent -arch=blackhole -grid=4x4'; valid options: "
        "arch, grid, math_fidelity, fp32_acc, fast_math, approx_exp, scalar_code, multicast, split_k, blocks, "
        "numerics, sdk, device, float16, storage, layout, schedule",
    ),
    (
        "tenstorrent/grayskull",
        "error[TT602]: target option 'arch' cannot be 'grayskull'\n  help: valid values: wormhole_b0, blackhole",
    ),
    (
        {"kind": "tenstorrent", "grid": (9, 8)},
        "error[TT602]: target option 'grid' cannot be '9x8'\n"
        "  note: Wormhole has a compute grid of 8x8 cores\n"
        "  help: valid values: XxY, such as 4x4 or (4, 4), up to the chip's compute grid; all",
    ),
    (
        {"kind": "tenstorrent", "grid": "0x4"},
        "error[TT602]: target option 'grid' cannot be '0x4'\n"
        "  help: valid values: XxY, such as 4x4 or (4, 4), up to the chip's compute grid; all",
    ),
    (
        {"kind": "tenstorrent", "math_fidelity": "HiFi5"},
        "error[TT602]: target option 'math_fidelity' cannot be 'HiFi5'\n"
        "  help: valid values: LoFi, HiFi2, HiFi3, HiFi4",
    ),
    (
        {"kind": "tenstorrent", "fp32_acc": "maybe"},
        "error[TT602]: target option 'fp32_acc' cannot be 'maybe'\n  help: valid values: true, false",
    ),
    (
        {"kind": "tenstorrent", "storage": "float8"},
        "error[TT602]: target option 'storage' cannot be 'float8'\n"
        "  help: valid values: bfloat8_b or bfloat4_b for all inputs, "
        'or by name, results too: {"B": "bfloat8_b"}, B:bfloat8_b',
    ),
    (
        "tenstorrent/blackhole -arch=wormhole_b0",
        "error[TT602]: target option 'arch' cannot be 'wormhole_b0'\n"
        "  note: the target's name already says 'blackhole'\n"
        "  help: valid values: wormhole_b0, blackhole",
    ),
    (
        "tenstorrent-blackhole",
        "error[TT603]: there is no target 'tenstorrent-blackhole'\n"
        "  help: valid targets: tenstorrent, tenstorrent/wormhole_b0, tenstorrent/blackhole",
    ),
]


@pytest.mark.parametrize(("spelling", "message"), REFUSALS, ids=[str(spelling) for spelling, _ in REFUSALS])
def test_refusal(spelling: Any, message: str) -> None:
    with pytest.raises(TargetError) as caught:
        determine_target(spelling, return_object=True)
    assert str(caught.value) == message


def test_hand_made_target_is_checked() -> None:
    forged = Target({"kind": "ext_dev", "keys": ["tenstorrent"], "feature.grid": "99x1"})
    with pytest.raises(TargetError, match="TT602"):
        targets.options_of(forged)


def test_build_is_part_of_the_cache_key() -> None:
    assert targets.build_id() in str(targets.make_target())


def test_another_build_s_target_is_renewed() -> None:
    """A pickled target of an earlier installation must not name this one's kernels."""
    config = {**targets.target_config(Options(arch="blackhole")), BUILD_FEATURE: "0.0.1-0"}
    renewed = determine_target(Target(config), return_object=True)
    assert str(renewed) == str(targets.make_target(Options(arch="blackhole")))


def test_build_changes_with_any_source(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    source = tmp_path / "pass.py"
    monkeypatch.setattr(targets.resources, "files", lambda _package: tmp_path)
    source.write_text("x = 1")
    first = targets.build_id.__wrapped__()
    source.write_text("x = 2")
    assert targets.build_id.__wrapped__() != first


def test_auto_is_a_card_where_there_is_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """The detectors of TileLang, which ask for GPUs, come first."""
    assert list_target_detectors()[-1] == targets.NAME
    assert targets.detect() is None
    monkeypatch.setattr(targets, "cards", lambda: ["a card"])
    monkeypatch.setattr(targets, "card_arch", lambda: "blackhole")
    found = targets.detect()
    assert found is not None
    assert targets.options_of(found) == Options(arch="blackhole", device="auto")


def test_which_chip_a_card_has(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(ttnn_find, "CARD_CLASS", tmp_path)
    assert ttnn_find.card_arch() is None
    device = tmp_path / "tenstorrent!0" / "device"
    device.mkdir(parents=True)
    (device / "device").write_text("0xb140\n")
    assert ttnn_find.card_arch() == "blackhole"


@pytest.fixture
def lone_detector(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine with a card and no GPU, whatever this one has."""
    monkeypatch.setattr(targets, "cards", lambda: ["a card"])
    monkeypatch.setattr(tilelang.backend.target, "_TARGET_DETECTORS", {})
    targets.register()


@pytest.mark.usefixtures("lone_detector")
def test_precedence(monkeypatch: pytest.MonkeyPatch) -> None:
    """The call, TILELANG_DEFAULT_TARGET, a scope, what is found: each only where those before it say nothing."""
    monkeypatch.delenv("TILELANG_DEFAULT_TARGET", raising=False)
    assert kind_of(None) == "tenstorrent"
    with Target("webgpu"):
        assert kind_of(None) == "webgpu"
        assert kind_of("auto") == "webgpu"
        monkeypatch.setenv("TILELANG_DEFAULT_TARGET", "c")
        assert kind_of(None) == "c"
        assert kind_of("auto") == "webgpu", "a call that says auto does not ask the environment"
        assert kind_of("tenstorrent") == "tenstorrent"


@pytest.mark.usefixtures("lone_detector")
def test_a_machine_with_nothing_has_no_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TILELANG_DEFAULT_TARGET", raising=False)
    monkeypatch.setattr(targets, "cards", list)
    with pytest.raises(TargetError) as caught:
        lower_file.resolve(None)
    assert str(caught.value) == (
        "error[TT621]: no target is given, and this machine has neither a GPU nor a Tenstorrent card\n"
        "  help: name one of cuda, hip, c, llvm, webgpu, metal, tenstorrent, or set TILELANG_DEFAULT_TARGET"
    )


def kind_of(target: Any) -> str:
    return lower_file.resolve(target)[1].kind
