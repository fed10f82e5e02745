"""Compute ahead what a node makes of constants; `onnx` itself says what that is."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

from tilewright import dtypes
from tilewright.graph.onnx.source import Refusal, Source

# These make something new each time, or hold graphs that read names from outside.
_NEVER = frozenset(
    {"RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Bernoulli"}
    | {"Multinomial", "If", "Loop", "Scan"}
)
# What the reference of the onnx package (1.23) makes of these is not what ONNX says, at least for
# some attributes, types or operator sets: they are computed as they are where inputs are given.
_MISTAKEN = frozenset(
    {"BatchNormalization", "GlobalMaxPool", "GridSample", "Hardmax", "LRN", "LogSoftmax", "MaxPool"}
    | {"QLinearConv", "Resize", "Softmax", "Upsample"}
)
MAX_FOLDED = 1 << 28  # elements: a gigabyte of float32
# Inputs of which only the shape or the type matters.
_DESCRIBED = {"Shape": (0,), "Size": (0,), "CastLike": (1,), "EyeLike": (0,)}


class TooLarge(Refusal):
    """What is refused before it would fill the memory."""


def would_fold(source: Source) -> bool:
    """Whether a node that follows refused ones computes what would be constant without them."""
    scope = source.scope
    return (
        source.standard
        and source.op not in _NEVER | _MISTAKEN
        and all(
            not name
            or name in scope.constants
            or name in scope.pending
            or index in _DESCRIBED.get(source.op, ())
            for index, name in enumerate(source.inputs)
        )
    )


def fold(source: Source, opsets: Sequence[onnx.OperatorSetIdProto]) -> list[np.ndarray] | None:
    """Return the outputs of a node whose inputs are all constant, or None for any other.

    None, too, for what only an importer computes right.

    An input counts as constant where only its shape or type matters, for these are known. Raises
    `Refusal` if that cannot be computed.
    """
    if source.op in _NEVER | _MISTAKEN or not source.standard:
        return None
    feed: dict[str, np.ndarray] = {}
    for index, name in enumerate(source.inputs):
        array = source.known(index) if name else None
        if array is None and index in _DESCRIBED.get(source.op, ()):
            zero = dtypes.numpy(source.dtype(index)).type(0)
            array = np.broadcast_to(zero, source.shape(index))
        if array is not None:
            feed[name] = array
        elif name:
            return None
    inputs = [
        onnx.helper.make_tensor_value_info(
            name, onnx.helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
        )
        for name, array in feed.items()
    ]
    outputs = [onnx.ValueInfoProto(name=name) for name in source.outputs if name]
    graph = onnx.helper.make_graph([source.proto], "fold", inputs, outputs)
    model = onnx.helper.make_model(graph, opset_imports=list(opsets))
    try:
        _check_size(source.op, list(feed.values()))
        with np.errstate(all="ignore"):
            results = ReferenceEvaluator(model).run(None, feed)
        arrays = [np.asarray(result) for result in results]
    except TooLarge:
        raise
    except NotImplementedError:
        raise Refusal("not supported") from None
    except Exception as error:  # whatever onnx raises on what it cannot compute
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise Refusal(f"it cannot be computed from its constants: {why}") from None
    found = iter(arrays)
    return [next(found) if name else np.zeros(0) for name in source.outputs]


def _check_size(op: str, given: list[np.ndarray]) -> None:
    """Refuse what would fill the memory: a few numbers can ask for any amount."""
    match op, given:
        case "ConstantOfShape", [shape, *_]:
            count = math.prod(shape.ravel().tolist())
        case "Expand" | "Tile", [data, by, *_]:
            count = math.prod(by.ravel().tolist()) * (data.size if op == "Tile" else 1)
        case "Range", [start, limit, step]:
            count = float(limit - start) / float(step) if step else math.inf
        case "Pad", [data, pads, *_]:
            more = int(np.maximum(pads, 0).max(initial=0))
            count = math.prod(n + 2 * more for n in data.shape)
        case "OneHot", [indices, depth, *_]:
            count = indices.size * float(depth.ravel()[0])
        case "Resize" | "Upsample", [data, *_, by] if by.dtype.kind in "fi":
            count = math.prod(by.ravel().tolist()) * (data.size if by.dtype.kind == "f" else 1)
        case _:
            return
    if count > MAX_FOLDED:
        raise TooLarge(
            f"it cannot be computed from its constants: it asks for {count:g} elements, too many"
        )
