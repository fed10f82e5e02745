"""Tuning can be stopped by Ctrl-C, or killed: what was measured stays, no process does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.tuning.toys import Toy, configs

from tilewright.ops.dense import Dense
from tilewright.records.store import Records
from tilewright.search import RandomSearch
from tilewright.tuning.events import Event
from tilewright.tuning.task import Task
from tilewright.tuning.tune import tune

RANDOM = RandomSearch()
MATMUL = Dense(32, 48, 40)

KILLED = """
import sys, time
from pathlib import Path
sys.path.insert(0, {root!r})
from tests.tuning.toys import Toy, by_text
from tilewright.ops.dense import Dense
from tilewright.records.store import Records
from tilewright.search import RandomSearch
from tilewright.tuning.task import Task
from tilewright.tuning.tune import tune

def slowly(request):
    time.sleep(0.004)
    return by_text(request)

print("ready", flush=True)
with Records(Path(sys.argv[1])) as records:
    tune(Task(Dense(32, 48, 40)), trials=5000, records=records, search=RandomSearch(),
         measure=Toy(slowly), batch=8, watch=lambda e: print(e.done, flush=True))
"""


def interrupt_at(trial: int) -> object:
    def watch(event: Event) -> None:
        if event.done == trial:
            raise KeyboardInterrupt

    return watch


def children() -> set[str]:
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


@pytest.mark.parametrize("trial", [1, 8, 13])
def test_ctrl_c_loses_nothing(tmp_path: Path, trial: int):
    """The traceback is held, as a debugger would: the trials are on disk all the same."""
    path, task = tmp_path / "tuning.db", Task(MATMUL)
    with Records(path) as records, pytest.raises(KeyboardInterrupt) as stopped:
        tune(
            task, trials=40, records=records, search=RANDOM, measure=Toy(), batch=8,
            watch=interrupt_at(trial),  # type: ignore[arg-type]
        )  # fmt: skip
    assert len(configs(path, task)) == trial
    assert stopped.traceback
    with Records(path) as records:
        tune(task, trials=40 - trial, records=records, search=RANDOM, measure=Toy(), batch=8)
    assert len(configs(path, task)) == len(set(configs(path, task))) == 40


def test_ctrl_c_ends_the_processes(tmp_path: Path):
    path, task, before = tmp_path / "tuning.db", Task(MATMUL), children()
    with Records(path) as records, pytest.raises(KeyboardInterrupt):
        tune(
            task, trials=16, records=records, search=RANDOM, batch=8,
            watch=interrupt_at(5),  # type: ignore[arg-type]
        )  # fmt: skip
    assert len(configs(path, task)) == 5
    assert children() == before


def test_a_killed_run_loses_no_committed_batch(tmp_path: Path):
    path, task = tmp_path / "tuning.db", Task(MATMUL)
    root = str(Path(__file__).parents[2])
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED.format(root=root), str(path)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    told = [process.stdout.readline()]
    while told[-1].strip() not in ("29", ""):
        told.append(process.stdout.readline())
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert told[-1].strip() == "29", "the run ended early"
    kept = configs(path, task)
    assert len(kept) >= 24
    assert len(kept) % 8 == 0
    deadline = time.monotonic() + 10
    with Records(path) as records:
        tune(task, trials=16, records=records, search=RANDOM, measure=Toy(), batch=8)
    assert time.monotonic() < deadline, "the dead process still holds a lock"
    after = configs(path, task)
    assert after[: len(kept)] == kept
    assert len(after) == len(set(after)) == len(kept) + 16
