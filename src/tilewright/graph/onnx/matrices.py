"""Import matrix products with constant weights."""

from __future__ import annotations

import math

import numpy as np

from tilewright.graph.onnx.source import Refusal, Source


def gemm(source: Source) -> str:
    """alpha * A @ B + beta * C; the factors and the transposition of B go into the constants."""
    stored = source.constant(1, "weights")
    if len(source.shape()) != 2 or stored.ndim != 2:
        raise Refusal(f"a product of shapes {source.shape()} and {stored.shape}, not of matrices")
    alpha, beta = source.attribute("alpha", 1.0), source.attribute("beta", 1.0)
    B = _constant(source, 1, (stored.T if source.attribute("transB", 0) else stored) * alpha)
    given = source.value()
    transposed = source.attribute("transA", 0)
    A = source.node("transpose", given, perm=(1, 0), part="A") if transposed else given
    if not source.has(2) or beta == 0:
        return source.node("dense", A, B, bias=0, relu=0)
    C = _constant(source, 2, source.constant(2, "addend") * beta)
    return source.node("add", source.node("dense", A, B, part="product", bias=0, relu=0), C)


def matmul(source: Source) -> str:
    """A @ B, where A may have any number of axes before the last."""
    shape, weights = source.shape(), source.constant(1, "second factor")
    if len(shape) < 2 or weights.ndim != 2:
        raise Refusal(
            f"a product of shapes {shape} and {weights.shape}; the second must be a matrix"
        )
    A, B = source.value(), source.value(1)
    if len(shape) == 2:
        return source.node("dense", A, B, bias=0, relu=0)
    rows = source.node("reshape", A, shape=(math.prod(shape[:-1]), shape[-1]), part="rows")
    product = source.node("dense", rows, B, bias=0, relu=0, part="product")
    return source.node("reshape", product, shape=(*shape[:-1], weights.shape[1]))


def _constant(source: Source, index: int, array: np.ndarray) -> str:
    if array.dtype != np.float32:
        raise Refusal(f"its input {index} is of type {array.dtype}; only float32 is computed")
    return source.builder.constant(source.inputs[index], array)
