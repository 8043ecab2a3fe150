"""Small random tile programs, as source text, drawn by hypothesis.

A program loads blocks and vectors from tensors of odd shapes, known or not, looks up rows, fills, computes element-wise
over blocks, row vectors, column vectors, numbers and positions, multiplies, reduces along either axis, in loops, in
branches, and under conditions on its own data, and stores to places of its own; some work on parts of blocks and on
stacks of matrices (`tile_parts`), and have a second launch that reads what the first one stored; others have searches,
sorts and scatters among their tile operations (`tile_searches`). Values stay whole
numbers between -8 and 8 wherever they are stored, so that every sum is an exact float32 number, in any order: what
differs between two ways of running a program is a bug, not rounding.
"""

from dataclasses import dataclass, field
from functools import partial
from typing import Any

from hypothesis import strategies as st
from tile_parts import STACK, STATEMENTS
from tile_searches import SEARCHES

ROWS, ODD_ROWS = (32, 64), (16, 40)
COLS, ODD_COLS = (32, 64, 96), (48,)
SIZES = {"A": (100, 130), "B": (96, 64), "R": (100,), "W": (130,), "E": STACK}  # no multiple of a tile, except B
SYMBOLS = {"A": "(m, n)", "B": "(96, 64)", "R": "(m,)", "W": "(n,)", "E": str(STACK)}
DYNAMIC = {"m": 100, "n": 130}
PLACES = (64,)  # of the table "N", which says which rows are looked up
BOUND = 8
MOST_ROUNDS = 2
STORE_ROWS, STORE_COLS = max(ROWS), max(COLS)  # room for the largest block
SECOND = (2 * STORE_ROWS, STORE_COLS)  # of the tensor G
OUTSIDE = 2  # depth of lines that stand in no loop or branch


@dataclass(frozen=True)
class Buffer:
    name: str
    shape: tuple[int, ...]
    memory: str
    dtype: str

    @property
    def declaration(self) -> str:
        return f'{self.name} = T.alloc_{self.memory}({self.shape}, "{self.dtype}")'


@dataclass
class Program:
    """A function `main(A, B, R, W, E, N, C, D, G)`: blocks are stored to rows of C, vectors to parts of D.

    A second launch stores to G. `plain` is the same without reducers, which TileLang's CPU backend has not.
    """

    source: str
    plain: str
    rows: int
    length: int
    sizes: dict[str, int]


@st.composite
def tile_programs(draw: st.DrawFn) -> Program:
    return _Writer(draw).program()


@st.composite
def programs_with_searches(draw: st.DrawFn) -> Program:
    return _Writer(draw, searches=True).program()


