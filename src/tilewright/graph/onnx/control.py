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
    _finish(source, state, collected, (0,) * len(collected), imported)


def scan(source: Source, imported: Import) -> None:
    """Write out the turns of a scan: each gets the next part of some inputs."""
    if source.opset < 9:
        raise Refusal("it is of operator set 8, in which scans have batches; raise it to 9")
    body, first, count = (
        _graph(source, "body"),
        _first(source),
        source.attribute("num_scan_inputs", 0),
    )
    state, given = list(source.inputs[:-count]), source.inputs[-count:]
    made = len(body.output) - len(state)
    axes = source.attribute("scan_input_axes", (0,) * count)
    backward = source.attribute("scan_input_directions", (0,) * count)
    shapes = [source.shape(len(state) + i) for i in range(count)]
    lengths = {shape[axis] for shape, axis in zip(shapes, axes, strict=True)}
    if len(lengths) != 1:
        raise Refusal(f"it goes along inputs of shapes {shapes}, which are not of one length")
    (length,) = lengths
    if length > MAX_TURNS:
        raise Refusal(f"it runs {length} times, more than {MAX_TURNS}: each turn is written out")
    collected: list[list[str]] = [[] for _ in range(made)]
    for turn in range(length):
        prefix = f"{first}/turn{turn}/"
        at = [f"{prefix}at{i}" for i in range(count)]
        numbers = {
            name: np.asarray(length - 1 - turn if back else turn, np.int64)
            for name, back in zip(at, backward, strict=True)
        }
        parts = [f"{prefix}part{i}" for i in range(count)]
        nodes = [
            onnx.helper.make_node("Gather", [whole, index], [part], axis=axis)
            for whole, index, part, axis in zip(given, at, parts, axes, strict=True)
        ]
        pairs = [(part, part) for part in parts]
        imported(Body(nodes, {}, pairs, prefix, _opsets(source), numbers), f"its turn {turn}")
        names = [f"{prefix}result{i}" for i in range(len(body.output))]
        inside = dict(zip((v.name for v in body.input), (*state, *parts), strict=False))
        imported(_body(body, names, prefix, inside), f"its turn {turn}")
        state = names[: len(state)]
        for rows, name in zip(collected, names[len(state) :], strict=True):
            rows.append(name)
    for rows, back in zip(
        collected, source.attribute("scan_output_directions", (0,) * made), strict=True
    ):
        if back:
            rows.reverse()
    out = source.attribute("scan_output_axes", (0,) * made)
    _finish(source, state, collected, out, imported)


def _opsets(source: Source) -> list[onnx.OperatorSetIdProto]:
    return [onnx.helper.make_opsetid("", max(source.opset, 13))]


def _finish(
    source: Source, state: Sequence[str], collected: Sequence[list[str]], axes: Sequence[int],
    imported: Import,
) -> None:  # fmt: skip
    """Name the last state as the outputs, and join along `axes` what each turn made."""
    first = _first(source)
    nodes: list[onnx.NodeProto] = []
    constants: dict[str, np.ndarray] = {}
    pairs = [(o, s) for o, s in zip(source.outputs, state, strict=False) if o]
    for output, parts, axis in zip(source.outputs[len(state) :], collected, axes, strict=False):
        if not output:
            continue
        if not parts:
            raise Refusal("it never runs, and so collects nothing")
        rows = [f"{output}/row{i}" for i in range(len(parts))]
        nodes += [
            onnx.helper.make_node("Unsqueeze", [part, f"{output}/axis"], [row])
            for part, row in zip(parts, rows, strict=True)
        ]
        nodes.append(onnx.helper.make_node("Concat", rows, [output], axis=axis))
        pairs.append((output, output))
        constants[f"{output}/axis"] = np.asarray([axis], np.int64)
    imported(Body(nodes, {}, pairs, f"{first}/", _opsets(source), constants), "what it collects")


KINDS: Mapping[str, Callable[[Source, Import], None]] = {"If": branch, "Loop": loop, "Scan": scan}


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
