"""A template that raises on some candidates loses these, each as one failed trial, and no more."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pytest
from tests.tuning.toys import Toy, configs

import tilewright as tw
from tilewright.errors import ScheduleError
from tilewright.features import FEATURES
from tilewright.measure.build import Request
from tilewright.records import Failed, Measured, Outcome
from tilewright.records.store import Records
from tilewright.schedule.schedule import Schedule
from tilewright.search import Annealing, Guided, RandomSearch
from tilewright.search.problem import Search
from tilewright.space.config import Config
from tilewright.space.knobs import Knobs
from tilewright.tuning.events import Event
from tilewright.tuning.fallback import promising
from tilewright.tuning.task import Task
from tilewright.tuning.tune import tune

RANDOM = RandomSearch()
GUIDED = Guided(optimiser=Annealing(chains=32, steps=4))
Template = Callable[[Schedule, Knobs], Schedule]


def too_wide(s: Schedule, knob: Knobs) -> Schedule:
    """A vector of more than 1024 rounds is refused, and nothing requires less."""
    x = knob.split("x", s.extent("x"), 2)
    u = knob.flag("unroll")
    s = s.split("x", x).vectorize("x.1")
    return s.unroll("x.0") if u and isinstance(x[0], int) and x[0] < 16 else s


def typo(s: Schedule, knob: Knobs) -> Schedule:
    """One branch has a fault of programming."""
    x = knob.split("x", s.extent("x"), 2)
    if knob.choice("way", ("good", "bad", "also good")) == "bad":
        s = s.splti("x", x)  # type: ignore[attr-defined]
    return s.split("x", x)


def mostly(s: Schedule, knob: Knobs) -> Schedule:
    """All but a few raise, the first option and the last among them."""
    x = knob.split("x", s.extent("x"), 3)
    if np.any((x[1] != 4) | (x[2] == 1) | (x[2] > 512)):
        raise ScheduleError("cannot do that.")
    return s.split("x", x)


TEMPLATES = (too_wide, typo, mostly)


def task(template: Template) -> Task:
    a = tw.tensor("A", (4096,))
    b = tw.compute("B", (4096,), lambda x: a[x] + 1.0)
    return Task(b, template=lambda s, knob, _: template(s, knob))


def raises(task: Task, row: np.ndarray) -> bool:
    try:
        task.schedule(task.space.config(row))
    except Exception:
        return True
    return False


@pytest.mark.parametrize("search", [RANDOM, GUIDED], ids=["random", "guided"])
@pytest.mark.parametrize("template", TEMPLATES, ids=lambda t: t.__name__)
def test_each_costs_one_trial(template: Template, search: Search):
    """Every candidate is tried: those that raise fail, in their place, the others are measured."""
    work = task(template)
    every = work.space.sample(np.random.default_rng(0), 10_000)
    bad = sum(raises(work, row) for row in every)
    assert 0 < bad < len(every)
    events: list[Event] = []
    with Records(":memory:") as records:
        toy = Toy()
        result = tune(
            work, trials=10_000, records=records, search=search, measure=toy, batch=8,
            watch=events.append,
        )  # fmt: skip
        assert result.failures == {"schedule error": bad}
        assert len(configs(records, work)) == len(set(configs(records, work))) == len(every)
        assert [e.done for e in events] == list(range(1, len(every) + 1))
        for trial, event in zip(records.trials(work.key, work.where), events, strict=True):
            row = work.space.encode(Config.from_json(dict(trial.config)))
            assert isinstance(trial.outcome, Failed) == raises(work, row)
            assert isinstance(event.outcome, Failed) == isinstance(trial.outcome, Failed)
        best = result.best
        assert str(best.loops) == str(work.recorded(records.best(work.key, work.where)).loops)  # type: ignore[arg-type]


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda t: t.__name__)
def test_a_resumed_run_knows_the_failures(template: Template):
    work = task(template)
    with Records(":memory:") as records:
        for done in (24, 48):
            tune(work, trials=24, records=records, search=GUIDED, measure=Toy(), batch=8)
            every = len(work.space.sample(np.random.default_rng(0), 10_000))
            assert len(set(configs(records, work))) == min(done, every)


def test_the_message_is_the_template_s_own():
    for template, words in (too_wide, "rounds at once are too many"), (typo, "splti"):
        work = task(template)
        result = tune(work, trials=10_000, search=RANDOM, measure=Toy(), batch=8)
        message = result.sessions[0].first_messages["schedule error"]
        assert words in message
    assert "in typo" in message, "a fault of programming is told with its place"


def test_a_guided_search_does_not_look_for_what_raises():
    """Rows that cannot be scheduled have no features and a score of -inf."""
    work = task(too_wide)
    rows = work.space.sample(np.random.default_rng(0), 10_000)
    found = FEATURES.extract(work.space, rows)
    bad = np.array([raises(work, row) for row in rows])
    assert np.isnan(found[bad]).all()
    assert np.isfinite(found[~bad]).all()


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda t: t.__name__)
def test_what_runs_untuned_does_not_raise(template: Template):
    work = task(template)
    assert not raises(work, promising(work.space))
    assert work.fallback().steps


def test_a_template_that_always_raises_ends_the_run_with_its_message():
    def broken(s: Schedule, knob: Knobs) -> Schedule:
        return s.split("nowhere", knob.split("x", 4096, 2))

    with pytest.raises(ScheduleError, match="there is no loop 'nowhere'"):
        tune(task(broken), trials=8, search=GUIDED, measure=Toy())


def test_a_template_that_raises_on_all_but_its_declaration_says_so():
    """Nothing is measured and nothing can run: the failures are counted, and asking says why."""
    calls = 0

    def once(s: Schedule, knob: Knobs) -> Schedule:
        nonlocal calls
        calls += 1
        x = knob.split("x", s.extent("x"), 2)
        if calls > 1:
            raise ScheduleError("the well is dry.")
        return s.split("x", x)

    work = task(once)
    toy = Toy()
    result = tune(work, trials=6, search=GUIDED, measure=toy, batch=4)
    assert toy.measured == 0
    assert result.failures == {"schedule error": 6}
    assert set(result.sessions[0].first_messages.values()) == {"the well is dry."}
    with pytest.raises(ScheduleError, match=r"(?s)raises on every candidate.*the well is dry"):
        _ = result.best


def test_failures_and_outcomes_keep_their_order():
    """What raises between two measured candidates is told between them, whatever is under way."""

    class Ahead(Toy):
        """Takes all requests before it answers the first, as builders do."""

        def measure(self, requests: Iterable[Request]) -> Iterator[Outcome]:
            yield from super().measure(list(requests))

    work = task(too_wide)
    seen: list[Outcome] = []
    with Records(":memory:") as records:
        tune(
            work, trials=26, records=records, search=RANDOM, measure=Ahead(), batch=13,
            watch=lambda e: seen.append(e.outcome),
        )  # fmt: skip
        trials = records.trials(work.key, work.where)
        assert [type(t.outcome) for t in trials] == [type(outcome) for outcome in seen]
        for trial in trials:
            row = work.space.encode(Config.from_json(dict(trial.config)))
            assert isinstance(trial.outcome, Measured) == (not raises(work, row))