@dataclass
class _Writer:
    draw: st.DrawFn
    searches: bool = False
    variables: int = 0  # of searches
    lines: list[tuple[str, str]] = field(default_factory=list)  # as they are, and without reducers
    rows: int = 0  # of C, used so far
    length: int = 0  # of D, used so far
    grid: int = 1
    blocks: list[Buffer] = field(default_factory=list)
    vectors: list[Buffer] = field(default_factory=list)
    stacks: list[Buffer] = field(default_factory=list)
    reducers: int = 0
    stored: list[tuple[int, tuple[int, ...]]] = field(default_factory=list)  # rows of C that are surely written
    storing: bool = True
    dynamic: bool = False
    parts: bool = False

    def program(self) -> Program:
        self.grid = self.number(1, 2)
        odd, self.dynamic = self.chance(3), self.chance(3)
        for n in range(self.number(1, 3)):
            shape = (self.pick(ODD_ROWS if odd else ROWS), self.pick(ODD_COLS if odd and self.chance(3) else COLS))
            self.blocks.append(Buffer(f"b{n}", shape, self.pick(("fragment", "shared")), self.dtype()))
        lengths = sorted({length for block in self.blocks for length in block.shape})
        for n in range(self.number(1, 3)):
            self.vectors.append(Buffer(f"v{n}", (self.pick(lengths),), "fragment", "float32"))
        self.parts = self.chance(5)
        if self.parts and self.chance(6):
            shape = self.pick(self.blocks).shape
            dtype = self.pick(("float32", "bfloat16"))
            self.stacks = [Buffer(f"s{n}", (self.number(2, 3), *shape), "shared", dtype) for n in range(2)]
        filled = self.load(2, frozenset(), ())
        filled = self.statements(2, filled, (), 2)
        if self.searches:
            filled = self.pick(SEARCHES)(self, 2, filled, ())
            filled = self.statements(2, filled, (), 2)
        for buffer in (*self.blocks, *self.vectors, *self.stacks):
            if buffer in filled:
                self.store(2, buffer, ())
        if self.stored and self.chance(3):
            self.second_launch()
        shapes = SYMBOLS if self.dynamic else SIZES
        head = [
            "import tilelang.language as T",
            *(['m, n = T.dynamic("m, n")'] if self.dynamic else []),
            "",
            "@T.prim_func",
            "def main(",
            *(f'    {name}: T.Tensor({shape}, "float32"),' for name, shape in shapes.items()),
            f'    N: T.Tensor({PLACES}, "int32"),',
            f'    C: T.Tensor(({max(self.rows, 1)}, {STORE_COLS}), "float32"),',
            f'    D: T.Tensor(({max(self.length, 1)},), "float32"),',
            f'    G: T.Tensor({SECOND}, "float32"),',
            "):",
            f"    with T.Kernel({self.grid}, threads=128) as bx:",
            *(f"        {buffer.declaration}" for buffer in (*self.blocks, *self.vectors, *self.stacks)),
            '        number = T.alloc_var("float32")',
            "        number = R[bx]",
            '        count = T.alloc_var("int32")',
            "        count = bx",
        ]
        source, plain = ("\n".join([*head, *lines]) + "\n" for lines in zip(*self.lines, strict=True))
        return Program(source, plain, max(self.rows, 1), max(self.length, 1), DYNAMIC if self.dynamic else {})

    # --- choices --------------------------------------------------------------------------------------

    def pick(self, values: Any) -> Any:
        return self.draw(st.sampled_from(list(values)))

    def number(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def chance(self, in_ten: int) -> bool:
        return self.number(1, 10) <= in_ten

    def dtype(self) -> str:
        return str(self.pick(("float32", "float32", "float32", "float32", "bfloat16", "float16", "int32", "int8")))

    def emit(self, depth: int, line: str, plain: str | None = None) -> None:
        self.lines.append(("    " * depth + line, "    " * depth + (line if plain is None else plain)))

    # --- statements: each returns the buffers that hold values afterwards -----------------------------

    def statements(
        self, depth: int, filled: frozenset[Buffer], loops: tuple[str, ...], nesting: int
    ) -> frozenset[Buffer]:
        plain = (
            self.load,
            self.look_up,
            self.fill,
            self.map,
            self.map,
            self.map_vector,
            self.reduce,
            self.reduce,
            self.gemm,
            self.gemm,
            self.gemm,
            self.count,
        )
        plain += tuple(partial(statement, self) for statement in STATEMENTS) * self.parts
        plain += tuple(partial(statement, self) for statement in SEARCHES) * self.searches
        for _ in range(self.number(1, 4)):
            if nesting and self.chance(3):
                filled = self.pick((self.loop, self.branch, self.condition))(depth, filled, loops, nesting - 1)
            else:
                filled = self.pick(plain)(depth, filled, loops)
        return filled

    def load(self, depth: int, filled: frozenset[Buffer], loops: tuple[str, ...]) -> frozenset[Buffer]:
        """A box that may reach beyond the tensor."""
        starts = ["0", "32", "bx * 32", *(f"(bx + {var}) * 32" for var in loops)]
        buffer = self.pick((*self.blocks, *self.vectors))
        if buffer in self.vectors:
            self.emit(depth, f"T.copy({self.pick('RW')}[{self.pick(starts)}], {buffer.name})")
        else:
            self.emit(depth, f"T.copy({self.pick('AB')}[{self.pick(starts)}, {self.pick(starts)}], {buffer.name})")
        return filled | {buffer}

    def look_up(self, depth: int, filled: frozenset[Buffer], _loops: tuple[str, ...]) -> frozenset[Buffer]:
        """Rows by a table, or by arithmetic; inside a tensor whose rows have a known length."""
        block = self.pick(self.blocks)
        rows, cols = block.shape
        if self.dynamic:
            return filled
        row = self.pick(("N[i]", "i // 2", "N[i // 4] + i % 4", "99 - i"))
        self.emit(depth, f"for i, j in T.Parallel({rows}, {cols}):")
        self.emit(depth + 1, f"{block.name}[i, j] = A[{row}, {self.pick((0, 32))} + j]")
        return filled | {block}

    def fill(self, depth: int, filled: frozenset[Buffer], _loops: tuple[str, ...]) -> frozenset[Buffer]:
        buffer = self.pick((*self.blocks, *self.vectors))
        self.emit(depth, f"T.fill({buffer.name}, {self.number(-2, 2)})")
        return filled | {buffer}

    def map(self, depth: int, filled: frozenset[Buffer], loops: tuple[str, ...]) -> frozenset[Buffer]:
        block = self.pick(self.blocks)
        rows, cols = block.shape
        operands = [self.value(b, "i, j") for b in self.blocks if b in filled and b.shape == block.shape]
        operands += [f"{v.name}[i]" for v in self.vectors if v in filled and v.shape == (rows,)]
        operands += [f"{v.name}[j]" for v in self.vectors if v in filled and v.shape == (cols,)]
        positions = ["i", "j", "bx * 32 + i", *(f"{var} * 32 + j" for var in loops)]
        self.emit(depth, f"for i, j in T.Parallel({rows}, {cols}):")
        self.emit(depth + 1, f"{block.name}[i, j] = {self.bounded(self.expression(operands, positions))}")
        return filled | {block}

    def map_vector(self, depth: int, filled: frozenset[Buffer], _loops: tuple[str, ...]) -> frozenset[Buffer]:
        vector = self.pick(self.vectors)
        operands = [f"{v.name}[i]" for v in self.vectors if v in filled and v.shape == vector.shape]
        self.emit(depth, f"for i in T.Parallel({vector.shape[0]}):")
        self.emit(depth + 1, f"{vector.name}[i] = {self.bounded(self.expression(operands, ['i']))}")
        return filled | {vector}

    def count(self, depth: int, filled: frozenset[Buffer], _loops: tuple[str, ...]) -> frozenset[Buffer]:
        """A number that steers; not under a condition on data, which no kernel knows."""
        if self.storing:
            self.emit(depth, f"count = count + {self.number(1, 2)}")
        return filled

    def value(self, buffer: Buffer, place: str) -> str:
        element = f"{buffer.name}[{place}]"
        return f'T.cast({element}, "float32")' if buffer.dtype.startswith("int") else element

    def bounded(self, value: str) -> str:
        return f"T.max(T.min({value}, {BOUND}.0), -{BOUND}.0)"

    def expression(self, operands: list[str], positions: list[str], depth: int = 0) -> str:
        if depth > 2 or self.chance(3):
            return str(self.pick(operands)) if operands and self.chance(8) else f"{self.number(-3, 3)}.0"
        left, right = (self.expression(operands, positions, depth + 1) for _ in range(2))
        kind = self.pick(("+", "-", "+", "-", "*", "T.max", "T.min", "abs", "mask", "select"))
        if kind == "abs":
            return f"T.abs({left})"
        if kind == "mask":
            first, second = self.pick(positions), self.pick((*positions, str(self.number(0, 64))))
            return f"T.if_then_else({first} {self.pick(('>=', '<'))} {second}, {left}, {right})"
        if kind == "select":
            return f"T.if_then_else({left} {self.pick(('>', '<='))} {right}, {left}, {self.number(-3, 3)}.0)"
        return f"{kind}({left}, {right})" if kind[0] == "T" else f"({left} {kind} {right})"

    def reduce(self, depth: int, filled: frozenset[Buffer], _loops: tuple[str, ...]) -> frozenset[Buffer]:
        """Of float32 blocks: TileLang's CPU backend wants one dtype for block and vector."""
        fitting = [
            (block, vector, axis)
            for block in self.blocks
            for vector in self.vectors
            for axis in (0, 1)
            if block in filled and vector.shape == (block.shape[1 - axis],) and block.dtype == vector.dtype
        ]
        if not fitting:
            return filled
        block, vector, axis = self.pick(fitting)
        kind = self.pick(("sum", "max", "min", "abssum", "absmax"))
        keep = vector in filled and kind in ("sum", "max", "min") and self.chance(4)
        clear = ", clear=False" if keep else ""
        self.emit(depth, f"T.reduce_{kind}({block.name}, {vector.name}, dim={axis}{clear})")
        self.emit(depth, f"for i in T.Parallel({vector.shape[0]}):")
        self.emit(depth + 1, f"{vector.name}[i] = {self.bounded(f'{vector.name}[i]')}")
        return filled | {vector}

    def gemm(self, depth: int, filled: frozenset[Buffer], loops: tuple[str, ...]) -> frozenset[Buffer]:
        """Operands of one dtype, as T.gemm wants them; the accumulator is float32."""
        fitting = [
            (a, b, c, trans_a, trans_b)
            for a in self.blocks
            for b in self.blocks
            for c in self.blocks
            for trans_a in (False, True)
            for trans_b in (False, True)
            if {a, b} <= filled
            and c not in (a, b)
            and a.dtype == b.dtype
            and not a.dtype.startswith("int")
            and c.dtype == "float32"
            and _product_shape(a, b, trans_a, trans_b) == c.shape
        ]
        if not fitting:
            return filled
        a, b, c, trans_a, trans_b = self.pick(fitting)
        clear = "True"
        if c in filled:
            clear = self.pick(("True", "False", f"{loops[-1]} == 0" if loops else "False"))
        self.emit(depth, f"T.gemm({a.name}, {b.name}, {c.name}, {trans_a}, {trans_b}, clear_accum={clear})")
        self.emit(depth, f"for i, j in T.Parallel({c.shape[0]}, {c.shape[1]}):")
        self.emit(depth + 1, f"{c.name}[i, j] = {self.bounded(f'{c.name}[i, j]')}")
        return filled | {c}

    def store(self, depth: int, buffer: Buffer, loops: tuple[str, ...]) -> None:
        """To a place that no other store, unit or round writes."""
        place = "bx"
        for var in loops:
            place = f"({place} * {MOST_ROUNDS} + {var})"
        places = self.grid * MOST_ROUNDS ** len(loops)
        if buffer in self.stacks:
            count, rows, cols = buffer.shape
            for matrix in range(count):
                box, top = f"{buffer.name}[{matrix}, 0:{rows}, 0:{cols}]", f"{self.rows} + {place} * {STORE_ROWS}"
                self.emit(depth, f"T.copy({box}, C[{top} : {top} + {rows}, 0:{cols}])")
                self.rows += places * STORE_ROWS
        elif buffer in self.blocks:
            if depth == OUTSIDE:
                self.stored.append((self.rows, buffer.shape))
            self.emit(depth, f"T.copy({buffer.name}, C[{self.rows} + {place} * {STORE_ROWS}, 0])")
            self.rows += places * STORE_ROWS
        else:
            self.emit(depth, f"T.copy({buffer.name}, D[{self.length} + {place} * {STORE_COLS}])")
            self.length += places * STORE_COLS

    def second_launch(self) -> None:
        """What the first unit stored, with another block beside it."""
        (row, (height, width)), (other, (rows, cols)) = self.pick(self.stored), self.pick(self.stored)
        height, width = min(height, rows), min(width, cols)
        self.emit(1, f"with T.Kernel({self.number(1, 2)}, threads=128) as by:")
        self.emit(2, f'x = T.alloc_shared(({height}, {width}), "float32")')
        self.emit(2, f'y = T.alloc_fragment(({height}, {width}), "float32")')
        self.emit(2, f"T.copy(C[{row}, 0], x)")
        self.emit(2, f"T.copy(C[{other}, 0], y)")
        self.emit(2, f"for i, j in T.Parallel({height}, {width}):")
        self.emit(3, f"y[i, j] = {self.bounded(self.expression(['x[i, j]', 'y[i, j]'], ['i', 'j', 'by']))}")
        self.emit(2, f"T.copy(y, G[by * {STORE_ROWS}, 0])")

    def loop(self, depth: int, filled: frozenset[Buffer], loops: tuple[str, ...], nesting: int) -> frozenset[Buffer]:
        var, rounds = f"k{depth}", self.number(1, MOST_ROUNDS)
        kind = self.pick((f"T.serial({rounds})", f"T.Pipelined({rounds}, num_stages=2)"))
        self.emit(depth, f"for {var} in {kind}:")
        return self.nested(depth, filled, (*loops, var), nesting)

    def branch(self, depth: int, filled: frozenset[Buffer], loops: tuple[str, ...], nesting: int) -> frozenset[Buffer]:
        conditions = ("bx == 0", "bx % 2 == 1", "count > 1", "count % 2 == 0", *(f"{var} < 1" for var in loops))
        self.emit(depth, f"if {self.pick(conditions)}:")
        then = self.nested(depth, filled, loops, nesting)
        if self.chance(5):
            return filled
        self.emit(depth, "else:")
        return then & self.nested(depth, filled, loops, nesting)

    def condition(
        self, depth: int, filled: frozenset[Buffer], loops: tuple[str, ...], nesting: int
    ) -> frozenset[Buffer]:
        """On data: what is not filled before is not filled after."""
        self.emit(depth, f"if number {self.pick(('>', '<=', '!='))} {self.number(-1, 1)}:")
        self.nested(depth, filled, loops, nesting, stores=False)
        return filled

    def nested(
        self, depth: int, filled: frozenset[Buffer], loops: tuple[str, ...], nesting: int, stores: bool = True
    ) -> frozenset[Buffer]:
        """Nothing is stored under a condition on data: what lies there would have to be loaded before."""
        before, storing = len(self.lines), self.storing
        self.storing = storing and stores
        result = self.statements(depth + 1, filled, loops, nesting)
        stored = [buffer for buffer in (*self.blocks, *self.vectors) if buffer in result]
        if stored and self.storing and self.chance(3):
            self.store(depth + 1, self.pick(stored), loops)
        if len(self.lines) == before:  # Python wants a statement
            result = self.fill(depth + 1, result, loops)
        self.storing = storing
        return result


def _product_shape(a: Buffer, b: Buffer, trans_a: bool, trans_b: bool) -> tuple[int, ...] | None:
    m, k = reversed(a.shape) if trans_a else a.shape
    k_b, n = reversed(b.shape) if trans_b else b.shape
    return (m, n) if k == k_b else None
