"""`tilelang-tt tune`: what is tried and in which order, what is kept, and that the winner computes the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tilelang_tt.cli.main import main
from tilelang_tt.cli.usage import UsageError
from tilelang_tt.tuning import Tuned, tune
from tilelang_tt.tuning.executors import LocalProcesses
from tilelang_tt.tuning.measure import Outcome, Subject
from tilelang_tt.tuning.page import page, picture, to_json
from tilelang_tt.tuning.search import search
from tilelang_tt.tuning.space import Choice, Space
from tilelang_tt.tuning.store import Store, size_class

GEMM = """
import tilelang
import tilelang.language as T


{decorator}@tilelang.jit(out_idx=[-1])
def matmul(M, N, K, block_M=32, block_N=32, block_K=32, rounds=2):
    @T.prim_func
    def mm(A: T.Tensor((M, K), "bfloat16"), B: T.Tensor((K, N), "bfloat16"), C: T.Tensor((M, N), "bfloat16")):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
            A_shared = T.alloc_shared((block_M, block_K), "bfloat16")
            B_shared = T.alloc_shared((block_K, block_N), "bfloat16")
            C_local = T.alloc_fragment((block_M, block_N), "float32")
            T.clear(C_local)
            for r in T.serial(rounds):
                for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=2):
                    T.copy(A[by * block_M, k * block_K], A_shared)
                    T.copy(B[k * block_K, bx * block_N], B_shared)
                    T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[by * block_M, bx * block_N])

    return mm
"""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Outcomes of one test are not those of another; kernels that were built may be shared, so only this is apart."""
    folder = tmp_path_factory.mktemp("tuning")
    monkeypatch.setattr("tilelang_tt.tuning.store.cache_directory", lambda: folder)


@pytest.fixture
def gemm(tmp_path: Path) -> str:
    return written(tmp_path)


def written(folder: Path, decorator: str = "") -> str:
    path = folder / "gemm.py"
    path.write_text(GEMM.format(decorator=decorator))
    return f"{path}:matmul(M=128, N=128, K=128)"


def in_threads(call: str, **settings: object) -> Tuned:
    with ThreadPoolExecutor(1) as executor:
        return tune(call, executor=executor, jobs=1, **settings)  # type: ignore[arg-type]


# --- which choice comes next


def submit_of(cost: Callable[[Choice], float], tried: list[Choice]) -> Callable[[Choice], Future[Outcome]]:
    def submit(choice: Choice) -> Future[Outcome]:
        tried.append(choice)
        future: Future[Outcome] = Future()
        future.set_result(Outcome(choice, cost(choice)))
        return future

    return submit


def grid(*axes: tuple[str, int]) -> Space:
    choices = [Choice()]
    for name, count in axes:
        choices = [Choice((*choice.arguments, *([(name, n)] if n else []))) for choice in choices for n in range(count)]
    return Space(tuple(choices))


def test_a_search_goes_downhill() -> None:
    best = Choice((("a", 7), ("b", 3), ("c", 5)))
    space, tried = grid(("a", 10), ("b", 10), ("c", 10)), []
    found = search(
        space, {}, submit_of(lambda choice: 1.0 + best.distance(choice), tried), jobs=1, budget=60, seen=lambda _: None
    )
    assert tried[0] == Choice()  # as written
    assert len(found) == 1000
    assert tried.index(best) < 60  # of 1,000: an axis after the other


def test_a_search_ends_with_its_time_and_counts_what_is_known() -> None:
    space, tried = grid(("a", 10)), []
    known = {Choice(): Outcome(Choice(), 5.0)}
    found = search(space, known, submit_of(lambda _: 1.0, tried), jobs=1, budget=0, seen=lambda _: None)
    assert (found, tried) == (known, [])


def test_an_interrupt_ends_a_search() -> None:
    """With what was found; without the kernel as written nothing can be said, so the command ends, too."""

    def submit(choice: Choice) -> Future[Outcome]:
        if len(submitted) == after:
            raise KeyboardInterrupt
        submitted.append(choice)
        future: Future[Outcome] = Future()
        future.set_result(Outcome(choice, 1.0))
        return future

    submitted: list[Choice] = []
    after = 2
    found = search(grid(("a", 4)), {}, submit, jobs=1, budget=60, seen=lambda _: None)
    assert list(found) == submitted
    submitted, after = [], 0
    with pytest.raises(KeyboardInterrupt):
        search(grid(("a", 4)), {}, submit, jobs=1, budget=60, seen=lambda _: None)


def test_a_lost_process_does_not_end_a_search() -> None:
    space, submitted = grid(("a", 4)), []

    def submit(choice: Choice) -> Future[Outcome]:
        submitted.append(choice)
        future: Future[Outcome] = Future()
        if choice == Choice((("a", 2),)):
            future.set_exception(BrokenPipeError())
        else:
            future.set_result(Outcome(choice, 1.0))
        return future

    found = search(space, {}, submit, jobs=2, budget=60, seen=lambda _: None)
    assert submitted.count(Choice((("a", 2),))) == 2
    assert found[Choice((("a", 2),))].reason == "its process was lost: BrokenPipeError"
    assert [outcome.microseconds for outcome in found.values()].count(1.0) == 3


def test_new_processes_where_one_was_lost() -> None:
    pool = LocalProcesses(1)
    try:
        with pytest.raises(Exception, match="terminated abruptly"):
            pool.submit(exit_at_once).result(timeout=60)
        assert pool.submit(len, "four").result(timeout=60) == 4
    finally:
        pool.shutdown()


def exit_at_once() -> None:
    import os

    os._exit(3)


# --- what is kept


def subject(**sizes: int) -> Subject:
    return Subject(Path("/nowhere/gemm.py"), "text", "matmul", (), {"K": 64}, sizes)


