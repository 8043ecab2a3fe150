"""The command itself: how fast it answers, what it refuses, how it stops."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tilelang_tt.cli.main import all_commands, main

START = "import sys, tilelang_tt_launcher; sys.exit(tilelang_tt_launcher.main())"


def command(*args: str) -> list[str]:
    return [sys.executable, "-c", START, *args]


def test_help_answers_at_once() -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command("--help"), capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0
    assert all(f"\n    {name}" in done.stdout for name in all_commands())
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 0.3


@pytest.mark.parametrize("name", [[], *([name] for name in all_commands())])
def test_help_imports_nothing_heavy(name: list[str]) -> None:
    look = (
        "import sys, tilelang_tt_launcher as launcher\n"
        "try: launcher.main()\n"
        "except SystemExit: pass\n"
        "print(sorted({'tvm', 'tilelang', 'torch', 'numpy', 'rich', 'jsonschema'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", look, *name, "--help"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("usage: tilelang-tt")
    assert done.stdout.endswith("\n[]\n")


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        (["fuzz", "x.py", "--seeds", "-3"], "argument --seeds: '-3' is not a whole number of at least 1"),
        (["fuzz", "x.py", "--seeds", "0"], "argument --seeds: '0' is not a whole number of at least 1"),
        (["conformance", ".", "--jobs", "0"], "argument -j/--jobs: '0' is not a whole number of at least 1"),
        (["conformance", ".", "--timeout", "nan"], "argument --timeout: 'nan' is not a time in seconds above 0"),
        (["profile", "x.py", "--size", "M"], "argument --size: 'M' is not NAME=N with a size N of at least 1"),
        (["explain", "x.py", "y.py"], "unrecognized arguments: y.py"),
        (["explain", "x.py", "--no-stage"], "unrecognized arguments: --no-stage"),
        (["doctor", "--fast"], "unrecognized arguments: --fast"),
        ([], "the following arguments are required: COMMAND"),
    ],
)
def test_wrong_arguments(args: list[str], reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(args)
    assert caught.value.code == 2
    assert capsys.readouterr().err.endswith(f": error: {reason}\n")


def heed_interrupts() -> None:
    """Also where the tests run in the background of a shell, which has programs ignore SIGINT."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_ctrl_c_is_quiet(tmp_path: Path) -> None:
    script = tmp_path / "long.py"
    script.write_text("import time\nprint('started', flush=True)\ntime.sleep(60)\n")
    with subprocess.Popen(
        command("run", str(script)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_interrupts,
    ) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "started\n"
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)
    assert (running.returncode, out, err) == (130, "", "")


def test_a_reader_that_has_seen_enough(tmp_path: Path) -> None:
    script = tmp_path / "talks.py"
    script.write_text("for i in range(100000):\n    print(i)\n")
    with subprocess.Popen(
        command("run", str(script)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        assert running.stdout.readline() == "0\n"
        running.stdout.close()
        assert running.stderr.read() == ""
        assert running.wait(timeout=60) == 141


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes_commands_and_options(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "bash"]) == 0
    script = capfd.readouterr().out
    ask = (
        '\ncomplete_for() { COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 )); _shtab_tilelang_tt; '
        'echo "${COMPREPLY[@]}"; }\ncomplete_for tilelang-tt exp\ncomplete_for tilelang-tt fuzz --se\n'
    )
    done = subprocess.run(
        ["bash", "--norc"], input=script + ask, capture_output=True, text=True, env={"PATH": os.environ["PATH"]}
    )
    assert done.stdout == "explain\n--seeds\n", done.stderr


def without_a_home(*words: str) -> subprocess.CompletedProcess[str]:
    """Python with these words, where HOME cannot be written to."""
    kept = {key: value for key, value in os.environ.items() if key not in ("XDG_CACHE_HOME", "TILELANG_CACHE_DIR")}
    environment = {**kept, "HOME": "/proc/1/none"}
    return subprocess.run([sys.executable, *words], env=environment, capture_output=True, text=True, check=False)


START = "import sys, tilelang_tt_launcher; sys.exit(tilelang_tt_launcher.main())"


def test_doctor_without_a_home_that_can_be_written() -> None:
    """TileLang's own cache goes elsewhere; ours is reported."""
    run = without_a_home("-c", START, "doctor")
    assert "Traceback" not in run.stderr
    assert "build cache" in run.stdout


def test_commands_and_programs_without_a_home_that_can_be_written(tmp_path: Path) -> None:
    script = tmp_path / "hello.py"
    script.write_text("import tilelang_tt, tilelang\nprint('hello')\n")
    assert without_a_home("-c", START, "run", str(script)).stdout.endswith("hello\n")
    assert without_a_home(str(script)).stdout.endswith("hello\n")
