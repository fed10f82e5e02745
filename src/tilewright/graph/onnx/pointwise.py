"""Import the operators on single elements, and those that do nothing at inference."""

from __future__ import annotations

from collections.abc import Callable

import onnx

from tilewright import dtypes
from tilewright.graph.onnx.source import Refusal, Source
from tilewright.ops.program import Program, Step


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


def dropout(source: Source) -> str:
    if source.has(2) and source.number(2, "training mode"):
        raise Refusal("it is in training mode")
    return source.value()


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


def _cast(source: Source, dtype: str) -> str:
    if dtype == source.dtype():
        return source.value()
    return source.map(Program(1, (Step("cast", (0,), (dtype,)),)), source.value())
