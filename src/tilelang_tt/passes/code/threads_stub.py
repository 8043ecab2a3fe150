"""The pass under its first name, until `pipeline.py` imports it from its own file."""

from tilelang_tt.passes.code.run_threads_in_turn import run_threads_in_turn

__all__ = ["run_threads_in_turn"]
