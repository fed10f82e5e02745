"""Optuna's samplers behind ask and tell; without Optuna an error that names the extra."""

from __future__ import annotations

import logging
import sys
from functools import partial
from typing import Any

import numpy as np
import pytest

from tilewright.errors import ArgumentError
from tilewright.search import OptunaSearch
from tilewright.testing import SearchSuite, toys


def test_without_optuna_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(ArgumentError, match=r"optuna is not installed.*tilewright\[optuna\]"):
        OptunaSearch().start(toys.problem(), np.random.default_rng(0))


def test_settings_that_cannot_be() -> None:
    with pytest.raises(ArgumentError, match=r"OptunaSearch\(sampler='cma'\)"):
        OptunaSearch("cma")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match=r"OptunaSearch\(startup=-1\)"):
        OptunaSearch(startup=-1)


class Installed(SearchSuite):
    def start(self, problem: Any, seed: int = 0) -> Any:
        pytest.importorskip("optuna")
        return super().start(problem, seed)


class TestTpe(Installed):
    make = OptunaSearch


class TestRandomSampler(Installed):
    make = partial(OptunaSearch, "random")


def test_scores_told_from_elsewhere_are_learnt_from() -> None:
    """What is on record counts for the sampler: its first proposals are better than random ones."""
    pytest.importorskip("optuna")
    toy = toys.problem()
    rows = toy.space.sample(np.random.default_rng(0), 200)
    scores = toys.score(toy, rows)
    searcher = OptunaSearch().start(toy, np.random.default_rng(0))
    searcher.tell(rows, scores)
    found = toys.score(toy, searcher.ask(24))
    assert np.median(found) > np.quantile(scores, 0.75)


def test_optuna_s_own_messages_are_as_they_were(caplog: pytest.LogCaptureFixture) -> None:
    optuna = pytest.importorskip("optuna")
    logger = logging.getLogger("optuna")
    before = logger.level
    with caplog.at_level(logging.INFO):
        searcher = OptunaSearch().start(toys.problem(), np.random.default_rng(0))
        searcher.tell(searcher.ask(4), np.arange(4.0))
    assert logger.level == before
    assert not caplog.records
    assert optuna.logging.get_verbosity() == optuna.logging.INFO
