"""The inputs of a model and their shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import onnx

from tilewright.errors import ModelError
from tilewright.graph.ir import Shape, Value


def inputs_of(
    model: onnx.ModelProto, shapes: Mapping[str, Sequence[int]], path: str
) -> tuple[Value, ...]:
    """Return the inputs of `model`, of `shapes` where given; raise `ModelError` if one is open."""
    stored = {tensor.name for tensor in model.graph.initializer}
    protos = [proto for proto in model.graph.input if proto.name not in stored]
    names = [proto.name for proto in protos]
    unknown = [name for name in shapes if name not in names]
    if unknown:
        raise ModelError(
            f"a shape was given for {', '.join(unknown)}, but {path} has no such input.\n"
            f"  its inputs: {', '.join(names)}"
        )
    return tuple(_input(proto, shapes.get(proto.name), path) for proto in protos)


def _input(proto: onnx.ValueInfoProto, given: Sequence[int] | None, path: str) -> Value:
    tensor = proto.type.tensor_type
    if tensor.elem_type != onnx.TensorProto.FLOAT:
        kind = onnx.TensorProto.DataType.Name(tensor.elem_type).lower()
        raise ModelError(
            f"cannot load {path}: its input {proto.name!r} is of type {kind}; only float (float32) "
            "is supported.\n  Export the model in float32."
        )
    stated = [d.dim_value or d.dim_param or "?" for d in tensor.shape.dim]
    if given is None:
        return Value(proto.name, _closed(proto.name, stated, tensor.HasField("shape"), path))
    shape = tuple(int(extent) for extent in given)
    fits = len(shape) == len(stated) and all(
        not isinstance(s, int) or s == g for s, g in zip(stated, shape, strict=True)
    )
    if (tensor.HasField("shape") and not fits) or any(extent < 1 for extent in shape):
        raise ModelError(
            f"input {proto.name!r} of {path} cannot have the shape {_text(shape)}: "
            f"the model states {_text(stated)}.\n  Give positive extents that agree with it."
        )
    return Value(proto.name, shape)


def _closed(name: str, stated: list[int | str], known: bool, path: str) -> Shape:
    extents = [extent for extent in stated if isinstance(extent, int) and extent > 0]
    if known and len(extents) == len(stated):
        return tuple(extents)
    example = _text([e if isinstance(e, int) else _guess(stated, i) for i, e in enumerate(stated)])
    raise ModelError(
        f"input {name!r} of {path} has the shape {_text(stated) if known else 'unknown'}, which "
        "leaves extents open; a model compiles for fixed ones.\n"
        f"  Give them, as in --shape {name}={example if known else '1x3x224x224'}"
    )


def _guess(stated: list[int | str], axis: int) -> int:
    return 224 if len(stated) == 4 and axis > 1 else 3 if len(stated) == 4 and axis == 1 else 1


def _text(shape: Sequence[int | str]) -> str:
    return "x".join(map(str, shape)) or "scalar"
