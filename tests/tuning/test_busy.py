"""Who tunes for several threads beside other work is told that times are in doubt."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.tuning.toys import Toy, by_text

from tilewright.measure.build import Request
from tilewright.ops.dense import Dense
from tilewright.records import Measured, Outcome
from tilewright.records.store import Records
from tilewright.search import RandomSearch
from tilewright.tuning.result import Rehearsal, Result
from tilewright.tuning.tune import tune


def tuned(interrupted: int, threads: int = 2, records: Records | None = None) -> Result:
    """Tune for which each trial is ten samples, some of them interrupted."""

    def answer(request: Request) -> Outcome:
        taken = by_text(request)
        assert isinstance(taken, Measured)
        return Measured(taken.seconds * 10, interrupted=interrupted)

    return tune(
        Dense(16, 16, 16), trials=8, threads=threads, measure=Toy(answer), search=RandomSearch(),
        records=records, seed=0,
    )  # fmt: skip


def test_a_busy_machine_is_told_in_a_sentence() -> None:
    result = tuned(interrupted=2)
    assert result.busy.startswith(
        "the machine was busy: another process took a core during 16 of 80 samples, and times may "
        "be much too long on 2 threads"
    )
    assert "OMP_WAIT_POLICY=passive" in result.busy
    assert repr(result).endswith(", on a busy machine)")


def test_so_it_is_on_one_thread() -> None:
    said = tuned(interrupted=2, threads=1).busy
    assert "took a core during 16 of 80 samples, and times may be too long. End" in said
    assert said.endswith("and tune again.")


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("interrupted", [0, 1])
def test_a_quiet_machine_is_not(interrupted: int, threads: int) -> None:
    result = tuned(interrupted, threads)
    assert result.busy == ""
    assert "busy" not in repr(result)


def test_only_samples_of_this_run_count() -> None:
    with Records(":memory:") as records:
        assert tuned(interrupted=5, records=records).busy
        again = tuned(interrupted=0, records=records)
    session = again.sessions[0]
    assert (session.trials, session.samples, session.interrupted) == (16, 80, 0)
    assert not again.busy


def test_what_was_interrupted_is_no_part_of_a_measurement() -> None:
    assert Measured((1.0,), interrupted=1) == Measured((1.0,))
    assert "interrupted" not in repr(Measured((1.0,), interrupted=1))


def test_a_rehearsal_on_a_busy_machine_is_told_once() -> None:
    quiet = tuned(interrupted=0)
    for lost, told in (0.0, ""), (0.1, ""), (0.43, "for 43% of the time in which the network ran"):
        made = replace(quiet, rehearsal=Rehearsal(2e-3, 1e-3, (), lost))
        assert told in made.busy
        assert bool(made.busy) is bool(told)
    busy = replace(tuned(interrupted=5), rehearsal=Rehearsal(2e-3, 1e-3, (), 0.43))
    assert busy.busy.count("the machine was busy") == 1
