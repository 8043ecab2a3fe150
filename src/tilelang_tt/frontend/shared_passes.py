"""TileLang's own target-independent passes, those that keep tile operations whole."""

from __future__ import annotations

import tilelang.transform as transform
from tvm import IRModule, tirx


def run_shared_passes(func: tirx.PrimFunc) -> tirx.PrimFunc:
    """Launch frames become grid variables, lets are inlined, negative indices and shapes made plain.

    LayoutInference and LowerTileOp are left out on purpose: they dissolve the tiles this backend maps.
    """
    name = str(func.attrs["global_symbol"]) if "global_symbol" in func.attrs else "main"
    module = IRModule({name: func})
    for step in (
        transform.MaterializeKernelLaunch(
            lower_grid_binding=True,
            lower_thread_binding=False,
            default_threads=None,
            unsupported_annotations=[],
        ),
        transform.LetInline(),
        transform.LegalizeNegativeIndex(),
        transform.InjectAssumes(),
        transform.Simplify(),
    ):
        module = step(module)
    return module[name]
