"""The benchmark of networks: what is checked, left out and shown, without timing anything."""

from __future__ import annotations

import doctest
from argparse import Namespace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import pytest
from benchmarks import networks
from benchmarks.models import dqn, lstm
from benchmarks.networks import NETWORKS, Network, answers, inputs, said, sound
from benchmarks.peers.work import Subject

from tilewright.errors import ModelError

ONE = np.ones(3, np.float32)


def subject(name: str, *outputs: np.ndarray) -> Subject:
    return Subject(name, lambda: None, lambda: outputs[0], others=lambda: outputs[1:])


def small() -> Network:
    def build(*, cells: bool = False) -> onnx.ModelProto:
        return lstm.build(2, 8, 20, cells=cells)

    return Network(build, 1, lambda: build(cells=True))


def test_examples() -> None:
    assert doctest.testmod(networks).failed == 0


def test_the_five_networks_weigh_alike() -> None:
    weights = [(name.rstrip("012"), n.weight) for name, n in NETWORKS.items() if n.weight]
    families = {family: sum(w for f, w in weights if f == family) for family, _ in weights}
    assert set(families.values()) == {2}
    assert len(families) == 5
    assert [name for name, n in NETWORKS.items() if not n.weight] == [
        "resnet18_b8",
        "mobilenet_v1_b8",
    ]


def test_who_is_wrong_or_fails_is_not_timed_but_named(capsys: pytest.CaptureFixture[str]) -> None:
    def refuse() -> list[Subject]:
        raise NotImplementedError("it is not given Det here")

    def fail() -> list[Subject]:
        raise KeyError("conv")

    makers = {
        "right": lambda: [subject("right", ONE, 2 * ONE)],
        "near": lambda: [subject("near", ONE, 2 * ONE * (1 + 1e-6))],
        "off": lambda: [subject("off", ONE, 2.1 * ONE), subject("nan", ONE * np.nan, ONE)],
        "few": lambda: [subject("few", ONE)],
        "refuses": refuse,
        "fails": fail,
    }
    subjects, notes = sound(makers, [ONE, 2 * ONE])
    assert [s.name for s in subjects] == ["right", "near"]
    assert notes == [
        "off computes it WRONGLY: off by 0.05",
        "nan computes it WRONGLY: off by nan",
        "few does not run it: ValueError: zip() argument 2 is longer than argument 1",
        "refuses is left out: it is not given Det here",
        "fails does not run it: KeyError: 'conv'",
    ]
    assert "Traceback" in capsys.readouterr().err


def test_an_error_is_said_in_a_line() -> None:
    assert said(ValueError("two\n  lines.")) == "ValueError: two lines"
    assert said(AssertionError()) == "AssertionError"
    assert len(said(ValueError("x" * 999))) < 250


def test_inputs_are_of_the_model() -> None:
    given = inputs(small().build())
    assert list(given) == ["words", "h1", "c1", "h2", "c2"]
    assert given["words"].dtype == np.int64
    assert 0 <= given["words"].min() <= given["words"].max() < 20
    assert {array.dtype for name, array in given.items() if name != "words"} == {np.dtype("f4")}


def test_peers_are_measured_where_ours_cannot_compile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a network in two forms peers get both, and ours that fails becomes a note."""
    seen: list[tuple[str, int, int]] = []
    network = small()
    monkeypatch.setitem(NETWORKS, "lstm1", network)
    right = {
        cells: answers(build(), inputs(build()))
        for cells, build in ((False, network.build), (True, network.cells)) if build
    }  # fmt: skip

    def run(path: Path, threads: int, *data: np.ndarray) -> list[Subject]:
        seen.append((path.name, threads, len(data)))
        return [subject("peer eager", *right[".cells" in path.name])]

    def unable(*_: Any, **__: Any) -> None:
        raise ModelError("LSTM is not supported.")

    peer = SimpleNamespace(NAME="peer", network=run, versions=lambda: "peer 1", SETTINGS="set")
    monkeypatch.setattr(networks, "installed", lambda: [peer])
    monkeypatch.setattr(networks, "load_onnx", unable)
    monkeypatch.setattr(networks, "forget_compiled", lambda: None)
    monkeypatch.setattr(
        networks, "time_all", lambda subjects, _: {s.name: (2.0, 1.0) for s in subjects}
    )
    args = Namespace(
        networks=["lstm1"], folder=tmp_path / "models", trials=8, db=":memory:", threads=1
    )
    networks._prepare(args)
    measured = networks._measure(args)
    assert seen == [("lstm1.onnx", 1, 5), ("lstm1.cells.onnx", 1, 5)]
    assert measured["peers"] == [("peer 1", "set")]
    assert measured["rows"]["lstm1"]["seconds"] == {
        "peer eager": (2.0, 1.0),
        "peer eager cells": (2.0, 1.0),
    }
    text = networks._show(measured, 1)
    assert "- lstm1: tilewright does not run it: ModelError: LSTM is not supported." in text
    assert "| lstm1 | 2000.000 (1000.000) |" in text


def test_ours_computes_all_outputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(NETWORKS, "dqn", Network(lambda: dqn.build(44, 4, 16), 2))
    networks.write(tmp_path / "dqn", NETWORKS["dqn"])
    args = Namespace(db=tmp_path / "n.db", threads=1)
    with np.load(tmp_path / "dqn.npz") as held:
        (ours,), notes = sound(
            {"ours": lambda: networks._own(tmp_path / "dqn.onnx", args, [held["input0"]])},
            [held["output0"]],
        )
    assert ours.name == "tilewright"
    assert notes == []


def test_the_table_shows_the_best_variants_and_means_of_batch_1() -> None:
    def row(*ratios: float, notes: tuple[str, ...] = ()) -> dict[str, Any]:
        names = ("tilewright", "pytorch eager nchw", "pytorch eager", "onnxruntime cells")
        return {
            "seconds": {n: (r * 1e-3, r * 0.5e-3) for n, r in zip(names, ratios, strict=False)},
            "notes": list(notes),
        }

    rows = {
        "dqn": row(1, 4, 8, 2, notes=("litert is left out: why",)),
        "lstm1": row(1, 16, 16, 16),
        "lstm20": row(1, 9, 4, 1),
        "resnet18_b8": row(1, 99, 99, 99),
    }
    assert networks._show({"rows": rows}, 2).splitlines() == [
        "## 2 thread(s): median ms (min), and how many times faster tilewright is",
        "",
        "| work | tilewright | pytorch eager | onnxruntime | against torch | against best |",
        "| --- | --- | --- | --- | --- | --- |",
        "| dqn | 1.000 (0.500) | 4.000 (2.000) | 2.000 (1.000) | 4.00 x | 2.00 x |",
        "| lstm1 | 1.000 (0.500) | 16.000 (8.000) | 16.000 (8.000) | 16.00 x | 16.00 x |",
        "| lstm20 | 1.000 (0.500) | 4.000 (2.000) | 1.000 (0.500) | 4.00 x | 1.00 x |",
        "| resnet18_b8 | 1.000 (0.500) | 99.000 (49.500) | 99.000 (49.500) | 99.00 x | 99.00 x |",
        "| geometric mean of batch 1, LSTM once | | | | 5.66 x | 2.83 x |",
        "",
        "- dqn: litert is left out: why.",
    ]
