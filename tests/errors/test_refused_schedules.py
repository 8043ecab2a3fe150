"""Schedules that a kernel cannot have: the whole text, at the line that says so."""

import inspect
from collections.abc import Callable
from typing import Any

import pytest
import tilelang
import tilelang.language as T
import torch

import tilelang_tt.language as TT
from tilelang_tt.diagnostics import DeviceError, TargetError


def refusal(func: Any, schedule: Any = "", **options: Any) -> str:
    target = {"kind": "tenstorrent", "schedule": schedule, **options}
    with pytest.raises(TargetError) as caught:
        tilelang.compile(func, target=target)
    return str(caught.value)


def kernel(**said: Any) -> Any:
    @T.prim_func
    def main(A: T.Tensor((96, 160), "float32"), B: T.Tensor((96, 160), "float32")):
        with T.Kernel(5, 3, threads=128) as (bx, by):  # the kernel
            TT.schedule(**said)  # the annotation
            x = T.alloc_shared((32, 32), "float32")
            T.copy(A[by * 32, bx * 32], x)
            T.copy(x, B[by * 32, bx * 32])

    return main


def plain() -> Any:
    @T.prim_func
    def main(A: T.Tensor((96, 160), "float32"), B: T.Tensor((96, 160), "float32")):
        with T.Kernel(5, 3, threads=128) as (bx, by):  # the kernel
            x = T.alloc_shared((32, 32), "float32")
            T.copy(A[by * 32, bx * 32], x)
            T.copy(x, B[by * 32, bx * 32])

    return main


def matched(**said: Any) -> Any:
    @T.prim_func
    def main(A: T.Tensor((96, 160), "float32"), B: T.Tensor((96, 160), "float32")):
        with T.Kernel(5, 3, threads=128) as (bx, by):
            TT.schedule(match=A, **said)  # the annotation
            x = T.alloc_shared((32, 32), "float32")
            T.copy(A[by * 32, bx * 32], x)
            T.copy(x, B[by * 32, bx * 32])

    return main


def updated() -> Any:
    @T.prim_func
    def main(X: T.Tensor((96, 320), "float32"), Y: T.Tensor((96, 64), "float32")):
        with T.Kernel(2, 3, 5, threads=128) as (bx, by, bz):  # the kernel
            x = T.alloc_shared((32, 32), "float32")
            T.copy(X[by * 32, bz * 64 + bx * 32], x)
            T.atomic_add(Y[by * 32, bx * 32], x)

    return main


def at(builder: Callable[..., Any], mark: str) -> tuple[str, str]:
    """The place of a marked line, as errors name it; and the line."""
    source, first = inspect.getsourcelines(builder)
    number, line = next((number, line) for number, line in enumerate(source) if mark in line)
    return f"{inspect.getsourcefile(builder)}:{first + number}", line.strip()


def text(builder: Callable[..., Any], mark: str, code: str, message: str, *rest: str) -> str:
    place, line = at(builder, mark)
    return "\n".join([f"{place}: error[{code}]: {message}", f"    {line}", *(f"  {one}" for one in rest)])


ANNOTATED: list[tuple[dict[str, Any], str, str | None]] = [
    ({"policy": "zigzag"}, "policy 'zigzag' is none of contiguous, strided, rectangle", None),
    ({"order": "spiral"}, "order 'spiral' is none of row, column, block-linear, block-linear-column, z", None),
    (
        {"polcy": "strided"},
        "a schedule has no 'polcy'; it has policy, order, panel, cores, core_order, match, units",
        None,
    ),
    ({"cores": ["2x2", "2x2+1+1"]}, "core ranges 2x2 and 2x2+1+1 overlap", "let them have no core in common"),
    (
        {"policy": "rectangle", "cores": ["2x2", "2x2+4+4"]},
        "policy rectangle needs one rectangle of cores; 2 are given",
        "give one, or say contiguous or strided",
    ),
    ({"units": 7}, "'units' is a list of blocks for each core", "write [[0, 3], [1, 2]], or '0.3/1.2'"),
    (
        {"units": [[*range(15)]], "policy": "strided"},
        "'units' says all, so 'policy' has no meaning beside it",
        "leave 'policy' out",
    ),
    (
        {"units": [[0], [1], [*range(2, 15)]], "cores": "2x1"},
        "'units' has lists for 3 cores; 'cores' are 2",
        "leave lists out, or give more cores",
    ),
    (
        {"order": "row", "panel": 2},
        "a panel belongs to the orders block-linear and block-linear-column; the order is row",
        "leave 'panel' out, or take one of these orders",
    ),
]


