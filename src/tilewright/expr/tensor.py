"""Tensors, axes and stages: the words in which a user says what to compute."""

from __future__ import annotations

import builtins
import hashlib
import inspect
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from tilewright import dtypes
from tilewright.errors import ExpressionError
from tilewright.expr import ufuncs
from tilewright.expr.affine import Affine, AffineLike
from tilewright.expr.parts import children, excess, walk
from tilewright.expr.scalar import (
    Cast,
    Const,
    Index,
    Load,
    Scalar,
    ScalarLike,
    Select,
    Table,
    Unary,
    Within,
    binary,
    scalar,
    unary,
)
from tilewright.expr.verify import check_loads, check_places

REDUCTIONS = ("sum", "max", "min", "prod")


class Axis:
    """A named range of integers, 0 <= axis < extent; arithmetic on it builds affine indices."""

    __slots__ = ("extent", "name", "reduce")

    def __init__(self, name: str, extent: Any, reduce: bool = False) -> None:
        whole = _whole(extent)
        if whole is None or whole < 1:
            raise ExpressionError(
                f"axis {name!r} of extent {extent!r}: an extent is a positive integer."
            )
        self.name, self.extent, self.reduce = _name("an axis", name), whole, reduce

    @property
    def affine(self) -> Affine:
        return Affine(0, ((self.name, 1),))

    def __add__(self, other: IndexLike) -> Affine:
        return self.affine + other

    def __radd__(self, other: IndexLike) -> Affine:
        return self.affine + other

    def __sub__(self, other: IndexLike) -> Affine:
        return self.affine - other

    def __rsub__(self, other: IndexLike) -> Affine:
        return other - self.affine

    def __neg__(self) -> Affine:
        return -self.affine

    def __mul__(self, factor: int) -> Affine:
        return self.affine * factor

    def __rmul__(self, factor: int) -> Affine:
        return self.affine * factor

    def __truediv__(self, other: Any) -> Any:
        return self.affine / other

    def __rtruediv__(self, other: Any) -> Any:
        return other / self.affine

    def __floordiv__(self, other: Any) -> Any:
        return self.affine // other

    def __rfloordiv__(self, other: Any) -> Any:
        return other // self.affine

    def __mod__(self, other: Any) -> Any:
        return self.affine % other

    def __rmod__(self, other: Any) -> Any:
        return other % self.affine

    def __pow__(self, other: Any) -> Any:
        return self.affine**other

    def __rpow__(self, other: Any) -> Any:
        return other**self.affine

    def __ge__(self, low: IndexLike) -> Within:
        return self.affine >= low

    def __lt__(self, high: IndexLike) -> Within:
        return self.affine < high

    def __gt__(self, low: IndexLike) -> Within:
        return self.affine > low

    def __le__(self, high: IndexLike) -> Within:
        return self.affine <= high

    def __bool__(self) -> bool:
        return bool(self.affine)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **_: Any) -> Any:
        return ufuncs.apply(ufunc, method, inputs)

    def __repr__(self) -> str:
        return f"{self.name}({self.extent})"


IndexLike = Axis | Affine | int | np.integer[Any]


def affine(index: IndexLike | AffineLike) -> Affine:
    """Return an index of a load; raise ExpressionError for what is no affine index."""
    made = Affine.of(index)
    if any(isinstance(part, np.ndarray) for part in (made.constant, *(c for _, c in made.terms))):
        raise ExpressionError(f"{index} is no affine index: it holds an array; index by one axis.")
    return made


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
            points = 1
            for axis in (*t.stage.axes, *t.stage.reduce_axes):
                points *= axis.extent
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
    return Tensor(_name("a tensor", name), _shape(name, shape), dtypes.check(dtype), constant)


def reduce_axis(name: str, extent: int | np.integer[Any]) -> Axis:
    """Declare an axis to reduce over."""
    return Axis(name, extent, reduce=True)


