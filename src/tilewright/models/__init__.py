"""Cost models: from the features of a candidate to a score that puts candidates in order."""

from tilewright.models.boosted import Boosted
from tilewright.models.ensemble import Ensemble
from tilewright.models.model import CostModel, Predictor
from tilewright.models.packed import Packed, Storable
from tilewright.models.pretrained import Pretrained
from tilewright.models.store import about, load, save
from tilewright.models.training import Training
from tilewright.models.transfer import Transfer
from tilewright.models.treegru import TreeGRU

__all__ = [
    "Boosted",
    "CostModel",
    "Ensemble",
    "Packed",
    "Predictor",
    "Pretrained",
    "Storable",
    "Training",
    "Transfer",
    "TreeGRU",
    "about",
    "load",
    "save",
]
