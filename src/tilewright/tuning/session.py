"""One task being tuned: its search, its records, and what came of it so far."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tilewright.errors import SpaceError
from tilewright.features import FEATURES
from tilewright.features.remember import Remember
from tilewright.measure.answer import describe
from tilewright.measure.build import Request
from tilewright.measure.local import Measurer
from tilewright.records.quality import Judged
from tilewright.records.store import Records
from tilewright.records.trial import Failed, Measured, Outcome, Trial
from tilewright.schedule.schedule import Schedule
from tilewright.search.guided import Quality
from tilewright.search.problem import Problem, Search, Searcher, proposals
from tilewright.space.config import Config
from tilewright.space.space import Population
from tilewright.tuning.fallback import promising
from tilewright.tuning.prior import prior
from tilewright.tuning.task import Task
from tilewright.tuning.weights import Weights

CARRIED = 4  # configs at once that were fastest elsewhere: on one thread, or for other work
LEAST = 8  # trials from which a search can learn


@dataclass
class Session:
    """The state of one task: `trials` outcomes in order, `curve` the best seconds after each."""

    task: Task
    records: Records
    searcher: Searcher
    weights: Weights
    trials: int = 0
    best: float = math.inf
    best_config: Mapping[str, Any] | None = None
    curve: list[float] = field(default_factory=list[float])
    failures: Counter[str] = field(default_factory=Counter[str])
    first_messages: dict[str, str] = field(default_factory=dict[str, str])
    exhausted: bool = False
    fresh: int = 0  # trials of this run, those on record not counted
    samples: int = 0  # times taken in this run
    interrupted: int = 0  # of them, from how many another process took a core at first
    _judged: int = 0  # how many entries of `quality` are on record
    _beginning: Population | None = None  # what comes first and was not proposed yet
    _asked: bool = False
    _untold: list[tuple[Population, np.ndarray]] = field(
        default_factory=list[tuple[Population, np.ndarray]]
    )
    _tried: set[bytes] = field(default_factory=set[bytes])
    _seen: set[Config] = field(default_factory=set[Config])  # of other work's configs

    def __repr__(self) -> str:
        best = f", best {self.best * 1e6:.4g} us" if math.isfinite(self.best) else ""
        count = f"{self.trials} trial{'s' * (self.trials != 1)}"
        return f"Session({self.task.name}: {count}, {self.failures.total()} failed{best})"

    @staticmethod
    def open(task: Task, search: Search, records: Records, seed: int) -> Session:
        """Start a search on a task, and tell it every trial that is on record."""
        rng = np.random.default_rng([seed, int(task.key[:8], 16)])
        space = task.space
        extract = Remember(getattr(search, "features", None) or FEATURES, space)
        weights = Weights(space)
        problem = Problem(space, extract, lambda rows: prior(space, rows), weights)
        session = Session(task, records, search.start(problem, rng), weights)
        records.register(task.key, task.where, task.name, float(task.flops))
        session._resume()
        return session

    def _resume(self) -> None:
        space, known = self.task.space, list[tuple[np.ndarray, Outcome]]()
        for trial in self.records.trials(self.task.key, self.task.where):
            try:
                known.append((space.encode(Config.from_json(dict(trial.config))), trial.outcome))
            except SpaceError:  # recorded in another space: nothing to learn from for this one
                if not self.task.can_use(trial):
                    continue
            self._note(trial.outcome, trial.config)
        if known:
            rows = np.stack([row for row, _ in known])
            valid = np.flatnonzero(space.valid(rows))
            self._tell(rows[valid], [known[i][1] for i in valid])

    def propose(self, count: int, kin: Iterable[Mapping[str, Any]] = ()) -> Population:
        """Return up to `count` candidates that were never measured; none if the space is done.

        The first of all are what would run untuned, so that the result is never slower than that.
        Then some of `kin` that fit the space and were not looked at before: configs of other work.
        """
        space = self.task.space
        if self._beginning is None:
            self._beginning = space.rows(np.arange(0)) if self.trials else self._untuned()
        fresh = self._beginning[[key not in self._tried for key in space.keys(self._beginning)]]
        rows, self._beginning = fresh[:count], fresh[count:]
        known = self._tried | set(space.keys(fresh))
        fitting = self._fitting(kin, min(CARRIED, count - len(rows)), known)
        rows = np.concatenate([rows, fitting])
        known.update(space.keys(fitting))
        while len(rows) < count:
            more = proposals(self.searcher, space, count - len(rows))
            self._asked = True
            self._tell_all()
            self._keep_quality()
            self.exhausted = len(more) < count - len(rows)
            rows = np.concatenate([rows, more[[key not in known for key in space.keys(more)]]])
            if self.exhausted:
                break
        return rows

    def _fitting(
        self, configs: Iterable[Mapping[str, Any]], most: int, known: Set[bytes]
    ) -> Population:
        """Return the rows of up to `most` configs that this space has and that are not `known`."""
        space, found = self.task.space, dict[bytes, Population]()
        for values in configs if most > 0 else ():
            with suppress(SpaceError):  # another space's
                config = Config.from_json(dict(values))
                if config in self._seen:
                    continue
                self._seen.add(config)
                row = space.encode(config)[None]
                if space.keys(row)[0] not in known and space.valid(row)[0]:
                    found[space.keys(row)[0]] = row
            if len(found) == most:
                break
        return np.concatenate([space.rows(np.arange(0)), *found.values()])

    @property
    def quality(self) -> Sequence[Quality]:
        """How well the search's model ranked each batch before it learnt from it, if it has one."""
        return [q for q in getattr(self.searcher, "quality", ()) if isinstance(q, Quality)]

    def _keep_quality(self) -> None:
        for q in self.quality[self._judged :]:
            judged = Judged(self.trials, q.rows, q.accuracy, q.recall, q.followed)
            self.records.add_quality(self.task.key, self.task.where, judged)
            self._judged += 1

    def _untuned(self) -> Population:
        """Return what would run without a trial: a guess, and the best taken elsewhere."""
        space = self.task.space
        rows = [promising(space)]
        for where in self.task.wheres[1:]:
            measured = self.records.fastest(self.task.key, where, CARRIED)
            for trial in measured:
                with suppress(SpaceError):  # recorded in another space
                    rows.append(space.encode(Config.from_json(dict(trial.config))))
            if measured:
                break
        pop = np.stack(list(dict(zip(space.keys(np.stack(rows)), rows, strict=True)).values()))
        return pop[space.valid(pop)]

    def run(self, rows: Population, measurer: Measurer) -> Generator[Outcome]:
        """Measure candidates, commit them, then let the search learn; yield each outcome.

        However the iteration ends, once it is closed what was measured is on disk and told.
        """
        made: list[Trial] = []
        tried: list[tuple[Config, Schedule | Failed]] = []

        def requests() -> Iterator[Request]:
            for row in rows:
                config = self.task.space.config(row)
                schedule = self._schedule(config)
                tried.append((config, schedule))
                if not isinstance(schedule, Failed):
                    best = self.best if math.isfinite(self.best) else None
                    yield self.task.request(schedule, best)

        def outcomes() -> Iterator[Outcome]:
            """Yield what was measured, and in its place what failed before it could be."""
            measured = measurer.measure(requests())
            done = 0
            for outcome in measured:
                while isinstance(failed := tried[done][1], Failed):
                    done += 1
                    yield failed
                done += 1
                yield outcome
            for _, failed in tried[done:]:
                assert isinstance(failed, Failed)
                yield failed

        try:
            for i, outcome in enumerate(outcomes()):
                config, schedule = tried[i]
                steps = [] if isinstance(schedule, Failed) else schedule.to_json()
                made.append(Trial(self.task.key, self.task.where, config.to_json(), steps, outcome))
                self._note(outcome, made[-1].config)
                self.fresh += 1
                if isinstance(outcome, Measured):
                    self.samples += len(outcome.seconds)
                    self.interrupted += outcome.interrupted
                yield outcome
        finally:
            self.records.add(made)
            if made:
                self._tell(rows[: len(made)], [t.outcome for t in made])

    def _tell(self, rows: Population, outcomes: list[Outcome]) -> None:
        """Tell the search what came of rows; of a few, only once it has proposed some itself.

        Its first proposals come from what is known beforehand, which is more than a few trials say.
        """
        self.weights.note(rows, outcomes)
        self._tried.update(self.task.space.keys(rows))
        self._untold.append((rows, scores(outcomes)))
        if self._asked or sum(len(rows) for rows, _ in self._untold) >= LEAST:
            self._tell_all()

    def _tell_all(self) -> None:
        for rows, told in self._untold:
            self.searcher.tell(rows, told)
        self._untold.clear()

    def _schedule(self, config: Config) -> Schedule | Failed:
        """Return the schedule of a candidate; if the template raises, that is its failure alone."""
        try:
            return self.task.schedule(config)
        except Exception as error:
            return Failed("schedule", "error", describe(error))

    def _note(self, outcome: Outcome, config: Mapping[str, Any]) -> None:
        self.trials += 1
        match outcome:
            case Measured():
                if outcome.median < self.best:
                    self.best, self.best_config = outcome.median, config
            case Failed():
                kind = f"{outcome.stage} {outcome.reason}"
                self.failures[kind] += 1
                self.first_messages.setdefault(kind, outcome.message)
        self.curve.append(self.best)

    @property
    def first(self) -> float:
        """The seconds of the first trial that ran, of what runs untuned; inf if none did."""
        return next(filter(math.isfinite, self.curve), math.inf)

    @property
    def gflops(self) -> float:
        return self.task.flops / self.best / 1e9 if math.isfinite(self.best) else 0.0


def scores(outcomes: list[Outcome]) -> np.ndarray:
    """Return the score of each outcome: minus the logarithm of its time; -inf for a failure."""
    return np.array(
        [-math.log2(o.median) if isinstance(o, Measured) else -math.inf for o in outcomes]
    )
