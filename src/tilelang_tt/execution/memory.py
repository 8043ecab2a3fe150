"""Which bytes of host memory a tensor covers, for the checks that a call cannot give a wrong answer."""

from __future__ import annotations

import torch


def share_memory(first: torch.Tensor, second: torch.Tensor) -> bool:
    """Whether some byte belongs to both tensors; exact, also for interleaved views."""
    if first.numel() == 0 or second.numel() == 0:
        return False
    start = min(first.data_ptr(), second.data_ptr())
    end = max(_end(first), _end(second))
    if _end(first) <= second.data_ptr() or _end(second) <= first.data_ptr():
        return False
    if first.is_contiguous() and second.is_contiguous():
        return True
    bytes_of_first = torch.zeros(end - start, dtype=torch.bool)
    _bytes(bytes_of_first, first, start).fill_(True)
    return bool(_bytes(bytes_of_first, second, start).any())


def overlaps_itself(tensor: torch.Tensor) -> bool:
    """Whether two elements may lie at one address, as in an expanded tensor."""
    axes = sorted((stride, size) for stride, size in zip(tensor.stride(), tensor.shape, strict=True) if size > 1)
    covered = 0  # elements spanned by the axes so far, less one
    for stride, size in axes:
        if stride <= covered:
            return True
        covered += stride * (size - 1)
    return False


def _end(tensor: torch.Tensor) -> int:
    last = sum(stride * (size - 1) for stride, size in zip(tensor.stride(), tensor.shape, strict=True))
    return tensor.data_ptr() + (last + 1) * tensor.element_size()


def _bytes(marks: torch.Tensor, tensor: torch.Tensor, start: int) -> torch.Tensor:
    """The view of `marks`, one mark per byte from address `start`, that `tensor` covers."""
    width = tensor.element_size()
    strides = [stride * width for stride in tensor.stride()]
    return marks.as_strided([*tensor.shape, width], [*strides, 1], tensor.data_ptr() - start)
