"""CUDA habits inside `tilelang-tt run`, and that nothing of them remains afterwards."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import tilelang.profiler
import torch

from tilelang_tt.arch import BLACKHOLE, WORMHOLE_B0
from tilelang_tt.cli.host_stand_ins import cuda_stand_ins, host_stand_ins


@pytest.fixture
def on_host() -> Iterator[None]:
    with host_stand_ins(WORMHOLE_B0):
        yield


pytestmark = pytest.mark.filterwarnings("error")


@pytest.mark.usefixtures("on_host")
@pytest.mark.parametrize("device", ["cuda", "cuda:0", torch.device("cuda"), torch.device("cuda", 0), 0])
def test_factories(device: object) -> None:
    for factory in (torch.randn, torch.empty, torch.zeros, torch.ones, torch.rand):
        assert factory(2, 3, device=device).device.type == "cpu"
    assert torch.tensor([1.0], device=device).tolist() == [1.0]
    assert torch.arange(3, device=device).tolist() == [0, 1, 2]
    assert torch.zeros_like(torch.ones(2), device=device).tolist() == [0, 0]


@pytest.mark.usefixtures("on_host")
@pytest.mark.parametrize("device", ["cuda", "cuda:0", torch.device("cuda"), "cpu"])
def test_generators(device: object) -> None:
    draws = [torch.rand(3, generator=torch.Generator(device=device).manual_seed(7), device="cuda") for _ in range(2)]
    assert torch.equal(draws[0], draws[1])
    assert isinstance(torch.Generator(device), torch.Generator)


@pytest.mark.usefixtures("on_host")
def test_moves_copy_as_between_devices() -> None:
    host = torch.zeros(4)
    moved = [
        host.cuda(),
        host.cuda(0),
        host.to("cuda"),
        host.to(0),
        host.to(device="cuda"),
        host.to("cuda:0"),
    ]
    for tensor in moved:
        tensor.fill_(1.0)
    assert host.tolist() == [0, 0, 0, 0]
    back = moved[0].cpu()
    moved[0].fill_(2.0)
    assert back.tolist() == [1, 1, 1, 1]


@pytest.mark.usefixtures("on_host")
def test_moves_with_a_dtype() -> None:
    assert torch.ones(2).to("cuda", torch.float16).dtype is torch.float16
    assert torch.ones(2).cuda().half().dtype is torch.float16
    same = torch.ones(2)
    assert same.to(torch.float32) is same


@pytest.mark.usefixtures("on_host")
def test_modules_and_device_scopes() -> None:
    layer = torch.nn.Linear(2, 2).cuda()
    assert layer.to("cuda").weight.device.type == "cpu"
    with torch.device("cuda"):
        assert torch.ones(2).device.type == "cpu"
    torch.set_default_device("cuda")
    try:
        assert torch.ones(2).device.type == "cpu"
    finally:
        torch.set_default_device(None)


@pytest.mark.usefixtures("on_host")
def test_device_objects() -> None:
    made = [
        torch.device("cuda"),
        torch.device(0),
        torch.device("cuda", 0),
        torch.device(type="cuda", index=0),
    ]
    assert {device.type for device in made} == {"cpu"}
    assert torch.device("cpu").type == "cpu"
    assert torch.device("meta").type == "meta"


@pytest.mark.usefixtures("on_host")
def test_pinned_memory_is_ordinary() -> None:
    assert torch.ones(2, pin_memory=True).pin_memory().tolist() == [1, 1]


@pytest.mark.usefixtures("on_host")
def test_device_queries() -> None:
    assert torch.cuda.is_available()
    assert torch.cuda.device_count() == 1
    assert torch.cuda.current_device() == 0
    assert torch.cuda.get_device_name(0) == "Tenstorrent Wormhole (virtual device)"
    assert torch.cuda.get_device_capability() == (8, 0)
    assert torch.cuda.get_device_properties(0).multi_processor_count == 64


def test_properties_follow_the_chip() -> None:
    assert cuda_stand_ins(BLACKHOLE)["get_device_properties"](0).multi_processor_count == 130


@pytest.mark.usefixtures("on_host")
def test_timing_and_order() -> None:
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()), torch.cuda.device(0):
        end.record()
    end.synchronize()
    assert start.elapsed_time(end) > 0


@pytest.mark.usefixtures("on_host")
def test_seeds_reach_the_host_generator() -> None:
    torch.cuda.manual_seed_all(7)
    first = torch.rand(3, device="cuda")
    torch.cuda.manual_seed(7)
    assert torch.equal(first, torch.rand(3, device="cuda"))
    torch.manual_seed(7)
    assert torch.equal(first, torch.rand(3))


@pytest.mark.usefixtures("on_host")
@pytest.mark.parametrize("backend", ["event", "cupti", "cudagraph"])
def test_bench_uses_the_host_s_clock(backend: str) -> None:
    calls = []
    milliseconds = tilelang.profiler.do_bench(lambda: calls.append(1), _n_warmup=1, _n_repeat=2, backend=backend)
    assert milliseconds > 0
    assert len(calls) >= 3


def test_everything_is_put_back() -> None:
    before = {name: getattr(torch.cuda, name) for name in cuda_stand_ins(WORMHOLE_B0)}
    bench, default = tilelang.profiler.do_bench, torch.set_default_device
    with pytest.raises(KeyError), host_stand_ins(WORMHOLE_B0):
        raise KeyError
    assert {name: getattr(torch.cuda, name) for name in before} == before
    assert tilelang.profiler.do_bench is bench
    assert torch.set_default_device is default
    if not torch.cuda.is_available():
        with pytest.raises((RuntimeError, AssertionError)):
            torch.ones(2, device="cuda")


def test_no_two_names_share_a_stand_in() -> None:
    """torch._dynamo, which torch imports by itself for some operators, refuses one function under two names."""
    values = list(cuda_stand_ins(WORMHOLE_B0).values())
    assert len({id(value) for value in values}) == len(values)
