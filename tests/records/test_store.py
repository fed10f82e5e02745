"""The database: what goes in comes out, whole, in order, from several processes, after kill -9."""

from __future__ import annotations

import math
import os
import signal
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from tilewright.errors import RecordsError
from tilewright.records import Failed, Measured, Outcome, Trial
from tilewright.records.store import Records

TASK, TARGET = "1f8a", "skylake/512b/2c"
NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


def trial(outcome: Outcome, number: int = 0, task: str = TASK) -> Trial:
    steps = [{"split": "y", "factors": [number, 4]}, {"vectorize": "x.1"}]
    return Trial(task, TARGET, {"y": [number, 4], "algorithm": "direct"}, steps, outcome, NOON)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tuning.db"


def opened(path: Path) -> Records:
    records = Records(path)
    records.register(TASK, TARGET, "matmul", 1e9)
    return records


def test_trials_survive_reopening_whole_and_in_order(path: Path):
    outcomes: list[Outcome] = [
        Measured((3e-3, 2e-3, 4e-3), 1e-6),
        Failed("run", "crash", "SIGSEGV\nwith a second line — and ünicode"),
        Measured((1e-3,), math.inf),
    ]
    trials = [trial(outcome, number) for number, outcome in enumerate(outcomes)]
    with opened(path) as records:
        records.add(trials[:2])
        records.add(trials[2:])
    with Records(path) as records:
        assert records.trials(TASK, TARGET) == trials
        assert records.trials(TASK, "another") == []
        assert list(records.trials(TASK, TARGET)[0].config) == ["y", "algorithm"]


def test_an_unknown_error_and_other_time_zones_survive(path: Path):
    zone = timezone(timedelta(hours=2))
    given = Trial(TASK, TARGET, {}, [], Measured((1.0,), math.nan), NOON.astimezone(zone))
    with opened(path) as records:
        records.add([given])
        (found,) = records.trials(TASK, TARGET)
    assert isinstance(found.outcome, Measured)
    assert math.isnan(found.outcome.error)
    assert found.created == given.created


def test_best_is_the_lowest_median_and_the_older_of_equals(path: Path):
    with opened(path) as records:
        assert records.best(TASK, TARGET) is None
        records.add([trial(Failed("build", "timeout"))])
        assert records.best(TASK, TARGET) is None
        records.add([trial(Measured((1e-3, 9e-3, 9e-3)), 1), trial(Measured((2e-3,)), 2)])
        records.add([trial(Measured((2e-3,)), 3)])
        assert records.best(TASK, TARGET) == trial(Measured((2e-3,)), 2)


def test_tasks_are_summarised(path: Path):
    with opened(path) as records:
        records.register("0000", TARGET, "conv2d", 0.0)
        records.add([trial(Measured((2e-3,))), trial(Failed("run", "crash", "first"))])
        records.add([trial(Failed("build", "error")), trial(Failed("run", "crash", "second"))])
        conv, matmul = records.tasks()
    assert (conv.name, conv.trials, conv.best_seconds, conv.gflops) == ("conv2d", 0, None, None)
    assert (matmul.trials, matmul.failed, matmul.gflops) == (4, 3, pytest.approx(500))
    counts = [(f.stage, f.reason, f.count, f.message) for f in matmul.failures]
    assert counts == [("run", "crash", 2, "first"), ("build", "error", 1, "")]


def test_registering_again_renames(path: Path):
    with opened(path) as records:
        records.register(TASK, TARGET, "dense", 2e9)
        (summary,) = records.tasks()
    assert (summary.name, summary.flops) == ("dense", 2e9)


def test_the_peak_of_a_target_is_kept(path: Path):
    with opened(path) as records:
        assert records.peak(TARGET) is None
        records.set_peak(TARGET, 1e11)
        records.set_peak(TARGET, 275.5e9)
        assert records.peak(TARGET) == 275.5e9


