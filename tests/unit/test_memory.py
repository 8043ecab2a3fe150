"""Which tensors share memory: against sets of addresses, for arbitrary views of one allocation."""

from __future__ import annotations

import itertools

import torch
from hypothesis import given
from hypothesis import strategies as st

from tilelang_tt.execution.memory import overlaps_itself, share_memory

POOL = torch.zeros(128)


@st.composite
def views(draw: st.DrawFn) -> torch.Tensor:
    """Any view of POOL of up to three axes."""
    axes = draw(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9)), max_size=3))
    reach = sum((size - 1) * stride for size, stride in axes if size > 0)
    offset = draw(st.integers(0, POOL.numel() - 1 - reach))
    return POOL.as_strided([size for size, _ in axes], [stride for _, stride in axes], offset)


def addresses(view: torch.Tensor) -> list[int]:
    indices = itertools.product(*(range(size) for size in view.shape))
    return [
        view.storage_offset() + sum(i * stride for i, stride in zip(index, view.stride(), strict=True))
        for index in indices
    ]


@given(views(), views())
def test_shared_memory_is_shared_addresses(first: torch.Tensor, second: torch.Tensor) -> None:
    assert share_memory(first, second) == bool(set(addresses(first)) & set(addresses(second)))


@given(views())
def test_repeated_addresses_are_found(view: torch.Tensor) -> None:
    places = addresses(view)
    if len(set(places)) != len(places):
        assert overlaps_itself(view)


@given(st.permutations(range(3)), st.integers(1, 3), st.integers(1, 3))
def test_slices_and_transposes_do_not_overlap(axes: list[int], first: int, last: int) -> None:
    view = POOL[:64].view(4, 4, 4).permute(axes)[::first, :, ::last]
    assert not overlaps_itself(view)


def test_views_of_other_dtypes() -> None:
    words = torch.zeros(8, dtype=torch.float32)
    halves = words.view(torch.bfloat16)
    assert share_memory(words[:4], halves[7:])
    assert not share_memory(words[:4], halves[8:])
