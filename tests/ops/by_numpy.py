"""What operators compute, said again with plain NumPy loops over windows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np
from tests.ops import indexing_by_numpy, layers_by_numpy, movement_by_numpy, pools_by_numpy

from tilewright import dtypes
from tilewright.expr.rounding import rough
from tilewright.ops.conv2d import Conv2d
from tilewright.ops.dense import Dense
from tilewright.ops.elementwise import Add, Relu, Transpose
from tilewright.ops.gather import Gather, GatherElements
from tilewright.ops.matvec import MatVec
from tilewright.ops.norm import GroupNorm, InstanceNorm, LayerNorm, RmsNorm
from tilewright.ops.pool2d import GlobalAveragePool, Pool2d
from tilewright.ops.reduce import ArgMax, Reduction
from tilewright.ops.softmax import LogSoftmax, Softmax
from tilewright.tuning.task import Operator

Array: TypeAlias = np.ndarray[Any, Any]
OWN_ERROR = 2.0**-45  # of what is computed here, in float64 but by other formulas


def compute(operator: Operator, given: Mapping[str, Array]) -> Array:
    """Return the result of an operator in float64; of integers rounded, and wrapped as they are."""
    made, dtype = _compute(operator, given), operator.expression().dtype
    return made if dtypes.is_float(dtype) else np.rint(made).astype(np.int64).astype(dtype)


def check(operator: Operator, got: Array, given: Mapping[str, Array], share: float = 0.0) -> None:
    """Compare a kernel's result with `compute`: what rounding explains, an element may be off.

    A share of the largest result may be added. Integers are exact.
    """
    expression, wanted = operator.expression(), compute(operator, given)
    assert (got.dtype, got.shape) == (dtypes.numpy(expression.dtype), expression.shape)
    if not dtypes.is_float(expression.dtype):
        np.testing.assert_array_equal(got, wanted)
        return
    sizes = np.abs(wanted[np.isfinite(wanted)])
    allowed = rough(expression, given).error + share * np.max(sizes, initial=0.0)
    allowed = allowed + OWN_ERROR * np.max(sizes, initial=1.0)
    with np.errstate(invalid="ignore"):
        off = np.abs(got.astype(np.float64) - wanted)
        right = (got == wanted) | (np.isnan(got) & np.isnan(wanted)) | (off <= allowed)
    worst = np.unravel_index(np.argmax(~right), right.shape)
    assert right.all(), f"{worst}: {got[worst]}, wanted {wanted[worst]} within {allowed[worst]}"


def _compute(operator: Operator, given: Mapping[str, Array]) -> Array:
    arrays = {name: array.astype(np.float64) for name, array in given.items()}
    for family in (indexing_by_numpy, layers_by_numpy, movement_by_numpy, pools_by_numpy):
        if (made := family.compute(operator, arrays)) is not None:
            return made
    x = arrays["X"]
    match operator:
        case Conv2d():
            return _finish(operator, _conv2d(operator, x, arrays["W"]), arrays)
        case Dense():
            return _finish(operator, x @ arrays["W"], arrays)
        case Pool2d():
            return _pool2d(operator, x)
        case GlobalAveragePool():
            return x.mean(axis=(1, 2))
        case Softmax() | LogSoftmax():
            return _softmax(operator, x)
        case LayerNorm() | RmsNorm():
            return _norm(operator, x, (1,), arrays, lambda per_channel: per_channel)
        case GroupNorm() | InstanceNorm():
            inside, channels = ((1, 3), x.shape[2:]) if operator.channels_last else (
                (2, 3), (*x.shape[1:3], 1))  # fmt: skip
            return _norm(operator, x, inside, arrays, lambda a: a.reshape(channels))
        case Reduction() | ArgMax():
            return _reduction(operator, x)
        case MatVec():
            y = arrays["W"] @ x + (arrays["B"] if operator.bias else 0)
            return np.maximum(y, 0) if operator.relu else y
        case Relu():
            return np.maximum(x, 0)
        case Add():
            return (x.reshape(operator.shape) + arrays["R"].reshape(operator.other)).reshape(
                operator.expression().shape
            )
        case Transpose():
            return x.transpose(operator.order)
        case _:
            raise NotImplementedError(operator)


def given(operator: Operator, rng: np.random.Generator) -> dict[str, Array]:
    """Return random arrays for the operator's tensors."""
    tensors = operator.expression().inputs
    made = {t.name: random(rng, t.shape, t.dtype) for t in tensors}
    if isinstance(operator, Gather | GatherElements):
        n = operator.shape[operator.axis] + 1  # some lie beyond either end
        made["I"] = rng.integers(-n, n, made["I"].shape).astype(made["I"].dtype)
    if "D" in made and isinstance(operator, Pool2d):
        made["D"] = operator.divisors()
    whole = isinstance(operator, Reduction) and not dtypes.is_float(operator.dtype)
    if whole and operator.kind == "prod":  # no zero, and never beyond 2^53
        made["X"] = np.where(made["X"] < 0, -1, 1).astype(operator.dtype)
    return made


