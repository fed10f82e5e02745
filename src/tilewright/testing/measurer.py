"""What every measurer must do; subclass and set `make`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any, ClassVar

from tilewright.measure.build import Request
from tilewright.measure.local import Measurer
from tilewright.records.trial import Failed, Measured
from tilewright.schedule.schedule import Schedule
from tilewright.target import host
from tilewright.testing import toys

GOOD = (
    toys.product(),
    toys.product().split("y", (8, 8)).split("x", (4, 16)).vectorize("x.1"),
    toys.product().split("y", (32, 2)).unroll("y.1"),
    toys.product().reorder("x", "k", "y"),
)


class MeasurerSuite:
    """Tests of a measurer's contract, on small matrix products for this machine; for pytest.

    class TestMine(MeasurerSuite):
        make = Mine                # or partial(Mine, option=...): called without arguments
        runs = False               # for measurers that run nothing: no result can be wrong

    `measure` yields an outcome for each request, in their order: here `Measured`, of less than a
    minute. It takes requests as it needs them, not all 40 before the first outcome. It can be
    called again, after an iteration that was left early too, until `close`, which may come twice.
    One that `runs` candidates answers `Failed("verify", "wrong")` to a wrong one, and goes on.
    """

    make: ClassVar[Any]  # Callable[[], Measurer]; Any, so that a plain function is not bound
    runs: ClassVar[bool] = True

    def start(self) -> closing[Measurer]:
        return closing(type(self).make())

    def test_an_outcome_for_every_request(self) -> None:
        with self.start() as measurer:
            outcomes = list(measurer.measure(map(_request, GOOD)))
        assert len(outcomes) == len(GOOD), f"{len(outcomes)} outcomes of {len(GOOD)} requests"
        for outcome in outcomes:
            assert isinstance(outcome, Measured), str(outcome)
            assert 0 < outcome.median < 60, f"{outcome.median} s for a matrix product of 64 cubed"

    def test_no_requests_have_no_outcomes(self) -> None:
        with self.start() as measurer:
            assert list(measurer.measure(iter(()))) == []

    def test_may_be_asked_again(self) -> None:
        with self.start() as measurer:
            for _ in range(2):
                assert len(list(measurer.measure(map(_request, GOOD[:2])))) == 2

    def test_requests_are_taken_as_they_are_needed(self) -> None:
        """Not all of them at first: what they say of the best so far would be out of date."""
        taken: list[int] = []

        def requests() -> Iterator[Request]:
            for i in range(40):
                taken.append(i)
                yield _request(GOOD[i % len(GOOD)])

        with self.start() as measurer:
            outcomes = measurer.measure(requests())
            next(outcomes)
            assert len(taken) < 40, "all requests were taken before the first outcome"
            _leave(outcomes)

    def test_left_early_it_can_be_used_again(self) -> None:
        with self.start() as measurer:
            outcomes = measurer.measure(_request(GOOD[0]) for _ in range(8))
            next(outcomes)
            _leave(outcomes)
            (outcome,) = measurer.measure([_request(GOOD[1])])
        assert isinstance(outcome, Measured), str(outcome)

    def test_a_wrong_result_fails_in_its_place_and_alone(self) -> None:
        if not type(self).runs:
            return
        wrong = Request(GOOD[0].output, toys.product(factor=3.0).loops, host())
        asked = [_request(GOOD[0]), wrong, _request(GOOD[1]), wrong]
        with self.start() as measurer:
            outcomes = list(measurer.measure(asked))
        assert [type(outcome) for outcome in outcomes] == [Measured, Failed, Measured, Failed], (
            f"the second and fourth are wrong: {[str(outcome) for outcome in outcomes]}"
        )
        for outcome in outcomes[1::2]:
            assert isinstance(outcome, Failed)
            assert (outcome.stage, outcome.reason) == ("verify", "wrong")

    def test_closing_twice_is_fine(self) -> None:
        made: Measurer = type(self).make()
        made.close()
        made.close()


def _request(schedule: Schedule) -> Request:
    return Request(schedule.output, schedule.loops, host())


def _leave(outcomes: Iterator[Any]) -> None:
    """End an iteration early, where it has something to clean up."""
    close = getattr(outcomes, "close", None)
    if close is not None:
        close()
