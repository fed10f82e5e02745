"""Tensors and stages; with axes, reductions, tables and functions the words of an expression."""

from __future__ import annotations

import hashlib
import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from tilewright import dtypes
from tilewright.errors import ExpressionError
from tilewright.expr.affine import Affine
from tilewright.expr.axis import Axis, IndexLike, affine, integer, named, reduce_axis
from tilewright.expr.functions import (
    cast,
    erf,
    exp,
    floor,
    log,
    maximum,
    minimum,
    rint,
    select,
    sigmoid,
    sqrt,
    tanh,
)
from tilewright.expr.parts import excess, indices, rebuild, walk
from tilewright.expr.reductions import REDUCTIONS, Reduce, max, min, prod, reduce, sum
from tilewright.expr.scalar import (
    Binary,
    Const,
    Index,
    Load,
    Scalar,
    ScalarLike,
    Select,
    Unary,
    Within,
    scalar,
    unary,
)
from tilewright.expr.table import Constants, table
from tilewright.expr.verify import check_loads, check_places

__all__ = [
    "REDUCTIONS", "Axis", "Constants", "IndexLike", "Reduce", "Stage", "Tensor", "cast", "compute",
    "erf", "exp", "floor", "log", "max", "maximum", "min", "minimum", "plain", "prod", "reach",
    "reduce", "reduce_axis", "rint", "select", "sigmoid", "sqrt", "stage", "sum", "table", "tanh",
    "tensor", "unary",
]  # fmt: skip


@dataclass(frozen=True, eq=False)
class Tensor:
    """An input, a constant, or what a stage computes; `tensor[i, j]` loads an element.

    An index is affine in the axes, or an integer value, as in `x[ids[i], j]`. Such a value counts
    from the end of the dimension if it is below zero, and what lies beyond either end then is the
    nearest element: no value leads outside of the tensor.

    >>> x, ids = tensor("X", (1000, 64)), tensor("I", (8,), "int64")
    >>> compute("rows", (8, 64), lambda i, j: x[ids[i], j])
    rows: float32 8 x 64 = X[I[i], j]
    """

    name: str
    shape: tuple[int, ...]
    dtype: str = "float32"
    constant: bool = False
    stage: Stage | None = None
    title: str = ""  # what the user calls the work: "matmul 64 x 64 x 64"
    template: Any = None  # how the user wants it scheduled: a function of schedule and knobs

    def __getitem__(self, index: IndexLike | Scalar | tuple[IndexLike | Scalar, ...]) -> Load:
        index = index if isinstance(index, tuple) else (index,)
        if len(index) != len(self.shape):
            raise ExpressionError(
                f"{self.name} has {len(self.shape)} dimensions {self.shape}, "
                f"but is indexed with {len(index)}."
            )
        index = tuple(i.index if isinstance(i, Index) else i for i in index)
        gathered = tuple((d, i) for d, i in enumerate(index) if isinstance(i, Scalar))
        for _, value in gathered:
            _check_gathered(self.name, value)
        at = tuple(Affine() if isinstance(i, Scalar) else affine(i) for i in index)
        return _TensorLoad(self.name, at, self.dtype, gathered, tensor=self)

    def __reduce__(self) -> Any:
        from tilewright.expr.flat import flatten, restore

        return restore, (flatten(self),)

    def __iter__(self) -> NoReturn:
        raise ExpressionError(
            f"cannot iterate over {self.name}: index it by axes, and reduce over one, as in "
            "tw.sum(a[k], over=k) with k = tw.reduce_axis('k', n)."
        )

    def __repr__(self) -> str:
        shape = " x ".join(map(str, self.shape)) or "scalar"
        return f"{self.name}: {self.dtype} {shape}" + (
            f" = {self.stage.value}" if self.stage else ""
        )

    @property
    def stages(self) -> tuple[Tensor, ...]:
        """Every computed tensor that this one needs, in order, itself last."""
        return tuple(t for t in reach(self) if t.stage)

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """Every tensor that must be given, in the order in which the expression first loads it."""
        return tuple(t for t in reach(self) if not t.stage)

    @property
    def canonical(self) -> str:
        """The expression as text: equal texts are equal work, whatever its parts are called."""
        from tilewright.expr.canonical import canonical

        return canonical(self)

    @property
    def digest(self) -> str:
        """Twenty hexadecimal digits that stand for `canonical`."""
        return hashlib.sha256(self.canonical.encode()).hexdigest()[:20]

    @property
    def flops(self) -> int:
        """Arithmetic operations that computing this needs, multiplications by padding included."""
        total = 0
        for t in self.stages:
            assert t.stage
            points = math.prod(axis.extent for axis in (*t.stage.axes, *t.stage.reduce_axes))
            total += points * _operations(t.stage.value)
        return total


