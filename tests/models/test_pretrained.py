"""The model in the wheel: it is read, knows something, and does no harm where it cannot be read."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tilewright.features import Costs
from tilewright.models import Pretrained, Training, Transfer, about, load, pretrained, save
from tilewright.ops import Conv2d, Dense
from tilewright.tuning.guess import guess
from tilewright.tuning.prior import prior

COSTS = Costs()
WORK = [Conv2d(1, 12, 12, 40, 48, (3, 3), pads=(1, 1, 1, 1)), Dense(33, 70, 90)]


def rows_of(operator):
    space = tw.Task(operator).space
    return space, space.sample(np.random.default_rng(1), 64)


@pytest.mark.parametrize("operator", WORK)
def test_it_tells_candidates_apart(operator):
    space, rows = rows_of(operator)
    scores = Pretrained().predict(COSTS.extract(space, rows))
    assert np.isfinite(scores).all()
    assert len(np.unique(scores)) > 32


def test_its_file_says_what_it_was_made_of():
    said = about(pretrained.PATH)
    assert said.columns == len(COSTS.names)
    assert "tasks" in said.data
    assert pretrained.PATH.stat().st_size < 400_000


@pytest.mark.parametrize("operator", WORK)
def test_the_prior_is_what_it_says_of_all_rows_together(operator):
    space, rows = rows_of(operator)
    scores = prior(space, rows)
    np.testing.assert_array_equal(scores, Pretrained().predict(COSTS.extract(space, rows)))
    assert np.corrcoef(scores, guess(space, rows))[0, 1] > 0.2


def test_a_search_compares_its_scores_with_the_same_rows_throughout():
    space, rows = rows_of(WORK[0])
    X = COSTS.extract(space, rows)
    settled = Pretrained().among(X)
    np.testing.assert_array_equal(settled.predict(X[:7]), settled.predict(X)[:7])
    fitted = Transfer(source=Pretrained()).fit(Training.of(X, np.arange(len(X)) % 7))
    np.testing.assert_array_equal(fitted.predict(X[:7]), fitted.predict(X)[:7])
    assert Transfer(source=Pretrained()).features == COSTS


def test_candidates_that_cannot_be_scheduled_come_last():
    def template(s, knob):
        factor = knob.size("factor", [1, 2, 3, 4])
        if np.any(np.asarray(factor) == 3):
            raise ValueError("no")
        return s.split(s.loops.body[0].name, (4 // np.maximum(factor, 1), factor))

    output = tw.compute("y", (4,), lambda i: tw.tensor("x", (4,))[i] + 1.0)
    space = tw.Task(output, template=template).space
    scores = prior(space, np.arange(4, dtype=np.int32)[:, None])
    assert np.isneginf(scores[2])
    assert np.isfinite(scores[[0, 1, 3]]).all()


def test_a_damaged_file_is_said_and_nothing_is_known(tmp_path, monkeypatch):
    (tmp_path / "pretrained.model").write_bytes(pretrained.PATH.read_bytes()[:999])
    monkeypatch.setattr(pretrained, "PATH", tmp_path / "pretrained.model")
    pretrained._read.cache_clear()
    try:
        with pytest.warns(RuntimeWarning, match="Nothing is known of other work"):
            assert not Pretrained().predict(np.ones((3, len(COSTS.names)), np.float32)).any()
        space, rows = rows_of(WORK[1])
        np.testing.assert_array_equal(prior(space, rows), guess(space, rows))
    finally:
        pretrained._read.cache_clear()


def test_what_was_transferred_from_it_is_saved_whole(tmp_path):
    space, rows = rows_of(WORK[1])
    X = COSTS.extract(space, rows)
    fitted = Transfer(source=Pretrained()).fit(Training.of(X, np.arange(len(X)) % 7))
    save(fitted, tmp_path / "a.model", COSTS)
    again = load(tmp_path / "a.model", COSTS)
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
