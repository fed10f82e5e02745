"""The measured limit of the machine."""

from __future__ import annotations

import os

import pytest

import tilewright as tw
import tilewright.measure.peak as peak_of
from tilewright.errors import TargetError
from tilewright.measure.peak import PATIENCE, best_of, peak


def test_more_threads_have_no_lower_peak():
    """Whatever else the machine is busy with: shares of the peak would exceed all bounds."""
    assert peak(threads=2, samples=3) > 0.5 * peak(samples=3) > 1e8


def test_threads_beyond_the_cores_are_not_started(monkeypatch):
    """A thousand that spin for a handful of cores would not come to an end."""
    asked: list[int] = []
    loop = peak_of._loop(tw.host())

    class Loop:
        def run(self, table, threads):
            asked.append(threads)
            loop.run(table, threads)

    monkeypatch.setattr(peak_of, "_loop", lambda _: Loop())
    assert peak(threads=1000, samples=1) > 1e8
    assert set(asked) <= {1, len(os.sched_getaffinity(0))}


class Machine:
    """Readings of a machine that others keep busy: all of one, until some time has gone by."""

    def __init__(self, until: float, busy: float = 1.0, free: float = 2.0) -> None:
        self.until, self.busy, self.free = until, busy, free
        self.now, self.taken = 0.0, 0

    def reading(self) -> float:
        self.taken += 1
        return self.busy if self.now < self.until else self.free

    def pause(self, seconds: float) -> None:
        assert seconds > 0
        self.now += seconds


@pytest.mark.parametrize("until", [0.0, 0.01, 0.1, 0.5])
def test_a_reading_while_a_core_is_busy_is_not_the_last(until: float):
    """As long as two threads read what one does, the core may come free: more are taken."""
    machine = Machine(until)
    assert best_of(machine.reading, 20, enough=1.8, pause=machine.pause) == 2.0
    assert machine.taken >= 20


def test_a_machine_that_is_never_free_is_not_waited_for_long():
    machine = Machine(until=1e9, busy=1.1)
    assert best_of(machine.reading, 20, enough=1.8, pause=machine.pause) == 1.1
    assert machine.taken == 20 * PATIENCE
    assert machine.now < 2.0


def test_what_is_enough_at_once_takes_no_more_readings_than_asked_for():
    machine = Machine(until=0.0)
    assert best_of(machine.reading, 5, enough=1.8, pause=machine.pause) == 2.0
    assert machine.taken == 5


def test_the_best_reading_counts_wherever_it_is():
    for place in range(5):
        readings = iter([3.0 if i == place else 1.0 for i in range(5)])
        assert best_of(lambda r=readings: next(r), 5, pause=lambda _: None) == 3.0


def test_a_foreign_target_has_no_peak_here():
    board = tw.Target(
        "board", triple="aarch64-unknown-linux-gnu", cpu="cortex-a72", vector_bytes=16, registers=32
    )
    with pytest.raises(TargetError, match="cannot run code for 'board'"):
        peak(board)
