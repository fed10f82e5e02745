"""Cost models: from the features of a candidate to a score that puts candidates in order."""

from tilewright.models.boosted import Boosted
from tilewright.models.model import CostModel, Predictor
from tilewright.models.training import Training

__all__ = ["Boosted", "CostModel", "Predictor", "Training"]
