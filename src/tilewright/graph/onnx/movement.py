"""Import the operators that move elements, repeat them or rename their axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tilewright import dtypes
from tilewright.graph.ir import Shape
from tilewright.graph.onnx.source import Refusal, Source
from tilewright.ops.program import Program, Step

Made = str | np.ndarray  # the graph's name of a value, or a constant: one without elements, too


def reshape(source: Source) -> str:
    shape = source.shape()
    asked = list(source.numbers("shape", 1) or ())
    if asked.count(-1) > 1 or min(asked, default=0) < -1:
        raise Refusal(f"it asks for the shape {tuple(asked)}, where at most one extent may be -1")
    if not source.attribute("allowzero", 0):
        asked = [shape[i] if e == 0 and i < len(shape) else e for i, e in enumerate(asked)]
    if -1 in asked:
        rest = -math.prod(asked)
        asked[asked.index(-1)] = math.prod(shape) // rest if rest > 0 else 0
    return _reshape(source, tuple(asked))


def flatten(source: Source) -> str:
    shape = source.shape()
    axis = source.attribute("axis", 1)
    axis += len(shape) if axis < 0 else 0
    if not 0 <= axis <= len(shape):
        raise Refusal(f"its axis {source.attribute('axis', 1)} is none of shape {shape}")
    return _reshape(source, (math.prod(shape[:axis]), math.prod(shape[axis:])))


def squeeze(source: Source) -> str:
    shape = source.shape()
    axes = source.numbers("axes", 1)
    gone = {i for i, e in enumerate(shape) if e == 1}
    if axes is not None:
        asked = set(source.axes(axes, len(shape)))
        if not asked <= gone:
            raise Refusal(f"it removes axes {axes} of a tensor of shape {shape}")
        gone = asked
    return _reshape(source, tuple(e for i, e in enumerate(shape) if i not in gone))


def unsqueeze(source: Source) -> str:
    shape = list(source.shape())
    axes = source.numbers("axes", 1) or ()
    for axis in sorted(source.axes(axes, len(shape) + len(axes))):
        shape.insert(axis, 1)
    return _reshape(source, tuple(shape))


def transpose(source: Source) -> str:
    reverse = tuple(reversed(range(len(source.shape()))))
    return source.node("transpose", source.value(), perm=source.attribute("perm", reverse))


def concat(source: Source) -> str:
    """Join tensors; constants without elements add nothing."""
    present = [i for i in range(source.count) if source.has(i) and 0 not in source.shape(i)]
    if not present:
        raise Refusal("all that it joins is empty")
    (axis,) = source.axes([source.attribute("axis", 0)], len(source.shape(present[0])))
    values = [source.value(i) for i in present]
    return values[0] if len(values) == 1 else source.node("concat", *values, axis=axis)


def split(source: Source) -> tuple[Made, ...]:
    shape = source.shape()
    (axis,) = source.axes([source.attribute("axis", 0)], len(shape))
    n, count = shape[axis], len(source.outputs)
    sizes = source.numbers("split", 1)
    if sizes is None:
        each = -(-n // count)
        if "num_outputs" not in source.attributes and n % count:
            raise Refusal(f"it splits {n} elements into {count} equal parts")
        sizes = tuple(max(0, min(each, n - each * i)) for i in range(count))
    if len(sizes) != count or sum(sizes) != n or min(sizes) < 0:
        raise Refusal(f"it splits {n} elements into {count} parts of {tuple(sizes)}")
    starts = [sum(sizes[:i]) for i in range(count)]
    return tuple(
        _cut(source, {axis: range(start, start + size)}, i)
        for i, (start, size) in enumerate(zip(starts, sizes, strict=True))
    )


def slice_(source: Source) -> Made:
    shape = source.shape()
    starts, ends = source.numbers("starts", 1), source.numbers("ends", 2)
    if starts is None or ends is None:
        raise Refusal("its starts or ends are missing")
    axes = source.numbers("axes", 3)
    axes = source.axes(tuple(range(len(starts))) if axes is None else axes, len(shape))
    steps = source.integers(4, "steps") if source.has(4) else (1,) * len(starts)
    if not len(starts) == len(ends) == len(axes) == len(steps) or 0 in steps:
        raise Refusal(
            f"it cuts axes {axes} from {starts} to {ends} by steps of {steps}: each axis needs all "
            "three, and a step that is not 0"
        )
    cuts = zip(axes, starts, ends, steps, strict=True)
    return _cut(source, {a: range(shape[a])[start:end:step] for a, start, end, step in cuts})


def _cut(source: Source, ranges: dict[int, range], output: int = 0) -> Made:
    """Return the elements at these indices of some axes."""
    shape = source.shape()
    kept = [ranges.get(d, range(n)) for d, n in enumerate(shape)]
    if not all(kept):
        return np.zeros([len(r) for r in kept], dtypes.numpy(source.dtype()))
    if all(r == range(n) for r, n in zip(kept, shape, strict=True)):
        return source.value()
    start, count = tuple(r.start for r in kept), tuple(len(r) for r in kept)
    step = tuple(r.step if len(r) > 1 else 1 for r in kept)
    return source.node("slice", source.value(), output=output, start=start, count=count, step=step)


def pad(source: Source) -> Made:
    """Add elements on each side; negative numbers take some away first."""
    shape, mode = source.shape(), source.attribute("mode", "constant")
    if mode not in ("constant", "edge", "reflect", "wrap"):
        raise Refusal(f"its mode {mode!r} is none of constant, edge, reflect and wrap")
    asked = source.numbers("pads", 1) or ()
    axes = source.integers(3, "axes") if source.has(3) else tuple(range(len(shape)))
    axes = source.axes(axes, len(shape))
    if len(asked) != 2 * len(axes):
        raise Refusal(f"it pads {len(axes)} axes by {asked}: each needs two numbers")
    before, behind = [0] * len(shape), [0] * len(shape)
    for i, axis in enumerate(axes):
        before[axis], behind[axis] = asked[i], asked[i + len(axes)]
    value, made = source.value(), source.dtype()
    kept = [range(n)[max(0, -a) : n - max(0, -b)] for a, n, b in zip(before, shape, behind)]  # noqa: B905
    more = [(max(0, a), max(0, b)) for a, b in zip(before, behind, strict=True)]
    if not all(kept):
        raise Refusal(f"it pads a tensor of shape {shape} by {asked}, which leaves nothing of it")
    last = not any(a or b for a, b in more)
    if any(len(r) < n for r, n in zip(kept, shape, strict=True)):
        value = source.node(
            "slice", value, part="" if last else "kept", start=tuple(r.start for r in kept),
            count=tuple(map(len, kept)), step=(1,) * len(shape),
        )  # fmt: skip
    if last:
        return value
    inside = [len(r) for r in kept]
    near = mode == "reflect" and all(max(p) < n for p, n in zip(more, inside, strict=True))
    if mode in ("constant", "edge") or near:
        filled = _filling(source, made) if mode == "constant" else 0
        first, behind_ = (tuple(p[side] for p in more) for side in (0, 1))
        return source.node("pad", value, mode=mode, before=first, behind=behind_, value=filled)
    padded = [d for d, p in enumerate(more) if any(p)]
    for d in padded:  # what lies several times around: by the place of each element
        how: Any = mode
        places = source.literal(np.pad(np.arange(inside[d]), more[d], how), f"places{d}")
        part = "" if d == padded[-1] else f"along{d}"
        value = source.node("gather", value, places, part=part, axis=d)
    return value


def _filling(source: Source, dtype: str) -> int | float:
    if source.has(2):
        array = source.constant(2, "value")
        if array.size != 1:
            raise Refusal(f"its value is of shape {array.shape}, no single number")
        return array.astype(np.float64).item() if dtypes.is_float(dtype) else int(array.item())
    value = source.attribute("value", 0.0)
    return value if dtypes.is_float(dtype) else int(value)


def expand(source: Source) -> str:
    shape = source.shape()
    try:
        whole = np.broadcast_shapes(shape, source.integers(1, "shape"))
    except ValueError:
        asked = source.integers(1, "shape")
        raise Refusal(f"a tensor of shape {shape} cannot be repeated to {asked}") from None
    return _repeated(source, source.value(), shape, whole)


def _repeated(source: Source, value: str, shape: Shape, whole: Shape, part: str = "") -> str:
    """Repeat a value to a larger shape, as NumPy does."""
    full = (1,) * (len(whole) - len(shape)) + shape
    if full == whole:
        return source.reshaped(value, full, part)
    value = source.reshaped(value, full, "repeated")
    step = tuple(int(n == m) for n, m in zip(full, whole, strict=True))
    zero = (0,) * len(whole)
    return source.node("slice", value, part=part, start=zero, count=whole, step=step)


def tile(source: Source) -> str:
    shape, times = source.shape(), source.integers(1, "repeats")
    if len(times) != len(shape) or min(times, default=1) < 1:
        raise Refusal(f"it repeats a tensor of shape {shape} {times} times")
    if all(t == 1 for t in times):
        return source.value()
    pairs: list[int] = [e for n in shape for e in (1, n)]
    whole = [e for t, n in zip(times, shape, strict=True) for e in (t, n)]
    made = source.reshaped(source.value(), tuple(pairs), "pairs")
    made = _repeated(source, made, tuple(pairs), tuple(whole), "tiles")
    return source.node(
        "reshape", made, shape=tuple(t * n for t, n in zip(times, shape, strict=True))
    )


def trilu(source: Source) -> str:
    """Keep the upper or the lower triangle of matrices; the rest is zero."""
    shape = source.shape()
    if len(shape) < 2:
        raise Refusal(f"a tensor of shape {shape} holds no matrices")
    k = int(source.number(1, "diagonal")) if source.has(1) else 0
    rows, columns = np.ogrid[: shape[-2], : shape[-1]]
    upper = source.attribute("upper", 1)
    kept = columns - rows >= k if upper else columns - rows <= k
    return chosen(source, source.literal(kept, "kept"), source.value(), 0)


def chosen(source: Source, where: str, value: str, other: float, part: str = "") -> str:
    """Return a value where a condition holds, and a number elsewhere."""
    steps = (Step("constant", (), (other, source.builder.dtype(value))), Step("select", (0, 1, 2)))
    return source.map(Program(2, steps), where, value, part=part)


def _reshape(source: Source, shape: Sequence[int]) -> str:
    return source.node("reshape", source.value(), shape=tuple(shape))
