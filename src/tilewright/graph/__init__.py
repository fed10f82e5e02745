"""Neural networks: import, simplification, fusion, layout, memory."""

from tilewright.graph.ir import Graph, Node, Value

__all__ = ["Graph", "Node", "Value"]
