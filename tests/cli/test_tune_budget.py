"""`tilewright tune`: its budgets, its line of progress, and the table of what was won."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import onnx
import pytest
from benchmarks.models.resnet18 import build
from rich.console import Console
from tests.graph.models import save
from tests.tuning.toys import Toy

from tilewright.cli.gains import ROWS, gains_table, untried
from tilewright.cli.main import run
from tilewright.cli.progress import Progress, prospect
from tilewright.ops.dense import Dense
from tilewright.ops.elementwise import Relu
from tilewright.records import Measured
from tilewright.records.store import Records
from tilewright.search import RandomSearch
from tilewright.tuning.events import Event
from tilewright.tuning.session import Session
from tilewright.tuning.task import Task
from tilewright.tuning.tune import tune

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = build(image=32, width=8, blocks=(1,), classes=5)
    return save(made, tmp_path_factory.mktemp("net") / "small.onnx")


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Run a subcommand; what it measures is made up."""
    monkeypatch.setattr("tilewright.tuning.tune.Local", lambda **_: Toy())
    monkeypatch.setattr("tilewright.measure.peak.peak", lambda **_: 1e11)

    def call(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["tilewright", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            run()
        said = capsys.readouterr()
        code = ended.value.code or 0
        assert isinstance(code, int)
        return code, said.out, re.sub(r"\s+", " ", said.err)

    return call


def said(printed: Any) -> str:
    out = io.StringIO()
    Console(file=out, width=160).print(printed)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def test_tuning_ends_with_a_table_of_what_was_won(command: Command, net: Path, tmp_path: Path):
    code, out, err = command("tune", net, "--trials", 40, "--db", tmp_path / "tuning.db")
    assert (code, err) == (0, "")
    assert re.search(r"^trial 40/40, [\d.]+/s, 0 s left, ", out, re.MULTILINE)
    assert re.search(r"^task +times +trials +failed +before ms +after ms +share", out, re.MULTILINE)
    total = re.search(r"^total +40 +0 +([\d.]+) +([\d.]+) +100% *$", out, re.MULTILINE)
    assert total
    assert float(total[2]) < float(total[1])


@pytest.mark.parametrize("threads", [1, 2])
def test_a_busy_machine_is_told_once(
    command: Command, net: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: int
):
    def interrupted(_: Any) -> Measured:
        return Measured((1e-3, 1e-3), interrupted=1)

    monkeypatch.setattr("tilewright.tuning.tune.Local", lambda **_: Toy(interrupted))
    db = tmp_path / "tuning.db"
    code, out, err = command("tune", net, "--trials", 6, "--db", db, "--threads", threads)
    assert (code, err) == (0, "")
    assert out.count("the machine was busy: another process took a core during ") == 1


def test_why_the_network_was_not_rehearsed_is_told(
    command: Command, net: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def fails(*_: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr("tilewright.graph.construct.Constructor.prepare", fails)
    code, out, err = command("tune", net, "--trials", 40, "--db", tmp_path / "tuning.db")
    assert (code, err) == (0, "")
    assert re.search(r"^in the network: cannot rehearse Model.* memory ran out", out, re.MULTILINE)
    assert re.search(r"^total +40 ", out, re.MULTILINE)


def test_seconds_are_a_budget(command: Command, net: Path, tmp_path: Path):
    db = tmp_path / "tuning.db"
    code, out, err = command("tune", net, "--seconds", 0.001, "--db", db)
    assert (code, err) == (0, "")
    assert "tasks got no trial and will run untuned, some 100% of the time by a guess: " in out
    assert "the 0.001 s ran out before the first measurement; " in out
    assert "Give more --seconds" in out
    for budget in (
        ("--seconds", 600, "--trials", 3),
        ("--trials", 0),
        ("--seconds", 9, "--trials", 0),
    ):
        code, out, err = command("tune", net, *budget, "--db", db)
        assert (code, err) == (0, "")
        assert "ran out" not in out


def test_it_is_soon_said_what_is_done(command: Command, net: Path, tmp_path: Path):
    code, out, err = command("tune", net, "--trials", 40, "--db", tmp_path / "tuning.db")
    assert (code, err) == (0, "")
    first, second = out.splitlines()[:2]
    assert re.fullmatch(rf"{re.escape(str(net))}: \d+ tasks to tune; .*", first)
    assert second.startswith("trial 1/40, ")


def test_a_compiled_network_cannot_be_tuned(command: Command, tmp_path: Path):
    (tmp_path / "net.twm").touch()
    code, _, err = command("tune", tmp_path / "net.twm", "--db", tmp_path / "tuning.db")
    assert code == 2
    assert "it is a compiled network" in err
    assert "give the ONNX file that it was made from" in err


def test_shapes_are_given_by_dimension(command: Command, net: Path, tmp_path: Path):
    model = onnx.load(net)
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "batch"
    path, db = save(model, tmp_path / "open.onnx"), tmp_path / "tuning.db"
    code, out, err = command("tune", path, "--trials", 0, "--db", db, "--shape", "batch=2")
    assert (code, err) == (0, "")
    assert "conv2d 2x32x32x3" in out
    code, _, err = command("tune", path, "--db", db, "--shape", "batch=2", "--shape", "batch=3")
    assert code == 2
    assert "--shape gives two shapes for 'batch'" in err


def test_without_a_budget_it_goes_on_until_it_stops_paying(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    given: list[Any] = []

    def once(*_: Any, trials: int | None, seconds: float | None, **_named: Any) -> Any:
        given.extend((trials, seconds))
        return SimpleNamespace(sessions=(), rehearsal=None, unrehearsed="", busy="")

    monkeypatch.setattr("tilewright.tuning.tune.tune", once)
    path = save(build(image=32, width=8, blocks=(1,), classes=5), tmp_path / "m.onnx")
    assert command("tune", path, "--db", tmp_path / "tuning.db")[0] == 0
    assert given == [None, None]
    assert command("tune", path, "--db", tmp_path / "tuning.db", "--seconds", 900)[0] == 0
    assert given[2] is None
    assert 0 < given[3] <= 900


@pytest.mark.parametrize("seconds", [0, -5, "nan", "inf"])
def test_seconds_that_cannot_be(command: Command, net: Path, tmp_path: Path, seconds: object):
    db = tmp_path / "tuning.db"
    code, _, err = command("tune", net, "--seconds", seconds, "--db", db)
    assert code == 2
    assert f"cannot tune with --seconds {seconds}: give a number above 0." in err
    assert not db.exists()


@pytest.mark.parametrize(
    ("left", "promise", "wanted"),
    [
        (12.4, 0.1, "12 s left"),
        (90.0, 0.1, "90 s left"),
        (150.0, 0.1, "2 min left"),
        (0.0, 0.1, "0 s left"),
        (None, 0.034, "more trials promise 3.4%"),
    ],
)
def test_progress_says_what_is_left(left: float | None, promise: float, wanted: str):
    assert prospect(SimpleNamespace(left=left, promise=promise)) == wanted  # type: ignore[arg-type]


@pytest.mark.parametrize("terminal", [False, True])
@pytest.mark.parametrize("total", [3, None])
@pytest.mark.parametrize("width", [80, 160])
def test_progress_of_either_kind_of_budget(terminal: bool, total: int | None, width: int):
    out = io.StringIO()
    task = Task(Dense(128, 1024, 2048, bias=True, relu=True))
    session = Session.open(task, RandomSearch(), Records(":memory:"), 0)
    console = Console(file=out, width=width, force_terminal=terminal)
    with Progress(console, total, 1e11) as progress:
        for done in (1, 2, 3):
            progress.watch(Event(done, total, session, [session], Measured((1.0,)), 5.0, 0.1))
    assert f"trial 3{'/3' if total else ''}" in out.getvalue()
    assert "5 s left" in out.getvalue()
    assert ("timing" if total and terminal else "dense 12") in out.getvalue()
    assert list(progress.sessions) == [session]


def test_the_table_holds_the_heaviest_and_sums_up_the_rest():
    tasks = [Task(Dense(8 * n, 16, 16), weight=n) for n in range(1, ROWS + 6)]
    toy = Toy(lambda _: Measured((1e-3 / toy.measured,)))
    sessions = tune(tasks, trials=200, measure=toy, search=RandomSearch()).sessions
    lines = said(gains_table(sessions, None)).splitlines()
    assert len(lines) == 1 + ROWS + 2
    assert lines[-2].startswith("5 more")
    before = sum(s.first * s.task.weight for s in sessions) * 1e3
    after = sum(s.best * s.task.weight for s in sessions) * 1e3
    assert re.match(rf"total +200 +0 +{before:.4g} +{after:.4g} +100%$", lines[-1])
    shares = [int(m) for line in lines[1:-2] for m in re.findall(r"(\d+)% +[\d.]+ +-$", line)]
    assert len(shares) == ROWS
    assert shares == sorted(shares, reverse=True)


def test_a_table_of_what_was_never_tried_has_no_times():
    tasks = [Task(Dense(64, 64, 64)), Task(Relu(8))]
    sessions = tune(tasks, trials=0).sessions
    text = said(gains_table(sessions, 1e11))
    assert re.search(r"^relu.* 1 +0 +0 +- +- +- +- +-$", text, re.MULTILINE | re.IGNORECASE)
    assert "total" in text
    missed = untried(sessions, 1e11)
    assert missed.startswith("2 tasks got no trial and will run untuned, some 100% of the time")
    assert missed.index(tasks[0].name) < missed.index(tasks[1].name), "the heaviest first"
    many = tune([Task(Relu(n)) for n in range(1, 40)], trials=0).sessions
    assert untried(many, None).endswith(f"; {39 - ROWS} more\n")
    assert untried((), 1e11) == ""
