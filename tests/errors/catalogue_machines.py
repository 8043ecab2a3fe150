"""Entries of errors about machines: ttnn, simulators, compilers, GPUs, and what a machine leaves undefined.

Where this machine cannot fail so, the test pretends to be another one: `machines.py`.
"""

from __future__ import annotations

from catalogue import explained, program
from catalogue_calls import _CACHED, _COMPILED, _DOUBLE, _DYNAMIC
from catalogue_programs import by_hand
from catalogue_targets import _ADD

_CALL = "result = torch.empty(64, 64)\nkernel(torch.ones(64, 64), result)\nassert torch.equal(result, torch.full((64, 64), 2.0))\n"
_PATCHED = _CACHED.partition("\nopen(")[0]  # the imports


def on(options: str) -> str:
    """The kernel compiled for ttnn and called, its numbers compared."""
    return _DOUBLE + _COMPILED.replace('"tenstorrent"', f'"tenstorrent{options}"') + _CALL


def variable(name: str, value: str, text: str = _CALL) -> str:
    """`text` with an environment variable set."""
    lines = "".join(f"    {line}\n" for line in text.splitlines())
    return f'{_PATCHED}\n\nwith patch.dict(os.environ, {name}="{value}"):\n{lines}'


# --- ttnn -------------------------------------------------------------------------------------------

_TTNN = """
import ttnn

device = ttnn.open_device(device_id=0)
place = dict(layout=ttnn.TILE_LAYOUT, device=device, memory_config=ttnn.DRAM_MEMORY_CONFIG)
ones = ttnn.from_torch(torch.ones(64, 64), dtype=ttnn.float32, **place)
result = ttnn.from_torch(torch.zeros(64, 64), dtype=ttnn.float32, **place)
kernel(ones, result)
assert torch.equal(result.to_torch(), torch.full((64, 64), 2.0))
"""
program(
    "TT313",
    "a ttnn tensor that is written does not lie as the kernel writes it",
    """A kernel writes a ttnn tensor where it lies, so the tensor must already have the layout of the plan; the message
    says which. Or let the call return the tensor (`out_idx`): then it is allocated as needed.""",
    _DOUBLE
    + _COMPILED
    + _TTNN.replace(
        "result = ttnn.from_torch(torch.zeros(64, 64), dtype=ttnn.float32, **place)",
        'place["layout"] = ttnn.ROW_MAJOR_LAYOUT\nresult = ttnn.from_torch(torch.zeros(64, 64), dtype=ttnn.float32, **place)',
    ),
    _DOUBLE + _COMPILED + _TTNN,
    machines=("ttnn", "ttnn"),
)
program(
    "TT411",
    "ttnn failed",
    "The note has what ttnn said; `tilelang-tt doctor --strict` checks ttnn and the device.",
    on(" -device=ttnn"),
    on(" -device=ttnn"),
    machines=("failing", "ttnn"),
)
_FLAT = """
@T.prim_func
def main(at: T.Tensor((64,), "int32"), A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
    with T.Kernel(1, threads=1):
        for i in T.serial(64):
            B[i] = A[at[i]] * 2.0


kernel = tilelang.compile(main, target="tenstorrent")
at, values = torch.arange(63, -1, -1, dtype=torch.int32), torch.randn(64)
"""
_ON_DEVICE = """import ttnn

device = ttnn.open_device(device_id=0)
place = dict(layout=ttnn.ROW_MAJOR_LAYOUT, device=device, memory_config=ttnn.DRAM_MEMORY_CONFIG)
result = ttnn.from_torch(torch.zeros(64), dtype=ttnn.float32, **place)
kernel(ttnn.from_torch(at, dtype=ttnn.int32, **place), ttnn.from_torch(values, dtype=ttnn.float32, **place), result)
"""
program(
    "TT412",
    "ttnn's tensors cannot lie as the kernel needs",
    "The help names another storage or layout that it can, or says to pass torch tensors, which the launcher places.",
    _FLAT + _ON_DEVICE,
    _FLAT + "result = torch.empty(64)\nkernel(at, values, result)\nassert torch.equal(result, values.flip(0) * 2)\n",
    machines=("ttnn", "ttnn"),
)
program(
    "TT413",
    "the device is another one than the kernel was compiled for",
    "Compile it for the chip or grid in the help.",
    on(" -device=ttnn"),
    on("/blackhole -device=ttnn"),
    machines=("blackhole", "blackhole"),
)
program(
    "TT416",
    "the program is too large for the L1 that ttnn was opened with",
    "Machine code and circular buffers share L1. Smaller blocks take less; a device that you open yourself can be given more room.",
    on(" -device=ttnn").replace("T.Kernel(2", "T.Kernel(1").replace("(32, 64)", "(64, 64)"),
    on(" -device=ttnn"),
    machines=("crowded", "crowded"),
)
program(
    "TT419",
    "the simulator of Wormhole cannot run this kernel",
    "It lacks unpack to DST and 32-bit integers. Blackhole's simulator has both.",
    on(" -device=ttnn"),
    on("/blackhole -device=ttnn"),
    machines=("simulator", "blackhole-simulator"),
)
program(
    "TT507",
    "no Python with ttnn",
    "Device `ttnn` runs kernels on a card, through ttnn in a Python of its own: docs/ttnn.md.",
    _DOUBLE
    + _COMPILED.replace('"tenstorrent"', '"tenstorrent -device=ttnn"')
    + variable("TILELANG_TT_TTNN_PYTHON", "no-such-python"),
    on(" -device=ttnn"),
    machines=("ttnn", "ttnn"),
)
program(
    "TT508",
    "another version of ttnn than the kernel was compiled for",
    "The help names the version, or the option `sdk`.",
    on(" -device=ttnn -sdk=0.81"),
    on(" -device=ttnn -sdk=0.77"),
    machines=("ttnn", "ttnn"),
)
program(
    "TT706",
    "float32 with 10 fraction bits",
    "TILELANG_TT_NARROW=1 runs kernels on a simulator that cannot unpack to DST. Ones and twos lose nothing by it.",
    _DOUBLE + _COMPILED.replace('"tenstorrent"', '"tenstorrent -device=ttnn"') + variable("TILELANG_TT_NARROW", "1"),
    on("/blackhole -device=ttnn"),
    machines=("wormhole-simulator", "blackhole-simulator"),
)

