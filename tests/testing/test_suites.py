"""The suites catch what they are there to catch: broken extensions fail them."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from tilewright.models import Boosted, Predictor, Training
from tilewright.search import Problem, RandomSearch
from tilewright.testing import CostModelSuite, SearchSuite


@dataclass(frozen=True)
class Stuck:
    """Proposes the same rows for ever."""

    def start(self, problem: Problem, rng: np.random.Generator) -> Any:  # noqa: ARG002
        @dataclass
        class Searcher:
            rows: Any = field(default_factory=lambda: problem.space.sample(problem_rng(), 32))

            def ask(self, n: int) -> Any:
                return self.rows[:n]

            def tell(self, rows: Any, scores: Any) -> None:
                pass

        return Searcher()


def problem_rng() -> np.random.Generator:
    return np.random.default_rng(0)


@dataclass(frozen=True)
class Noise:
    """Ranks at random, and differently each time."""

    def fit(self, data: Training, previous: Predictor | None = None) -> Predictor:  # noqa: ARG002
        return self

    def predict(self, X: Any) -> Any:
        return np.random.default_rng().standard_normal(len(X))


@dataclass(frozen=True)
class Deaf:
    """Ignores groups, weights and offsets."""

    def fit(self, data: Training, previous: Predictor | None = None) -> Predictor:
        return Boosted().fit(Training.of(data.X, data.y), previous)


def _suite(suite: type, make: type) -> Any:
    return type("Broken", (suite,), {"make": make, "beats_random": True})()


@pytest.mark.parametrize(
    "test",
    [
        "proposals_are_valid_and_never_repeated",
        "same_seed_gives_the_same_proposals",
        "rows_told_from_elsewhere_are_never_proposed",
        "asked_again_before_told_and_told_out_of_order",
        "a_small_space_is_proposed_whole_and_then_nothing",
        "finds_good_candidates_and_learns_where_they_are",
    ],
)
def test_a_search_that_repeats_itself_is_caught(test: str) -> None:
    with pytest.raises(AssertionError):
        getattr(_suite(SearchSuite, Stuck), f"test_{test}")()


def test_a_search_that_does_not_learn_does_not_beat_random() -> None:
    suite = _suite(SearchSuite, RandomSearch)
    with pytest.raises(AssertionError, match="median of the last 64"):
        suite.test_finds_good_candidates_and_learns_where_they_are()


@pytest.mark.parametrize(
    "test",
    [
        "spec_and_predictor_pickle",
        "deterministic_and_independent_of_global_state",
        "ranks_a_planted_signal",
        "survives_no_rows_one_row_and_equal_scores",
    ],
)
def test_a_model_of_noise_is_caught(test: str) -> None:
    with pytest.raises(AssertionError):
        getattr(_suite(CostModelSuite, Noise), f"test_{test}")()


@pytest.mark.parametrize(
    "test",
    [
        "scores_are_compared_within_groups_only",
        "learns_what_offsets_leave_unexplained",
        "rows_of_no_weight_do_not_matter",
    ],
)
def test_a_model_that_ignores_what_it_is_told_is_caught(test: str) -> None:
    with pytest.raises(AssertionError):
        getattr(_suite(CostModelSuite, Deaf), f"test_{test}")()
