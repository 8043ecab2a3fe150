"""Print the C++ function that builds the workload of one launch.

plan   launch mm: 8x8 cores; cb0 A_shared 4 x 2048 B; reader(A_addr, unit_start, unit_count); ...
C++    mm_workload: create_cb(program, cores, tt::CBIndex::c_0, ...); ...
                    reader = CreateKernel(program, "reader.cpp", cores, ReaderDataMovementConfig(...)); ...
                    SetRuntimeArgs(program, reader, core, {tensors.A.address(), share.start, share.count});
"""

from __future__ import annotations

from tilelang_tt.codegen import host_settle
from tilelang_tt.codegen.host_names import Names, one_line, string
from tilelang_tt.codegen.host_schedule import cores_declared, cores_text, each_core, settled
from tilelang_tt.deliveries import word_for
from tilelang_tt.diagnostics import InternalError
from tilelang_tt.runtime.plan import CbPlan, CompileArg, KernelPlan, LaunchPlan, Plan, Role, RuntimeArg
from tilelang_tt.runtime.unit_lists import list_name

_DATA_MOVEMENT = {"reader": "ReaderDataMovementConfig", "writer": "WriterDataMovementConfig"}
_WORD_VALUES = 1 << 32
_ALIGNED = 60  # columns; the comment of a longer argument stands where it ends


def workload_function(plan: Plan, launch: LaunchPlan, function: str, names: Names, *, several: bool = False) -> str:
    """The function named `function`, which returns the workload of `launch`, one of the plan's.

    `several`: `cores` is a set of rectangles, as the functions that it is given to say.
    """
    parts = [
        _head(launch, function, names, several=several),
        settled(plan, launch, names),
        _circular_buffers(launch, names),
        _semaphores(launch),
        *(_kernel(launch, kernel, names) for kernel in launch.kernels),
        _runtime_args(launch, names),
        "    distributed::MeshWorkload workload;\n"
        "    const distributed::MeshCoordinateRange device_range(mesh_device.shape());\n"
        "    workload.add_program(device_range, std::move(program));\n"
        "    return workload;\n"
        "}\n",
    ]
    return "\n".join(part for part in parts if part)


def _head(launch: LaunchPlan, function: str, names: Names, *, several: bool) -> str:
    arguments = ["const distributed::MeshDevice& mesh_device", "const Tensors& tensors"]
    if names.has_arguments:
        arguments.append("const KernelArguments& args")
    return (
        f"// '{one_line(launch.name)}': {one_line(str(launch.units))} units of work on {cores_text(launch)}.\n"
        f"distributed::MeshWorkload {function}(\n    "
        + ",\n    ".join(arguments)
        + ") {\n"
        + cores_declared(launch, several=several)
        + "    Program program = CreateProgram();\n"
    )


def _circular_buffers(launch: LaunchPlan, names: Names) -> str:
    text = ""
    views = {cb.shares: cb.id for cb in launch.cbs if cb.shares is not None}
    for cb in launch.cbs:
        if cb.shares is not None:
            continue
        text += f"    // {one_line(cb.name)}: {cb.producer} to {cb.consumer}\n"
        if cb.tensor is not None:
            text += f"    {_on_shard(cb, str(cb.pages), cb.tensor, names)}\n"
            continue
        view = f", /*view=*/tt::CBIndex::c_{views[cb.id]}" if cb.id in views else ""
        own = (
            f"create_cb(program, cores, tt::CBIndex::c_{cb.id}, tt::DataFormat::{cb.format}, "
            f"/*pages=*/{cb.pages}, /*page_bytes=*/{cb.page_bytes}{view});\n"
        )
        if cb.block is None:
            text += f"    {own}"
            continue
        tensor = cb.block.tensor
        text += (
            f"    if ({host_settle.in_place(tensor, names)}) {{\n"
            f"        {_on_shard(cb, host_settle.pages(tensor, names), tensor, names)}\n"
            f"    }} else {{\n        {own}    }}\n"
        )
    return text


def _on_shard(cb: CbPlan, pages: str, tensor: str, names: Names) -> str:
    what = f"program, cores, tt::CBIndex::c_{cb.id}, tt::DataFormat::{cb.format}"
    size = f"/*pages=*/{pages}, /*page_bytes=*/{cb.page_bytes}"
    return f"create_cb_on_shard({what}, {size}, {names.tensor(tensor)});"


def _semaphores(launch: LaunchPlan) -> str:
    """tt-metal numbers semaphores from 0 in the order of creation; a plan with gaps cannot be carried out."""
    ordered = sorted(launch.semaphores, key=lambda item: item.id)
    if [item.id for item in ordered] != list(range(len(ordered))):
        raise InternalError("TT990", f"the semaphores of launch '{launch.name}' are not numbered from 0 on")
    return "".join(
        f"    create_semaphore(program, cores, /*id=*/{item.id}, /*initial=*/{item.initial});\n" for item in ordered
    )


