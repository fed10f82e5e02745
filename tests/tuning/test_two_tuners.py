"""Two processes tune one network into one database, and one of them is killed in the middle."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
from onnx import helper
from tests.graph.models import write
from tests.tuning.toys import Toy

import tilewright as tw
from tilewright.records import Measured
from tilewright.records.store import Records

ROOT = Path(__file__).parents[2]
BATCH = 4
TUNER = """
import sys
import tilewright as tw
from tests.tuning.toys import Toy
from tilewright.records import Measured
net, db, trials, seconds, batch = sys.argv[1:]
model = tw.load_onnx(net)
print("ready", flush=True)
sys.stdin.readline()
tw.tune(
    model, trials=int(trials), records=db, batch=int(batch), search=tw.search.RandomSearch(),
    measure=Toy(lambda _: Measured((float(seconds),))), watch=lambda e: print(e.done, flush=True),
)
"""


def tuner(net: Path, db: Path, trials: int, seconds: float) -> subprocess.Popen[str]:
    """Start a process that waits for a line to tune; its trials are told apart by their time."""
    command = [sys.executable, "-c", TUNER, *map(str, (net, db, trials, seconds, BATCH))]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def counted(db: Path) -> Counter[float]:
    """Count trials by their first time: at its end a run adds others, to whose trial it may be."""
    with Records(db, create=False) as records:
        outcomes = [t.outcome for k in records.tasks() for t in records.trials(k.key, k.target)]
        assert not records.damaged
    return Counter(each.seconds[0] for each in outcomes if isinstance(each, Measured))


def test_no_trial_of_either_is_lost_and_a_third_goes_on(tmp_path: Path) -> None:
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"]), helper.make_node("Tanh", ["x"], ["z"])]
    weights = {"w": np.ones((48, 40), np.float32)}
    net = write(tmp_path / "net.onnx", nodes, {"x": (32, 48)}, weights, ["y", "z"])
    db = tmp_path / "tuning.db"
    with tuner(net, db, 10**6, 1.0) as killed, tuner(net, db, 24, 2.0) as other:
        for each in killed, other:
            assert each.stdin
            assert each.stdout
            assert each.stdout.readline() == "ready\n"
            each.stdin.write("go\n")
            each.stdin.flush()
        assert killed.stdout
        told = [int(killed.stdout.readline()) for _ in range(4 * BATCH)]
        killed.kill()
        out, err = other.communicate(timeout=60)
        told += [int(line) for line in killed.stdout if line.endswith("\n")]
    assert (other.returncode, err) == (0, "")
    assert out.split()[-1] == "24"
    found = counted(db)
    assert set(found) == {1.0, 2.0}
    assert found[2.0] == 24
    assert found[1.0] >= told[-1] - BATCH, "all but the batch that was under way"
    search = tw.search.RandomSearch()
    result = tw.tune(tw.load_onnx(net), trials=8, records=db, search=search, measure=Toy())
    assert sum(session.trials for session in result.sessions) == found.total() + 8
    assert counted(db).total() == found.total() + 8
