"""What a loop nest means: run one step at a time in Python, on float64 or integer arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tilewright import dtypes
from tilewright.expr.interpret import UNARY, applied, evaluate, nearest
from tilewright.expr.scalar import (
    Binary,
    Cast,
    Const,
    Index,
    Load,
    Scalar,
    Select,
    Table,
    Unary,
    Within,
)
from tilewright.loops.nodes import Block, Buffer, Nest, Node

NEUTRAL = {"sum": 0.0, "prod": 1.0, "max": -math.inf, "min": math.inf}


def _by_numpy(op: str) -> Callable[[float], float]:
    """Return a function of one number, which is as NumPy has it where Python's would raise."""

    def function(x: float) -> float:
        with np.errstate(all="ignore"):
            return float(UNARY[op](np.float64(x)))

    return function


_UNARY: dict[str, Callable[[Any], Any]] = {op: _by_numpy(op) for op in UNARY} | {
    "neg": lambda x: -x,
    "abs": abs,
    "exp": lambda x: math.inf if x > 709 else math.exp(x),
    "log": lambda x: math.log(x) if x > 0 else -math.inf if x == 0 else math.nan,
    "sqrt": lambda x: math.nan if x < 0 else math.sqrt(x),
    "tanh": math.tanh,
    "floor": lambda x: math.floor(x) if math.isfinite(x) else x,
    "rint": lambda x: round(x) if math.isfinite(x) else x,
    "erf": math.erf,
    "sigmoid": lambda x: 0.5 + 0.5 * math.tanh(0.5 * x),
    "sign": lambda x: (x > 0) - (x < 0) if x == x else x,
    "bitnot": lambda x: ~x,
}
_BY_NUMPY = ("div", "mod", "fmod", "pow", "shl", "shr")
_BINARY = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "min": lambda a, b: a if a < b or a != a else b,  # NaN, if either is
    "max": lambda a, b: a if a > b or a != a else b,
    "sum": lambda a, b: a + b,
    "prod": lambda a, b: a * b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "bitand": lambda a, b: a & b,
    "bitor": lambda a, b: a | b,
    "bitxor": lambda a, b: a ^ b,
}


def neutral(reduce: str, dtype: str) -> float:
    """Return the value from which a reduction in `dtype` starts."""
    value = NEUTRAL[reduce]
    if math.isinf(value) and not dtypes.is_float(dtype):
        info = np.iinfo(dtype)
        return int(info.min if value < 0 else info.max)
    return value


