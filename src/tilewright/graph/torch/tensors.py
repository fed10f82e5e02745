"""PyTorch's tensors and NumPy's arrays on the same memory, in the types that both know."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from tilewright import dtypes

Array = np.ndarray[Any, Any]

DTYPES = {
    torch.float32: "float32",
    torch.float64: "float64",
    torch.float16: "float16",
    torch.bfloat16: "bfloat16",
    torch.int8: "int8",
    torch.uint8: "uint8",
    torch.int16: "int16",
    torch.uint16: "uint16",
    torch.int32: "int32",
    torch.uint32: "uint32",
    torch.int64: "int64",
    torch.uint64: "uint64",
    torch.bool: "bool",
}


def array_of(tensor: torch.Tensor) -> Array:
    """Return a tensor in the CPU's memory as an array, which shares that memory.

    DLPack would lend it for reading only, and NumPy takes no bfloat16 from it.
    """
    tensor = tensor.detach().resolve_conj().resolve_neg()
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(dtypes.numpy("bfloat16"))
    return tensor.numpy()


def tensor_of(array: Array) -> torch.Tensor:
    """Return an array as a tensor, which shares its memory."""
    if array.dtype == dtypes.numpy("bfloat16"):
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)
