"""One kernel in three ways that share no code: generated kernels on the virtual device, the interpreter of the tile IR
after every pass, and TileLang's own CPU backend.

Inputs are small whole numbers, so that sums are exact in any order: the three agree to the last bit, or within the
tolerance a test gives where it takes roots and exponentials.
"""

from typing import Any

import numpy as np
import torch

from tilelang_tt.cpu.kernel import CpuKernel
from tilelang_tt.frontend.lift import lift
from tilelang_tt.ir.fields import walk
from tilelang_tt.ir.interpret import interpret
from tilelang_tt.ir.room import room
from tilelang_tt.ir.tile import Each, Launch, TileProgram
from tilelang_tt.options import Options
from tilelang_tt.pipeline import RAISING_PASSES, print_files, run_passes
from tilelang_tt.runtime.plan import Plan
from tilelang_tt.runtime.virtual import launch

TWO_CORES = Options(grid=(2, 1))


def whole_numbers(*shape: int, low: int = -4, high: int = 5, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    generator = torch.Generator().manual_seed(sum(shape) + len(shape))
    return torch.randint(low, high, shape, generator=generator).to(dtype)


def raised(func: Any) -> Launch:
    """The only launch of a function, as operations on blocks of tiles."""
    program = lift(func, Options())
    for step in RAISING_PASSES:
        program = step(program)
    (launch,) = program.launches
    return launch


def _of_tiles(program: TileProgram) -> bool:
    return not any(isinstance(stmt, Each) for launch in program.launches for stmt in walk(launch.body))


def agree(
    func: Any,
    tensors: dict[str, torch.Tensor],
    results: tuple[str, ...],
    *,
    rtol: float = 0.0,
    numerics: str = "exact",
    options: Options = TWO_CORES,
    reference: dict[str, torch.Tensor] | None = None,
    undefined: bool = False,
) -> dict[str, torch.Tensor]:
    """Runs a kernel, compares the tensors named in `results`, and returns them. `reference` replaces TileLang's.

    `undefined`: the kernel hands out elements that it never assigned, which are zeros once blocks are made of tiles.
    """
    if reference is None:
        reference = {name: tensor.clone() for name, tensor in tensors.items()}
        CpuKernel(func)(*reference.values())
    arrays = {name: tensor.float().numpy() for name, tensor in tensors.items()}

    def compare(found: Any, name: str, who: str) -> None:
        wanted = reference[name].float().numpy()
        np.testing.assert_allclose(found, wanted, rtol, atol=rtol, err_msg=f"{who}: '{name}' differs")

    def meaning(stage: str, state: Any) -> None:
        if isinstance(state, TileProgram):
            found = interpret(state, arrays, exact=True)
            for name in results:
                array = np.nan_to_num(found[name]) if undefined and not _of_tiles(state) else found[name]
                compare(array, name, f"the interpreter after {stage}")

    program, sets = run_passes(func, options, meaning)
    for kernels in sets:
        assert sum(cb.bytes for cb in kernels.all_cbs) == room(kernels.program, kernels.launch).bytes
    files = print_files(program, sets)
    device = {name: tensor.clone() for name, tensor in tensors.items()}
    plan = Plan.from_json(files["tt.plan.json"])
    for param in plan.params:
        if param.workspace:
            device[param.name] = torch.empty(tuple(map(int, param.shape)), dtype=getattr(torch, param.dtype))
    lying = {item.name: device[plan.params[item.param].name] for item in plan.tensors}
    launch(plan, files, lying, {}, numerics=numerics, timeout=60)
    for name in results:
        compare(device[name].float().numpy(), name, "the virtual device")
    return {name: device[name] for name in results}
