"""Import quantisation, and products and convolutions of quantised numbers."""

from __future__ import annotations

import math

import numpy as np
import onnx

from tilewright import dtypes
from tilewright.graph.onnx import images
from tilewright.graph.onnx.source import Refusal, Source
from tilewright.ops.program import Draft, Program


def quantize(source: Source) -> str:
    """Divide by a scale, round halves to even, add a zero point and saturate."""
    to = source.dtype(2) if source.has(2) else _named(source, "output_dtype", "uint8")
    if not dtypes.is_integer(to) or dtypes.nbytes(to) > 2:
        raise Refusal(f"it quantises to {to}, which is no integer of 8 or 16 bits")
    kind = _named(source, "precision", source.dtype(1))
    given = [source.value(), *(_spread(source, i) for i in (1, 2) if source.has(i))]
    draft = Draft(len(given))
    draft("div", _cast(draft, 0, kind), _cast(draft, 1, kind))
    _rounded(draft, 2 if len(given) > 2 else None, to)
    return source.map(draft.program, *given)


def dequantize(source: Source) -> str:
    """Take a zero point away and multiply by a scale, in float32."""
    kind = source.dtype(1)
    to = _named(source, "output_dtype", kind)
    given = [source.value(), *(_spread(source, i) for i in (1, 2) if source.has(i))]
    wide = "float64" if kind == "float64" else "float32"
    draft = Draft(len(given))
    number = _cast(draft, 0, wide)
    if len(given) > 2:
        number = draft("sub", number, _cast(draft, 2, wide))
    _cast(draft, draft("mul", number, _cast(draft, 1, wide)), to)
    return source.map(draft.program, *given)


def dynamic_quantize(source: Source) -> tuple[str, str, str]:
    """Quantise to uint8 by the least and the greatest element, and return scale and zero point."""
    X, dtype = source.value(), source.dtype()
    axes = tuple(range(len(source.shape())))
    ends: list[str] = []
    for kind in ("min", "max"):
        draft = Draft(1)
        draft(kind, 0, draft.constant(0.0, dtype))
        end = source.node("reduce", X, part=kind, axes=axes, kind=kind) if axes else X
        end = source.reshaped(end, (), f"{kind}.number")
        ends.append(source.map(draft.program, end, part=f"{kind}0"))
    draft = Draft(2)
    span = draft("sub", 1, 0)
    nothing = draft("equal", span, draft.constant(0.0, dtype))
    step = draft("div", span, draft.constant(255.0, dtype))
    draft("select", nothing, draft.constant(1.0, dtype), step)
    scale = _output(source, draft.program, *ends, output=1)
    draft = Draft(2)
    draft("div", draft("neg", 0), 1)
    _rounded(draft, None, "uint8")
    zero = _output(source, draft.program, ends[0], scale, output=2)
    draft = Draft(3)
    draft("div", 0, 1)
    _rounded(draft, 2, "uint8")
    return source.map(draft.program, X, scale, zero), scale, zero


def matmul_integer(source: Source) -> str:
    """(A - zero) @ (B - zero) in int32."""
    return _product(source, 0, 1, 2, 3, "")


def qlinear_matmul(source: Source) -> str:
    """Multiply quantised matrices, and quantise the result."""
    sums = _product(source, 0, 3, 2, 5, "sums")
    rank = len(source.builder.shape(sums))
    lines = (_line(source, i, rank, rows) for i, rows in ((1, True), (4, False), (6, True)))
    scales = source.map(_scales(source.dtype(1)), *lines, part="scale")
    return _requantized(source, sums, scales, _line(source, 7, rank, True), source.dtype(7))


def conv_integer(source: Source) -> str:
    return _convolution(source, 0, 1, 2, 3, "")


