import numpy as np

from tilewright.features.remember import Remember
from tilewright.schedule.schedule import Schedule
from tilewright.space.space import Space


class Counting:
    """An extractor that says what it was asked for."""

    def __init__(self) -> None:
        self.asked = 0

    def extract(self, _: Space[Schedule], rows: np.ndarray) -> np.ndarray:
        self.asked += len(rows)
        return np.repeat(rows.astype(np.float32) * 2 + 1, 2, axis=1)


def test_rows_are_extracted_once_and_come_back_as_they_were() -> None:
    space = Space.declare(lambda knob: (knob.size("a", range(9)), knob.size("b", range(7))))
    extractor, rng = Counting(), np.random.default_rng(0)
    remember = Remember(extractor, space, limit=1000)  # type: ignore[arg-type]
    for _ in range(30):
        rows = space.rows(rng.integers(0, space.size, 20))  # repeats among them
        assert np.array_equal(remember(rows), np.repeat(rows * 2.0 + 1, 2, axis=1))
    assert extractor.asked == space.size


def test_beyond_the_limit_it_forgets_and_stays_right() -> None:
    space = Space.declare(lambda knob: (knob.size("a", range(9)), knob.size("b", range(7))))
    extractor, rng = Counting(), np.random.default_rng(1)
    remember = Remember(extractor, space, limit=10)  # type: ignore[arg-type]
    for _ in range(20):
        rows = space.rows(rng.integers(0, space.size, 8))
        assert np.array_equal(remember(rows), np.repeat(rows * 2.0 + 1, 2, axis=1))
    assert extractor.asked > space.size
