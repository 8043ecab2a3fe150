"""Count what scalar code does: a kernel's assembly text with, in every basic block, an addition of the block's cycles.

    before   call __sanitizer_cov_trace_pc@PLT        after   movq vd_scalar_cycles@gottpoff(%rip), %r11
             mulss  -4(%r13,%rbx,4), %xmm0                     addq $58, %fs:(%r11)
                                                               mulss  -4(%r13,%rbx,4), %xmm0

The compiler marks the blocks (`-fsanitize-coverage=trace-pc`); its call may change every register of a caller, so r11
is free there. Cycles are those of the chip's small processors, which have no floating point and no cache for L1: an
instruction of this host stands for one of theirs, a load, a division or a float operation for what it is there. Good
to a factor of two: no public figure says more.
"""

from __future__ import annotations

import platform
import re

FLAGS = ("-fsanitize-coverage=trace-pc", "-fno-tree-vectorize", "-fno-tree-slp-vectorize")
_MARK = "__sanitizer_cov_trace_pc"
_COUNT = "\tmovq\tvd_scalar_cycles@gottpoff(%rip), %r11\n\taddq\t${cycles}, %fs:(%r11)"
_LOAD, _STORE = 8, 2  # of L1; what lies on the stack is in a register there
_FUNCTION, _CALL = 1500, 10  # exp, sin and their kin; any other function of the host's
_DEVICE = "vd_"  # functions of the device have costs of their own
_MATHEMATICAL = re.compile(r"(exp|log|sin|cos|tan|pow|erf|sqrt|cbrt|gamma|hypot|fmod)\w*")
# By how the name of an instruction begins, of single and of double precision. As in passes/code/scalar_costs.py.
_CYCLES = (
    (re.compile(r"v?(add|sub)s[sd]"), 60),
    (re.compile(r"v?muls[sd]"), 50),
    (re.compile(r"v?divs[sd]"), 180),
    (re.compile(r"v?sqrts[sd]"), 200),
    (re.compile(r"v?(max|min)s[sd]|v?u?comis[sd]|v?cmp\w*s[sd]"), 25),
    (re.compile(r"v?cvt"), 40),
    (re.compile(r"i?div[lqwb]?"), 40),
    (re.compile(r"i?mul[lqwb]?"), 4),
)
_INSTRUCTION = re.compile(r"\t([a-z]\w*)\b\s*(.*)")
_MEMORY = re.compile(r"\((?!%r(?:sp|bp|ip))")


def available(zig: bool) -> bool:
    """Whether blocks are counted on this host; if not, the time of scalar code is that of its transfers."""
    return platform.machine().lower() in ("x86_64", "amd64") and not zig


def counted(assembly: str) -> str:
    """Cycles go up to the next mark: a block ends where the next one begins."""
    lines = assembly.splitlines()
    marks = [number for number, line in enumerate(lines) if _MARK in line and line.lstrip().startswith("call")]
    for mark, end in zip(marks, [*marks[1:], len(lines)], strict=True):
        cycles = sum(cycles_of(line) for line in lines[mark + 1 : end])
        lines[mark] = _COUNT.format(cycles=cycles)
    return "\n".join(lines) + "\n"


def cycles_of(line: str) -> int:
    found = _INSTRUCTION.fullmatch(line.split("#")[0].rstrip())
    if found is None:
        return 0
    name, operands = found[1], found[2]
    if name.startswith("call") or (name == "jmp" and "@PLT" in operands):
        return _call(operands)
    for pattern, cycles in _CYCLES:
        if pattern.fullmatch(name) or (pattern.pattern.endswith("cvt") and pattern.match(name)):
            return cycles + _memory(operands)
    return 1 + _memory(operands)


def _call(target: str) -> int:
    name = target.partition("@")[0]
    if name.startswith(_DEVICE):
        return 1
    return _FUNCTION if _MATHEMATICAL.fullmatch(name) else _LOAD if name.startswith("__tsan_") else _CALL


def _memory(operands: str) -> int:
    if not _MEMORY.search(operands):
        return 0
    return _STORE if operands.endswith(")") and "," in operands else _LOAD
