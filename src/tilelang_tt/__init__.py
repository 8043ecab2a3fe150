"""Tenstorrent backend for TileLang."""

from tilelang_tt.version import __version__

__all__ = ["__version__"]