# --- while kernels run ------------------------------------------------------------------------------

_ASK = "The message names core, kernel and line; docs/debugging.md says how to go on."
_COMPUTE = '''
from tilelang_tt.device import (
    CBDescriptor,
    CBFormatDescriptor,
    ComputeConfigDescriptor,
    CoreRange,
    CoreRangeSet,
    DataType,
    KernelDescriptor,
    ProgramDescriptor,
    open_device,
)

COMPUTE = """
#include <cstdint>
#include "api/compute/compute_kernel_api.h"
#include "api/compute/pack.h"
#include "api/compute/eltwise_unary/eltwise_unary.h"
#include "api/compute/eltwise_unary/exp.h"
#include "api/compute/eltwise_unary/fill.h"

void kernel_main() {
    init_sfpu(0, 16);
    tile_regs_acquire();
    fill_tile_init();
    fill_tile(0, 1.0f);
    exp_tile_init();
    exp_tile(0, {mode});
    tile_regs_commit();
    cb_reserve_back(16, 1);
    tile_regs_wait();
    pack_tile(0, 16);
    tile_regs_release();
    cb_push_back(16, 1);
    cb_wait_front(16, 1);
    cb_pop_front(16, 1);
}
"""
CORE = CoreRangeSet([CoreRange((0, 0), (0, 0))])
KERNEL = KernelDescriptor(COMPUTE, CORE, ComputeConfigDescriptor(), KernelDescriptor.SourceType.SOURCE_CODE)
BUFFERS = [CBDescriptor(4096, CORE, [CBFormatDescriptor(index, DataType.BFLOAT16, 2048)]) for index in (0, 16)]

with open_device("wormhole_b0") as device:
    device.run(ProgramDescriptor([KERNEL], cbs=BUFFERS))
'''
program(
    "TT403",
    "something whose result the SDK leaves undefined",
    f"The device stops where a chip would do one thing or another. {_ASK}",
    _COMPUTE.replace("{mode}", "static_cast<VectorMode>(3)"),
    _COMPUTE.replace("{mode}", "VectorMode::RC"),
)
by_hand(
    "TT407",
    "a kernel does not compile as C++",
    "The notes are the compiler's. For kernels of this compiler it is a bug: please report it.",
    "cb_reserve_bak(0, 1);\ncb_push_back(0, 1);\ncb_wait_front(0, 1);\ncb_pop_front(0, 1);",
    "cb_reserve_back(0, 1);\ncb_push_back(0, 1);\ncb_wait_front(0, 1);\ncb_pop_front(0, 1);",
    lines=1,
)
by_hand(
    "TT408",
    "the device runtime ended without an answer",
    "Mostly the system ended it because memory ran out. Here a kernel ends the process, which no chip lets it do.",
    'void leave(int) asm("_exit");\nleave(3);',
    "",
)
explained(
    "TT414",
    "results depend on the order in which cores run",
    """`tilelang-tt fuzz FILE.py:kernel` found two schedules with different results: a barrier is missing, or two cores touch
    one place. There is no program here, because none is known that does this and is not stopped before (TT401).""",
)
program(
    "TT415",
    "no memory for the tensors of the device",
    "The virtual device holds all of DRAM that a program uses: smaller tensors, or more memory.",
    _DOUBLE + _COMPILED + "kernel(torch.ones(64, 64), torch.empty(64, 64))\n",
    _DOUBLE + _COMPILED + _CALL,
    machines=("no-memory", ""),
)
_LISTED = _DYNAMIC.replace("        X = ", "        TT.schedule(units=[[0], [1]])\n        X = ") + _COMPILED
program(
    "TT418",
    "a launch would not do all of its work, each part once",
    "A schedule in lists that are for another number of blocks, a plan that was changed by hand, or a bug to report.",
    _LISTED + "kernel(torch.ones(96, 64), torch.empty(96, 64))\n",
    _LISTED + _CALL,
)

