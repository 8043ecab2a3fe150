"""What a call refuses, by exact text, and what it accepts although it is unusual."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch

from tilelang_tt.diagnostics import ArgumentError
from tilelang_tt.execution.call import Signature
from tilelang_tt.runtime.plan import LaunchPlan, Param, Plan, TensorPlan

BF16 = torch.bfloat16


def signature(params: Sequence[Param], *, sizes: tuple[str, ...] = (), outputs: Sequence[int] = ()) -> Signature:
    """A kernel 'mm' of these parameters; tensors of the plan follow from them."""
    tensors = tuple(
        TensorPlan(param.name, index, "Float16_b", 2048, 0, 1, 1, 1, 1)
        for index, param in enumerate(params)
        if param.kind == "tensor" and param.access != "unused"
    )
    plan = Plan("mm", "wormhole_b0", "0.77", "fast", "virtual", sizes, tuple(params), tensors, (), "test")
    dtypes = [getattr(torch, param.dtype) for param in params]
    return Signature(plan, dtypes, outputs)


def tensor(name: str, shape: tuple[int | str, ...], access: Any = "read", dtype: str = "bfloat16") -> Param:
    return Param(name, "tensor", dtype, shape, access)


def gemm(*, returned: bool = True) -> Signature:
    """Static 4x8x6 GEMM."""
    params = [tensor("A", (4, 8)), tensor("B", (8, 6)), tensor("C", (4, 6), "write")]
    return signature(params, outputs=[2] if returned else [])


def dynamic_gemm(*, returned: bool = True) -> Signature:
    params = [tensor("A", ("m", "k")), tensor("B", ("k", "n")), tensor("C", ("m", "n"), "write")]
    return signature(params, sizes=("m", "n", "k"), outputs=[2] if returned else [])


def matrix(*shape: int, dtype: torch.dtype = BF16) -> torch.Tensor:
    return torch.randn(*shape).to(dtype)


def refusal(kernel: Signature, *args: Any) -> str:
    with pytest.raises(ArgumentError) as caught:
        kernel.bind(args)
    return str(caught.value)


A, B = matrix(4, 8), matrix(8, 6)


def test_too_few_arguments() -> None:
    assert refusal(gemm(returned=False), A, B) == ("error[TT301]: kernel 'mm' takes 3 arguments (A, B, C), 2 given")


def test_output_passed_although_returned() -> None:
    assert refusal(gemm(), A, B, matrix(4, 6)) == (
        "error[TT301]: kernel 'mm' takes 2 arguments (A, B), 3 given\n"
        "  help: do not pass C: the call allocates and returns it"
    )


def test_not_a_tensor() -> None:
    assert refusal(gemm(), A, B.tolist()) == (
        "error[TT302]: argument 2 ('B') of kernel 'mm' is a list; the kernel takes a torch.Tensor\n"
        "  help: pass torch.as_tensor(B), with dtype torch.bfloat16"
    )


def test_arguments_by_name() -> None:
    with pytest.raises(ArgumentError) as caught:
        gemm().refuse_names(("A", "B"))
    assert str(caught.value) == (
        "error[TT301]: kernel 'mm' takes its arguments by position; given by name: A, B\n  help: kernel(A, B)"
    )


def test_sparse_tensor() -> None:
    assert refusal(gemm(), A.float().to_sparse(), B) == (
        "error[TT302]: argument 1 ('A') of kernel 'mm' has layout torch.sparse_coo; "
        "the kernel takes dense tensors\n"
        "  help: pass its to_dense()"
    )


def test_dtype() -> None:
    assert refusal(gemm(), A, B.float()) == (
        "error[TT303]: argument 2 ('B') of kernel 'mm' has dtype torch.float32; "
        "the kernel takes torch.bfloat16\n"
        "  help: pass B.to(torch.bfloat16), or compile the kernel for this dtype"
    )


def test_rank() -> None:
    assert refusal(gemm(), A[None], B) == (
        "error[TT304]: argument 1 ('A') of kernel 'mm' has 3 dimensions; the kernel takes (4, 8)\n"
        "  help: reshape or index A, so that it has 2"
    )


def test_static_shape() -> None:
    assert refusal(gemm(), matrix(4, 9), B) == (
        "error[TT305]: argument 1 ('A') of kernel 'mm' has shape (4, 9); the kernel takes (4, 8)\n"
        "  help: compile the kernel for this shape; a size of T.dynamic is one that calls decide"
    )


def test_shape_given_by_an_expression() -> None:
    kernel = signature([tensor("A", ("m",)), tensor("B", ("2 * m + 1",), "write")], sizes=("m",))
    assert refusal(kernel, matrix(5), matrix(10)) == (
        "error[TT305]: argument 2 ('B') of kernel 'mm' has shape (10,); the kernel takes (2 * m + 1,)\n"
        "  help: compile the kernel for this shape; a size of T.dynamic is one that calls decide"
    )
    assert kernel.bind([matrix(5), matrix(11)]).sizes == {"m": 5}


def test_symbolic_sizes_disagree() -> None:
    assert refusal(dynamic_gemm(), matrix(4, 8), matrix(7, 6)) == (
        "error[TT306]: size 'k' of kernel 'mm' is 7 in axis 0 of 'B', but 8 in an argument before it"
    )


def test_tensor_elsewhere() -> None:
    assert refusal(gemm(), A.to("meta"), B) == (
        "error[TT307]: argument 1 ('A') of kernel 'mm' is on device 'meta'; "
        "kernels take tensors on the host\n"
        "  help: pass A.cpu(); the launcher moves it to the Tenstorrent device"
    )


def test_output_is_also_an_input() -> None:
    square = signature([tensor("A", (4, 4)), tensor("C", (4, 4), "write")])
    same = matrix(4, 4)
    assert refusal(square, same, same) == (
        "error[TT308]: argument 2 ('C') of kernel 'mm' is written, but shares memory with 'A'\n  help: pass A.clone()"
    )


def test_output_overlaps_an_input_in_part() -> None:
    square = signature([tensor("A", (4, 4)), tensor("C", (4, 4), "write")])
    base = matrix(6, 4)
    assert "shares memory with 'A'" in refusal(square, base[:4], base[2:])


def test_output_beside_an_input_in_one_allocation() -> None:
    """Interleaved columns: address ranges overlap, elements do not."""
    square = signature([tensor("A", (4, 4)), tensor("C", (4, 4), "write")])
    base = matrix(4, 8)
    bound = square.bind([base[:, ::2], base[:, 1::2]])
    assert len(bound.write_back) == 1


def test_two_inputs_may_be_one_tensor() -> None:
    kernel = signature([tensor("A", (4, 4)), tensor("B", (4, 4)), tensor("C", (4, 4), "write")], outputs=[2])
    same = matrix(4, 4)
    assert kernel.bind([same, same]).has_work


def test_expanded_output() -> None:
    assert refusal(gemm(returned=False), A, B, matrix(1, 6).expand(4, 6)) == (
        "error[TT308]: argument 3 ('C') of kernel 'mm' is written, but some of its elements share memory\n"
        "  help: pass C.contiguous() and copy the result"
    )


def test_size_of_an_output_that_no_input_has() -> None:
    kernel = signature([tensor("A", ("m",)), tensor("C", ("n",), "write")], sizes=("m", "n"), outputs=[1])
    assert refusal(kernel, matrix(5)) == (
        "error[TT309]: size 'n' of 'C' does not follow from the arguments of kernel 'mm'\n"
        "  help: let an input have an axis of size 'n', or pass 'C' yourself"
    )


def test_size_that_follows_from_an_expression() -> None:
    shapes = [("n * 3 + 1",), ("m * n", "n"), ("k - m",)]
    kernel = signature([tensor(name, shape) for name, shape in zip("ABC", shapes, strict=True)], sizes=("k", "m", "n"))
    assert kernel.bind([matrix(16), matrix(10, 5), matrix(3)]).sizes == {"n": 5, "m": 2, "k": 5}


def test_no_size_gives_such_an_axis() -> None:
    kernel = signature([tensor("A", ("n * 4",))], sizes=("n",))
    assert refusal(kernel, matrix(15)) == (
        "error[TT305]: argument 1 ('A') of kernel 'mm' has shape (15,); the kernel takes (n * 4,)\n"
        "  help: compile the kernel for this shape; a size of T.dynamic is one that calls decide"
    )


def test_axis_that_several_sizes_would_give() -> None:
    kernel = signature([tensor("A", ("n // 4",))], sizes=("n",))
    assert refusal(kernel, matrix(4)) == (
        "error[TT309]: size 'n' of 'A' does not follow from the arguments of kernel 'mm'\n"
        "  help: let an input have an axis of size 'n', or pass 'A' yourself"
    )


def test_written_tensor_requires_a_gradient() -> None:
    out = matrix(4, 6).requires_grad_()
    assert refusal(gemm(returned=False), A, B, out) == (
        "error[TT310]: argument 3 ('C') of kernel 'mm' is written, but requires a gradient that would not be "
        "recorded\n"
        "  help: pass C.detach(), or call the kernel under torch.no_grad()"
    )
    with torch.no_grad():
        assert gemm(returned=False).bind([A, B, out]).has_work


def test_input_that_requires_a_gradient_is_read() -> None:
    bound = gemm().bind([A.clone().requires_grad_(), B])
    assert not bound.tensors["A"].requires_grad
    assert not bound.results[0].requires_grad


def test_empty_reduction() -> None:
    assert refusal(dynamic_gemm(), matrix(4, 0), matrix(0, 6)) == (
        "error[TT311]: 'A' of kernel 'mm' is empty, with shape (4, 0), but the result is not\n"
        "  help: treat this shape before the call; a product over no elements is zeros"
    )


def test_grid_without_blocks() -> None:
    """Nobody would write the result, and its memory holds anything."""
    kernel = signature([tensor("A", ("m",)), tensor("C", ("m",), "write")], sizes=("m",), outputs=[1])
    kernel.plan = replace(kernel.plan, launches=(LaunchPlan("mm", (1, 1), "m // 32", "contiguous", (), ()),))
    assert refusal(kernel, matrix(5)) == (
        "error[TT311]: launch 'mm' of kernel 'mm' has no blocks where m = 5, but the result is not empty\n"
        "  help: treat this shape before the call, or round the number of blocks up: T.ceildiv"
    )
    assert kernel.bind([matrix(64)]).has_work
    assert not kernel.bind([matrix(0)]).has_work


@pytest.mark.parametrize("shape", [(0, 6), (4, 0), (0, 0)])
def test_empty_result_is_no_work(shape: tuple[int, int]) -> None:
    bound = dynamic_gemm().bind([matrix(shape[0], 8), matrix(8, shape[1])])
    assert not bound.has_work
    assert bound.results[0].shape == shape


def test_unused_parameter_may_be_empty() -> None:
    kernel = signature(
        [tensor("A", ("m",)), tensor("X", ("x",), "unused"), tensor("C", ("m",), "write")],
        sizes=("m", "x"),
        outputs=[2],
    )
    assert kernel.bind([matrix(5), matrix(0)]).has_work


def scalar_kernel(dtype: str) -> Signature:
    return signature([tensor("A", (4,)), Param("s", "scalar", dtype), tensor("C", (4,), "write")], outputs=[2])


@pytest.mark.parametrize(
    ("dtype", "value", "expected"),
    [
        ("int32", 7, 7),
        ("int32", True, 1),
        ("int32", torch.tensor(-3), -3),
        ("float32", 2, 2.0),
        ("float32", torch.tensor(0.5), 0.5),
    ],
)
def test_scalar(dtype: str, value: Any, expected: float) -> None:
    assert scalar_kernel(dtype).bind([matrix(4), value]).scalars == {"s": expected}


@pytest.mark.parametrize(
    ("dtype", "value", "message"),
    [
        ("int32", 0.5, "error[TT302]: argument 2 ('s') of kernel 'mm' is a float; the kernel takes int32"),
        ("int32", "7", "error[TT302]: argument 2 ('s') of kernel 'mm' is a str; the kernel takes int32"),
        (
            "float32",
            None,
            "error[TT302]: argument 2 ('s') of kernel 'mm' is a NoneType; the kernel takes float32",
        ),
        (
            "int32",
            2**31,
            "error[TT312]: argument 2 ('s') of kernel 'mm' is 2147483648, which int32 cannot hold",
        ),
        ("uint8", -1, "error[TT312]: argument 2 ('s') of kernel 'mm' is -1, which uint8 cannot hold"),
    ],
)
def test_wrong_scalar(dtype: str, value: Any, message: str) -> None:
    assert refusal(scalar_kernel(dtype), matrix(4), value) == message


def test_scalar_that_is_also_a_size() -> None:
    kernel = signature([Param("m", "scalar", "int32"), tensor("A", ("m",), "write")], sizes=("m",))
    assert refusal(kernel, 4, matrix(5)) == (
        "error[TT306]: size 'm' of kernel 'mm' is 5 in axis 0 of 'A', but 4 in an argument before it"
    )


def test_non_contiguous_input_is_copied() -> None:
    bound = gemm().bind([matrix(8, 4).T, B])
    assert bound.tensors["A"].is_contiguous()
    assert bound.write_back == ()


def test_contiguous_tensors_are_not_copied() -> None:
    out = matrix(4, 6)
    bound = gemm(returned=False).bind([A, B, out])
    assert bound.tensors["A"].data_ptr() == A.data_ptr()
    assert bound.tensors["C"].data_ptr() == out.data_ptr()
    assert bound.write_back == ()


def test_non_contiguous_output_keeps_what_the_kernel_leaves() -> None:
    theirs = matrix(6, 4).T
    before = theirs.clone()
    bound = gemm(returned=False).bind([A, B, theirs])
    bound.tensors["C"][0] = 1.0  # what a kernel writes
    bound.finish()
    assert torch.equal(theirs[0], torch.ones(6, dtype=BF16))
    assert torch.equal(theirs[1:], before[1:])


def test_lazily_negated_input_is_resolved() -> None:
    kernel = signature([tensor("A", (4,), dtype="float32"), tensor("C", (4,), "write", "float32")], outputs=[1])
    negated = torch.randn(4, dtype=torch.complex64).conj().imag
    assert negated.is_neg()
    bound = kernel.bind([negated])
    assert not bound.tensors["A"].is_neg()
    assert torch.equal(bound.tensors["A"], negated)


@pytest.mark.parametrize(
    ("dtype", "good", "bad"),
    [
        ("int64", (-7, 2**31 - 1, -(2**31)), (2**31, -(2**31) - 1, 2**62)),
        ("uint64", (0, 2**32 - 1), (2**32, 2**64 - 1)),
        ("float64", (0.5, -0.0, float("inf"), 2.0**-149), (0.1, 1e300, 16777217.0)),
    ],
)
def test_numbers_of_64_bits_that_32_hold(dtype: str, good: Any, bad: Any) -> None:
    """A kernel gets the numbers of a call in words: what does not fit is refused, not cut."""
    for number in good:
        assert scalar_kernel(dtype).bind([matrix(4), number]).scalars == {"s": number}
    for number in bad:
        assert refusal(scalar_kernel(dtype), matrix(4), number) == (
            f"error[TT316]: argument 2 ('s') of kernel 'mm' is {number}; kernels get the numbers of a call in 32 "
            f"bits, which cannot hold it\n  help: pass it as a tensor of one element of {dtype}"
        )
