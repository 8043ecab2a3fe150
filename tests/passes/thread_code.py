"""Scalar code of threads for tests: given as text or drawn at random, and interpreted before and after the pass."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from tilelang_tt.diagnostics import UnsupportedError
from tilelang_tt.ir.interpret import interpret
from tilelang_tt.ir.text_program import parse_tile, tile_text
from tilelang_tt.ir.tile import TileProgram
from tilelang_tt.passes.code.run_threads_in_turn import run_threads_in_turn

HEAD = """\
program main
  target wormhole_b0, 8 x 8 cores, HiFi4, 32-bit DST
  tensor A: int32[64]
  tensor B: int32[64]
  scalar n: int32

launch main
  blocks bx < 2
  body
    Code
"""


def program(code: str) -> TileProgram:
    return parse_tile(HEAD + "".join(f"      {line}\n" for line in code.strip("\n").splitlines()))


def changed(code: str) -> str:
    """What the pass makes of scalar code. It is run before and after, with several values of `n`."""
    before = program(code)
    after = run_threads_in_turn(before)
    text = tile_text(after)
    assert tile_text(parse_tile(text)) == text
    numbers = np.random.default_rng(0)
    tensors = {name: numbers.integers(-5, 6, 64).astype(np.int32) for name in "AB"}
    for n in (0, 1, 3):
        expected, found = (interpret(one, tensors, {"n": n}) for one in (before, after))
        for name in expected:
            np.testing.assert_array_equal(found[name], expected[name])
    return "\n" + "\n".join(line[6:] for line in text.removeprefix(HEAD).splitlines()) + "\n"


def refusal(code: str) -> str:
    with pytest.raises(UnsupportedError) as caught:
        run_threads_in_turn(program(code))
    return str(caught.value)


class Writer:
    """Programs of four threads without races: between barriers, threads write one block and read the other."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.lines: list[str] = []
        self.count = 0

    def program(self) -> str:
        self.lines = ["block p: shared int32[4]", "block q: shared int32[4]", "block x: local int32[2]"]
        self.lines += ["block y: local int32[1]", "Threads tx < 4"]
        self.line(1, "For j < 2")
        self.line(2, "Put x[j] = j")
        self.body(1, ["tx", "n", "bx"], 0)
        self.line(1, "Barrier")
        self.line(1, "Put B[bx * 4 + tx] = p[tx] + q[3 - tx] + x[0]")
        return "\n".join(self.lines)

    def line(self, indent: int, text: str) -> None:
        self.lines.append("  " * indent + text)

    def body(self, indent: int, names: list[str], depth: int, *, branch: bool = False) -> None:
        """Pieces with barriers between them; of all threads, or in a branch that some take."""
        names = list(names)
        for _ in range(self.random.randint(1, 3)):
            kinds = ("for", "if", "branch") if branch else ("for", "if", "branch", "while", "together")
            kind = self.random.choice(("piece", "piece", *kinds))
            self.line(indent, "Barrier")
            if kind == "piece" or depth == 2:
                self.piece(indent, names, self.random.sample("pq", 2), 0)
            elif kind == "for":
                self.count += 1
                start = self.random.choice(("", "from tx", "from n"))
                var = f"k{self.count}"
                self.line(indent, f"For {var} {start}, 2 times" if start else f"For {var} < n")
                self.body(indent + 1, [*names, var], depth + 1, branch=branch)
                if self.random.random() < 0.3:
                    self.line(indent + 1, "If n == 1")
                    self.line(indent + 2, self.random.choice(("Jump break", "Jump continue")))
                self.line(indent + 1, "Barrier")
            elif kind == "while":
                self.line(indent, "Put y[0] = 0")
                self.line(indent, "While y[0] < n")
                self.line(indent + 1, "Put y[0] = y[0] + 1")
                self.body(indent + 1, [*names, "y[0]"], 2)
                self.line(indent + 1, "Barrier")
            elif kind in ("if", "branch"):
                parted = kind == "branch"
                test = self.random.choice(("tx < 2", "x[0] > 0", "q[tx] > 0") if parted else ("n > 1", "n == 1"))
                self.line(indent, f"If {test}")
                self.body(indent + 1, names, depth + 1, branch=branch or parted)
                self.line(indent + 1, "Barrier")
                if not parted:  # in two arms at the same time, threads could meet
                    self.line(indent, "Else")
                    self.body(indent + 1, names, depth + 1, branch=branch)
                    self.line(indent + 1, "Barrier")
            else:
                self.line(indent, "For i < 4, together")
                self.line(indent + 1, "Put p[i] = p[i] + q[3 - i]")

    def piece(self, indent: int, names: list[str], blocks: list[str], depth: int) -> None:
        """Statements of single threads; those that define names add them."""
        for _ in range(self.random.randint(1, 4)):
            kind = self.random.choice(("let", "put", "put", "own", "if", "for"))
            if kind == "let":
                self.count += 1
                self.line(indent, f"Let v{self.count} = {self.value(names, blocks)}")
                names.append(f"v{self.count}")
            elif kind == "put" or depth == 2:
                self.line(indent, f"Put {blocks[0]}[tx] = {self.value(names, blocks)}")
            elif kind == "own":
                self.line(indent, f"Put x[{self.random.randint(0, 1)}] = {self.value(names, blocks)}")
            elif kind == "if":
                self.line(indent, f"If {self.value(names, blocks)} > {self.value(names, blocks)}")
                self.piece(indent + 1, list(names), blocks, depth + 1)
            else:
                self.count += 1
                self.line(indent, f"For j{self.count} < 2")
                self.piece(indent + 1, [*names, f"j{self.count}"], blocks, depth + 1)

    def value(self, names: list[str], blocks: list[str]) -> str:
        def one() -> str:
            places = [f"{blocks[1]}[(tx + {self.random.randint(0, 3)}) % 4]", f"x[{self.random.randint(0, 1)}]"]
            return self.random.choice([*names, *places, "A[tx]", str(self.random.randint(-3, 3))])

        return f"{one()} {self.random.choice('+-*')} {one()}"
