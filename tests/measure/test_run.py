"""Times are those of the candidate: not of another process on the core, nor of cold data."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from benchmarks.timing import busy

from tilewright.measure import run
from tilewright.measure.run import Clock, Runner

Timed = Callable[..., tuple[float, ...]]


@pytest.fixture
def timed(monkeypatch: pytest.MonkeyPatch) -> Timed:
    """What the runner makes of a candidate whose runs take so many seconds, one after another."""

    def make(runs: Sequence[float], best: float) -> tuple[float, ...]:
        left, now = iter(runs), [0.0]

        def repeat(_table: Any, _threads: int, count: int) -> None:
            now[0] += sum(itertools.islice(left, count))

        monkeypatch.setattr(run, "_interruptions", lambda: 0)
        monkeypatch.setattr(run.time, "perf_counter_ns", lambda: round(now[0] * 1e9))
        runner, loaded = Runner(Clock(repeats=3)), SimpleNamespace(repeat=repeat)
        built: Any = SimpleNamespace(best=best, threads=1)
        taken, interrupted = runner._time(loaded, [None], built)  # type: ignore[arg-type,list-item]
        assert interrupted == 0
        return taken

    return make


def test_a_candidate_that_found_its_data_cold_is_not_called_slow(timed: Timed):
    assert timed([5e-3, *[1e-3] * 9], best=1e-3) == pytest.approx((1e-3,) * 3)


def test_a_slow_candidate_is_timed_once_at_its_best(timed: Timed):
    assert timed([5e-3, 4e-3, 4.5e-3], best=1e-3) == pytest.approx((4e-3,))


def test_a_very_slow_candidate_runs_once(timed: Timed):
    assert timed([5.0], best=1e-3) == pytest.approx((5.0,))


def test_an_interrupted_sample_is_taken_again(monkeypatch: pytest.MonkeyPatch):
    counts, samples = iter([0, 3, 3, 3]), iter([9.0, 1.0])
    monkeypatch.setattr(run, "_interruptions", lambda: next(counts))
    assert run.uninterrupted(lambda: next(samples)) == (1.0, True)


def test_the_least_sample_counts_if_all_were_interrupted(monkeypatch: pytest.MonkeyPatch):
    counts, samples = itertools.count(), iter([9.0, 7.0, 8.0])
    monkeypatch.setattr(run, "_interruptions", lambda: next(counts))
    assert run.uninterrupted(lambda: next(samples)) == (7.0, True)
    assert next(samples, None) is None


def test_a_long_sample_is_not_taken_again(monkeypatch: pytest.MonkeyPatch):
    """Else a slow kernel on a busy core would run into its timeout."""
    counts, now = itertools.count(), itertools.count(0.0, 0.5)
    monkeypatch.setattr(run, "_interruptions", lambda: next(counts))
    monkeypatch.setattr(run.time, "perf_counter", lambda: next(now))
    samples = iter([0.5, 0.4])
    assert run.uninterrupted(lambda: next(samples)) == (0.5, False)


@pytest.mark.parametrize(
    ("once", "best", "wanted"), [(1e-3, 1e-3, 3), (5e-3, 1e-3, 1), (5.0, 1e-3, 0)]
)
def test_interrupted_samples_are_counted(
    monkeypatch: pytest.MonkeyPatch, once: float, best: float, wanted: int
):
    """Those of a slow candidate as well; not those so long that something is bound to come by."""
    counts, now = itertools.count(), [0.0]

    def repeat(_table: Any, _threads: int, count: int) -> None:
        now[0] += once * count

    monkeypatch.setattr(run, "_interruptions", lambda: next(counts))
    monkeypatch.setattr(run.time, "perf_counter_ns", lambda: round(now[0] * 1e9))
    runner, loaded = Runner(Clock(repeats=3)), SimpleNamespace(repeat=repeat)
    built: Any = SimpleNamespace(best=best, threads=1)
    _, interrupted = runner._time(loaded, [None], built)  # type: ignore[arg-type,list-item]
    assert interrupted == wanted


def test_a_process_on_the_same_core_is_noticed():
    cores = os.sched_getaffinity(0)
    with busy(min(cores)):
        try:
            os.sched_setaffinity(0, [min(cores)])
            before, until = run._interruptions(), time.monotonic() + 10
            while run._interruptions() == before and time.monotonic() < until:
                pass
            assert run._interruptions() > before
        finally:
            os.sched_setaffinity(0, cores)
