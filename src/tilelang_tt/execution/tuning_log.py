"""What TileLang's autotuner logs when it cannot keep a result on disk: one line, and no traceback.

It asks a kernel for the library to keep, which kernels of this backend do not have (TT192), and logs what is raised.
The result itself is fine, and is kept for the process.
"""

from __future__ import annotations

import logging

from tilelang_tt.diagnostics import UnsupportedError

NOT_KEPT = "TT192"


class _NotKept(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, UnsupportedError) and error.code == NOT_KEPT:
            record.exc_info = record.exc_text = None
            record.levelno, record.levelname = logging.INFO, "INFO"
            record.msg, record.args = f"{error.message} ({error.code})", ()
        return True


def shorten() -> None:
    """Once is enough; more does no harm."""
    logger = logging.getLogger("tilelang")
    if not any(isinstance(one, _NotKept) for one in logger.filters):
        logger.addFilter(_NotKept())
