"""Print main.cpp: the plan as a host program on tt-metal's C++ API.

    header       what it is, files, exit status
    command line KernelArguments, parse()          sizes and scalars, which a plan cannot know: `name=value`
    tensors      Tensors, describe_tensors()       pages from the plan's expressions
    launches     <launch>_workload()               host_launch.py
    run          check files, open, allocate, upload, launch in order, download, compare

The program does what the plan says and nothing else, so everything here is printing. Tensors travel as files
of tile bytes, the very bytes in DRAM: the host program converts neither layout nor type, and a file can be
compared with the virtual device's. Every workload is built before the first one starts and lives until the
queue is finished; DRAM keeps what lies there from launch to launch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from tilelang_tt.arch import ARCHS, TILE
from tilelang_tt.codegen import host_assertions, host_lists, host_placement, host_schedule, host_settle, host_tensor
from tilelang_tt.codegen import host_support as support
from tilelang_tt.codegen.host_expression import needs_floor
from tilelang_tt.codegen.host_launch import workload_function
from tilelang_tt.codegen.host_names import Names, is_float, one_line, string
from tilelang_tt.formats import TILE_BYTES, element_bits, storage_note
from tilelang_tt.runtime.plan import Param, Plan, Size, TensorPlan
from tilelang_tt.runtime.unit_lists import list_tensors

_READ = ("read", "read_write")
_WRITTEN = ("write", "read_write")
_FILES = {
    "read": "{0}.bin, {1}: read",
    "write": "{0}.out.bin, {1}: written; {0}.bin may say what the tensor holds before (zeros otherwise)",
    "read_write": "{0}.bin, {1}: read; {0}.out.bin: written",
    "unused": "{0}: no file",
}


def host_program(plan: Plan) -> str:
    """The text of main.cpp for `plan`."""
    names, placed = Names.of(plan), host_placement.is_placed(plan)
    parts = [
        _header(plan),
        host_settle.includes(host_placement.includes(support.INCLUDES) if placed else support.INCLUDES, plan),
        _usage(names),
        support.COMMAND_LINE,
        _command_line(names),
        host_placement.tensor_support(host_tensor.TENSOR) if placed else host_tensor.TENSOR,
        host_tensor.COMPARISON,
        support.LAUNCH,
        *host_schedule.support(plan),
    ]
    several = host_schedule.several_ranges(plan)
    if any(cb.tensor is not None or cb.block is not None for launch in plan.launches for cb in launch.cbs):
        parts.append(host_placement.ON_SHARD)
    if any(launch.semaphores for launch in plan.launches):
        parts.append(support.SEMAPHORE)
    if any(cb.shares is not None for launch in plan.launches for cb in launch.cbs):
        parts.append(support.SECOND_VIEW)
    if any(needs_floor(size, names.size_values) for size in _sizes(plan)) or host_settle.needs_floor(plan, names):
        parts.append(support.FLOOR_DIV)
    if plan.assertions:
        parts.append(host_assertions.CHECK)
    parts += [_tensors(plan, names), *host_lists.support(plan, names)]
    parts += [
        workload_function(plan, launch, function, names, several=several)
        for launch, function in zip(plan.launches, names.launches, strict=True)
    ]
    text = "\n".join([*parts, _run(plan, names), support.MAIN])
    return (
        text.replace("const tt::tt_metal::CoreRange& cores", "const tt::tt_metal::CoreRangeSet& cores")
        if several
        else text
    )


def _sizes(plan: Plan) -> Iterator[Size]:
    """Every size the program computes."""
    for tensor in plan.tensors:
        yield from (tensor.batch, tensor.row_tiles, tensor.col_tiles, *_extents(plan, tensor))
    for launch in plan.launches:
        yield from (launch.units, *(launch.blocks or ()), *(size for one in launch.deliveries for size in one.extents))
        for kernel in launch.kernels:
            yield from (arg.size for arg in kernel.runtime_args if arg.size is not None)


def _extents(plan: Plan, tensor: TensorPlan) -> tuple[Size, Size]:
    """Rows and columns of a tensor, in elements; 1 where all of a tile's are the same. A flat one is a row of words."""
    if tensor.flat:
        return 1, _words(plan.params[tensor.param], tensor.format)
    shape = tensor.shape_of(plan.params[tensor.param].shape)
    return (
        1 if tensor.row_axis is None else shape[tensor.row_axis],
        1 if tensor.col_axis is None else shape[tensor.col_axis],
    )


