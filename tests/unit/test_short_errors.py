"""An error is one short message wherever it ends a program; a warning is shown once, silenced or an error."""

import logging
import os
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import pytest
import tilelang
import tilelang.language as T

from tilelang_tt import short_errors
from tilelang_tt.diagnostics import (
    EnvironmentProblem,
    Location,
    TenstorrentError,
    TenstorrentWarning,
    UnsupportedError,
    warn,
)
from tilelang_tt.execution import tuning_log

PLACE = Location(__file__, 3)


def too_large():
    @T.prim_func
    def main(A: T.Tensor((1024, 1024), "float32"), C: T.Tensor((1024, 1024), "float32")):
        with T.Kernel(1, threads=128):
            A_shared = T.alloc_shared((1024, 1024), "float32")
            C_local = T.alloc_fragment((1024, 1024), "float32")
            T.copy(A, A_shared)
            T.clear(C_local)
            T.gemm(A_shared, A_shared, C_local)
            T.copy(C_local, C)

    return tilelang.compile(main, target="tenstorrent -scalar_code=false")  # the call


def caught() -> TenstorrentError:
    with pytest.raises(TenstorrentError) as error:
        too_large()
    return error.value


def is_short(text: str) -> bool:
    """The message and the user's lines; no frame of ours, TileLang's or TVM's."""
    return (
        "error[TT204]" in text
        and "# the call" in text
        and not any(word in text for word in ("Traceback", "site-packages", "pipeline.py"))
        and len(text.splitlines()) < 16
    )


def test_message_ends_with_the_lines_that_led_to_it() -> None:
    lines = short_errors.short(caught()).splitlines()
    assert next(line for line in lines if "called from" in line).endswith(
        'in too_large: return tilelang.compile(main, target="tenstorrent -scalar_code=false")  # the call'
    )


def test_python(capsys: pytest.CaptureFixture[str]) -> None:
    error = caught()
    sys.excepthook(type(error), error, error.__traceback__)
    assert is_short(capsys.readouterr().err)


def test_threads(capsys: pytest.CaptureFixture[str]) -> None:
    error = caught()
    hook = short_errors._thread_hook(threading.__excepthook__)  # pytest has put its own in the place of ours
    hook(threading.ExceptHookArgs((type(error), error, error.__traceback__, threading.Thread(name="T7"))))
    text = capsys.readouterr().err
    assert text.startswith("in thread T7:")
    assert is_short(text)


