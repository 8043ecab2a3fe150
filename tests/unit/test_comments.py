"""What is put into generated code as a comment stays one."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest
import tilelang
import torch

KERNEL = r"""
import tilelang
import tilelang.language as T


@tilelang.jit(out_idx=[-1], target="tenstorrent")
def scaled(M, assertion=False):
    @T.prim_func
    def main(A: T.Tensor((M, M), "float32"), C: T.Tensor((M, M), "float32")):
        with T.Kernel(M // 32, M // 32) as (bx, by):
            a = T.alloc_shared((32, 32), "float32")
            T.copy(A[by * 32, bx * 32], \
                   a)
            for i, j in T.Parallel(32, 32): \
                a[i, j] = a[i, j] * 2.0 + \
                    1.0
            T.copy(a, \
                   C[by * 32, bx * 32])
    return main
"""


def module(path: Path) -> Any:
    path.write_text(KERNEL)
    spec = importlib.util.spec_from_file_location("kernel_in_odd_file", path)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


@pytest.mark.parametrize("name", ["plain.py", 'a"\n int x;\\.py', "* $(touch x) `y` <b>.py", "ünïcode \\.py"])
def test_lines_that_end_with_a_backslash_and_odd_file_names(name: str, tmp_path: Path) -> None:
    kernel = module(tmp_path / name).scaled(64)
    values = torch.randn(64, 64)
    assert torch.equal(kernel(values), values * 2 + 1)
    for file, text in kernel.files.items():
        if file.endswith(".cpp"):
            assert not any(line.rstrip().endswith("\\") for line in text.splitlines()), file
            assert "\n int x" not in text
    kernel.export(tmp_path / "exported")


def test_a_kernel_named_like_code(tmp_path: Path) -> None:
    evil = "<script>'\"\n#error run\r#error run\u2028../../{x}"
    func = module(tmp_path / "plain.py").scaled.get_tir(64).with_attr("global_symbol", evil)
    kernel = tilelang.compile(func, out_idx=[-1], target="tenstorrent")
    values = torch.randn(64, 64)
    assert torch.equal(kernel(values), values * 2 + 1)
    assert not any(re.search("^ *#error", text, re.MULTILINE) for text in kernel.files.values())
    kernel.export(tmp_path / "exported")
    assert all(path.is_relative_to(tmp_path / "exported") for path in tmp_path.rglob("*.cpp"))


ODD = 'quote " backslash \\ percent %d brace {x} template ${y} end\n\tnext ??/ \0 *' + "/ ü"

SPEAKING = """
import tilelang
import tilelang.language as T

ODD = %r

@tilelang.jit(target="tenstorrent")
def speaking():
    @T.prim_func
    def main(A: T.Tensor((32,), "int32")):
        with T.Kernel(1, threads=32):
            tx = T.get_thread_binding()
            T.print(A[tx], msg=ODD)
            T.device_assert(A[tx] < 5, msg=ODD)
    return main
"""


def test_texts_of_prints_and_assertions(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    from tilelang_tt.diagnostics import DeviceError

    path = tmp_path / "speaking.py"
    path.write_text(SPEAKING % ODD.replace("\0", ""))
    spec = importlib.util.spec_from_file_location("speaking", path)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    with pytest.warns(Warning, match="TT702"):
        kernel = loaded.speaking()
    kernel(torch.zeros(32, dtype=torch.int32))
    assert 'quote " backslash \\ percent %d brace {x} template ${y} end' in "".join(capfd.readouterr())
    with pytest.raises(DeviceError, match="percent %d brace"):
        kernel(torch.full((32,), 7, dtype=torch.int32))
