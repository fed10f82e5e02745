"""Import normalisation, by numbers of the model or by the mean and spread of the data itself."""

from __future__ import annotations

from tilewright.graph.ir import Shape
from tilewright.graph.onnx.images import image, per_channel
from tilewright.graph.onnx.pooling import power_of, root_of
from tilewright.graph.onnx.source import Refusal, Source
from tilewright.ops.program import Program, Step

# x * a + b, and 1 / sqrt(x + epsilon) times a.
_SCALED = Program(3, (Step("mul", (0, 1)), Step("add", (3, 2))))


def batch_norm(source: Source) -> str | tuple[str, ...]:
    shape = source.shape()
    if len(shape) < 2:
        raise Refusal(f"its input has the shape {shape}, without channels")
    X, (scale, shift, mean, var) = source.value(), (per_channel(source, i) for i in range(1, 5))
    if not source.attribute("training_mode", 0):
        return _normalised(source, X, mean, var, scale, shift)
    axes = (0, *range(2, len(shape)))
    here = source.node("reduce", X, part="mean", kind="mean", axes=axes)
    apart = source.map("sub", X, here, part="apart")
    squares = source.map("mul", apart, apart, part="squares")
    spread = source.node("reduce", squares, part="variance", kind="mean", axes=axes)
    made = _normalised(source, X, here, spread, scale, shift)
    running = [
        source.reshaped(_moved(source, old, new, f"part{i}"), shape[1:2], part=f"running{i}")
        for i, (old, new) in enumerate(((mean, here), (var, spread)))
    ]
    return made, *running


def _normalised(source: Source, X: str, mean: str, var: str, scale: str, shift: str) -> str:
    root = Program(1, (
        Step("constant", (), (source.attribute("epsilon", 1e-5), source.builder.dtype(var))),
        Step("add", (0, 1)),
        Step("sqrt", (2,)),
    ))  # fmt: skip
    scale, shift = _as(source, scale, var, "scale"), _as(source, shift, var, "shift")
    mean = _as(source, mean, var, "middle")
    deviation = source.map(root, var, part="deviation")
    factor = source.map("div", scale, deviation, part="factor")
    product = source.map("mul", mean, factor, part="product")
    addend = source.map("sub", shift, product, part="addend")
    given = _as(source, factor, X, "by"), _as(source, addend, X, "plus")
    return source.map(_SCALED, X, *given)


def _moved(source: Source, old: str, new: str, part: str) -> str:
    """Return a running mean: `momentum` of the old, and the rest of the new."""
    share, dtype = source.attribute("momentum", 0.9), source.builder.dtype(old)
    program = Program(2, (
        Step("constant", (), (share, dtype)), Step("mul", (0, 2)),
        Step("constant", (), (1 - share, dtype)), Step("mul", (1, 4)), Step("add", (3, 5)),
    ))  # fmt: skip
    return source.map(program, old, _as(source, new, old, f"{part}.new"), part=part)


def instance_norm(source: Source) -> str:
    return _by_groups(source, image(source, most=None)[1], per_channel(source, 1),
                      per_channel(source, 2))  # fmt: skip


def group_norm(source: Source) -> str:
    """Scale and shift each channel; in the operator set of 18, each group."""
    shape, groups = image(source, most=None), source.attribute("num_groups", 1)
    if groups < 1 or shape[1] % groups:
        raise Refusal(f"{groups} groups of the channels of its input of shape {shape}")
    given = [per_channel(source, i) for i in (1, 2)]
    if source.shape(1) == (shape[1],):
        return _by_groups(source, groups, *given)
    if source.shape(1) != (groups,):
        raise Refusal(f"its scale has the shape {source.shape(1)}, for {groups} groups")
    each = (groups, shape[1] // groups, *shape[2:])
    made = _by_groups(source, groups, part="normal")
    seen = source.reshaped(made, (shape[0], *each), part="groups")
    given = [
        source.reshaped(value, (groups, *(1,) * (len(each) - 1)), part=f"each{i}")
        for i, value in enumerate(given)
    ]
    return source.reshaped(source.map(_SCALED, seen, *given, part="scaled"), shape)


def _by_groups(
    source: Source, groups: int, scale: str = "", shift: str = "", part: str = "normal"
) -> str:
    epsilon = source.attribute("epsilon", 1e-5)
    X = source.value()
    made = source.node("group_norm", X, part=part, groups=groups, epsilon=epsilon, first=1)
    return source.map(_SCALED, made, scale, shift) if scale else made


def mean_variance_norm(source: Source) -> str:
    shape = source.shape()
    axes = source.axes(source.attribute("axes", (0, 2, 3)), len(shape))
    X, sorted_axes = source.value(), tuple(sorted(axes))
    mean = source.node("reduce", X, part="mean", kind="mean", axes=sorted_axes)
    apart = source.map("sub", X, mean, part="apart")
    squares = source.map("mul", apart, apart, part="squares")
    spread = source.node("reduce", squares, part="variance", kind="mean", axes=sorted_axes)
    by = Program(2, (
        Step("sqrt", (1,)), Step("constant", (), (1e-9, source.dtype())), Step("add", (2, 3)),
        Step("div", (0, 4)),
    ))  # fmt: skip
    return source.map(by, apart, spread)


def lp_norm(source: Source) -> str:
    """Divide by the norm of a row; a row of zeros stays one."""
    shape, power, dtype = source.shape(), float(source.attribute("p", 2)), source.dtype()
    axes: Shape = source.axes((source.attribute("axis", -1),), len(shape))
    X = source.value()
    powers = source.map(power_of(power, dtype), X, part="powers")
    total = source.node("reduce", powers, part="total", kind="sum", axes=axes)
    norm = source.map(root_of(power, dtype), total, part="norm")
    by = Program(2, (
        Step("constant", (), (0.0, dtype)), Step("equal", (1, 2)), Step("div", (0, 1)),
        Step("select", (3, 2, 4)),
    ))  # fmt: skip
    return source.map(by, X, norm)


def local_response_norm(source: Source) -> str:
    """Divide by a power of the sum of squares of the channels around."""
    image(source, most=None)
    size, dtype = source.attribute("size", 1), source.dtype()
    if size < 1:
        raise Refusal(f"size {size} of its windows")
    alpha, beta, bias = (
        source.attribute(name, default)
        for name, default in (("alpha", 1e-4), ("beta", 0.75), ("bias", 1.0))
    )
    X = source.value()
    squares = source.map("mul", X, X, part="squares")
    before = (size - 1) // 2
    total = source.node(
        "window_sum", squares, part="total", axis=1, before=before, behind=size - 1 - before
    )
    by = Program(2, (
        Step("constant", (), (alpha / size, dtype)), Step("mul", (1, 2)),
        Step("constant", (), (bias, dtype)), Step("add", (3, 4)),
        Step("constant", (), (beta, dtype)), Step("pow", (5, 6)), Step("div", (0, 7)),
    ))  # fmt: skip
    return source.map(by, X, total)


def _as(source: Source, value: str, like: str, part: str) -> str:
    """Return a value in the element type of another."""
    dtype = source.builder.dtype(like)
    if source.builder.dtype(value) == dtype:
        return value
    return source.map(Program.of("cast", 1, dtype), value, part=part)
