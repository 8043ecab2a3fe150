"""The version of this package and of the TileLang it is written for."""

__version__ = "0.1.0"

# The backend API of TileLang moves between patch releases, so exactly one is right.
TILELANG_VERSION = "0.1.15"
