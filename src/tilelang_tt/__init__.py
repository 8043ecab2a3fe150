"""Tenstorrent backend for TileLang. Importing it makes target="tenstorrent" known."""

import tilelang  # noqa: F401  (puts tvm on the path)

from tilelang_tt.version import __version__

__all__ = ["__version__"]