def interpret(nest: Nest, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Run the nest on `inputs` and return every buffer that is not an input.

    Buffers start as NaN (or the least integer), so that what is read before it is written shows.
    An access outside of a buffer raises IndexError.
    """
    memory: dict[str, np.ndarray] = {}
    for buffer in nest.buffers:
        if buffer.name in inputs:
            given = np.asarray(inputs[buffer.name])
            is_float = dtypes.is_float(given.dtype.name)
            memory[buffer.name] = given.astype(np.float64) if is_float else given
        elif buffer.source:
            value = packed(buffer, np.asarray(inputs[buffer.source]))
            short = buffer.dtype in dtypes.SHORT_FLOATS
            memory[buffer.name] = value.astype(np.float64) if short else value
        else:
            memory[buffer.name] = _unwritten(buffer)
    for node in nest.body:
        _run(node, {}, {}, memory, nest)
    return {b.name: memory[b.name] for b in nest.buffers if b.name not in inputs}


def _unwritten(buffer: Buffer) -> np.ndarray:
    if dtypes.is_float(buffer.dtype):
        return np.full(buffer.shape, np.nan)
    least = 0 if buffer.dtype == "bool" else np.iinfo(buffer.dtype).min
    return np.full(buffer.shape, least, buffer.dtype)


def packed(buffer: Buffer, source: np.ndarray) -> np.ndarray:
    """Return the contents of a constant: what is made of its source, in the order of the loops."""
    return laid_out(buffer, made(buffer, source))


def made(buffer: Buffer, source: np.ndarray) -> np.ndarray:
    """Return what a constant is made of: its source, or the value of its expression."""
    if buffer.made is None:
        return source
    value = evaluate(buffer.made, {buffer.source or "": source})[buffer.made.name]
    return value.astype(dtypes.numpy(buffer.dtype))


def laid_out(buffer: Buffer, source: np.ndarray) -> np.ndarray:
    """Return what a constant is made of in the order in which the loops read it."""
    if not buffer.layout:
        return source
    grid = np.ogrid[tuple(slice(0, int(n)) for n in buffer.shape)]
    env: dict[str, Any] = dict(zip(buffer.layout_loops, grid, strict=True))
    inside: Any = True
    at: list[Any] = []
    for index, extent in zip(buffer.layout, source.shape, strict=True):
        position = index.evaluate(env)
        if int(np.max(position)) >= extent or int(np.min(position)) < 0:
            inside = inside & (position >= 0) & (position < extent)
            position = np.clip(position, 0, extent - 1)
        at.append(position)
    if inside is True:
        strides = [
            sum(
                int(i.coefficient(name)) * s
                for i, s in zip(buffer.layout, source.strides, strict=True)
            )
            for name in buffer.layout_loops
        ]
        start = source[tuple(slice(int(i.constant), None) for i in buffer.layout)]
        view = np.lib.stride_tricks.as_strided(start, buffer.shape, strides, writeable=False)
        return np.array(view, order="C")
    taken = np.where(inside, source[tuple(at)], np.zeros((), source.dtype))
    return np.array(np.broadcast_to(taken, buffer.shape), order="C")


def _run(
    node: Node,
    env: dict[str, Any],
    reducing: dict[str, int],
    memory: dict[str, np.ndarray],
    nest: Nest,
) -> None:
    if isinstance(node, Block):
        _store(node, env, reducing, memory)
        return
    for i in range(node.extent):
        inner = {**env, node.name: i}
        for bind in node.binds:
            inner[bind.name] = bind.index.evaluate(inner) // bind.divisor % bind.modulus
        # What a fused loop binds depends on its variable, and perhaps on loops that do not reduce.
        bound = {node.name: i, **{bind.name: 0 for bind in node.binds}}
        rounds = {**reducing, **bound} if node.reduce else reducing
        for child in node.body:
            _run(child, inner, rounds, memory, nest)


def _store(
    block: Block, env: dict[str, Any], reducing: dict[str, int], memory: dict[str, np.ndarray]
) -> None:
    rounds = block.reduce is not None and block.init and not any(reducing.values())
    at = _at(block.index, env)
    array = memory[block.buffer]
    if rounds and all(
        _value(g, env, memory) for g in block.guards if not set(g.index.variables) & set(reducing)
    ):
        array[_inside(at, array, block.buffer)] = neutral(block.reduce or "", str(array.dtype))
    if not all(_value(g, env, memory) for g in (*block.guards, *block.when)):
        return
    value = _value(block.value, env, memory)
    _inside(at, array, block.buffer)
    if block.reduce:
        value = _wrapped(_BINARY[block.reduce](array[at].item(), value), str(array.dtype))
    array[at] = value


def _at(index: tuple[Any, ...], env: dict[str, Any]) -> tuple[int, ...]:
    return tuple(int(i.evaluate(env)) for i in index)


def _inside(at: tuple[int, ...], array: np.ndarray, name: str) -> tuple[int, ...]:
    if any(not 0 <= i < n for i, n in zip(at, array.shape, strict=True)):
        raise IndexError(f"{name}[{at}] lies outside of its shape {array.shape}")
    return at


def _value(value: Scalar, env: dict[str, Any], memory: dict[str, np.ndarray]) -> Any:
    match value:
        case Const(value=number):
            return number
        case Index(index=index):
            return index.evaluate(env)
        case Within(index=index, low=low, high=high):
            return low <= index.evaluate(env) < high
        case Load(buffer=buffer, index=index, gathered=gathered):
            array, at = memory[buffer], list(_at(index, env))
            for d, position in gathered:
                at[d] = int(nearest(_value(position, env, memory), array.shape[d]))
            return array[_inside(tuple(at), array, buffer)].item()
        case Table(name=name, values=numbers, shape=shape, index=index):
            array = np.asarray(numbers).reshape(shape)
            return array[_inside(_at(index, env), array, name)].item()
        case Select(condition=condition, yes=yes, no=no):
            return _value(yes if _value(condition, env, memory) else no, env, memory)
        case Cast(value=inner, dtype=dtype):
            wide = "float64" if dtypes.is_float(dtype) else dtype
            return np.asarray(_value(inner, env, memory)).astype(wide).item()
        case Unary(op=op, value=inner):
            return _wrapped(_UNARY[op](_value(inner, env, memory)), value.dtype)
        case Binary(op="and", left=left, right=right):
            return _value(left, env, memory) and _value(right, env, memory)
        case Binary(op="or", left=left, right=right):
            return _value(left, env, memory) or _value(right, env, memory)
        case Binary(op=op, left=left, right=right) if op in _BY_NUMPY:
            held = "float64" if dtypes.is_float(value.dtype) else value.dtype
            a, b = (np.asarray(_value(v, env, memory), held) for v in (left, right))
            with np.errstate(all="ignore"):
                return np.asarray(applied(op, a, b, value.dtype)).item()
        case Binary(op=op, left=left, right=right):
            a, b = _value(left, env, memory), _value(right, env, memory)
            return _wrapped(_BINARY[op](a, b), value.dtype)
        case _:
            raise NotImplementedError(f"no meaning for {type(value).__name__}")


def _wrapped(value: Any, dtype: str) -> Any:
    """Return an integer as its type holds it; other values as they are."""
    if dtypes.is_float(dtype) or dtype == "bool":
        return value
    info = np.iinfo(dtype)
    return (int(value) - info.min) % (1 << info.bits) + info.min
