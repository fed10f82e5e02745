"""JSON lines: out and in again is the same; torn ends are tolerated, torn middles are not."""

from __future__ import annotations

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
