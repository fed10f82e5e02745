"""Import the operators on single elements, and those that do nothing at inference."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import onnx

from tilewright import dtypes
from tilewright.graph.onnx.source import Refusal, Source
from tilewright.ops.program import Draft, Program, Step


def function(name: str, inputs: int = 1) -> Callable[[Source], str]:
    """Return the importer of one function of its inputs, which are repeated as NumPy does."""

    def imported(source: Source) -> str:
        return source.map(name, *(source.value(i) for i in range(inputs)))

    return imported


def activation(name: str, **parameters: float) -> Callable[[Source], str]:
    """Return the importer of a function with attributes; `parameters` are those not stated."""

    def imported(source: Source) -> str:
        given = (source.attribute(key, default) for key, default in parameters.items())
        return source.map(Program.of(name, 1, *given), source.value())

    return imported


def folded(name: str) -> Callable[[Source], str]:
    """Return the importer of a function of two that takes any number of inputs, one by one."""

    def imported(source: Source) -> str:
        made, last = source.value(), source.count - 1
        for i in range(1, source.count):
            made = source.map(name, made, source.value(i), part="" if i == last else f"of{i + 1}")
        return made

    return imported


def clip(source: Source) -> str:
    """Keep between bounds: attributes in old operator sets, inputs in new ones."""
    made, dtype = source.value(), source.dtype()
    bounds = {"max": (1, "min"), "min": (2, "max")}
    asked: list[tuple[str, str]] = []
    for name, (index, attribute) in bounds.items():
        if source.has(index):
            asked.append((name, source.value(index)))
        elif attribute in source.attributes:
            asked.append((name, source.literal(_number(source, attribute, dtype), attribute)))
    for i, (name, bound) in enumerate(asked):
        made = source.map(name, made, bound, part="" if i == len(asked) - 1 else "raised")
    return made


def _number(source: Source, attribute: str, dtype: str) -> object:
    return dtypes.numpy(dtype).type(source.attribute(attribute, 0.0))


def identity(source: Source) -> str:
    return source.value()


def swapped(name: str) -> Callable[[Source], str]:
    """Return the importer of a comparison that is another one with the operands swapped."""

    def imported(source: Source) -> str:
        return source.map(name, source.value(1), source.value(0))

    return imported


def mean(source: Source) -> str:
    """Return the mean of any number of tensors, element by element."""
    if source.count == 1:
        return source.value()
    made = source.value()
    for i in range(1, source.count):
        made = source.map("add", made, source.value(i), part=f"of{i + 1}")
    return source.map(_by("div", source.count, source.dtype()), made)


def reciprocal(source: Source) -> str:
    draft = Draft(1)
    draft("div", draft.constant(1.0, source.dtype()), 0)
    return source.map(draft.program, source.value())


def power(source: Source) -> str:
    """Raise to powers of another type: in the wider one, but the result is of the base's.

    Constant exponents that the base's type holds are of that.
    """
    base, kind = source.dtype(), source.dtype(1)
    known, exponent = source.known(1), ""
    if known is not None and known.size:
        with np.errstate(all="ignore"):
            held = known.astype(dtypes.numpy(base))
            if np.array_equal(held.astype(known.dtype), known):
                exponent = source.literal(held, "exponent")
    if base == kind or exponent:
        return source.map("pow", source.value(), exponent or source.value(1))
    wide = base
    if dtypes.is_float(kind) and not dtypes.is_float(base):
        wide = "float64"
    elif dtypes.is_float(kind) and dtypes.nbytes(kind) > dtypes.nbytes(base):
        wide = kind
    draft = Draft(2)
    made = draft("pow", *(draft("cast", i, parameters=(wide,)) for i in (0, 1)))
    draft("cast", made, parameters=(base,))
    return source.map(draft.program, source.value(), source.value(1))


def remainder(source: Source) -> str:
    name = "fmod" if source.attribute("fmod", 0) else "mod"
    return source.map(name, source.value(), source.value(1))


def shift(source: Source) -> str:
    direction = source.attribute("direction", "")
    if direction not in ("LEFT", "RIGHT"):
        raise Refusal(f"its direction {direction!r} is neither LEFT nor RIGHT")
    return source.map(f"shift_{direction.lower()}", source.value(), source.value(1))


def is_infinite(source: Source) -> str:
    """Tell infinite elements, of both signs or of one."""
    signs = [
        sign
        for sign, name in ((math.inf, "detect_positive"), (-math.inf, "detect_negative"))
        if source.attribute(name, 1)
    ]
    draft = Draft(1)
    value = draft("abs", 0) if len(signs) == 2 else 0
    draft("equal", value, draft.constant(signs[0] if signs else math.nan, source.dtype()))
    return source.map(draft.program, source.value())


def leaky_relu_by_tensor(source: Source) -> str:
    """x, or slope * x below zero, of a slope for each channel or element.

    Old models give the slopes of channels as one axis.
    """
    shape, slopes = source.shape(), source.shape(1)
    slope = source.value(1)
    if len(slopes) == 1 < len(shape) and slopes[0] == shape[1] != shape[-1]:
        slope = source.reshaped(slope, (*slopes, *(1,) * (len(shape) - 2)), "slopes")
    draft = Draft(2)
    below = draft("less", 0, draft.constant(0, source.dtype()))
    draft("select", below, draft("mul", 0, 1), 0)
    return source.map(draft.program, source.value(), slope)


def gelu(source: Source) -> str:
    kind = source.attribute("approximate", "none")
    if kind not in ("none", "tanh"):
        raise Refusal(f"its approximation {kind!r} is neither none nor tanh")
    return source.map(Program.of("gelu", 1, int(kind == "tanh")), source.value())


def dropout(source: Source) -> str | tuple[str, np.ndarray]:
    """Do nothing, as at inference; the mask of what is kept is all true."""
    training = source.has(2) and source.number(2, "training mode")
    if training and (not source.has(1) or source.number(1, "ratio")):
        raise Refusal("it is in training mode")
    return source.value(), np.ones(source.shape(), bool)


def cast(source: Source) -> str:
    return _cast(source, _named(source.attribute("to", 0)))


def cast_like(source: Source) -> str:
    return _cast(source, source.dtype(1))


def _named(number: int) -> str:
    kinds = onnx.TensorProto.DataType
    if number not in kinds.values():
        raise Refusal(f"it casts to type {number}, which is unknown")
    name = str(onnx.helper.tensor_dtype_to_np_dtype(number))
    if name not in dtypes.LLVM:
        raise Refusal(f"it casts to {kinds.Name(number).lower()}, in which nothing is computed")
    return name


def _by(function: str, number: float, dtype: str) -> Program:
    """Return the program of a function of an element and a number."""
    return Program(1, (Step("constant", (), (number, dtype)), Step(function, (0, 1))))


def _cast(source: Source, dtype: str) -> str:
    if dtype == source.dtype():
        return source.value()
    return source.map(Program(1, (Step("cast", (0,), (dtype,)),)), source.value())