def random(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
    """Return unit normal numbers, or every number of 8 bits, or integers up to a thousand."""
    if dtypes.is_float(dtype):
        return rng.standard_normal(shape).astype(dtypes.numpy(dtype))
    info = np.iinfo(dtype)
    low, high = max(info.min, -1000), min(info.max, 1000)
    return rng.integers(low, high, shape, endpoint=True).astype(dtype)


def _finish(operator: Conv2d | Dense, result: Array, arrays: Mapping[str, Array]) -> Array:
    if operator.bias:
        result = result + arrays["B"]
    if operator.residual:
        result = result + arrays["R"].reshape(result.shape)
    result = np.maximum(result, 0) if operator.relu else result
    return result.reshape(operator.expression().shape)


def _conv2d(op: Conv2d, x: Array, w: Array) -> Array:
    x = x.reshape(op.batch, op.height, op.width, op.channels_in)
    top, left, bottom, right = op.pads
    x = np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)))
    out = np.zeros((op.batch, op.out_height, op.out_width, op.channels_out))
    ci, co = op.channels_in // op.groups, op.channels_out // op.groups
    for g in range(op.groups):
        made, read = slice(g * co, (g + 1) * co), slice(g * ci, (g + 1) * ci)
        for (ky, kx), window in _windows(x[..., read], op.kernel, op.stride, op.dilation, out):
            out[..., made] += window @ w[ky, kx][:, made]
    return out


def _pool2d(op: Pool2d, x: Array) -> Array:
    top, left, bottom, right = op.pads
    edges = ((0, 0), (top, bottom), (left, right), (0, 0))
    out = np.zeros((op.batch, op.out_height, op.out_width, op.channels))
    if op.kind == "max":
        filled = np.pad(x, edges, constant_values=-np.inf)  # a window sees more than padding
        return np.max([w for _, w in _windows(filled, op.kernel, op.stride, (1, 1), out)], axis=0)
    counted = np.pad(np.ones_like(x), edges, constant_values=float(op.count_include_pad))
    total = np.sum([w for _, w in _windows(np.pad(x, edges), op.kernel, op.stride, (1, 1), out)], 0)
    return total / np.sum([w for _, w in _windows(counted, op.kernel, op.stride, (1, 1), out)], 0)


def _windows(
    x: Array,
    kernel: tuple[int, int],
    stride: tuple[int, int],
    dilation: tuple[int, int],
    out: Array,
) -> Iterator[tuple[tuple[int, int], Array]]:
    """Yield, for each tap of the kernel, what it sees under every element of the result."""
    _, h, w, _ = out.shape
    for ky in range(kernel[0]):
        for kx in range(kernel[1]):
            y, xx = ky * dilation[0], kx * dilation[1]
            yield (
                (ky, kx),
                x[:, y : y + (h - 1) * stride[0] + 1 : stride[0],
                  xx : xx + (w - 1) * stride[1] + 1 : stride[1]],
            )  # fmt: skip


def _softmax(op: Softmax | LogSoftmax, x: Array) -> Array:
    whole = x.reshape(op.shape)
    raised = np.exp(whole - whole.max(op.axis, keepdims=True))
    share = raised / raised.sum(op.axis, keepdims=True)
    if isinstance(op, LogSoftmax):
        share = whole - whole.max(op.axis, keepdims=True)
        share = share - np.log(raised.sum(op.axis, keepdims=True))
    return share.reshape(x.shape)


def _norm(
    op: LayerNorm | RmsNorm | GroupNorm | InstanceNorm,
    x: Array,
    inside: tuple[int, ...],
    arrays: Mapping[str, Array],
    place: Callable[[Array], Array],
) -> Array:
    if not isinstance(op, RmsNorm):
        x = x - x.mean(inside, keepdims=True)
    x = x / np.sqrt(np.mean(x * x, inside, keepdims=True) + op.epsilon)
    x = x * place(arrays["S"]) if "S" in arrays else x
    return x + place(arrays["B"]) if "B" in arrays else x


def _reduction(op: Reduction | ArgMax, x: Array) -> Array:
    whole = x.reshape(op.shape)
    if isinstance(op, ArgMax):
        seen = np.flip(whole, op.axis) if op.last else whole
        found = (np.argmin if op.least else np.argmax)(seen, op.axis)
        found = whole.shape[op.axis] - 1 - found if op.last else found
        return found.reshape(op.expression().shape)
    return np.asarray(getattr(np, op.kind)(whole, axis=op.axes)).reshape(op.expression().shape)
