"""Figure 9: which features transfer: configurations, flat contexts, relations, both, costs, trees.

python -m experiments.figure9 [--db experiments.db] [--kinds flat relation] [--most 300] [--seeds 5]

Models learn from recorded programs and rank others: the other half of the same task's, those of a
task left out, a matrix product by convolutions, AVX2 code by AVX-512 code. In the task itself, they
also lead a search for its best program. What is not in `data/` is looked for in `--db`, which
`python -m experiments.record` fills. Writes `quality.csv`, `curves.csv`, `table.md`, `figure.png`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.command import count, keep, markdown
from experiments.compare import Runs, missing, table, write
from experiments.draw import by_trials, picture
from experiments.figure9 import settings
from experiments.figure9.settings import SETTINGS, Judged, means
from experiments.programs import Array, Programs, of_knobs
from experiments.workloads import replay
from tilewright.features import FEATURES, Context, Relation
from tilewright.features.extractor import NestExtractor
from tilewright.models import Boosted, CostModel, TreeGRU
from tilewright.search import Guided


@dataclass(frozen=True)
class Kind:
    """A way to tell programs, and the model that reads it."""

    of: Callable[[Sequence[Programs]], Sequence[Array]]
    model: CostModel = Boosted()  # noqa: RUF009 a frozen value


def _loops(extractor: NestExtractor) -> Kind:
    return Kind(lambda tasks: [extractor.of(task.loops) for task in tasks])


KINDS = {
    "configuration": Kind(of_knobs),
    "flat": _loops(Context()),
    "relation": _loops(Relation()),
    "flat + relation": _loops(FEATURES),
    "costs": Kind(lambda tasks: [task.costs for task in tasks]),
    "tree (TreeGRU)": Kind(lambda tasks: [task.trees for task in tasks], TreeGRU()),
}


def main() -> None:
    parser = settings.options(__doc__)
    parser.add_argument("--kinds", nargs="*", default=list(KINDS), choices=list(KINDS))
    parser.add_argument("--trials", type=count, default=96, help="of a search in domain")
    parser.add_argument("--seeds", type=count, default=5, help="of a search in domain")
    args = parser.parse_args()
    others = ("matmul1024", *(f"avx2:{name}" for name in args.on))
    known = settings.read((*args.on, *others), args.most, args.db)
    quality: Judged = {}
    runs: Runs = {f"pool:{name}": {} for name in args.on if name in known}
    kinds = [kind for kind in args.kinds if not missing(KINDS[kind].model)]
    for kind in set(args.kinds) - set(kinds):
        print(f"{kind} is left out: {missing(KINDS[kind].model)} is missing", file=sys.stderr)
    for kind in kinds:
        vectors = KINDS[kind].of(list(known.values()))
        X = dict(zip(known, vectors, strict=True))
        model = KINDS[kind].model
        for setting, name, found in settings.qualities(model, known, X, args.on):
            quality[setting, name, kind] = found
        for name in args.on:
            if name in known:
                problem = known[name].recorded(X[name])
                runs[f"pool:{name}"][kind] = [
                    replay(problem, Guided(model), seed, args.trials) for seed in range(args.seeds)
                ]
        print(f"{kind}: done", file=sys.stderr)
    settings.write(args.out / "quality.csv", quality)
    write(args.out / "curves.csv", runs)
    keep(args.out / "table.md", f"{said(quality, kinds)}\n\n{table(runs)}")
    picture(
        args.out / "figure.png", (*SETTINGS, *runs), lambda axis, of: _draw(axis, of, quality, runs)
    )


def said(quality: Judged, kinds: Sequence[str]) -> str:
    """Return, as Markdown, the means over each setting's tasks."""
    rows: list[list[str]] = []
    for setting in SETTINGS:
        of = means(quality, setting)
        cells = (
            f"{of[k].accuracy:.3f}, {of[k].recall:.0%}, {of[k].share:.0%}" for k in kinds if k in of
        )
        rows.append([setting, *(list(cells) or ["no data"] * len(kinds))])
    return markdown(["pairs ranked right, top tenth found, first of the best", *kinds], rows)


def _draw(axis: Any, of: str, quality: Judged, runs: Runs) -> None:
    if of in runs:
        by_trials(axis, of, runs[of])
        return
    for kind, found in means(quality, of).items():
        axis.bar(kind, found.accuracy, label=kind)
    axis.set(ylabel="pairs ranked right", ylim=(0.5, 1), xticks=[])


if __name__ == "__main__":
    main()
