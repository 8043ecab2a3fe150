"""Every file of tests below a folder, each in a process of its own, several at a time, resumable."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path

from tilelang_tt.conformance.events import KernelEvent, TestEvent, read_tests
from tilelang_tt.conformance.runner import Runner

FILE_TIMES = 10  # as much processor time as one test may take, a whole file has
# "ran": nothing compared the result. "failed": for another reason than a comparison, such as the text of CUDA code.
STAGES = ("right", "ran", "refused", "stopped", "wrong", "failed", "not reached")


@dataclass(frozen=True)
class TestResult:
    __test__ = False  # for pytest: no test itself

    test: str  # file relative to the folder::function[case]
    stage: str  # one of STAGES
    code: str = ""  # of a refusal, or of what stopped the run
    why: str = ""


@dataclass(frozen=True)
class FileResult:
    file: str
    tests: tuple[TestResult, ...]
    message: str = ""  # what ended the file early

    def counts(self) -> Counter[str]:
        return Counter(test.stage for test in self.tests)


def find_tests(directory: Path) -> list[Path]:
    """Files of tests that use TileLang."""
    return sorted(path for path in directory.rglob("test_*.py") if "tilelang" in path.read_text())


def run_file(runner: Runner, file: Path, seconds: float) -> FileResult:
    with tempfile.TemporaryDirectory(prefix="tilelang-tt-") as folder:
        journal = Path(folder, "journal")
        output, stopped = runner.process("pytest_worker", file, journal, seconds=seconds)
        kernels, tests = read_tests(journal)
    name = str(file.relative_to(runner.checkout))
    message = f"stopped after {runner.seconds:.0f} s of processor time" if stopped else ""
    if not tests and not stopped:
        message = " ".join(output[-300:].split())
    return FileResult(name, tuple(judge(test, [kernels[number] for number in test.kernels]) for test in tests), message)


def judge(test: TestEvent, kernels: list[KernelEvent]) -> TestResult:
    """By the worst of its kernels, then by its own comparisons, then by TileLang's CPU backend."""
    if not kernels:
        return TestResult(test.test, "not reached", why=test.message or "it compiles no kernel")
    for kernel in kernels:
        if kernel.code:
            stage = "stopped" if kernel.compiled else "refused"
            return TestResult(test.test, stage, kernel.code, kernel.message)
    wrong = next((kernel.reference for kernel in kernels if kernel.reference.startswith("differs")), "")
    if wrong or test.differed:
        return TestResult(test.test, "wrong", why=wrong.removeprefix("differs: ") or test.message)
    if all(kernel.reference == "equal" for kernel in kernels):
        return TestResult(test.test, "right", why=test.message)
    if test.outcome != "passed":
        return TestResult(test.test, "failed", why=test.message)
    if test.comparisons:
        return TestResult(test.test, "right")
    why = next(kernel.reference for kernel in kernels if kernel.reference != "equal")
    return TestResult(test.test, "ran", why=why.removeprefix("none: ") or "not called")


class FileResults:
    """The results file: one JSON line per file of tests, appended as they come."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> dict[str, FileResult]:
        found: dict[str, FileResult] = {}
        for line in self.path.read_text().splitlines() if self.path.exists() else ():
            values = json.loads(line)
            tests = tuple(TestResult(**test) for test in values["tests"])
            found[values["file"]] = FileResult(values["file"], tests, values["message"])
        return found

    def append(self, result: FileResult) -> None:
        with self.path.open("a") as file:
            file.write(json.dumps(asdict(result)) + "\n")


def run_tests(
    runner: Runner,
    files: list[Path],
    results: FileResults,
    jobs: int,
    done: Callable[[FileResult], None],
) -> None:
    """Run what the results file does not hold yet."""
    known = results.read()
    todo = [file for file in files if str(file.relative_to(runner.checkout)) not in known]
    of_files = Runner(runner.checkout, runner.target, FILE_TIMES * runner.seconds)
    with ThreadPoolExecutor(jobs) as pool:
        try:
            for future in as_completed([pool.submit(run_file, of_files, file, runner.seconds) for file in todo]):
                results.append(future.result())
                done(future.result())
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            of_files.stop()
            raise
