"""The guide's model and search beside the built-in ones.

python -m docs.guide.compare [--on gemm_RTX_3090 pool:C3 C6] [--seeds 10] [--trials 192]
"""

from __future__ import annotations

from pathlib import Path

from docs.guide.gaussian import GaussianProcess
from docs.guide.tabu import Tabu
from experiments.compare import Subject, compare

from tilewright.models import Boosted
from tilewright.search import Genetic, Guided, RandomSearch

SUBJECTS = {
    "Gaussian process": Subject(Guided(GaussianProcess())),
    "boosted trees": Subject(Guided(Boosted())),
    "tabu": Subject(Tabu()),
    "genetic": Subject(Genetic()),
    "random": Subject(RandomSearch()),
}

if __name__ == "__main__":
    compare(__doc__ or "", Path("build/compared"), SUBJECTS)
