"""What is learnt from and what is ranked, the nearer first; how well models do in each setting."""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from experiments import command
from experiments.programs import Array, Programs, Quality, averaged, judged, programs, training
from experiments.workloads import recorded
from tilewright.models import CostModel
from tilewright.records.store import Records

SOURCE = ("C1", "C2", "C3", "C4", "C5", "C6")
SETTINGS = ("in domain", "across shapes", "across operators", "across targets")
Judged = dict[tuple[str, str, str], Quality]  # by setting, task and features


def options(doc: str | None) -> argparse.ArgumentParser:
    """Return a parser of what both commands of this figure can be told."""
    parser = command.options(doc)
    parser.add_argument("--on", nargs="*", default=list(SOURCE), help="layers to learn from")
    parser.add_argument("--db", type=Path, help="a database of more records")
    parser.add_argument("--most", type=command.count, default=300, help="programs of each task")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent)
    return parser


def read(names: Sequence[str], most: int, db: Path | None) -> dict[str, Programs]:
    """Return the programs of tasks that are on record; say which are not."""
    stores = [recorded(), *([Records(db, create=False)] if db else [])]
    found = {name: programs(name, most, stores) for name in names}
    missing = [name for name, of in found.items() if of is None]
    if missing:
        print(
            f"no programs of {', '.join(missing)} are on record, so what needs them is left out: "
            "`python -m experiments.record --db FILE` measures them, then give --db FILE.",
            file=sys.stderr,
        )
    return {name: of for name, of in found.items() if of is not None}


def qualities(
    model: CostModel, known: Mapping[str, Programs], X: Mapping[str, Array], source: Sequence[str]
) -> Iterator[tuple[str, str, Quality]]:
    """Yield each setting, task and how well a model ranks it; what is not known is left out."""
    parts = {name: (X[name], of.scores) for name, of in known.items()}
    source = [name for name in source if name in known]
    for name in source:
        rows = np.random.default_rng(0).permutation(len(known[name]))
        half, rest = rows[: len(rows) // 2], rows[len(rows) // 2 :]
        vectors, scores = parts[name]
        predictor = model.fit(training([(vectors[half], scores[half])]))
        yield SETTINGS[0], name, judged(predictor, vectors[rest], scores[rest])
        if len(source) > 1:
            predictor = model.fit(training([parts[other] for other in source if other != name]))
            yield SETTINGS[1], name, judged(predictor, *parts[name])
    others = [name for name in known if name not in source]
    if source and others:
        predictor = model.fit(training([parts[name] for name in source]))
        for name in others:
            yield SETTINGS[3 if ":" in name else 2], name, judged(predictor, *parts[name])


def write(path: Path, quality: Judged) -> None:
    """Write one line for each setting, task and features, to a file whose folder is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(("setting", "task", "features", *Quality._fields))
        out.writerows((*of, *(f"{v:.4f}" for v in found)) for of, found in quality.items())


def means(quality: Judged, setting: str) -> dict[str, Quality]:
    """Return the means of a setting's tasks, by kind."""
    by_kind: dict[str, list[Quality]] = {}
    for (of, _, kind), found in quality.items():
        if of == setting:
            by_kind.setdefault(kind, []).append(found)
    return {kind: averaged(found) for kind, found in by_kind.items()}
