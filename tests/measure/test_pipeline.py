"""The pipeline: outcomes in order, one for each candidate, whatever a candidate does."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from tilewright.measure.pipeline import Pipeline
from tilewright.measure.worker import Worker
from tilewright.records import Failed, Measured

Candidate = tuple[str, Any]


def pipeline(builders: int = 1, **options: Any) -> Pipeline:
    workers = [Worker("tests.measure.toys:builder") for _ in range(builders)]
    return Pipeline(workers, Worker("tests.measure.toys:runner"), **options)


@pytest.mark.parametrize("builders", [1, 2])
@pytest.mark.parametrize("overlap", [True, False])
def test_every_candidate_has_its_outcome_in_order(builders: int, overlap: bool):
    bad: dict[int, tuple[Candidate, str, str, str]] = {
        3: (("kill", signal.SIGSEGV), "build", "crash", "ended by SIGSEGV"),
        4: (("hang", None), "build", "timeout", "no answer within 1 s"),
        5: (("raise", ValueError("no tile")), "build", "error", "ValueError: no tile"),
        6: (("refuse", "too big"), "build", "error", "too big"),
        8: (("run", ("null", None)), "run", "crash", "ended by SIGSEGV"),
        9: (("run", ("hang", None)), "run", "timeout", "no answer within 1 s"),
        10: (("run", ("raise", OSError("lost"))), "run", "error", "OSError: lost"),
        11: (("run", ("echo", Failed("verify", "wrong", "by 3"))), "verify", "wrong", "by 3"),
        12: (("kill", signal.SIGKILL), "build", "crash", "ended by SIGKILL"),
    }
    requests = [bad[n][0] if n in bad else ("ok", n + 1) for n in range(20)]
    with pipeline(builders, build_timeout=1, run_timeout=1, overlap=overlap) as measuring:
        outcomes = list(measuring.measure(requests))
    assert len(outcomes) == 20
    for number, outcome in enumerate(outcomes):
        if number not in bad:
            assert outcome == Measured((number + 1.0,))
            continue
        _, stage, reason, message = bad[number]
        assert isinstance(outcome, Failed)
        assert (outcome.stage, outcome.reason) == (stage, reason)
        assert message in outcome.message


def test_nothing_to_measure():
    with pipeline() as measuring:
        assert list(measuring.measure([])) == []


def test_requests_are_taken_only_a_few_ahead_and_workers_stay_usable():
    taken: list[int] = []

    def requests() -> Iterator[Candidate]:
        for number in range(1000):
            taken.append(number)
            yield ("ok", number + 1)

    with pipeline(2) as measuring:
        first = measuring.measure(requests())
        assert next(first) == Measured((1.0,))
        assert len(taken) <= 8
        del first
        assert list(measuring.measure([("ok", 7)])) == [Measured((7.0,))]


def test_leaving_early_kills_what_is_under_way():
    with pipeline() as measuring:
        outcomes = measuring.measure([("ok", 1), ("hang", None), ("ok", 2)])
        assert next(outcomes) == Measured((1.0,))
        outcomes.close()  # pyright: ignore[reportAttributeAccessIssue]
        assert list(measuring.measure([("ok", 3)])) == [Measured((3.0,))]


def test_an_answer_that_waited_for_its_reader_is_no_timeout():
    with pipeline(build_timeout=0.5, run_timeout=0.5) as measuring:
        measuring.start()
        outcomes = measuring.measure([("ok", n) for n in range(1, 6)])
        assert next(outcomes) == Measured((1.0,))
        time.sleep(0.8)
        assert list(outcomes) == [Measured((float(n),)) for n in range(2, 6)]


@pytest.mark.parametrize("overlap", [True, False])
def test_building_goes_on_while_running_unless_forbidden(overlap: bool):
    with pipeline(2, overlap=overlap) as measuring:
        outcomes = list(measuring.measure([("span", 0.1)] * 5))
    spans = [outcome.seconds for outcome in outcomes if isinstance(outcome, Measured)]
    assert len(spans) == 5
    runs = sorted((start, end) for _, _, start, end in spans)
    assert all(end <= start for (_, end), (start, _) in pairwise(runs))
    together = [
        (build, run)
        for *build, _, _ in spans
        for run in runs
        if max(build[0], run[0]) < min(build[1], run[1])
    ]
    assert bool(together) == overlap


def test_a_runner_that_returns_something_else_is_a_programming_error():
    with pipeline() as measuring, pytest.raises(TypeError, match="returned a float"):
        list(measuring.measure([("run", ("echo", 0.5))]))


def test_a_pipeline_needs_a_builder():
    with pytest.raises(ValueError, match="at least one builder"):
        Pipeline([], Worker("tests.measure.toys:runner"))
