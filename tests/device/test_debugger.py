"""gdb on a kernel: the runner waits for it, and kernels have lines and names."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

SCRIPT = """
    from tilelang_tt.device import *

    READER = r'''
    #include <cstdint>
    #include "api/dataflow/dataflow_api.h"
    void kernel_main() {
        uint32_t total = 0;
        for (uint32_t i = 0; i < 4; ++i) total += i;
        if (total == 7) get_arg_val<uint32_t>(9);
    }
    '''
    core = CoreRange((0, 0), (0, 0))
    text = KernelDescriptor.SourceType.SOURCE_CODE
    with open_device() as device:
        device.run(ProgramDescriptor([KernelDescriptor(READER, core, ReaderConfigDescriptor(), text)]))
    print("ended")
"""


@pytest.mark.skipif(shutil.which("gdb") is None, reason="gdb is not installed")
def test_gdb_stops_at_a_line_of_a_kernel(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(textwrap.dedent(SCRIPT))
    environment = {**os.environ, "TILELANG_TT_GDB": "1"}
    command = [sys.executable, str(script)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        assert run.stderr is not None
        waiting = next((line for line in run.stderr if "waits for a debugger" in line), "")
        number = re.search(r"gdb -p (\d+)", waiting)
        assert number is not None
        steps = ("break reader.cpp:7", "continue", "print total", "list 7,7", "detach")
        gdb = ["gdb", "-p", number[1], "-batch", *(word for step in steps for word in ("-ex", step))]
        seen = subprocess.run(gdb, capture_output=True, text=True, timeout=60, check=False)
        if "Operation not permitted" in seen.stderr:
            run.kill()
            pytest.skip("processes may not be traced here")
        out, _ = run.communicate(timeout=60)
    assert "$1 = 6" in seen.stdout, seen.stdout + seen.stderr
    assert "if (total == 7)" in seen.stdout
    assert out == "ended\n"
