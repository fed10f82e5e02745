"""Tensors, axes and stages: the words in which a user says what to compute."""

from __future__ import annotations

import builtins
import hashlib
import inspect
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tilewright import dtypes
from tilewright.errors import ExpressionError
from tilewright.expr.affine import Affine, AffineLike
from tilewright.expr.scalar import (
    Cast,
    Load,
    Scalar,
    ScalarLike,
    Select,
    Unary,
    Within,
    binary,
    children,
    scalar,
)
from tilewright.expr.verify import check_loads

REDUCTIONS = ("sum", "max", "min", "prod")


class Axis:
    """A named range of integers, 0 <= axis < extent; arithmetic on it builds affine indices."""

    __slots__ = ("extent", "name", "reduce")

    def __init__(self, name: str, extent: int, reduce: bool = False) -> None:
        if not isinstance(extent, int) or extent < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ExpressionError(
                f"axis {name!r} of extent {extent!r}: an extent is a positive integer."
            )
        self.name, self.extent, self.reduce = name, extent, reduce

    @property
    def affine(self) -> Affine:
        return Affine(0, ((self.name, 1),))

    def __add__(self, other: IndexLike) -> Affine:
        return self.affine + affine(other)

    def __radd__(self, other: IndexLike) -> Affine:
        return affine(other) + self.affine

    def __sub__(self, other: IndexLike) -> Affine:
        return self.affine - affine(other)

    def __rsub__(self, other: IndexLike) -> Affine:
        return affine(other) - self.affine

    def __mul__(self, factor: int) -> Affine:
        return self.affine * factor

    def __rmul__(self, factor: int) -> Affine:
        return self.affine * factor

    def __ge__(self, low: IndexLike) -> Within:
        return self.affine >= affine(low)

    def __lt__(self, high: IndexLike) -> Within:
        return self.affine < affine(high)

    def __gt__(self, low: IndexLike) -> Within:
        return self.affine > affine(low)

    def __le__(self, high: IndexLike) -> Within:
        return self.affine <= affine(high)

    def __repr__(self) -> str:
        return f"{self.name}({self.extent})"


IndexLike = Axis | Affine | int


def affine(index: IndexLike | AffineLike) -> Affine:
    if isinstance(index, Axis):
        return index.affine
    if isinstance(index, Affine | int):
        return Affine.of(index)
    raise ExpressionError(
        f"{index!r} is no affine index: use axes, integers, +, - and multiplication by integers."
    )


@dataclass(frozen=True, slots=True)
class Reduce(Scalar):
    """A reduction over axes; only a whole stage can be one."""

    kind: str
    axes: tuple[Axis, ...]
    value: Scalar
    dtype: str

    def __str__(self) -> str:
        return f"{self.kind}({self.value}, over={', '.join(a.name for a in self.axes)})"


@dataclass(frozen=True, eq=False)
class Tensor:
    """An input, a constant, or what a stage computes; `tensor[i, j]` loads an element."""

    name: str
    shape: tuple[int, ...]
    dtype: str = "float32"
    constant: bool = False
    stage: Stage | None = None
    title: str = ""  # what the user calls the work: "matmul 64 x 64 x 64"
    template: Any = None  # how the user wants it scheduled: a function of schedule and knobs

    def __getitem__(self, index: IndexLike | tuple[IndexLike, ...]) -> Load:
        index = index if isinstance(index, tuple) else (index,)
        if len(index) != len(self.shape):
            raise ExpressionError(
                f"{self.name} has {len(self.shape)} dimensions {self.shape}, "
                f"but is indexed with {len(index)}."
            )
        return _TensorLoad(self.name, tuple(affine(i) for i in index), self.dtype, self)

    def __repr__(self) -> str:
        shape = " x ".join(map(str, self.shape)) or "scalar"
        return f"{self.name}: {self.dtype} {shape}" + (
            f" = {self.stage.value}" if self.stage else ""
        )

    @property
    def stages(self) -> tuple[Tensor, ...]:
        """Every computed tensor that this one needs, in order, itself last."""
        return tuple(t for t in _reach(self) if t.stage)

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """Every tensor that must be given, in the order in which the expression first loads it."""
        return tuple(t for t in _reach(self) if not t.stage)

    @property
    def canonical(self) -> str:
        """The expression as text: equal texts are equal work, whatever the operator was called."""
        lines = [f"{t.name}:{t.dtype}{list(t.shape)}{'const' * t.constant}" for t in self.inputs]
        for t in self.stages:
            assert t.stage
            reduce = t.stage.reduce_axes
            ranges = ",".join(f"{a.name}<{a.extent}" for a in (*t.stage.axes, *reduce))
            lines.append(f"{t.name}:{t.dtype}{list(t.shape)} for {ranges} = {t.stage.value}")
        return "\n".join(lines)

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
            points = 1
            for axis in (*t.stage.axes, *t.stage.reduce_axes):
                points *= axis.extent
            total += points * _operations(t.stage.value)
        return total


