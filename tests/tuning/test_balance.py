"""What was measured on one thread is chosen for several with an eye on how they share it."""

from __future__ import annotations

import pytest
from tests.tuning.toys import Toy

import tilewright as tw
from tilewright.ops.dense import Dense
from tilewright.records.store import Records
from tilewright.records.trial import Measured, Trial
from tilewright.tuning.balance import by_rows, exchanged, imbalance
from tilewright.tuning.task import EXCHANGE, NEAR


def _rows(count: int, parallel: bool) -> tw.Schedule:
    x = tw.tensor("X", (count, 8))
    s = tw.Schedule(tw.compute("Y", (count, 8), lambda y, j: x[y, j] + 1.0))
    return s.parallel("y") if parallel else s


@pytest.mark.parametrize(
    ("count", "threads", "wanted"),
    [(8, 2, 1.0), (7, 2, 8 / 7), (1, 2, 2.0), (3, 4, 4 / 3), (5, 1, 1.0)],
)
def test_rounds_that_do_not_divide_leave_threads_waiting(
    count: int, threads: int, wanted: float
) -> None:
    assert imbalance(_rows(count, True).loops, threads) == pytest.approx(wanted)


def test_what_is_not_parallel_runs_on_one_thread() -> None:
    assert imbalance(_rows(8, False).loops, 2) == pytest.approx(2.0)


def test_two_threads_choose_among_the_fastest_what_they_can_share() -> None:
    alone, both = (tw.Task(Dense(32, 48, 64), threads=n) for n in (1, 2))
    for seed in range(20):  # until the fastest trial is one that threads share badly
        with Records(":memory:") as records:
            tw.tune(alone, trials=64, records=records, measure=Toy(), seed=seed)
            chosen = both.best_trial(records)
            best = records.fastest(alone.key, alone.where, 8)
        guesses = [(t.seconds or 1.0) * imbalance(both.recorded(t).loops, 2) for t in best]
        assert chosen is not None
        assert dict(chosen.config) == dict(best[guesses.index(min(guesses))].config)
        if guesses[0] > min(guesses):
            return
    pytest.fail("the test needs a fastest trial that threads share badly")


def _shared(loop: str) -> tw.Schedule:
    """Return a product that threads share by its rows, or by its columns."""
    s = tw.Schedule(Dense(8, 4, 16).expression()).split("y", (4, 2)).split("x_", (4, 4))
    other = {"y.0": "x_.0", "x_.0": "y.0"}[loop]
    return s.reorder(loop, other, "k", "y.1", "x_.1").parallel(loop)


def test_threads_read_what_others_wrote_of_inputs_and_between_loops() -> None:
    product = Dense(8, 4, 16)
    assert exchanged(_shared("y.0").loops, 2) == 0
    assert exchanged(_shared("x_.0").loops, 2) == 8 * 4 * 4 / 2
    assert exchanged(_shared("x_.0").loops, 4) == 8 * 4 * 4 * 3 / 4
    assert exchanged(_shared("x_.0").loops, 1) == 0
    stages = tw.Schedule(product.expression()).strassen("product").loops
    between = 7 * (4 * 2 + 4 * 8) * 4
    assert exchanged(stages, 2) == (between + 8 * 4 * 4) / 2


def test_a_layer_prefers_rows_to_columns_that_are_hardly_faster() -> None:
    rows, columns = _shared("y.0"), _shared("x_.0")
    assert by_rows(rows.loops)
    assert not by_rows(columns.loops)
    assert not by_rows(tw.Schedule(Dense(8, 4, 16).expression()).loops), "nothing is shared"
    taken = exchanged(columns.loops, 2) / EXCHANGE
    for seconds, later, cold, wanted in (
        (1e-6, 0.9, True, rows),
        (1e-6, 1.1, True, columns),
        (1e-6, 0.9, False, columns),
        (taken, NEAR - 1.01, True, rows),
        (taken, NEAR - 0.99, True, columns),
    ):
        task = tw.Task(Dense(8, 4, 16), threads=2, cold=cold)
        with Records(":memory:") as records:
            records.register(task.key, task.where, task.name, 1.0)
            trials = [
                Trial(task.key, task.where, {"way": i}, s.to_json(), Measured((took,), 0.0))
                for i, (s, took) in enumerate(
                    ((columns, seconds), (rows, seconds + later * taken), (rows, 1e-5))
                )
            ]
            records.add(trials)
            chosen = task.best_trial(records)
        assert chosen is not None
        assert task.recorded(chosen).loops == wanted.loops
