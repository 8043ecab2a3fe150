"""The worker process from its parent's side: start it, talk to it, end it when it hangs.

One worker serves all kernels of this process, one call at a time: it holds the device. It is started by the
first call and again after a failure, because nothing is known about a device on which something went wrong.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import signal
import socket
import subprocess
import tempfile
import threading
import time
from importlib import resources
from typing import Any

from tilelang_tt.diagnostics import DeviceError
from tilelang_tt.runtime.ttnn_find import device_problem, find_ttnn, prints_itself, worker_environment
from tilelang_tt.runtime.ttnn_worker import HEADER, OPENING, ProgramSizeError

_LOG_LINES = 12  # of the worker's output, in an error
_LEAVE_SECONDS = 5.0  # to close the device when asked to


class Worker:
    """A running worker whose device is open. Only one that `prints` keeps what kernels print; they are larger there."""

    def __init__(self, limit: float, *, prints: bool) -> None:
        python = find_ttnn().python
        self.print_file = tempfile.NamedTemporaryFile(suffix=".txt") if prints else None  # noqa: SIM115  (as the log)
        ours, theirs = socket.socketpair()
        self.connection = ours
        self.stage = "starting"
        self.log = tempfile.TemporaryFile()  # noqa: SIM115  (lives as long as the process)
        script = resources.files("tilelang_tt.runtime").joinpath("ttnn_worker.py")
        with theirs, resources.as_file(script) as path:
            self.process = subprocess.Popen(
                [python, str(path), str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=self.log,
                stderr=self.log,
                pass_fds=(theirs.fileno(),),
                env=worker_environment(python, self.print_file.name if self.print_file else None),
                start_new_session=True,  # so that its compilers end with it
            )
        self.facts = self._ask({"limit": limit}, [], limit, "ready")

    def call(self, request: dict[str, Any], descriptor: int, limit: float) -> dict[str, Any]:
        return self._ask({**request, "limit": limit}, [descriptor], limit, "done")

    def printed(self) -> str:
        """What kernels printed since this was asked before. A device that is opened anew starts a new file."""
        if self.print_file is None:
            return ""
        if os.fstat(self.print_file.fileno()).st_size < self.print_file.tell():
            self.print_file.seek(0)
        return self.print_file.read().decode(errors="replace")

    def _ask(self, request: dict[str, Any], descriptors: list[int], limit: float, answer: str) -> dict[str, Any]:
        """The answer; each stage the worker names on the way has the whole time limit."""
        try:
            text = json.dumps(request).encode()
            self.connection.settimeout(limit)
            header = HEADER.pack(len(text))
            if descriptors:
                socket.send_fds(self.connection, [header], descriptors)
            else:
                self.connection.sendall(header)
            self.connection.sendall(text)
            while True:
                message = self._receive(limit)
                if "stage" in message:
                    self.stage = message["stage"]
                elif "error" in message:
                    raise self._refused(message["error"])
                else:
                    result: dict[str, Any] = message[answer]
                    return result
        except TimeoutError:
            output = self.end()
            raise DeviceError(
                "TT405",
                f"time limit: the ttnn worker did not end '{self.stage}' within {limit:g} s",
                notes=output,
                help="set TILELANG_TT_TIMEOUT to a larger number of seconds if it only needs more time; the next "
                "call starts a new worker",
            ) from None
        except (ConnectionError, EOFError):
            output = self.end()
            raise DeviceError(
                "TT406",
                f"crash: the ttnn worker ended ({_status(self.process.returncode)}) while '{self.stage}'",
                notes=output,
                help="the next call starts a new worker",
            ) from None
        except BaseException:
            self.end()
            raise

    def _receive(self, limit: float) -> dict[str, Any]:
        deadline = time.monotonic() + limit
        (size,) = HEADER.unpack(self._bytes(HEADER.size, deadline))
        message: dict[str, Any] = json.loads(self._bytes(size, deadline))
        return message

    def _bytes(self, size: int, deadline: float) -> bytes:
        data = bytearray()
        while len(data) < size:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            self.connection.settimeout(left)
            part = self.connection.recv(size - len(data))
            if not part:
                raise EOFError
            data += part
        return bytes(data)

    def _refused(self, error: dict[str, str]) -> DeviceError:
        if error["kind"] == ProgramSizeError.__name__:
            return DeviceError(
                "TT416",
                f"too large: {error['text']} ({error['stage']})",
                help="smaller blocks or num_stages take less for buffers; two kernels in a row take less for each",
            )
        lines = [line for line in error["text"].splitlines() if line.strip()]
        shown = lines[: next((n for n, line in enumerate(lines) if line.startswith("backtrace")), len(lines))]
        first, *rest = shown or [error["kind"]]
        known = device_problem() if error["stage"] == OPENING else None
        return DeviceError(
            "TT411",
            f"ttnn failed while '{error['stage']}': {first}",
            notes=tuple(rest[:_LOG_LINES]),
            help=": ".join(known) if known else "tilelang-tt doctor --strict checks ttnn and the device",
        )

    def end(self) -> tuple[str, ...]:
        """Stop it now, with every process it started; the last lines it printed."""
        self.connection.close()
        if self.process.poll() is None:
            # A worker that closed its socket is about to leave; its status tells how.
            try:
                self.process.wait(0.5)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        with self.log:
            self.log.seek(0)
            text = self.log.read().decode(errors="replace")
        return tuple(line for line in text.splitlines() if line.strip())[-_LOG_LINES:]

    def leave(self) -> None:
        """Let it close the device, then stop it."""
        self.connection.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(_LEAVE_SECONDS)
        self.end()


def _status(code: int | None) -> str:
    if code is not None and code < 0:
        return f"signal {signal.Signals(-code).name}"
    return f"exit status {code}"


_lock = threading.Lock()
_worker: Worker | None = None


class HeldWorker:
    """The one worker, for the time of a call: `with HeldWorker(limit) as worker`. What prints needs one that does."""

    def __init__(self, limit: float, *, prints: bool = False) -> None:
        self.limit = limit
        self.prints = prints and not prints_itself()

    def __enter__(self) -> Worker:
        global _worker
        _lock.acquire()
        try:
            if _worker is not None and _worker.process.poll() is not None:
                _worker = None
            if _worker is not None and self.prints and _worker.print_file is None:
                _worker.leave()
                _worker = None
            if _worker is None:
                _worker = Worker(self.limit, prints=self.prints)
            return _worker
        except BaseException:
            _worker = None
            _lock.release()
            raise

    def __exit__(self, *_: object) -> None:
        _lock.release()


def close() -> None:
    """End the worker, if there is one; the next call starts another."""
    global _worker
    with _lock:
        if _worker is not None and _worker.process.poll() is None:
            _worker.leave()
        _worker = None


def _forget_after_fork() -> None:
    """The device belongs to the parent's worker; a child starts its own."""
    global _worker, _lock
    if _worker is not None:
        _worker.connection.close()  # the child's copy alone
    _worker = None
    _lock = threading.Lock()


atexit.register(close)
os.register_at_fork(after_in_child=_forget_after_fork)
