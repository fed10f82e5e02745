"""The inputs of a model and their shapes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx

from tilewright import dtypes
from tilewright.errors import ModelError
from tilewright.graph.ir import Shape, Value


class OpenShapesError(ModelError):
    """Inputs whose shapes the model leaves open and the caller did not give."""


Extents = list[int | str]  # as the model states them: a size, a name, "?" for one without a name


def inputs_of(
    model: onnx.ModelProto, shapes: Mapping[str, Sequence[int] | int] | None, path: str
) -> tuple[Value, ...]:
    """Return the inputs of `model`, of `shapes` where given.

    `shapes` holds shapes of inputs, and sizes of dimensions by the names that the model gives them.
    Raise `OpenShapesError`, once for all, if some are open, and `ModelError` for other mistakes.
    """
    stored = {tensor.name for tensor in model.graph.initializer}
    protos = [proto for proto in model.graph.input if proto.name not in stored]
    names = [proto.name for proto in protos]
    every = {proto.name: _stated(proto, path) for proto in protos}
    given, sizes = _sorted(_given(shapes, names[0] if names else "input"), every, path)
    every = {
        name: [sizes.get(e, e) if isinstance(e, str) else e for e in stated]
        for name, stated in every.items()
    }
    values: list[Value] = []
    open_: list[tuple[str, str, Extents]] = []
    for proto in protos:
        stated = every[proto.name]
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
        found = {
            name: extent
            for at, shape in given.items()
            for name, extent in zip(every[at], shape, strict=False)
            if isinstance(name, str) and name != "?"
        }
        raise OpenShapesError(_open(open_, found, path))
    return tuple(values)


def _given(shapes: Any, example: str) -> dict[str, tuple[int, ...] | int]:
    """Return the shapes and sizes that a caller gave; refuse what does not read as such."""
    how = (
        f"give a dict of tuples, as in shapes={{{example!r}: (1, 3, 224, 224)}}, or of sizes of "
        "dimensions that the model names"
    )
    if shapes is None:
        return {}
    if not isinstance(shapes, Mapping):
        raise ModelError(f"cannot read shapes={shapes!r}: {how}.")
    found: dict[str, tuple[int, ...] | int] = {}
    for name, shape in shapes.items():  # pyright: ignore[reportUnknownVariableType]
        if isinstance(shape, int | np.integer) and not isinstance(shape, bool):
            found[str(name)] = int(shape)  # pyright: ignore[reportUnknownArgumentType]
            continue
        parts: Any = shape if isinstance(shape, Sequence | np.ndarray) else None
        if parts is None or not all(isinstance(e, int | np.integer) for e in parts):
            raise ModelError(f"cannot read shape {shape!r} of input {name!r}: {how}.")
        found[str(name)] = tuple(int(extent) for extent in parts)  # pyright: ignore[reportUnknownArgumentType]
    return found


def _sorted(
    given: Mapping[str, tuple[int, ...] | int], every: Mapping[str, Extents], path: str
) -> tuple[dict[str, tuple[int, ...]], dict[str, int]]:
    """Tell shapes of inputs from sizes of dimensions; raise ModelError for names of neither.

    A shape of one extent, under the name of a dimension and of no such input, is its size.
    """
    named = _dimensions(every.values())
    shapes: dict[str, tuple[int, ...]] = {}
    sizes: dict[str, int] = {}
    for name, value in given.items():
        size = value if isinstance(value, int) else value[0] if len(value) == 1 else None
        vector = isinstance(value, tuple) and len(every.get(name, ())) == 1
        if name in named and size is not None and not vector:
            sizes[name] = size
        elif name in every and isinstance(value, int):
            raise ModelError(
                f"cannot read shape {value} of input {name!r}: give a tuple, as in "
                f"shapes={{{name!r}: (1, 3, 224, 224)}}; {_listed(named)}."
            )
        elif name in every:
            assert isinstance(value, tuple)
            shapes[name] = value
    unknown = [name for name in given if name not in shapes and name not in sizes]
    if unknown:
        raise ModelError(
            f"a shape was given for {', '.join(unknown)}, but {path} has no such input.\n"
            f"  its inputs: {', '.join(every)}\n  {_listed(named)}"
        )
    _agree(shapes, sizes, every, path)
    return shapes, sizes


def _agree(
    shapes: Mapping[str, tuple[int, ...]], sizes: Mapping[str, int], every: Mapping[str, Extents],
    path: str,
) -> None:  # fmt: skip
    """Raise ModelError for a size that no dimension can have, or that a given shape denies."""
    for name, size in sizes.items():
        if size < 1:
            raise ModelError(f"dimension {name!r} of {path} cannot be {size}: give a size from 1.")
        for at, shape in shapes.items():
            for extent, stated in zip(shape, every[at], strict=False):
                if stated == name and extent != size:
                    raise ModelError(
                        f"dimension {name!r} of {path} cannot be {size}: the shape "
                        f"{_text(shape)}, given for input {at!r}, makes it {extent}.\n"
                        "  Give one of the two, or make them agree."
                    )


def _dimensions(every: Iterable[Extents]) -> list[str]:
    """Return the names of dimensions, each once, in order."""
    names = (e for stated in every for e in stated if isinstance(e, str) and e != "?")
    return list(dict.fromkeys(names))


def _listed(named: Sequence[str]) -> str:
    return f"its named dimensions: {', '.join(named) or 'none'}"


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


def _open(inputs: Sequence[tuple[str, str, Extents]], found: Mapping[str, int], path: str) -> str:
    """Say which inputs are open, and how to give them; sizes that were `found` are not guessed."""
    examples: dict[str, tuple[int, ...]] = {}
    sizes = dict(found)
    for name, shown, stated in inputs:
        for axis, e in enumerate(stated):
            if isinstance(e, str) and e != "?":
                sizes.setdefault(e, _guess(stated, axis))
        guess = tuple(
            e if isinstance(e, int) and e else sizes.get(str(e), _guess(stated, i))
            for i, e in enumerate(stated)
        )
        examples[name] = (1, 3, 224, 224) if shown == "unknown" else guess
    which = ", ".join(f"{name!r} of shape {shown}" for name, shown, _ in inputs)
    options = " ".join(f"--shape {name}={_text(shape)}" for name, shape in examples.items())
    return (
        f"cannot load {path}: it leaves extents of its inputs open ({which}); a model compiles for "
        f"fixed ones.\n  Give them: shapes={examples} in Python, {options} on the command line."
        + _by_dimension([stated for _, _, stated in inputs], sizes)
        + _meant_empty(inputs)
    )


def _meant_empty(inputs: Sequence[tuple[str, str, Extents]]) -> str:
    """Say how a tensor without elements is told from one that an exporter left open by a 0."""
    empty = {
        name: tuple(e for e in stated if isinstance(e, int))
        for name, _, stated in inputs
        if 0 in stated and not any(isinstance(e, str) for e in stated)
    }
    if not empty:
        return ""
    return (
        "\n  An extent of 0 is one that an exporter left open, or of a tensor without elements; "
        f"if it is meant, give it: shapes={empty}."
    )


def _by_dimension(every: Sequence[Extents], sizes: Mapping[str, int]) -> str:
    """Say how dimensions are fixed by name, if they have names."""
    named = {name: sizes[name] for name in _dimensions(every)}
    if not named:
        return ""
    options = " ".join(f"--shape {name}={size}" for name, size in named.items())
    return f"\n  Or fix dimensions by name, wherever they occur: shapes={named}, {options}."


def _guess(stated: list[int | str], axis: int) -> int:
    return 224 if len(stated) == 4 and axis > 1 else 3 if len(stated) == 4 and axis == 1 else 1


def _text(shape: Sequence[int | str]) -> str:
    return "x".join(map(str, shape)) or "scalar"
