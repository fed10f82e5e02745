import subprocess
import sys
from functools import partial

import numpy as np
import pytest
from tests.tuning.toys import Toy

import tilewright as tw
from tilewright.errors import ArgumentError, ModelError
from tilewright.features import FEATURES, Costs, Relation
from tilewright.models import Boosted, CostModel, Ensemble, Pretrained, Training, Transfer
from tilewright.ops import Dense
from tilewright.search import Guided
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


def _line(width: int) -> Training:
    X = np.random.default_rng(0).standard_normal((30, width)).astype(np.float32)
    return Training.of(X, X[:, 0])


FEW, USUAL, COSTS = (len(of.names) for of in (Relation(), FEATURES, Costs()))
SOURCE = Boosted(rounds=3).fit(_line(FEW))
MISFITS: dict[str, tuple[CostModel, int, int]] = {
    "pretrained": (Transfer(source=Pretrained(), features=Relation()), FEW, COSTS),
    "a source of other features": (Transfer(source=SOURCE), USUAL, FEW),
    "an ensemble of both": (Ensemble(Transfer(source=SOURCE), members=2), USUAL, FEW),
    "a source that is an ensemble": (
        Transfer(source=Ensemble(Boosted(rounds=3), members=2).fit(_line(FEW))),
        USUAL,
        FEW,
    ),
}


@pytest.mark.parametrize("name", MISFITS)
def test_other_features_than_it_was_fitted_to_are_refused(name: str) -> None:
    model, given, fitted = MISFITS[name]
    said = f"cannot predict from {given} features: this model was fitted to {fitted}; .*source and"
    with pytest.raises(ModelError, match=said):
        model.fit(Training.of(np.zeros((0, given)), [])).predict(np.zeros((2, given), np.float32))
    with pytest.raises(ModelError, match=said):
        tw.tune(Dense(8, 8, 8), trials=4, search=Guided(model), measure=Toy())
