"""compile: from a network and records to one callable module."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

from tilewright.errors import ArgumentError, ModelError
from tilewright.graph.budget import fit, way_of, ways
from tilewright.graph.choices import schedules_of, usual
from tilewright.graph.construct import Constructor
from tilewright.graph.model import Model
from tilewright.graph.module import Module
from tilewright.records.store import Records
from tilewright.runtime.artifact import check_runs_here
from tilewright.runtime.memory import physical
from tilewright.runtime.threads import checked
from tilewright.target import Target, target_of


def compile(
    model: Model,
    records: Records | str | Path | None = None,
    *,
    target: Target | str | None = None,
    threads: int | None = None,
    weight_bytes: int | None = None,
) -> Module:
    """Compile a network with the best schedules on record, and a fallback for work without any.

    `records` may be the path of a database. Constants are packed now. `threads` is how many threads
    a run uses unless it says otherwise (default: the target's cores); work without records for so
    many uses those for one. `weight_bytes` is the most that packed weights may take: slower ways on
    record are taken where those of the fastest do not fit. Raise TargetError if code for `target`
    cannot run here, ArgumentError if no weights on record are so small.
    """
    if not isinstance(model, Model):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(
            f"cannot compile {model!r:.60} ({type(model).__name__}): give a network, as in "
            "compile(load_onnx('model.onnx')); build(...) takes expressions and schedules."
        )
    with nullcontext() if records is None else schedules_of(records) as known:
        return _compiled(model, known, target, threads, weight_bytes)


def _compiled(
    model: Model,
    records: Records | None,
    target: Target | str | None,
    threads: int | None,
    weight_bytes: int | None,
) -> Module:
    whole = isinstance(weight_bytes, int) and not isinstance(weight_bytes, bool)
    if weight_bytes is not None and not (whole and weight_bytes >= 0):
        raise ArgumentError(
            f"cannot keep the weights in weight_bytes={weight_bytes!r}: give the most bytes that "
            "they may take, a whole number; None for no bound."
        )
    target = target_of(target)
    check_runs_here(target)
    count = checked(threads, target.cores)
    _check_memory(model)
    construct = Constructor(model, target, count)
    pairs = list(zip(construct.tasks, construct.held, strict=True))
    if weight_bytes is not None:
        choices = [ways(task, records, held) for task, held in pairs]
        return construct.module(fit(choices, weight_bytes))
    chosen = usual(model, construct.tasks, records)
    return construct.module([way_of(t, chosen.get(t.key), held) for t, held in pairs])


def _check_memory(model: Model) -> None:
    """Refuse a network whose inputs and outputs, or one of its values, exceed the memory."""
    values = model.graph.values
    ends = [*model.graph.inputs, *(values[name] for name in dict.fromkeys(model.graph.outputs))]
    wanted, there = sum(value.nbytes for value in ends), physical()
    largest = max((value.nbytes for value in values.values()), default=0)
    if max(wanted, largest) > there:
        most = max(values.values(), key=lambda value: value.nbytes)
        raise ModelError(
            f"cannot compile this network: it needs {max(wanted, largest):,} bytes for its values, "
            f"of which {most} is the largest, and this machine has {there:,}. Give smaller shapes."
        )
