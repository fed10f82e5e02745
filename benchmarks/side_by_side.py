"""What the benchmarks share: tune what is not on record, check all subjects, time them in turn.

What they print to stdout is Markdown; how far they are goes to stderr.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from benchmarks.machine import facts, pin
from benchmarks.peers import available
from benchmarks.peers.work import Matmul, Subject, Work, error
from benchmarks.tables import OWN
from benchmarks.timing import by_threads, interleave
from benchmarks.workloads import operands, task_of
from tilewright.measure.peak import peak
from tilewright.records.store import Records
from tilewright.runtime.build import build
from tilewright.tuning.task import Task
from tilewright.tuning.tune import tune

Array = np.ndarray[Any, Any]
WRONG = 1e-4  # of the root mean square: a result so far off is no result; Winograd's is 2e-5


def options(
    doc: str | None, *, trials: int, db: str, work: Iterable[str] = (),
    usual: Sequence[str] | None = None, rounds: int = 5, seconds: float = 0.3,
) -> argparse.ArgumentParser:  # fmt: skip
    """Return what every benchmark can be told; `--threads` is for the processes it starts.

    Of `work`, by names, `--only` takes some; without it the `usual` are done, or all.
    """
    names = list(work)
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trials", type=int, default=trials, help="a task, if not on record")
    parser.add_argument("--db", default=db)
    if names:
        parser.add_argument(
            "--only", nargs="*", default=usual or names, choices=names, metavar="WORK",
            help=f"of {', '.join(names)}",
        )  # fmt: skip
    parser.add_argument("--seconds", type=float, default=seconds, help="a subject and round")
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--threads", type=int, help=argparse.SUPPRESS)
    return parser


def run(
    module: str,
    parser: argparse.ArgumentParser,
    tune: Callable[[argparse.Namespace], object],
    measure: Callable[[argparse.Namespace], dict[str, Any]],
    show: Callable[[dict[str, Any], int], str],
) -> None:
    """Tune, then measure on one and on two threads, each in a process of its own, and show it.

    `measure` returns plain data; what it has under "peers" is shown for all benchmarks alike.
    """
    args = parser.parse_args()
    if args.threads:
        pin(args.threads)
        print(json.dumps(measure(args)))
        return
    print(heading(module, args), flush=True)
    tune(args)
    for threads, measured in by_threads(module):
        if threads == 1:
            print("\n" + peers_list(measured["peers"]))
        print("\n" + show(measured, threads), flush=True)


def heading(module: str, args: argparse.Namespace) -> str:
    """Return the machine, the command and its settings."""
    command = shlex.join(["python", "-m", module, *sys.argv[1:]])
    rounds = f"; rounds: {args.rounds} of {args.seconds:g} s a subject" if "rounds" in args else ""
    return f"Machine: {facts()}.\n\nCommand: `{command}`{rounds}."


def peers_list(peers: Sequence[tuple[str, str]]) -> str:
    """Return the versions of the peers and how they are set, one a line."""
    return "\n".join(f"- {version}: {settings}." for version, settings in peers) or "- no peer"


def installed() -> list[ModuleType]:
    """Return the peers that are installed; say on stderr which are not."""
    peers, absent = available()
    for line in absent:
        print(line, file=sys.stderr)
    return peers


def described(peers: Iterable[ModuleType]) -> list[tuple[str, str]]:
    return [(peer.versions(), peer.SETTINGS) for peer in peers]


def tune_missing(tasks: Iterable[Task], trials: int, records: Records) -> None:
    """Tune until each task has so many trials on record."""
    for task in tasks:
        held = len(records.trials(task.key, task.where))
        if held < trials:
            tune(task, trials=trials - held, records=records)
        best = records.best(task.key, task.where)
        took = f"{best.seconds * 1e3:.4f} ms" if best and best.seconds else "no trial"
        print(f"tuned {task.name} ({task.where}): {took}", file=sys.stderr, flush=True)


def own(
    task: Task, arrays: Mapping[str, Array], threads: int, records: Records, name: str = OWN
) -> Subject:
    """Return tilewright's subject: the best schedule on record, bound to its arrays."""
    kernel = build(task.best(records), task.target, threads=threads)
    call = kernel.bind(**{b.name: arrays[b.name] for b in kernel.inputs})
    return Subject(name, call, call, holds=(call, arrays))


def check(subject: Subject, answer: Array, work: str) -> None:
    """Stop the benchmark if a subject's result is not the right one."""
    off = error(subject, answer)
    if not off < WRONG:
        raise SystemExit(f"{subject.name} computes {work} wrongly: off by {off:.2g}")


def time_all(
    subjects: Iterable[Subject], args: argparse.Namespace
) -> dict[str, tuple[float, float]]:
    """Return the median and the minimum of seconds for each, timed in turn."""
    by_name = {s.name: s for s in subjects}
    timings = interleave(by_name, rounds=args.rounds, seconds=args.seconds)
    return {name: (t.median, t.minimum) for name, t in timings.items()}


def speeds(
    work: Mapping[str, Work], args: argparse.Namespace, *, layouts: bool = False
) -> dict[str, Any]:
    """Measure convolutions and products beside all peers, and the peak before and after each.

    With `layouts` peers also run in the layouts of data that rarely win.
    """
    rows: dict[str, Any] = {}
    peers = installed()
    with Records(args.db) as records:
        for name in args.only:
            each = work[name]
            forget_compiled()
            subjects = [own(task_of(each), operands(each), args.threads, records)]
            for peer in peers:
                if isinstance(each, Matmul):
                    subjects += peer.matmul(each, args.threads)
                else:
                    subjects += peer.convolution(each, args.threads, layouts=layouts)
            for subject in subjects:
                check(subject, each.answer, name)
            before = peak(threads=args.threads)
            seconds = time_all(subjects, args)
            limit = max(before, peak(threads=args.threads))
            rows[name] = {"flops": each.flops, "peak": limit, "seconds": seconds}
    return {"rows": rows, "peers": described(peers)}


def forget_compiled() -> None:
    """Let torch.compile start afresh: it gives up on a function after eight shapes."""
    if "torch" in sys.modules:
        import torch

        torch.compiler.reset()
