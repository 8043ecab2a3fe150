"""Where choices are measured: processes of this machine, a Dask cluster, or any `concurrent.futures.Executor`."""

from __future__ import annotations

import contextlib
import importlib
import logging
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from tilelang_tt.cli.usage import UsageError

LOCAL = "local"
DASK = "dask://"


class LocalProcesses(Executor):
    """A pool that goes on with new processes where one was lost."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._pool = self._new_pool()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        try:
            return self._pool.submit(fn, *args, **kwargs)
        except BrokenProcessPool:
            self._pool = self._new_pool()
            return self._pool.submit(fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._pool.shutdown(wait, cancel_futures=cancel_futures)

    def _new_pool(self) -> ProcessPoolExecutor:
        # Not by fork: TVM has threads.
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(self._jobs, mp_context=context, initializer=_start_worker)


@contextlib.contextmanager
def executor_of(text: str, jobs: int) -> Iterator[Executor]:
    """`local`, or `dask://HOST:PORT` for the cluster whose scheduler listens there."""
    if text == LOCAL:
        pool = LocalProcesses(jobs)
        try:
            yield pool
        finally:
            pool.shutdown(cancel_futures=True)
        return
    if not text.startswith(DASK):
        raise UsageError(f"'{text}' is no executor; there are {LOCAL} and {DASK}HOST:PORT")
    try:
        distributed: Any = importlib.import_module("distributed")
    except ImportError:
        raise UsageError("a Dask cluster needs the package 'distributed': pip install 'tilelang-tt[dask]'") from None
    try:
        client = distributed.Client(f"tcp://{text.removeprefix(DASK)}", timeout=10)
    except (OSError, ValueError) as error:
        raise UsageError(f"no Dask scheduler answers at {text}: {error}") from None
    with client:
        yield client.get_executor()


def _start_worker() -> None:
    """Ctrl-C is for the process that searches, and what workers would print is for nobody."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.disable(logging.WARNING)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
