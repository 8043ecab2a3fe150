"""Statements of random tile programs that no tile engine carries out: searches, sorts, lookups and scatters of single
elements. They become scalar code, alone or with what is around them.

Each takes the writer of a program (`tile_programs`) and the buffers that hold values, and returns those that do
afterwards. Values are whole numbers between -8 and 8, so that the absolute value of one is a place of every block.
"""

from typing import Any


def _block(writer: Any, filled: Any) -> Any:
    return writer.pick([block for block in writer.blocks if block in filled] or [None])


def _place(element: str) -> str:
    return f'T.cast(T.abs({element}), "int32")'


def _variable(writer: Any, depth: int, start: str) -> str:
    """A new variable of a round, and its first value."""
    writer.variables += 1
    name = f"p{writer.variables}"
    writer.emit(depth, f'{name} = T.alloc_var("int32")')
    writer.emit(depth, f"{name} = {start}")
    return name


def search(writer: Any, depth: int, filled: Any, _loops: Any) -> Any:
    """How far each row rises, falls, or stays below a number."""
    block = _block(writer, filled)
    vectors = [vector for vector in writer.vectors if block and vector.shape == block.shape[:1]]
    if block is None or not vectors:
        return filled
    vector = writer.pick(vectors)
    writer.emit(depth, f"for i in T.serial({block.shape[0]}):")
    at = _variable(writer, depth + 1, "0")
    goal = writer.pick((f"{block.name}[i, {at} + 1]", str(writer.number(-3, 3))))
    sign = writer.pick(("<", ">=", "!="))
    writer.emit(depth + 1, f"while {at} < {block.shape[1] - 1} and {block.name}[i, {at}] {sign} {goal}:")
    writer.emit(depth + 2, f"{at} = {at} + {writer.number(1, 2)}")
    writer.emit(depth + 1, f'{vector.name}[i] = T.cast({at} % 9, "float32")')
    return filled | {vector}


def sort_rows(writer: Any, depth: int, filled: Any, _loops: Any) -> Any:
    """The first elements of some rows, by insertion."""
    block = _block(writer, filled)
    if block is None:
        return filled
    writer.emit(depth, f"for i in T.serial({writer.pick((4, block.shape[0]))}):")
    writer.emit(depth + 1, f"for j in T.serial(1, {writer.number(2, 12)}):")
    at = _variable(writer, depth + 2, "j")
    low, high = f"{block.name}[i, {at} - 1]", f"{block.name}[i, {at}]"
    writer.emit(depth + 2, f"while {at} > 0 and {low} > {high}:")
    writer.emit(depth + 3, f"{low}, {high} = {high}, {low}")
    writer.emit(depth + 3, f"{at} = {at} - 1")
    return filled


def look_up_elements(writer: Any, depth: int, filled: Any, _loops: Any) -> Any:
    """Elements of one block at places that another one, or a vector, holds."""
    table, target = _block(writer, filled), writer.pick(writer.blocks)
    if table is None or target is table:
        return filled
    rows, cols = target.shape
    places = [f"{vector.name}[i]" for vector in writer.vectors if vector in filled and vector.shape == (rows,)]
    places += [f"{vector.name}[j]" for vector in writer.vectors if vector in filled and vector.shape == (cols,)]
    places += [f"{target.name}[i, j]"] if target in filled else []
    if not places:
        return filled
    row, col = (_place(writer.pick(places)) for _ in range(2))
    writer.emit(depth, f"for i, j in T.Parallel({rows}, {cols}):")
    value = writer.value(table, f"{row}, {col}")
    writer.emit(depth + 1, f"{target.name}[i, j] = {writer.bounded(value)}")
    return filled | {target}


def scatter(writer: Any, depth: int, filled: Any, loops: Any) -> Any:
    """An element of each row, at a place that the row itself says; sometimes a row ends the loop."""
    block = _block(writer, filled)
    if block is None:
        return filled
    writer.emit(depth, f"for i in T.serial({block.shape[0]}):")
    if writer.chance(4):
        writer.emit(depth + 1, f"if {block.name}[i, {writer.number(0, 15)}] == {writer.number(-2, 2)}:")
        writer.emit(depth + 2, "break")
    place = _place(f"{block.name}[i, {writer.number(0, 15)}]")
    number = writer.pick((str(writer.number(-3, 3)), *(f"{var} + 1" for var in loops)))
    writer.emit(depth + 1, f"{block.name}[i, {place} + {writer.number(0, 7)}] = {number}")
    return filled


def count_values(writer: Any, depth: int, filled: Any, _loops: Any) -> Any:
    """A histogram of a row, in a vector; its numbers stay below nine."""
    block = _block(writer, filled)
    vectors = [vector for vector in writer.vectors if vector.shape[0] >= 9]
    if block is None or not vectors:
        return filled
    vector = writer.pick(vectors)
    writer.emit(depth, f"T.fill({vector.name}, 0)")
    writer.emit(depth, f"for j in T.serial({min(8, block.shape[1])}):")
    place = _place(f"{block.name}[{writer.number(0, 15)}, j]")
    writer.emit(depth + 1, f"{vector.name}[{place}] = {vector.name}[{place}] + 1.0")
    return filled | {vector}


SEARCHES = (search, search, sort_rows, look_up_elements, scatter, count_values)
