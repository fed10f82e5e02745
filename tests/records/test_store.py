"""The database: what goes in comes out, whole, in order, from several processes, after kill -9."""

from __future__ import annotations

import math
import os
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from unittest.mock import Mock

import pytest

from tilewright.errors import RecordsError
from tilewright.records import Choice, Failed, Measured, Outcome, Trial, connect
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


def test_the_fastest_come_in_order_and_no_more_are_read_than_it_takes(path: Path):
    seconds = [5.0, 3.0, 9.0, 1.0, 3.0, 7.0, 2.0]
    trials = [trial(Measured((time,)), number) for number, time in enumerate(seconds)]
    with opened(path) as records:
        records.add([trial(Failed("build", "timeout")), *trials])
        ordered = [trials[n] for n in (3, 6, 1, 4, 0, 5, 2)]
        assert records.fastest(TASK, TARGET, 3) == ordered[:3]
        assert records.fastest(TASK, TARGET, 100) == ordered
        assert records.fastest(TASK, "another", 3) == []
        seen: list[Trial] = []

        def later(each: Trial) -> bool:
            seen.append(each)
            return each not in ordered[:2]

        assert records.fastest(TASK, TARGET, 2, later) == ordered[2:4]
        assert seen == ordered[:4]


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


def other_database(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE songs (name)")
    connection.commit()
    connection.close()


def cut_database(path: Path) -> None:
    with opened(path) as records:
        records.add([trial(Measured((1.0,)))])
    path.write_bytes(path.read_bytes()[:5000])


@pytest.mark.parametrize(
    ("make", "said", "else_said"),
    [
        (lambda path: path.write_bytes(b""), "it is empty; tune something into it first", None),
        (
            lambda path: path.write_text("conv2d 3 ms\n" * 99),
            "not a database; give the path of a database that tilewright wrote, or restore a copy",
            "not a database; give the path of a database that tilewright wrote, or of a new file",
        ),
        (
            cut_database,
            "the file is damaged; restore a copy, or import what was exported of it",
            "the file is damaged; restore a copy, or start with a new file",
        ),
        (
            other_database,
            "of something else (tables: songs); give the path of a database that tilewright wrote",
            "of something else (tables: songs); give the path of a new file",
        ),
    ],
    ids=["empty", "text", "cut", "other"],
)
def test_what_is_no_database_of_ours_stays_as_it_is(
    path: Path, make: Callable[[Path], None], said: str, else_said: str | None
):
    """Who only reads is not told to begin a new file; an empty one is filled by who writes."""
    make(path)
    before = path.read_bytes()
    with pytest.raises(RecordsError, match=re.escape(said)):
        Records(path, create=False)
    assert path.read_bytes() == before
    if else_said is None:
        opened(path).close()
        Records(path, create=False).close()
    else:
        with pytest.raises(RecordsError, match=re.escape(else_said)):
            Records(path)
        assert path.read_bytes() == before


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


@pytest.mark.parametrize(
    "use",
    [
        lambda r: r.register("k", "t", "n", 1.0),
        lambda r: r.add([Trial("k", "t", {}, [], Measured((1.0,)))]),
        lambda r: r.extend(Trial("k", "t", {}, [], Measured((1.0,))), [1.0]),
        lambda r: r.trials("k", "t"),
        lambda r: r.best("k", "t"),
        lambda r: r.tasks(),
        lambda r: r.set_peak("t", 1.0),
        lambda r: r.peak("t"),
    ],
)
def test_closed_records_are_not_used(tmp_path: Path, use: Callable[[Records], object]):
    with Records(tmp_path / "tuning.db") as records:
        pass
    records.close()
    with pytest.raises(RecordsError, match=r"tuning\.db'\): it was closed"):
        use(records)


EXTENDER = """
import sys
from tilewright.records import Measured, Trial
from tilewright.records.store import Records
me = sys.argv[2]
with Records(sys.argv[1]) as records:
    for round in range(15):
        records.register("1f8a", "skylake/512b/2c", "matmul", 1e9)
        records.set_peak("skylake/512b/2c", 1e9)
        mine = Trial("1f8a", "skylake/512b/2c", {"by": me, "n": round}, [], Measured((1.0,)))
        records.add([mine])
        records.extend(mine, (2.0, 3.0))
"""


def test_processes_that_write_and_extend_at_once_wait_for_each_other(path: Path):
    """What reads first and then writes would be refused if another process wrote in between."""
    many = [
        subprocess.Popen(
            [sys.executable, "-c", EXTENDER, str(path), str(i)], stderr=subprocess.PIPE
        )
        for i in range(4)
    ]
    ended = [(process.communicate()[1].decode(), process.returncode) for process in many]
    assert ended == [("", 0)] * 4
    with Records(path) as records:
        found = records.trials(TASK, TARGET)
    assert len(found) == 60
    assert all(each.outcome == Measured((1.0, 2.0, 3.0)) for each in found)


def test_two_that_make_the_log_at_once_wait_for_each_other():
    locked = sqlite3.OperationalError("database is locked")
    cursor = Mock(**{"execute.side_effect": [locked, locked, None]})
    connect._write_ahead(cursor)
    assert cursor.execute.call_count == 3
    broken = Mock(**{"execute.side_effect": sqlite3.OperationalError("disk I/O error")})
    with pytest.raises(sqlite3.OperationalError, match="disk I/O"):
        connect._write_ahead(broken)
    assert broken.execute.call_count == 1


GOOD = {
    "config": '{"y": 1}', "steps": "[]", "seconds": "[2.0]", "median": 2.0, "error": None,
    "stage": None, "reason": None, "message": None, "created": "2024-05-01 12:00:00.000000",
}  # fmt: skip


@pytest.mark.parametrize(
    ("column", "value"),
    [
        *[(c, v) for c in ("config", "steps") for v in ("null", "5", "not JSON", '"x"', b"\xff")],
        ("config", "[1]"),
        ("config", "[" * 100_000),
        ("config", '{"y": ' + "[" * 40 + "]" * 40 + "}"),
        ("steps", "[1]"),
        ("steps", '[{"step": "Split", "places": 5}]'),
        *[("seconds", v) for v in ("null", "5", '["x"]', "[-1]", "[null]", "[Infinity]", "[]")],
        *[("seconds", v) for v in ("not JSON", "[true]", "[1e999]", None)],
        *[("median", v) for v in ("abc", 0.0, -1.0, 3.0, None)],
        ("error", "abc"),
        *[("created", v) for v in ("yesterday", 5, b"\xff", "2024")],
    ],
)
def test_damaged_rows_are_left_out_and_named(path: Path, column: str, value: object):
    with opened(path) as records:
        records.add([trial(Measured((3.0,)))])
    row = {"task": TASK, "target": TARGET, **GOOD, column: value}
    connection = sqlite3.connect(path)
    names, marks = ", ".join(row), ", ".join("?" * len(row))
    connection.execute(f"INSERT INTO trial ({names}) VALUES ({marks})", list(row.values()))
    connection.commit()
    connection.close()
    with Records(path) as records:
        (good,) = records.trials(TASK, TARGET)
        assert good == records.best(TASK, TARGET) == trial(Measured((3.0,)))
        records.extend(good, (5.0,))
        (summary,) = records.tasks()
        assert (summary.trials, summary.best_seconds) == (1, 4.0)
        assert list(records.damaged) == ["trial 2"]
        assert "0x" not in records.damaged["trial 2"]


@pytest.mark.parametrize(("column", "value"), [("name", b"\xff"), ("flops", "x"), ("flops", -1.0)])
def test_damaged_tasks_are_left_out_and_mended(path: Path, column: str, value: object):
    opened(path).close()
    connection = sqlite3.connect(path)
    connection.execute(f"UPDATE task SET {column} = ?", [value])
    connection.commit()
    connection.close()
    with Records(path) as records:
        assert records.tasks() == []
        assert list(records.damaged) == [f"task {TASK!r}"]
    with opened(path) as records:
        assert [each.name for each in records.tasks()] == ["matmul"]


@pytest.mark.parametrize("value", ["abc", "nan", "-1", "0", b"\xff"])
def test_a_damaged_peak_is_none(path: Path, value: object):
    with opened(path) as records:
        records.set_peak(TARGET, 1e11)
    connection = sqlite3.connect(path)
    connection.execute("UPDATE meta SET value = ? WHERE key LIKE 'peak%'", [value])
    connection.commit()
    connection.close()
    with Records(path) as records:
        assert records.peak(TARGET) is None
        assert list(records.damaged) == [f"meta 'peak {TARGET}'"]


READER = """
import os, sys
from tilewright.records.store import Records
if os.getuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
with Records(sys.argv[1], create=False) as records:
    print(records.tasks()[0].trials, len(records.trials("1f8a", "skylake/512b/2c")))
    try:
        records.set_peak("skylake/512b/2c", 1.0)
    except Exception as error:
        print(type(error).__name__, "writable" in str(error))
"""


@pytest.mark.parametrize("writer", [False, True], ids=["alone", "while another writes"])
@pytest.mark.parametrize("of", ["file", "directory"])
def test_what_cannot_be_written_is_opened_for_reading(of: str, writer: bool):
    """In a directory of its own that everyone may enter: those of pytest are for their user."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "what?%20.db"
        records = opened(path)
        records.add([trial(Measured((3.0,)))])
        if not writer:
            records.close()
        for each in Path(folder).iterdir():
            each.chmod(0o444)
        Path(folder).chmod(0o777 if of == "file" else 0o555)
        ended = subprocess.run(
            [sys.executable, "-c", READER, str(path)], capture_output=True, text=True, check=False
        )
        Path(folder).chmod(0o777)
        records.close()
    assert (ended.stdout, ended.stderr) == ("1 1\nRecordsError True\n", "")


@pytest.mark.parametrize("how", ["deleted", "replaced"])
def test_a_database_that_goes_away_is_noticed(path: Path, how: str):
    with opened(path) as records:
        path.unlink()
        if how == "replaced":
            opened(path).close()
        with pytest.raises(RecordsError, match=r"deleted or replaced while in use.* in no file"):
            records.add([trial(Measured((1.0,)))])
        with pytest.raises(RecordsError, match="deleted or replaced"):
            records.tasks()


@pytest.mark.parametrize("where", ["", " ", Path(" ")])
def test_no_path_is_refused(where: str | Path):
    with pytest.raises(RecordsError, match="it is no path"):
        Records(where)


def test_texts_that_are_not_whole_are_refused(path: Path):
    with opened(path) as records, pytest.raises(RecordsError, match="whole Unicode"):
        records.add([trial(Failed("run", "crash", "half a character: \ud800"))])


def test_what_a_network_chose_replaces_what_it_chose_before(path: Path):
    first, second = (trial(Measured((s * 1e-3,), 0.0), n) for n, s in enumerate((2, 3)))
    with opened(path) as records:
        records.add([first, second])
        assert records.choices("net", TARGET) == {}
        records.choose("net", TARGET, [Choice(second, alone=True)])
        assert records.choices("net", TARGET) == {TASK: Choice(second, alone=True)}
        records.choose("net", TARGET, [Choice(first)])
        records.choose("other", TARGET, [Choice(second, alone=True)])
        assert records.choices("net", TARGET) == {TASK: Choice(first)}
    with Records(path) as records:
        assert records.choices("other", TARGET) == {TASK: Choice(second, alone=True)}
        records.add([trial(Measured((2.5e-3,), 0.0), 2)])
        assert records.choices("other", TARGET) == {TASK: Choice(second, alone=True)}
        records.add([trial(Measured((1e-3,), 0.0), 3)])
        assert records.choices("other", TARGET) == {}


def test_a_choice_holds_until_a_faster_trial_on_its_threads_or_the_networks(path: Path):
    """Of two threads, a trial on one is chosen, to be left alone to one of them."""
    two = f"{TARGET}/2t"

    def put(target: str, milliseconds: float, config: int) -> Trial:
        made = trial(Measured((milliseconds * 1e-3,), 0.0), config)
        records.add([made := replace(made, target=target)])
        return made

    with opened(path) as records:
        records.register(TASK, two, "matmul", 1.0)
        chosen, _ = put(TARGET, 4, 0), put(two, 6, 1)
        records.choose("net", two, [Choice(chosen, alone=True)])
        held = {TASK: Choice(chosen, alone=True)}
        put(two, 5, 2)  # the fastest on two, and slower than one
        assert records.choices("net", two) == held
        put(two, 3, 3)
        assert records.choices("net", two) == {}
        records.choose("net", two, [Choice(chosen, alone=True)])
        put(two, 3.5, 4)  # no faster than what was known
        assert records.choices("net", two) == held
        put(TARGET, 3.5, 5)
        assert records.choices("net", two) == {}


def test_what_cannot_be_used_neither_is_chosen_nor_ends_a_choice(path: Path):
    slow, fast = (trial(Measured((s * 1e-3,), 0.0), n) for n, s in enumerate((2, 1)))
    with opened(path) as records:
        records.add([slow])
        records.choose("net", TARGET, [Choice(slow)])
        records.add([fast])
        assert records.choices("net", TARGET) == {}
        assert records.choices("net", TARGET, lambda t: t == slow) == {TASK: Choice(slow)}
        assert records.choices("net", TARGET, lambda t: t == fast) == {}


def test_records_that_cannot_be_written_say_so_when_asked(path: Path):
    with opened(path) as records:
        records.check_writable()
        path.unlink()
        with pytest.raises(RecordsError, match="deleted or replaced"):
            records.check_writable()


def test_what_is_not_on_record_is_not_chosen(path: Path):
    with opened(path) as records:
        records.choose("net", TARGET, [Choice(trial(Measured((1e-3,), 0.0)))])
        assert records.choices("net", TARGET) == {}


def test_a_database_from_before_choices_takes_them(path: Path):
    with opened(path) as records:
        records.add([trial(Measured((1e-3,), 0.0))])
    with sqlite3.connect(path) as raw:
        raw.execute("DROP TABLE choice")
    with Records(path) as records:
        (known,) = records.trials(TASK, TARGET)
        assert records.choices("net", TARGET) == {}
        records.choose("net", TARGET, [Choice(known)])
        assert records.choices("net", TARGET) == {TASK: Choice(known)}


@pytest.mark.parametrize(
    ("column", "value"), [("last", None), ("last", "much"), ("alone", 2), ("alone", b"yes")]
)
def test_a_damaged_choice_is_none_and_is_told(path: Path, column: str, value: object):
    with opened(path) as records:
        records.add([trial(Measured((1e-3,), 0.0))])
        records.choose("net", TARGET, [Choice(trial(Measured((1e-3,), 0.0)))])
    with sqlite3.connect(path) as raw:
        old = raw.execute("SELECT sql FROM sqlite_master WHERE name = 'choice'").fetchone()[0]
        rows = raw.execute("SELECT * FROM choice").fetchall()
        raw.execute("DROP TABLE choice")
        raw.execute(old.replace(" NOT NULL", ""))
        raw.executemany("INSERT INTO choice VALUES (?, ?, ?, ?, ?, ?)", rows)
        raw.execute(f"UPDATE choice SET {column} = ?", (value,))
    with Records(path) as records:
        assert records.choices("net", TARGET) == {}
        (told,) = records.damaged.values()
        assert repr(value) in told


def test_a_choice_of_a_trial_that_is_gone_or_damaged_is_none(path: Path):
    with opened(path) as records:
        records.add([trial(Measured((1e-3,), 0.0))])
        records.choose("net", TARGET, [Choice(trial(Measured((1e-3,), 0.0)))])
    with sqlite3.connect(path) as raw:
        raw.execute("UPDATE trial SET steps = 'nonsense'")
    with Records(path) as records:
        assert records.choices("net", TARGET) == {}
        assert records.damaged
    with sqlite3.connect(path) as raw:
        raw.execute("DELETE FROM trial")
    with Records(path) as records:
        assert records.choices("net", TARGET) == {}
        assert records.damaged == {"choice 1": "its trial 1 is not on record"}
