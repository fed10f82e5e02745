"""Turn an ONNX file into a graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike

import onnx
import onnx.checker

from tilewright.errors import ExpressionError, ModelError
from tilewright.graph.builder import Builder
from tilewright.graph.ir import Graph
from tilewright.graph.onnx.check import check_graph, check_outputs
from tilewright.graph.onnx.fold import fold, would_fold
from tilewright.graph.onnx.importers import IMPORTERS, supported
from tilewright.graph.onnx.inputs import OpenShapesError, inputs_of
from tilewright.graph.onnx.read import constants_of, read
from tilewright.graph.onnx.source import Refusal, Scope, Source


def load(
    path: str | PathLike[str] | onnx.ModelProto,
    shapes: Mapping[str, Sequence[int]] | None = None,
) -> Graph:
    """Read the model at `path`; `shapes` gives the shape of inputs that the model leaves open.

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
    scope.values.update((value.name, value.name) for value in inputs)
    if problems:  # only nodes of an unsupported kind can be told then
        scope.unknown.update(proto.name for proto in model.graph.input)
    refusals = _import(model, scope)
    if refusals:
        problems.append(_unsupported(name, refusals))
    if problems:
        raise ModelError("\n".join(problems))
    try:
        graph = scope.builder.finish([scope.value(output.name) for output in model.graph.output])
    except Refusal as problem:
        raise ModelError(f"cannot load {name}: its output {problem}.") from None
    check_outputs(graph, model.graph.output, name, extents_hold=not shapes)
    return graph


def _import(model: onnx.ModelProto, scope: Scope) -> list[str]:
    """Import every node in order; return those that cannot be, each with its reason."""
    read_names = {name for node in model.graph.node for name in node.input}
    read_names.update(output.name for output in model.graph.output)
    refusals: list[str] = []
    for proto in model.graph.node:
        source = Source(proto, scope)
        try:
            _translate(source, model, read_names)
        except (Refusal, ModelError, ExpressionError) as problem:
            scope.unknown.update(proto.output)
            refusals.append(f"{source.op} {source.name!r}: {problem}")
    return refusals


def _translate(source: Source, model: onnx.ModelProto, read_names: set[str]) -> None:
    """Put the outputs of a node into its scope; raise `Refusal` if that cannot be."""
    scope, outputs = source.scope, source.outputs
    if source.standard and onnx.defs.has(source.op):
        _check(source.proto, model)
    if any(name in scope.unknown or name in scope.pending for name in source.inputs):
        # It follows a node that was refused: only its kind counts.
        if would_fold(source):
            scope.pending.update(outputs)
            return
        scope.unknown.update(outputs)
        if not source.standard or source.op not in IMPORTERS:
            raise Refusal("not supported")
        return
    folded, unfolded = None, ""
    try:
        folded = fold(source, model.opset_import)
    except Refusal as problem:
        if not source.standard or source.op not in IMPORTERS:
            raise
        unfolded = f"; {problem}"
    if folded is not None:
        scope.constants.update(zip(outputs, folded, strict=False))
        return
    if not source.standard or source.op not in IMPORTERS:
        raise Refusal("not supported")
    try:
        made = IMPORTERS[source.op](source)
    except Refusal as problem:
        raise Refusal(f"{problem}{unfolded}") from None
    every = (made,) if isinstance(made, str) else made
    for name in outputs[len(every) :]:
        if name in read_names:
            raise Refusal(f"its output {name!r} is read, but is not computed")
    scope.values.update(zip(outputs, every, strict=False))


def _check(proto: onnx.NodeProto, model: onnx.ModelProto) -> None:
    """Refuse a node that lacks inputs or attributes that its operator must have."""
    for attribute in proto.attribute:
        if attribute.ref_attr_name:
            raise Refusal(f"its {attribute.name} refers to an attribute of a function, in none")
    context = onnx.checker.C.CheckerContext()
    context.ir_version = model.ir_version
    context.opset_imports = {opset.domain: opset.version for opset in model.opset_import}
    try:
        onnx.checker.check_node(proto, context)
    except onnx.checker.ValidationError as error:
        raise Refusal(str(error).splitlines()[0]) from None


def _unsupported(path: str, refusals: list[str]) -> str:
    count = f"{len(refusals)} nodes are" if len(refusals) > 1 else "1 node is"
    return "\n  ".join(
        [
            f"cannot load {path}: {count} not supported.",
            *refusals,
            f"supported are {supported()}, and every operator on constants.",
            "Export the model for inference (eval mode), or replace these nodes.",
        ]
    )
