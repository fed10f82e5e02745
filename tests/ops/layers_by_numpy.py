"""What layers compute, said again with NumPy: products, convolutions, recurrent cells."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np

from tilewright.ops.conv import Conv
from tilewright.ops.depthwise import Depthwise, DepthwisePointwise
from tilewright.ops.matmul import Matmul
from tilewright.ops.recurrent import GruCell, LstmCell
from tilewright.ops.transposed import TransposedConv
from tilewright.tuning.task import Operator

Array: TypeAlias = np.ndarray[Any, Any]


def compute(operator: Operator, arrays: Mapping[str, Array]) -> Array | None:
    """Return the result of a layer in float64; None for what is none."""
    match operator:
        case Matmul():
            a, b = arrays["A"], arrays["B"]
            a = np.swapaxes(a, -1, -2) if operator.transpose_a else a
            b = np.swapaxes(b, -1, -2) if operator.transpose_b else b
            shape = (*operator.batch, operator.rows, operator.columns)
            out = np.broadcast_to(a @ b, shape)
            out = out + arrays["D"] if operator.bias else out
            return np.maximum(out, 0) if operator.relu else out
        case Conv():
            return _finish(operator, _conv(operator, arrays["X"], arrays["W"]), arrays)
        case TransposedConv():
            return _finish(operator, _transposed(operator, arrays["X"], arrays["W"]), arrays)
        case Depthwise():
            return _finish(operator, _depthwise(operator, arrays), arrays)
        case DepthwisePointwise():
            hidden = _depthwise(operator.depthwise, arrays)
            hidden = hidden + arrays["D"] if operator.bias else hidden
            hidden = np.maximum(hidden, 0) if operator.relu else hidden
            return _finish(operator, hidden @ arrays["V"], arrays)
        case LstmCell():
            return _lstm(operator, arrays)
        case GruCell():
            return _gru(operator, arrays)
        case _:
            return None


def _finish(operator: Any, out: Array, arrays: Mapping[str, Array]) -> Array:
    out = out + arrays["B"] if operator.bias else out
    out = out + arrays["R"].reshape(out.shape) if getattr(operator, "residual", False) else out
    out = np.maximum(out, 0) if operator.relu else out
    return out.reshape(operator.expression().shape)


def _windows(x: Array, op: Conv | Depthwise) -> Iterator[tuple[tuple[int, ...], Array]]:
    """Yield each tap of the kernel with what it sees under every element of the result."""
    count = len(op.size)
    edges = [(op.pads[d], op.pads[d + count]) for d in range(count)]
    x = np.pad(x, [(0, 0), *edges, (0, 0)])
    for tap in itertools.product(*map(range, op.kernel)):
        cuts = tuple(
            slice(k * op.dilation[d], k * op.dilation[d] + (op.out[d] - 1) * op.stride[d] + 1,
                  op.stride[d])
            for d, k in enumerate(tap)
        )  # fmt: skip
        yield tap, x[(slice(None), *cuts)]


def _conv(op: Conv, x: Array, w: Array) -> Array:
    out = np.zeros((op.batch, *op.out, op.channels_out))
    ci, co = op.channels_in // op.groups, op.channels_out // op.groups
    for tap, seen in _windows(x.reshape(op.batch, *op.size, op.channels_in), op):
        for g in range(op.groups):
            made, read = slice(g * co, (g + 1) * co), slice(g * ci, (g + 1) * ci)
            out[..., made] += seen[..., read] @ w[tap][:, made]
    return out


def _depthwise(op: Depthwise, arrays: Mapping[str, Array]) -> Array:
    many = op.multiplier
    w = arrays["W"].reshape(*op.kernel, op.channels, many)
    out = sum(seen[..., None] * w[tap] for tap, seen in _windows(arrays["X"], op))
    return np.asarray(out).reshape(op.batch, *op.out, op.channels * many)


def _transposed(op: TransposedConv, x: Array, w: Array) -> Array:
    """Scatter each element, multiplied by the whole kernel, and cut the pads away."""
    x, count = x.reshape(op.batch, *op.size, op.channels_in), len(op.size)
    whole = [op.out[d] + op.pads[d] + op.pads[d + count] for d in range(count)]
    out = np.zeros((op.batch, *whole, op.channels_out))
    ci, co = op.channels_in // op.groups, op.channels_out // op.groups
    for at in np.ndindex(*op.size):
        for tap in np.ndindex(*op.kernel):
            y = tuple(at[d] * op.stride[d] + tap[d] * op.dilation[d] for d in range(count))
            for g in range(op.groups):
                made, read = slice(g * co, (g + 1) * co), slice(g * ci, (g + 1) * ci)
                out[(slice(None), *y, made)] += x[(slice(None), *at, read)] @ w[tap][:, made]
    cut = tuple(slice(op.pads[d], op.pads[d] + op.out[d]) for d in range(count))
    return out[(slice(None), *cut)]


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def _lstm(op: LstmCell, arrays: Mapping[str, Array]) -> Array:
    total = arrays["X"] @ arrays["W"].T + arrays["H"] @ arrays["R"].T
    total = total + arrays["B"].reshape(2, -1).sum(0) if op.bias else total
    i, o, f, c = np.split(total, 4, axis=1)
    at_i, at_o, at_f = np.split(arrays["P"] if op.peepholes else np.zeros(3 * op.hidden), 3)
    before = arrays["C"]
    cell = _sigmoid(f + at_f * before) * before + _sigmoid(i + at_i * before) * np.tanh(c)
    return np.stack([_sigmoid(o + at_o * cell) * np.tanh(cell), cell])


def _gru(op: GruCell, arrays: Mapping[str, Array]) -> Array:
    h = arrays["H"]
    b = arrays["B"] if op.bias else np.zeros(6 * op.hidden)
    wz, wr, wh, rz, rr, rh = np.split(b, 6)
    xz, xr, xh = np.split(arrays["X"] @ arrays["W"].T, 3, axis=1)
    of_z, of_r, of_h = np.split(arrays["R"], 3)
    z, r = _sigmoid(xz + h @ of_z.T + wz + rz), _sigmoid(xr + h @ of_r.T + wr + rr)
    late = r * (h @ of_h.T + rh) if op.linear_before_reset else (r * h) @ of_h.T + rh
    return (1 - z) * np.tanh(xh + late + wh) + z * h
