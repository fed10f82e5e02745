"""From a graph of core operators, with weights that are known, to what runs it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import fx

from tilewright.errors import TilewrightError
from tilewright.graph.compile import compile
from tilewright.graph.model import Model
from tilewright.graph.module import Module
from tilewright.graph.torch.importers import name_of
from tilewright.graph.torch.known import known_values
from tilewright.graph.torch.lower import lower
from tilewright.graph.torch.options import Options
from tilewright.graph.torch.partition import partitioned
from tilewright.graph.torch.piece import Piece
from tilewright.graph.torch.report import Report
from tilewright.graph.torch.source import Refusal
from tilewright.graph.torch.tensors import DTYPES, Array, array_of
from tilewright.records.store import Records
from tilewright.target import host
from tilewright.tuning.tune import tune


def specialised(
    graph: fx.GraphModule, weights: Mapping[fx.Node, torch.Tensor], options: Options
) -> Callable[..., Any]:
    """Return what runs a graph: parts of it compiled, with the weights in them, the rest as it is.

    A part that cannot be compiled after all is left to PyTorch, with a warning that says why.
    """
    known = known_values(graph, weights)
    constants = {
        node: array_of(value)
        for node, value in known.items()
        if isinstance(value, torch.Tensor) and value.dtype in DTYPES
    }
    made, left = partitioned(graph, constants)
    by_name = {node.name: array for node, array in constants.items()}  # its nodes are new ones
    modules: list[Module] = []
    with options.opened() as records:
        for node in [n for n in made.graph.nodes if n.op == "call_module"]:
            part: Any = made.get_submodule(node.target)
            try:
                model, inputs = _lowered(part, node, by_name)
                module = _compiled(model, records, options)
            except (Refusal, TilewrightError) as error:
                left.append((node.target, str(error)))
                warnings.warn(f"PyTorch runs {_shown(part)}: {error}", stacklevel=2)
                continue
            modules.append(module)
            setattr(made, node.target, Piece(module, _single(part)))
            node.args = inputs
    made.graph.eliminate_dead_code()
    made.recompile()
    options.watch(Report(tuple(modules), tuple(left)))
    return made


def _lowered(
    part: fx.GraphModule, call: fx.Node, constants: Mapping[str, Array]
) -> tuple[Model, tuple[fx.Node, ...]]:
    """Return the model of a part, and those of its inputs that are not constant."""
    places = [n for n in part.graph.nodes if n.op == "placeholder"]
    passed: Any = call.args
    both: list[tuple[fx.Node, fx.Node]] = list(zip(places, passed, strict=True))
    inside = {place: constants[given.name] for place, given in both if given.name in constants}
    inputs = [(place, given) for place, given in both if place not in inside]
    for place, given in inputs:
        place.meta.setdefault("val", given.meta["val"])
    nodes = [n for n in part.graph.nodes if n.op == "call_function"]
    graph = lower([place for place, _ in inputs], nodes, _outputs(part), inside)
    return Model(graph), tuple(given for _, given in inputs)


def _compiled(model: Model, records: Records | None, options: Options) -> Module:
    """Compile a model, tuned before if that is asked for."""
    if options.tunes:
        threads = options.threads or host().cores
        tune(
            model, trials=options.trials, seconds=options.seconds, records=records, threads=threads
        )
    return compile(model, records, threads=options.threads)


def _shown(part: fx.GraphModule) -> str:
    names = [name_of(n.target) for n in part.graph.nodes if n.op == "call_function"]
    return f"{len(names)} operators ({', '.join(names[:3])}{', ...' if len(names) > 3 else ''})"


def _outputs(part: fx.GraphModule) -> list[fx.Node]:
    (made,) = part.graph.output_node().args
    every: Any = [made] if isinstance(made, fx.Node) else made
    return list(every)


def _single(part: fx.GraphModule) -> bool:
    return isinstance(part.graph.output_node().args[0], fx.Node)