@dataclass(frozen=True, slots=True)
class _TensorLoad(Load):
    """A load that still knows its tensor; equal to, and printed as, a plain one."""

    tensor: Tensor


@dataclass(frozen=True, slots=True)
class Stage:
    """How a tensor is computed: a value for each point of its axes."""

    axes: tuple[Axis, ...]
    value: Scalar

    @property
    def reduce_axes(self) -> tuple[Axis, ...]:
        return self.value.axes if isinstance(self.value, Reduce) else ()


def tensor(
    name: str, shape: Sequence[int], dtype: str = "float32", *, constant: bool = False
) -> Tensor:
    """Declare an input. `constant` promises that its values never change: it may be packed."""
    return Tensor(name, _shape(name, shape), dtypes.check(dtype), constant)


def reduce_axis(name: str, extent: int) -> Axis:
    """Declare an axis to reduce over."""
    return Axis(name, extent, reduce=True)


def compute(name: str, shape: Sequence[int], value: Callable[..., ScalarLike]) -> Tensor:
    """Declare a tensor by the value of its elements; the function's arguments name its axes.

    >>> a = tensor("A", (4, 8))
    >>> compute("B", (4, 8), lambda y, x: a[y, x] * 2.0)
    B: float32 4 x 8 = (A[y, x] * 2.0)
    """
    shape = _shape(name, shape)
    names = _axis_names(value, len(shape))
    axes = tuple(Axis(n, e) for n, e in zip(names, shape, strict=True))
    body = scalar(value(*axes), "float32")
    taken = [a.name for a in (*axes, *(body.axes if isinstance(body, Reduce) else ()))]
    if len(set(taken)) != len(taken):
        raise ExpressionError(f"axes of {name} share a name: {', '.join(taken)}; rename one.")
    _check(name, body, set(taken))
    reduced = body.axes if isinstance(body, Reduce) else ()
    extents = {axis.name: axis.extent for axis in (*axes, *reduced)}
    shapes = {t.name: t.shape for t in _tensors(body)}
    check_loads(name, body.value if isinstance(body, Reduce) else body, extents, shapes)
    return Tensor(name, shape, body.dtype, False, Stage(axes, body))


def reduce(kind: str, value: ScalarLike, over: Axis | Sequence[Axis]) -> Reduce:
    axes = (over,) if isinstance(over, Axis) else tuple(over)
    body = scalar(value, "float32")
    for axis in axes:
        if not axis.reduce:
            raise ExpressionError(f"cannot reduce over {axis!r}: declare it with reduce_axis.")
    if body.dtype == "bool":
        raise ExpressionError(f"{kind} of {body} is of bool: cast it, as in cast('int32', ...).")
    return Reduce(kind, axes, body, body.dtype)


def sum(value: ScalarLike, over: Axis | Sequence[Axis]) -> Reduce:
    """Add up `value` over one or more reduce axes."""
    return reduce("sum", value, over)


def max(value: ScalarLike, over: Axis | Sequence[Axis]) -> Reduce:
    """Take the greatest `value` over one or more reduce axes."""
    return reduce("max", value, over)


def maximum(a: ScalarLike, b: ScalarLike) -> Scalar:
    return binary("max", a, b)


