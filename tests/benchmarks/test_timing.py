"""Interleaved timing, on a clock that only the subjects move."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from benchmarks.timing import Timing, interleave


@dataclass
class Lab:
    """A clock and a log of who ran."""

    now: float = 0.0
    log: list[str] = field(default_factory=list[str])

    def subject(self, name: str, seconds: float) -> object:
        def run() -> None:
            self.now += seconds
            self.log.append(name)

        return run

    def clock(self) -> float:
        return self.now


def test_each_round_begins_with_another_subject() -> None:
    lab = Lab()
    subjects = {name: lab.subject(name, 1.0) for name in "abc"}
    timings = interleave(subjects, rounds=3, seconds=1, warmup=0, clock=lab.clock)  # pyright: ignore[reportArgumentType]
    turns = "".join(lab.log[3:])[::2]  # after the warm-up; once to warm, once timed
    assert turns == "abcbcacab"
    assert all(t.median == t.minimum == 1.0 for t in timings.values())
    assert [len(t.rounds) for t in timings.values()] == [3, 3, 3]


def test_short_calls_are_grouped_and_long_ones_not() -> None:
    lab = Lab()
    subjects = {"short": lab.subject("s", 1e-6), "long": lab.subject("l", 0.7)}
    timings = interleave(subjects, rounds=1, seconds=1e-3, warmup=1e-4, clock=lab.clock)  # pyright: ignore[reportArgumentType]
    assert timings["short"].median == pytest.approx(1e-6)
    assert len(timings["short"].rounds[0]) == pytest.approx(20, abs=1)
    assert timings["long"].rounds == ((pytest.approx(0.7),),)


def test_a_slow_spell_moves_neither_median_nor_ratio() -> None:
    ours = Timing("ours", ((1.0, 1.1), (4.0, 4.4), (1.0, 1.1)))
    theirs = Timing("theirs", ((2.0, 2.2), (8.0, 8.8), (2.0, 2.2)))
    assert ours.median == pytest.approx(1.05)
    assert ours.minimum == 1.0
    assert ours.speedup_over(theirs) == pytest.approx(2.0)


def test_no_subjects() -> None:
    assert interleave({}) == {}
