"""Import matrix products, and attention."""

from __future__ import annotations

import math

import numpy as np

from tilewright import dtypes
from tilewright.graph.torch.pointwise import Importer
from tilewright.graph.torch.source import Refusal, Source


def product(a: str, b: str, *, vector: bool = False) -> Importer:
    """Return the importer of a product of two arguments, the second a vector if that is said."""

    def imported(source: Source) -> str:
        left, right = source.value(a), source.value(b)
        if vector:
            right = source.reshaped(right, (*source.builder.shape(right), 1))
        made = source.node("matmul", left, right, transpose_a=0, transpose_b=0)
        return source.reshaped(made, source.results[0][0])

    return imported


def added(a: str, b: str) -> Importer:
    """Return the importer of beta * self + alpha * a @ b."""

    def imported(source: Source) -> str:
        left, right = source.value(a), source.value(b)
        made = source.node("matmul", left, right, transpose_a=0, transpose_b=0)
        made = _times(source, made, source.argument("alpha", 1))
        beta = source.argument("beta", 1)
        if beta == 0:
            return made
        return source.map("add", made, _times(source, source.value(), beta))

    return imported


def _times(source: Source, value: str, factor: float) -> str:
    if factor == 1:
        return value
    return source.map("mul", value, source.number(factor, source.builder.dtype(value), "factor"))


def linear(source: Source) -> str:
    made = source.node(
        "matmul", source.value("input"), source.value("weight"), transpose_a=0, transpose_b=1
    )
    return source.map("add", made, source.value("bias")) if source.has("bias") else made


def attention(source: Source) -> tuple[str]:
    """Import softmax(query @ key.T * scale + mask) @ value, the first result.

    Several heads of a query may share one of the keys: then they are rows of one product.
    """
    if source.argument("dropout_p", 0.0):
        raise Refusal("it drops some of its weights")
    query, key, value = (source.value(name) for name in ("query", "key", "value"))
    shape, dtype = source.shape("query"), source.dtype("query")
    factor = source.argument("scale")
    query = _times(source, query, 1 / math.sqrt(shape[-1]) if factor is None else factor)
    batch, heads, length, width = shape
    _, keys, count, _ = source.shape("key")
    rows = heads // keys * length
    query = source.reshaped(query, (batch, keys, rows, width))
    made = source.node("matmul", query, key, transpose_a=0, transpose_b=1)
    made = source.reshaped(made, (batch, heads, length, count))
    if source.has("attn_mask"):
        if source.dtype("attn_mask") != dtype:
            raise Refusal(f"its mask is {source.dtype('attn_mask')}")
        made = source.map("add", made, source.value("attn_mask"))
    if source.argument("is_causal", False):
        beyond = np.triu(np.full((length, count), -np.inf), 1).astype(dtypes.numpy(dtype))
        made = source.map("add", made, source.literal(beyond, "beyond"))
    if source.has("attn_mask"):  # rows that are masked as a whole give zeros
        made = source.node("masked_softmax", made)
    else:
        made = source.node("softmax", made, axis=len(shape) - 1, log=0)
    made = source.reshaped(made, (batch, keys, rows, count))
    made = source.node("matmul", made, value, transpose_a=0, transpose_b=0)
    return (source.reshaped(made, (batch, heads, length, source.shape("value")[-1])),)
