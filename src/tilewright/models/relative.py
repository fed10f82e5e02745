"""Relative: a model that also sees how far each candidate lies from the others of its task."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.errors import ArgumentError
from tilewright.models.boosted import Boosted
from tilewright.models.bounds import can, demand_width
from tilewright.models.model import CostModel, Predictor, fit, predict
from tilewright.models.packed import Packed
from tilewright.models.training import Training

Rows = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Relative:
    """Fit `base` to the features, and to what each exceeds its group's median by.

    A thousand loads are many in a small task and few in a large one. What is learnt of many tasks
    to help with others is better told by how many more there are than usual here.
    """

    base: CostModel = field(default_factory=Boosted)

    def __post_init__(self) -> None:
        if not can(self.base, "fit"):
            raise ArgumentError(
                f"Relative(base={self.base!r}): base is a cost model, such as Boosted()."
            )

    @property
    def features(self) -> Any:
        """The extractor that the base asks for, if it asks for one."""
        return getattr(self.base, "features", None)

    def fit(self, data: Training, previous: Predictor | None = None) -> Predictor:
        before = previous.base if isinstance(previous, Compared) else None
        X = np.zeros((len(data), 2 * data.X.shape[1]), np.float32)
        for rows in data.members():
            X[rows] = _compared(data.X[rows], _middle(data.X[rows]))
        both = Training(X, data.y, data.group, data.offset, data.weight)
        return Compared(fit(self.base, both, before), data.X.shape[1])


@dataclass(frozen=True, slots=True)
class Compared:
    """A predictor of rows and of what they exceed `middle` by: their own median unless it is given.

    Without it rows are compared with those that are scored with them, and only these scores can be
    compared with each other.
    """

    base: Predictor
    columns: int
    middle: tuple[float, ...] = ()

    def predict(self, X: Rows) -> NDArray[np.float64]:
        if not len(X):
            return np.zeros(0)
        demand_width(X.shape[1], self.columns)
        middle = np.array(self.middle, np.float32) if self.middle else _middle(X)
        return predict(self.base, _compared(X, middle))

    def among(self, rows: Rows) -> Compared:
        """Return the predictor that compares with these rows, whatever it is asked about."""
        demand_width(rows.shape[1], self.columns)
        return Compared(self.base, self.columns, tuple(_middle(rows).tolist()))

    def pack(self) -> Packed:
        values = {"columns": self.columns, "middle": list(self.middle)}
        return Packed(values, parts=(self.base,))

    @staticmethod
    def unpack(packed: Packed) -> Compared:
        (base,) = packed.parts
        columns, middle = int(packed.values["columns"]), tuple(map(float, packed.values["middle"]))
        if len(middle) not in (0, columns) or not np.isfinite(middle).all():
            raise ValueError(f"its middle is {middle}")
        return Compared(base, columns, middle)


def among(predictor: Predictor, rows: Rows) -> Predictor:
    """Return a predictor whose scores of one task can be compared: with these rows, if at all."""
    settle = getattr(predictor, "among", None)
    return predictor if settle is None or not len(rows) else settle(rows)


def _middle(rows: Rows) -> Rows:
    return np.median(rows, axis=0).astype(np.float32)


def _compared(rows: Rows, middle: Rows) -> Rows:
    return np.hstack([rows, rows - middle])
