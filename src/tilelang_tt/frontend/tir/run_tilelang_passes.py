"""TileLang's own target-independent passes, those that keep tile operations whole."""

from __future__ import annotations

from tvm import IRModule, tirx

from tilelang_tt.frontend.tir.hide_elements import hide_elements, show_elements
from tilelang_tt.tilelang_hooks import transform


def run_tilelang_passes(func: tirx.PrimFunc) -> tirx.PrimFunc:
    """Launch frames become grid variables, lets are inlined, negative indices and shapes made plain.

    LayoutInference and LowerTileOp are left out on purpose: they dissolve the tiles this backend maps. Once lets are
    inlined only the bodies of T.Parallel are simplified again: where conditions stand on lets of other conditions,
    TVM takes ten seconds to simplify what is nested below them. Arithmetic on elements is hidden from all of it.
    """
    name = str(func.attrs["global_symbol"]) if "global_symbol" in func.attrs else "main"
    module = IRModule({name: func.with_body(hide_elements(func.body))})
    for step in (
        transform.MaterializeKernelLaunch(
            lower_grid_binding=True,
            lower_thread_binding=False,
            default_threads=None,
            unsupported_annotations=[],
        ),
        transform.LegalizeNegativeIndex(),
        transform.InjectAssumes(),
        _simplify,
        transform.LetInline(),
    ):
        module = step(module)
    inlined = module[name]
    simple = tirx.stmt_functor.ir_transform(inlined.body, _simplified, None, ["tirx.For"])
    return inlined.with_body(show_elements(simple))


def _simplify(module: IRModule) -> IRModule:
    """Simplified; as it is where TVM fails: it makes a + 2^31 of `a - T.int32(-(2**31))`, which no int32 holds."""
    try:
        return transform.Simplify()(module)
    except ValueError:
        return module


def _simplified(loop: tirx.For) -> tirx.Stmt | None:
    """The outermost loop of a T.Parallel with its body; None: any other loop, to look inside."""
    if loop.kind != tirx.ForKind.PARALLEL:
        return None
    simple = _simplify(IRModule({"loop": tirx.PrimFunc([], loop)}))["loop"].body
    body = simple
    while isinstance(body, tirx.For):
        body = body.body
    return body if isinstance(body, tirx.Evaluate) and not isinstance(body.value, tirx.Call) else simple
