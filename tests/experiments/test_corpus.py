"""The corpus: the same tasks every time, and how far their noise lets them be put in order."""

from __future__ import annotations

import pytest
from experiments.corpus import corpus, elsewhere
from experiments.pretrain import at_most
from experiments.workloads import AVX512

from tilewright.records.trial import Measured, Trial


def trials(*repeats: tuple[float, ...]) -> list[Trial]:
    return [Trial("0", "t", {}, [], Measured(seconds)) for seconds in repeats]


def test_its_tasks_are_all_different_and_the_first_of_them_stay_the_same() -> None:
    for drawn, count in (corpus, 285), (elsewhere, 160):
        every = drawn(machine=AVX512)
        assert len({task.key for task in every}) == count
        assert [t.key for t in drawn(7, machine=AVX512)] == [task.key for task in every[:7]]


def test_who_knows_the_true_times_ranks_all_that_do_not_overlap() -> None:
    apart = trials((1.0, 1.1, 1.2), (2.0, 2.1, 2.2), (4.0,))
    assert at_most(apart) == (1.0, 1.0)


def test_noise_hides_the_order_of_what_is_near() -> None:
    mixed = trials((1.00, 1.01, 1.04), (0.99, 1.02, 1.05), (2.0, 2.0, 2.0))
    plain, beyond = at_most(mixed)
    assert 2 / 3 < plain < 1
    assert beyond == pytest.approx(1)
