"""Boosted: gradient boosted trees, the paper's main cost model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from tilewright.errors import ArgumentError
from tilewright.models.bounds import demand_width, within
from tilewright.models.model import Predictor
from tilewright.models.objectives import Rank, Regression
from tilewright.models.packed import Packed
from tilewright.models.training import Training

if TYPE_CHECKING:
    import xgboost


@dataclass(frozen=True, slots=True)
class Boosted:
    """Boosted trees (XGBoost) on a rank or regression objective; one thread unless told.

    `rounds` trees of at most `depth` levels, each `learning_rate` of its step. `leaf` is the
    least sum of Hessians in a leaf, `ridge` the L2 penalty of leaf values, `columns` the share of
    features a tree may use, `bins` how many values of a feature are told apart.
    """

    objective: Literal["rank", "regression"] = "rank"
    rounds: int = 100
    depth: int = 6
    learning_rate: float = 0.2
    leaf: float = 0.1
    ridge: float = 1.0
    columns: float = 0.5
    bins: int = 64
    seed: int = 0
    threads: int = 1

    def __post_init__(self) -> None:
        fits = {
            "objective": (self.objective in ("rank", "regression"), "'rank' or 'regression'"),
            **{
                name: (within(getattr(self, name), low, whole=True), f"a whole number from {low}")
                for name, low in (("rounds", 1), ("depth", 1), ("bins", 2), ("seed", 0))
            },
            "threads": (within(self.threads, 1, 1024, whole=True), "a whole number, 1 to 1024"),
            "learning_rate": (within(self.learning_rate, 1e-9), "a positive number"),
            "leaf": (within(self.leaf, 0), "a number that is not negative"),
            "ridge": (within(self.ridge, 0), "a number that is not negative"),
            "columns": (within(self.columns, 1e-9, 1), "a share of the features, up to 1"),
        }
        for name, (fine, what) in fits.items():
            if not fine:
                raise ArgumentError(f"Boosted({name}={getattr(self, name)!r}): {name} is {what}.")

    def fit(self, data: Training, previous: Predictor | None = None) -> Predictor:  # noqa: ARG002
        """Fit from nothing: with these sizes that costs less than a batch of measurements."""
        objective = Rank(data) if self.objective == "rank" else Regression(data)
        if not objective:
            return Zeros()
        import xgboost

        def derivatives(f: NDArray[Any], _: xgboost.DMatrix) -> tuple[NDArray[Any], NDArray[Any]]:
            gradient, hessian = objective.derivatives(f.astype(np.float64))
            return gradient, np.maximum(hessian, 1e-16)

        rows = xgboost.DMatrix(data.X, base_margin=data.offset, nthread=self.threads)
        parameters = {
            "max_depth": self.depth,
            "eta": self.learning_rate,
            "min_child_weight": self.leaf,
            "lambda": self.ridge,
            "colsample_bytree": self.columns,
            "max_bin": self.bins,
            "base_score": 0.0,
            "tree_method": "hist",
            "nthread": self.threads,
            "seed": self.seed,
            "verbosity": 0,
        }
        return Trees(xgboost.train(parameters, rows, self.rounds, obj=derivatives))


@dataclass(frozen=True, eq=False, slots=True)
class Trees:
    """A fitted ensemble."""

    booster: xgboost.Booster

    def predict(self, X: NDArray[np.float32]) -> NDArray[np.float64]:
        if not len(X):
            return np.zeros(0)
        demand_width(X.shape[1], self.booster.num_features())
        return self.booster.inplace_predict(X, predict_type="margin").astype(np.float64)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Trees) and self._bytes == other._bytes

    def __hash__(self) -> int:
        return hash(self._bytes)

    @property
    def _bytes(self) -> bytes:
        return bytes(self.booster.save_raw("ubj"))

    def pack(self) -> Packed:
        """Pack the trees as XGBoost's own UBJSON, which holds no code."""
        return Packed(data=self._bytes)

    @staticmethod
    def unpack(packed: Packed) -> Trees:
        import xgboost

        if not packed.data.startswith(b"{"):  # XGBoost would end the process
            raise ValueError("its trees are no UBJSON")
        try:
            return Trees(xgboost.Booster({"nthread": 1}, model_file=bytearray(packed.data)))
        except xgboost.core.XGBoostError as error:
            raise ValueError(f"XGBoost cannot read its trees: {error}") from error


@dataclass(frozen=True, slots=True)
class Zeros:
    """What is known from nothing: all candidates are equal."""

    def predict(self, X: NDArray[np.float32]) -> NDArray[np.float64]:
        return np.zeros(len(X))

    def pack(self) -> Packed:
        return Packed()

    @staticmethod
    def unpack(packed: Packed) -> Zeros:  # noqa: ARG004
        return Zeros()
