"""Models for LiteRT, written as its schema says: what TensorFlow's converter would make of them.

Data are channels last. Padding that is not TensorFlow's is a PAD of its own before a VALID
operator, as the converter writes it; XNNPACK takes it into the operator again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

Array = np.ndarray[Any, Any]

_CODES, _KINDS = schema.BuiltinOperator, schema.TensorType
_TYPES = {
    np.dtype(np.float32): _KINDS.FLOAT32,
    np.dtype(np.int32): _KINDS.INT32,
    np.dtype(np.int8): _KINDS.INT8,
}
_ACTIVATIONS = schema.ActivationFunctionType  # NONE, RELU, RELU6
_VERSIONS = {"CONV_2D": 3, "PAD": 2, "TRANSPOSE_CONV": 4}  # those that take integers, or a bias


@dataclass(frozen=True)
class Quantized:
    """How integers stand for numbers: times a scale, or one for each of the first dimension."""

    scale: tuple[float, ...]
    zero: int = 0


class Writer:
    """Writes one model, operator by operator; values are known by their numbers."""

    def __init__(self) -> None:
        self.shapes: list[tuple[int, ...]] = []
        self._quantized: list[Quantized | None] = []
        self._tensors: list[schema.TensorT] = []
        self._operators: list[schema.OperatorT] = []
        self._codes: list[str] = []
        self._buffers = [schema.BufferT()]  # the first is of all that is computed

    def value(self, shape: Sequence[int], quantized: Quantized | None = None) -> int:
        """Declare an input, of int8 if it is quantized."""
        return self._tensor(tuple(shape), _kind(quantized), 0, quantized)

    def indices(self, shape: Sequence[int]) -> int:
        """Declare an input of int32."""
        return self._tensor(tuple(shape), _KINDS.INT32, 0, None)

    def constant(self, array: Array | np.float32, quantized: Quantized | None = None) -> int:
        # The schema asks for bytes; an array of them is written in one go.
        held = np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8)
        self._buffers.append(schema.BufferT(data=held))  # pyright: ignore[reportArgumentType]
        return self._tensor(array.shape, _TYPES[array.dtype], len(self._buffers) - 1, quantized)

    def pad(self, x: int, pads: Sequence[int], fill: float = 0.0) -> int:
        """Add rows and columns: (top, left, bottom, right)."""
        if not any(pads):
            return x
        (n, h, w, c), (top, left, bottom, right) = self.shapes[x], pads
        around = self.constant(np.array([(0, 0), (top, bottom), (left, right), (0, 0)], np.int32))
        shape = (n, h + top + bottom, w + left + right, c)
        if not fill:
            kept = self._quantized[x]
            return self.call("PAD", [x, around], shape, schema.PadOptionsT(), kept)
        filled = self.constant(np.array(fill, np.float32))
        return self.call("PADV2", [x, around, filled], shape, schema.PadV2OptionsT())

    def convolution(
        self, x: int, weights: Array, bias: Array, stride: Sequence[int], *,
        activation: str = "NONE", scales: Quantized | None = None, made: Quantized | None = None,
    ) -> int:  # fmt: skip
        """Convolve without padding; weights are (kernel, kernel, ci, co), of 1 ci if depthwise.

        `scales` are those of weights of int8, `made` that of the result, which is int8 then.
        """
        n, h, w, ci = self.shapes[x]
        kh, kw, depth, co = weights.shape
        sy, sx = stride
        shape = (n, (h - kh) // sy + 1, (w - kw) // sx + 1, co)
        depthwise = depth == 1 < ci
        if not depthwise and depth != ci:
            raise NotImplementedError(f"XNNPACK is not given {ci // depth} groups of {depth} here")
        if depthwise:
            code, front = "DEPTHWISE_CONV_2D", 2
            options = schema.DepthwiseConv2DOptionsT(depthMultiplier=co // ci)
        else:
            code, front, options = "CONV_2D", 3, schema.Conv2DOptionsT()
        options.padding = schema.Padding.VALID
        options.strideH, options.strideW = sy, sx
        options.fusedActivationFunction = getattr(_ACTIVATIONS, activation)
        given = [
            x,
            self.constant(np.moveaxis(weights, front, 0), scales),
            self.constant(bias, self._of_sums(x, scales)),
        ]
        return self.call(code, given, shape, options, made)

    def _of_sums(self, x: int, scales: Quantized | None) -> Quantized | None:
        data = self._quantized[x]
        return scales and data and Quantized(tuple(data.scale[0] * s for s in scales.scale))

    def pool(self, x: int, kernel: Sequence[int], stride: Sequence[int]) -> int:
        """Return the maximum over windows, without padding."""
        (n, h, w, c), (kh, kw), (sy, sx) = self.shapes[x], kernel, stride
        options = schema.Pool2DOptionsT(schema.Padding.VALID, sx, sy, kw, kh)
        shape = (n, (h - kh) // sy + 1, (w - kw) // sx + 1, c)
        return self.call("MAX_POOL_2D", [x], shape, options)

    def grow(
        self, x: int, weights: Array, bias: Array, stride: Sequence[int], pads: Sequence[int],
        activation: str = "NONE",
    ) -> int:  # fmt: skip
        """Convolve transposed; weights are (kernel, kernel, ci, co)."""
        (n, h, w, _), (kh, kw, _, co), (sy, sx) = self.shapes[x], weights.shape, stride
        top, left, bottom, right = pads
        same = top == bottom and left == right and (2 * top, 2 * left) == (kh - sy, kw - sx)
        if any(pads) and not same:
            raise NotImplementedError(f"LiteRT has no padding of {tuple(pads)} here")
        shape = (n, (h - 1) * sy + kh - top - bottom, (w - 1) * sx + kw - left - right, co)
        given = [
            self.constant(np.array(shape, np.int32)),
            self.constant(weights.transpose(3, 0, 1, 2)),
            x,
            self.constant(bias),
        ]
        padding = schema.Padding.SAME if any(pads) else schema.Padding.VALID
        fused = getattr(_ACTIVATIONS, activation)
        return self.call(
            "TRANSPOSE_CONV", given, shape, schema.TransposeConvOptionsT(padding, sx, sy, fused)
        )

    def dense(self, x: int, weights: Array) -> int:
        """Multiply rows by constant weights (in, out)."""
        zeros = np.zeros(weights.shape[1], np.float32)
        return self.product(x, self.constant(weights.T), self.constant(zeros))

    def product(self, x: int, weights: int, bias: int, activation: str = "NONE") -> int:
        """Multiply rows by weights (out, in) and add a bias."""
        shape = (*self.shapes[x][:-1], self.shapes[weights][0])
        options = schema.FullyConnectedOptionsT(getattr(_ACTIVATIONS, activation))
        options.keepNumDims = len(shape) > 2
        return self.call("FULLY_CONNECTED", [x, weights, bias], shape, options)

    def add(self, a: int, b: int, activation: str = "NONE") -> int:
        shape = np.broadcast_shapes(self.shapes[a], self.shapes[b])
        options = schema.AddOptionsT(getattr(_ACTIVATIONS, activation))
        return self.call("ADD", [a, b], shape, options)

    def elementwise(self, code: str, x: int) -> int:
        """Apply RELU, RELU6, LOGISTIC or TANH."""
        return self.call(code, [x], self.shapes[x])

    def gelu(self, x: int) -> int:
        return self.call("GELU", [x], self.shapes[x], schema.GeluOptionsT(approximate=False))

    def softmax(self, x: int) -> int:
        return self.call("SOFTMAX", [x], self.shapes[x], schema.SoftmaxOptionsT(beta=1.0))

    def layer_norm(self, x: int, scale: int, shift: int, epsilon: float) -> int:
        """Normalise the last dimension: the schema has no operator for it, but its parts."""
        shape, last = self.shapes[x], (len(self.shapes[x]) - 1,)
        mean = self.mean(x, last, keep=True)
        squares = self.call("SQUARED_DIFFERENCE", [x, mean], shape)
        spread = self.add(self.mean(squares, last, keep=True), self.constant(np.float32(epsilon)))
        inverse = self.call("RSQRT", [spread], self.shapes[spread])
        centred = self.call("SUB", [x, mean], shape, schema.SubOptionsT())
        return self.add(self.multiply(self.multiply(centred, inverse), scale), shift)

    def multiply(self, a: int, b: int) -> int:
        shape = np.broadcast_shapes(self.shapes[a], self.shapes[b])
        return self.call("MUL", [a, b], shape, schema.MulOptionsT())

    def mean(self, x: int, axes: Sequence[int], *, keep: bool) -> int:
        """Return the mean over some axes, which stay with an extent of 1 if asked."""
        shape = self.shapes[x]
        made = tuple(1 if d in axes else n for d, n in enumerate(shape) if keep or d not in axes)
        over = self.constant(np.array(axes, np.int32))
        return self.call("MEAN", [x, over], made, schema.ReducerOptionsT(keep))

    def reshape(self, x: int, shape: tuple[int, ...]) -> int:
        wanted = self.constant(np.array(shape, np.int32))
        return self.call("RESHAPE", [x, wanted], shape, schema.ReshapeOptionsT(list(shape)))

    def rows_of(self, table: int, indices: int) -> int:
        shape = (*self.shapes[indices], *self.shapes[table][1:])
        return self.call("GATHER", [table, indices], shape, schema.GatherOptionsT())

    def cut(self, x: int, begin: int, count: int) -> int:
        """Return so many of the first dimension."""
        shape = self.shapes[x]
        first = np.array([begin, *[0] * (len(shape) - 1)], np.int32)
        size = np.array([count, *shape[1:]], np.int32)
        given = [x, self.constant(first), self.constant(size)]
        return self.call("SLICE", given, tuple(size.tolist()), schema.SliceOptionsT())

    def split(self, x: int, axis: int, count: int) -> list[int]:
        shape = list(self.shapes[x])
        shape[axis] //= count
        given = [self.constant(np.array(axis, np.int32)), x]
        made = [self._tensor(tuple(shape), _KINDS.FLOAT32, 0, None) for _ in range(count)]
        self._operator("SPLIT", given, made, schema.SplitOptionsT(count))
        return made

    def join(self, parts: Sequence[int], axis: int) -> int:
        shape = list(self.shapes[parts[0]])
        shape[axis] = sum(self.shapes[part][axis] for part in parts)
        options = schema.ConcatenationOptionsT(axis)
        return self.call("CONCATENATION", list(parts), tuple(shape), options)

    def call(
        self, code: str, inputs: list[int], shape: tuple[int, ...], options: Any = None,
        quantized: Quantized | None = None,
    ) -> int:  # fmt: skip
        """Add an operator of the schema's name; return its result."""
        made = self._tensor(shape, _kind(quantized), 0, quantized)
        self._operator(code, inputs, [made], options)
        return made

    def _operator(self, code: str, inputs: list[int], outputs: list[int], options: Any) -> None:
        if code not in self._codes:
            self._codes.append(code)
        operator = schema.OperatorT(self._codes.index(code), inputs, outputs)
        if options is not None:
            operator.builtinOptions = options
            kind = type(options).__name__.removesuffix("T")
            operator.builtinOptionsType = getattr(schema.BuiltinOptions, kind)
        self._operators.append(operator)

    def finish(self, inputs: list[int], *outputs: int) -> bytes:
        graph = schema.SubGraphT(self._tensors, inputs, list(outputs), self._operators)
        codes = [
            schema.OperatorCodeT(
                deprecatedBuiltinCode=min(getattr(_CODES, code), 127),
                version=_VERSIONS.get(code, 1),
                builtinCode=getattr(_CODES, code),
            )
            for code in self._codes
        ]
        model = schema.ModelT(3, codes, [graph], buffers=self._buffers)
        builder = flatbuffers.Builder(1 << 20)
        builder.Finish(model.Pack(builder), b"TFL3")
        return bytes(builder.Output())

    def _tensor(
        self, shape: tuple[int, ...], kind: int, buffer: int, quantized: Quantized | None
    ) -> int:
        self.shapes.append(shape)
        self._quantized.append(quantized)
        tensor = schema.TensorT(list(shape), kind, buffer, f"t{len(self.shapes)}")
        if quantized:
            zeros = [quantized.zero] * len(quantized.scale)
            tensor.quantization = schema.QuantizationParametersT(
                scale=list(quantized.scale), zeroPoint=zeros
            )
        self._tensors.append(tensor)
        return len(self._tensors) - 1


def _kind(quantized: Quantized | None) -> int:
    return _KINDS.INT8 if quantized else _KINDS.FLOAT32
