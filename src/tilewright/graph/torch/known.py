"""What a graph computes of constants alone, and what it makes of nothing, such as positions."""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter, getitem
from typing import Any

import torch
from torch import fx
from torch._ops import OpOverload

MAX_ELEMENTS = 1 << 28  # a gigabyte of float32


def known_values(
    module: fx.GraphModule, given: Mapping[fx.Node, torch.Tensor]
) -> dict[fx.Node, Any]:
    """Return the value of every node that depends on no other inputs than the `given` ones."""
    known: dict[fx.Node, Any] = dict(given)
    with torch.no_grad():
        for node in module.graph.nodes:
            if node.op == "get_attr":
                known[node] = attrgetter(node.target)(module)
            elif _can_be_known(node) and all(n in known for n in node.all_input_nodes):
                args, kwargs = fx.map_arg((node.args, node.kwargs), lambda n: known[n])
                known[node] = node.target(*args, **kwargs)
    return known


def _can_be_known(node: fx.Node) -> bool:
    if node.op != "call_function":
        return False
    if not isinstance(node.target, OpOverload):
        return node.target is getitem
    target, made = node.target, node.meta.get("val")
    schema = target._schema  # pyright: ignore[reportPrivateUsage]
    if torch.Tag.nondeterministic_seeded in target.tags or schema.is_mutable:
        return False
    results: Any = made if isinstance(made, tuple | list) else (made,)
    return all(isinstance(r, torch.Tensor) and r.numel() <= MAX_ELEMENTS for r in results)
