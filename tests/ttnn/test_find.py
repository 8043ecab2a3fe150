"""Which device and which interpreter are chosen."""

from __future__ import annotations

import stat
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest
from fake_ttnn import FakeTtnn

from tilelang_tt.diagnostics import DeviceError, EnvironmentProblem
from tilelang_tt.execution import device
from tilelang_tt.runtime import ttnn_find, ttnn_process
from tilelang_tt.runtime.plan import CbPlan, LaunchPlan, Plan
from tilelang_tt.runtime.ttnn_launch import check_plan
from tilelang_tt.runtime.ttnn_process import HeldWorker


@pytest.fixture
def without_ttnn(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.delenv(ttnn_find.PYTHON_VARIABLE, raising=False)
    monkeypatch.delenv(ttnn_find.SIMULATOR_VARIABLE, raising=False)
    monkeypatch.delenv(device.DEVICE_VARIABLE, raising=False)
    monkeypatch.setattr(ttnn_find, "find_spec", lambda _name: None)
    return monkeypatch


def put_card(patch: pytest.MonkeyPatch, directory: Path) -> None:
    (directory / "0").write_text("")
    patch.setattr(ttnn_find, "CARD_DIRECTORY", directory)


def test_no_ttnn(without_ttnn: pytest.MonkeyPatch) -> None:
    without_ttnn.setattr(ttnn_find.platform, "python_version", lambda: "3.12.4")
    with pytest.raises(EnvironmentProblem) as caught:
        ttnn_find.find_python()
    assert str(caught.value) == (
        "error[TT507]: device 'ttnn' needs ttnn, and this Python does not have it\n"
        f"  help: {sys.executable} -m pip install ttnn==0.77.0"
    )


def test_an_interpreter_that_ttnn_has_no_wheel_for() -> None:
    assert ttnn_find.install_help("python3.11", "3.11.7") == (
        "ttnn has wheels for Python 3.10 and 3.12, this is 3.11.7: python3.12 -m venv ttnn-venv; "
        "ttnn-venv/bin/pip install ttnn==0.77.0; export TILELANG_TT_TTNN_PYTHON=$PWD/ttnn-venv/bin/python"
    )


def test_an_interpreter_without_ttnn(without_ttnn: pytest.MonkeyPatch) -> None:
    """What a launch says; nothing is opened first."""
    ttnn_process.close()  # another test's
    without_ttnn.setenv(ttnn_find.PYTHON_VARIABLE, sys.executable)
    with pytest.raises(EnvironmentProblem) as caught, HeldWorker(60):
        pass
    assert caught.value.message == f"{sys.executable} does not have ttnn"


def test_a_folder_named_ttnn_is_not_ttnn(without_ttnn: pytest.MonkeyPatch) -> None:
    without_ttnn.setattr(ttnn_find, "find_spec", lambda name: ModuleSpec(name, None, is_package=True))
    with pytest.raises(EnvironmentProblem):
        ttnn_find.find_python()


def test_an_interpreter_that_is_not_there(without_ttnn: pytest.MonkeyPatch) -> None:
    without_ttnn.setenv(ttnn_find.PYTHON_VARIABLE, "no-such-python")
    with pytest.raises(EnvironmentProblem) as caught:
        ttnn_find.find_python()
    assert str(caught.value) == (
        "error[TT507]: the interpreter named by $TILELANG_TT_TTNN_PYTHON is not there: no-such-python\n"
        "  help: set TILELANG_TT_TTNN_PYTHON to a Python that has ttnn"
    )


def test_something_that_is_no_python(without_ttnn: pytest.MonkeyPatch) -> None:
    without_ttnn.setenv(ttnn_find.PYTHON_VARIABLE, "true")
    with pytest.raises(EnvironmentProblem, match="does not run as a Python"):
        ttnn_find.find_ttnn()


@pytest.mark.parametrize("option", ["virtual", "auto"])
def test_without_a_card_kernels_run_on_the_virtual_device(without_ttnn: pytest.MonkeyPatch, option: str) -> None:
    without_ttnn.setattr(ttnn_find, "CARD_DIRECTORY", Path("no", "such", "directory"))
    assert device.choose(option) == "virtual"


def test_auto_takes_a_card(fake: FakeTtnn, tmp_path: Path) -> None:
    put_card(fake.patch, tmp_path)
    assert device.choose("auto") == "ttnn"
    assert device.choose("virtual") == "virtual"
    fake.patch.setenv(device.DEVICE_VARIABLE, "auto")
    assert device.choose("virtual") == "ttnn"


def test_auto_says_that_a_card_is_left_alone(
    without_ttnn: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    put_card(without_ttnn, tmp_path)
    assert device.choose("auto") == "virtual"
    assert "there is a Tenstorrent card, but kernels run on the virtual device" in caplog.text


def test_a_device_that_does_not_exist(without_ttnn: pytest.MonkeyPatch) -> None:
    without_ttnn.setenv(device.DEVICE_VARIABLE, "gpu")
    with pytest.raises(EnvironmentProblem) as caught:
        device.choose("virtual")
    assert str(caught.value) == (
        "error[TT504]: TILELANG_TT_DEVICE is no device: 'gpu'\n  help: valid: virtual, ttnn, auto"
    )


def test_settings_of_the_simulator(without_ttnn: pytest.MonkeyPatch) -> None:
    without_ttnn.delenv("TT_METAL_SLOW_DISPATCH_MODE", raising=False)
    assert "TT_METAL_SLOW_DISPATCH_MODE" not in ttnn_find.worker_environment("other-python")
    without_ttnn.setenv(ttnn_find.SIMULATOR_VARIABLE, "libsim.so")
    assert ttnn_find.worker_environment("other-python")["TT_METAL_SLOW_DISPATCH_MODE"] == "1"


def test_a_buffer_ttnn_cannot_declare() -> None:
    cb = CbPlan(3, "a", "Float16", 2048, 2, "reader", "compute")
    launch = LaunchPlan("k", (1, 1), 1, "contiguous", (), (cb,))
    plan = Plan("k", "wormhole_b0", "0.77", "fast", "ttnn", (), (), (), (launch,), "test")
    with pytest.raises(DeviceError) as caught:
        check_plan(plan)
    assert str(caught.value) == (
        "error[TT412]: CB 3 'a' of kernel 'k' holds Float16, which ttnn's Python side cannot declare\n"
        "  help: target option float16=float32 stores float16 without losing bits"
    )


def test_the_stand_in_is_an_interpreter(fake: FakeTtnn) -> None:
    assert fake.python.stat().st_mode & stat.S_IXUSR
    assert ttnn_find.find_ttnn().release == (0, 77)
