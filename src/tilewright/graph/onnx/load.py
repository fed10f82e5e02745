"""Turn an ONNX file into a graph."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from os import PathLike

import numpy as np
import onnx

from tilewright import dtypes
from tilewright.errors import ModelError
from tilewright.graph.builder import Builder, renamed
from tilewright.graph.ir import Graph
from tilewright.graph.onnx.check import MAX_ELEMENTS, check_graph, check_outputs
from tilewright.graph.onnx.importers import IMPORTERS
from tilewright.graph.onnx.inputs import OpenShapesError, inputs_of
from tilewright.graph.onnx.nodes import Dialect, import_nodes
from tilewright.graph.onnx.read import constants_of, read
from tilewright.graph.onnx.source import Refusal, Scope


def load(
    path: str | PathLike[str] | onnx.ModelProto,
    shapes: Mapping[str, Sequence[int] | int] | None = None,
) -> Graph:
    """Read the model at `path`; `shapes` fixes inputs, or dimensions by name, that it leaves open.

    The graph has the model's own layout (channels first); what depends only on constants and on
    shapes is computed here. Raises `ModelError` if the file is missing, broken or too old, and once
    for all shapes that are open and all nodes that are not supported.
    """
    model, name = read(path)
    check_graph(model.graph, name)
    problems: list[str] = []
    try:
        inputs = inputs_of(model, shapes, name)
    except OpenShapesError as error:
        inputs, problems = (), [str(error)]
    scope = Scope(Builder(inputs, {}), constants_of(model, name))
    for value in inputs:
        if math.prod(value.shape) > MAX_ELEMENTS:
            raise ModelError(
                f"cannot load {name}: its input {value} has {math.prod(value.shape):g} elements, "
                "too many.\n  Give a smaller shape."
            )
        if value.nbytes:
            scope.values[value.name] = value.name
        else:  # it can have only one value
            scope.constants[value.name] = np.zeros(value.shape, dtypes.numpy(value.dtype))
    if problems:  # only nodes of an unsupported kind can be told then
        scope.unknown.update(proto.name for proto in model.graph.input)
    dialect = Dialect(model.ir_version, tuple(model.opset_import))
    outputs = [output.name for output in model.graph.output]
    refusals = import_nodes(model.graph.node, scope, dialect, outputs)
    if refusals:
        problems.append(_unsupported(name, refusals))
    if problems:
        raise ModelError("\n".join(problems))
    try:
        graph = scope.builder.finish([_output(scope, name) for name in outputs])
    except Refusal as problem:
        raise ModelError(f"cannot load {name}: its output {problem}.") from None
    graph = renamed(graph, dict(zip(graph.outputs, outputs, strict=True)))
    check_outputs(graph, model.graph.output, name, shapes_hold=not shapes)
    return graph


def _output(scope: Scope, name: str) -> str:
    """Return what an output is called; it may be without elements, which nothing can read."""
    array = scope.constants.get(name)
    if array is not None and not array.size and str(array.dtype) in dtypes.LLVM:
        return scope.builder.constant(name, array)
    return scope.value(name)


def _unsupported(path: str, refusals: list[str]) -> str:
    count = f"{len(refusals)} nodes are" if len(refusals) > 1 else "1 node is"
    return "\n  ".join(
        [
            f"cannot load {path}: {count} not supported.",
            *refusals,
            f"{len(IMPORTERS)} operators are supported (docs/onnx.md lists them), what ONNX states "
            "in terms of these, and every operator on constants.",
            "Export the model for inference (eval mode), or replace these nodes.",
        ]
    )