@pytest.mark.parametrize(("said", "message", "help"), ANNOTATED, ids=[str(said) for said, *_ in ANNOTATED])
def test_annotations_that_say_nothing(said: dict[str, Any], message: str, help: str | None) -> None:
    rest = [] if help is None else [f"help: {help}"]
    assert refusal(kernel(**said)) == text(kernel, "# the annotation", "TT604", f"TT.schedule: {message}", *rest)


@pytest.mark.parametrize(
    ("more", "message", "help"),
    [
        (
            {"cores": "4x4"},
            "the tensor that 'match' names says which cores, so 'cores' has no meaning beside it",
            "leave 'cores' out, or 'match'",
        ),
        ({"policy": "strided"}, "'match' deals rectangles; the policy cannot be strided", "leave 'policy' out"),
    ],
)
def test_match_beside_other_words(more: dict[str, Any], message: str, help: str) -> None:
    assert refusal(matched(**more)) == text(
        matched, "# the annotation", "TT604", f"TT.schedule: {message}", f"help: {help}"
    )


def test_two_annotations_disagree() -> None:
    """Both lines are named."""

    def build() -> Any:
        @T.prim_func
        def main(A: T.Tensor((96, 160), "float32"), B: T.Tensor((96, 160), "float32")):
            with T.Kernel(5, 3, threads=128) as (bx, by):
                TT.schedule(policy="strided")  # the first
                TT.schedule(order="z")
                TT.schedule(policy="rectangle")  # the other
                x = T.alloc_shared((32, 32), "float32")
                T.copy(A[by * 32, bx * 32], x)
                T.copy(x, B[by * 32, bx * 32])

        return main

    first, _ = at(build, "# the first")
    found = refusal(build())
    message = f"TT.schedule says policy:rectangle; TT.schedule at {first} says policy:strided"
    assert found == text(build, "# the other", "TT604", message, "help: leave 'policy' out in one of them")


def test_kernel_and_target_disagree() -> None:
    message = "TT.schedule says order:column; the target option 'schedule' says order:z"
    help = "help: leave 'order' out in one of them"
    assert refusal(kernel(order="column", policy="strided"), "order:z") == text(
        kernel, "# the annotation", "TT604", message, help
    )


def test_together_they_make_no_sense() -> None:
    message = "the schedule of kernel 'main': policy rectangle needs one rectangle of cores; 2 are given"
    help = "help: give one, or say contiguous or strided"
    assert refusal(kernel(policy="rectangle"), "cores:2x2/2x2+4+4") == text(
        kernel, "# the annotation", "TT604", message, help
    )


def test_cores_outside_the_chip() -> None:
    message = "core range 4x4+6+0 of the schedule ends at core (9, 3), outside the grid"
    rest = ("note: Wormhole has 8x8 cores", "help: ranges lie within 8x8+0+0")
    assert refusal(kernel(cores="4x4+6+0")) == text(kernel, "# the annotation", "TT605", message, *rest)
    with_grid = refusal(kernel(cores="3x3"), grid=(2, 4))
    assert "  note: target option grid=2x4\n" in with_grid


@pytest.mark.parametrize(
    ("units", "problem"),
    [
        ([[*range(14)]], "unit 14 is done never"),
        ([[*range(8)], [*range(7, 15)]], "unit 7 is done 2 times"),
        ([[*range(16)]], "core (0, 0) has 16 units that are not all among the 5 x 3 blocks"),
    ],
)
def test_lists_that_are_not_the_grid(units: list[list[int]], problem: str) -> None:
    message = f"the lists of units do not make up kernel 'main': {problem}"
    rest = ("note: its grid has 5 x 3 blocks, numbered row by row from 0 to 14", "help: list every number once")
    assert refusal(plain(), {"units": units}) == text(plain, "# the kernel", "TT606", message, *rest)


def test_lists_for_too_many_cores() -> None:
    message = "'units' has lists for 5 cores; there are 4"
    rest = ("help: leave lists out, or give more cores",)
    lists = {"units": [[*range(11)], [11], [12], [13], [14]]}
    assert refusal(plain(), lists, grid=(2, 2)) == text(plain, "# the kernel", "TT606", message, *rest)