def compute(name: str, shape: Sequence[int] | int, value: Callable[..., ScalarLike]) -> Tensor:
    """Declare a tensor by the value of its elements; the function's arguments name its axes.

    A value has at most 128 levels and 16384 parts: a longer one is made of several stages.

    >>> a = tensor("A", (4, 8))
    >>> compute("B", (4, 8), lambda y, x: a[y, x] * 2.0)
    B: float32 4 x 8 = (A[y, x] * 2.0)
    """
    shape = _shape(_name("a tensor", name), shape)
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
    _check(name, body, set(taken))
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


class Constants:
    """A small constant array inside of an expression; made by `table`, indexed like a tensor."""

    def __init__(self, name: str, array: Any, dtype: str) -> None:
        wide = np.float64 if dtypes.is_float(dtype) else dtypes.numpy(dtype)
        try:
            given = np.asarray(array)
            made = np.zeros(0) if given.dtype.kind not in "biuf" else given.astype(wide)
            fits = made.shape == given.shape and np.array_equal(made, given, equal_nan=True)
        except (TypeError, ValueError, OverflowError):
            fits, made = False, np.zeros(0)
        if not isinstance(name, str) or not name or not fits or not made.size:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ExpressionError(
                f"cannot make table {name!r} of {array!r}: give a name, and an array of numbers "
                f"that {dtype} can hold."
            )
        self.name, self.shape, self.dtype = name, made.shape, dtype
        self.values = tuple(made.ravel().tolist())

    def __getitem__(self, index: IndexLike | tuple[IndexLike, ...]) -> Table:
        index = index if isinstance(index, tuple) else (index,)
        if len(index) != len(self.shape):
            raise ExpressionError(
                f"{self.name} has {len(self.shape)} dimensions {self.shape}, "
                f"but is indexed with {len(index)}."
            )
        at = tuple(affine(i) for i in index)
        return Table(self.name, self.values, self.shape, at, self.dtype)


def table(name: str, array: Any, dtype: Any = "float32") -> Constants:
    """Make a small constant array part of an expression, as the matrix of a transform is.

    A product with one of its zeros is nothing where a schedule writes the loops out: it may then
    be left out of a sum even if the other factor is infinite or no number.

    >>> import tilewright as tw
    >>> smooth = tw.table("S", [[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]])
    >>> x, k = tw.tensor("X", (3,)), tw.reduce_axis("k", 3)
    >>> tw.compute("Y", (2,), lambda i: tw.sum(smooth[i, k] * x[k], over=k))
    Y: float32 2 = sum((S[i, k] * X[k]), over=k)
    """
    return Constants(name, array, dtypes.check(dtype))


def reduce(kind: str, value: ScalarLike, over: Axis | Sequence[Axis]) -> Reduce:
    axes = (over,) if isinstance(over, Axis) else tuple(over)
    body = scalar(value, "float32")
    if not axes:
        raise ExpressionError(f"{kind} of {body} over no axis: name one, made by reduce_axis.")
    for axis in axes:
        if not isinstance(axis, Axis):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ExpressionError(
                f"cannot reduce over {over!r}: give the axis itself, as in "
                f"k = reduce_axis('k', 8) and {kind}(..., over=k)."
            )
        if not axis.reduce:
            raise ExpressionError(f"cannot reduce over {axis!r}: declare it with reduce_axis.")
    if body.dtype == "bool":
        raise ExpressionError(f"{kind} of {body} is of bool: cast it, as in cast('int32', ...).")
    if kind in ("sum", "prod") and body.dtype in dtypes.SHORT_FLOATS:
        raise ExpressionError(
            f"{kind} of {body} is of {body.dtype}, in which numbers are stored but not added up: "
            "cast it, as in sum(cast('float32', a[k]), over=k), and the result back if wanted."
        )
    return Reduce(kind, axes, body, body.dtype)


