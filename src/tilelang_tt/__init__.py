"""Tenstorrent backend for TileLang. Importing it makes target="tenstorrent" known."""

from tilelang_tt.environment import require_tilelang
from tilelang_tt.version import __version__

__all__ = ["__version__"]


def _register() -> None:
    """In this order: the import of the backend presumes the TileLang that the check asks for."""
    require_tilelang()

    from tilelang_tt.backend import register

    register()


_register()
