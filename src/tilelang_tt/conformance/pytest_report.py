"""The results of tests as a page: counts, files, and every test that is not right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tilelang_tt.conformance.pytest_runner import STAGES, FileResult
from tilelang_tt.conformance.report import cell

_INTRODUCTION = """\
# {folder} on this backend

Written by `tilelang-tt conformance` on {date}: tests in {files} files, run with small sizes on the virtual device
in place of CUDA. Whatever a test expects in the text of CUDA code is taken to be there. *Right*: the test's own
comparisons of tensors held and it passed; where it compares none, the first call of each of its kernels equals
TileLang's CPU backend. *Ran*: nothing compared the result. *Refused*: the compiler refused a kernel. *Stopped*: the
virtual device stopped a kernel. *Wrong*: a comparison did not hold. *Failed*: the test failed for another reason.
*Not reached*: it compiles no kernel, or ended before."""


def report(results: list[FileResult], folder: str, date: str) -> str:
    return "\n".join(_page(results, folder, date)) + "\n"


def totals(results: list[FileResult]) -> Counter[str]:
    return sum((result.counts() for result in results), Counter())


def _page(results: list[FileResult], folder: str, date: str) -> Iterator[str]:
    yield from _INTRODUCTION.format(folder=folder, date=date, files=len(results)).splitlines()
    yield ""
    total = totals(results)
    yield f"| {' | '.join(STAGES)} |"
    yield "|" + "---:|" * len(STAGES)
    yield f"| {' | '.join(str(total[stage]) for stage in STAGES)} |"
    yield from ("", "## Refusals and stops", "", "| code | tests | for example |", "|---|---:|---|")
    odd = [test for result in results for test in result.tests if test.code]
    for code, count in Counter(test.code for test in odd).most_common():
        yield f"| {code} | {count} | {cell(next(test.why for test in odd if test.code == code))} |"
    yield from ("", "## Files that reach a kernel", "", f"| file | {' | '.join(STAGES)} |")
    yield "|---|" + "---:|" * len(STAGES)
    for result in results:
        counts = result.counts()
        if set(counts) - {"not reached"}:
            yield f"| {result.file} | {' | '.join(str(counts[stage] or '') for stage in STAGES)} |"
    yield from ("", "## Tests that reach a kernel and are not right", "", "| test | got to | why |", "|---|---|---|")
    for result in results:
        for test in result.tests:
            if test.stage not in ("right", "not reached"):
                yield f"| {cell(test.test)} | {test.stage} | {cell(f'{test.code} {test.why}'.strip())} |"
    yield from ("", "## Files that reach none", "", "| file | why |", "|---|---|")
    for result in results:
        if not set(result.counts()) - {"not reached"}:
            why = result.message or next((test.why for test in result.tests), "no tests")
            yield f"| {result.file} | {cell(why)} |"
