"""Images channels first -> channels last; transpositions are left at the edges only."""

from __future__ import annotations

from tilewright.errors import ModelError
from tilewright.graph.builder import Builder
from tilewright.graph.ir import Graph, Node, Shape
from tilewright.graph.operators.operator import ints

TO_LAST, TO_FIRST = (0, 2, 3, 1), (0, 3, 1, 2)


def channels_last(graph: Graph) -> Graph:
    """Replace the operators named `_nchw` by those that work channels last.

    Each value is kept in the layout in which it was made, and is transposed when something first
    needs it in the other. Transpositions of the model itself are such changes of view, too.
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
            self._plain[name] = self._transpose(self._last[name], TO_FIRST, name)
        return self._plain[name]

    def last(self, name: str) -> str:
        if name not in self._last:
            self._last[name] = self._transpose(self._plain[name], TO_LAST, f"{name}.nhwc")
        return self._last[name]

    def is_last(self, name: str) -> bool:
        """Return whether channels last is the layout in which `name` was made."""
        return name in self._last and name not in self._plain

    def make_plain(self, node: Node, op: str, *inputs: str) -> None:
        made = node.output.name
        self._plain[made] = self._make(node, op, inputs, made)

    def make_last(self, node: Node, op: str, *inputs: str) -> None:
        made = node.output.name
        self._last[made] = self._make(node, op, inputs, f"{made}.nhwc")

    def transpose(self, node: Node) -> None:
        """Keep a transposition of the model: as a change of view where it is one."""
        (source,), made, perm = node.inputs, node.output.name, ints(node.attributes, "perm")
        if perm == TO_LAST and self.is_last(source):
            self._plain[made] = self._last[source]
        elif perm == TO_FIRST:
            self._last[made] = self.plain(source)
        else:
            self._plain[made] = self._transpose(self.plain(source), perm, made)

    def constant_last(self, name: str, rank: int) -> str:
        """Return the constant `name`, an operand of less than or `rank` axes, channels last."""
        array = self.builder.constants[name]
        full = array.reshape((1,) * (rank - array.ndim) + array.shape)
        return self.builder.constant(f"{name}.nhwc", full.transpose(TO_LAST))

    def weights_last(self, name: str) -> str:
        """Return the weights `name` of a convolution, OIHW, as HWIO."""
        if name not in self.builder.constants:
            raise ModelError(
                f"cannot compile a convolution whose weights {name!r} are computed: store them in "
                "the model as a constant."
            )
        return self.builder.constant(
            f"{name}.hwio", self.builder.constants[name].transpose(2, 3, 1, 0)
        )

    def _make(self, node: Node, op: str, inputs: tuple[str, ...], made: str) -> str:
        attributes = dict(node.attributes)
        if node.op == "conv2d_nchw":
            attributes |= {"residual": 0, "relu": 0}
        return self.builder.node(op, inputs, made, name=node.name, attributes=attributes)

    def _transpose(self, source: str, perm: Shape, made: str) -> str:
        """Transpose, or only reshape where the order of the elements in memory stays."""
        shape = self.builder.shape(source)
        moved = [axis for axis in perm if shape[axis] > 1]
        if moved == sorted(moved):
            target = tuple(shape[axis] for axis in perm)
            return self.builder.node("reshape", [source], made, attributes={"shape": target})
        return self.builder.node("transpose", [source], made, attributes={"perm": perm})


def _rewrite(node: Node, views: _Views) -> None:
    match node.op:
        case "conv2d_nchw":
            data, weights, *bias = node.inputs
            views.make_last(node, "conv2d", views.last(data), views.weights_last(weights), *bias)
        case "pool2d_nchw":
            views.make_last(node, "pool2d", views.last(node.inputs[0]))
        case "global_average_pool_nchw":
            views.make_plain(node, "global_average_pool", views.last(node.inputs[0]))
        case "relu" | "add" if any(views.is_last(name) for name in node.inputs):
            views.make_last(node, node.op, *(_operand(name, node, views) for name in node.inputs))
        case "transpose":
            views.transpose(node)
        case _:
            views.make_plain(node, node.op, *(views.plain(name) for name in node.inputs))


def _operand(name: str, node: Node, views: _Views) -> str:
    if name in views.builder.constants:
        return views.constant_last(name, len(node.output.shape))
    return views.last(name)