def minimum(a: ScalarLike, b: ScalarLike) -> Scalar:
    return binary("min", a, b)


def select(condition: Scalar, yes: ScalarLike, no: ScalarLike) -> Select:
    """Choose by `condition`; the side that is not chosen is not loaded."""
    dtype = yes.dtype if isinstance(yes, Scalar) else getattr(no, "dtype", "float32")
    a, b = scalar(yes, dtype), scalar(no, dtype)
    if condition.dtype != "bool" or a.dtype != b.dtype:
        raise ExpressionError(
            f"select({condition}, {a}, {b}) is of {condition.dtype}, {a.dtype} and {b.dtype}: "
            "it needs a condition, and two values of one type; cast one of them."
        )
    return Select(condition, a, b, a.dtype)


def cast(dtype: str, value: ScalarLike) -> Cast:
    return Cast(scalar(value, dtype), dtypes.check(dtype))


def unary(op: str, value: Scalar) -> Unary:
    return Unary(op, value, value.dtype)


def plain(value: Scalar) -> Scalar:
    """Forget which tensors the loads came from."""
    from tilewright.expr.scalar import rebuild

    return rebuild(
        value,
        lambda v: Load(v.buffer, v.index, v.dtype) if isinstance(v, _TensorLoad) else v,
    )


def _shape(name: str, shape: Sequence[int]) -> tuple[int, ...]:
    shape = tuple(int(extent) for extent in shape)
    if any(extent < 1 for extent in shape):
        raise ExpressionError(f"shape {shape} of {name}: every extent must be at least 1.")
    if _product(shape) > 1 << 40:
        raise ExpressionError(f"shape {shape} of {name} has more than 2^40 elements.")
    return shape


def _product(shape: Sequence[int]) -> int:
    total = 1
    for extent in shape:
        total *= extent
    return total


def _axis_names(function: Callable[..., Any], rank: int) -> list[str]:
    parameters = list(inspect.signature(function).parameters.values())
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return [f"i{d}" for d in range(rank)]
    if len(parameters) != rank:
        raise ExpressionError(
            f"a function of {len(parameters)} axes cannot fill a tensor of {rank} dimensions."
        )
    return [p.name for p in parameters]


def _tensors(value: Scalar) -> list[Tensor]:
    if isinstance(value, _TensorLoad):
        return [value.tensor]
    inner = (value.value,) if isinstance(value, Reduce) else children(value)
    return list(itertools.chain.from_iterable(map(_tensors, inner)))


def _reach(root: Tensor) -> list[Tensor]:
    order: list[Tensor] = []
    names: dict[str, Tensor] = {}

    def visit(t: Tensor) -> None:
        if t.name in names:
            if names[t.name] is not t:
                raise ExpressionError(f"two tensors are called {t.name!r}; rename one.")
            return
        names[t.name] = t
        for source in _tensors(t.stage.value) if t.stage else ():
            visit(source)
        order.append(t)

    visit(root)
    return order


def _operations(value: Scalar) -> int:
    from tilewright.expr.scalar import Binary

    inner = (value.value,) if isinstance(value, Reduce) else children(value)
    own = isinstance(value, Reduce | Unary) or (isinstance(value, Binary) and value.dtype != "bool")
    return int(own) + builtins.sum(_operations(v) for v in inner)


def _check(name: str, value: Scalar, axes: set[str], top: bool = True) -> None:
    """Refuse reductions below the top, and variables that belong to no axis of the stage."""
    if isinstance(value, Reduce) and not top:
        raise ExpressionError(
            f"{name} reduces inside a larger expression: make the reduction a stage of its own."
        )
    indices = value.index if isinstance(value, Load) else (getattr(value, "index", None),)
    for index in indices:
        for variable in index.variables if isinstance(index, Affine) else ():
            if variable not in axes:
                raise ExpressionError(
                    f"{value} in {name} uses {variable!r}, which is neither an axis of {name} nor "
                    f"reduced over; its axes are {', '.join(sorted(axes)) or 'none'}."
                )
    for child in (value.value,) if isinstance(value, Reduce) else children(value):
        _check(name, child, axes, top=False)