def _kernel(launch: LaunchPlan, kernel: KernelPlan, names: Names) -> str:
    words = f"{kernel.role}_compile_args" if kernel.compile_time_args else ""
    text = f"    std::vector<uint32_t> {words};\n" if words else ""
    text += "".join(_compile_arg(words, arg, names) for arg in kernel.compile_time_args)
    if kernel.role == "compute":
        text += _unpack_modes(launch)
        config = _compute_config(launch, words)
    else:
        config = f"{_DATA_MOVEMENT[kernel.role]}({words})"
    handle = f"const KernelHandle {kernel.role} = " if kernel.runtime_args else ""
    lines = ["program", f"OVERRIDE_KERNEL_PREFIX {string(kernel.source)}", "cores", config]
    return text + f"    {handle}CreateKernel(\n        " + ",\n        ".join(lines) + ");\n"


def _compile_arg(words: str, arg: CompileArg, names: Names) -> str:
    if arg.accessor is not None:
        statement = f"TensorAccessorArgs(*{names.tensor(arg.accessor)}.buffer).append_to({words});"
    elif arg.value is not None:
        statement = f"{words}.push_back({arg.value % _WORD_VALUES});"
    else:
        raise InternalError("TT990", f"compile-time argument '{arg.name}' has no value in the plan")
    return f"    {statement}  // {one_line(arg.name)}\n"


def _unpack_modes(launch: LaunchPlan) -> str:
    chosen = [cb for cb in launch.cbs if cb.unpack_to_dest]
    if not chosen:
        return ""
    text = (
        "    // Float32 tiles that copy_tile takes to DST with all their bits.\n"
        "    using ToDest = tt::tt_metal::UnpackToDestMode;\n"
        "    std::vector<ToDest> unpack_modes(NUM_CIRCULAR_BUFFERS, ToDest::Default);\n"
    )
    for cb in chosen:
        index, comment = f"tt::CBIndex::c_{cb.id}", f"  // {one_line(cb.name)}"
        text += f"    unpack_modes[{index}] = ToDest::UnpackToDestFp32;{comment}\n"
    return text


def _compute_config(launch: LaunchPlan, words: str) -> str:
    config = launch.compute_config
    fields = [
        f".math_fidelity = tt::tt_metal::MathFidelity::{config.math_fidelity}",
        f".fp32_dest_acc_en = {_bool(config.fp32_dest_acc_en)}",
        f".dst_full_sync_en = {_bool(config.dst_full_sync_en)}",
        ".unpack_to_dest_mode = unpack_modes" if any(cb.unpack_to_dest for cb in launch.cbs) else "",
        f".math_approx_mode = {_bool(config.math_approx_mode)}",
        f".compile_args = {words}" if words else "",
    ]
    return "ComputeConfig{\n            " + ",\n            ".join(field for field in fields if field) + "}"


def _runtime_args(launch: LaunchPlan, names: Names) -> str:
    kernels = [kernel for kernel in launch.kernels if kernel.runtime_args]
    if not kernels:
        return ""
    shares = any(arg.work for kernel in kernels for arg in kernel.runtime_args)
    before, behind, indent = each_core(launch, names, shares=shares)
    return before + "".join(_set_runtime_args(launch, kernel, names, indent) for kernel in kernels) + behind


def _set_runtime_args(launch: LaunchPlan, kernel: KernelPlan, names: Names, indent: str) -> str:
    listed = kernel.runtime_args[-1].work == "units"  # so many words that they are put behind the others
    args = kernel.runtime_args[:-1] if listed else kernel.runtime_args
    words = f"{kernel.role}_args"
    values = [_runtime_arg(launch, arg, names, kernel.role) for arg in args]
    separated = [f"{value}," for value in values[:-1]] + [f"{values[-1]}}}{';' if listed else ');'}"]
    width = max((len(text) for text in separated if len(text) <= _ALIGNED), default=0)
    lines = "".join(
        f"{indent}    {'{' if index == 0 else ' '}{value.ljust(width)}  // {one_line(arg.name)}\n"
        for index, (value, arg) in enumerate(zip(separated, args, strict=True))
    )
    if listed:
        units = "unit_lists[number]"
        return (
            f"{indent}std::vector<uint32_t> {words} =\n{lines}"
            f"{indent}{words}.insert({words}.end(), {units}.begin(), {units}.end());\n"
            f"{indent}SetRuntimeArgs(program, {kernel.role}, core, {words});\n"
        )
    head = "".join(f"{indent}    {what},\n" for what in ("program", kernel.role, "core"))
    return f"{indent}SetRuntimeArgs(\n{head}{lines}"


def _runtime_arg(launch: LaunchPlan, arg: RuntimeArg, names: Names, role: Role) -> str:
    if arg.work == "units_address":
        return f"{names.tensor(list_name(launch))}.address()"
    if arg.address is not None:
        return f"{names.tensor(arg.address)}.address()"
    if arg.work is not None:
        return f"share.{arg.work}"
    if arg.size is not None:
        return f"word({names.size(arg.size)})"
    if arg.scalar is not None:
        return names.scalar_bits(arg.scalar)
    if arg.delivery is not None and arg.word is not None:
        word = word_for(arg.word, role) if arg.turn is None else f"owners[{arg.turn}]"
        return f"{arg.delivery}_delivery[number].{word}"
    if (told := host_settle.told(launch, arg, names)) is not None:
        return told
    raise InternalError("TT990", f"runtime argument '{arg.name}' has no value in the plan")


def _bool(value: bool) -> str:
    return "true" if value else "false"
