"""Branches and loops that constants decide: the graphs inside stand in the place of the node."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import onnx

from tilewright.graph.onnx.functions import Body
from tilewright.graph.onnx.read import array_of
from tilewright.graph.onnx.source import Refusal, Source

MAX_TURNS = 64  # of a loop: each is written out

Import = Callable[[Body, str], None]


def holds_graphs(proto: onnx.NodeProto) -> bool:
    kinds = (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS)
    return any(attribute.type in kinds for attribute in proto.attribute)


def branch(source: Source, imported: Import) -> None:
    """Import the branch that a constant condition takes, or both, to choose between their results.

    A condition that is computed may lead to either: both are computed, and must make the same
    shapes.
    """
    known = source.known(0)
    first = _first(source)
    if known is not None:
        if known.size != 1:
            raise Refusal(f"its condition is {known.dtype} of shape {known.shape}, no single bool")
        which = "then_branch" if known.reshape(-1)[0] else "else_branch"
        imported(_body(_graph(source, which), source.outputs, f"{first}/"), f"its {which}")
        return
    made: list[list[str]] = []
    try:
        for which in ("then_branch", "else_branch"):
            names = [f"{first}/{which}/result{i}" for i in range(len(source.outputs))]
            prefix = f"{first}/{which}/"
            imported(_body(_graph(source, which), names, prefix), f"its {which}")
            made.append(names)
    except Refusal as problem:
        raise Refusal(
            f"its condition {source.inputs[0]!r} is computed, so that both branches are; {problem}"
        ) from None
    nodes: list[onnx.NodeProto] = []
    for output, yes, no in zip(source.outputs, *made, strict=True):
        kinds = [_kind(source, name) for name in (yes, no)]
        if kinds[0] != kinds[1]:
            raise Refusal(
                f"its condition {source.inputs[0]!r} is computed, and its branches make "
                f"{kinds[0][0]} {kinds[0][1]} and {kinds[1][0]} {kinds[1][1]}, which differ"
            )
        nodes.append(onnx.helper.make_node("Where", [source.inputs[0], yes, no], [output]))
    imported(Body(nodes, {}, [(name, name) for name in source.outputs], f"{first}/"), "its choice")


def loop(source: Source, imported: Import) -> None:
    """Write out the turns of a loop that runs a known and small number of times."""
    body, first = _graph(source, "body"), _first(source)
    most = int(source.number(0, "trip count")) if source.has(0) else MAX_TURNS + 1
    going = bool(source.number(1, "condition")) if source.has(1) else True
    state, count = list(source.inputs[2:]), len(source.inputs) - 2
    collected: list[list[str]] = [[] for _ in body.output[1 + count :]]
    turn = 0
    while going and turn < most:
        if turn == MAX_TURNS:
            raise Refusal(f"it runs more than {MAX_TURNS} times, or as often as data say")
        prefix = f"{first}/turn{turn}/"
        numbers = {
            f"{prefix}number": np.asarray(turn, np.int64),
            f"{prefix}going": np.asarray(True),
        }
        names = [f"{prefix}result{i}" for i in range(len(body.output))]
        given = dict(zip((v.name for v in body.input), (*numbers, *state), strict=False))
        made = _body(body, names, prefix, given, numbers)
        imported(made, f"its turn {turn}")
        held = source.scope.constants.get(names[0])
        if held is None:
            raise Refusal("it runs as often as data say: its condition is computed")
        going, turn = bool(held), turn + 1
        state = names[1 : 1 + count]
        for parts, name in zip(collected, names[1 + count :], strict=True):
            parts.append(name)
    _finish(source, state, collected, imported)


def _finish(
    source: Source, state: Sequence[str], collected: Sequence[list[str]], imported: Import
) -> None:
    """Name the last state as the outputs, and join what was collected in each turn."""
    first, axis = _first(source), f"{_first(source)}/axis"
    nodes: list[onnx.NodeProto] = []
    pairs = [(o, s) for o, s in zip(source.outputs, state, strict=False) if o]
    for output, parts in zip(source.outputs[len(state) :], collected, strict=False):
        if not output:
            continue
        if not parts:
            raise Refusal("it never runs, and so collects nothing")
        rows = [f"{output}/row{i}" for i in range(len(parts))]
        nodes += [
            onnx.helper.make_node("Unsqueeze", [part, axis], [row])
            for part, row in zip(parts, rows, strict=True)
        ]
        nodes.append(onnx.helper.make_node("Concat", rows, [output], axis=0))
        pairs.append((output, output))
    opsets = [onnx.helper.make_opsetid("", max(source.opset, 13))]
    constants = {axis: np.asarray([0], np.int64)}
    imported(Body(nodes, {}, pairs, f"{first}/", opsets, constants), "what it collects")


KINDS: Mapping[str, Callable[[Source, Import], None]] = {"If": branch, "Loop": loop}


def _body(
    graph: onnx.GraphProto,
    outputs: Sequence[str],
    prefix: str,
    given: Mapping[str, str] | None = None,
    constants: Mapping[str, np.ndarray] | None = None,
) -> Body:
    """Return the nodes of a graph; what it stores has names of its own, as its nodes have."""
    held = {tensor.name: f"{prefix}{tensor.name}" for tensor in graph.initializer}
    try:
        arrays = {held[tensor.name]: array_of(tensor) for tensor in graph.initializer}
    except ValueError as problem:
        raise Refusal(str(problem)) from None
    pairs = [(a, v.name) for a, v in zip(outputs, graph.output, strict=False) if a]
    return Body(
        graph.node, {**held, **(given or {})}, pairs, prefix,
        constants={**arrays, **(constants or {})},
    )  # fmt: skip


def _graph(source: Source, name: str) -> onnx.GraphProto:
    attribute = source.attributes.get(name)
    if attribute is None or not attribute.HasField("g"):
        raise Refusal(f"its {name} is missing")
    return attribute.g


def _kind(source: Source, name: str) -> tuple[str, tuple[int, ...]]:
    constant = source.scope.constants.get(name)
    if constant is not None:
        return str(constant.dtype), constant.shape
    made = source.builder.type(source.scope.value(name))
    return made.dtype, made.shape


def _first(source: Source) -> str:
    return next(filter(None, source.outputs), source.name)
