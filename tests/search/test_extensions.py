"""What users plug in and what they set is checked, and errors name it and what was expected."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from tilewright.errors import ArgumentError
from tilewright.measure.local import Local
from tilewright.models.model import predict
from tilewright.search import Annealing, Genetic, Guided
from tilewright.search.problem import proposals
from tilewright.testing import toys


@dataclass(frozen=True)
class Mine:
    """A cost model that predicts what `make` says of a number of rows."""

    make: Callable[[int], Any]

    def fit(self, data: Any, previous: Any = None) -> Mine:  # noqa: ARG002
        return self

    def predict(self, X: np.ndarray) -> Any:
        return self.make(len(X))


def run(model: Any) -> np.ndarray:
    toy = toys.problem()
    searcher = Guided(model, Annealing(chains=16), epsilon=0.0).start(toy, np.random.default_rng(0))
    rows = searcher.ask(8)
    searcher.tell(rows, toys.score(toy, rows))
    return searcher.ask(8)


@pytest.mark.parametrize(
    ("make", "given"),
    [
        (lambda n: np.zeros(n + 1), r"float64 of shape \(\d+,\)"),
        (lambda n: np.zeros((n, 1)), r"float64 of shape \(\d+, 1\)"),
        (lambda _: np.zeros(()), r"float64 of shape \(\)"),
        (lambda _: None, "None"),
        (lambda n: [0.0] * n, r"\[0.0, "),
        (lambda n: np.full(n, "x"), "<U1 of shape"),
        (lambda n: np.full(n, None), "object of shape"),
        (lambda n: np.full(n, np.inf), "inf for "),
    ],
)
def test_predictions_that_are_none(make: Callable[[int], Any], given: str) -> None:
    with pytest.raises(ArgumentError, match=rf"Mine.predict gave {given}.*: return "):
        run(Mine(make))


def test_a_fit_that_cannot_predict() -> None:
    class Empty:
        def fit(self, data: Any, previous: Any = None) -> None: ...

    with pytest.raises(ArgumentError, match=r"Empty.fit gave None, which cannot predict: return"):
        run(Empty())


def test_what_is_no_number_is_never_proposed() -> None:
    odd = Mine(lambda n: np.where(np.arange(n) % 2, np.nan, -np.inf))
    assert np.isneginf(predict(odd, np.zeros((4, 2), np.float32))).all()
    assert len(run(odd)) == 8, "all drawn at random"


@pytest.mark.parametrize(
    ("rows", "given"),
    [
        (None, "None"),
        ([[0] * 6], r"\[\[0, "),
        (np.zeros(6, np.int32), r"int32 of shape \(6,\)"),
        (np.zeros((2, 99), np.int32), r"int32 of shape \(2, 99\)"),
        ("float", "float64 of shape"),
        ("many", "9 rows"),
        ("low", r"\[-1, "),
        ("high", r"\[1000, "),
    ],
)
def test_proposals_that_are_none(rows: Any, given: str) -> None:
    space = toys.problem().space
    good = space.sample(np.random.default_rng(0), 9)
    odd = {"float": good[:2].astype(float), "many": good, "low": good[:2].copy(),
           "high": good[:2].copy()}  # fmt: skip
    odd["low"][1, 0], odd["high"][1, 0] = -1, 1000

    class Search:
        def ask(self, n: int) -> Any:  # noqa: ARG002
            return odd[rows] if isinstance(rows, str) else rows

        def tell(self, rows: Any, scores: Any) -> None: ...

    with pytest.raises(ArgumentError, match=rf"Search.ask\(8\) gave {given}.*: return an array of"):
        proposals(Search(), space, 8)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8])
def test_proposals_of_any_integers_are_taken(dtype: Any) -> None:
    space = toys.problem().space
    good = space.sample(np.random.default_rng(0), 4)

    class Search:
        def ask(self, n: int) -> Any:  # noqa: ARG002
            return good.astype(dtype)

        def tell(self, rows: Any, scores: Any) -> None: ...

    assert proposals(Search(), space, 8).dtype == np.int32


NAN = float("nan")


@pytest.mark.parametrize(
    ("spec", "settings", "name"),
    [
        *[(Guided, {"epsilon": v}, "epsilon") for v in (NAN, -0.1, 1.1)],
        *[(Guided, {"diversity": v}, "diversity") for v in (0, 0.5, NAN, float("inf"))],
        (Guided, {"alpha": NAN}, "alpha"),
        (Guided, {"seeds": -1}, "seeds"),
        (Guided, {"chance": NAN}, "chance"),
        (Guided, {"model": 5}, "model"),
        (Guided, {"optimiser": None}, "optimiser"),
        (Annealing, {"chains": 0}, "chains"),
        (Annealing, {"steps": -1}, "steps"),
        (Annealing, {"temperature": NAN}, "temperature"),
        (Annealing, {"patience": 0}, "patience"),
        (Genetic, {"population": 1}, "population"),
        (Genetic, {"mutation": NAN}, "mutation"),
        (Local, {"repeats": 0}, "repeats"),
        *[(Local, {name: v}, name) for name in ("sample", "timeout") for v in (NAN, 0, -1)],
    ],
)
def test_settings_that_cannot_be(spec: Any, settings: dict[str, Any], name: str) -> None:
    with pytest.raises(ArgumentError, match=rf"{spec.__name__}\({name}="):
        spec(**settings)
