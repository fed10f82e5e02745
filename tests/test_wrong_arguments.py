"""Whatever the public functions are given, what they raise is an error of ours, which says so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.errors import TilewrightError

WRONG: tuple[Any, ...] = (
    None, 3, -1, 10**400, float("nan"), float("inf"), True, "x", b"x", [], {}, (), [None], max,
    object(), np.zeros(3),
)  # fmt: skip
a, k = tw.tensor("A", (8, 8)), tw.reduce_axis("k", 8)
out = tw.compute("B", (8, 8), lambda i, j: a[i, j] * 2.0)
schedule, task = tw.Schedule(out), tw.Task(out)
fitted = tw.models.Boosted().fit(
    tw.models.Training.of(np.random.default_rng(0).random((20, 3), np.float32), np.arange(20.0))
)


def reduced(kind: Callable[..., Any]) -> Callable[[Any], Any]:
    return lambda over: tw.compute("C", (8,), lambda i: kind(a[i, k], over=over))


def tuned(**options: Any) -> Any:
    return tw.tune(out, **{"trials": 0, "records": ":memory:", **options})


Call = tuple[Callable[..., Any], tuple[Any, ...]]
CALLS: dict[str, Call] = {
    "tensor": (tw.tensor, ("B", (8,), "float32")),
    "compute": (tw.compute, ("B", (8, 8), lambda i, j: a[i, j])),
    "reduce_axis": (tw.reduce_axis, ("k", 8)),
    **{kind.__name__: (reduced(kind), (k,)) for kind in (tw.sum, tw.max, tw.min, tw.prod)},
    "cast": (lambda to: tw.compute("C", (8, 8), lambda i, j: tw.cast(to, a[i, j])), ("int32",)),
    "Schedule": (tw.Schedule, (out,)),
    "from_json": (tw.Schedule.from_json, (out, schedule.to_json())),
    "apply": (schedule.apply, (schedule.steps,)),
    "extent": (schedule.extent, ("i",)),
    "split": (schedule.split, ("i", (2, 4))),
    "reorder": (schedule.reorder, ("j", "i")),
    "fuse": (schedule.fuse, ("i", "j")),
    "vectorize": (schedule.vectorize, ("j",)),
    "Task": (tw.Task, (out,)),
    "best": (task.best, (None,)),
    "build": (tw.build, (schedule,)),
    "emit": (tw.emit, (schedule, tw.Target("x86-64-v3"))),
    "op": (tw.op, (lambda: out,)),
    "Target": (tw.Target, ("x86-64",)),
    "tune": (tw.tune, (out,)),
    "learn": (tw.learn, (":memory:", [task])),
    "rehearse": (tw.rehearse, (out, ":memory:")),
    "load_onnx": (tw.load_onnx, ("none.onnx",)),
    "load": (tw.load, ("none.twm",)),
    "models.save": (tw.models.save, (fitted, "my.model", tw.features.Costs())),
    "models.load": (tw.models.load, ("my.model", tw.features.Costs())),
    **{
        name: (lambda value, name=name: tuned(**{name: value}), (1,))
        for name in ("trials", "seconds", "least_gain", "seed", "batch", "threads", "measure",
                     "peak", "watch", "search", "records")
    },
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.filterwarnings("ignore")
def test_wrong_arguments_are_told(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    call, right = CALLS[name]
    refused = 0
    for position in range(len(right)):
        for wrong in WRONG:
            given = [*right[:position], wrong, *right[position + 1 :]]
            if name == "tune" and not isinstance(wrong, tw.Tensor):
                given = [wrong]
            try:
                call(*given)
            except TilewrightError:
                refused += 1
    assert refused >= len(WRONG) // 2
