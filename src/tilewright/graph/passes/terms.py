"""What values are computed from, as terms: equal ones are the same, whichever nodes spell them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from tilewright.graph.ir import Graph, Node
from tilewright.ops.program import Program


@dataclass(frozen=True)
class Term:
    """A function of terms, the number that is a constant, or a value that no program makes.

    The value, which is then the `name`, is that of a node, of an input or of a larger constant.
    """

    function: str
    of: tuple[int, ...] = ()
    number: float = 0.0
    name: str = ""


@dataclass
class Terms:
    """The terms of a graph's values, each of which has a number and is kept once."""

    graph: Graph
    terms: list[Term] = field(default_factory=list[Term])
    numbers: dict[Term, int] = field(default_factory=dict[Term, int])
    of_value: dict[str, int] = field(default_factory=dict[str, int])
    made: dict[str, Node] = field(default_factory=dict[str, Node])
    names: dict[int, str] = field(default_factory=dict[int, str])

    def __post_init__(self) -> None:
        self.made = {node.output.name: node for node in self.graph.nodes}
        for node in self.graph.nodes:
            self._put(node)

    def __getitem__(self, number: int) -> Term:
        return self.terms[number]

    def value(self, name: str) -> int:
        """Return the number of a value's term."""
        if name not in self.of_value:
            array = self.graph.constants.get(name)
            if array is not None and array.size == 1:
                self.of_value[name] = self._number(Term("number", (), array.item()))
            else:
                self.of_value[name] = self._number(Term("value", name=name))
            self.names.setdefault(self.of_value[name], name)
        return self.of_value[name]

    def maker(self, number: int, op: str) -> Node | None:
        """Return the node of this kind, without a program behind it, that makes a value."""
        term = self.terms[number]
        node = self.made.get(term.name) if term.function == "value" else None
        return node if node is not None and node.op == op and node.then is None else None

    def arguments(self, number: int, function: str) -> tuple[int, ...] | None:
        """Return what a term applies a function to; None if it applies another."""
        term = self.terms[number]
        return term.of if term.function == function else None

    def with_number(self, number: int, function: str) -> tuple[int, float] | None:
        """Return the term and the number that a function is applied to, in either order."""
        of = self.arguments(number, function) or ()
        for a, b in (of, of[::-1]) if len(of) == 2 else ():
            if self.terms[b].function == "number":
                return a, self.terms[b].number
        return None

    def scaled(self, number: int) -> tuple[int, float] | None:
        """Return the term that this one is a finite multiple of, and the factor."""
        found = self.with_number(number, "mul")
        of = self.arguments(number, "div")
        if of and self.terms[of[1]].function == "number" and self.terms[of[1]].number:
            found = of[0], 1.0 / self.terms[of[1]].number
        return found if found and math.isfinite(found[1]) else None

    def quotients(self, number: int) -> list[tuple[int, int]]:
        """Return the terms a and b of which this is a / b, or a times the inverse of b."""
        if of := self.arguments(number, "div"):
            return [(of[0], of[1])]
        found: list[tuple[int, int]] = []
        if of := self.arguments(number, "mul"):
            for a, b in (of, of[::-1]):
                inverse = self.arguments(b, "div")
                if inverse and self.terms[inverse[0]] == Term("number", (), 1.0):
                    found.append((a, inverse[1]))
        return found

    def _put(self, node: Node) -> None:
        program, name = node.attributes.get("program"), node.output.name
        if node.op != "map" or node.then is not None or not isinstance(program, Program):
            self.value(name)
            return
        made = [self.value(operand) for operand in node.inputs]
        for step in program.steps:
            parameters = step.parameters
            if step.function == "constant" and isinstance(parameters[0], int | float):
                made.append(self._number(Term("number", (), parameters[0])))
            else:
                called = " ".join((step.function, *map(str, parameters)))
                made.append(self._number(Term(called, tuple(made[n] for n in step.operands))))
        self.of_value[name] = made[-1]
        self.names.setdefault(made[-1], name)

    def _number(self, term: Term) -> int:
        if term not in self.numbers:
            self.numbers[term] = len(self.terms)
            self.terms.append(term)
        return self.numbers[term]
