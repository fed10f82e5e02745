"""Guided: the paper's Algorithm 1, a cost model that learns from each batch and finds the next."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.models.boosted import Boosted
from tilewright.models.bounds import can, within
from tilewright.models.model import CostModel, Predictor, fit, predict
from tilewright.models.quality import pairwise_accuracy, top_recall
from tilewright.models.training import Training
from tilewright.search.diversity import pick
from tilewright.search.evolution import Evolution
from tilewright.search.history import History, without_failures
from tilewright.search.optimiser import Optimiser
from tilewright.search.problem import Problem, demand
from tilewright.space.space import Population

SAMPLE = 512  # rows among which the prior chooses
PROBES = 64  # rows by which it is seen whether a model knows something beforehand
BLIND = 0.25  # the least share of the first batch that is drawn at random


@dataclass(frozen=True, slots=True)
class Guided:
    """Fit `model` to what is known, climb its prediction, pick a varied batch.

    `epsilon` is the share of a batch drawn at random. The batch is picked from the `diversity`
    (lambda in the paper) times as many best rows, `alpha` being the worth of a new knob value in
    standard deviations of their predicted scores. The climb starts from the `seeds` best measured.
    The first batch, before there is a model, is half what the problem's prior ranks high on each
    way through the space's branches, and half random; a model that knows something beforehand, such
    as `Transfer`, already leads it, but for a quarter. A model whose pairwise accuracy on a new
    batch is not above `chance` is not followed.
    """

    model: CostModel = field(default_factory=Boosted)
    optimiser: Optimiser = field(default_factory=Evolution)
    epsilon: float = 0.05
    diversity: float = 2.0
    alpha: float = 0.1
    seeds: int = 64
    chance: float = 0.52

    @property
    def features(self) -> Any:
        """The extractor that the model asks for, if it asks for one."""
        return getattr(self.model, "features", None)

    def __post_init__(self) -> None:
        demand(self, "epsilon", within(self.epsilon, 0, 1), "a share of a batch, from 0 to 1")
        demand(self, "diversity", within(self.diversity, 1), "a number of at least 1")
        demand(self, "alpha", within(self.alpha, 0), "a number that is not negative")
        demand(self, "seeds", within(self.seeds, 0, whole=True), "a whole number from 0")
        demand(self, "chance", within(self.chance, 0, 1), "a share of pairs, from 0 to 1")
        demand(self, "model", can(self.model, "fit"), "a cost model, such as Boosted()")
        features = self.features is None or can(self.features, "extract")
        demand(self, "model", features, "a model whose `features` is an extractor, such as Tree()")
        demand(self, "optimiser", can(self.optimiser, "begin"), "such as Evolution()")

    def start(self, problem: Problem, rng: np.random.Generator) -> GuidedSearcher:
        return GuidedSearcher(self, problem, rng)


@dataclass(frozen=True, slots=True)
class Quality:
    """How a model ranked rows that it had not seen, before it trained on them.

    `accuracy` is over pairs of a new row and any other: pairs of new rows alone would say little
    late in a search, when all proposals are nearly as good. `recall` is the share of the best
    eighth of the new rows that it had put into that eighth. Both are nan if all are equal.
    """

    rows: int
    accuracy: float
    recall: float
    followed: bool


class GuidedSearcher:
    """The state: what is known, the climber, and how well each model has done (`quality`)."""

    def __init__(self, spec: Guided, problem: Problem, rng: np.random.Generator) -> None:
        self._spec = spec
        self._problem = problem
        self._rng = rng
        self._history = History(problem.space)
        self._climber = spec.optimiser.begin(problem.space, rng)
        self._features = np.zeros((0, 0), np.float32)  # of the history, as far as looked at
        self._told = 0
        self._begun = False
        self._fitted = 0  # how many rows of the history the predictor has learnt from
        self._predictor: Predictor | None = None
        self._follow = True
        self.quality: tuple[Quality, ...] = ()

    def tell(self, rows: Population, scores: NDArray[np.float64]) -> None:
        self._history.tell(rows, scores)
        self._told += len(rows)

    def ask(self, n: int) -> Population:
        if self._told:
            self._learn()
        elif not self._begun:
            self._begin()
        if self._predictor is None and self._problem.prior is not None:
            return self._first(self._problem.prior, n)
        blind = self._spec.epsilon if self._fitted else max(self._spec.epsilon, BLIND)
        guided = n - math.floor(blind * n + self._rng.random())
        if self._predictor is None or not self._follow or guided < 1:
            return self._history.draw(self._rng, n)
        batch = self._promising(self._predictor, guided)
        return np.concatenate([batch, self._history.draw(self._rng, n - len(batch))])

    def _first(self, prior: Callable[[Population], NDArray[np.float64]], n: int) -> Population:
        """Propose rows that the prior ranks high, and as many at random: a model needs both.

        Each way through the space's branches has its share of the former: a guess can tell which
        of two tilings is better, but hardly which of two algorithms.
        """
        space = self._problem.space
        rows = space.sample(self._rng, max(SAMPLE, 16 * n))
        scores = prior(rows)
        half = math.ceil(n / 2)
        branches = [i for i, knob in enumerate(space.knobs) if knob.kind == "branch"]
        way = np.unique(rows[:, branches], axis=0, return_inverse=True)[1].reshape(-1)
        ways = sorted(set(way.tolist()), key=lambda w: -scores[way == w].max())
        good = np.concatenate(
            [
                self._best(rows[way == w], scores[way == w], math.ceil(half / len(ways)))
                for w in ways
            ]
            or [rows]
        )
        batch = self._history.claim(good, half)
        return np.concatenate([batch, self._history.draw(self._rng, n - len(batch))])

    def _best(self, rows: Population, scores: NDArray[np.float64], n: int) -> Population:
        """Return `n` rows that score high and differ."""
        top = np.argsort(-scores, kind="stable")[: math.ceil(self._spec.diversity * n)]
        return rows[top][pick(rows[top], scores[top], n, self._spec.alpha)]

    def _promising(self, predictor: Predictor, n: int) -> Population:
        rows, scores = self._climber.maximise(
            lambda pop: _predict(predictor, self._problem.extract(pop)),
            math.ceil(self._spec.diversity * n),
            exclude=self._history.seen,
            seeds=self._history.best(self._spec.seeds),
        )
        rows, scores = rows[np.isfinite(scores)], scores[np.isfinite(scores)]
        return self._history.claim(rows[pick(rows, scores, n, self._spec.alpha)], n)

    def _begin(self) -> None:
        """Keep what the model makes of no data, if that tells some rows from others."""
        self._begun = True
        features = self._problem.extract(
            self._problem.space.sample(np.random.default_rng(0), PROBES)
        )
        features = features[_are_known(features)]
        known = fit(self._spec.model, Training.of(features[:0], []), None)
        if len(np.unique(predict(known, features))) > 1:
            self._predictor = known

    def _learn(self) -> None:
        """Judge the predictor by the rows told since its fit, then fit to all of them."""
        self._told, self._begun = 0, True
        rows, scores = self._history.rows, without_failures(self._history.scores)
        new = self._problem.extract(rows[len(self._features) :])
        self._features = np.concatenate([self._features.reshape(-1, new.shape[1]), new])
        if self._predictor is not None and len(rows) > self._fitted:
            self._judge(self._predictor, scores)
        known = _are_known(self._features)
        weigh = self._problem.weigh
        weight = 1.0 if weigh is None else weigh(rows[known])
        data = Training.of(self._features[known], scores[known], weight=weight)
        self._predictor = fit(self._spec.model, data, self._predictor)
        self._fitted = len(rows)

    def _judge(self, predictor: Predictor, scores: NDArray[np.float64]) -> None:
        known = _are_known(self._features)
        predicted, scores = predict(predictor, self._features[known]), scores[known]
        fresh = np.flatnonzero(known) >= self._fitted
        accuracy = pairwise_accuracy(predicted, scores, among=fresh)
        recall = top_recall(predicted[fresh], scores[fresh], k=math.ceil(fresh.sum() / 8))
        self._follow = accuracy > self._spec.chance  # nan is not
        judged = Quality(int(fresh.sum()), accuracy, recall, self._follow)
        self.quality = (*self.quality, judged)


def _are_known(features: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Return which rows have features: those of a row that cannot be scheduled are NaN."""
    return np.asarray(~np.isnan(features).any(axis=1))


def _predict(predictor: Predictor, features: NDArray[np.float32]) -> NDArray[np.float64]:
    """Predict rows; those that cannot be scheduled score -inf."""
    known = _are_known(features)
    scores = np.full(len(features), -np.inf)
    if known.any():
        scores[known] = predict(predictor, features[known])
    return scores
