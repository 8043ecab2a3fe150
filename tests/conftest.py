"""Importing the package registers the backend for every test."""

import tilelang_tt  # noqa: F401
