"""JSON lines: out and in again is the same; torn ends are tolerated, torn middles are not."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.errors import RecordsError
from tilewright.records import Failed, Measured, Trial
from tilewright.records.lines import Imported, export_lines, import_lines
from tilewright.records.store import Records

outcomes = st.one_of(
    st.builds(
        Measured,
        st.lists(st.floats(1e-9, 1e3), min_size=1, max_size=4).map(tuple),
        st.floats(0, allow_nan=False),
    ),
    st.builds(
        Failed,
        st.sampled_from(["build", "run", "verify"]),
        st.sampled_from(["timeout", "crash", "wrong"]),
        st.text(st.characters(codec="utf-8", exclude_characters="\0")),
    ),
)


@pytest.fixture
def records():
    with Records(":memory:") as records:
        records.register("k", "m", "matmul", 1e9)
        trials = [Trial("k", "m", {"n": n}, [], Measured((1.0 + n,))) for n in range(3)]
        records.add([*trials, Trial("k", "m", {"n": 9}, [{"a": [1]}], Failed("run", "crash", "é"))])
        yield records


@given(st.lists(outcomes, max_size=5))
def test_trials_come_back_the_same(tmp_path_factory: pytest.TempPathFactory, given_outcomes):
    path = tmp_path_factory.mktemp("lines") / "trials.jsonl"
    trials = [Trial("k", "m", {"n": n}, [], each) for n, each in enumerate(given_outcomes)]
    with Records(":memory:") as source, Records(":memory:") as sink:
        source.register("k", "m", "matmul", 1e9)
        source.add(trials)
        assert export_lines(source, path) == len(trials)
        assert import_lines(sink, path) == Imported(len(trials), 0, torn=False)
        assert sink.trials("k", "m") == trials


def test_importing_again_adds_nothing(records: Records, tmp_path: Path):
    export_lines(records, tmp_path / "t.jsonl")
    assert import_lines(records, tmp_path / "t.jsonl") == Imported(0, 4, torn=False)
    assert len(records.trials("k", "m")) == 4
    assert [file.name for file in tmp_path.iterdir()] == ["t.jsonl"]


def test_a_torn_end_is_left_out(records: Records, tmp_path: Path):
    path = tmp_path / "t.jsonl"
    export_lines(records, path)
    path.write_bytes(path.read_bytes()[:-20])
    with Records(":memory:") as sink:
        assert import_lines(sink, path) == Imported(3, 0, torn=True)


@pytest.mark.parametrize("line", ['{"format": 1, "ta', "{}", "[]", '{"format": 2}', "\0\0"])
def test_a_broken_middle_is_an_error_and_adds_nothing(records: Records, tmp_path: Path, line: str):
    path = tmp_path / "t.jsonl"
    export_lines(records, path)
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], line, *lines[1:]]))
    with Records(":memory:") as sink:
        with pytest.raises(RecordsError, match=r"line 2 is no trial"):
            import_lines(sink, path)
        assert sink.tasks() == []


def test_files_that_cannot_be_read_or_written(records: Records, tmp_path: Path):
    with pytest.raises(RecordsError, match="give a file that export wrote"):
        import_lines(records, tmp_path / "missing.jsonl")
    with pytest.raises(RecordsError, match="can be written"):
        export_lines(records, tmp_path / "missing" / "t.jsonl")


def replaced(line: str, *path: str, by: object) -> str:
    """Return a line with another value at a place of it."""
    data = json.loads(line)
    at = data
    for name in path[:-1]:
        at = at[name]
    at[path[-1]] = by
    return json.dumps(data)


BAD = [
    *[((name,), by) for name in ("config", "steps") for by in (None, 5, "x", [1])],
    (("config",), {"n": 10**400}),
    (("config",), {"n": {"a": 1}}),
    (("config",), {"\ud800": 1}),
    (("steps",), [{"a": ["\ud800"]}]),
    *[(("task", name), by) for name in ("key", "target", "name") for by in (None, 5, "\ud800")],
    *[(("task", "flops"), by) for by in (None, "x", -1, math.nan, 10**400, True)],
    *[(("measured", "error"), by) for by in (None, "x", [1])],
    *[(("measured", "seconds"), by) for by in (None, 1.0, [], [None], [0], [-1], ["1"], [10**400])],
    *[(("created",), by) for by in (None, 5, "yesterday", "2024-05-01", "0001-01-01T00:00+12:00")],
    *[((name,), by) for name in ("task", "measured", "format") for by in (None, 5, "x", [1])],
]


@pytest.mark.parametrize(("place", "by"), BAD, ids=str)
def test_wrong_values_are_errors_and_nothing_is_imported(
    records: Records, tmp_path: Path, place: tuple[str, ...], by: object
):
    path = tmp_path / "t.jsonl"
    export_lines(records, path)
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:2], replaced(lines[2], *place, by=by)]))
    with Records(":memory:") as sink:
        with pytest.raises(RecordsError, match=r"line 3 is no trial"):
            import_lines(sink, path)
        assert sink.tasks() == []


def test_deep_nesting_is_an_error(records: Records, tmp_path: Path):
    path = tmp_path / "t.jsonl"
    for depth in (40, 100_000):
        path.write_text('{"format": 1, "config": ' + "[" * depth + "]" * depth + "}\n")
        with pytest.raises(RecordsError, match=r"line 1 is no trial"):
            import_lines(records, path)


def test_every_cut_of_the_last_line_is_torn(records: Records, tmp_path: Path):
    path = tmp_path / "t.jsonl"
    export_lines(records, path)
    whole = path.read_bytes()
    last = whole.rindex(b"\n", 0, -1) + 1
    for end in range(last + 1, len(whole) - 1):
        path.write_bytes(whole[:end])
        with Records(":memory:") as sink:
            assert import_lines(sink, path) == Imported(3, 0, torn=True)


@pytest.mark.parametrize(
    "end",
    [
        b"\0\0\0",
        b"\xff\xfe{}",
        b"garbage",
        b'{"format": 1]',
        b'{"format": hello',
        b"[1, ",
        b'{"format": 1, "task": \0',
    ],
)
def test_garbage_at_the_end_is_no_torn_line(records: Records, tmp_path: Path, end: bytes):
    path = tmp_path / "t.jsonl"
    export_lines(records, path)
    path.write_bytes(path.read_bytes() + end)
    with Records(":memory:") as sink:
        with pytest.raises(RecordsError, match="line 5 is no trial"):
            import_lines(sink, path)
        assert sink.tasks() == []


def test_a_torn_line_with_its_end_is_an_error(records: Records, tmp_path: Path):
    path = tmp_path / "t.jsonl"
    path.write_text('{"format": 1, "ta\n')
    with pytest.raises(RecordsError, match="line 1 is no trial"):
        import_lines(records, path)


def test_what_is_no_regular_file_is_not_replaced(records: Records, tmp_path: Path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path):
        with pytest.raises(RecordsError, match="it is no regular file"):
            export_lines(records, path)
    assert pipe.is_fifo()
    assert [file.name for file in tmp_path.iterdir()] == ["pipe"]
