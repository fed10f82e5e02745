"""Import what is made of whole rows: softmax and normalisation."""

from __future__ import annotations

import math
from collections.abc import Callable

from tilewright import dtypes
from tilewright.graph.onnx.source import Source
from tilewright.ops.program import Draft, Program

WHOLE_ROWS = 13  # the operator set before which softmax was over all axes from its own on


def softmax(*, log: bool) -> Callable[[Source], str]:
    """Return the importer of softmax, or of its logarithm."""

    def imported(source: Source) -> str:
        shape, old = source.shape(), source.opset < WHOLE_ROWS
        (axis,) = source.axes((source.attribute("axis", 1 if old else -1),), len(shape))
        if not old or math.prod(shape[axis + 1 :]) == 1:
            return source.node("softmax", source.value(), axis=axis, log=int(log))
        rows = source.reshaped(
            source.value(), (math.prod(shape[:axis]), math.prod(shape[axis:])), "rows"
        )
        made = source.node("softmax", rows, axis=1, log=int(log), part="of_rows")
        return source.node("reshape", made, shape=shape)

    return imported


def layer_norm(source: Source) -> str | tuple[str, ...]:
    """Normalise from an axis on, scale and shift; further outputs are mean and inverse deviation.

    They are computed in the type that `stash_type` says, float32 as a rule.
    """
    made = _normalised(source, rms=False, scaled=source.has(1), shifted=source.has(2))
    if not any(source.outputs[1:]):
        return made
    return (made, *_moments(source))


def rms_norm(source: Source) -> str:
    return _normalised(source, rms=True, scaled=source.has(1), shifted=False)


def _normalised(source: Source, *, rms: bool, scaled: bool, shifted: bool) -> str:
    (axis,) = source.axes((source.attribute("axis", -1),), len(source.shape()))
    made = source.node(
        "layer_norm", source.value(), part="normal" if scaled or shifted else "", axis=axis,
        epsilon=source.attribute("epsilon", 1e-5), rms=int(rms),
    )  # fmt: skip
    if scaled:
        draft, to = Draft(2), source.dtype(1)
        # Only RMS normalisation allows for a scale of another type, which is then the result's.
        value = 0 if to == source.dtype() else draft("cast", 0, parameters=(to,))
        draft("mul", value, 1)
        made = source.map(draft.program, made, source.value(1), part="scaled" * shifted)
    return source.map("add", made, source.value(2)) if shifted else made


def _moments(source: Source) -> tuple[str, ...]:
    """Return the mean of each row, and one over its standard deviation."""
    shape, value = source.shape(), source.value()
    (axis,) = source.axes((source.attribute("axis", -1),), len(shape))
    axes = tuple(range(axis, len(shape)))
    if source.dtype() in dtypes.SHORT_FLOATS:
        value = source.map(Program.of("cast", 1, "float32"), value, part="wide")
    dtype = source.builder.dtype(value)
    mean = source.node("reduce", value, part="mean", axes=axes, kind="mean")
    draft = Draft(2)
    apart = draft("sub", 0, 1)
    draft("mul", apart, apart)
    squares = source.map(draft.program, value, mean, part="squares")
    variance = source.node("reduce", squares, part="variance", axes=axes, kind="mean")
    draft = Draft(1)
    added = draft("add", 0, draft.constant(source.attribute("epsilon", 1e-5), dtype))
    draft("div", draft.constant(1.0, dtype), draft("sqrt", added))
    inverse = source.map(draft.program, variance, part="inverse_deviation")
    return mean, inverse
