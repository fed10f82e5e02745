"""Figure 5: models that learn ranks against models that learn scores.

python -m experiments.figure5 [--on pool:C2 pool:C6] [--seeds 10] [--trials 192]
"""

from __future__ import annotations

from pathlib import Path

from experiments.compare import Subject, compare
from tilewright.models import Boosted, TreeGRU
from tilewright.search import Guided

SUBJECTS = {
    "trees, rank": Subject(Guided(Boosted("rank"))),
    "trees, regression": Subject(Guided(Boosted("regression"))),
    "TreeGRU, rank": Subject(Guided(TreeGRU(objective="rank"))),
    "TreeGRU, regression": Subject(Guided(TreeGRU(objective="regression"))),
}

if __name__ == "__main__":
    compare(__doc__ or "", Path(__file__).parent, SUBJECTS)
