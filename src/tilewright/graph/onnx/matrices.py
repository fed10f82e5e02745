"""Import matrix products."""

from __future__ import annotations

from tilewright.graph.onnx.source import Refusal, Source
from tilewright.ops.program import Program, Step


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
    scaled, added = alpha != 1.0, source.has(2) and beta != 0.0
    last = "scaled" if scaled else "product"
    product = source.node(
        "matmul", A, B, transpose_a=0, transpose_b=0, part="product" if scaled or added else ""
    )
    if scaled:
        product = source.map(_times(alpha, source.dtype()), product, part=last if added else "")
    if not added:
        return product
    addend = source.value(2)
    if beta != 1.0:
        addend = source.map(_times(beta, source.dtype(2)), addend, part="addend")
    return source.map("add", product, addend)


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
    return Program(1, (Step("constant", (), (factor, dtype)), Step("mul", (0, 1))))
