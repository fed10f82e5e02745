"""Fit the model that comes with tilewright, and say how well it ranks work that it did not see.

    python -m experiments.pretrain [--db corpus.db] [--out src/tilewright/models/pretrained.model]

It learns from trials of work drawn at random (`data/corpus.jsonl.xz`, or a database that
`experiments.record --part corpus` filled). For the table (`pretrained.md`, of the recorded ones)
the work is dealt into ten parts, and each is ranked by a model of the nine others: pairwise
accuracy, and the speed of the candidate that scores best, of the random ones, as a share of the
best that is known.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from experiments.command import options
from experiments.corpus import corpus
from experiments.workloads import AVX512, DATA, read_trials
from tilewright.features import FEATURES
from tilewright.models import Boosted, Ensemble, Training, save
from tilewright.models.pretrained import PATH
from tilewright.models.quality import pairwise_accuracy
from tilewright.records.store import Records
from tilewright.tuning.learn import learn
from tilewright.tuning.prior import Known, mixed

MODEL = Ensemble(Boosted(rounds=150, depth=4, columns=0.2), members=4)
PARTS = 10


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--db", help="a database of trials, instead of the recorded ones")
    parser.add_argument("--out", type=Path, default=PATH)
    args = parser.parse_args()
    if args.db and not Path(args.db).is_file():
        parser.error(f"{args.db}: no such file")
    records = Records(args.db) if args.db else read_trials(DATA / "corpus.jsonl.xz")
    tasks = [t for t in corpus(machine=AVX512) if records.trials(t.key, t.where)]
    names = [task.name.split()[0] for task in tasks]
    if len(tasks) < PARTS:
        parser.error(
            f"there are trials of {len(tasks)} of the corpus's tasks; {PARTS} are the least"
        )
    data = learn(records, tasks, Known())
    text = table(names, data)
    print(text)
    if not args.db:
        (Path(__file__).parent / "pretrained.md").write_text(text + "\n")
    about = f"{len(data)} trials of {len(tasks)} tasks (experiments/data), {AVX512.key}"
    save(MODEL.fit(without_guess(data)), args.out, FEATURES, about)


def without_guess(data: Training) -> Training:
    return Training(data.X[:, :-1].copy(), data.y, data.group, data.offset, data.weight)


def table(names: list[str], data: Training) -> str:
    """Return, as Markdown, by kind of work: tasks, accuracy and share, of the guess and of all."""
    found: dict[str, list[tuple[float, ...]]] = {}
    for group, qualities in held_out(data):
        found.setdefault(names[group], []).append(qualities)
    every = [q for each in found.values() for q in each]
    lines = [
        "| work | tasks | accuracy: guess | model | both | share: guess | model | both |",
        "| --- |" + " --- |" * 7,
    ]
    for name, each in (*sorted(found.items()), ("all", every)):
        accuracy, share = np.mean(each, axis=0)[:3], np.exp(np.log(each).mean(axis=0))[3:]
        cells = (*(f"{a:.3f}" for a in accuracy), *(f"{s:.1%}" for s in share))
        lines.append(f"| {name} | {len(each)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def held_out(data: Training) -> Iterator[tuple[int, tuple[float, ...]]]:
    """Yield each group with the qualities of the guess, the model and both; see `table`."""
    members = data.members()
    for part in range(PARTS):
        here = [rows for i, rows in enumerate(members) if i % PARTS == part]
        rest = np.concatenate([rows for i, rows in enumerate(members) if i % PARTS != part])
        model = MODEL.fit(without_guess(data.rows(rest)))
        for rows in here:
            known, y = data.X[rows], data.y[rows]
            scores = (
                known[:, -1],
                model.predict(known[:, :-1].copy()),
                mixed(model, known),
            )
            accuracy = (pairwise_accuracy(s, y) for s in scores)
            first = slice(2 * len(y) // 3)  # the random ones
            share = (2.0 ** (y[first][np.argmax(s[first])] - y.max()) for s in scores)
            yield int(data.group[rows[0]]), (*accuracy, *share)


if __name__ == "__main__":
    main()
