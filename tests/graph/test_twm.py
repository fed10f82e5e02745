"""Compiled networks in files: what is loaded is what was saved, or nothing, for a reason."""

from __future__ import annotations

import hashlib
import json
import struct
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.graph.shipped import image, little

import tilewright as tw
from tilewright.errors import ModelError, TargetError
from tilewright.graph.compile import compile
from tilewright.graph.model import load_onnx
from tilewright.graph.module import Module
from tilewright.graph.twm import VERSION, save
from tilewright.records.store import Records
from tilewright.records.trial import Measured, Trial
from tilewright.runtime.cpu import surely_runs
from tilewright.target import host

START = 64  # bytes before the header
HEAVY = ["onnx", "torch", "xgboost", "sqlalchemy", "typer", "rich", "scipy"] + ["llvmlite"] * (
    surely_runs(host())  # elsewhere LLVM links, and knows the machine
)


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Module:
    """One whose product packs what it reads into memory of its own, whatever is guessed best."""
    model, records = (
        load_onnx(little(tmp_path_factory.mktemp("net") / "m.onnx")),
        Records(":memory:"),
    )
    task = next(task for task in model.tasks(threads=2) if task.name.startswith("dense"))
    rows = task.space.sample(np.random.default_rng(0), 64)
    configs = (task.space.config(row) for row in rows)
    config = next(config for config in configs if config["product pack X"])
    steps = task.schedule(config).to_json()
    records.register(task.key, task.where, task.name, float(task.flops))
    records.add([Trial(task.key, task.where, config.to_json(), steps, Measured((1e-6,)))])
    return compile(model, records, threads=2)