def test_ipython(capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> None:
    """Jupyter's kernel is this shell."""
    from IPython.core.interactiveshell import InteractiveShell

    caplog.set_level(logging.CRITICAL + 1, "tilelang")  # its log line holds the error, too
    shell = InteractiveShell()
    shell.user_ns["too_large"] = too_large
    shell.run_cell("too_large()")
    assert is_short("".join(capsys.readouterr()))
    shell.run_cell("1 / 0")
    assert "Traceback" in "".join(capsys.readouterr())


def test_debug_shows_everything(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("TILELANG_TT_DEBUG", "1")
    error = caught()
    sys.excepthook(type(error), error, error.__traceback__)
    assert "pipeline.py" in capsys.readouterr().err
    assert "pipeline.py" in "\n".join(short_errors.ipython_lines(error))


def test_other_errors_are_left_alone(capsys: pytest.CaptureFixture[str]) -> None:
    error = ValueError("mine")
    sys.excepthook(ValueError, error, None)
    assert capsys.readouterr().err == "ValueError: mine\n"


def of_a_program(text: str, folder: Path) -> str:
    """What it writes on standard error."""
    (folder / "program.py").write_text(text)
    run = subprocess.run([sys.executable, "program.py"], cwd=folder, capture_output=True, text=True, check=False)
    assert run.returncode == 1
    return "".join(line for line in run.stderr.splitlines(keepends=True) if "INFO" not in line)


KERNEL = """
import asyncio
from concurrent.futures import ThreadPoolExecutor

import tilelang, tilelang.language as T, tilelang_tt, torch

@tilelang.jit(target="tenstorrent")
def f(A):
    N = T.const("N")
    A: T.Tensor((N, 32), "float32")
    with T.Kernel(1, threads=32):
        s = T.alloc_shared((32, 32), "float32")
        T.copy(A, s)
        T.copy(NAME, A)

"""


def test_pools_and_loops_of_python_are_left_out(tmp_path: Path) -> None:
    """Frames of Python's own library say nothing that helps."""
    ways = (
        "with ThreadPoolExecutor(2) as pool:\n    list(pool.map(f, [torch.zeros(32, 32, dtype=torch.int32)]))\n",
        "async def go():\n    f(torch.zeros(32, 32, dtype=torch.int32))\n\nasyncio.run(go())\n",
    )
    for way in ways:
        text = of_a_program(KERNEL.replace("NAME", "s") + way, tmp_path)
        assert text.splitlines()[0].startswith("error[TT303]")
        called = [line for line in text.splitlines() if "called from" in line]
        assert called
        assert all("called from program.py:" in line for line in called)


def test_paths_are_those_of_this_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "mm.py"
    file.write_text("x = 1\n")
    note = f"A ... 4 B   ({file}:2)"
    error = TenstorrentError("TT204", "it is too large", location=Location(str(file), 1), notes=(note,))
    assert short_errors.short(error).startswith(f"{file}:1: error[TT204]")
    monkeypatch.chdir(tmp_path)
    assert short_errors.short(error).splitlines() == [
        "mm.py:1: error[TT204]: it is too large",
        "    x = 1",
        "  note: A ... 4 B   (mm.py:2)",
    ]


def test_errors_of_the_users_own_come_without_our_frames(tmp_path: Path) -> None:
    """A misspelled name in a kernel, and an error that has one of ours as its cause."""
    text = of_a_program(KERNEL + "f(torch.zeros(32, 32))\n", tmp_path)
    assert text.count('File "') == text.count("program.py") == 2
    assert "NameError: name 'NAME' is not defined" in text
    assert text.endswith("are left out; TILELANG_TT_DEBUG=1 shows them)\n")
    wrapped = "try:\n    f(torch.zeros(32))\nexcept ValueError as error:\n    raise KeyError(1) from error\n"
    text = of_a_program(KERNEL.replace("NAME", "s") + wrapped, tmp_path)
    assert text.count('File "') == text.count("program.py") == 2
    assert "error[TT304]" in text
    assert "KeyError: 1" in text


def test_an_interrupt_shows_the_users_lines_alone() -> None:
    """Not what our runner calls in Python's library while it waits."""
    ours, pythons = short_errors.__file__, threading.__file__
    assert short_errors._below_packages(["/x/user.py", ours, pythons, pythons]) == [False, True, True, True]
    assert short_errors._below_packages(["/x/user.py", pythons, ours, "/x/user.py", pythons]) == [
        False,
        False,
        True,
        False,
        False,
    ]


def test_where_tilelang_itself_fails_is_shown(tmp_path: Path) -> None:
    kernel = KERNEL.replace("NAME", "s").replace("(N, 32)", "(32, N)")
    text = of_a_program(kernel + "f(torch.zeros(32))\n", tmp_path)
    assert text.count('File "') == 2  # the user's line, and TileLang's that failed
    assert "IndexError" in text


def test_the_autotuner_says_in_a_line_that_it_keeps_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """TileLang logs an error with its traceback where a kernel has no library to keep."""
    tuning_log.shorten()
    logger = logging.getLogger("tilelang")
    handler = logging.StreamHandler(sys.stderr)
    logger.addHandler(handler)
    try:
        for error in (UnsupportedError("TT192", "results are not kept"), UnsupportedError("TT100", "another")):
            try:
                raise error
            except UnsupportedError:
                logger.exception("could not keep it")
    finally:
        logger.removeHandler(handler)
    first, *rest = capsys.readouterr().err.splitlines()
    assert first == "results are not kept (TT192)"
    assert rest[:2] == ["could not keep it", "Traceback (most recent call last):"]


FAILING = """
import tilelang_tt
from test_short_errors import too_large

def test_it():
    too_large()
"""


def test_pytest(tmp_path: Path) -> None:
    (tmp_path / "test_failing.py").write_text(FAILING)
    paths = os.pathsep.join([str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_failing.py"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "error[TT204]" in run.stdout
    assert not any(word in run.stdout for word in ("site-packages", "pipeline.py", "kernel_cache.py"))


def test_kernels_without_source() -> None:
    """`python -c`: one line says what is missing."""
    text = (
        "import tilelang_tt, tilelang.language as T\n@T.prim_func\ndef f(A: T.Tensor((32,), 'float32')):\n"
        "    with T.Kernel(1, threads=32):\n        A[0] = 1.0\n"
    )
    run = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert run.stderr == f"{short_errors.NO_SOURCE}\n"
    assert run.returncode == 1


# --- warnings -------------------------------------------------------------------------------------


def shown(*codes: str) -> list[str]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", TenstorrentWarning)
        for code in codes:
            warn(code, "something", location=PLACE)
    return [str(one.message) for one in found]


def test_warnings_have_a_code_and_a_place() -> None:
    (text,) = shown("TT701")
    assert text == f"{PLACE}: warning[TT701]: something\n    {PLACE.text}".rstrip()


def test_warnings_are_silenced_or_made_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILELANG_TT_WARNINGS", "TT702=ignore, TT703=error")
    assert len(shown("TT701", "TT702")) == 1
    with pytest.raises(TenstorrentWarning) as error:
        warn("TT703", "something", location=PLACE)
    assert error.value.code == "TT703"
    monkeypatch.setenv("TILELANG_TT_WARNINGS", "ignore,TT702=default")
    assert len(shown("TT701", "TT702", "TT703")) == 1
    monkeypatch.setenv("TILELANG_TT_WARNINGS", "TT702=loud")
    with pytest.raises(EnvironmentProblem, match="TT504"):
        warn("TT702", "something", location=PLACE)


def test_pythons_own_filters_know_the_code() -> None:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", TenstorrentWarning)
        warnings.filterwarnings("ignore", message=r".*warning\[TT702\]", category=TenstorrentWarning)
        warn("TT702", "something", location=PLACE)
        warn("TT701", "something", location=PLACE)
    assert len(found) == 1


def test_a_place_is_not_said_twice() -> None:
    text = warnings.formatwarning(TenstorrentWarning("a.py:3: warning[TT701]: it"), TenstorrentWarning, "a.py", 3)
    assert text == "a.py:3: warning[TT701]: it\n"
    assert "UserWarning" in warnings.formatwarning(UserWarning("it"), UserWarning, "a.py", 3)


_MISMATCH = """
import tilelang
import tilelang.language as T
import tilelang_tt


@T.prim_func
def main(A: T.Tensor((64, 64), "float32")):
    with T.Kernel(1, threads=128):
        X = T.alloc_shared((64, 32), "float32")
        C = T.alloc_fragment((64, 64), "float32")
        T.gemm(X, X, C)


tilelang.compile(main, target="tenstorrent")
"""


def test_mistakes_that_tilelang_finds(tmp_path: Path) -> None:
    """Its log of the code it has made of the kernel is left out; the line and the reason are there."""
    (tmp_path / "kernel.py").write_text(_MISMATCH)

    def printed(**settings: str) -> str:
        done = subprocess.run(
            [sys.executable, "kernel.py"], cwd=tmp_path, capture_output=True, text=True, env={**os.environ, **settings}
        )
        return done.stdout + done.stderr

    text = printed()
    assert "T.gemm(X, X, C)" in text
    assert "K shape check failed: K_A = 32, K_B = 64" in text
    assert "make_closure" not in text
    assert len(text.splitlines()) < 14
    assert "make_closure" in printed(TILELANG_TT_DEBUG="1")