def test_a_batch_is_added_whole_or_not_at_all(path: Path):
    with opened(path) as records:
        with pytest.raises(RecordsError, match="not registered"):
            records.add([trial(Measured((1.0,))), trial(Measured((1.0,)), task="unknown")])
        broken = Trial(TASK, TARGET, {"y": object()}, [], Measured((1.0,)))
        with pytest.raises(RecordsError, match="plain JSON"):
            records.add([trial(Measured((1.0,))), broken])
        records.add([])
        assert records.trials(TASK, TARGET) == []


def test_threads_and_connections_share_a_database(path: Path):
    def write(number: int) -> None:
        with opened(path) as records:
            for step in range(5):
                records.add([trial(Measured((1.0 + step,)), number)])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    with Records(path) as records:
        assert len(records.trials(TASK, TARGET)) == 20


WRITER = """
import sys
from tilewright.records import Measured, Trial
from tilewright.records.store import Records
records = Records(sys.argv[1])
records.register("1f8a", "skylake/512b/2c", "matmul", 1e9)
number = 0
while True:
    batch = [Trial("1f8a", "skylake/512b/2c", {"n": number + i}, [], Measured((1.0,)))
             for i in range(7)]
    records.add(batch)
    number += 7
    print(number, flush=True)
"""


@pytest.mark.parametrize("batches", [1, 5, 20])
def test_a_killed_process_loses_nothing_committed(path: Path, batches: int):
    command = [sys.executable, "-c", WRITER, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for _ in range(batches):
            process.stdout.readline()
        os.kill(process.pid, signal.SIGKILL)
        promised = [int(line) for line in process.stdout] or [7 * batches]
    with Records(path) as records:
        numbers = [each.config["n"] for each in records.trials(TASK, TARGET)]
    assert numbers == list(range(len(numbers)))
    assert len(numbers) >= promised[-1]
    assert len(numbers) % 7 == 0


def test_a_full_disk_is_an_error_that_keeps_what_was_committed(path: Path):
    with opened(path) as records:
        records.add([trial(Measured((1.0,)))])
        with records._engine.connect() as connection:  # pyright: ignore[reportPrivateUsage]
            connection.exec_driver_sql("PRAGMA max_page_count = 1")
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
        huge = [trial(Failed("run", "crash", "x" * 100_000))] * 10
        with pytest.raises(RecordsError, match="free some space"):
            records.add(huge)
        assert pages
        assert records.trials(TASK, TARGET) == [trial(Measured((1.0,)))]


def test_a_file_that_is_no_database_is_refused(path: Path):
    path.write_bytes(b"conv2d 1.5 ms\n" * 100)
    with pytest.raises(RecordsError, match=r"not a database; give the path"):
        Records(path)


def test_a_database_of_something_else_is_refused(path: Path):
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE songs (name)")
    connection.close()
    with pytest.raises(RecordsError, match=r"something else \(tables: songs\)"):
        Records(path)


def test_another_schema_version_is_refused(path: Path):
    opened(path).close()
    connection = sqlite3.connect(path)
    connection.execute("UPDATE meta SET value = '99' WHERE key = 'schema version'")
    connection.commit()
    connection.close()
    with pytest.raises(RecordsError, match="schema version is 99, this tilewright reads version 1"):
        Records(path)


def test_paths_that_cannot_be_opened(tmp_path: Path):
    with pytest.raises(RecordsError, match="is no directory; create it"):
        Records(tmp_path / "missing" / "tuning.db")
    with pytest.raises(RecordsError, match="it is a directory"):
        Records(tmp_path)
    with pytest.raises(RecordsError, match="no such file; tune something"):
        Records(tmp_path / "tuning.db", create=False)
    with pytest.raises(RecordsError, match="no database URL"):
        Records("nonsense://host/name")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform != "linux", reason="needs a directory that even root cannot write")
def test_a_directory_that_cannot_be_written():
    with pytest.raises(RecordsError, match="check that its directory can be written"):
        Records("/proc/tuning.db")


def test_a_missing_driver_is_named():
    with pytest.raises(RecordsError, match="driver 'cx_Oracle' is not installed"):
        Records("oracle+cx_oracle://host/name")
