"""A worker that hangs, dies or refuses, and devices a kernel was not compiled for; on a stand-in for ttnn.

Not proven on a device: the stand-in fails in these ways on command.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
import torch
from fake_ttnn import FakeTtnn
from test_launch_on_fake import compiled, gemm

from tilelang_tt.diagnostics import DeviceError, EnvironmentProblem, TenstorrentError
from tilelang_tt.execution.kernel import TenstorrentKernel
from tilelang_tt.runtime import ttnn_find, ttnn_process


def kernel() -> TenstorrentKernel:
    return compiled(gemm(64, 64, 64), grid=(1, 1))


def error_of(call: TenstorrentKernel) -> TenstorrentError:
    eye = torch.eye(64).bfloat16()
    with pytest.raises(TenstorrentError) as caught:
        call(eye, eye)
    return caught.value


def assert_works(fake: FakeTtnn, call: TenstorrentKernel) -> None:
    fake.patch.delenv("FAKE_TTNN_MODE", raising=False)
    fake.patch.delenv("TILELANG_TT_TIMEOUT", raising=False)
    eye = torch.eye(64).bfloat16()
    assert torch.equal(call(eye, eye), eye)


def test_a_hang_while_running_and_the_next_call(fake: FakeTtnn) -> None:
    fake.change(mode="hang_run")
    fake.patch.setenv("TILELANG_TT_TIMEOUT", "30")
    call = kernel()
    with ttnn_process.HeldWorker(60.0) as worker:  # start-up has its time; the hang gets little
        process = worker.process
    fake.patch.setenv("TILELANG_TT_TIMEOUT", "1.5")
    started = time.monotonic()
    error = error_of(call)
    assert time.monotonic() - started < 10
    assert isinstance(error, DeviceError)
    assert error.code == "TT405"
    assert error.message == "time limit: the ttnn worker did not end 'running launch 'matmul'' within 1.5 s"
    assert process.poll() is not None
    assert_works(fake, call)


def test_a_hang_while_opening(fake: FakeTtnn) -> None:
    fake.change(mode="hang_open")
    fake.patch.setenv("TILELANG_TT_TIMEOUT", "3")
    call = kernel()
    error = error_of(call)
    assert (error.code, error.message) == (
        "TT405",
        "time limit: the ttnn worker did not end 'opening the device' within 3 s",
    )
    assert_works(fake, call)


def test_a_worker_that_dies_and_the_next_call(fake: FakeTtnn) -> None:
    fake.change(mode="die_run")
    call = kernel()
    error = error_of(call)
    assert isinstance(error, DeviceError)
    assert (error.code, error.message) == (
        "TT406",
        "crash: the ttnn worker ended (exit status 3) while 'running launch 'matmul''",
    )
    assert_works(fake, call)


def test_a_worker_killed_while_it_runs(fake: FakeTtnn) -> None:
    fake.change(mode="hang_run")
    call = kernel()
    with ttnn_process.HeldWorker(60.0) as worker:
        killer = threading.Timer(1.0, worker.process.kill)
    killer.start()
    error = error_of(call)
    assert (error.code, error.message) == (
        "TT406",
        "crash: the ttnn worker ended (signal SIGKILL) while 'running launch 'matmul''",
    )
    assert_works(fake, call)


def test_a_worker_killed_between_calls(fake: FakeTtnn) -> None:
    fake.change()
    call = kernel()
    assert_works(fake, call)
    with ttnn_process.HeldWorker(60.0) as worker:
        worker.process.kill()
        worker.process.wait()
    assert_works(fake, call)


def test_ttnn_raises(fake: FakeTtnn) -> None:
    fake.change(mode="raise_run")
    call = kernel()
    error = error_of(call)
    assert str(error) == (
        "error[TT411]: ttnn failed while 'running launch 'matmul'': TT_FATAL @ somewhere.cpp:12: size > 0\n"
        "  note: info:\n"
        "  note: the buffers clash\n"
        "  help: tilelang-tt doctor --strict checks ttnn and the device"
    )
    assert_works(fake, call)


@pytest.mark.parametrize(
    ("simulator", "help_"),
    [
        ("", "no Tenstorrent card, no simulator: install the driver tt-kmd for a card, or set"),
        ("/nowhere/sim.so", "TT_METAL_SIMULATOR names /nowhere/sim.so, which is not there: set"),
    ],
)
def test_no_device(fake: FakeTtnn, tmp_path: Path, simulator: str, help_: str) -> None:
    fake.change(mode="raise_open")
    fake.patch.setattr(ttnn_find, "CARD_DIRECTORY", tmp_path)
    fake.patch.setenv(ttnn_find.SIMULATOR_VARIABLE, simulator)
    error = error_of(kernel())
    assert error.message == "ttnn failed while 'opening the device': TT_FATAL @ somewhere.cpp:7: num_chips > 0"
    assert str(error.help).startswith(help_)


def test_a_large_program_gets_a_device_with_more_room(fake: FakeTtnn) -> None:
    fake.change(mode="large_200000")
    eye = torch.eye(64).bfloat16()
    assert torch.equal(kernel()(eye, eye), eye)


def test_large_buffers_take_the_room_back(fake: FakeTtnn) -> None:
    """The first kernel's program leaves 100,000 B for buffers; the second kernel needs more."""
    fake.change(mode="large_1400000")
    for size in (64, 256, 64):
        eye = torch.eye(size).bfloat16()
        assert torch.equal(compiled(gemm(size, size, size, block=size), grid=(1, 1))(eye, eye), eye)


def test_a_program_that_fits_beside_no_buffers(fake: FakeTtnn) -> None:
    fake.change(mode="large_1490000")
    call = kernel()
    assert str(error_of(call)) == (
        "error[TT416]: too large: its machine code takes 1,490,000 B and its circular buffers 49,152 B of L1; a core "
        "has 1,500,000 B for both (running launch 'matmul')\n"
        "  help: smaller blocks or num_stages take less for buffers; two kernels in a row take less for each"
    )
    assert_works(fake, call)


def test_another_chip(fake: FakeTtnn) -> None:
    fake.change(arch="blackhole")
    assert str(error_of(kernel())) == (
        "error[TT413]: kernel 'matmul' is compiled for wormhole_b0; the device is blackhole\n"
        '  help: target="tenstorrent/blackhole"'
    )


def test_a_smaller_grid(fake: FakeTtnn) -> None:
    fake.change(grid="8x7")
    assert str(error_of(compiled(gemm(64, 64, 64)))) == (
        "error[TT413]: launch 'matmul' uses 8x8 cores; the device has 8x7\n  help: target option grid=8x7"
    )


def test_an_older_ttnn(fake: FakeTtnn) -> None:
    fake.change(version="0.77.0")
    error = error_of(compiled(gemm(64, 64, 64), sdk="0.81", grid=(1, 1)))
    assert isinstance(error, EnvironmentProblem)
    assert str(error) == (
        "error[TT508]: kernel 'matmul' uses the API of ttnn 0.81; ttnn 0.77.0 is installed\n"
        "  help: pip install 'ttnn==0.81.*', or target option sdk=0.77"
    )


def test_calls_from_several_threads(fake: FakeTtnn) -> None:
    call = kernel()
    results: dict[int, bool] = {}

    def work(number: int) -> None:
        a = torch.full((64, 64), float(number)).bfloat16()
        results[number] = torch.equal(call(torch.eye(64).bfloat16(), a), a)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {0: True, 1: True, 2: True, 3: True}
