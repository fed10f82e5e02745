import subprocess
import sys
from functools import partial

import numpy as np
import pytest

from tilewright.errors import ArgumentError
from tilewright.models import Boosted, Training
from tilewright.testing import CostModelSuite


class TestRank(CostModelSuite):
    make = Boosted


class TestRegression(CostModelSuite):
    make = partial(Boosted, "regression")


def test_importing_models_does_not_load_xgboost() -> None:
    code = "import sys, tilewright.models, tilewright.search; sys.exit('xgboost' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_training_refuses_what_does_not_fit() -> None:
    X = np.zeros((3, 2))
    with pytest.raises(ArgumentError, match=r"X of shape \(3, 2\) and y of shape \(4,\)"):
        Training.of(X, np.zeros(4))
    with pytest.raises(ArgumentError, match="1 of 3 scores are not finite"):
        Training.of(X, [0, 1, -np.inf])
    with pytest.raises(ArgumentError, match=r"weight of shape \(2,\)"):
        Training.of(X, np.zeros(3), weight=[1, 2])


def test_training_prints_its_size_and_lists_its_groups() -> None:
    data = Training.of(np.zeros((4, 2)), np.zeros(4), group=[5, 3, 5, 3])
    assert repr(data) == "Training(4 rows, 2 features, 2 groups)"
    assert [rows.tolist() for rows in data.members()] == [[1, 3], [0, 2]]
    assert Training.of(np.zeros((0, 2)), []).members() == []
