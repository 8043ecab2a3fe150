"""docs/reference/numerics.md says what is measured, up to a digit that a change of the generated code may cost."""

import pytest
from kernel_errors import CHIPS, DTYPES, KERNELS, MODES, PAGE, measured

from tilelang_tt.arch import ARCHS


def rows(title: str, arch: str) -> list[list[float]]:
    """The page's errors in each mode, by element type; without the largest ones in brackets."""
    lines = [line.split(" | ") for line in PAGE.read_text().splitlines()]
    found = [cells for cells in lines if cells[:2] == [f"| {title}", ARCHS[arch].title]]
    return [[float(cell.split()[0]) for cell in cells[2 : 2 + len(MODES)]] for cells in found]


@pytest.mark.parametrize(("number", "arch"), list(enumerate(CHIPS)))
def test_a_row_of_the_page(number: int, arch: str) -> None:
    kernel = KERNELS[number]
    on_page = rows(kernel.title, arch)[0]
    again = [float(text.split()[0]) for text in measured(kernel, DTYPES[0], arch)]
    assert again == pytest.approx(on_page, rel=0.15)


def test_the_page_has_every_row() -> None:
    for kernel in KERNELS:
        for arch in CHIPS:
            assert len(rows(kernel.title, arch)) == len(DTYPES)