@pytest.fixture(scope="module")
def file(module: Module, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("twm") / "net.twm"
    module.save(path)
    return path


def test_what_is_loaded_is_what_was_saved(module: Module, file: Path):
    loaded = tw.load(file)
    for threads in 1, 2:
        for got, wanted in zip(loaded(image(), threads=threads), module(image()), strict=True):
            np.testing.assert_array_equal(got, wanted)
    assert repr(loaded) == repr(module)
    assert (loaded.inputs, loaded.outputs, loaded.calls) == (
        module.inputs, module.outputs, module.calls,
    )  # fmt: skip
    assert (loaded.peak_bytes, loaded.target) == (module.peak_bytes, module.target)
    assert loaded.untuned == module.untuned
    for mine, theirs in zip(loaded.executable.weights, module.executable.weights, strict=True):
        np.testing.assert_array_equal(mine, theirs)
        assert mine.ctypes.data % 64 == 0


def test_a_loaded_module_saves_the_same_bytes(file: Path, tmp_path: Path):
    tw.load(str(file)).save(tmp_path / "again.twm")
    assert (tmp_path / "again.twm").read_bytes() == file.read_bytes()


def test_another_process_needs_neither_the_model_nor_what_read_it(module: Module, file: Path):
    np.save(file.with_name("x.npy"), image())
    code = f"""
import sys, numpy as np, tilewright as tw
y, _ = tw.load({str(file)!r})(np.load({str(file.with_name("x.npy"))!r}))
heavy = {{{", ".join(map(repr, HEAVY))}}} & set(sys.modules)
assert not heavy, heavy
sys.stdout.buffer.write(y.tobytes())
"""
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert made.returncode == 0, made.stderr.decode()
    assert made.stdout == module(image())[0].tobytes()


def test_saving_is_all_or_nothing(module: Module, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "net.twm"
    path.write_text("what was there before")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(ModelError, match="No space left"):
        module.save(path)
    assert [p.name for p in tmp_path.iterdir()] == ["net.twm"]
    assert path.read_text() == "what was there before"
    monkeypatch.undo()
    module.save(path)
    np.testing.assert_array_equal(tw.load(path)(image())[0], module(image())[0])
    with pytest.raises(ModelError, match="cannot save a module to"):
        module.save(tmp_path / "nowhere" / "net.twm")


def test_files_that_are_none(tmp_path: Path, file: Path):
    cases = {
        "empty": (b"", "no compiled network"),
        "text": (b"conv2d took 3 ms\n" * 100, "no compiled network"),
        "zip": (b"PK\x03\x04" + bytes(100), "no compiled network"),
        "unix": (file.read_bytes().replace(b"\r\n", b"\n"), "as if it were a text"),
        "start": (file.read_bytes()[:40], "within its start"),
    }
    for name, (data, said) in cases.items():
        (tmp_path / name).write_bytes(data)
        with pytest.raises(ModelError, match=said):
            tw.load(tmp_path / name)
    for path in tmp_path, tmp_path / "missing.twm":
        with pytest.raises(ModelError, match=r"cannot load .*: .*module\.save"):
            tw.load(path)


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_no_byte_can_be_lost_or_changed(data: st.DataObject, file: Path):
    whole = file.read_bytes()
    at = data.draw(st.integers(0, len(whole) - 1))
    change = data.draw(st.integers(1, 255))
    for damaged in (
        whole[:at],
        whole + bytes([change]),
        whole[:at] + bytes([whole[at] ^ change]) + whole[at + 1 :],
    ):
        path = file.with_name("damaged.twm")
        path.write_bytes(damaged)
        with pytest.raises(ModelError):
            tw.load(path)


def rewritten(
    file: Path, change: Callable[[dict[str, Any]], Any], to: Path, version: int = VERSION
) -> Path:
    """Write a file with another header, and all the digests that belong to it."""
    whole = file.read_bytes()
    size, nbytes = struct.unpack_from("<QQ", whole, 16)
    header = json.loads(whole[START : START + nbytes])
    header = change(header) or header
    told = json.dumps(header).encode() if not isinstance(header, bytes) else header
    first, old = (-(-(START + n) // 64) * 64 for n in (len(told), nbytes))
    start = struct.pack("<8sIIQQ", whole[:8], version, 0, size - old + first, len(told))
    digest = hashlib.sha256(start + told).digest()
    to.write_bytes((start + digest + told).ljust(first, b"\0") + whole[old:])
    return to


def set_at(*path: Any) -> Callable[[dict[str, Any]], None]:
    """Return a change of the header: the last of `path` is put where the others lead to."""

    def change(header: Any) -> None:
        for step in path[:-2]:
            header = header[step]
        header[path[-2]] = path[-1]

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (set_at("arena", 1 << 47), "of an arena of"),
        (set_at("arena", 0), "arena"),
        (set_at("arena", 1 << 70), "no whole number"),
        (set_at("arena", -64), "no whole number"),
        (set_at("arena", True), "no whole number"),
        (set_at("threads", 0), "no whole number from 1"),
        (set_at("inputs", 0, "shape", [1 << 20, 1 << 20, 1 << 20]), "can address"),
        (set_at("inputs", 0, "shape", [2, 6]), "which has 48"),
        (set_at("inputs", 0, "dtype", "float128"), "none of float32"),
        (set_at("inputs", 0, "shape", [0] * 65), "can address"),
        (lambda h: h["inputs"].append(h["inputs"][0]), "two of the input 'x'"),
        (lambda h: h["outputs"].append(h["outputs"][0]), "nothing writes the outputs y"),
        (set_at("outputs", 0, "shape", [5, 1]), ""),
        (set_at("outputs", 0, "shape", [99, 2]), "bytes to write at output 0"),
        (set_at("outputs", "y"), "no list"),
        (set_at("kernels", 1, "name", "op0"), "two of the kernel 'op0'"),
        (set_at("kernels", 0, "name", "op0; ret"), "no name of a function"),
        (set_at("kernels", 0, "name", "system"), "cannot be linked"),
        (set_at("kernels", 0, "calls", ["system"]), "none of GOMP_parallel"),
        (lambda h: h["kernels"].pop() and None, "bytes to read at weight 0, which has"),
        (lambda h: h["kernels"][0]["parameters"].pop() and None, "places for"),
        (set_at("kernels", 0, "parameters", 0, ["write", 972]), "which is not there for that"),
        (set_at("calls", 0, "kernel", 7), "is of kernel 7"),
        (set_at("calls", 0, "places", 0, ["input", 3]), "which there is not"),
        (set_at("calls", 0, "places", 0, ["weight", 0]), "which has"),
        (set_at("calls", 0, "places", 0, ["stack", 0]), "none of input, output, weight, arena"),
        (set_at("calls", 0, "places", 0, ["arena", 1 << 40]), "arena"),
        (set_at("calls", 0, "places", 0, ["arena"]), "no pair"),
        (set_at("calls", 0, "places", 1, ["arena", 1408]), "1296 bytes to write .*, of an arena"),
        (set_at("calls", 1, "places", 2, ["arena", 1408]), "1296 bytes to scratch .*, of an arena"),
        (set_at("calls", 1, "places", 0, ["arena", 1396]), "1296 bytes to read .*, of an arena of"),
        (set_at("calls", 1, "places", 0, ["arena", 4]), "nothing has written all of that"),
        (set_at("calls", 0, "places", 1, ["arena", 64]), "nothing has written all of that"),
        (set_at("kernels", 0, "parameters", 1, ["write", 1295]), "nothing has written all of that"),
        (set_at("kernels", 0, "parameters", 1, ["scratch", 1296]), "nothing has written all of"),
        (set_at("calls", 1, "places", 2, ["arena", 1280]), "bytes at arena 1280, which overlap"),
        (set_at("kernels", 1, "parameters", 2, ["scratch", 2688]), "of an arena of"),
        (set_at("kernels", 1, "parameters", 2, ["scratch", 64]), "of an arena of"),
        (lambda h: h["calls"].reverse(), "nothing has written all of that"),
        (lambda h: h["calls"].pop(0) and None, "nothing has written all of that"),
        (set_at("copies", 0, "source", ["output", 1]), "nothing has written all of that"),
        (set_at("outputs", 1, "shape", [1, 3, 9, 10]), "1080 bytes to read at input 0, which has"),
        (set_at("calls", 1, "places", []), "0 places"),
        (set_at("calls", []), "nothing writes the outputs y"),
        (set_at("copies", 0, "output", 2), "cannot be"),
        (set_at("copies", 0, "source", ["arena", 0]), "cannot be"),
        (set_at("copies", 0, "source", ["input", 9]), "which there is not"),
        (set_at("target", "vector_bytes", 48), "its target is none"),
        (set_at("target", "features", ["avx2"]), "its target is none"),
        (set_at("target", None), "has no 'name'"),
        (lambda h: h.pop("arena") and None, "has no 'arena'"),
        (set_at("parts", 0, "bytes", 1 << 47), "outside of its place"),
        (set_at("parts", 0, "at", 64), "outside of its place"),
        (set_at("parts", 0, "sha256", "0" * 64), "damaged"),
        (lambda h: h["parts"].pop() and None, "its parts end at"),
        (lambda _: b"{", "cannot load"),
        (lambda _: b"[" * 100_000, "cannot load"),
        (lambda _: b'"\xff"', "cannot load"),
        (lambda _: b"[]", "has no 'target'"),
        (lambda _: b"9" * 5000, "cannot load"),
    ],
)  # fmt: skip
def test_headers_that_lie(file: Path, tmp_path: Path, change: Any, said: str):
    """Each has the digests that belong to it, as one has who means to do harm."""
    path = rewritten(file, change, tmp_path / "net.twm")
    if not said:
        assert tw.load(path).outputs[0].shape == (5, 1)
        return
    with pytest.raises(ModelError, match=said) as refused:
        tw.load(path)
    assert str(path) in str(refused.value)


def places(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path of everything within a piece of JSON."""
    match data:
        case list():
            inside = list(enumerate(data))
        case dict():
            inside = list(data.items())
        case _:
            inside = []
    return [path] * bool(path) + [p for key, each in inside for p in places(each, (*path, key))]


values = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 3), st.integers(), st.floats(), st.text(max_size=3),
    st.sampled_from(([], {}, [0], [[]], "input", "arena", "float32", "write", 1 << 62)),
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_no_header_makes_it_crash(data: st.DataObject, file: Path):
    """It loads, or it is said why not; nothing else is raised, and no memory taken."""
    whole = file.read_bytes()
    header = json.loads(whole[START : START + struct.unpack_from("<Q", whole, 24)[0]])
    path = data.draw(st.sampled_from(places(header)))
    change = set_at(*path, data.draw(values))
    with suppress(ModelError, TargetError):
        tw.load(rewritten(file, change, file.with_name("changed.twm")))


def test_other_versions_are_refused(file: Path, tmp_path: Path):
    for version in 1, 9:
        path = rewritten(file, lambda _: None, tmp_path / "net.twm", version=version)
        said = f"its format is {version}, and this tilewright reads 3.*compile the network and save"
        with pytest.raises(ModelError, match=said):
            tw.load(path)


def test_code_for_another_machine_is_refused(module: Module, file: Path, tmp_path: Path):
    def other(header: dict[str, Any]) -> None:
        header["target"] |= {"triple": "riscv64-unknown-linux-gnu", "name": "board"}

    with pytest.raises(TargetError, match="cannot run code for 'board' here"):
        tw.load(rewritten(file, other, tmp_path / "net.twm"))
    lacking = replace(module.target, name="newer", features=(*module.target.features, "+avx99"))
    Module(replace(module.executable, target=lacking)).save(tmp_path / "newer.twm")
    with pytest.raises(TargetError, match=r"lacks \+avx99"):
        tw.load(tmp_path / "newer.twm")


@pytest.mark.parametrize("code", [b"", b"no object file", b"\x7fELF" + bytes(200)])
def test_code_that_is_none_is_refused(module: Module, tmp_path: Path, code: bytes):
    kernels = (replace(module.executable.kernels[0], code=code), *module.executable.kernels[1:])
    save(replace(module.executable, kernels=kernels), tmp_path / "net.twm")
    with pytest.raises(ModelError, match="cannot be linked"):
        tw.load(tmp_path / "net.twm")
