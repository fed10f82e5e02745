"""What is fastest for other work is tried where it fits, of the same run and of a database."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.tuning.toys import Toy, configs

from tilewright.ops.conv2d import Conv2d
from tilewright.records.store import Records
from tilewright.records.trial import Trial
from tilewright.search import RandomSearch
from tilewright.tuning.kin import Kin
from tilewright.tuning.session import CARRIED, Session
from tilewright.tuning.task import Task
from tilewright.tuning.tune import tune

RANDOM = RandomSearch()
PLAIN = Task(Conv2d(1, 9, 9, 8, 16, (3, 3), pads=(1, 1, 1, 1)))
FUSED = Task(Conv2d(1, 9, 9, 8, 16, (3, 3), pads=(1, 1, 1, 1), relu=True))
OTHER = Task(Conv2d(1, 9, 9, 8, 24, (3, 3), pads=(1, 1, 1, 1)))


def best(records: Records, task: Task) -> Trial:
    found = records.best(task.key, task.where)
    assert found is not None
    return found


def text(trial: Trial) -> str:
    return repr(sorted(trial.config.items()))


@pytest.mark.parametrize("kin", [True, False])
def test_another_networks_best_is_the_first_after_the_guess(tmp_path: Path, kin: bool):
    with Records(tmp_path / "tuning.db") as records:
        tune([PLAIN, OTHER], trials=48, records=records, search=RANDOM, measure=Toy(), seed=1)
        tune(FUSED, trials=8, records=records, search=RANDOM, measure=Toy(), seed=2, kin=kin)
        found = configs(records, FUSED)
        assert (text(best(records, PLAIN)) in found[:2]) == kin
        assert text(best(records, OTHER)) not in found
        assert len(found) == len(set(found)) == 8


def test_tasks_of_a_run_learn_of_each_others_best_as_it_changes():
    records = Records(":memory:")
    plain, fused = (Session.open(task, RANDOM, records, 0) for task in (PLAIN, FUSED))
    kin = Kin.of([plain, fused], records)
    seen: list[str] = []
    for _ in range(4):
        for session in (plain, fused):
            list(session.run(session.propose(6, kin.configs(session)), Toy()))
        assert plain.best_config is not None
        seen.append(repr(sorted(plain.best_config.items())))
        assert seen[-1] in configs(records, FUSED)
    assert len(set(seen)) > 1, "the toy finds better ones"
    for task in (PLAIN, FUSED):
        assert len(configs(records, task)) == len(set(configs(records, task))) == 24


def test_few_at_once_are_from_others_and_none_is_looked_at_twice():
    records = Records(":memory:")
    tune(PLAIN, trials=24, records=records, search=RANDOM, measure=Toy())
    known = [t.config for t in records.trials(PLAIN.key, PLAIN.where)]
    session = Session.open(FUSED, RANDOM, records, 0)
    rows = session.propose(16, iter(known))
    space = FUSED.space
    theirs = [repr(sorted(config.items())) for config in known]
    made = [repr(sorted(space.config(row).to_json().items())) for row in rows]
    assert len(made) == len(set(made)) == 16
    assert sum(each in theirs for each in made[: CARRIED + 1]) >= CARRIED
    list(session.run(rows, Toy()))
    again = [repr(sorted(space.config(r).to_json().items())) for r in session.propose(16, known)]
    assert not set(again) & set(made)


def test_other_threads_and_what_was_never_measured_are_no_kin():
    records = Records(":memory:")
    tune(Task(PLAIN.work, threads=2), trials=4, records=records, search=RANDOM, measure=Toy())
    records.register(OTHER.key, OTHER.where, OTHER.name, 1.0)
    session = Session.open(FUSED, RANDOM, records, 0)
    assert list(Kin.of([session], records).configs(session)) == []


def test_the_best_config_is_kept_over_a_resumed_run():
    records = Records(":memory:")
    tune(PLAIN, trials=12, records=records, search=RANDOM, measure=Toy())
    session = Session.open(PLAIN, RANDOM, records, 0)
    assert session.best_config == best(records, PLAIN).config


def test_configs_that_are_none_and_those_in_another_order_do_no_harm():
    records = Records(":memory:")
    tune(PLAIN, trials=4, records=records, search=RANDOM, measure=Toy())
    known = dict(best(records, PLAIN).config)
    turned = dict(reversed(known.items()))
    session = Session.open(FUSED, RANDOM, records, 0)
    rows = session.propose(6, [{"knob": {}}, {"unknown": 1}, known, turned])
    assert len(FUSED.space.keys(rows)) == len(set(FUSED.space.keys(rows))) == 6
    assert FUSED.space.valid(rows).all()