def sum(value: ScalarLike, over: Axis | Sequence[Axis]) -> Reduce:
    """Add up `value` over one or more reduce axes, in the type of `value`.

    Small integers wrap where the sum leaves their type, and float32 adds up in float32: cast the
    value first for more, as in `sum(cast("int32", a[k]) * cast("int32", b[k]), over=k)`.
    """
    return reduce("sum", value, over)


def max(value: ScalarLike, over: Axis | Sequence[Axis]) -> Reduce:
    """Take the greatest `value` over one or more reduce axes; NaN if any is."""
    return reduce("max", value, over)


def min(value: ScalarLike, over: Axis | Sequence[Axis]) -> Reduce:
    """Take the least `value` over one or more reduce axes; NaN if any is.

    >>> a, k = tensor("A", (4, 8)), reduce_axis("k", 8)
    >>> compute("B", (4,), lambda y: min(a[y, k], over=k))
    B: float32 4 = min(A[y, k], over=k)
    """
    return reduce("min", value, over)


def prod(value: ScalarLike, over: Axis | Sequence[Axis]) -> Reduce:
    """Multiply `value` over one or more reduce axes.

    >>> a, k = tensor("A", (4, 8)), reduce_axis("k", 8)
    >>> compute("B", (4,), lambda y: prod(a[y, k], over=k))
    B: float32 4 = prod(A[y, k], over=k)
    """
    return reduce("prod", value, over)


def maximum(a: ScalarLike, b: ScalarLike) -> Scalar:
    """Take the greater of two values; NaN if either is."""
    return binary("max", a, b)


def minimum(a: ScalarLike, b: ScalarLike) -> Scalar:
    """Take the lesser of two values; NaN if either is."""
    return binary("min", a, b)


def select(condition: Scalar, yes: ScalarLike, no: ScalarLike) -> Select:
    """Choose by `condition`; the side that is not chosen is not loaded.

    Conditions on indices may so guard loads that would leave their tensor; those on data may not.
    """
    if not isinstance(condition, Scalar):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ExpressionError(
            f"select({condition!r}, ...) needs a condition, and was given {condition!r} "
            f"({type(condition).__name__}): compare with <, <=, > or >=, with equal(a, b) instead "
            "of a == b and not_equal(a, b) instead of a != b, and write ~condition for not."
        )
    dtype = _dtype_of(yes) or _dtype_of(no) or "float32"
    a, b = scalar(yes, dtype), scalar(no, dtype)
    if condition.dtype != "bool" or a.dtype != b.dtype:
        raise ExpressionError(
            f"select({condition}, {a}, {b}) is of {condition.dtype}, {a.dtype} and {b.dtype}: "
            "it needs a condition, and two values of one type; cast one of them."
        )
    return Select(condition, a, b, a.dtype)


def _dtype_of(value: ScalarLike) -> str | None:
    """Return the type that an operand has by itself; a number takes that of the other."""
    if isinstance(value, Scalar):
        return value.dtype
    return "int64" if isinstance(value, Axis | Affine) else None


def cast(dtype: Any, value: ScalarLike) -> Cast:
    """Convert a value to `dtype`, as in `cast("float32", n[i])`; floats lose their fraction."""
    if isinstance(dtype, Scalar | Axis | Affine):
        raise ExpressionError(
            f"cast({dtype}, {value!r}): the type comes first, as in cast({str(value)!r}, ...)."
        )
    dtype = dtypes.check(dtype)
    number = isinstance(value, float) and dtypes.number(value, dtype) is None
    return Cast(scalar(value, "float64" if number else dtype), dtype)


def exp(value: ScalarLike) -> Unary:
    """Raise e to the power of a float.

    >>> a = tensor("A", (4,))
    >>> compute("B", (4,), lambda i: exp(a[i]))
    B: float32 4 = exp(A[i])
    """
    return unary("exp", value)


def log(value: ScalarLike) -> Unary:
    """Take the natural logarithm of a float; that of zero is -inf, of less NaN.

    >>> n = tensor("N", (4,), "int32")
    >>> compute("B", (4,), lambda i: log(cast("float32", n[i])))
    B: float32 4 = log(float32(N[i]))
    """
    return unary("log", value)


