"""The SDK check: do generated kernels call what TT-Metalium's headers declare, in every release we support?

    problems = check({"compute.cpp": text}, "0.81.1")

`table.json` holds the declarations as facts; `make sdk-table` makes it anew from the ttnn wheels. The check needs the
extra `sdk` (tree-sitter), no SDK and no compiler.
"""

from tilelang_tt.sdk.check import Problem, check, releases_of
from tilelang_tt.sdk.table import load

__all__ = ["Problem", "check", "load", "releases_of"]
