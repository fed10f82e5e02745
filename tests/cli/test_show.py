"""`tilewright show` prints what is there, and a person's sentence when nothing can be."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tilewright.cli.main import run
from tilewright.records import Failed, Measured, Outcome, Trial
from tilewright.records.store import Records

TARGET = "skylake-avx512/512b/2c"

GOLDEN = """\
target skylake-avx512/512b/2c
task                     trials  failed  best ms  GFLOP/s  of peak  failures
conv2d 1x56x56x64 [3x3]       5       3        1    231.2      84%  2 run crash, 1 build timeout
max_pool2d 1x112x112x64       0       0        -        -        -
"""

FAILURES = """\
task                     failures         first message
conv2d 1x56x56x64 [3x3]  2 run crash      the process ended by SIGSEGV
conv2d 1x56x56x64 [3x3]  1 build timeout  no answer within 10 s
"""

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["tilewright", *arguments])
        with pytest.raises(SystemExit) as ended:
            run()
        said = capsys.readouterr()
        code = ended.value.code or 0
        assert isinstance(code, int)
        return code, stripped(said.out), said.err

    return call


def stripped(text: str) -> str:
    return "".join(line.rstrip() + "\n" for line in text.splitlines())


@pytest.fixture
def db(tmp_path: Path) -> str:
    path = tmp_path / "tuning.db"
    outcomes: list[Outcome] = [
        Failed("build", "timeout", "no answer within 10 s"),
        Failed("run", "crash", "the process ended by SIGSEGV"),
        Measured((1e-3, 1.1e-3, 0.9e-3)),
        Failed("run", "crash", "another"),
        Measured((2e-3,)),
    ]
    with Records(path) as records:
        records.register("c2", TARGET, "conv2d 1x56x56x64 [3x3]", 231211008.0)
        records.register("p1", TARGET, "max_pool2d 1x112x112x64", 1806336.0)
        records.add([Trial("c2", TARGET, {}, [], outcome) for outcome in outcomes])
        records.set_peak(TARGET, 275e9)
    return str(path)


def test_tasks_are_shown(command: Command, db: str):
    assert command("show", "--db", db) == (0, GOLDEN, "")


def test_failures_are_shown_with_their_first_message(command: Command, db: str):
    code, out, _ = command("show", "--db", db, "--failures", "--task", "conv2d")
    assert code == 0
    assert out.endswith(FAILURES)
    assert "max_pool" not in out


def test_no_failures_are_said_to_be_none(command: Command, db: str):
    code, out, _ = command("show", "--db", db, "--failures", "--task", "max_pool")
    assert code == 0
    assert out.endswith("no candidate failed.\n")


def test_the_database_of_tune_is_the_default(
    command: Command, db: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(Path(db).parent)
    assert command("show") == (0, GOLDEN, "")


def test_a_given_peak_replaces_the_recorded_one(command: Command, db: str):
    _, out, _ = command("show", "--db", db, "--peak", "231.211008")
    assert "100%" in out
    for wrong in "-3", "inf", "nan":
        code, _, err = command("show", "--db", db, "--peak", wrong)
        assert code == 2
        assert "--peak" in err


def test_nothing_to_show(command: Command, db: str):
    assert command("show", "--db", db, "--task", "lstm") == (
        2,
        "",
        f"tilewright: {db} holds no task whose name contains 'lstm'; it holds 2 tasks, such as "
        "'conv2d 1x56x56x64 [3x3]'. Leave out --task to see all.\n",
    )


def test_an_empty_database_is_shown_as_one(command: Command, tmp_path: Path):
    path = tmp_path / "empty.db"
    Records(path).close()
    for more in (), ("--task", "lstm"):
        assert command("show", "--db", str(path), *more) == (0, f"{path} holds no tasks.\n", "")


def test_a_missing_database_is_a_sentence(command: Command, tmp_path: Path):
    path = tmp_path / "missing.db"
    code, out, err = command("show", "--db", str(path))
    assert (code, out) == (2, "")
    assert err == (
        f"tilewright: cannot open {path}: there is no such file; tune something into it first, "
        "or give the path of an existing database.\n"
    )
    assert not path.exists()


def test_a_file_that_is_no_database_is_a_sentence(command: Command, tmp_path: Path):
    path = tmp_path / "notes.txt"
    path.write_text("conv2d took 3 ms\n" * 100)
    code, _, err = command("show", "--db", str(path))
    assert code == 2
    assert err.endswith(
        "file is not a database; give the path of a database that tilewright wrote, or restore a "
        "copy if this was one.\n"
    )
    path.write_bytes(b"")
    assert command("show", "--db", str(path)) == (
        2,
        "",
        f"tilewright: cannot read records of {path}: it is empty; tune something into it first, "
        "or give the path of another database.\n",
    )


def test_usage_errors_exit_with_2(command: Command):
    code, _, err = command("show", "--peak", "high")
    assert code == 2
    assert "--peak" in err
    code, _, err = command("sow")
    assert code == 2
    assert "sow" in err


def test_the_command_line_is_light_to_load():
    heavy = "('xgboost', 'torch', 'onnx', 'sqlalchemy', 'llvmlite')"
    script = f"import sys, tilewright.cli.main; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr
