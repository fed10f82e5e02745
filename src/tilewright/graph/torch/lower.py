"""From nodes of PyTorch's graph to a graph of tilewright's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import getitem

from torch import fx

from tilewright.errors import TilewrightError
from tilewright.graph.builder import Builder
from tilewright.graph.ir import Graph, Value
from tilewright.graph.torch.importers import importer_of
from tilewright.graph.torch.source import Made, Refusal, Scope, Source, described
from tilewright.graph.torch.tensors import Array


def lower(
    inputs: Sequence[fx.Node],
    nodes: Sequence[fx.Node],
    outputs: Sequence[fx.Node],
    constants: Mapping[fx.Node, Array],
) -> Graph:
    """Return a graph of `nodes`; raise `Refusal` or a `TilewrightError` if that cannot be."""
    values = [Value(node.name, *described(node.meta.get("val"))) for node in inputs]
    scope = Scope(Builder(values, {}), constants)
    scope.values.update((node, node.name) for node in inputs)
    for node in nodes:
        scope.values[node] = _made(node, scope)
    names: list[str] = []
    for node in outputs:
        made = scope.values[node]
        if not isinstance(made, str):
            raise Refusal(f"{node.name} is no single tensor")
        names.append(made)
    return scope.builder.finish(names)


def _made(node: fx.Node, scope: Scope) -> Made:
    if node.target is getitem:
        source, index = node.args
        made = scope.values[source]  # pyright: ignore[reportArgumentType]
        if isinstance(made, str) or not isinstance(index, int) or index >= len(made):
            raise Refusal(f"its result {index} is not computed")
        return made[index]
    importer = importer_of(node.target)
    if importer is None:
        raise Refusal("not supported")
    source = Source(node, scope)
    made = importer(source)
    every = (made,) if isinstance(made, str) else made
    for name, (shape, dtype) in zip(every, source.results, strict=False):
        found = scope.builder.type(name)
        if (found.shape, found.dtype) != (shape, dtype):
            raise Refusal(
                f"it makes {dtype} of shape {shape}, tilewright {found.dtype} of {found.shape}"
            )
    return made


def refused(node: fx.Node, constants: Mapping[fx.Node, Array]) -> str:
    """Return why a node cannot be imported by itself; nothing if it can be."""
    inputs = [n for n in node.all_input_nodes if n not in constants]
    try:
        made = _alone(node, inputs, constants)
    except (Refusal, TilewrightError) as error:
        return str(error)
    if isinstance(made, str):
        return ""
    for user in node.users:
        if user.target is not getitem:
            return "its results are used together"
        if not isinstance(user.args[1], int) or user.args[1] >= len(made):
            return f"its result {user.args[1]} is used, and is not computed"
    return ""


def _alone(node: fx.Node, inputs: Sequence[fx.Node], constants: Mapping[fx.Node, Array]) -> Made:
    values = [Value(n.name, *described(n.meta.get("val"))) for n in inputs]
    scope = Scope(Builder(values, {}), constants)
    scope.values.update((n, n.name) for n in inputs)
    return _made(node, scope)
