"""The kinds of stages that random programs are made of.

Each function takes a pick, the new tensor's name and the tensors so far, the newest last; it
returns the new tensor, or None where the newest tensor does not suit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import tilewright.expr.tensor as te
from tilewright import dtypes
from tilewright.expr.scalar import Scalar

if TYPE_CHECKING:
    from tilewright.testing.programs import Pick

Known: TypeAlias = Sequence[te.Tensor]


def exact(known: Known) -> bool:
    """Whether all values so far are exact in binary: rounding then turns no comparison."""
    return not any("_" in t.name for t in known)


def elementwise(pick: Pick, name: str, known: Known) -> te.Tensor | None:
    t = known[-1]
    other = pick([x for x in known if x.shape == t.shape])
    vector = te.tensor(f"{name}v", t.shape[-1:], t.dtype, constant=pick((False, True)))
    form = pick(("add", "mul", "relu", "vector", "index", "divide", "min", "branch", "cast"))
    form = form if exact(known) else "add"

    def value(*i: te.Axis) -> Scalar:
        match form:
            case "add":
                return t[i] + other[i]
            case "mul":
                return t[i] * 2 - other[i]
            case "relu":
                return te.maximum(t[i], 0)
            case "vector":
                return t[i] * vector[i[-1:]]
            case "index" if i:
                return t[i] + te.cast(t.dtype, i[-1] + i[0] * 2)
            case "divide":
                return t[i] / 4 if t.dtype == "float32" else -t[i]
            case "branch":
                return te.select(t[i] < other[i] + 1, t[i], other[i] * 3)
            case "cast":
                return te.cast(t.dtype, te.cast("float64", t[i]) * 0.5)
            case _:
                return te.minimum(t[i], other[i]) + 1

    return te.compute(name, t.shape, value)


def function(pick: Pick, name: str, known: Known) -> te.Tensor | None:
    """Apply a function of floats, where its values stay small and defined."""
    t = known[-1]
    if not dtypes.is_float(t.dtype):
        return None
    op = pick(("tanh", "sigmoid", "abs", "exp", "sqrt", "log", "floor"))
    op = op if exact(known) else "abs"

    def value(*i: te.Axis) -> Scalar:
        match op:
            case "exp":
                return te.unary(op, te.minimum(t[i], 2.0))
            case "sqrt" | "log":
                return te.unary(op, te.unary("abs", t[i]) + 1.0)
            case "floor":
                return t[i] - te.unary("floor", te.cast(t.dtype, te.cast("int32", t[i])))
            case _:
                return te.unary(op, t[i])

    return te.compute(f"{name}_{op}", t.shape, value)


def masked(pick: Pick, name: str, known: Known) -> te.Tensor | None:
    """Choose by a stored mask, or by a condition that mixes indices and data."""
    t = known[-1]
    if not t.shape or not exact(known):
        return None
    if pick((True, False)):
        mask = te.compute(f"{name}m", t.shape, lambda *i: t[i] < 1)
        return te.compute(name, t.shape, lambda *i: te.select(mask[i], t[i] * 2, 1))

    def value(*i: te.Axis) -> Scalar:
        back = (*i[:-1], i[-1] - 1)
        condition: Any = (i[-1] >= 1) & (t[back] < 1)
        return te.select(condition, t[back], t[i] * 2)

    return te.compute(name, t.shape, value)


def pad(pick: Pick, name: str, known: Known) -> te.Tensor | None:
    t = known[-1]
    if not t.shape:
        return None
    d = pick(range(len(t.shape)))
    before, after, fill = pick((1, 0, 2)), pick((1, 0, 3)), pick((0, 1))
    n = t.shape[d]
    both = pick((True, False)) and before + after > 0
    shape = tuple(e + before + after if i == d else e for i, e in enumerate(t.shape))

    def value(*i: te.Axis) -> Scalar:
        at: list[Any] = list(i)
        at[d] = i[d] - before
        low, high = i[d] >= before, i[d] < n + before
        if both or (before and after):
            return te.select(low & high, t[tuple(at)], fill)
        return te.select(low if before else high, t[tuple(at)], fill)

    return te.compute(name, shape, value)


def stencil(pick: Pick, name: str, known: Known) -> te.Tensor | None:
    """Add neighbours along one dimension, some of them read backwards."""
    t = known[-1]
    if not t.shape or max(t.shape) < 3:
        return None
    d = t.shape.index(max(t.shape))
    reach, backwards = pick((1, 2)), pick((False, True))
    n = t.shape[d] - reach
    shape = tuple(n if i == d else e for i, e in enumerate(t.shape))

    def value(*i: te.Axis) -> Scalar:
        at: list[Any] = list(i)
        at[d] = i[d] + reach
        back: list[Any] = list(i)
        back[d] = n - 1 - i[d] if backwards else i[d]
        return t[tuple(at)] - t[tuple(back)] * 2

    return te.compute(name, shape, value)


def transpose(pick: Pick, name: str, known: Known) -> te.Tensor | None:
    t = known[-1]
    if len(t.shape) < 2:
        return None
    turn = pick((1, 2)) % len(t.shape) or 1
    perm = [(i + turn) % len(t.shape) for i in range(len(t.shape))]
    shape = tuple(t.shape[p] for p in perm)
    return te.compute(
        name, shape, lambda *i: t[tuple(i[perm.index(d)] for d in range(len(perm)))] + 1
    )


def reduction(pick: Pick, name: str, known: Known) -> te.Tensor | None:
    t = known[-1]
    if not t.shape:
        return None
    kind = pick(("sum", "max", "min"))
    over = pick(range(1, len(t.shape) + 1))
    first = pick((False, True))
    kept = t.shape[over:] if first else t.shape[: len(t.shape) - over]
    gone = t.shape[:over] if first else t.shape[len(t.shape) - over :]
    axes = [te.reduce_axis(f"r{j}", e) for j, e in enumerate(gone)]

    def value(*i: te.Axis) -> Scalar:
        return te.reduce(kind, t[(*axes, *i) if first else (*i, *axes)], axes)

    return te.compute(name, kept, value)


def convolution(pick: Pick, name: str, known: Known) -> te.Tensor | None:
    """Slide a kernel over one dimension: index x*stride + k*dilation, perhaps with padding."""
    t = known[-1]
    if not t.shape:
        return None
    d = pick(range(len(t.shape)))
    taps, stride, dilation = pick((3, 2, 1)), pick((1, 2, 3)), pick((1, 2))
    padding = pick((0, 1, 2))
    n, reach = t.shape[d], (taps - 1) * dilation
    count = (n + 2 * padding - reach - 1) // stride + 1
    if count < 1:
        return None
    w = te.tensor(f"{name}w", (taps,), t.dtype, constant=pick((True, False)))
    k = te.reduce_axis("k", taps)
    shape = tuple(count if i == d else e for i, e in enumerate(t.shape))

    def value(*i: te.Axis) -> Scalar:
        at: list[Any] = list(i)
        at[d] = i[d] * stride + k * dilation - padding
        loaded: Any = t[tuple(at)]
        if padding:
            loaded = te.select((at[d] >= 0) & (at[d] < n), loaded, 0)
        return te.sum(loaded * w[k], over=k)

    return te.compute(name, shape, value)


def matmul(pick: Pick, name: str, known: Known) -> te.Tensor | None:
    t = known[-1]
    if len(t.shape) < 1:
        return None
    columns = pick((4, 1, 7, 16, 17))
    w = te.tensor(f"{name}w", (t.shape[-1], columns), t.dtype, constant=pick((True, False)))
    k = te.reduce_axis("k", t.shape[-1])
    return te.compute(
        name, (*t.shape[:-1], columns), lambda *i: te.sum(t[(*i[:-1], k)] * w[k, i[-1]], over=k)
    )


def product_with_itself(pick: Pick, name: str, known: Known) -> te.Tensor | None:
    """Multiply rows by rows: two loads of one tensor at different indices."""
    t = known[-1]
    if len(t.shape) != 2:
        return None
    k = te.reduce_axis("k", t.shape[1])
    rows = t.shape[0]
    kind = pick(("sum", "max"))
    return te.compute(name, (rows, rows), lambda y, x: te.reduce(kind, t[y, k] * t[x, k], k))


def gather(pick: Pick, name: str, known: Known) -> te.Tensor | None:
    """Read rows or elements at indices that are given, computed, looked up, or summed over."""
    t = known[-1]
    if not t.shape:
        return None
    d, count = pick(range(len(t.shape))), pick((3, 1, 8, 17))
    form = pick(("rows", "elements", "shifted", "twice", "sum", "values"))
    kind = pick(("int64", "int32"))
    if form in ("elements", "values"):
        ids = te.tensor(f"{name}i", t.shape, kind)
        own = form == "values" and exact(known)

        def element(*i: te.Axis) -> Scalar:
            at = te.cast("int32", t[i]) if own else ids[i]
            return t[(*i[:d], at, *i[d + 1 :])]

        return te.compute(name, t.shape, element)
    ids = te.tensor(f"{name}i", (count,), kind)
    if form == "sum":
        k, w = te.reduce_axis("k", count), te.tensor(f"{name}w", (count,), t.dtype)
        rest = (*t.shape[:d], *t.shape[d + 1 :])
        return te.compute(name, rest, lambda *i: te.sum(t[(*i[:d], ids[k], *i[d:])] * w[k], over=k))
    if form == "shifted":
        source = ids
        ids = te.compute(f"{name}s", (count,), lambda i: source[i] * 2 + te.cast(kind, i))

    def row(*i: te.Axis) -> Scalar:
        at = ids[ids[i[d]]] if form == "twice" else ids[i[d]]
        return t[(*i[:d], at, *i[d + 1 :])] * 2

    return te.compute(name, (*t.shape[:d], count, *t.shape[d + 1 :]), row)


def merge(pick: Pick, name: str, known: Known) -> te.Tensor | None:
    """Combine the newest tensor with the sum of an older one: a consumer with two producers."""
    t = known[-1]
    older = pick(known)
    if not t.shape or not older.shape or older.shape[0] > t.shape[0]:
        return None
    k = te.reduce_axis("q", older.shape[0])
    rest = older.shape[1:]
    axes = (k, *(te.reduce_axis(f"q{j}", e) for j, e in enumerate(rest)))
    total = te.compute(
        f"{name}s",
        (t.shape[-1],),
        lambda z: te.reduce(pick(("max", "sum")), older[axes] + te.cast(t.dtype, z), axes),
    )
    return te.compute(name, t.shape, lambda *i: t[i] + total[i[-1]])


STAGES: tuple[Callable[[Any, str, Known], te.Tensor | None], ...] = (
    elementwise, pad, stencil, transpose, reduction, convolution, matmul, product_with_itself,
    merge, function, masked, elementwise, convolution, matmul, elementwise, gather, gather,
)  # fmt: skip