@dataclass(frozen=True, slots=True)
class _TensorLoad(Load):
    """A load that still knows its tensor; equal to, and printed as, a plain one."""

    tensor: Tensor = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class Stage:
    """How a tensor is computed: a value for each point of its axes.

    `at` is the element that each point computes; its own, if empty. What lies outside of the tensor
    is skipped, and each element has one point.
    """

    axes: tuple[Axis, ...]
    value: Scalar
    at: tuple[Affine, ...] = ()

    def outside(self, shape: Sequence[int]) -> tuple[Within, ...]:
        """Return conditions, all of which the points within a tensor of this shape meet."""
        ranges = {axis.name: (0, axis.extent - 1) for axis in self.axes}
        found: list[Within] = []
        for index, extent in zip(self.at, shape, strict=False):  # no index means no condition
            low, high = index.bounds(ranges.__getitem__)
            if low < 0 or high >= extent:
                found.append(Within(index, 0, extent))
        return tuple(found)

    @property
    def reduce_axes(self) -> tuple[Axis, ...]:
        return self.value.axes if isinstance(self.value, Reduce) else ()


def tensor(
    name: str, shape: Sequence[int] | int, dtype: Any = "float32", *, constant: bool = False
) -> Tensor:
    """Declare an input. `constant` promises that its values never change: it may be packed.

    A shape of one extent may be given as the integer; `dtype` is a name, or NumPy's.
    """
    return Tensor(named("a tensor", name), _shape(name, shape), dtypes.check(dtype), constant)


def compute(name: str, shape: Sequence[int] | int, value: Callable[..., ScalarLike]) -> Tensor:
    """Declare a tensor by the value of its elements; the function's arguments name its axes.

    A value has at most 128 levels and 16384 parts: a longer one is made of several stages.

    >>> a = tensor("A", (4, 8))
    >>> compute("B", (4, 8), lambda y, x: a[y, x] * 2.0)
    B: float32 4 x 8 = (A[y, x] * 2.0)
    """
    shape = _shape(named("a tensor", name), shape)
    names = _axis_names(value, len(shape))
    axes = tuple(Axis(n, e) for n, e in zip(names, shape, strict=True))
    return stage(name, axes, value(*axes))


def stage(
    name: str,
    axes: Sequence[Axis],
    value: ScalarLike,
    shape: Sequence[int] | None = None,
    at: Sequence[IndexLike] = (),
) -> Tensor:
    """Declare a tensor by a value on given axes, which may be finer than its dimensions.

    `at` then says which element of `shape` each point computes: each element must have one point.

    >>> a, b, q, r = tensor("A", (3,)), tensor("B", (2,)), Axis("q", 3), Axis("r", 2)
    >>> stage("outer", (q, r), a[q] * b[r], (5,), (q * 2 + r,))
    outer: float32 5 = (A[q] * B[r])
    """
    body = scalar(value, "float32")
    inner = body.value if isinstance(body, Reduce) else body
    if reason := excess(inner):
        raise ExpressionError(
            f"cannot compute {name}: {reason}. Make stages of its parts, each by compute(...), or "
            "reduce over an axis, as in tw.sum(a[i, k], over=k)."
        )
    reduced = body.axes if isinstance(body, Reduce) else ()
    taken = [a.name for a in (*axes, *reduced)]
    if len(set(taken)) != len(taken):
        raise ExpressionError(f"axes of {name} share a name: {', '.join(taken)}; rename one.")
    _check(name, inner, set(taken))
    extents = {axis.name: axis.extent for axis in (*axes, *reduced)}
    sources: dict[str, Tensor] = {}
    for t in _tensors(body):
        if t.name == name or sources.setdefault(t.name, t) is not t:
            raise ExpressionError(f"two tensors are called {t.name!r}; rename one.")
    shapes = {t.name: t.shape for t in sources.values()}
    own = tuple(axis.extent for axis in axes)
    shape = own if shape is None else tuple(shape)
    index = tuple(affine(i) for i in at)
    made = Stage(tuple(axes), body, () if index == tuple(a.affine for a in axes) else index)
    if made.at or shape != own:
        check_places(name, made.at, {axis.name: axis.extent for axis in axes}, shape)
    for condition in made.outside(shape):
        inner = Select(condition, inner, Const(0, inner.dtype), inner.dtype)
    check_loads(name, inner, extents, shapes)
    return Tensor(name, shape, body.dtype, False, made)


