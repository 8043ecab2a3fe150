"""Statements of random tile programs on parts of blocks, on stacks of matrices, and with reducers.

Each takes the writer of a program (`tile_programs`) and the buffers that hold values, and returns those that do
afterwards. A part is written only into a block that holds values already: what lies around it is stored in the end.
"""

from typing import Any

STEP = 8  # parts start at multiples of it, mostly inside a tile
SIDES = (8, 16, 32, 64)
STACK = (3, 70, 100)  # of the tensor E
# Operation, what it starts from, and how a contribution is taken in.
REDUCERS: Any = (
    ("sum", "0", lambda a, b: f"{a} + {b}"),
    ("max", "-T.infinity('float32')", lambda a, b: f"T.max({a}, {b})"),
    ("min", "T.infinity('float32')", lambda a, b: f"T.min({a}, {b})"),
)


def _part(writer: Any, length: int, side: int) -> int:
    """Where a part of this length may start."""
    return STEP * writer.number(0, (length - side) // STEP)


def _box(name: str, starts: tuple[int, int], sides: tuple[int, int]) -> str:
    (top, left), (height, width) = starts, sides
    return f"{name}[{top}:{top + height}, {left}:{left + width}]"


def _sides(writer: Any, *shapes: tuple[int, ...]) -> tuple[int, int]:
    rows, cols = (min(shape[axis] for shape in shapes) for axis in (0, 1))
    heights = [side for side in SIDES if side <= rows]
    widths = [side for side in SIDES if side <= cols]
    return writer.pick((rows, *heights)), writer.pick((cols, *widths))


def _inside(writer: Any, shape: tuple[int, ...], sides: tuple[int, int]) -> tuple[int, int]:
    return _part(writer, shape[0], sides[0]), _part(writer, shape[1], sides[1])


def copy_part(writer: Any, depth: int, filled: Any, _loops: Any) -> Any:
    """From one block to another, or from a tensor."""
    targets = [block for block in writer.blocks if block in filled]
    if not targets:
        return filled
    target = writer.pick(targets)
    sources = [block for block in targets if block is not target and block.dtype == target.dtype]
    if sources and writer.chance(6):
        source = writer.pick(sources)
        sides = _sides(writer, source.shape, target.shape)
        box = _box(source.name, _inside(writer, source.shape, sides), sides)
    else:
        sides = _sides(writer, target.shape)
        box = _box(writer.pick("AB"), (32 * writer.number(0, 2), 32 * writer.number(0, 2)), sides)
    writer.emit(depth, f"T.copy({box}, {_box(target.name, _inside(writer, target.shape, sides), sides)})")
    return filled


def map_part(writer: Any, depth: int, filled: Any, loops: Any) -> Any:
    """A part of a block computed from parts of others, single rows, columns and numbers of them."""
    targets = [block for block in writer.blocks if block in filled]
    if not targets:
        return filled
    target = writer.pick(targets)
    sides = _sides(writer, target.shape)
    top, left = _inside(writer, target.shape, sides)
    operands = [writer.value(target, f"{top} + i, {left} + j")]
    for block in writer.blocks:
        if block in filled and block is not target:
            row, col = writer.number(0, block.shape[0] - 1), writer.number(0, block.shape[1] - 1)
            if block.shape[0] >= sides[0] and block.shape[1] >= sides[1]:
                starts = _inside(writer, block.shape, sides)
                operands.append(writer.value(block, f"{starts[0]} + i, {starts[1]} + j"))
            if block.shape[0] >= sides[0]:
                operands.append(writer.value(block, f"i, {col}"))
            if block.shape[1] >= sides[1]:
                operands.append(writer.value(block, f"{row}, j"))
    for vector in (vector for vector in writer.vectors if vector in filled):
        operands.append(f"{vector.name}[{writer.number(0, vector.shape[0] - 1)}]")
        operands += [f"{vector.name}[{var}]" for var, side in zip("ij", sides, strict=True) if side <= vector.shape[0]]
    positions = ["i", f"{left} + j", *loops]
    writer.emit(depth, f"for i, j in T.Parallel({sides[0]}, {sides[1]}):")
    value = writer.bounded(writer.expression(operands, positions, 1))
    writer.emit(depth + 1, f"{target.name}[{top} + i, {left} + j] = {value}")
    return filled


def reducer(writer: Any, depth: int, filled: Any, _loops: Any) -> Any:
    """What every iteration contributes, put together along an axis."""
    sources = [block for block in writer.blocks if block in filled]
    fitting = [
        (block, vector, axis)
        for block in sources
        for vector in writer.vectors
        for axis in (0, 1)
        if vector.shape == (block.shape[axis],)
    ]
    if not fitting:
        return filled
    block, vector, axis = writer.pick(fitting)
    name, (op, first, step) = f"r{writer.reducers}", writer.pick(REDUCERS)
    writer.reducers += 1
    length, place = vector.shape[0], f"{name}[{'ij'[axis]}]"
    contribution = writer.expression([writer.value(block, "i, j")], ["i", "j"], 2)
    declared = f'{name} = T.alloc_reducer({length}, "float32", op="{op}")'
    writer.emit(depth, declared, f'{name} = T.alloc_fragment({length}, "float32")')
    writer.emit(depth, f"T.reducer_init({name})", f"T.fill({name}, {first})")
    writer.emit(depth, f"for i, j in T.Parallel({block.shape[0]}, {block.shape[1]}):")
    writer.emit(depth + 1, f"T.reducer_update({place}, {contribution})", f"{place} = {step(place, contribution)}")
    writer.emit(depth, f"T.finalize_reducer({name}, {vector.name})", f"T.copy({name}, {vector.name})")
    writer.emit(depth, f"for i in T.Parallel({vector.shape[0]}):")
    writer.emit(depth + 1, f"{vector.name}[i] = {writer.bounded(f'{vector.name}[i]')}")
    return filled | {vector}


def load_stack(writer: Any, depth: int, filled: Any, _loops: Any) -> Any:
    if not writer.stacks:
        return filled
    stack = writer.pick(writer.stacks)
    count, rows, cols = stack.shape
    top, left = 32 * writer.number(0, 1), 32 * writer.number(0, 2)
    box = f"E[0:{count}, {top}:{top + rows}, {left}:{left + cols}]"
    writer.emit(depth, f"T.copy({box}, {stack.name})")
    return filled | {stack}


def map_stack(writer: Any, depth: int, filled: Any, _loops: Any) -> Any:
    if not writer.stacks:
        return filled
    stack = writer.pick(writer.stacks)
    count, rows, cols = stack.shape
    operands = [f"{other.name}[q, i, j]" for other in writer.stacks if other in filled and other.shape == stack.shape]
    writer.emit(depth, f"for q, i, j in T.Parallel({count}, {rows}, {cols}):")
    value = writer.bounded(writer.expression(operands, ["q", "i", "j"], 1))
    writer.emit(depth + 1, f"{stack.name}[q, i, j] = {value}")
    return filled | {stack}


def matrix_of_stack(writer: Any, depth: int, filled: Any, loops: Any) -> Any:
    """One matrix goes out to a block, or comes from one; or all of them are reduced to one."""
    fitting = [
        (stack, block)
        for stack in writer.stacks
        for block in writer.blocks
        if stack in filled and block.shape == stack.shape[1:] and block.dtype == stack.dtype
    ]
    if not fitting:
        return filled
    stack, block = writer.pick(fitting)
    place = writer.pick((str(writer.number(0, stack.shape[0] - 1)), *(f"{var} % {stack.shape[0]}" for var in loops)))
    matrix = f"{stack.name}[{place}, 0:{block.shape[0]}, 0:{block.shape[1]}]"
    if block in filled and writer.chance(4):
        writer.emit(depth, f"T.copy({block.name}, {matrix})")
        return filled
    if writer.chance(5):
        writer.emit(depth, f"T.copy({matrix}, {block.name})")
    else:
        rows, cols = block.shape
        writer.emit(depth, f"T.reduce_{writer.pick(('sum', 'max'))}({stack.name}, {block.name}, dim=0)")
        writer.emit(depth, f"for i, j in T.Parallel({rows}, {cols}):")
        writer.emit(depth + 1, f"{block.name}[i, j] = {writer.bounded(f'{block.name}[i, j]')}")
    return filled | {block}


STATEMENTS = (copy_part, copy_part, map_part, map_part, reducer, reducer, load_stack, map_stack, matrix_of_stack)
