"""Images channels first -> channels last; transpositions are left at the edges only."""

from __future__ import annotations

from tilewright.graph.builder import Builder
from tilewright.graph.ir import Attribute, Graph, Node, Shape
from tilewright.graph.operators import OPERATORS
from tilewright.graph.operators.conv import regrouped, to_first, to_last
from tilewright.graph.operators.operator import Attributes, integer, ints


def channels_last(graph: Graph) -> Graph:
    """Replace the operators named `_first` by those that work channels last.

    Each value is kept in the layout in which it was made, and is transposed when something first
    needs it in the other; what can work in any order of axes takes that of its operands.
    Transpositions of the model itself are such changes of view, too.
    """
    views = _Views(graph)
    for node in graph.nodes:
        _rewrite(node, views)
    return views.builder.finish(views.plain(name) for name in graph.outputs)


class _Views:
    """What the values of a graph are called in the new one: as they are, and channels last."""

    def __init__(self, graph: Graph) -> None:
        self.builder = Builder(graph.inputs, graph.constants)
        self._plain = {name: name for name in (*graph.constants, *(v.name for v in graph.inputs))}
        self._last: dict[str, str] = {}

    def plain(self, name: str) -> str:
        if name not in self._plain:
            made = self._last[name]
            self._plain[name] = self._transpose(made, to_first(self._rank(made)), name)
        return self._plain[name]

    def last(self, name: str) -> str:
        if name not in self._last:
            made = self._plain[name]
            self._last[name] = self._transpose(made, to_last(self._rank(made)), f"{name}.last")
        return self._last[name]

    def is_last(self, name: str) -> bool:
        """Return whether channels last is the layout in which `name` was made."""
        return name in self._last and name not in self._plain

    def shape(self, name: str) -> Shape:
        """Return the shape of a value as the model has it."""
        if name in self._plain:
            return self.builder.shape(self._plain[name])
        shape = self.builder.shape(self._last[name])
        return tuple(shape[axis] for axis in to_first(len(shape)))

    def operand(self, name: str, rank: int) -> str:
        """Return an operand that is repeated to `rank` axes, channels last."""
        shape = self.shape(name)
        if len(shape) == rank:
            return self.last(name)
        if not shape:
            return self.plain(name)
        full = (1,) * (rank - len(shape)) + shape
        moved = [axis for axis in to_last(rank) if full[axis] > 1]
        target = tuple(full[axis] for axis in to_last(rank))
        if moved == sorted(moved):
            return self.reshape(self.plain(name), target, f"{name}.last")
        whole = self.reshape(self.plain(name), full, f"{name}.full")
        return self._transpose(whole, to_last(rank), f"{name}.last")

    def make_plain(self, node: Node) -> None:
        made, inputs = node.output.name, [self.plain(name) for name in node.inputs]
        self._plain[made] = self.make(node, node.op, inputs, made, node.attributes)

    def make_last(self, node: Node, op: str, inputs: list[str], attributes: Attributes) -> None:
        made = node.output.name
        self._last[made] = self.make(node, op, inputs, f"{made}.last", attributes)

    def make(
        self, node: Node, op: str, inputs: list[str], made: str, attributes: Attributes
    ) -> str:
        return self.builder.node(
            op, inputs, made, name=node.name, attributes=attributes, then=node.then,
            reads=node.reads,
        )  # fmt: skip

    def transpose(self, node: Node) -> None:
        """Keep a transposition of the model: as a change of view where it is one."""
        (source,), made, perm = node.inputs, node.output.name, ints(node.attributes, "perm")
        rank = len(perm)
        if rank > 2 and perm == to_last(rank) and self.is_last(source):
            self._plain[made] = self._last[source]
        elif rank > 2 and perm == to_first(rank):
            self._last[made] = self.plain(source)
        else:
            self._plain[made] = self._transpose(self.plain(source), perm, made)

    def weights(self, name: str, order: Shape) -> str:
        return self._transpose(self.plain(name), order, f"{name}.last")

    def reshape(self, source: str, shape: Shape, made: str) -> str:
        if self.builder.shape(source) == shape:
            return source
        return self.builder.node("reshape", [source], made, attributes={"shape": shape})

    def _rank(self, made: str) -> int:
        return len(self.builder.shape(made))

    def _transpose(self, source: str, perm: Shape, made: str) -> str:
        """Transpose, or only reshape where the order of the elements in memory stays."""
        shape = self.builder.shape(source)
        moved = [axis for axis in perm if shape[axis] > 1]
        target = tuple(shape[axis] for axis in perm)
        attributes: dict[str, Attribute] = {"shape": target}
        if moved == sorted(moved):
            return self.builder.node("reshape", [source], made, attributes=attributes)
        return self.builder.node("transpose", [source], made, attributes={"perm": perm})


def _rewrite(node: Node, views: _Views) -> None:
    rank = len(node.output.shape)
    match node.op:
        case "conv_first":
            data, weights = node.inputs
            order = (*range(2, rank), 1, 0)
            inputs = [views.last(data), views.weights(weights, order)]
            views.make_last(node, "conv", inputs, node.attributes)
        case "transposed_conv_first":
            inputs = [views.last(node.inputs[0]), _transposed_weights(node, views)]
            views.make_last(node, "transposed_conv", inputs, node.attributes)
        case "pool_first":
            views.make_last(node, "pool", [views.last(node.inputs[0])], node.attributes)
        case "transpose":
            views.transpose(node)
        case _:
            permuted = _permuted(node, views)
            if permuted is None:
                views.make_plain(node)
            else:
                inputs = [views.operand(name, rank) for name in node.inputs]
                views.make_last(node, node.op, inputs, permuted)


def _permuted(node: Node, views: _Views) -> Attributes | None:
    """Return the attributes with which a node works channels last, if some operand is so."""
    rank = len(node.output.shape)
    wants = any(views.is_last(name) and len(views.shape(name)) == rank for name in node.inputs)
    if not 3 <= rank <= 5 or not wants or node.reads:
        return None
    return OPERATORS[node.op].permuted(node.attributes, to_last(rank))


def _transposed_weights(node: Node, views: _Views) -> str:
    """Return weights (ci, co / groups, *kernel) as (*kernel, ci / groups, co)."""
    name, groups = node.inputs[1], integer(node.attributes, "groups")
    W = views.plain(name)
    if W in views.builder.constants:
        return views.builder.constant(f"{name}.last", regrouped(views.builder.constants[W], groups))
    ci, each, *kernel = views.builder.shape(W)
    split = views.reshape(W, (groups, ci // groups, each, *kernel), f"{name}.groups")
    order = (*range(3, 3 + len(kernel)), 1, 0, 2)
    moved = views.builder.node("transpose", [split], f"{name}.moved", attributes={"perm": order})
    return views.reshape(moved, (*kernel, ci // groups, groups * each), f"{name}.last")
