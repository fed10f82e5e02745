"""How models did goes to the database, and databases from before that was kept are used as well."""

from __future__ import annotations

import math
import sqlite3
from pathlib import Path

import pytest
from tests.records.test_store import TARGET, TASK, opened, trial
from tests.tuning.toys import Toy

from tilewright.errors import RecordsError
from tilewright.ops.dense import Dense
from tilewright.records import Measured
from tilewright.records.quality import Judged
from tilewright.records.store import Records
from tilewright.search import Annealing, Guided, RandomSearch
from tilewright.tuning.events import Event
from tilewright.tuning.task import Task
from tilewright.tuning.tune import tune

GOOD = Judged(64, 32, 0.75, 0.5, True)
NOTHING = Judged(96, 32, math.nan, math.nan, False)


def old(path: Path) -> Path:
    """Make a database as it was before quality was kept."""
    with opened(path) as records:
        records.add([trial(Measured((1e-3,)))])
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TABLE quality")
    connection.close()
    return path


def test_quality_survives_reopening_in_order(tmp_path: Path) -> None:
    with opened(tmp_path / "r.db") as records:
        assert records.quality(TASK, TARGET) == []
        for judged in GOOD, NOTHING:
            records.add_quality(TASK, TARGET, judged)
    with Records(tmp_path / "r.db") as records:
        first, second = records.quality(TASK, TARGET)
        assert first == GOOD
        assert repr(second) == repr(NOTHING), "nan is not equal to itself"
        assert records.quality(TASK, "elsewhere") == []
        with pytest.raises(RecordsError):
            records.add_quality("unknown", TARGET, GOOD)


def test_a_database_from_before_is_used_and_gets_the_table_when_it_is_needed(
    tmp_path: Path,
) -> None:
    path = old(tmp_path / "r.db")
    with Records(path) as records:
        assert records.quality(TASK, TARGET) == []
        assert len(records.trials(TASK, TARGET)) == 1
        records.add_quality(TASK, TARGET, GOOD)
        assert records.quality(TASK, TARGET) == [GOOD]
        assert len(records.trials(TASK, TARGET)) == 1


def test_two_that_use_a_database_from_before_at_once(tmp_path: Path) -> None:
    path = old(tmp_path / "r.db")
    with Records(path) as one, Records(path) as two:
        one.add_quality(TASK, TARGET, GOOD)
        two.add_quality(TASK, TARGET, NOTHING)
        assert len(one.quality(TASK, TARGET)) == len(two.quality(TASK, TARGET)) == 2


def test_damaged_quality_is_left_out_and_named(tmp_path: Path) -> None:
    path = tmp_path / "r.db"
    with opened(path) as records:
        records.add_quality(TASK, TARGET, NOTHING)
        records.add_quality(TASK, TARGET, GOOD)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE quality SET trials = 'many' WHERE id = 1")
    connection.close()
    with Records(path) as records:
        assert records.quality(TASK, TARGET) == [GOOD]
        assert list(records.damaged) == ["quality 1"]


def test_a_tuning_run_shows_and_keeps_how_its_model_does(tmp_path: Path) -> None:
    events: list[tuple[int, int]] = []

    def watch(event: Event) -> None:
        events.append((event.done, len(event.session.quality)))

    task = Task(Dense(32, 48, 40))
    guided = Guided(optimiser=Annealing(chains=32, steps=4))
    with Records(tmp_path / "r.db") as records:
        result = tune(
            task, trials=32, records=records, search=guided, measure=Toy(), batch=8, watch=watch
        )
        assert [n for done, n in events if done % 8 == 0] == [0, 0, 1, 2]
        kept = records.quality(task.key, task.where)
        assert [(q.trials, q.rows) for q in kept] == [(16, 8), (24, 8)]
        shown = result.sessions[0].quality
        assert [q.accuracy for q in shown] == [q.accuracy for q in kept]
        tune(task, trials=24, records=records, search=guided, measure=Toy(), batch=8)
        assert [q.trials for q in records.quality(task.key, task.where)] == [16, 24, 40, 48]
        blind = tune(task, trials=8, records=records, search=RandomSearch(), measure=Toy())
        assert blind.sessions[0].quality == []
        assert len(records.quality(task.key, task.where)) == 4