# --- this machine -----------------------------------------------------------------------------------

program(
    "TT501",
    "no C++ compiler that works",
    "The virtual device compiles the generated kernels. `tilelang-tt doctor` shows what is found.",
    _DOUBLE + _COMPILED + variable("CXX", "no-such-compiler"),
    _DOUBLE + _COMPILED + _CALL,
)
program(
    "TT503",
    "TileLang is missing, or has another version",
    """TileLang's interface for backends still moves: exactly one version fits. `import tilelang_tt` looks first; the
    program here pretends that another one is installed.""",
    """
    from unittest.mock import patch

    import tilelang_tt.environment

    with patch("tilelang_tt.environment.version", lambda name: "0.1.0"):
        tilelang_tt.environment.require_tilelang()
    """,
    "import tilelang_tt.environment\n\ntilelang_tt.environment.require_tilelang()\n",
)
program(
    "TT521",
    "a tool to build this target is missing here",
    "Its source can still be had: leave out `build=True`, or `--build`. `tilelang-tt targets` tries every target.",
    _ADD + 'tilelang_tt.lower(main, "hip", build=True)',
    _ADD + 'tilelang_tt.lower(main, "hip")',
    machines=("no-hipcc", "no-hipcc"),
)
program(
    "TT522",
    "this machine cannot run this target",
    "A device is missing, or the installed torch does not know it. `tilelang-tt targets` tries every target.",
    _ADD + 'tilelang_tt.lower(main, "cuda").kernel()',
    _ADD + 'tilelang_tt.lower(main, "c").kernel()',
    machines=("no-gpu", "no-gpu"),
)
program(
    "TT523",
    "TileLang has changed where this package is built on it",
    """The notes name what is missing. docs/internals.md lists everything that is used of TileLang; `import tilelang_tt`
    checks it. The program here asks for something that never was.""",
    """
    from tilelang_tt.hook_table import Hook, require_hooks

    require_hooks((Hook("tilelang.engine:no_such_thing", "an example", "nothing"),))
    """,
    "from tilelang_tt.hook_table import require_hooks\n\nrequire_hooks()\n",
)
program(
    "TT621",
    "no target is given, and nothing is found",
    "docs/targets.md says which target is the default.",
    _ADD + "tilelang_tt.lower(main)",
    _ADD + 'tilelang_tt.lower(main, "tenstorrent")',
    machines=("nothing", "nothing"),
)
