"""Fit the model that comes with tilewright, and say how well it ranks work that it did not see.

    python -m experiments.pretrain [--db corpus.db] [--out src/tilewright/models/pretrained.model]

It learns from trials of work drawn at random (`data/corpus.jsonl.xz` and `elsewhere.jsonl.xz`, of
a second machine; or a database that `experiments.record --part corpus` filled). For the table
(`pretrained.md`, of the recorded ones) the work is dealt into ten parts, and each is ranked by a
model of the nine others: pairwise accuracy of all pairs and of those that differ by more than 5 %,
beside what noise leaves at most to who knows the true times, and the speed of the candidate that
scores best, of the random ones, as a share of the best that is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from experiments.command import options
from experiments.corpus import corpus, elsewhere
from experiments.workloads import AVX512, DATA, ZEN3, read_trials
from tilewright.features.extractor import of_nests
from tilewright.loops.nodes import Nest
from tilewright.models import Boosted, Training, save
from tilewright.models.pretrained import COSTS, PATH
from tilewright.models.quality import pairwise_accuracy
from tilewright.models.relative import Relative
from tilewright.records.store import Records
from tilewright.records.trial import Measured, Trial
from tilewright.schedule.schedule import Schedule
from tilewright.space.space import Population, Space
from tilewright.tuning.guess import Array, cost
from tilewright.tuning.learn import learn
from tilewright.tuning.task import Task

MODEL = Relative(Boosted(rounds=300, depth=5, learning_rate=0.1, leaf=1.0, ridge=5.0, columns=0.2))
RECORDED = DATA / "corpus.jsonl.xz", DATA / "elsewhere.jsonl.xz"
PARTS = 10
ACCURACIES = 0, 1, 6, 2, 3, 7  # columns of a task's qualities, as the table has them
DRAWS = 20  # of repeats, with replacement
NEAR = float(np.log2(1.05))  # speeds that differ by no more can hardly be told apart


@dataclass(frozen=True)
class Known:
    """The costs of a candidate, and then the hand-made guess."""

    version: int = 1

    @property
    def names(self) -> tuple[str, ...]:
        return (*COSTS.names, "guess")

    def extract(self, space: Space[Schedule], rows: Population) -> Array:
        def of(nest: Nest, count: int) -> Array:
            return np.column_stack([COSTS.of(nest, count), -np.log2(cost(nest, count))])

        return of_nests(space, rows, len(self.names), of)


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--db", help="a database of trials, instead of the recorded ones")
    parser.add_argument("--out", type=Path, default=PATH)
    args = parser.parse_args()
    if args.db and not Path(args.db).is_file():
        parser.error(f"{args.db}: no such file")
    records = Records(args.db) if args.db else read_trials(*RECORDED)
    every = corpus(machine=AVX512) + elsewhere(machine=ZEN3)
    tasks = [task for task in every if records.trials(task.key, task.where)]
    if len(tasks) < PARTS:
        parser.error(
            f"there are trials of {len(tasks)} of the corpus's tasks; {PARTS} are the least"
        )
    data = learn(records, tasks, Known())
    text = table(tasks, [at_most(records.trials(task.key, task.where)) for task in tasks], data)
    print(text)
    if not args.db:
        (Path(__file__).parent / "pretrained.md").write_text(text + "\n")
    where = ", ".join(sorted({task.target.key for task in tasks}))
    about = f"{len(data)} trials of {len(tasks)} tasks (experiments/data), {where}"
    save(MODEL.fit(without_guess(data)), args.out, COSTS, about)


def without_guess(data: Training) -> Training:
    return Training(data.X[:, :-1].copy(), data.y, data.group, data.offset, data.weight)


def table(tasks: Sequence[Task], bounds: Sequence[tuple[float, float]], data: Training) -> str:
    """Return, as Markdown, by kind of work: tasks, accuracy and share, of the guess and of all."""
    found: dict[str, list[tuple[float, ...]]] = {}
    for group, qualities in held_out(data):
        task = tasks[group]
        for name in task.name.split()[0], f"all of {task.target.name}", "all":
            found.setdefault(name, []).append((*qualities, *bounds[group]))
    lines = [
        "| work | tasks | accuracy: guess | model | at most | beyond 5 %: guess | model | at most "
        "| share: guess | model |",
        "| --- |" + " --- |" * 9,
    ]
    for name in sorted(found, key=lambda name: (name.startswith("all"), len(name), name)):
        each = found[name]
        accuracy = [np.mean([q[i] for q in each if q[i] == q[i]] or np.nan) for i in ACCURACIES]
        share = np.exp(np.log([q[4:6] for q in each]).mean(axis=0))
        cells = (*(f"{a:.3f}" for a in accuracy), *(f"{s:.1%}" for s in share))
        lines.append(f"| {name} | {len(each)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def at_most(trials: Sequence[Trial]) -> tuple[float, float]:
    """Return how right the order of the true times would be, of all pairs and beyond 5 %.

    What is recorded stands for the truth, and medians of repeats drawn from it with replacement
    for what another recording would say. It would say less: errors that all repeats of a trial
    share are not seen, and what is recorded is already further apart than the truth.
    """
    rng = np.random.default_rng(0)
    repeats = [np.log2(t.outcome.seconds) for t in trials if isinstance(t.outcome, Measured)]
    truth = np.array([np.median(of) for of in repeats])
    redrawn = [[np.median(rng.choice(of, len(of))) for of in repeats] for _ in range(DRAWS)]
    plain = (pairwise_accuracy(said, truth) for said in redrawn)
    beyond = (pairwise_accuracy(said, truth, beyond=NEAR) for said in redrawn)
    return float(np.mean([*plain])), float(np.mean([*beyond]))


def held_out(data: Training) -> Iterator[tuple[int, tuple[float, ...]]]:
    """Yield each group with the qualities of the guess and the model, in turn; see `table`."""
    members = data.members()
    for part in range(PARTS):
        here = [rows for i, rows in enumerate(members) if i % PARTS == part]
        rest = np.concatenate([rows for i, rows in enumerate(members) if i % PARTS != part])
        model = MODEL.fit(without_guess(data.rows(rest)))
        for rows in here:
            known, y = data.X[rows], data.y[rows]
            scores = (known[:, -1], model.predict(known[:, :-1].copy()))
            plain = (pairwise_accuracy(s, y) for s in scores)
            beyond = (pairwise_accuracy(s, y, beyond=NEAR) for s in scores)
            first = slice(2 * len(y) // 3)  # the random ones
            share = (2.0 ** (y[first][np.argmax(s[first])] - y.max()) for s in scores)
            yield int(data.group[rows[0]]), (*plain, *beyond, *share)


if __name__ == "__main__":
    main()
