"""Import attention: two products, with scaling, masks and softmax done where they are made."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import onnx

from tilewright import dtypes
from tilewright.graph.ir import Shape
from tilewright.graph.onnx.source import Refusal, Source
from tilewright.ops.program import Draft, Program

# What the fourth output may hold.
SCORES, CAPPED, MASKED, SHARES = range(4)


@dataclass(frozen=True)
class _Heads:
    """How queries, keys and values are divided: `each` heads of queries share one of keys."""

    batch: int
    keys: int
    each: int
    queries_long: int
    keys_long: int

    def split(self, shape: Shape) -> Shape:
        """Return a shape of rank 4 in which heads that share keys have an axis of their own."""
        if self.each == 1:
            return shape
        batch, heads, *rest = shape
        return (batch, 1, 1, *rest) if heads == 1 else (batch, heads // self.each, self.each, *rest)


@dataclass(frozen=True)
class _Masks:
    """What scores are restricted by: named values, which hold or are added; None of them at all."""

    holding: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    empty_rows: bool = False  # whether a row may be masked as a whole; its shares are then zero


def attention(source: Source) -> tuple[str, ...]:
    """softmax(scale * Q @ K' + masks) @ V, of heads; keys and values may have a past."""
    queries, keys, values = (_in_heads(source, i) for i in range(3))
    if source.has(4) != source.has(5):
        raise Refusal("of a past key and a past value it has only one")
    if source.has(4):
        keys = source.node("concat", source.value(4), keys, axis=2, part="keys")
        values = source.node("concat", source.value(5), values, axis=2, part="values")
    build, dtype = source.builder, source.dtype()
    batch, heads, rows, depth = build.shape(queries)
    _, shared, columns, _ = build.shape(keys)
    if heads % shared:
        raise Refusal(f"its {heads} heads of queries cannot share {shared} heads of keys")
    of = _Heads(batch, shared, heads // shared, rows, columns)
    masks = _masks(source, of)
    scale = source.attribute("scale", 1.0 / math.sqrt(depth))
    short = dtype in dtypes.SHORT_FLOATS
    if short:  # products of what is not scaled might be infinite
        queries = source.map(_times(scale, dtype), queries, part="scaled")
    left = source.reshaped(queries, _shared(build.shape(queries), of), "left")
    right = source.reshaped(keys, _repeated(build.shape(keys), of), "right")
    scores = source.node("matmul", left, right, transpose_a=0, transpose_b=1, part="product")
    if not short:
        scores = source.map(_times(scale, dtype), scores, part="scores")
    stages = {SCORES: scores}
    if cap := source.attribute("softcap", 0.0):
        scores = source.map(_capped(cap, dtype), scores, part="capped")
    stages[CAPPED] = scores
    for name in masks.added:
        scores = source.map("add", scores, name, part="biased")
    for name in masks.holding:
        scores = source.map(_where(-math.inf, dtype), name, scores, part="masked")
    stages[MASKED] = scores
    shares = stages[SHARES] = _shares(source, scores, masks)
    right = source.reshaped(values, _repeated(build.shape(values), of), "shared")
    if build.dtype(right) != dtype:
        right = source.map(Program.of("cast", 1, dtype), right, part="of_type")
    made = source.node("matmul", shares, right, transpose_a=0, transpose_b=0, part="heads")
    made = _out_of_heads(source, made, (batch, heads, rows, build.shape(values)[-1]))
    asked = source.attribute("qk_matmul_output_mode", SCORES)
    if asked not in stages:
        raise Refusal(f"its qk_matmul_output_mode is {asked}, which is none of 0 to 3")
    whole = (batch, heads, rows, columns)
    last = [source.reshaped(stages[asked], whole, "qk")] if any(source.outputs[3:]) else []
    return (made, keys, values, *last)


def _in_heads(source: Source, index: int) -> str:
    """Return Q, K or V as (batch, heads, length, depth)."""
    shape, value = source.shape(index), source.value(index)
    if len(shape) == 4:
        return value
    heads = source.attribute("kv_num_heads" if index else "q_num_heads", 0)
    if len(shape) != 3 or heads < 1 or shape[2] % heads:
        raise Refusal(f"its {'QKV'[index]} of shape {shape} is not of {heads} heads")
    split = source.reshaped(value, (*shape[:2], heads, shape[2] // heads), f"{'QKV'[index]}.heads")
    return source.node("transpose", split, perm=(0, 2, 1, 3), part="QKV"[index])


def _out_of_heads(source: Source, value: str, shape: Shape) -> str:
    if len(source.shape()) == 4:
        return source.reshaped(value, shape)
    value = source.reshaped(value, shape, "of_heads")
    turned = source.node("transpose", value, perm=(0, 2, 1, 3), part="turned")
    batch, heads, rows, depth = shape
    return source.node("reshape", turned, shape=(batch, rows, heads * depth))


def _shared(shape: Shape, of: _Heads) -> Shape:
    return shape if of.each == 1 else (of.batch, of.keys, of.each, *shape[2:])


def _repeated(shape: Shape, of: _Heads) -> Shape:
    return shape if of.each == 1 else (*shape[:2], 1, *shape[2:])


def _shares(source: Source, scores: str, masks: _Masks) -> str:
    """Return the softmax of scores; those of what is masked are zero."""
    dtype, rank = source.dtype(), len(source.builder.shape(scores))
    inner = dtype
    if number := source.attribute("softmax_precision", 0):
        inner = str(onnx.helper.tensor_dtype_to_np_dtype(number))
    if inner == "float32" and dtype in dtypes.SHORT_FLOATS:
        inner = dtype  # they are computed in float32 anyhow
    if inner != dtype:
        scores = source.map(Program.of("cast", 1, inner), scores, part="precise")
    if masks.empty_rows:
        made = source.node("masked_softmax", scores, part="shares")
    else:
        made = source.node("softmax", scores, axis=rank - 1, log=0, part="shares")
    if inner != dtype:
        made = source.map(Program.of("cast", 1, dtype), made, part="rounded")
    return made


def _masks(source: Source, of: _Heads) -> _Masks:
    """Return what restricts scores; all that is constant is one mask."""
    dtype = dtypes.numpy(source.dtype())
    count = source.known(6) if source.has(6) else None
    fixed = not source.has(6) or count is not None
    allowed: np.ndarray | None = _window(source, of, count) if fixed else None
    holding, added = list[str](), list[str]()
    if not fixed:
        holding.append(_computed_window(source, of))
    if source.has(3):
        known = source.known(3)
        if known is None:
            name = _whole_mask(source, of)
            (holding if source.dtype(3) == "bool" else added).append(name)
        else:
            fill = False if known.dtype == bool else -np.inf
            missing = of.keys_long - known.shape[-1]
            wide = [(0, 0)] * (known.ndim - 1) + [(0, missing)]
            known = known if fill is False else known.astype(dtype)
            known = np.pad(known, wide, constant_values=fill)
            if known.dtype == bool:
                allowed = known if allowed is None else allowed & known
            else:
                bias = known if allowed is None else np.where(allowed, known, dtype.type(-np.inf))
                allowed = None
                added.append(_put(source, bias, "bias", of))
    if allowed is not None and not allowed.all():
        holding.append(_put(source, allowed, "allowed", of))
    empty = not fixed or (source.has(3) and source.known(3) is None)
    for name in (*added, *holding):
        array = source.builder.constants.get(name)
        if array is not None:
            gone = ~array if array.dtype == bool else np.isneginf(array.astype(np.float64))
            empty = empty or bool(gone.all(-1).any())
    return _Masks(tuple(holding), tuple(added), empty)


def _put(source: Source, array: np.ndarray, name: str, of: _Heads) -> str:
    full = array.reshape((1,) * (4 - array.ndim) + array.shape)
    return source.literal(full.reshape(of.split(full.shape)), name)


def _bounds(source: Source) -> tuple[int, int]:
    """Return how many keys before its own and behind it a query sees; below zero all."""
    left, right = (source.attribute(f"{side}_window_size", -1) for side in ("left", "right"))
    return left, 0 if source.attribute("is_causal", 0) else right


def _window(source: Source, of: _Heads, count: np.ndarray | None) -> np.ndarray | None:
    """Return which keys each query sees, if that is constant; None if it sees all."""
    left, right = _bounds(source)
    if left < 0 and right < 0 and count is None:
        return None
    rows, columns = np.arange(of.queries_long)[:, None], np.arange(of.keys_long)
    made = np.ones((of.queries_long, of.keys_long), bool)
    offset: np.ndarray = np.asarray(source.shape(4)[2] if source.has(4) else 0)
    if count is not None:
        valid = count.reshape(-1, 1, 1, 1)
        made = made & (columns < valid)
        offset = offset if source.has(4) else valid - of.queries_long
    made = made & (columns >= rows + offset - left) if left >= 0 else made
    return made & (columns <= rows + offset + right) if right >= 0 else made


def _computed_window(source: Source, of: _Heads) -> str:
    """Return which keys each query sees, where how many are valid is computed."""
    left, right = _bounds(source)
    valid = source.reshaped(source.value(6), (math.prod(source.shape(6)), 1, 1, 1), "valid")
    columns = source.literal(np.arange(of.keys_long, dtype=source.dtype(6)), "columns")
    past = source.shape(4)[2] if source.has(4) else 0
    at = np.arange(of.queries_long, dtype=source.dtype(6))[:, None]
    rows = source.literal(at + past if source.has(4) else at - of.queries_long, "rows")
    draft = Draft(3)  # how many are valid, the key's number, and the query's without these
    place = 2 if source.has(4) else draft("add", 2, 0)
    made = draft("less", 1, 0)
    if left >= 0:
        first = draft("sub", place, draft.constant(left, source.dtype(6)))
        made = draft("and", made, draft("less_equal", first, 1))
    if right >= 0:
        last = draft("add", place, draft.constant(right, source.dtype(6)))
        made = draft("and", made, draft("less_equal", 1, last))
    window = source.map(draft.program, valid, columns, rows, part="window")
    return source.reshaped(window, of.split(source.builder.shape(window)), "windows")


def _whole_mask(source: Source, of: _Heads) -> str:
    """Return the mask that is an input, of all keys, and in the type of scores if it is added."""
    value, dtype, shape = source.value(3), source.dtype(), source.shape(3)
    if source.dtype(3) not in ("bool", dtype):
        value = source.map(Program.of("cast", 1, dtype), value, part="mask.cast")
    value = source.reshaped(value, (1,) * (4 - len(shape)) + shape, "mask.whole")
    missing = of.keys_long - shape[-1]
    if missing:
        fill = 0 if source.dtype(3) == "bool" else -math.inf
        zero = (0, 0, 0, 0)
        value = source.node(
            "pad", value, part="mask.padded", mode="constant", before=zero,
            behind=(0, 0, 0, missing), value=fill,
        )  # fmt: skip
    return source.reshaped(value, of.split(source.builder.shape(value)), "mask")


def _times(factor: float, dtype: str) -> Program:
    draft = Draft(1)
    draft("mul", 0, draft.constant(factor, dtype))
    return draft.program


def _capped(most: float, dtype: str) -> Program:
    draft = Draft(1)
    limit = draft.constant(most, dtype)
    draft("mul", draft("tanh", draft("div", 0, limit)), limit)
    return draft.program


def _where(other: float, dtype: str) -> Program:
    """Return the program of a value (input 1) where a condition holds, and a number elsewhere."""
    draft = Draft(2)
    draft("select", 0, 1, draft.constant(other, dtype))
    return draft.program
