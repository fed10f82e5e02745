"""Import what is made of whole rows: reductions, softmax and normalisation."""

from __future__ import annotations

import math
from collections.abc import Callable

from tilewright.graph.ir import Shape
from tilewright.graph.torch.images import per_channel
from tilewright.graph.torch.pointwise import Importer
from tilewright.graph.torch.source import Refusal, Source
from tilewright.ops.program import Program, Step


def reduced(kind: str) -> Importer:
    """Return the importer of a reduction, computed in the result's type."""

    def imported(source: Source) -> str:
        ((shape, dtype), *_) = source.results
        return source.reshaped(_over(source, source.operand("self", dtype), kind), shape)

    return imported


def greatest(kind: str) -> Callable[[Source], tuple[str, str]]:
    """Return the importer of an extreme along an axis, and of its place."""

    def imported(source: Source) -> tuple[str, str]:
        ((shape, _), _) = source.results
        values = source.reshaped(_over(source, source.value(), kind), shape)
        return values, place(kind)(source)

    return imported


def place(kind: str) -> Importer:
    """Return the importer of the place of an extreme: the first of several."""

    def imported(source: Source) -> str:
        value, shape = source.value(), source.results[-1][0]
        if not source.has("dim"):
            value = source.reshaped(value, (math.prod(source.shape()),))
        axis = source.axis("dim", len(source.shape())) if source.has("dim") else 0
        made = source.node("argmax", value, axis=axis, least=int(kind == "min"), last=0)
        return source.reshaped(made, shape)

    return imported


def every(kind: str) -> Importer:
    """Return the importer of whether all elements are true, or any is."""

    def imported(source: Source) -> str:
        ((shape, _),) = source.results
        value = source.cast(source.operand("self", "bool"), "int32")
        return source.reshaped(source.cast(_over(source, value, kind), "bool"), shape)

    return imported


def _over(source: Source, value: str, kind: str) -> str:
    axes = _axes(source)
    return source.node("reduce", value, kind=kind, axes=axes) if axes else value


def _axes(source: Source) -> Shape:
    """Return the axes of a reduction, by default all."""
    rank = len(source.shape())
    if not rank:
        return ()
    asked = source.integers("dim") if source.has("dim") else ()
    return tuple(sorted(source.axes(asked, rank))) or tuple(range(rank))


def variance(source: Source) -> str:
    ((shape, _),) = source.results
    return source.reshaped(_moments(source)[0], shape)


def variance_and_mean(source: Source) -> tuple[str, str]:
    made = _moments(source)
    spread, mean = (source.reshaped(v, s) for v, (s, _) in zip(made, source.results, strict=True))
    return spread, mean


def _moments(source: Source) -> tuple[str, str]:
    axes, value, dtype = _axes(source), source.value(), source.dtype()
    correction = source.argument("correction", 1)
    count = math.prod(source.shape()[axis] for axis in axes)
    if not axes or count <= correction:
        raise Refusal(f"it divides {count} squares by {count - correction}")
    mean = source.node("reduce", value, kind="mean", axes=axes)
    apart = source.map(Program(2, (Step("sub", (0, 1)), Step("mul", (2, 2)))), value, mean)
    made = source.node("reduce", apart, kind="mean", axes=axes)
    factor = source.number(count / (count - correction), dtype)
    return source.map("mul", made, factor), mean


def norm(source: Source) -> str:
    """The length of vectors: the root of their squares, their sum, or their greatest element."""
    ((shape, dtype),), order = source.results, source.argument("ord", 2)
    kinds = {1: ("abs", "sum"), 2: ("square", "sum"), math.inf: ("abs", "max")}
    if order not in kinds:
        raise Refusal(f"it is of order {order}")
    each, kind = kinds[order]
    steps = (Step("mul", (0, 0)),) if each == "square" else (Step("abs", (0,)),)
    value = source.map(Program(1, steps), source.operand("self", dtype))
    made = _over(source, value, kind)
    return source.reshaped(source.map("sqrt", made) if order == 2 else made, shape)


def softmax(log: int) -> Importer:
    """Return the importer of softmax, or of its logarithm."""

    def imported(source: Source) -> str:
        ((shape, dtype),) = source.results
        axis = source.axis("dim", len(shape))
        return source.node("softmax", source.operand("self", dtype), axis=axis, log=log)

    return imported


def batch_norm(source: Source) -> tuple[str]:
    """Scale and shift by the running mean and variance."""
    size = len(source.shape("input")) - 2
    mean, var = (per_channel(source, f"running_{name}", size) for name in ("mean", "var"))
    dtype = source.builder.dtype(var)
    steps = (
        Step("constant", (), (source.argument("eps"), dtype)), Step("add", (0, 1)),
        Step("sqrt", (2,)), Step("constant", (), (1.0, dtype)), Step("div", (4, 3)),
    )  # fmt: skip
    factor = source.map(Program(1, steps), var)
    if source.has("weight"):
        factor = source.map("mul", factor, per_channel(source, "weight", size))
    addend = source.map("neg", source.map("mul", mean, factor))
    if source.has("bias"):
        addend = source.map("add", addend, per_channel(source, "bias", size))
    made = Program(3, (Step("mul", (0, 1)), Step("add", (3, 2))))
    return (source.map(made, source.value("input"), factor, addend),)


def batch_norm_by_itself(source: Source) -> tuple[str]:
    """Normalise each channel by the mean and variance of the batch itself, the first result."""
    rank, epsilon = len(source.shape("input")), float(source.argument("eps"))
    dtype, axes = source.dtype("input"), (0, *range(2, rank))
    value = source.value("input")
    mean = source.node("reduce", value, kind="mean", axes=axes)
    apart = source.map("sub", value, mean)
    square = source.map(Program(1, (Step("mul", (0, 0)),)), apart)
    spread = source.node("reduce", square, kind="mean", axes=axes)
    steps = (
        Step("constant", (), (epsilon, dtype)), Step("add", (1, 2)), Step("sqrt", (3,)),
        Step("div", (0, 4)),
    )  # fmt: skip
    made = source.map(Program(2, steps), apart, spread)
    for function, name in ("mul", "weight"), ("add", "bias"):
        if source.has(name):
            made = source.map(function, made, per_channel(source, name, rank - 2))
    return (made,)


def layer_norm(source: Source) -> tuple[str]:
    """Import the first result; nothing computes the means and the deviations."""
    shape = source.shape("input")
    axis = len(shape) - len(source.integers("normalized_shape"))
    epsilon = float(source.argument("eps"))
    made = source.node("layer_norm", source.value("input"), axis=axis, epsilon=epsilon, rms=0)
    if source.has("weight"):
        made = source.map("mul", made, source.value("weight"))
    return (source.map("add", made, source.value("bias")) if source.has("bias") else made,)


def group_norm(source: Source) -> tuple[str]:
    """Import the first result; nothing computes the means and the deviations."""
    shape = source.shape("input")
    groups, epsilon = source.argument("group"), float(source.argument("eps"))
    if len(shape) < 3:
        raise Refusal(f"it normalises a tensor of shape {shape}, which is no image")
    made = source.node("group_norm", source.value("input"), groups=groups, epsilon=epsilon, first=1)
    if source.has("weight"):
        made = source.map("mul", made, per_channel(source, "weight", len(shape) - 2))
    if source.has("bias"):
        made = source.map("add", made, per_channel(source, "bias", len(shape) - 2))
    return (made,)