def _words(param: Param, format: str) -> Size:
    """Words of this format in a flat tensor."""
    word, bits = 8 * TILE_BYTES[format] // TILE**2, element_bits(param.dtype)
    if all(isinstance(extent, int) for extent in param.shape):
        return -(-math.prod(int(extent) for extent in param.shape) * bits // word)
    elements = " * ".join(f"({extent})" for extent in param.shape)
    return f"{elements} * {bits // word}" if bits >= word else f"({elements} * {bits} + {word - 1}) // {word}"


def _header(plan: Plan) -> str:
    listing = "\n".join(
        "//   " + _FILES[plan.access(tensor)].format(one_line(tensor.name), _storage(plan, tensor))
        for tensor in plan.tensors
    )
    widths = sorted({fold.width for tensor in plan.tensors for fold in tensor.fold or ()}) or [TILE]
    folds = " or ".join(map(str, widths))
    return f"""\
// {one_line(plan.name)}: host program for {ARCHS[plan.arch].title}, generated by {one_line(plan.generator)}
//
// It carries out tt.plan.json. Kernels are looked for in the working directory; tensors are files in DIR
// (default: the working directory):
{listing}
//
// A file holds a tensor's tiles exactly as they lie in DRAM: 32x32 tiles of four 16x16 faces, tile (r, c) of
// batch entry b in page (b * row_tiles + r) * col_tiles + c, the last tile row and column padded with zeros.
// A tensor without an axis of rows (columns) has the same values in all 32 rows (columns) of a tile. An axis with a
// window in tt.plan.json lies in pieces, each in tiles of its own; one that is folded is two, rows of {folds} elements.
// tilelang_tt writes one with
//   pages = torch.zeros(number_of_pages, page_bytes, dtype=torch.uint8)
//   tilelang_tt.runtime.formats.encode(tensor, plan.tensor("NAME"), pages)
//   pages.numpy().tofile("NAME.bin")
// and reads one back with `decode` of the same module. Where DIR holds NAME.ref.bin, the result is compared
// with it: the largest absolute error must not exceed the tolerance (Float32, Float16_b), or the bytes must
// be equal (other formats). Exit status: 0, 1 when a result differs, 2 after an error.
"""


def _storage(plan: Plan, tensor: TensorPlan) -> str:
    """The format of the file, and what it stands for where that does not go without saying."""
    param = plan.params[tensor.param]
    if tensor.flat:
        return f"{param.dtype}, elements in row-major order"
    if tensor.table:
        return f"{one_line(param.name)} as 32-bit words in row-major order"
    text = f"{param.dtype} as {tensor.format}" if storage_note(param.dtype, tensor.format) else tensor.format
    text += ", a page for every row" if tensor.by_rows else ""
    text += f" in {tensor.tile[0]}x{tensor.tile[1]} tiles" if tensor.tile != (TILE, TILE) else ""
    return f"{text}, {one_line(param.name)} in another layout" if tensor.view else text


def _usage(names: Names) -> str:
    words = [f"{name}=..." for name in (*names.sizes, *names.scalar_fields)]
    limit = "\nconstexpr int64_t kMaxSize = std::numeric_limits<int32_t>::max();\n" if names.sizes else ""
    usage = " ".join(["main", "[DIR]", *words, "[--device=0]", "[--tolerance=0]"])
    return f"""\
constexpr const char* kUsage = {string(usage)};

// Exit status, beside EXIT_SUCCESS.
constexpr int kMismatch = 1, kError = 2;
{limit}"""


def _command_line(names: Names) -> str:
    fields = [f"    int64_t {field} = 0;\n" for field in names.sizes.values()]
    takes = [
        f"    line.args.{field} = take_integer(words, {string(name)}, 1, kMaxSize);\n"
        for name, field in names.sizes.items()
    ]
    for param in names.scalars:
        field = names.scalar_fields[param.name]
        fields.append(f"    {'float' if is_float(param) else 'int64_t'} {field} = 0;\n")
        takes.append(f"    line.args.{field} = {_take_scalar(param)};\n")
    struct = "// Sizes and scalars of the call.\nstruct KernelArguments {\n" + "".join(fields) + "};\n\n"
    return (struct if fields else "") + support.PARSE.format(
        args="    KernelArguments args;\n" if fields else "", takes="".join(takes)
    )


def _take_scalar(param: Param) -> str:
    name = string(param.name)
    if is_float(param):
        return f"static_cast<float>(take_number(words, {name}))"
    # A TileLang integer type is intN_t or uintN_t of C++; what int64_t cannot hold is out of reach.
    kind = "bool" if param.dtype == "bool" else f"{param.dtype}_t"
    low, high = f"std::numeric_limits<{kind}>::min()", f"std::numeric_limits<{kind}>::max()"
    if param.dtype == "uint64":
        high = "std::numeric_limits<int64_t>::max()"
    return f"take_integer(\n        words, {name}, {low}, {high})"


def _tensors(plan: Plan, names: Names) -> str:
    fields = "".join(f"    TileTensor {field};\n" for field in names.tensor_fields.values())
    values = "".join(_tensor(plan, tensor, names) for tensor in (*plan.tensors, *list_tensors(plan)))
    argument = "const KernelArguments& args" if names.has_arguments else ""
    return f"""\
struct Tensors {{
{fields}}};

Tensors describe_tensors({argument}) {{
    return {{
{values}    }};
}}
"""


def _tensor(plan: Plan, tensor: TensorPlan, names: Names) -> str:
    rows, cols = _extents(plan, tensor)
    return f"""\
        .{names.tensor_fields[tensor.name]} =
            {{.name = {string(tensor.name)},
             .format = tt::DataFormat::{tensor.format},
             .page_bytes = {tensor.page_bytes},
             .batch = {names.size(tensor.batch)},
             .row_tiles = {names.size(tensor.row_tiles)},
             .col_tiles = {names.size(tensor.col_tiles)},
             .rows = {names.size(rows)},
             .cols = {names.size(cols)}{_other_layout(tensor)}{host_placement.fields(tensor, names)}}},
"""


def _other_layout(tensor: TensorPlan) -> str:
    """Elements of a piece, and those it takes in its tiles, for axes that lie in pieces; other tiles, or none."""
    windows = (("row_window", tensor.row_window), ("col_window", tensor.col_window))
    rows = ",\n             .by_rows = true" if tensor.by_rows or tensor.flat else ""
    height, width = tensor.tile
    if (height, width) != (TILE, TILE):
        rows += f",\n             .tile_height = {height},\n             .tile_width = {width}"
    return rows + "".join(
        f",\n             .{field} = {{{window.step}, {-(-window.extent // TILE) * TILE}}}"
        for field, window in windows
        if window is not None
    )


def _run(plan: Plan, names: Names) -> str:
    by_access = [(plan.access(tensor), names.tensor(tensor.name)) for tensor in plan.tensors]
    used = [(access, tensor) for access, tensor in by_access if access != "unused"]
    written = [tensor for access, tensor in by_access if access in _WRITTEN]
    lists = [names.tensor(tensor.name) for tensor in list_tensors(plan)]
    args = "line.args" if names.has_arguments else ""
    build = ", ".join(filter(None, ["*mesh_device", "tensors", args]))
    return support.RUN.format(
        args=args,
        checks="".join(
            f"    check_files(line.directory, {name}, /*is_input=*/{str(access in _READ).lower()});\n"
            for access, name in used
        ),
        arch=plan.arch.upper(),
        title=ARCHS[plan.arch].title,
        grid_x=max(launch.grid[0] for launch in plan.launches),
        grid_y=max(launch.grid[1] for launch in plan.launches),
        allocations="".join(
            f"    allocate(*mesh_device, {name});\n" for name in (*(name for _, name in by_access), *lists)
        ),
        uploads="".join(f"    upload(cq, {name}, line.directory);\n" for _, name in used)
        + host_lists.uploads(plan, names),
        workloads="".join(f"    workloads.push_back({function}({build}));\n" for function in names.launches),
        downloads="".join(f"    pass &= download(cq, {name}, line.directory, line.tolerance);\n" for name in written),
        assertions=host_assertions.check_assertions(plan, names),
    )
