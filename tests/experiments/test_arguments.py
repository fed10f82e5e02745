"""Bad options are refused in a line, before anything is run or written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from experiments import compare as comparing
from experiments import pretrain
from experiments.compare import compare
from experiments.figure8.__main__ import Scratch
from experiments.figure9 import __main__ as figure9

from tilewright.models import Ensemble, Transfer, TreeGRU
from tilewright.records.store import Records
from tilewright.search import Guided, RandomSearch

WRONG = [["--trials", "0"], ["--seeds", "-1"], ["--seeds", "two"]]


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("figure", [lambda: compare("", Path("unused"), {}), figure9.main])
def test_counts_are_whole_and_positive(
    figure: Callable[[], None],
    wrong: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.setattr("sys.argv", ["figure", *wrong])
    with pytest.raises(SystemExit) as stopped:
        figure()
    assert stopped.value.code == 2
    assert f"argument {wrong[0]}: invalid count value" in capsys.readouterr().err


@pytest.mark.parametrize("content", [None, "empty"])
def test_a_database_without_the_corpus_teaches_nothing(
    content: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    path = tmp_path / "some.db"
    if content:
        Records(path).close()
    monkeypatch.setattr("sys.argv", ["pretrain", "--db", str(path), "--out", str(tmp_path / "m")])
    with pytest.raises(SystemExit) as stopped:
        pretrain.main()
    assert stopped.value.code == 2
    assert ("no such file" if content is None else "trials of 0") in capsys.readouterr().err
    assert path.exists() == (content is not None)
    assert not (tmp_path / "m").exists()


def test_what_needs_pytorch_is_left_out_without_it(monkeypatch: pytest.MonkeyPatch):
    searches = [
        Guided(TreeGRU()),
        Guided(Transfer(TreeGRU())),
        Guided(Ensemble(TreeGRU())),
        Scratch(Guided(TreeGRU())),
    ]
    for found in (None, object()):
        monkeypatch.setattr(comparing, "find_spec", lambda _, found=found: found)
        said = [bool(comparing.missing(search)) for search in searches]
        assert said == [found is None] * 4
    assert not comparing.missing(Guided())
    assert not comparing.missing(RandomSearch())
