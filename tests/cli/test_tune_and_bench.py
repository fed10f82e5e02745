"""The main job from the command line: tune a small ResNet, time it, show what was found."""

from __future__ import annotations

import math
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import onnx
import pytest
from benchmarks.models.resnet18 import build
from onnx import helper
from tests.graph.models import save, write

import tilewright
from tilewright.cli.main import run
from tilewright.cli.progress import describe
from tilewright.errors import RecordsError
from tilewright.records.store import Records
from tilewright.search.guided import Quality

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = build(image=32, width=8, blocks=(1, 1), classes=10)
    return save(made, tmp_path_factory.mktemp("net") / "small.onnx")


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    def call(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["tilewright", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            run()
        said = capsys.readouterr()
        code = ended.value.code or 0
        assert isinstance(code, int)
        return code, said.out, said.err

    return call


def trials(db: Path) -> int:
    with Records(db, create=False) as records:
        return sum(task.trials for task in records.tasks())


def has_trials(db: Path, count: int) -> bool:
    """Return whether a run under way has committed so many."""
    try:
        return trials(db) >= count
    except RecordsError:  # not there yet
        return False


def test_tune_then_bench_then_show(command: Command, net: Path, tmp_path: Path):
    db = tmp_path / "tuning.db"
    code, out, err = command("tune", net, "--trials", 24, "--db", db, "--batch", 4)
    assert (code, err) == (0, "")
    assert "trial 24/24" in out
    assert re.search(r"conv2d 1x8x8x8 -> 8, 3x3 /1 .*%", out)
    assert trials(db) == 24

    code, out, err = command("tune", net, "--trials", 6, "--db", db, "--batch", 4)
    assert (code, err) == (0, "")
    assert "trial 6/6" in out
    assert trials(db) == 30

    code, out, err = command("bench", net, "--db", db, "--vs", "none", "--rounds", 3)
    assert (code, err) == (0, "")
    assert "tilewright" in out
    assert "onnxruntime" not in out

    pytest.importorskip("onnxruntime")
    code, out, err = command("bench", net, "--db", db, "--rounds", 3, "--profile")
    assert (code, err) == (0, "")
    assert re.search(r"onnxruntime +\d+\.\d+ +\d+\.\d+ +\d+\.\d+ x tilewright's", out)
    assert re.search(r"^1 thread +min ms", out, re.MULTILINE)
    difference = re.search(r"largest difference between the results: (\S+) of", out)
    assert difference
    assert float(difference[1]) < 1e-3
    assert re.search(r"^layer1\.0\.", out, re.MULTILINE)

    code, out, err = command("show", "--db", db)
    assert (code, err) == (0, "")
    assert "conv2d 1x8x8x8" in out
    assert "%" in out


def test_few_trials_say_whom_they_missed(command: Command, net: Path, tmp_path: Path):
    db = tmp_path / "tuning.db"
    code, out, err = command("tune", net, "--trials", 3, "--db", db)
    assert (code, err) == (0, "")
    missed = re.search(r"(\d+) tasks got no trial and will run untuned, some \d+% .*: (.*)", out)
    assert missed
    assert len(missed[2].split("; ")) == int(missed[1]) >= 7
    code, out, err = command("tune", net, "--trials", 120, "--db", db)
    assert (code, err) == (0, "")
    assert "got no trial" not in out


def test_more_threads_than_cores_are_told_of(
    command: Command, net: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})
    said = []
    for threads in 2, 3:
        shared = ("--trials", 0, "--threads", threads, "--db", tmp_path / "tuning.db")
        code, out, err = command("tune", net, *shared)
        assert (code, err) == (0, "")
        said.append("wait for each other's turns" in out)
    assert said == [False, True]
    assert "3 threads on 2 cores wait" in out
    assert "give --threads 2, or fewer" in out


def test_a_profile_is_of_as_many_threads(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    asked: list[int] = []

    def known(threads: int = 1) -> float:
        asked.append(threads)
        return 1e12

    monkeypatch.setattr("tilewright.measure.peak.peak", known)
    nodes = [
        helper.make_node("Transpose", ["x"], ["t"], "turn", perm=[1, 0]),
        helper.make_node("Relu", ["x"], ["y"], "clip"),
    ]
    path = write(tmp_path / "m.onnx", nodes, {"x": (40, 30)}, {}, ["t", "y"])
    db = tmp_path / "tuning.db"
    Records(db).close()
    options = ("--vs", "none", "--rounds", 1, "--threads", 2, "--profile")
    code, out, err = command("bench", path, "--db", db, *options)
    assert (code, err, asked) == (0, "", [2])
    row = r" +[\d.]+ +[\d.]+ +\d+% +"  # min, median, share
    assert re.search(rf"^t +.*{row}- +- +9\.6 +[\d.]+$", out, re.MULTILINE)
    assert re.search(rf"^clip +.*{row}[\d.]+ +\d+% +9\.6 +[\d.]+$", out, re.MULTILINE)
    assert "2 operators without trials" in out
    assert re.search(r"2 kernels, [\d.]+ ms in all; the whole network in one call: [\d.]+ ms", out)


@pytest.mark.parametrize(
    ("flops", "best", "said"),
    [
        (0, 2.5e-6, "2.5 us"),
        (5000, 2.5e-6, "2.0 GFLOP/s (20% of peak)"),
        (0, math.inf, "no result"),
    ],
)
def test_progress_shows_what_is_known(flops: int, best: float, said: str):
    task = SimpleNamespace(name="work", flops=flops)
    gflops = flops / best / 1e9 if flops else 0.0
    session = SimpleNamespace(task=task, best=best, gflops=gflops, failures={}, quality=())
    assert describe(SimpleNamespace(session=session), 1e10).startswith(f"work: {said}")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("quality", "said"),
    [
        (Quality(32, 0.874, 0.5, True), "1 us; model ranks 87% right; failed: 2 run crash"),
        (Quality(32, 0.5, 0.5, False), "; model ranks 50% right, not followed; failed"),
        (Quality(32, math.nan, math.nan, False), "work: 1 us; failed"),
    ],
)
def test_progress_shows_how_the_model_does(quality: Quality, said: str):
    task = SimpleNamespace(name="work", flops=0)
    session = SimpleNamespace(
        task=task, best=1e-6, gflops=0.0, failures={"run crash": 2}, quality=[quality]
    )
    assert said in describe(SimpleNamespace(session=session), 1e10)  # type: ignore[arg-type]


def test_the_version_is_printed(command: Command):
    assert command("--version") == (0, f"tilewright {tilewright.__version__}\n", "")


def test_bench_without_onnxruntime_names_the_way_out(
    command: Command, net: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    Records(tmp_path / "tuning.db").close()
    complains(command("bench", net, "--db", tmp_path / "tuning.db"), "--vs none")


def test_tune_with_no_trials_shows_the_tasks(command: Command, net: Path, tmp_path: Path):
    code, out, err = command("tune", net, "--trials", 0, "--db", tmp_path / "tuning.db")
    assert (code, err) == (0, "")
    assert "conv2d 1x32x32x3 -> 8, 7x7 /2" in out


def test_a_network_without_work(command: Command, tmp_path: Path):
    node = helper.make_node("Reshape", ["x", "shape"], ["y"], "flat")
    path = write(tmp_path / "m.onnx", [node], {"x": (2, 3)}, {"shape": np.array([6], np.int64)})
    db = tmp_path / "tuning.db"
    assert command("tune", path, "--trials", 5, "--db", db)[0] == 0
    assert command("bench", path, "--db", db, "--vs", "none", "--rounds", 2)[0] == 0


def test_an_open_shape_is_given(command: Command, net: Path, tmp_path: Path):
    model = onnx.load(net)
    size = model.graph.input[0].type.tensor_type.shape.dim[0]
    size.Clear()
    size.dim_param = "batch"
    path, db = save(model, tmp_path / "open.onnx"), tmp_path / "tuning.db"
    code, _, err = command("tune", path, "--trials", 0, "--db", db)
    assert code == 2
    assert "--shape input=" in err
    shape = ("--shape", "input=2x3x32x32")
    code, out, err = command("tune", path, "--trials", 0, "--db", db, *shape)
    assert (code, err) == (0, "")
    assert "conv2d 2x32x32x3" in out
    code, _, err = command("bench", path, "--db", db, "--vs", "none", "--rounds", 1, *shape)
    assert (code, err) == (0, "")


def broken(path: Path, what: str) -> Path:
    """Return a path at which something is wrong."""
    place = path / what
    match what:
        case "missing.onnx" | "missing.db":
            pass
        case "corrupt.onnx":
            place.write_bytes(b"\x08\x07\x12 this is no model" * 50)
        case "cut.onnx":
            whole = build(image=32, width=8, blocks=(1,), classes=3).SerializeToString()
            place.write_bytes(whole[: len(whole) // 2])
        case "empty.onnx":
            place.touch()
        case "folder.onnx" | "folder.db":
            place.mkdir()
        case "nodb.db":
            place.write_text("conv2d took 3 ms\n" * 100)
        case _:
            raise NotImplementedError(what)
    return place


@pytest.mark.parametrize("subcommand", ["tune", "bench"])
@pytest.mark.parametrize(
    "what", ["missing.onnx", "corrupt.onnx", "cut.onnx", "empty.onnx", "folder.onnx"]
)
def test_models_that_cannot_be_read(command: Command, tmp_path: Path, subcommand: str, what: str):
    path, db = broken(tmp_path, what), tmp_path / "tuning.db"
    Records(db).close()
    complains(command(subcommand, path, "--db", db), str(path))


@pytest.mark.parametrize("what", ["nodb.db", "folder.db"])
@pytest.mark.parametrize("subcommand", ["tune", "bench"])
def test_databases_that_cannot_be_read(
    command: Command, net: Path, tmp_path: Path, subcommand: str, what: str
):
    path = broken(tmp_path, what)
    complains(command(subcommand, net, "--db", path), str(path))


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (("tune", "NET", "--trials", "-1"), "--trials -1"),
        (("tune", "NET", "--trials", "many"), "--trials"),
        (("tune", "NET", "--threads", "0"), "--threads"),
        (("tune", "NET", "--batch", "0"), "--batch"),
        (("tune", "NET", "--shape", "input"), "--shape 'input'"),
        (("tune", "NET", "--shape", "input=3xx4"), "--shape 'input=3xx4'"),
        (("tune", "NET", "--shape", "input=0x3"), "--shape 'input=0x3'"),
        (("tune", "NET", "--shape", "=1x3"), "--shape '=1x3'"),
        (("tune", "NET", "--shape", "nobody=1x3x32x32"), "nobody"),
        (("tune", "NET", "--shape", "input=1x3x32"), "input"),
        (("tune", "NET", "--shape", "input=1x5x32x32"), "input"),
        (("tune", "NET", "--seed", "-1"), "--seed"),
        (("tune",), "model"),
        (("bench", "NET", "--vs", "cuda"), "cannot compare with 'cuda'"),
        (("bench", "NET", "--rounds", "0"), "--rounds"),
        (("bench", "NET", "--threads", "-1"), "--threads"),
        (("bench", "NET", "--shape", "input=1x3x32"), "input"),
    ],
)
def test_arguments_that_cannot_be(
    command: Command, net: Path, tmp_path: Path, arguments: tuple[str, ...], wanted: str
):
    db = tmp_path / "tuning.db"
    Records(db).close()
    given = [str(net) if a == "NET" else a for a in arguments]
    complains(command(*given, *(("--db", db) if len(given) > 1 else ())), wanted)


def test_bench_needs_a_database(command: Command, net: Path, tmp_path: Path):
    path = tmp_path / "missing.db"
    complains(command("bench", net, "--db", path, "--vs", "none"), str(path))
    assert not path.exists()


def complains(ended: tuple[int, str, str], wanted: str) -> None:
    """Check for exit code 2 and one sentence on standard error, without a traceback."""
    code, out, err = ended
    assert code == 2, (out, err)
    assert wanted in re.sub(r"\s+", " ", err), err
    assert "Traceback" not in err + out
    assert err.count("tilewright: ") + err.count("Usage: ") == 1, err


def test_ctrl_c_ends_cleanly_and_the_same_command_goes_on(net: Path, tmp_path: Path):
    db = tmp_path / "tuning.db"
    program = [sys.executable, "-c", "from tilewright.cli.main import run; run()"]
    arguments = ["tune", str(net), "--trials", "4000", "--db", str(db), "--batch", "4"]
    process = subprocess.Popen(
        [*program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        for _ in range(600):
            if has_trials(db, 8):
                break
            assert process.poll() is None, process.communicate()
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert "Run the same command to go on" in out
    assert trials(db) >= 8


def test_a_database_deleted_while_tuning_ends_the_run(net: Path, tmp_path: Path):
    db = tmp_path / "tuning.db"
    program = [sys.executable, "-c", "from tilewright.cli import run; run()"]
    arguments = ["tune", str(net), "--trials", "4000", "--db", str(db), "--batch", "4"]
    process = subprocess.Popen(
        [*program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        for _ in range(600):
            if has_trials(db, 4):
                break
            assert process.poll() is None, process.communicate()
            time.sleep(0.05)
        db.unlink()
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    complains((process.returncode, out, err), "deleted or replaced while in use")


def test_ctrl_c_while_loading_ends_cleanly():
    loading = """
import sys
class Interrupted:
    def find_spec(self, name, *_):
        if name == "typer":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupted())
from tilewright.cli import run
run()
"""
    ended = subprocess.run([sys.executable, "-c", loading], capture_output=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, b"", b"")


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="needs a device that is full")
@pytest.mark.parametrize("arguments", [("--help",), ("show", "--db", "DB")])
def test_output_that_cannot_be_written(tmp_path: Path, arguments: tuple[str, ...]):
    db = tmp_path / "tuning.db"
    with Records(db) as records:
        records.register("k", "m", "matmul", 1e9)
    program = [sys.executable, "-c", "from tilewright.cli import run; run()"]
    given = [str(db) if a == "DB" else a for a in arguments]
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            [*program, *given], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert ended.returncode == 2
    assert ended.stderr == "tilewright: cannot write the output: No space left on device.\n"


def test_damaged_rows_are_counted_in_one_line(command: Command, net: Path, tmp_path: Path):
    db = tmp_path / "tuning.db"
    assert command("tune", net, "--trials", 2, "--db", db)[0] == 0
    connection = sqlite3.connect(db)
    connection.execute("UPDATE trial SET config = 'null' WHERE id < 3")
    connection.commit()
    connection.close()
    wanted = f"tilewright: left out 2 damaged rows of {db}; trial 1: config is None, no object.\n"
    for given in (
        ("show",),
        ("bench", net, "--vs", "none", "--rounds", 1),
        ("tune", net, "--trials", 0),
    ):
        code, _, err = command(*given, "--db", db)
        assert code == 0
        assert sorted(err) == sorted(wanted) or err == wanted.replace("trial 1", "trial 2")