def qlinear_conv(source: Source) -> str:
    """Convolve quantised images, add a bias, and quantise the result."""
    sums = _convolution(source, 0, 3, 2, 5, "sums")
    over = (1,) * (len(source.shape()) - 2)
    if source.has(8):
        bias = source.reshaped(source.value(8), (*source.shape(8), *over), "bias")
        sums = source.map("add", sums, bias, part="biased")
    given = [source.reshaped(source.value(1), (), "x_scale"), _channel(source, 4, over)]
    given.append(source.reshaped(source.value(6), (), "y_scale"))
    scales = source.map(_scales(source.dtype(1)), *given, part="scale")
    zero = source.reshaped(source.value(7), (), "y_zero")
    return _requantized(source, sums, scales, zero, source.dtype(7))


def _product(source: Source, a: int, b: int, zero_a: int, zero_b: int, part: str) -> str:
    """Multiply the inputs `a` and `b` less their zero points.

    Constant weights that fit int8 without theirs are multiplied as bytes; the zero point of A then
    takes the sums of their columns away.
    """
    weights = _centred(source, b, zero_b)
    single = not source.has(zero_a) or math.prod(source.shape(zero_a)) == 1
    if weights is None or not single or len(source.shape(a)) < 2:
        left, right = _wide(source, a, zero_a, rows=True), _wide(source, b, zero_b, rows=False)
        return _matmul(source, left, right, part)
    B = source.literal(weights.astype(np.int8), "weights")
    product = "product" if source.has(zero_a) else part
    made = source.node("matmul", source.value(a), B, transpose_a=0, transpose_b=0, part=product)
    if not source.has(zero_a):
        return made
    columns = source.literal(weights.sum(0, dtype=np.int32), "columns")
    zero = source.reshaped(source.value(zero_a), (), "zero")
    draft = Draft(3)
    draft("sub", 0, draft("mul", _cast(draft, 1, "int32"), 2))
    return source.map(draft.program, made, zero, columns, part=part)


def _centred(source: Source, index: int, zero: int) -> np.ndarray | None:
    """Return a constant matrix less its zero points in int32, if int8 holds it."""
    array, zeros = source.known(index), source.known(zero) if source.has(zero) else np.zeros(1)
    if array is None or zeros is None or array.ndim != 2:
        return None
    made = array.astype(np.int32) - zeros.astype(np.int32).reshape(1, -1)
    return made if made.min() >= -128 and made.max() <= 127 else None


def _matmul(source: Source, left: str, right: str, part: str) -> str:
    """Multiply as NumPy does: a vector is a row on the left and a column on the right."""
    a, b = source.builder.shape(left), source.builder.shape(right)
    if not a or not b:
        raise Refusal(f"a product of shapes {a} and {b}; neither may be a single number")
    left = source.reshaped(left, (1, *a) if len(a) == 1 else a, "row")
    right = source.reshaped(right, (*b, 1) if len(b) == 1 else b, "column")
    flat = 1 in (len(a), len(b))
    made = source.node(
        "matmul", left, right, transpose_a=0, transpose_b=0, part="product" if flat else part
    )
    if not flat:
        return made
    shape = source.builder.shape(made)
    shape = shape[:-2] + shape[-2:-1] * (len(a) > 1) + shape[-1:] * (len(b) > 1)
    return source.node("reshape", made, shape=shape, part=part)


def _wide(source: Source, index: int, zero: int, *, rows: bool) -> str:
    """Return an input of a product in int32, less its zero points: one, or one a row or column."""
    rank = len(source.shape(index))
    given = [source.value(index)]
    if source.has(zero):
        given.append(_line(source, zero, rank, rows))
    return source.map(_difference(len(given)), *given, part=f"input{index}.wide")


def _line(source: Source, index: int, rank: int, rows: bool) -> str:
    """Return a number for all of a matrix, or one for each row or column, as it is repeated."""
    shape = source.shape(index)
    if math.prod(shape) == 1:
        return source.reshaped(source.value(index), (), f"input{index}")
    if len(shape) == 1 and rows and rank > 1:
        return source.reshaped(source.value(index), (*shape, 1), f"input{index}")
    return source.value(index)


