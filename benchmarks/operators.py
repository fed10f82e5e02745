"""C1 to C12 of the paper's Table 1 and matmul-1024, against the installed peers, in one run.

    python -m benchmarks.operators [--trials 256] [--db operators.db] [--only C6 C9]

Tunes what the database does not hold yet, then times every subject in turn: in one process for
each number of threads, for the libraries fix theirs for a whole process.
"""

from __future__ import annotations

import argparse
from typing import Any

from benchmarks import tables
from benchmarks.side_by_side import options, run, speeds, tune_missing
from benchmarks.workloads import WORK, task_of
from tilewright.records.store import Records


def main() -> None:
    parser = options(__doc__, trials=256, db="operators.db", work=WORK)
    run("benchmarks.operators", parser, _tune, _measure, _show)


def _tune(args: argparse.Namespace) -> None:
    with Records(args.db) as records:
        tune_missing((task_of(WORK[name]) for name in args.only), args.trials, records)


def _measure(args: argparse.Namespace) -> dict[str, Any]:
    return speeds(WORK, args)


def _show(measured: dict[str, Any], threads: int) -> str:
    title = f"## {threads} thread(s): median GFLOP/s (best), share of peak"
    return f"{title}\n\n{tables.speeds(measured['rows'])}"


if __name__ == "__main__":
    main()
