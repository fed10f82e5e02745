"""The inputs of a model and their shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx

from tilewright import dtypes
from tilewright.errors import ModelError
from tilewright.graph.ir import Shape, Value


class OpenShapesError(ModelError):
    """Inputs whose shapes the model leaves open and the caller did not give."""


def inputs_of(
    model: onnx.ModelProto, shapes: Mapping[str, Sequence[int]] | None, path: str
) -> tuple[Value, ...]:
    """Return the inputs of `model`, of `shapes` where given.

    Raise `OpenShapesError`, once for all, if some are open, and `ModelError` for other mistakes.
    """
    stored = {tensor.name for tensor in model.graph.initializer}
    protos = [proto for proto in model.graph.input if proto.name not in stored]
    names = [proto.name for proto in protos]
    given = _given(shapes, names[0] if names else "input")
    unknown = [name for name in given if name not in names]
    if unknown:
        raise ModelError(
            f"a shape was given for {', '.join(unknown)}, but {path} has no such input.\n"
            f"  its inputs: {', '.join(names)}"
        )
    values: list[Value] = []
    open_: list[tuple[str, str, list[int | str]]] = []
    for proto in protos:
        stated = _stated(proto, path)
        known = proto.type.tensor_type.HasField("shape")
        extents = [extent for extent in stated if isinstance(extent, int) and extent > 0]
        dtype = str(onnx.helper.tensor_dtype_to_np_dtype(proto.type.tensor_type.elem_type))
        if proto.name in given:
            values.append(_fixed(proto.name, given[proto.name], stated, known, path, dtype))
        elif known and len(extents) == len(stated):
            values.append(Value(proto.name, tuple(extents), dtype))
        else:
            open_.append((proto.name, _text(stated) if known else "unknown", stated))
    if open_:
        raise OpenShapesError(_open(open_, path))
    return tuple(values)


def _given(shapes: Any, example: str) -> dict[str, tuple[int, ...]]:
    """Return the shapes that a caller gave, by input; refuse what does not read as such."""
    how = f"give a dict of tuples, as in shapes={{{example!r}: (1, 3, 224, 224)}}"
    if shapes is None:
        return {}
    if not isinstance(shapes, Mapping):
        raise ModelError(f"cannot read shapes={shapes!r}: {how}.")
    found: dict[str, tuple[int, ...]] = {}
    for name, shape in shapes.items():  # pyright: ignore[reportUnknownVariableType]
        parts: Any = shape if isinstance(shape, Sequence | np.ndarray) else None
        if parts is None or not all(isinstance(e, int | np.integer) for e in parts):
            raise ModelError(f"cannot read shape {shape!r} of input {name!r}: {how}.")
        found[str(name)] = tuple(int(extent) for extent in parts)  # pyright: ignore[reportUnknownArgumentType]
    return found


def _stated(proto: onnx.ValueInfoProto, path: str) -> list[int | str]:
    tensor = proto.type.tensor_type
    kind = onnx.TensorProto.DataType.Name(tensor.elem_type).lower()
    known = tensor.elem_type != onnx.TensorProto.UNDEFINED and kind != "string"
    if not known or str(onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)) not in dtypes.LLVM:
        raise ModelError(
            f"cannot load {path}: its input {proto.name!r} is of type {kind}, in which nothing is "
            f"computed; there are {', '.join(dtypes.LLVM)}.\n  Export the model in one of these."
        )
    return [
        d.dim_value if d.HasField("dim_value") and d.dim_value >= 0 else d.dim_param or "?"
        for d in tensor.shape.dim
    ]


def _fixed(
    name: str, shape: Shape, stated: list[int | str], known: bool, path: str, dtype: str
) -> Value:
    fits = len(shape) == len(stated) and all(
        (g == s or not s) if isinstance(s, int) else g > 0
        for s, g in zip(stated, shape, strict=True)
    )
    if (known and not fits) or min(shape, default=1) < (0 if known else 1):
        raise ModelError(
            f"input {name!r} of {path} cannot have the shape {_text(shape)}: "
            f"the model states {_text(stated)}.\n  Give positive extents that agree with it."
        )
    return Value(name, shape, dtype)


def _open(inputs: Sequence[tuple[str, str, list[int | str]]], path: str) -> str:
    """Say which inputs are open, and how their shapes are given."""
    examples: dict[str, tuple[int, ...]] = {}
    for name, shown, stated in inputs:
        guess = tuple(
            e if isinstance(e, int) and e else _guess(stated, i) for i, e in enumerate(stated)
        )
        examples[name] = (1, 3, 224, 224) if shown == "unknown" else guess
    which = ", ".join(f"{name!r} of shape {shown}" for name, shown, _ in inputs)
    options = " ".join(f"--shape {name}={_text(shape)}" for name, shape in examples.items())
    return (
        f"cannot load {path}: it leaves extents of its inputs open ({which}); a model compiles for "
        f"fixed ones.\n  Give them: shapes={examples} in Python, {options} on the command line."
    )


def _guess(stated: list[int | str], axis: int) -> int:
    return 224 if len(stated) == 4 and axis > 1 else 3 if len(stated) == 4 and axis == 1 else 1


def _text(shape: Sequence[int | str]) -> str:
    return "x".join(map(str, shape)) or "scalar"
