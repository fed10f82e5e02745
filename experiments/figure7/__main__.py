"""Figure 7: whether not knowing is worth looking: mean, expected improvement, confidence bound.

python -m experiments.figure7 [--on gemm_RTX_3090 C6] [--seeds 10] [--trials 192]
"""

from __future__ import annotations

from pathlib import Path

from experiments.compare import Subject, compare
from tilewright.models import Boosted, Ensemble
from tilewright.search import Guided

SUBJECTS = {
    "one model": Subject(Guided(Boosted("regression"))),
    "mean": Subject(Guided(Ensemble(Boosted("regression"), acquisition="mean"))),
    "expected improvement": Subject(Guided(Ensemble(Boosted("regression"), acquisition="ei"))),
    "upper confidence bound": Subject(Guided(Ensemble(Boosted("regression"), acquisition="ucb"))),
}

if __name__ == "__main__":
    compare(__doc__ or "", Path(__file__).parent, SUBJECTS)