def test_outcomes_are_kept_line_by_line() -> None:
    store = Store(subject(), "tenstorrent")
    outcome = Outcome(Choice((("block", 64),), (("multicast", "true"),)), 12.5, "DRAM", tensors=("A: bfloat16[64]",))
    refused = Outcome(Choice((("block", 512),)), None, reason="TT204: too much")
    store.add(outcome)
    store.add(refused)
    with store.path.open("a") as file:
        file.write('{"arguments": {"block": 32}, "options"')  # a write that was cut off
    assert store.read() == {outcome.choice: outcome, refused.choice: refused}


def test_sizes_of_a_class_share_what_was_found() -> None:
    assert [size_class(size) for size in (1, 2, 3, 1000, 1024, 1025)] == [1, 2, 4, 1024, 1024, 2048]
    assert Store(subject(M=1000), "t").path == Store(subject(M=1024), "t").path
    assert Store(subject(M=1025), "t").path != Store(subject(M=1024), "t").path
    assert Store(subject(M=1000), "t").path != Store(subject(M=1000), "other").path


# --- real kernels


def test_the_fastest_blocks_are_found_kept_and_shown(gemm: str) -> None:
    choices = {"block_M": [32, 64], "block_N": [32, 64], "multicast": ["auto"]}
    found = in_threads(gemm, choices=choices)
    assert len(found.outcomes) == 4
    times = [one.microseconds for one in found.ranked]
    assert times == sorted(times, key=lambda time: time or 0.0)
    assert found.not_compared is None
    assert found.best.microseconds == found.kernel().estimate().microseconds

    text = page(found)
    assert "4 of 4 choices tried" in text
    assert "as written" in text
    json.dumps(to_json(found))

    again = in_threads(gemm, choices=choices)
    assert again.known == 4  # nothing was measured again
    assert again.best == found.best
    more = in_threads(gemm, choices={**choices, "block_K": [32, 64]})
    assert (more.known, len(more.outcomes)) == (4, 8)


def test_a_choice_that_computes_something_else_is_not_taken(gemm: str) -> None:
    found = in_threads(gemm, choices={"rounds": [1, 2], "block_K": [32, 64]})
    fewer = Choice((("rounds", 1),))
    assert fewer in found.other_results
    assert all(dict(one.choice.arguments).get("rounds") != 1 for one in found.ranked)
    assert "computes something else" in page(found)
    assert found.best.microseconds > min(one.microseconds or 0.0 for one in found.outcomes)


def test_refusals_are_counted_with_their_reason(gemm: str) -> None:
    found = in_threads(gemm, choices={"block_M": [32, 33, 8192], "block_N": [32, 8192]}, check=0)
    assert found.refused
    assert "TT204" in page(found)
    assert "not compared" in page(found) or found.best == found.as_written


def test_configurations_of_autotune_are_what_is_tried(tmp_path: Path) -> None:
    configs = "[dict(block_M=64, block_N=32), dict(block_M=32, block_N=64)]"
    found = in_threads(written(tmp_path, f"@tilelang.autotune(configs={configs})\n"), check=0, budget=5)
    arguments = {one.choice.arguments for one in found.outcomes}
    assert arguments <= {(), (("block_M", 64),), (("block_N", 64),)}  # beside the kernel as written
    assert len(arguments) == 3


def test_the_picture_is_text_that_harms_nobody(gemm: str) -> None:
    found = in_threads(gemm, choices={"block_M": [32, 64]}, check=0)
    drawn = picture(found)
    assert len(ElementTree.fromstring(drawn).findall("{*}rect")) == 2
    evil = Tuned(
        Subject(Path("/tmp/<script>.py"), "", "<script>&", (), {}, {}),
        found.options, found.space, found.outcomes, 0, frozenset(), None,
    )  # fmt: skip
    assert "<script>" not in picture(evil)
    ElementTree.fromstring(picture(evil))


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"M": [1]}, "'M' cannot be tried: the call already says M=128"),
        ({"block": [1]}, "there is no argument and no target option 'block' to try; "
         "the kernel has block_M, block_N, block_K, rounds"),
        ({"block_M": range(32, 200 * 32, 32), "block_N": range(32, 200 * 32, 32)},
         "39,601 choices are more than 20,000; give fewer values with --try NAME=A,B"),
    ],
)  # fmt: skip
def test_what_cannot_be_tried(gemm: str, settings: dict[str, object], reason: str) -> None:
    with pytest.raises(UsageError) as caught:
        in_threads(gemm, choices=settings)
    assert str(caught.value) == reason


def test_numbers_change_only_if_asked(gemm: str) -> None:
    found = in_threads(gemm, budget=0.5, check=0)
    options = {name for choice in found.space.choices for name, _ in choice.options}
    assert options <= {"multicast", "blocks", "schedule"}


# --- elsewhere


def test_the_command_in_processes(gemm: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    drawing = tmp_path / "tried.svg"
    arguments = ["tune", gemm, "--try", "block_M=32,64", "--jobs", "1", "--check", "0s", "--picture", str(drawing)]
    assert main(arguments) == 0
    out, err = capsys.readouterr()
    assert "2 of 2 choices tried" in out
    assert err == ""  # no bar where nobody looks
    assert drawing.read_text().startswith("<svg")


def test_a_dask_cluster(gemm: str) -> None:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster:
        address = cluster.scheduler_address.removeprefix("tcp://")
        found = tune(gemm, executor=f"dask://{address}", jobs=1, choices={"block_M": [32, 64]}, check=0)
    assert len(found.ranked) == 2


def test_executors_that_are_not_there(gemm: str) -> None:
    with pytest.raises(UsageError, match="'slurm' is no executor; there are local and dask://HOST:PORT"):
        tune(gemm, executor="slurm")
