"""Trials and outcomes as values."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tilewright.records import Failed, Measured, Trial


def test_a_candidate_is_judged_by_its_median():
    assert Measured((3.0, 1.0, 2.0)).median == 2.0
    assert Trial("t", "m", {}, [], Measured((3.0, 1.0, 2.0))).seconds == 2.0
    assert Trial("t", "m", {}, [], Failed("run", "slow")).seconds is None


@pytest.mark.parametrize("seconds", [(), (0.0,), (1.0, -1.0), (float("nan"),), (float("inf"),)])
def test_impossible_times_are_refused(seconds: tuple[float, ...]):
    with pytest.raises(ValueError, match="seconds is"):
        Measured(seconds)


def test_a_time_without_zone_is_refused():
    with pytest.raises(ValueError, match="time zone"):
        Trial("t", "m", {}, [], Failed("run", "slow"), datetime(2024, 5, 1))
    assert Trial("t", "m", {}, [], Failed("run", "slow")).created.tzinfo is UTC