def copied() -> Any:
    @T.prim_func
    def main(A: T.Tensor((640, 640), "float32"), B: T.Tensor((640, 640), "float32")):
        with T.Kernel(20, 20, threads=128) as (bx, by):
            x = T.alloc_shared((32, 32), "float32")
            T.copy(A[by * 32, bx * 32], x)
            T.copy(x, B[by * 32, bx * 32])

    return main


def copied_rows() -> Any:
    """Of any number."""
    m = T.dynamic("m")

    @T.prim_func
    def main(A: T.Tensor((m, 64), "float32"), B: T.Tensor((m, 64), "float32")):
        with T.Kernel(2, T.ceildiv(m, 32), threads=128) as (bx, by):
            x = T.alloc_shared((32, 32), "float32")
            T.copy(A[by * 32, bx * 32], x)
            T.copy(x, B[by * 32, bx * 32])

    return main


def test_lists_are_for_one_number_of_blocks() -> None:
    lists = {"kind": "tenstorrent", "schedule": {"units": [[5, 0, 1], [], [2, 3, 4]]}}
    any_size = {"kind": "tenstorrent", "schedule": {"policy": "strided"}}
    for rows, target in ((96, lists), (70, lists), (128, any_size)):
        a, b = torch.randn(rows, 64), torch.zeros(rows, 64)
        tilelang.compile(copied_rows(), target=target)(a, b)
        assert torch.equal(a, b)
    with pytest.raises(DeviceError) as caught:
        tilelang.compile(copied_rows(), target=lists)(torch.zeros(128, 64), torch.zeros(128, 64))
    assert str(caught.value) == (
        "error[TT418]: launch 'main' does not do all of its work: unit 6 is done never, as are 1 more\n"
        "  note: policy list over 64 cores, 2 x 4 blocks\n"
        "  help: the lists are for 6 blocks: give sizes that make so many, or a policy"
    )


@pytest.mark.parametrize(("words", "what"), [("units:0.1", "a list of units"), ("match:Y", "match 'Y'")])
def test_indices_that_became_loops(words: str, what: str) -> None:
    message = (
        f"{what} needs all block indices of kernel 'main'; blocks that update the same tiles run one after the other, "
        "so only these are dealt to cores: bx, by"
    )
    rest = ("help: leave the schedule out, or say contiguous, strided or rectangle",)
    assert refusal(updated(), words) == text(updated, "# the kernel", "TT607", message, *rest)


def test_match_of_a_tensor_that_is_not_sharded() -> None:
    message = "match 'A': the tensor is not sharded, so no core holds a piece of it"
    rest = ("help: give 'A' a layout in L1 whose shards are whole blocks, or leave 'match' out",)
    assert refusal(matched()) == text(matched, "# the annotation", "TT608", message, *rest)


def test_match_of_half_tiles_of_any_number() -> None:
    layout = {"memory": "L1", "shard": "height", "grid": (3, 1)}
    halves = {**layout, "tile": (16, 32)}
    found = refusal(copied_rows(), {"match": "A"}, layout={"A": halves})
    assert "TT608]: match 'A': its pages are half tiles, and their number is known only at run time" in found
    assert found.endswith("help: leave out tile= of 'A', or leave 'match' out")
    ways: list[tuple[dict[str, Any], Any]] = [({"match": "A"}, layout), ({}, halves)]
    for schedule, where in ways:
        target = {"kind": "tenstorrent", "schedule": schedule, "layout": {"A": where}}
        a, b = torch.randn(70, 64), torch.zeros(70, 64)
        tilelang.compile(copied_rows(), target=target)(a, b)
        assert torch.equal(a, b)


def test_match_of_a_tensor_that_is_not_there() -> None:
    message = "match 'Z': kernel 'main' has no such tensor"
    assert refusal(plain(), "match:Z") == text(plain, "# the kernel", "TT608", message, "help: its tensors are A, B")


def test_a_kernel_that_is_not_there() -> None:
    assert refusal(plain(), {"3": {"policy": "strided"}}) == (
        "error[TT604]: the target option 'schedule' speaks of T.Kernel 3; the function has 1\n"
        "  help: the first one is number 0"
    )