def sqrt(value: ScalarLike) -> Unary:
    """Take the square root of a float; that of less than zero is NaN.

    >>> a = tensor("A", (4,))
    >>> compute("B", (4,), lambda i: 1.0 / sqrt(a[i] + 1e-5))
    B: float32 4 = (1.0 / sqrt((A[i] + 1e-05)))
    """
    return unary("sqrt", value)


def tanh(value: ScalarLike) -> Unary:
    """Take the hyperbolic tangent of a float.

    >>> a = tensor("A", (4,))
    >>> compute("B", (4,), lambda i: tanh(a[i]))
    B: float32 4 = tanh(A[i])
    """
    return unary("tanh", value)


def sigmoid(value: ScalarLike) -> Unary:
    """Take the logistic function 1 / (1 + exp(-x)) of a float.

    >>> a = tensor("A", (4,))
    >>> compute("silu", (4,), lambda i: a[i] * sigmoid(a[i]))
    silu: float32 4 = (A[i] * sigmoid(A[i]))
    """
    return unary("sigmoid", value)


def erf(value: ScalarLike) -> Unary:
    """Take the error function of a float, of which GELU is made.

    >>> a = tensor("A", (4,))
    >>> compute("gelu", (4,), lambda i: a[i] * 0.5 * (1.0 + erf(a[i] * 0.5**0.5)))
    gelu: float32 4 = ((A[i] * 0.5) * (1.0 + erf((A[i] * 0.7071067811865476))))
    """
    return unary("erf", value)


def floor(value: ScalarLike) -> Unary:
    """Round a float down to a whole number, which stays a float.

    >>> a = tensor("A", (4,))
    >>> compute("B", (4,), lambda i: a[i] - floor(a[i]))
    B: float32 4 = (A[i] - floor(A[i]))
    """
    return unary("floor", value)


def rint(value: ScalarLike) -> Unary:
    """Round a float to the nearest whole number, halves to the even one; it stays a float.

    >>> a = tensor("A", (4,))
    >>> compute("B", (4,), lambda i: cast("int32", rint(a[i])))
    B: int32 4 = int32(rint(A[i]))
    """
    return unary("rint", value)


def plain(value: Scalar) -> Scalar:
    """Forget which tensors the loads came from."""
    from tilewright.expr.parts import rebuild

    return rebuild(
        value,
        lambda v: Load(v.buffer, v.index, v.dtype, v.gathered) if isinstance(v, _TensorLoad) else v,
    )


def _whole(value: Any) -> int | None:
    """Return an integer, NumPy's too, as Python's; None for what is none."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


def _name(of: str, name: Any) -> str:
    if not isinstance(name, str) or not name:
        raise ExpressionError(f"{name!r} is no name for {of}: give a text that is not empty.")
    return name


def _shape(name: str, shape: Sequence[int] | int) -> tuple[int, ...]:
    given: Any = (shape,) if _whole(shape) is not None else shape
    wholes = [_whole(e) for e in given] if isinstance(given, Iterable) else [None]
    shape = tuple(whole for whole in wholes if whole is not None)
    if len(shape) < len(wholes):
        raise ExpressionError(
            f"shape {given!r} of {name}: give a tuple of integers, as in (4, 8), or one integer."
        )
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
    table = isinstance(value, Load | Table)
    indices = value.index if table else (getattr(value, "index", None),)
    for index in indices:
        for variable in index.variables if isinstance(index, Affine) else ():
            if variable not in axes:
                raise ExpressionError(
                    f"{value} in {name} uses {variable!r}, which is neither an axis of {name} nor "
                    f"reduced over; its axes are {', '.join(sorted(axes)) or 'none'}."
                )
    for child in (value.value,) if isinstance(value, Reduce) else children(value):
        _check(name, child, axes, top=False)
