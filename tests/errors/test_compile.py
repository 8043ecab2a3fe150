"""Kernels the compiler refuses: the exact text a user reads, through TileLang's own functions."""

import inspect
import re
import traceback
from pathlib import Path
from typing import Any

import pytest
import refused_blocks
import refused_elements
import refused_gpu
import refused_integers
import refused_language
import refused_layouts
import refused_threads
import tilelang
import tilelang.language as T
import torch
from refusals import REFUSALS, Refusal
from tvm.ir import Op

import tilelang_tt
from tilelang_tt.diagnostics import ResourceError, TenstorrentError, UnsupportedError
from tilelang_tt.frontend.refuse_gpu_code import GPU_ONLY, HARMLESS

MODULES = (
    refused_language,
    refused_integers,
    refused_elements,
    refused_gpu,
    refused_blocks,
    refused_threads,
    refused_layouts,
)


def refusal_of(func: Any, arch: str = "wormhole_b0", *, scalar_code: bool = False, **options: Any) -> TenstorrentError:
    """What the tile engines cannot do; without `scalar_code` it is refused."""
    with pytest.raises(TenstorrentError) as caught:
        tilelang.compile(func, target={"kind": "tenstorrent", "arch": arch, "scalar_code": scalar_code, **options})
    return caught.value


TILES_ALONE = "tenstorrent -scalar_code=false"


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda refusal: refusal.name)
def test_refusal(refusal: Refusal) -> None:
    error = refusal_of(refusal.build(), refusal.arch, scalar_code=refusal.scalar_code, **refusal.options)
    assert str(error) == refusal.text
    assert type(error) is (ResourceError if refusal.code.startswith("TT2") else UnsupportedError)


def test_every_refusal_has_a_kernel() -> None:
    """Codes raised in the frontend and the passes against those exercised here."""
    package = Path(tilelang_tt.__file__).parent
    files = [*package.glob("frontend/**/*.py"), *package.glob("passes/**/*.py")]
    raised = {code for file in files for code in re.findall(r'"(TT[12]\d\d)"', file.read_text())}
    assert raised == {refusal.code for refusal in REFUSALS}


def test_thirty_refusals_remain_with_scalar_code() -> None:
    """By default a kernel is refused only if it has no meaning here, or needs what no core has."""
    assert len([refusal for refusal in REFUSALS if refusal.scalar_code]) >= 30


def test_every_kernel_is_in_the_list() -> None:
    """A builder without its decorator would never be compiled."""
    builders = {
        value.__name__
        for module in MODULES
        for value in vars(module).values()
        if inspect.isfunction(value) and value.__module__ == module.__name__
    }
    helpers = {"gemm", "budget", "copies", "softmax", "doubled", "beside_a_tensor"}
    assert builders - helpers == {refusal.build.__name__ for refusal in REFUSALS}


def test_refused_and_ignored_operators_exist() -> None:
    """A row for an operator TileLang does not have would refuse nothing."""
    operators = [str(name) for name in Op.list_op_names()]
    assert [prefix for prefix, *_ in GPU_ONLY if not any(op.startswith(prefix) for op in operators)] == []
    assert [name for name in HARMLESS if name not in operators] == []


# --- the way out ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("block", "stages", "arch"), [(256, 2, "wormhole_b0"), (256, 2, "blackhole"), (256, 1, "wormhole_b0")]
)
def test_what_the_help_suggests_for_l1_fits(block: int, stages: int, arch: str) -> None:
    """The changes named in the refusals of `refused_blocks`: fewer stages, a quarter of the tiles of 512 x 512."""
    kernel = tilelang.compile(
        refused_blocks.gemm(block, stages), target={"kind": "tenstorrent", "arch": arch, "blocks": False}
    )
    assert f"{stages} blocks of 8 x 8" in kernel.get_kernel_source() or stages == 1


@pytest.mark.parametrize("name", ["rows_that_fit_in_a_shorter_format", "blocks_beside_shards", "blocks_beside_boxes"])
def test_other_formats_and_layouts_that_the_help_suggests_fit(name: str) -> None:
    """With the bytes that it says."""
    refusal = next(one for one in REFUSALS if one.build.__name__ == name)
    change: dict[str, Any] = {
        "rows_that_fit_in_a_shorter_format": {"storage": {"X": "bfloat8_b"}},
        "blocks_beside_shards": {"shard": "height", "grid": (8, 8)},
        "blocks_beside_boxes": {"memory": "DRAM"},
    }[name]
    if "storage" in change:
        kernel = tilelang.compile(refusal.build(), target={"kind": "tenstorrent", **change})
    else:
        kernel = tilelang.compile(refused_layouts.beside_a_tensor(256, **change), target="tenstorrent")
    size = re.search(r"\(([\d,]+) B\)", refusal.help)
    assert size is not None
    used = re.search(r"used ([\d,]+) B", kernel.explain(whole=True))
    assert used is not None
    assert used[1] == size[1]


def test_one_stage_more_than_the_help_suggests_does_not_fit() -> None:
    assert refusal_of(refused_blocks.gemm(256, 3), "blackhole").code == "TT204"


def test_blackhole_has_more_circular_buffers() -> None:
    tilelang.compile(refused_blocks.copies(40), target="tenstorrent/blackhole")


# --- through each way to compile ------------------------------------------------------------------


EXPECTED = next(refusal for refusal in REFUSALS if refusal.build.__name__ == "thread_index_in_a_condition")


def test_jit_raises_the_same_error() -> None:
    kernel = tilelang.jit(EXPECTED.build, target=TILES_ALONE)
    with pytest.raises(UnsupportedError) as caught:
        kernel()
    assert str(caught.value) == EXPECTED.text


def test_par_compile_raises_the_same_error() -> None:
    with pytest.raises(UnsupportedError) as caught:
        tilelang.par_compile([EXPECTED.build()], target=TILES_ALONE)
    assert str(caught.value) == EXPECTED.text


def test_eager_jit_raises_at_the_call() -> None:
    @tilelang.jit(target=TILES_ALONE)
    def scale(A):
        M, N = T.const("M, N")
        A: T.Tensor[[M, N], T.float32]
        B = T.empty((M, N), "float32")
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((16, 32), "float32")
            T.copy(A[0:32, 0:32], X)
            T.copy(X, B[0, 0])
        return B

    with pytest.raises(UnsupportedError) as caught:
        scale(torch.ones(64, 64))
    assert str(caught.value).splitlines()[1:] == [
        "    T.copy(A[0:32, 0:32], X)",
        "  help: make the shapes equal; T.reshape sees a block in another one",
    ]


def test_the_error_is_the_last_thing_a_user_reads() -> None:
    """No exception of TVM is chained to it, and its text ends the traceback."""
    error = refusal_of(EXPECTED.build())
    assert error.__cause__ is None
    assert error.__context__ is None
    shown = "".join(traceback.format_exception(error))
    assert shown.endswith(f"tilelang_tt.diagnostics.UnsupportedError: {EXPECTED.text}\n")
    assert "tvm" not in shown.replace("3rdparty/tvm", "").lower()
