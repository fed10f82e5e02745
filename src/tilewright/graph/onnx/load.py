"""Turn an ONNX file into a graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path

import onnx
import onnx.checker

from tilewright.errors import ModelError
from tilewright.graph.builder import Builder
from tilewright.graph.ir import Graph
from tilewright.graph.onnx.fold import fold
from tilewright.graph.onnx.importers import IMPORTERS
from tilewright.graph.onnx.inputs import inputs_of
from tilewright.graph.onnx.read import constants_of, read
from tilewright.graph.onnx.source import Refusal, Scope, Source


def load(path: str | PathLike[str], shapes: Mapping[str, Sequence[int]] | None = None) -> Graph:
    """Read the model at `path`; `shapes` gives the shape of inputs that the model leaves open.

    The graph has the model's own layout (channels first); what depends only on constants and on
    shapes is computed here. Raises `ModelError` if the file is missing, broken or too old, if a
    shape is open, and once for all the nodes that are not supported.
    """
    model = read(Path(path))
    inputs = inputs_of(model, shapes or {}, str(path))
    scope = Scope(Builder(inputs, {}), constants_of(model, Path(path)))
    scope.values.update((value.name, value.name) for value in inputs)
    read_names = {name for node in model.graph.node for name in node.input}
    read_names.update(output.name for output in model.graph.output)
    refusals: list[str] = []
    for proto in model.graph.node:
        source = Source(proto, scope)
        try:
            _translate(source, model, read_names)
        except (Refusal, ModelError) as problem:
            scope.unknown.update(proto.output)
            refusals.append(f"{source.op} {source.name!r}: {problem}")
    if refusals:
        raise ModelError(_unsupported(str(path), refusals))
    try:
        return scope.builder.finish([scope.value(output.name) for output in model.graph.output])
    except Refusal as problem:
        raise ModelError(f"cannot load {path}: its output {problem}.") from None


def _translate(source: Source, model: onnx.ModelProto, read_names: set[str]) -> None:
    """Put the outputs of a node into its scope; raise `Refusal` if that cannot be."""
    scope, outputs = source.scope, source.outputs
    if source.standard and source.op in IMPORTERS:
        _check(source.proto, model)
    if any(name in scope.unknown for name in source.inputs):
        scope.unknown.update(outputs)  # it follows a node that was refused: only its kind counts
        if not source.standard or source.op not in IMPORTERS:
            raise Refusal("not supported")
        return
    if (folded := fold(source, model.opset_import)) is not None:
        scope.constants.update(zip(outputs, folded, strict=False))
        return
    if not source.standard or source.op not in IMPORTERS:
        raise Refusal("not supported")
    for name in outputs[1:]:
        if name in read_names:
            raise Refusal(f"its output {name!r} is read, but only the first output is computed")
    scope.values[outputs[0]] = IMPORTERS[source.op](source)


def _check(proto: onnx.NodeProto, model: onnx.ModelProto) -> None:
    """Refuse a node that lacks inputs or attributes that its operator must have."""
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
            f"supported are {', '.join(sorted(IMPORTERS))}, and every operator on constants.",
            "Export the model for inference (eval mode), or replace these nodes.",
        ]
    )
