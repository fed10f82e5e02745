"""From a network file to what is shipped, from the command line: export, profile, saved modules."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from onnx import helper
from tests.graph.models import write
from tests.graph.shipped import image, little

import tilewright as tw
from tilewright.cli.main import run
from tilewright.records.store import Records

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return little(tmp_path_factory.mktemp("net") / "net.onnx")


@pytest.fixture(scope="module")
def saved(net: Path) -> Path:
    tw.compile(tw.load_onnx(net), threads=1).save(net.with_suffix(".twm"))
    return net.with_suffix(".twm")


@pytest.fixture
def command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Command:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tilewright.measure.peak.peak", lambda threads=1: 1e12 * threads)

    def call(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["tilewright", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            run()
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out, said.err

    return call


def test_a_network_becomes_a_file(command: Command, net: Path, tmp_path: Path):
    code, out, err = command("export", net, "-o", "net.twm", "--threads", 2)
    assert (code, err) == (0, "")
    how = f"to tune it: tilewright tune {net} --threads 2"
    assert f"untuned, as there is no tuning.db here; {how}\n" in out
    assert re.search(r"wrote net\.twm: [\d.]+ MB", out)
    module = tw.load(tmp_path / "net.twm")
    assert module.threads == 2
    np.testing.assert_array_equal(module(image())[1], image())


def test_a_file_becomes_a_library(command: Command, saved: Path, tmp_path: Path):
    if not any(map(shutil.which, ("cc", "gcc", "clang", "ld", "ld.lld"))):
        pytest.skip("there is nothing that links")
    code, out, err = command("export", saved, "-o", "libnet.so", "--name", "little")
    assert (code, err) == (0, "")
    assert re.search(r"wrote libnet\.so: [\d.]+ MB; little\.h says how to call it", out)
    assert "int little_run(" in (tmp_path / "little.h").read_text()


def test_a_lesser_machine_can_be_named(command: Command, net: Path, tmp_path: Path):
    if tw.host().architecture != "x86_64":
        pytest.skip("another architecture")
    code, out, err = command("export", net, "-o", "net.twm", "--target", "x86-64-v2")
    assert (code, err) == (0, "")
    assert tw.load(tmp_path / "net.twm").target == tw.Target("x86-64-v2")
    assert "untuned, as there is no tuning.db here\n" in out, "`tune` tunes for this machine"


@pytest.mark.parametrize("what", ["onnx", "twm"])
def test_a_profile_has_a_row_for_each_kernel(command: Command, net: Path, saved: Path, what: str):
    given = net if what == "onnx" else saved
    code, out, err = command("profile", given, "--repeats", 2)
    assert (code, err) == (0, "")
    assert re.search(
        r"^node +work +min us +median us +share +GFLOP/s +of peak +kB +GB/s$", out, re.MULTILINE
    )
    rows = re.findall(
        r" +[\d.]+ +[\d.]+ +(\d+)% +[\d.]+ +\d+% +([\d.]+) +[\d.]+$", out, re.MULTILINE
    )
    calls = tw.compile(tw.load_onnx(net), threads=1).calls
    assert [kilobytes for _, kilobytes in rows] == [f"{c.nbytes / 1000:.1f}" for c in calls]
    assert abs(sum(int(share) for share, _ in rows) - 100) <= 1
    assert re.search(r"2 kernels, [\d.]+ ms in all; the whole network in one call: [\d.]+ ms", out)
    assert "peak: 1000 GFLOP/s on 1 thread" in out
    assert re.search(r"memory of a call: 0\.00 MB; weights: 0\.01 MB", out)


def test_rows_are_in_order_of_the_network_or_of_time(command: Command, tmp_path: Path):
    nodes = [helper.make_node("Relu", ["a"], ["y"]), helper.make_node("MatMul", ["b", "b"], ["z"])]
    path = write(tmp_path / "m.onnx", nodes, {"a": (2, 3), "b": (200, 200)}, {}, ["y", "z"])
    tw.compile(tw.load_onnx(path), threads=1).save(tmp_path / "net.twm")

    def rows(*options: str) -> list[str]:
        code, out, err = command("profile", "net.twm", "--repeats", 3, *options)
        assert (code, err) == (0, "")
        return re.findall(r"^([yz]) ", out, re.MULTILINE)

    assert rows() == ["y", "z"]
    assert rows("--by-time") == ["z", "y"]


def test_a_saved_module_is_benched_alone(command: Command, saved: Path):
    code, out, err = command("bench", saved, "--vs", "none", "--rounds", 1)
    assert (code, err) == (0, "")
    assert "tilewright" in out
    code, _, err = command("bench", saved)
    assert code == 2
    assert "give --vs none" in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("export", "NET", "-o", "net.exe"), "ends in .so for a shared library"),
        (("export", "NET", "-o", "net.o"), "ends in .so for a shared library"),
        (("export", "NET"), "--output"),
        (("export", "NET", "-o", "no/net.twm"), "there is no directory no. Give"),
        (("export", "NET", "-o", "no/net.so"), "there is no directory no. Give"),
        (("export", "NET", "-o", "net.so", "--name", "a b"), "a name as of C"),
        (("export", "NET", "-o", "net.twm", "--target", "z80"), "unknown target 'z80'"),
        (("export", "NET", "-o", "net.twm", "--target", "aarch64"), "cannot run code for"),
        (("export", "NET", "-o", "net.twm", "--db", "missing.db"), "missing.db"),
        (("export", "SAVED", "-o", "net.so", "--target", "x86-64"), "leave out --target and"),
        (("export", "SAVED", "-o", "net.so", "--threads", "2"), "leave out --target and --threads"),
        (("export", "SAVED", "-o", "net.so", "--shape", "x=1x3x9x9"), "leave out --db, --shape"),
        (("export", "NET", "-o", "damaged.twm/net.so"), "there is no directory damaged.twm. Give"),
        (("export", "NET", "-o", "/proc/net.so"), "cannot export to /proc/net.so: "),
        (("profile", "SAVED", "--db", "tuning.db"), "leave out --db, --shape and --tolerance"),
        (("profile", "SAVED", "--tolerance", "0"), "leave out --db, --shape and --tolerance"),
        (("profile", "NET", "--repeats", "0"), "--repeats"),
        (("profile", "NET", "--threads", "0"), "--threads"),
        (("profile", "missing.onnx"), "missing.onnx"),
        (("profile", "missing.twm"), "missing.twm"),
        (("profile", "DAMAGED"), "it ends within its start"),
    ],
)
def test_what_cannot_be(
    command: Command, net: Path, saved: Path, tmp_path: Path, arguments: tuple[str, ...], said: str
):
    damaged = tmp_path / "damaged.twm"
    damaged.write_bytes(saved.read_bytes()[:30])
    places = {"NET": net, "SAVED": saved, "DAMAGED": damaged}
    code, out, err = command(*(places.get(a, a) for a in arguments))
    assert code == 2
    assert said in re.sub(r"\s+", " ", err), err
    assert "Traceback" not in err + out
    assert [p.name for p in tmp_path.iterdir()] == ["damaged.twm"]


@pytest.mark.parametrize("name", ["net.so", "net.twm"])
def test_what_cannot_be_written_is_not_compiled(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
):
    """The network is not even read: it may take minutes to compile."""
    (tmp_path / name).mkdir()
    code, out, err = command("export", "missing.onnx", "-o", name)
    assert (code, out) == (2, "")
    assert f"cannot export to {name}: it is a directory. Give the path of a file" in err
    monkeypatch.setattr("os.access", lambda *_: False)
    code, out, err = command("export", "missing.onnx", "-o", f"other{name}")
    assert (code, out) == (2, "")
    assert f"cannot export to other{name}: . cannot be written. Give the path" in err


def test_schedules_come_from_the_database_that_is_there(
    command: Command, net: Path, tmp_path: Path
):
    Records(tmp_path / "tuning.db").close()
    code, out, err = command("export", net, "-o", "net.twm")
    assert (code, err) == (0, "")
    assert "2 operators without trials in tuning.db, run untuned: conv2d" in out
    assert "to tune it" not in out


def test_what_was_never_tuned_is_a_line_that_says_how_to(command: Command, tmp_path: Path):
    nodes = [helper.make_node("Relu", ["x"], ["y"])]
    path = write(tmp_path / "a net.onnx", nodes, {"x": ("n", 3)}, {}, ["y"])
    code, out, err = command("profile", path.name, "--shape", "n=2", "--repeats", 1)
    assert (code, err) == (0, "")
    how = "to tune it: tilewright tune 'a net.onnx' --shape n=2"
    assert out.startswith(f"untuned, as there is no tuning.db here; {how}\n")
    code, out, err = command("profile", path.name, "--shape", "n=2", "--db", "other.db")
    assert (code, out) == (2, "")
    assert "cannot open other.db: there is no such file" in err
