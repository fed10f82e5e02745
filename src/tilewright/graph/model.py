"""A network as it was loaded: its optimized graph, and the tasks that tuning it means."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING

from tilewright.errors import ModelError
from tilewright.graph.ir import Graph
from tilewright.graph.kernels import Bound, bound
from tilewright.graph.passes import optimize
from tilewright.graph.plan import views
from tilewright.ops.conv2d import TOLERANCE
from tilewright.target import Target, host
from tilewright.tuning.task import Operator, Task

if TYPE_CHECKING:
    import onnx

    from tilewright.records.store import Records
    from tilewright.tuning.result import Rehearsal


@dataclass(frozen=True, eq=False)
class Model:
    """A network. `source` is the graph as the file states it; `graph` is what is compiled.

    `tolerance` is that of its layers, which decides what algorithms they may use.
    """

    source: Graph
    tolerance: float = TOLERANCE

    def __post_init__(self) -> None:
        number = isinstance(self.tolerance, int | float)  # pyright: ignore[reportUnnecessaryIsInstance]
        if not number or not 0 <= self.tolerance < 1:
            raise ModelError(
                f"cannot take the tolerance {self.tolerance!r}: give the error that a layer may "
                "add to that of rounding, as a share of its largest result, such as "
                f"{TOLERANCE:g}; 0 for none."
            )

    def __repr__(self) -> str:
        values, source = self.source.values, self.source
        outputs = ", ".join(str(values[name]) for name in source.outputs)
        inputs = ", ".join(map(str, source.inputs))
        return f"Model({inputs} -> {outputs}; {len(source.nodes)} nodes)"

    @cached_property
    def graph(self) -> Graph:
        return optimize(self.source)

    @cached_property
    def bound(self) -> tuple[Bound | None, ...]:
        """What computes each node of `graph`; None where a node computes nothing."""
        types, seen = self.graph.types, views(self.graph)
        return tuple(
            None if node.output.name in seen else bound(node, types, self.tolerance)
            for node in self.graph.nodes
        )

    @property
    def operators(self) -> tuple[Operator | None, ...]:
        """The operator of each node of `graph`; None where a node computes nothing."""
        return tuple(made and made.operator for made in self.bound)

    def tasks(self, target: Target | None = None, threads: int = 1) -> tuple[Task, ...]:
        """Return one task for each different piece of work, weighted by how often it is done.

        Operators whose expressions are equal are one, as those of shapes that are views of another.
        """
        counts = Counter(operator for operator in self.operators if operator is not None)
        found: dict[str, Task] = {}
        for operator, count in counts.items():
            task = Task(operator, target or host(), weight=count, threads=threads, cold=True)
            same = found.get(task.key)
            found[task.key] = task if same is None else replace(same, weight=same.weight + count)
        return tuple(found.values())

    def rehearse(self, records: Records, threads: int, seconds: float) -> Rehearsal | None:
        """Choose among the best trials by what is fastest in the network; see `rehearse`."""
        from tilewright.graph.rehearse import rehearse

        return rehearse(self, records, threads=threads, seconds=seconds)


def load_onnx(
    path: str | PathLike[str] | onnx.ModelProto,
    shapes: Mapping[str, Sequence[int] | int] | None = None,
    *,
    tolerance: float = TOLERANCE,
) -> Model:
    """Load a network from an ONNX file, or from an `onnx.ModelProto`.

    `shapes` fixes inputs whose shape the file leaves open, as in `{"input": (1, 3, 224, 224)}`, or
    all dimensions of a name, as in `{"batch": 1}`.
    `tolerance` is the error, as a share of a layer's largest result, that it may add to that of
    rounding: it admits Winograd's and Strassen's methods, whose errors are stated; 0 forbids them.
    Raise ModelError for a missing or broken file, for open shapes, and for operators that are not
    supported (all of them at once, with the names of their nodes).
    """
    from tilewright.graph.onnx import load

    return Model(load(path, shapes), tolerance)
