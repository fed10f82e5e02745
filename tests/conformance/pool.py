"""Check cases in processes of their own: one that dies costs the case that it was at."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Timer

from tests.conformance.cases import Case
from tests.conformance.check import Outcome, Verdict

ROOT = Path(__file__).parents[2]
LIMIT = 120  # seconds for one case, most of which take less than a tenth of one


def run(cases: Sequence[Case], workers: int = 2) -> list[Outcome]:
    """Return the outcomes of `cases`, in their order."""
    kinds = tuple(dict.fromkeys(case.kind for case in cases))
    waiting: SimpleQueue[Case] = SimpleQueue()
    for case in cases:
        waiting.put(case)
    with ThreadPoolExecutor(workers) as threads:
        parts = [threads.submit(_work, waiting, kinds) for _ in range(workers)]
    found = {outcome.name: outcome for part in parts for outcome in part.result()}
    return [found[case.name] for case in cases]


def _work(waiting: SimpleQueue[Case], kinds: tuple[str, ...]) -> list[Outcome]:
    outcomes: list[Outcome] = []
    worker: subprocess.Popen[str] | None = None
    try:
        while True:
            case = waiting.get_nowait()
            if worker is None:
                worker = _start(kinds)
            outcome = _ask(worker, case)
            if outcome.verdict is Verdict.CRASHED:
                worker = None
            outcomes.append(outcome)
    except Empty:
        return outcomes
    finally:
        if worker is not None:
            worker.communicate()  # its input ends, and so does it


def _start(kinds: tuple[str, ...]) -> subprocess.Popen[str]:
    command = [sys.executable, "-W", "ignore", "-m", "tests.conformance.worker", *kinds]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    )


def _ask(worker: subprocess.Popen[str], case: Case) -> Outcome:
    """Return the outcome of a case; crashed if the worker ends without one."""
    assert worker.stdin is not None
    assert worker.stdout is not None
    timer = Timer(LIMIT, worker.kill)
    timer.start()
    try:
        worker.stdin.write(f"{case.name}\n")
        worker.stdin.flush()
        reply = worker.stdout.readline()
    except BrokenPipeError:
        reply = ""
    finally:
        late = not timer.is_alive()
        timer.cancel()
    if reply:
        made = json.loads(reply)
        refused = tuple((operator, why) for operator, why in made.pop("refused"))
        verdict, operators = Verdict(made.pop("verdict")), tuple(made.pop("operators"))
        return Outcome(**made, verdict=verdict, operators=operators, refused=refused)
    worker.stdin.close()
    worker.stdout.close()
    code = worker.wait()
    how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
    why = f"it took more than {LIMIT} seconds" if late else f"its process ended with {how}"
    return Outcome(case.name, case.kind, Verdict.CRASHED, why)
