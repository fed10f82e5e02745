"""OptunaSearch: a sampler of Optuna, as a black-box baseline from elsewhere."""

from __future__ import annotations

import contextlib
import logging
import warnings
from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from tilewright.errors import ArgumentError
from tilewright.models.bounds import within
from tilewright.search.history import History
from tilewright.search.problem import Problem, demand
from tilewright.space.space import Population

if TYPE_CHECKING:
    import optuna

SAMPLERS = ("tpe", "random")
_TRIES = 8  # suggestions for one proposal, of which none is valid and new


@dataclass(frozen=True, slots=True)
class OptunaSearch:
    """Ask Optuna (the extra `optuna`) for each knob's option: its tree-structured Parzen estimator.

    Knobs of sizes are integers to it, by the place of the option; all others are categories. What
    it suggests that is invalid it is told to have failed, what was tried already is told again;
    after a few of these a candidate is drawn at random. `startup` is how many are random at first.
    """

    sampler: Literal["tpe", "random"] = "tpe"
    startup: int = 10

    def __post_init__(self) -> None:
        demand(self, "sampler", self.sampler in SAMPLERS, f"one of {', '.join(SAMPLERS)}")
        demand(self, "startup", within(self.startup, 0, whole=True), "a whole number from 0")

    def start(self, problem: Problem, rng: np.random.Generator) -> OptunaSearcher:
        return OptunaSearcher(self, problem, rng)


class OptunaSearcher:
    def __init__(self, spec: OptunaSearch, problem: Problem, rng: np.random.Generator) -> None:
        self._optuna = _loaded()
        self._history = History(problem.space)
        self._rng = rng
        self._study = self._begin(spec, int(rng.integers(2**31)))
        self._knobs = self._distributions()
        self._open: dict[bytes, int] = {}  # the trials not told yet, by their row

    def _begin(self, spec: OptunaSearch, seed: int) -> optuna.Study:
        samplers = self._optuna.samplers
        with _quiet():
            if spec.sampler == "random":
                sampler = samplers.RandomSampler(seed)
            else:
                sampler = samplers.TPESampler(n_startup_trials=spec.startup, seed=seed)
            return self._optuna.create_study(direction="maximize", sampler=sampler)

    def _distributions(self) -> dict[str, Any]:
        of = self._optuna.distributions
        return {
            knob.name: of.IntDistribution(0, len(knob.options) - 1)
            if knob.kind == "size"
            else of.CategoricalDistribution(range(len(knob.options)))
            for knob in self._history.space.knobs
        }

    def ask(self, n: int) -> Population:
        chosen = [np.empty((0, len(self._history.space.knobs)), np.int32)]
        with _quiet():
            for _ in range(n):
                row = self._suggest()
                if row is None:
                    row = self._history.draw(self._rng, 1)
                    if not len(row):
                        break
                chosen.append(row)
        return np.concatenate(chosen)

    def _suggest(self) -> Population | None:
        """Return a new valid row that the sampler wants; None if it has none in a few tries."""
        states, space = self._optuna.trial.TrialState, self._history.space
        for _ in range(_TRIES):
            trial = self._study.ask(self._knobs)
            row = np.array([[trial.params[name] for name in self._knobs]], np.int32)
            row = space.canonical(row)
            if not space.valid(row)[0]:
                self._study.tell(trial, state=states.FAIL)
            elif len(self._history.claim(row, 1)):
                self._open[space.keys(row)[0]] = trial.number
                return row
            else:
                score = self._history.score(row)
                if score is None or not np.isfinite(score):
                    self._study.tell(trial, state=states.FAIL)
                else:
                    self._study.tell(trial, score)
        return None

    def tell(self, rows: Population, scores: NDArray[np.float64]) -> None:
        self._history.tell(rows, scores)
        space, states = self._history.space, self._optuna.trial.TrialState
        with _quiet():
            for key, row, score in zip(space.keys(rows), rows, scores.tolist(), strict=True):
                failed = not np.isfinite(score)
                number = self._open.pop(key, None)
                if number is None:
                    self._study.add_trial(
                        self._optuna.create_trial(
                            params=dict(zip(self._knobs, row.tolist(), strict=True)),
                            distributions=self._knobs,
                            value=None if failed else score,
                            state=states.FAIL if failed else states.COMPLETE,
                        )
                    )
                elif failed:
                    self._study.tell(number, state=states.FAIL)
                else:
                    self._study.tell(number, score)


def _loaded() -> Any:
    try:
        import optuna
    except ImportError as error:
        raise ArgumentError(
            "cannot search with OptunaSearch(): optuna is not installed; install it, as in "
            "pip install 'tilewright[optuna]', or use Guided()."
        ) from error
    return optuna


@contextlib.contextmanager
def _quiet() -> Generator[None]:
    """Keep Optuna from telling of every study, and from warning of what is as it is meant."""
    logger = logging.getLogger("optuna")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(before)
