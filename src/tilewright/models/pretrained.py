"""Pretrained: what trials of much other work say of a candidate, before any of it was measured.

`pretrained.model`, beside this file, is fitted by `python -m experiments.pretrain` to trials of
work drawn at random; `experiments/README.md` says how well it ranks work that it never saw.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tilewright.errors import ModelError
from tilewright.features import Costs
from tilewright.models.boosted import Zeros
from tilewright.models.model import Predictor
from tilewright.models.packed import Packed
from tilewright.models.relative import among
from tilewright.models.store import load

PATH = Path(__file__).with_name("pretrained.model")
COSTS = Costs()


@dataclass(frozen=True, slots=True)
class Pretrained:
    """The predictor that comes with this package, of `features.Costs`; read when first used.

    It compares the rows that it is given with each other: only scores of one call can be compared,
    unless `among` said with what. Give it to `Transfer` as its source, which sees to that. If its
    file cannot be read, it warns once and finds all candidates equal.
    """

    @property
    def features(self) -> Costs:
        return COSTS

    def predict(self, X: NDArray[np.float32]) -> NDArray[np.float64]:
        return _read().predict(X)

    def among(self, rows: NDArray[np.float32]) -> Predictor:
        """Return the predictor that compares with these rows."""
        return among(_read(), rows)

    def pack(self) -> Packed:
        return Packed(parts=(_read(),))

    @staticmethod
    def unpack(packed: Packed) -> Predictor:
        (read,) = packed.parts
        return read


@cache
def _read() -> Predictor:
    try:
        return load(PATH, COSTS)
    except ModelError as error:
        warnings.warn(f"{error} Nothing is known of other work.", RuntimeWarning, stacklevel=3)
        return Zeros()
