"""Which features a model learns from: those that it asks for, else those of tuning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from tests.tuning.toys import Toy

from tilewright.errors import ArgumentError
from tilewright.features import FEATURES, Context, KnobValues, Tree
from tilewright.models import Predictor, Training, TreeGRU
from tilewright.models.boosted import Zeros
from tilewright.ops.dense import Dense
from tilewright.search import Annealing, Guided
from tilewright.tuning.task import Task
from tilewright.tuning.tune import tune

WORK = Task(Dense(16, 16, 16))
FAST = Annealing(chains=16, steps=4)


@dataclass
class Sees:
    """A model that notes how many columns it was given."""

    features: Any = None
    columns: int = 0

    def fit(self, data: Training, previous: Predictor | None = None) -> Predictor:  # noqa: ARG002
        self.columns = data.X.shape[1]
        return Zeros()


@pytest.mark.parametrize("features", [None, Context(loops=3), KnobValues(), Tree(nodes=2)])
def test_a_model_gets_the_features_that_it_asks_for(features: Any) -> None:
    model = Sees(features)
    tune(WORK, trials=8, batch=4, search=Guided(model, FAST), measure=Toy())
    row = WORK.space.rows(np.arange(1))
    assert model.columns == (features or FEATURES).extract(WORK.space, row).shape[1]


def test_features_that_are_no_extractor_are_refused() -> None:
    with pytest.raises(ArgumentError, match=r"Guided\(model=Sees.*: model is a model whose `feat"):
        Guided(Sees("context"))


def test_a_neural_model_is_one_line() -> None:
    pytest.importorskip("torch", reason="PyTorch is an extra")
    search = Guided(TreeGRU(epochs=2), FAST)
    once, again = (tune(WORK, trials=24, batch=8, search=search, measure=Toy()) for _ in range(2))
    assert once.curve == again.curve
    assert len(once.curve) == 24
