"""Figure 6: how varied a batch is; the diversity lambda of 1, 2 and 4.

python -m experiments.figure6 [--on gemm_RTX_3090 C6] [--seeds 10] [--trials 192]
"""

from __future__ import annotations

from pathlib import Path

from experiments.compare import Subject, compare
from tilewright.search import Guided

SUBJECTS = {
    f"lambda {diversity}": Subject(Guided(diversity=diversity)) for diversity in (1.0, 2.0, 4.0)
}

if __name__ == "__main__":
    compare(__doc__ or "", Path(__file__).parent, SUBJECTS)
