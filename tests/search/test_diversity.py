import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.search.diversity import pick


def _value(rows: np.ndarray, gains: np.ndarray, chosen: list[int], alpha: float) -> float:
    """Equation 3, spelt out."""
    covered = {(j, int(rows[s, j])) for s in chosen for j in range(rows.shape[1])}
    return float(gains[chosen].sum()) + alpha * len(covered)


@given(seed=st.integers(0, 500), alpha=st.sampled_from([0.0, 0.1, 1.0]))
def test_each_pick_adds_most_to_equation_3(seed: int, alpha: float) -> None:
    rng = np.random.default_rng(seed)
    rows, scores = rng.integers(0, 3, (9, 4), np.int32), rng.standard_normal(9)
    gains = (scores - scores.mean()) / scores.std()
    chosen: list[int] = []
    for best in pick(rows, scores, 5, alpha):
        values = {i: _value(rows, gains, [*chosen, i], alpha) for i in range(9) if i not in chosen}
        assert values[int(best)] == pytest.approx(max(values.values()))
        chosen.append(int(best))
    assert len(chosen) == 5


def test_without_alpha_it_takes_the_best_and_with_it_the_varied() -> None:
    rows = np.array([[0, 0], [0, 0], [0, 1], [1, 2]], np.int32)
    scores = np.array([4.0, 3.0, 2.0, 1.0])
    assert pick(rows, scores, 2, alpha=0).tolist() == [0, 1]
    assert pick(rows, scores, 2, alpha=5).tolist() == [0, 3]


def test_bounds_and_odd_scores() -> None:
    rows = np.zeros((3, 2), np.int32)
    assert sorted(pick(rows, np.zeros(3), 10, 0.1)) == [0, 1, 2]
    assert len(pick(rows[:0], np.zeros(0), 4, 0.1)) == 0
    assert pick(rows, np.array([-np.inf, 1.0, -np.inf]), 3, 0.1)[0] == 1
    assert sorted(pick(rows, np.full(3, -np.inf), 3, 0.1)) == [0, 1, 2]
