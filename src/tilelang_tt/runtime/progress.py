"""A line on stderr when something takes longer than about a second."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

PATIENCE = 1.0  # seconds before anything is shown


@contextmanager
def progress(text: str) -> Iterator[None]:
    """Show `text` on stderr if the block is still running after `PATIENCE` seconds."""
    done = threading.Event()

    def show() -> None:
        if done.wait(PATIENCE):
            return
        from rich.console import Console

        console = Console(stderr=True)
        if not console.is_terminal:  # a log file: one line, no spinner
            console.print(f"{text} ...", highlight=False)
            return
        with console.status(text):
            done.wait()

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
