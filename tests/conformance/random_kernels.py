"""Random TileLang kernels of the language the compiler takes, as source text.

A kernel fills blocks from tensors, by numbers, element-wise and by products, in loops and branches, and stores
blocks to places of their own. Results are kept between -8 and 8, so that every sum of products is an exact float32
number and any order of adding gives the same bits.
"""

import random
from dataclasses import dataclass

SHAPES = ((32, 32), (64, 32), (32, 64), (64, 64))
ROWS_PER_STORE = 64  # room for the tallest block
MOST_ROUNDS = 3


@dataclass(frozen=True)
class Block:
    name: str
    shape: tuple[int, int]
    memory: str


class RandomKernel:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.rows = 0  # of the output, used so far
        self.grid = self.random.randint(1, 3)
        self.blocks = [
            Block(f"b{n}", self.random.choice(SHAPES), self.random.choice(("shared", "fragment")))
            for n in range(self.random.randint(2, 6))
        ]
        filled = self.statements(2, frozenset(), (), 2)
        for block in self.blocks:
            if block in filled:
                self.store(2, block, ())
        self.source = self.text()

    def text(self) -> str:
        rows = max(self.rows, ROWS_PER_STORE)
        head = [
            "import tilelang.language as T",
            "",
            "@T.prim_func",
            "def main(",
            '    A: T.Tensor((100, 80), "float32"),',
            '    B: T.Tensor((96, 64), "float32"),',
            f'    C: T.Tensor(({rows}, 64), "float32"),',
            "):",
            f"    with T.Kernel({self.grid}, threads=128) as bx:",
        ]
        head += [f'        {b.name} = T.alloc_{b.memory}({b.shape}, "float32")' for b in self.blocks]
        return "\n".join([*head, *self.lines]) + "\n"

    def emit(self, depth: int, line: str) -> None:
        self.lines.append("    " * depth + line)

    # --- statements: each returns the blocks that are filled afterwards -----------------------------

    def statements(
        self, depth: int, filled: frozenset[Block], loops: tuple[str, ...], nesting: int
    ) -> frozenset[Block]:
        kinds = [self.load, self.load, self.fill, self.map, self.map, self.map, self.gemm, self.gemm, self.store_some]
        for _ in range(self.random.randint(1, 4)):
            if nesting and self.random.random() < 0.25:
                filled = self.random.choice((self.loop, self.branch))(depth, filled, loops, nesting - 1)
            else:
                filled = self.random.choice(kinds)(depth, filled, loops)
        return filled

    def load(self, depth: int, filled: frozenset[Block], loops: tuple[str, ...]) -> frozenset[Block]:
        """A box that may reach beyond the tensor."""
        block = self.random.choice(self.blocks)
        starts = (
            "0",
            "32",
            "64",
            "bx * 32",
            *(f"{var} * 32" for var in loops),
            *(f"(bx + {var}) * 32" for var in loops),
        )
        row, col = self.random.choice(starts), self.random.choice(starts)
        self.emit(depth, f"T.copy({self.random.choice('AB')}[{row}, {col}], {block.name})")
        return filled | {block}

    def fill(self, depth: int, filled: frozenset[Block], _loops: tuple[str, ...]) -> frozenset[Block]:
        block = self.random.choice(self.blocks)
        self.emit(depth, f"T.fill({block.name}, {self.random.randint(-2, 2)}.0)")
        return filled | {block}

    def map(self, depth: int, filled: frozenset[Block], _loops: tuple[str, ...]) -> frozenset[Block]:
        block = self.random.choice(self.blocks)
        self.assign(depth, block, self.expression(filled, block.shape))
        return filled | {block}

    def assign(self, depth: int, block: Block, value: str) -> None:
        rows, cols = block.shape
        self.emit(depth, f"for i, j in T.Parallel({rows}, {cols}):")
        self.emit(depth + 1, f"{block.name}[i, j] = T.max(T.min({value}, 8.0), -8.0)")

    def expression(self, filled: frozenset[Block], shape: tuple[int, int], depth: int = 0) -> str:
        names = [block.name for block in self.blocks if block in filled and block.shape == shape]
        if depth > 1 or self.random.random() < 0.35:
            use_block = names and self.random.random() < 0.8
            return f"{self.random.choice(names)}[i, j]" if use_block else f"{self.random.randint(-3, 3)}.0"
        left, right = (self.expression(filled, shape, depth + 1) for _ in range(2))
        operator = self.random.choice(("+", "-", "T.max", "T.min"))
        return f"{operator}({left}, {right})" if operator[0] == "T" else f"({left} {operator} {right})"

    def gemm(self, depth: int, filled: frozenset[Block], loops: tuple[str, ...]) -> frozenset[Block]:
        fitting = [
            (a, b, c, trans_a, trans_b)
            for a in self.blocks
            for b in self.blocks
            for c in self.blocks
            for trans_a in (False, True)
            for trans_b in (False, True)
            if {a, b} <= filled and c not in (a, b) and _product_shape(a, b, trans_a, trans_b) == c.shape
        ]
        if not fitting:
            return filled
        a, b, c, trans_a, trans_b = self.random.choice(fitting)
        clear = "True"
        if c in filled:
            clear = self.random.choice(("True", "False", "False", f"{loops[-1]} == 0" if loops else "False"))
        self.emit(depth, f"T.gemm({a.name}, {b.name}, {c.name}, {trans_a}, {trans_b}, clear_accum={clear})")
        if self.random.random() < 0.7:
            self.assign(depth, c, f"{c.name}[i, j]")
        return filled | {c}

    def store_some(self, depth: int, filled: frozenset[Block], loops: tuple[str, ...]) -> frozenset[Block]:
        present = [block for block in self.blocks if block in filled]
        if present:
            self.store(depth, self.random.choice(present), loops)
        return filled

    def store(self, depth: int, block: Block, loops: tuple[str, ...]) -> None:
        """To rows that no other store, unit or round writes."""
        place = "bx"
        for var in loops:
            place = f"({place} * {MOST_ROUNDS} + {var})"
        self.emit(depth, f"T.copy({block.name}, C[{self.rows} + {place} * {ROWS_PER_STORE}, 0])")
        self.rows += self.grid * MOST_ROUNDS ** len(loops) * ROWS_PER_STORE

    def loop(self, depth: int, filled: frozenset[Block], loops: tuple[str, ...], nesting: int) -> frozenset[Block]:
        var, rounds = f"k{depth}", self.random.randint(1, MOST_ROUNDS)
        kind = self.random.choice((f"T.serial({rounds})", f"T.Pipelined({rounds}, num_stages=2)"))
        self.emit(depth, f"for {var} in {kind}:")
        return self.nested(depth, filled, (*loops, var), nesting)

    def branch(self, depth: int, filled: frozenset[Block], loops: tuple[str, ...], nesting: int) -> frozenset[Block]:
        conditions = ("bx == 0", "bx % 2 == 1", *(f"{var} < 1" for var in loops))
        self.emit(depth, f"if {self.random.choice(conditions)}:")
        then = self.nested(depth, filled, loops, nesting)
        if self.random.random() < 0.5:
            return filled
        self.emit(depth, "else:")
        return then & self.nested(depth, filled, loops, nesting)

    def nested(self, depth: int, filled: frozenset[Block], loops: tuple[str, ...], nesting: int) -> frozenset[Block]:
        before = len(self.lines)
        result = self.statements(depth + 1, filled, loops, nesting)
        if len(self.lines) == before:  # Python wants a statement
            result = self.fill(depth + 1, result, loops)
        return result


def _product_shape(a: Block, b: Block, trans_a: bool, trans_b: bool) -> tuple[int, int] | None:
    m, k = reversed(a.shape) if trans_a else a.shape
    k_b, n = reversed(b.shape) if trans_b else b.shape
    return (m, n) if k == k_b else None
