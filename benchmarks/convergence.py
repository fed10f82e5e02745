"""Trials to reach 95 % of the final best, guided against random search, on the real machine.

python -m benchmarks.convergence [--trials 192] [--seeds 5] [--only C6 C9]

Every run begins with what would run untuned, whatever the search; that trial counts for neither.
"""

from __future__ import annotations

import argparse
import itertools
import math
import statistics

from benchmarks.side_by_side import heading
from benchmarks.workloads import WORK, task_of
from tilewright.measure.local import Local
from tilewright.search import RandomSearch
from tilewright.tuning.result import Result
from tilewright.tuning.tune import DEFAULT, tune


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=192)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", nargs="*", default=["C6", "C9"])
    args = parser.parse_args()
    print(heading("benchmarks.convergence", args) + "\n", flush=True)
    for name in args.only:
        curves: dict[str, list[list[float]]] = {"guided": [], "random": []}
        with Local() as local:
            for seed in range(args.seeds):
                for kind, search in ("guided", DEFAULT), ("random", RandomSearch()):
                    result = tune(
                        task_of(WORK[name]), trials=args.trials, search=search, seed=seed,
                        measure=local, batch=16,
                    )  # fmt: skip
                    curves[kind].append(_curve(result))
        best = min(min(curve) for runs in curves.values() for curve in runs)
        for share in (0.9, 0.95, 0.98):
            line = ", ".join(
                f"{kind} {statistics.median(reached(c, best / share) for c in runs):.0f}"
                for kind, runs in curves.items()
            )
            print(
                f"- {name}: trials to {share:.0%} of the best known, "
                f"median of {args.seeds} seeds: {line}"
            )
        for kind, runs in curves.items():
            final = statistics.median(best / min(curve) for curve in runs)
            print(f"- {name}: {kind} ends at {final:.1%} of the best known (median)")


def _curve(result: Result) -> list[float]:
    """Return the best time after each trial that the search proposed, the first of all left out."""
    (session,) = result.sessions
    trials = session.records.trials(session.task.key, session.task.where)
    seconds = [math.inf if t.seconds is None else t.seconds for t in trials[1:]]
    return list(itertools.accumulate(seconds, min))


def reached(curve: list[float], seconds: float) -> int:
    """Return the trial after which a curve is at `seconds` or below; its length + 1 if never."""
    return next((i + 1 for i, value in enumerate(curve) if value <= seconds), len(curve) + 1)


if __name__ == "__main__":
    main()
