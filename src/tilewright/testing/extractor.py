"""What every extractor of features must do; subclass and set `make`."""

from __future__ import annotations

import pickle
from typing import Any, ClassVar

import numpy as np

from tilewright.features.extractor import Extractor
from tilewright.ops.conv2d import Conv2d
from tilewright.ops.dense import Dense
from tilewright.ops.elementwise import Relu, Transpose
from tilewright.ops.pool2d import Pool2d
from tilewright.schedule.schedule import Schedule
from tilewright.space.knobs import Knobs
from tilewright.space.space import Space
from tilewright.testing import toys
from tilewright.tuning.task import Operator, Task

OPERATORS: tuple[Operator, ...] = (
    Conv2d(1, 7, 9, 5, 13, (3, 3), (2, 1), (1, 1, 0, 1), bias=True, relu=True),
    Conv2d(1, 6, 6, 8, 8, (3, 3), pads=(1, 1, 1, 1), groups=4),
    Dense(3, 17, 31, bias=True),
    Pool2d("max", 1, 9, 9, 5, (3, 3), (2, 2), (1, 1, 1, 1)),
    Relu(1),
    Transpose((3, 4, 5), (2, 0, 1)),
)


class ExtractorSuite:
    """Tests of an extractor's contract, on the spaces of six small operators; for pytest.

    class TestMine(ExtractorSuite):
        make = Mine                # or partial(Mine, option=...): called without arguments

    Extractors are equal by value and can be pickled. Features are finite float32, one row a
    candidate, as many columns in every space as there are different `names` (none: the columns are
    a space's own). A row's features are the same to the bit alone, in any order, and in a space
    declared again; half of 100 candidates can be told apart by them. `rows` is not written to, may
    be empty, and a row whose program raises is all NaN or has what needs no program.
    """

    make: ClassVar[Any]  # Callable[[], Extractor]; Any, so that a plain function is not bound

    @property
    def extractor(self) -> Extractor:
        return type(self).make()

    def test_pickles_and_is_equal_by_value(self) -> None:
        one = self.extractor
        assert pickle.loads(pickle.dumps(one)) == one == self.extractor, (
            "extractors of the same options are equal, as those of a frozen dataclass are"
        )

    def test_names_and_version(self) -> None:
        """A saved model is known by them: they are plain, and each column has a name of its own."""
        names, version = self.extractor.names, self.extractor.version
        assert isinstance(version, int)
        assert version >= 1
        assert all(isinstance(name, str) and "\n" not in name for name in names)
        assert len(set(names)) == len(names), "two columns have one name"
        assert names == self.extractor.names

    def test_every_row_of_every_space_has_the_same_columns(self) -> None:
        for task in (Task(operator) for operator in OPERATORS):
            rows = _rows(task)
            found = self.extractor.extract(task.space, rows)
            assert found.dtype == np.float32, f"features are of {found.dtype}, not of float32"
            assert np.isfinite(found).all(), f"{task}: a feature is no finite number"
            assert len(found) == len(rows), f"{task}: {found.shape} for {len(rows)} rows"
            names = self.extractor.names
            assert not names or found.shape[1] == len(names), (
                f"{task}: {found.shape[1]} columns, and {len(names)} names"
            )

    def test_a_row_has_its_features_in_any_company(self) -> None:
        for task in (Task(operator) for operator in OPERATORS):
            rows = _rows(task)
            together = self.extractor.extract(task.space, rows)
            for i in range(0, len(rows), 7):
                alone = self.extractor.extract(task.space, rows[i : i + 1])
                np.testing.assert_array_equal(alone[0], together[i], str(task))
            backwards = self.extractor.extract(task.space, rows[::-1])
            np.testing.assert_array_equal(backwards[::-1], together, str(task))

    def test_the_same_in_a_space_declared_again(self) -> None:
        one, two = Task(OPERATORS[0]), Task(OPERATORS[0])
        rows = _rows(one)
        first, second = (self.extractor.extract(task.space, rows) for task in (one, two))
        np.testing.assert_array_equal(first, second)

    def test_rows_are_left_alone(self) -> None:
        task = Task(OPERATORS[0])
        rows = _rows(task)
        before = rows.copy()
        rows.flags.writeable = False
        self.extractor.extract(task.space, rows)
        assert np.array_equal(rows, before), "extract wrote to rows"

    def test_no_rows_make_no_features(self) -> None:
        task = Task(OPERATORS[0])
        assert len(self.extractor.extract(task.space, _rows(task)[:0])) == 0

    def test_candidates_can_be_told_apart(self) -> None:
        task = Task(OPERATORS[0])
        rows = _rows(task, 100)
        found = self.extractor.extract(task.space, rows)
        different = len(np.unique(found, axis=0))
        assert different > 0.5 * len(rows), f"{different} of {len(rows)} rows differ in features"

    def test_a_row_that_cannot_be_lowered_is_all_nan_and_the_others_are_not(self) -> None:
        """What does not look at programs may give its features all the same."""
        space = Space.declare(_sometimes)
        rows = space.rows(np.arange(space.size))
        found = self.extractor.extract(space, rows)
        unknown = np.isnan(found)
        raising = np.array([space.config(row)["n"] == 4 for row in rows])
        assert not unknown[~raising].any(), "a row that can be lowered has NaN"
        assert unknown[raising].all() or not unknown.any(), "a row is NaN in part"


def _rows(task: Task, n: int = 32) -> np.ndarray[Any, Any]:
    return task.space.sample(np.random.default_rng(0), n)


def _sometimes(knob: Knobs) -> Schedule:
    n = knob.choice("n", [2, 4, 8])
    if n == 4:
        raise ValueError("the template has a slip")
    return toys.product().split("y", (64 // int(n), int(n)))
