"""docs/reference/numerics.md says what is measured."""

import pytest
from kernel_errors import CHIPS, DTYPES, KERNELS, PAGE, measured

from tilelang_tt.arch import ARCHS


@pytest.mark.parametrize(("number", "arch"), list(enumerate(CHIPS)))
def test_a_row_of_the_page(number: int, arch: str) -> None:
    kernel = KERNELS[number]
    errors = " | ".join(measured(kernel, DTYPES[0], arch))
    assert f"\n| {kernel.title} | {ARCHS[arch].title} | {errors} |" in PAGE.read_text()


def test_the_page_has_every_row() -> None:
    text = PAGE.read_text()
    for kernel in KERNELS:
        for arch in CHIPS:
            assert text.count(f"\n| {kernel.title} | {ARCHS[arch].title} |") == len(DTYPES)
