"""What each group of features is worth: leave one out, then rank tasks that were left out as well.

python -m experiments.figure9.ablation [--db experiments.db] [--on C1 C2 C6] [--most 300]

A group of context columns is left out of flat contexts and relations alike; a family of relations
are those below thresholds of one column. Writes `ablation.csv` and `ablation.md`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np

from experiments.command import keep, markdown
from experiments.figure9 import settings
from experiments.programs import Array
from tilewright.features import FEATURES, Context, Relation
from tilewright.features.loops import COLUMNS
from tilewright.models import Boosted

CONTEXTS = {
    "touched memory": ("touched", "touched_max", "touched_store"),
    "reuse": ("reuse", "reuse_max"),
    "stride": ("stride_min", "stride_max"),
    "extent": ("extent",),
    "outer length": ("outer",),
    "inner length": ("inner",),
    "annotation": ("serial", "parallel", "vectorize", "unroll", "reduce"),
    "arithmetic intensity": ("intensity",),
    "vector and register use": ("written_out",),
}
Describe = Callable[[Array], Array]


def _without_columns(columns: tuple[str, ...]) -> Describe:
    at = [COLUMNS.index(column) for column in columns]

    def describe(loops: Array) -> Array:
        loops = loops.copy()
        loops[:, :, at] = 0
        return FEATURES.of(loops)

    return describe


def _without_relations(below: str) -> Describe:
    kept = np.array([f"where {below} <" not in name for name in FEATURES.names])
    return lambda loops: FEATURES.of(loops)[:, kept]


FAMILIES = sorted({name.split()[3] for name in Relation().names})
VARIANTS: dict[str, Describe] = {
    "everything": FEATURES.of,
    **{f"without {group}": _without_columns(of) for group, of in CONTEXTS.items()},
    **{f"without relations by {below}": _without_relations(below) for below in FAMILIES},
    "without relations": Context().of,
    "without flat contexts": Relation().of,
}


def main() -> None:
    parser = settings.options(__doc__)
    args = parser.parse_args()
    known = settings.read(args.on, args.most, args.db)
    if len(known) < 2:
        parser.error(f"--on {' '.join(args.on)}: name two layers or more that are on record.")
    quality: settings.Judged = {}
    for variant, describe in VARIANTS.items():
        X = {name: describe(of.loops) for name, of in known.items()}
        for setting, name, found in settings.qualities(Boosted(), known, X, args.on):
            quality[setting, name, variant] = found
        print(f"{variant}: done", file=sys.stderr)
    settings.write(args.out / "ablation.csv", quality)
    keep(args.out / "ablation.md", said(quality))


def said(quality: settings.Judged) -> str:
    """Return, as Markdown, the means over tasks that were left out, and how accuracy changes."""
    found = settings.means(quality, settings.SETTINGS[1])
    whole = found["everything"].accuracy
    rows = (
        (
            name,
            f"{q.accuracy:.3f}",
            f"{q.accuracy - whole:+.3f}",
            f"{q.recall:.0%}",
            f"{q.share:.0%}",
        )
        for name, q in found.items()
    )
    header = ("features", "pairs ranked right", "change", "top tenth found", "first of the best")
    return markdown(header, rows)


if __name__ == "__main__":
    main()
