"""Figure 4: cost models against evolution and random search, which may also measure twice as much.

python -m experiments.figure4 [--on C2 C6 C9] [--seeds 5] [--trials 192]
"""

from __future__ import annotations

from pathlib import Path

from experiments.compare import Subject, compare
from tilewright.models import Boosted, TreeGRU
from tilewright.search import Genetic, Guided, RandomSearch

SUBJECTS = {
    "boosted trees": Subject(Guided(Boosted())),
    "TreeGRU": Subject(Guided(TreeGRU())),
    "random": Subject(RandomSearch()),
    "random x2": Subject(RandomSearch(), evaluations=2),
    "genetic": Subject(Genetic()),
    "genetic x2": Subject(Genetic(), evaluations=2),
}

if __name__ == "__main__":
    compare(__doc__ or "", Path(__file__).parent, SUBJECTS)
