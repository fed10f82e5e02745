import math

import numpy as np
import pytest

from tilewright.models.quality import kendall, pairwise_accuracy, top_recall


def test_perfect_reversed_and_constant_predictions() -> None:
    actual = np.arange(10.0)
    assert pairwise_accuracy(actual, actual) == 1
    assert pairwise_accuracy(-actual, actual) == 0
    assert pairwise_accuracy(np.zeros(10), actual) == 0.5
    assert kendall(np.exp(actual), actual) == 1
    assert kendall(-actual, actual) == -1


def test_equal_actual_scores_are_no_pair() -> None:
    assert math.isnan(pairwise_accuracy([1, 2], [3, 3]))
    assert math.isnan(pairwise_accuracy([1, 2], [-np.inf, -np.inf]))
    assert math.isnan(pairwise_accuracy([], []))
    assert pairwise_accuracy([0, 1, 2], [-np.inf, -np.inf, 0]) == 1


def test_among_counts_each_pair_with_a_marked_row_once() -> None:
    rng = np.random.default_rng(0)
    predicted, actual = rng.standard_normal(20), rng.standard_normal(20)
    marked = rng.random(20) < 0.3
    right = [
        (predicted[i] - predicted[j]) * (actual[i] - actual[j]) > 0
        for i in range(20)
        for j in range(i)
        if marked[i] or marked[j]
    ]
    assert pairwise_accuracy(predicted, actual, among=marked) == pytest.approx(np.mean(right))


def test_top_recall() -> None:
    assert top_recall([3, 2, 1], [3, 2, 1], 2) == 1
    assert top_recall([3, 2, 1], [1, 2, 3], 1) == 0
    assert top_recall([3, 2, 1], [1, 2, 3], 10) == 1
    assert math.isnan(top_recall([], [], 3))
