"""Turn an ONNX file into a graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path

import numpy as np
import onnx

from tilewright.errors import ModelError
from tilewright.graph.builder import Builder
from tilewright.graph.ir import Graph, Shape
from tilewright.graph.onnx.fold import fold
from tilewright.graph.onnx.operators import IMPORTERS, KNOWN
from tilewright.graph.onnx.read import constants_of, inputs_of, operator_set, read
from tilewright.graph.onnx.source import Refusal, Scope, Source


def load(
    path: str | PathLike[str], shapes: Mapping[str, Sequence[int]] | None = None
) -> Graph:
    """Read the model at `path`, its inputs of the given `shapes` where it leaves them open.

    The graph has the model's own layout (channels first), and operators that depend only on
    constants or on shapes are gone. Raises `ModelError` if the file is missing, broken or too
    old, if a shape is open, and for all operators that are not supported at once.
    """
    model = read(Path(path))
    constants = constants_of(model, Path(path))
    inputs = inputs_of(model, shapes or {}, str(path))
    floats = {name: array for name, array in constants.items() if array.dtype == np.float32}
    builder = Builder(inputs, floats)
    scope = Scope(
        builder,
        values={name: name for name in (*floats, *(value.name for value in inputs))},
        constants=constants,
    )
    refusals = [
        f"{node.op_type} {node.name or ', '.join(node.output)!r}: {problem}"
        for node in model.graph.node
        if (problem := _translate(node, scope, model))
    ]
    if refusals:
        raise ModelError(_unsupported(str(path), refusals))
    return builder.finish(scope.value(output.name) for output in model.graph.output)


def _translate(node: onnx.NodeProto, scope: Scope, model: onnx.ModelProto) -> str:
    """Add what `node` computes to the scope, or return why that cannot be."""
    if any(name in scope.unknown for name in node.input):
        scope.unknown.update(node.output)  # it follows one that was refused: look no further
        return "" if node.op_type in KNOWN else "this operator is not known"
    source = Source(node, scope)
    try:
        if folded := fold(source, model.opset_import):
            for name, array in folded.items():
                scope.define_constant(name, array)
        elif node.domain not in ("", "ai.onnx") or node.op_type not in IMPORTERS:
            raise Refusal(
                "it is supported on constants only"
                if node.op_type in KNOWN
                else "this operator is not known"
            )
        else:
            made = IMPORTERS[node.op_type](source, scope.builder)
            scope.values[node.output[0]] = made
            scope.optional.update(name for name in node.output[1:] if name)
    except (Refusal, ModelError) as problem:
        scope.unknown.update(node.output)
        return str(problem)
    return ""


def _unsupported(path: str, refusals: list[str]) -> str:
    count = len(refusals)
    return "\n  ".join(
        [
            f"cannot load {path}: {count} node{'s are' if count > 1 else ' is'} not supported.",
            *refusals,
            f"supported: {', '.join(sorted(IMPORTERS))}; and any operator on constants.",
            "Export the model for inference (eval mode), or replace these nodes.",
        ]
    )


__all__ = ["Shape", "load", "operator_set"]
