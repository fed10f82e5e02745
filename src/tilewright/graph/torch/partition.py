"""Which parts of a graph tilewright runs: as large ones as there are between the others."""

from __future__ import annotations

from collections.abc import Mapping
from operator import getitem

import torch
from torch import fx
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import OperatorSupportBase

from tilewright.graph.torch.importers import MOVES, name_of
from tilewright.graph.torch.lower import refused
from tilewright.graph.torch.tensors import Array

aten = torch.ops.aten


class _Support(OperatorSupportBase):
    """Tells nodes that are imported; `reasons` says why the others are not."""

    def __init__(self, constants: Mapping[fx.Node, Array]) -> None:
        self._constants = constants
        self.reasons: dict[fx.Node, str] = {}

    def is_node_supported(self, submodules: Mapping[str, torch.nn.Module], node: fx.Node) -> bool:
        del submodules
        if node.op != "call_function" or node in self._constants:
            return False
        if node.target is getitem:
            source = node.args[0]
            return isinstance(source, fx.Node) and self._fits(source)
        return self._fits(node)

    def _fits(self, node: fx.Node) -> bool:
        if node not in self.reasons:
            self.reasons[node] = refused(node, self._constants)
        return not self.reasons[node]


def partitioned(
    module: fx.GraphModule, constants: Mapping[fx.Node, Array]
) -> tuple[fx.GraphModule, list[tuple[str, str]]]:
    """Return the graph with a submodule for each part to compile, and what stays, with why."""
    support = _Support(constants)
    for node in module.graph.nodes:
        if node.target is aten.as_strided.default and refused(node, constants):
            return module, [("aten.as_strided", refused(node, constants))]  # so must all others be
    found = CapabilityBasedPartitioner(module, support, allows_single_node_partition=True)
    parts = [part for part in found.propose_partitions() if _computes(list(part.nodes))]
    inside = {node for part in parts for node in part.nodes}
    left = [(name_of(n.target), why) for n, why in support.reasons.items() if why]
    for node in module.graph.nodes:
        if node not in inside and node.target is aten.view.default:
            node.target = aten.reshape.default  # of what may lie elsewhere than PyTorch put it
    return found.fuse_partitions(parts), left


def _computes(nodes: list[fx.Node]) -> bool:
    return any(node.target is not getitem and name_of(node.target) not in MOVES for node in nodes)
