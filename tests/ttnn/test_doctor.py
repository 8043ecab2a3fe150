"""What `tilelang-tt doctor` says about device 'ttnn': each thing that can be missing or wrong, and all in order."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tilelang_tt.cli import doctor_hardware
from tilelang_tt.cli.doctor import doctor
from tilelang_tt.diagnostics import EnvironmentProblem
from tilelang_tt.runtime import ttnn_find
from tilelang_tt.runtime.ttnn_find import PYTHON_VARIABLE, SIMULATOR_VARIABLE, Ttnn

TOO_OLD = "-> releases 0.77 to 0.81 are supported: python3 -m pip install ttnn==0.77.0\n"


class Machine:
    """A machine with ttnn, its compiler and one card, to take things away from."""

    def __init__(self, root: Path, patch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.root, self.patch, self.capsys = root, patch, capsys
        for name in [PYTHON_VARIABLE, *(name for name in os.environ if name.startswith("TT_METAL_"))]:
            patch.delenv(name, raising=False)
        self.ttnn = root / "ttnn"
        self.write("ttnn/tt_metal/sfpi-version", "sfpi_repo='https://x'\nsfpi_version='7.69.0'\n")
        self.compiler("opt", "tenstorrent/sfpi:7.69.0[822]")
        self.card = self.write("dev/0", "")
        self.write("sys/tenstorrent!0/tt_card_type", "n300\n")
        self.write("sys/tenstorrent!0/tt_fw_bundle_ver", "18.12.0.0\n")
        patch.setattr(doctor_hardware, "SFPI_OF_SYSTEM", root / "opt")
        patch.setattr(doctor_hardware, "CARD_FACTS", root / "sys")
        patch.setattr(doctor_hardware, "DRIVER_VERSION", self.write("version", "2.6.0\n"))
        patch.setattr(ttnn_find, "CARD_DIRECTORY", self.card.parent)
        self.version("0.77.0")

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def version(self, version: str) -> None:
        self.patch.setattr(doctor_hardware, "find_ttnn", lambda: Ttnn("python3", "3.10.13", version, self.ttnn))

    def compiler(self, place: str, title: str) -> Path:
        path = self.write(
            f"{place}/compiler/bin/riscv-tt-elf-g++", f"#!/bin/sh\necho 'riscv-tt-elf-g++ ({title}) 15.1.0'\n"
        )
        path.chmod(0o755)
        return path

    def report(self, *, can_run: bool) -> str:
        assert doctor() == 0
        self.capsys.readouterr()
        assert doctor(strict=True) == (0 if can_run else 1)
        return self.capsys.readouterr().out


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Machine:
    return Machine(tmp_path, monkeypatch, capsys)


def test_all_there(machine: Machine) -> None:
    machine.patch.setenv("TT_METAL_WATCHER", "5")
    report = machine.report(can_run=True)
    assert "ok       ttnn          0.77.0 in python3 (Python 3.10.13)\n" in report
    assert f"ok       sfpi          7.69.0 in {machine.root / 'opt'}\n" in report
    assert "ok       driver        tt-kmd 2.6.0\n" in report
    assert f"ok       device        {machine.card}: n300, firmware 18.12.0.0\n" in report
    assert "ok       setting       TT_METAL_WATCHER=5\n" in report
    assert report.endswith("Device 'ttnn' can run.\n")


def test_nothing_there(machine: Machine) -> None:
    def nothing() -> Ttnn:
        raise EnvironmentProblem("TT507", "there is no ttnn", help="pip install ttnn")

    machine.patch.setattr(doctor_hardware, "find_ttnn", nothing)
    machine.patch.setattr(doctor_hardware, "SFPI_OF_SYSTEM", machine.root / "nowhere")
    machine.card.unlink()
    report = machine.report(can_run=False)
    assert "no       ttnn          there is no ttnn\n                       -> pip install ttnn\n" in report
    nowhere = machine.root / "nowhere"
    assert f"no       sfpi          the compiler for the chip's cores is not in {nowhere}\n" in report
    assert "no       device        no Tenstorrent card, no simulator\n" in report
    assert "Device 'ttnn' cannot run: ttnn, sfpi, device missing or wrong.\n" in report


@pytest.mark.parametrize("version", ["0.60.1", "0.99.0", "dev"])
def test_another_release_of_ttnn(machine: Machine, version: str) -> None:
    machine.version(version)
    report = machine.report(can_run=False)
    assert f"no       ttnn          {version} in python3" in report
    assert TOO_OLD in report


def test_the_compiler_beside_ttnn_comes_first(machine: Machine) -> None:
    machine.compiler("ttnn/runtime/sfpi", "tenstorrent/sfpi:7.69.0")
    assert f"ok       sfpi          7.69.0 in {machine.ttnn}/runtime/sfpi\n" in machine.report(can_run=True)


def test_a_compiler_of_another_release(machine: Machine) -> None:
    machine.compiler("opt", "tenstorrent/sfpi:7.50.1[3]")
    report = machine.report(can_run=False)
    assert f"no       sfpi          7.50.1 in {machine.root / 'opt'}; this ttnn is made for 7.69.0\n" in report
    assert f"-> install sfpi 7.69.0 into {machine.root / 'opt'}: " in report


def test_a_compiler_that_does_not_say_what_it_is(machine: Machine) -> None:
    machine.compiler("opt", "GCC")
    assert f"ok       sfpi          unknown version in {machine.root / 'opt'}\n" in machine.report(can_run=True)


def test_a_compiler_for_another_machine(machine: Machine) -> None:
    path = machine.compiler("opt", "x")
    path.write_bytes(b"\x7fELF of something else")
    assert f"no       sfpi          {path} does not run\n" in machine.report(can_run=False)


def test_an_older_driver_tells_less(machine: Machine) -> None:
    machine.patch.setattr(doctor_hardware, "CARD_FACTS", machine.root / "nowhere")
    machine.patch.setattr(doctor_hardware, "DRIVER_VERSION", machine.root / "nowhere")
    report = machine.report(can_run=True)
    assert "ok       driver        tt-kmd of unknown version\n" in report
    assert ": unknown kind, firmware unknown (an older driver does not tell)\n" in report


def test_a_card_of_another_user(machine: Machine) -> None:
    machine.patch.setattr(doctor_hardware.os, "access", lambda *_: False)
    report = "\n".join(f"{item.mark} {item.fact} -> {item.advice}" for item in doctor_hardware.hardware())
    assert "n300, firmware 18.12.0.0; it may not be opened by this user -> add this user to the group" in report


def test_a_simulator(machine: Machine) -> None:
    library = machine.write("sim/libsim.so", "")
    machine.write("sim/soc_descriptor.yaml", "x: 1\narch_name: BLACKHOLE\n")
    machine.patch.setenv(SIMULATOR_VARIABLE, str(library))
    report = machine.report(can_run=True)
    assert f"ok       device        simulator {library}, blackhole\n" in report
    assert "firmware" not in report


def test_a_simulator_without_its_chip(machine: Machine) -> None:
    library = machine.write("sim/libsim.so", "")
    machine.patch.setenv(SIMULATOR_VARIABLE, str(library))
    report = machine.report(can_run=False)
    assert f"no       device        simulator {library}, without soc_descriptor.yaml beside it\n" in report
    assert (
        f"-> copy the chip's file of ttnn's tt_metal/soc_descriptors to {library.parent}/soc_descriptor.yaml\n"
        in report
    )


def test_a_simulator_that_is_not_there(machine: Machine) -> None:
    machine.patch.setenv(SIMULATOR_VARIABLE, "/nowhere/libsim.so")
    report = machine.report(can_run=False)
    assert "no       device        TT_METAL_SIMULATOR names /nowhere/libsim.so, which is not there\n" in report


def test_a_wrong_setting_for_the_simulator(machine: Machine) -> None:
    library = machine.write("sim/libsim.so", "")
    machine.write("sim/soc_descriptor.yaml", "arch_name: WORMHOLE_B0\n")
    machine.patch.setenv("TT_METAL_DISABLE_SFPLOADMACRO", "0")
    machine.report(can_run=True)  # a card runs with it
    machine.patch.setenv(SIMULATOR_VARIABLE, str(library))
    report = machine.report(can_run=False)
    assert "-> the simulator needs TT_METAL_DISABLE_SFPLOADMACRO=1; unset, it is set for you\n" in report
    assert "Device 'ttnn' cannot run: setting missing or wrong.\n" in report


def test_slow_dispatch_on_a_card(machine: Machine) -> None:
    """The SDK asks whether the variable is there, not what it says."""
    machine.patch.setenv("TT_METAL_SLOW_DISPATCH_MODE", "0")
    report = machine.report(can_run=True)
    fact = "TT_METAL_SLOW_DISPATCH_MODE=0: slow dispatch, whatever the value; unset it for fast dispatch"
    assert f"ok       setting       {fact}\n" in report


def test_a_root_that_is_none(machine: Machine) -> None:
    machine.patch.setenv("TT_METAL_HOME", str(machine.root))  # ttnn does not read it
    machine.patch.setenv("TT_METAL_RUNTIME_ROOT", str(machine.root))
    machine.patch.setenv(SIMULATOR_VARIABLE, "/nowhere/libsim.so")
    report = machine.report(can_run=False)
    assert f"ok       setting       TT_METAL_HOME={machine.root}\n" in report
    assert f"no       setting       TT_METAL_RUNTIME_ROOT={machine.root} holds no tt_metal\n" in report
    assert "-> unset TT_METAL_RUNTIME_ROOT: ttnn knows its own files\n" in report
    assert "Device 'ttnn' cannot run: device, setting missing or wrong.\n" in report


def test_a_folder_that_takes_no_files(machine: Machine) -> None:
    file = machine.write("not_a_folder", "")
    machine.patch.setenv("TT_METAL_CACHE", str(file))
    machine.patch.setenv("TT_METAL_LOGS_PATH", str(machine.root / "not" / "yet"))
    report = machine.report(can_run=False)
    assert f"no       setting       TT_METAL_CACHE={file} cannot be written\n" in report
    assert "-> unset TT_METAL_CACHE, or name a folder you may write to\n" in report
    assert f"ok       setting       TT_METAL_LOGS_PATH={machine.root / 'not' / 'yet'}\n" in report
