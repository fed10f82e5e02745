"""What ONNX demands of a graph as a whole, checked before any of it is read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from graphlib import CycleError, TopologicalSorter

import onnx

from tilewright import dtypes
from tilewright.errors import ModelError
from tilewright.graph.ir import Graph

MAX_ELEMENTS = 1 << 40


def check_graph(graph: onnx.GraphProto, path: str) -> None:
    """Refuse names that are made twice or too late, and inputs and outputs that cannot be."""
    problem = (
        _ends(graph)
        or _twice("inputs", (value.name for value in graph.input))
        or _twice("outputs", (value.name for value in graph.output))
        or _twice("constants", (tensor.name for tensor in graph.initializer))
        or _redefined(graph)
        or _unmade(graph)
        or _disordered(graph)
    )
    if problem:
        raise ModelError(
            f"cannot load {path}: it is no valid ONNX model: {problem}.\n"
            "  Export it again; onnx.checker.check_model says more."
        )


def check_outputs(
    graph: Graph, stated: Iterable[onnx.ValueInfoProto], path: str, *, shapes_hold: bool
) -> None:
    """Refuse outputs that the file states to be otherwise than they are.

    Stated shapes need not hold if a caller gave those of inputs.
    """
    values = graph.values
    for name, output in zip(graph.outputs, stated, strict=True):
        tensor, shape = output.type.tensor_type, values[name].shape
        extents = [d.dim_value if d.dim_value not in (0, -1) else None for d in tensor.shape.dim]
        fits = not shapes_hold or (
            len(extents) == len(shape)
            and all(e is None or e == s for e, s in zip(extents, shape, strict=True))
        )
        made = onnx.helper.np_dtype_to_tensor_dtype(dtypes.numpy(values[name].dtype))
        other = tensor.elem_type not in (made, onnx.TensorProto.UNDEFINED)
        if other or (tensor.HasField("shape") and not fits):
            kind = f"{_kind(tensor.elem_type)} " if other else ""
            text = "x".join("?" if e is None else str(e) for e in extents) or "scalar"
            raise ModelError(
                f"cannot load {path}: it states its output {output.name!r} to be {kind}{text}, but "
                f"its nodes make {values[name]}.\n  Export it again, or give shapes that agree."
            )


def reads(node: onnx.NodeProto) -> Iterator[str]:
    """Yield the names that a node reads, those that graphs inside of it take from outside too."""
    yield from filter(None, node.input)
    for attribute in node.attribute:
        for graph in (attribute.g, *attribute.graphs):
            own = {v.name for v in graph.input} | {t.name for t in graph.initializer}
            own |= {name for inner in graph.node for name in inner.output}
            inside = (name for inner in graph.node for name in reads(inner))
            yield from (name for name in inside if name not in own)
            yield from (v.name for v in graph.output if v.name not in own)


def _ends(graph: onnx.GraphProto) -> str:
    if not graph.output:
        return "it has no outputs"
    for value in graph.input:
        tensor = value.type.tensor_type
        if not value.type.HasField("tensor_type"):
            return f"its input {value.name!r} is no tensor"
        if tensor.elem_type not in onnx.TensorProto.DataType.values():
            return f"its input {value.name!r} is of {_kind(tensor.elem_type)}, which is unknown"
        for dim in tensor.shape.dim:
            if dim.dim_value < -1:  # -1 is what some write for one that is open
                return (
                    f"its input {value.name!r} states an extent of {dim.dim_value}, where one that "
                    "is open has a name or nothing"
                )
            if dim.dim_value > MAX_ELEMENTS:
                return f"its input {value.name!r} states an extent of {dim.dim_value}, too large"
    for tensor in graph.initializer:
        if tensor.data_type not in onnx.TensorProto.DataType.values():
            return f"its constant {tensor.name!r} is of {_kind(tensor.data_type)}, which is unknown"
        if any(extent < 0 for extent in tensor.dims):
            return f"its constant {tensor.name!r} has a negative extent: {list(tensor.dims)}"
    return ""


def _twice(what: str, names: Iterable[str]) -> str:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return f"two of its {what} are called {name!r}"
        seen.add(name)
    return ""


def _redefined(graph: onnx.GraphProto) -> str:
    made = {value.name: "an input of the model" for value in graph.input}
    made |= {tensor.name: "a constant" for tensor in graph.initializer}
    for node in graph.node:
        for name in filter(None, node.output):
            if name in made:
                return f"{_shown(node)} makes {name!r}, which is made already, as {made[name]}"
            made[name] = f"an output of {_shown(node)}"
    return ""


def _unmade(graph: onnx.GraphProto) -> str:
    """Say which node reads what no node makes, and what is neither an input nor a constant."""
    made = {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}
    made |= {tensor.values.name for tensor in graph.sparse_initializer}
    made |= {name for node in graph.node for name in node.output}
    for node in graph.node:
        for name in filter(None, node.input):
            if name not in made:
                return f"{_shown(node)} reads {name!r}, but nothing makes it"
    return ""


def _disordered(graph: onnx.GraphProto) -> str:
    """Say which node reads what is made after it, and whether any order would do."""
    maker = {name: i for i, node in enumerate(graph.node) for name in node.output if name}
    needs = {
        i: {maker[name] for name in reads(node) if name in maker}
        for i, node in enumerate(graph.node)
    }
    late = next((i for i, before in needs.items() if any(j >= i for j in before)), None)
    if late is None:
        return ""
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        around = " -> ".join(_shown(graph.node[i]) for i in reversed(error.args[1]))
        return f"its nodes wait for each other in a circle: {around}"
    name = next(n for n in reads(graph.node[late]) if maker.get(n, -1) >= late)
    return (
        f"its nodes are not sorted: {_shown(graph.node[late])} reads {name!r}, which "
        f"{_shown(graph.node[maker[name]])} makes only later"
    )


def _shown(node: onnx.NodeProto) -> str:
    return f"{node.op_type} {node.name or next(iter(node.output), '')!r}"


def _kind(number: int) -> str:
    if number in onnx.TensorProto.DataType.values():
        return onnx.TensorProto.DataType.Name(number).lower()
    return f"type {number}"