def plain(value: Scalar) -> Scalar:
    """Forget which tensors the loads came from."""
    return rebuild(
        value,
        lambda v: Load(v.buffer, v.index, v.dtype, v.gathered) if isinstance(v, _TensorLoad) else v,
    )


def _shape(name: str, shape: Sequence[int] | int) -> tuple[int, ...]:
    given: Any = (shape,) if integer(shape) is not None else shape
    wholes = [integer(e) for e in given] if isinstance(given, Iterable) else [None]
    shape = tuple(whole for whole in wholes if whole is not None)
    if len(shape) < len(wholes):
        raise ExpressionError(
            f"shape {given!r} of {name}: give a tuple of integers, as in (4, 8), or one integer."
        )
    if any(extent < 1 for extent in shape):
        raise ExpressionError(f"shape {shape} of {name}: every extent must be at least 1.")
    if math.prod(shape) > 1 << 40:
        raise ExpressionError(f"shape {shape} of {name} has more than 2^40 elements.")
    return shape


def _axis_names(function: Callable[..., Any], rank: int) -> list[str]:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        raise ExpressionError(
            f"{function!r:.60} cannot fill a tensor: give a function of its axes, as in "
            "lambda i, j: a[i, j] * 2."
        ) from None
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return [f"i{d}" for d in range(rank)]
    if len(parameters) != rank:
        raise ExpressionError(
            f"a function of {len(parameters)} axes cannot fill a tensor of {rank} dimensions."
        )
    return [p.name for p in parameters]


def _tensors(value: Scalar) -> list[Tensor]:
    parts = walk(value.value if isinstance(value, Reduce) else value)
    return [part.tensor for part in parts if isinstance(part, _TensorLoad)]


def reach(root: Tensor) -> list[Tensor]:
    """Return `root` and every tensor that it needs, sources first."""
    order: list[Tensor] = []
    names: dict[str, Tensor] = {}

    def sources(t: Tensor) -> Iterator[Tensor]:
        if names.setdefault(t.name, t) is not t:
            raise ExpressionError(f"two tensors are called {t.name!r}; rename one.")
        return iter(_tensors(t.stage.value) if t.stage else ())

    open_ = [(root, sources(root))]
    while open_:
        t, rest = open_[-1]
        source = next(rest, None)
        if source is None:
            order.append(t)
            open_.pop()
        elif names.get(source.name) is not source:
            open_.append((source, sources(source)))
    return order


def _check_gathered(name: str, index: Scalar) -> None:
    """Refuse an index that is no integer value."""
    if isinstance(index, Reduce):
        raise ExpressionError(
            f"{name} is indexed by {index}: make the reduction a stage of its own, and load that."
        )
    if dtypes.is_float(index.dtype) or index.dtype == "bool":
        raise ExpressionError(
            f"{name} is indexed by {index}, which is of {index.dtype}: an index is an integer; "
            "cast it, as in cast('int64', ...)."
        )


def _operations(value: Scalar) -> int:
    inner = value.value if isinstance(value, Reduce) else value
    own = [
        part
        for part in walk(inner)
        if isinstance(part, Unary) or (isinstance(part, Binary) and part.dtype != "bool")
    ]
    return len(own) + (inner is not value)


def _check(name: str, value: Scalar, axes: set[str]) -> None:
    """Refuse reductions below the top, and variables that belong to no axis of the stage."""
    for part in walk(value):
        if isinstance(part, Reduce):
            raise ExpressionError(
                f"{name} reduces inside a larger expression: make the reduction a stage of its own."
            )
        for variable in (v for index in indices(part) for v in index.variables):
            if variable not in axes:
                raise ExpressionError(
                    f"{part} in {name} uses {variable!r}, which is neither an axis of {name} nor "
                    f"reduced over; its axes are {', '.join(sorted(axes)) or 'none'}."
                )
