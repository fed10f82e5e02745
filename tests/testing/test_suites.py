"""The suites catch what they are there to catch: broken extensions fail them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pytest

from tilewright.features import Context, Joined, KnobValues, Relation
from tilewright.features.tree import Tree
from tilewright.measure.build import Request
from tilewright.measure.local import Local
from tilewright.models import Boosted, Predictor, Training
from tilewright.records import Measured, Outcome
from tilewright.search import Problem, RandomSearch
from tilewright.testing import CostModelSuite, ExtractorSuite, MeasurerSuite, SearchSuite


class TestContext(ExtractorSuite):
    make = Context


class TestRelation(ExtractorSuite):
    make = Relation


class TestJoined(ExtractorSuite):
    make = partial(Joined, (Context(), Relation()))


class TestTree(ExtractorSuite):
    make = Tree


class TestKnobValues(ExtractorSuite):
    make = KnobValues


class TestLocal(MeasurerSuite):
    make = partial(Local, repeats=2, sample=1e-4)


@dataclass
class Alike:
    """Takes as long for everything, and runs nothing."""

    def measure(self, requests: Iterable[Request]) -> Iterator[Outcome]:
        return (Measured((1e-3,)) for _ in requests)

    def close(self) -> None: ...


class TestAlike(MeasurerSuite):
    make = Alike
    runs = False


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


@dataclass(frozen=True)
class Drifting:
    """Says something else of a row in other company, and calls all columns the same."""

    version: int = 1

    @property
    def names(self) -> tuple[str, ...]:
        return ("mean", "mean")

    def extract(self, space: Any, rows: Any) -> Any:  # noqa: ARG002
        return np.full((len(rows), 2), rows.sum(dtype=float) + 1, np.float32)


@pytest.mark.parametrize(
    "test",
    [
        "names_and_version",
        "a_row_has_its_features_in_any_company",
        "candidates_can_be_told_apart",
    ],
)
def test_an_extractor_that_looks_at_company_is_caught(test: str) -> None:
    with pytest.raises(AssertionError):
        getattr(_suite(ExtractorSuite, Drifting), f"test_{test}")()


@dataclass
class Hasty(Alike):
    """Takes all requests at once, and believes every candidate."""

    def measure(self, requests: Iterable[Request]) -> Iterator[Outcome]:
        return iter([Measured((1e-3,)) for _ in list(requests)])


@pytest.mark.parametrize(
    "test",
    ["requests_are_taken_as_they_are_needed", "a_wrong_result_fails_in_its_place_and_alone"],
)
def test_a_measurer_that_checks_nothing_is_caught(test: str) -> None:
    with pytest.raises(AssertionError):
        getattr(_suite(MeasurerSuite, Hasty), f"test_{test}")()