def _convolution(source: Source, x: int, w: int, zero_x: int, zero_w: int, part: str) -> str:
    """Convolve the inputs `x` and `w` less their zero points, in int32: padding is the zero."""
    given = [source.value(x)]
    if source.has(zero_x):
        given.append(source.reshaped(source.value(zero_x), (), "x_zero"))
    X = source.map(_difference(len(given)), *given, part="x.wide")
    given = [source.value(w)]
    if source.has(zero_w):
        given.append(_channel(source, zero_w, (1,) * (len(source.shape(w)) - 1)))
    W = source.map(_difference(len(given)), *given, part="w.wide")
    proto = onnx.NodeProto()
    proto.CopyFrom(source.proto)
    proto.op_type = "Conv"
    del proto.input[:], proto.output[:]
    names = [f"{source.outputs[0]}.{end}" for end in "xw"]
    proto.input.extend(names)
    proto.output.append(f"{source.outputs[0]}.{part}" if part else source.outputs[0])
    source.scope.values.update(zip(names, (X, W), strict=True))
    return images.conv(Source(proto, source.scope, source.opset))


def _channel(source: Source, index: int, over: tuple[int, ...]) -> str:
    """Return a number for all, or one for each channel, as it is repeated `over` what follows."""
    count = math.prod(source.shape(index))
    shape = (count, *over) if count > 1 else ()
    return source.reshaped(source.value(index), shape, f"input{index}")


def _spread(source: Source, index: int) -> str:
    """Return scales or zero points as they are repeated over input 0: one, by axis or by block."""
    shape, whole = source.shape(index), source.shape()
    if math.prod(shape) == 1 and len(shape) < 2:
        return source.reshaped(source.value(index), (), f"input{index}")
    (axis,) = source.axes((source.attribute("axis", 1),), len(whole))
    block = source.attribute("block_size", 0)
    if not block:
        if shape != (whole[axis],):
            raise Refusal(f"its input {index} of shape {shape} is not one for each of axis {axis}")
        full = (*shape, *(1,) * (len(whole) - axis - 1))
        return source.reshaped(source.value(index), full, f"input{index}")
    if len(shape) != len(whole) or shape[axis] != -(-whole[axis] // block):
        raise Refusal(f"its input {index} of shape {shape} has no number for each block of {block}")
    places = source.literal(np.arange(whole[axis]) // block, f"blocks{index}")
    return source.node("gather", source.value(index), places, part=f"input{index}", axis=axis)


def _requantized(source: Source, sums: str, scale: str, zero: str, to: str) -> str:
    draft = Draft(3)
    kind = source.builder.dtype(scale)
    draft("mul", _cast(draft, 0, kind), 1)
    _rounded(draft, 2, to)
    return source.map(draft.program, sums, scale, zero)


def _scales(kind: str) -> Program:
    """Return the program of a * b / c, in float32 of short floats."""
    wide = "float32" if kind in dtypes.SHORT_FLOATS else kind
    draft = Draft(3)
    a, b, c = (_cast(draft, i, wide) for i in range(3))
    draft("div", draft("mul", a, b), c)
    return draft.program


def _difference(inputs: int) -> Program:
    """Return the program of a number less its zero point, in int32."""
    draft = Draft(inputs)
    made = _cast(draft, 0, "int32")
    if inputs > 1:
        draft("sub", made, _cast(draft, 1, "int32"))
    return draft.program


def _cast(draft: Draft, value: int, dtype: str) -> int:
    return draft("cast", value, parameters=(dtype,))


def _rounded(draft: Draft, zero: int | None, to: str) -> int:
    """Round the last value, add a zero point and saturate: that is defined for every float."""
    value = _cast(draft, draft.last, "float32")
    info, value = np.iinfo(to), draft("rint", value)
    if zero is not None:
        value = draft("add", value, _cast(draft, zero, "float32"))
    value = draft("max", value, draft.constant(float(info.min), "float32"))
    value = draft("min", value, draft.constant(float(info.max), "float32"))
    return _cast(draft, value, to)


def _named(source: Source, attribute: str, default: str) -> str:
    """Return the type that an attribute says; `default` if it says none."""
    number = source.attribute(attribute, 0)
    return str(onnx.helper.tensor_dtype_to_np_dtype(number)) if number else default


def _output(source: Source, program: Program, *inputs: str, output: int) -> str:
    return source.node("map", *inputs, output=output, program=program)
