"""Import matrix products."""

from __future__ import annotations

from tilewright import dtypes
from tilewright.graph.onnx.source import Refusal, Source
from tilewright.ops.program import Draft, Program


def gemm(source: Source) -> str:
    """alpha * A @ B + beta * C, with either factor transposed."""
    shapes = source.shape(), source.shape(1)
    if any(len(shape) != 2 for shape in shapes):
        raise Refusal(f"a product of shapes {shapes[0]} and {shapes[1]}, not of matrices")
    A, B = (
        source.node("transpose", source.value(i), perm=(1, 0), part="AB"[i])
        if source.attribute(name, 0)
        else source.value(i)
        for i, name in enumerate(("transA", "transB"))
    )
    alpha, beta = source.attribute("alpha", 1.0), source.attribute("beta", 1.0)
    added = source.has(2) and beta != 0.0
    product = source.node(
        "matmul", A, B, transpose_a=0, transpose_b=0,
        part="product" if added or alpha != 1.0 else "",
    )  # fmt: skip
    if not added:
        return product if alpha == 1.0 else source.map(_times(alpha, source.dtype()), product)
    addend = source.value(2)
    if beta != 1.0 and source.known(2) is not None:
        addend, beta = source.map(_times(beta, source.dtype(2)), addend, part="addend"), 1.0
    draft = Draft(2)
    draft("add", _scaled(draft, 0, alpha, source.dtype()), _scaled(draft, 1, beta, source.dtype(2)))
    return source.map(draft.program, product, addend)


def matmul(source: Source) -> str:
    """A @ B as NumPy has it: a vector is a row on the left and a column on the right."""
    a, b = source.shape(), source.shape(1)
    if not a or not b:
        raise Refusal(f"a product of shapes {a} and {b}; neither may be a single number")
    left, right = source.value(), source.value(1)
    if len(a) == 1:
        left = source.reshaped(left, (1, *a), part="A")
    if len(b) == 1:
        right = source.reshaped(right, (*b, 1), part="B")
    part = "product" if 1 in (len(a), len(b)) else ""
    product = source.node("matmul", left, right, transpose_a=0, transpose_b=0, part=part)
    if not part:
        return product
    shape = source.builder.shape(product)
    shape = shape[: len(shape) - 2] + shape[-2:-1] * (len(a) > 1) + shape[-1:] * (len(b) > 1)
    return source.node("reshape", product, shape=shape)


def _times(factor: float, dtype: str) -> Program:
    draft = Draft(1)
    _scaled(draft, 0, factor, dtype)
    return draft.program


def _scaled(draft: Draft, value: int, factor: float, dtype: str) -> int:
    """Multiply by a number; integers by a fraction in float64."""
    if factor == 1.0:
        return value
    if not dtypes.is_integer(dtype):
        return draft("mul", value, draft.constant(factor, dtype))
    if factor.is_integer():
        return draft("mul", value, draft.constant(int(factor), dtype))
    wide = draft("cast", value, parameters=("float64",))
    wide = draft("mul", wide, draft.constant(factor, "float64"))
    return draft("cast", wide, parameters=(dtype,))
