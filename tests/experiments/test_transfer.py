"""Figure 8: what a search is taught, and what is said of it."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from experiments.workloads import AVX512, Curve, Replayed, Workload, replay, task_named

from tilewright.features import FEATURES
from tilewright.models import Boosted
from tilewright.records.store import Records
from tilewright.search import Guided, Search
from tilewright.search.problem import Problem
from tilewright.space.space import Space
from tilewright.testing.recorded import pool
from tilewright.tuning.task import Task

figure8 = importlib.import_module("experiments.figure8.__main__")


@pytest.mark.parametrize(
    ("name", "missing"), [("C6", ["C6"]), ("C7", []), ("avx2:C6", []), ("matmul1024", [])]
)
def test_a_model_never_learns_from_the_task_that_it_helps_with(
    name: str, missing: list[str]
) -> None:
    workload = Replayed(f"pool:{name}", task_named(name, AVX512))
    every = ("C1", "C2", "C3", "C4", "C5", "C6")
    assert figure8.others(workload) == tuple(each for each in every if each not in missing)


@dataclass(frozen=True)
class Pool:
    """The recorded trials of a task."""

    task: Task
    records: Records
    name: str = "pool"

    def run(self, search: Search, seed: int, trials: int) -> Curve:
        held = self.records.trials(self.task.key, self.task.where)
        return replay(pool(self.task, held, FEATURES), search, seed, trials)


def test_other_layers_lead_the_first_batch(
    records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(figure8, "recorded", lambda: records)
    workload = Pool(task_named("C3", AVX512), records)
    taught = figure8.Taught(Guided(Boosted(rounds=5)), most=8)
    search: Any = taught.on(workload)
    rows = workload.task.space.sample(np.random.default_rng(0), 8)
    known = search.model.source.predict(FEATURES.extract(workload.task.space, rows))
    assert len(set(known.tolist())) > 1
    first, again = (taught.run(workload, seed=1, trials=8) for _ in range(2))
    assert np.array_equal(first.best, again.best)
    assert len(first.best) == 8


def test_scratch_knows_nothing_before() -> None:
    space: Space[Any] = Space.declare(lambda knob: knob.size("x", range(64)))

    def prior(_: object) -> Any:
        raise AssertionError("it was asked")

    problem = Problem(space, lambda rows: rows.astype(np.float32), prior)
    searcher = figure8.Scratch(Guided()).start(problem, np.random.default_rng(0))
    assert len(searcher.ask(8)) == 8


def test_tables_have_nothing_to_be_learnt_elsewhere() -> None:
    table: Workload = Replayed("gemm_RTX_3090")
    assert not figure8.Taught(Guided(Boosted())).takes(table)


def test_what_transfer_gains() -> None:
    def curve(*best: float) -> Curve:
        return Curve(np.array(best), np.full(len(best), np.nan))

    runs = {
        "w": {
            "trees, scratch": [curve(0, 1, 1, 2), curve(0, 0, 3, 3), curve(0, 0, 0, 1)],
            "trees, transfer": [curve(0, 2, 2, 2), curve(2, 2, 2, 2), curve(0, 0, 0, 0)],
        }
    }
    said = figure8.gained(runs).splitlines()[-1]
    assert said == "| w | trees | 4 | 2 (2-4) | 0.500 | 4 (4-4) |"
