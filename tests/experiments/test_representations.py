"""Figure 9: recorded programs as arrays, and what models make of them."""

from __future__ import annotations

import csv
import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from experiments.figure9 import ablation, settings
from experiments.programs import Programs, averaged, judged, of_knobs, programs, training
from experiments.workloads import AVX512, task_named

from tilewright.features import FEATURES, Tree
from tilewright.models import Boosted
from tilewright.records.store import Records
from tilewright.space.config import Config

figure9 = importlib.import_module("experiments.figure9.__main__")
LAYERS = ("C3", "C5")  # of `records`


@pytest.fixture(scope="module")
def known(records: Records) -> list[Programs]:
    return [found for name in LAYERS if (found := programs(name, 12, [records]))]


def test_programs_are_told_as_their_space_tells_them(
    records: Records, known: list[Programs]
) -> None:
    task = task_named("C3", AVX512)
    configs = [Config.from_json(dict(knobs)) for knobs in known[0].knobs]
    rows = np.stack([task.space.encode(config) for config in configs])
    assert np.array_equal(FEATURES.of(known[0].loops), FEATURES.extract(task.space, rows))
    assert np.array_equal(known[0].trees, Tree().extract(task.space, rows))
    assert known[0].scores[0] == known[0].scores.max()
    assert known[0].scores[-1] == -np.inf
    assert programs("matmul1024", 12, [records]) is None


def test_some_programs_are_taken_evenly(records: Records) -> None:
    some = programs("C3", 3, [records])
    assert some is not None
    assert len(some) == 3
    assert np.isfinite(some.scores).tolist() == [True, True, False]


def test_knobs_of_one_name_share_a_column() -> None:
    def task(*knobs: dict[str, Any]) -> Programs:
        none = np.zeros(len(knobs))
        return Programs("", knobs, none, none, none, none)

    first, second = of_knobs([task({"y": [1, 3], "way": "a"}), task({"y": [7, 1], "x": True})])
    assert first.tolist() == [[1, 0, 1, 2]]  # way.0=a, x.0=True, y.0, y.1
    assert second.tolist() == [[0, 1, 3, 1]]


def test_how_well_programs_are_ranked(known: list[Programs]) -> None:
    X = [np.arange(len(of), dtype=np.float32)[:, None] for of in known]  # the fastest come first
    predictor = Boosted().fit(training([(X[0], known[0].scores)]))
    quality = judged(predictor, X[1], known[1].scores)
    assert quality.accuracy > 0.9
    assert quality.share == 1
    assert averaged([quality, quality]) == quality


def test_a_figure_of_features(
    records: Records, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr(settings, "recorded", lambda: records)
    monkeypatch.setattr("sys.argv", _arguments(tmp_path, "--kinds", "configuration", "relation",
                                               "--seeds", "1", "--trials", "4"))  # fmt: skip
    figure9.main()
    said = capsys.readouterr()
    assert "no programs of matmul1024, avx2:C3, avx2:C5 are on record" in said.err
    assert "| across targets | no data | no data |" in said.out
    with (tmp_path / "quality.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert {line["setting"] for line in lines} == {"in domain", "across shapes"}
    assert {line["task"] for line in lines} == set(LAYERS)
    assert (tmp_path / "curves.csv").exists()
    assert (tmp_path / "table.md").exists()


def test_an_ablation(records: Records, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "recorded", lambda: records)
    some = ("everything", "without reuse", "without relations by inner")
    variants = {name: ablation.VARIANTS[name] for name in some}
    monkeypatch.setattr(ablation, "VARIANTS", variants)
    monkeypatch.setattr("sys.argv", _arguments(tmp_path))
    ablation.main()
    lines = (tmp_path / "ablation.md").read_text().splitlines()
    assert [line.split(" | ")[0] for line in lines[2:]] == [f"| {name}" for name in some]


def test_a_variant_does_not_know_what_it_is_without(known: list[Programs]) -> None:
    loops = known[0].loops
    reuse = [i for i, name in enumerate(FEATURES.names) if ".reuse" in name or "max reuse" in name]
    assert FEATURES.of(loops)[:, reuse].any()
    assert not ablation.VARIANTS["without reuse"](loops)[:, reuse].any()
    fewer = ablation.VARIANTS["without relations by inner"](loops)
    assert fewer.shape[1] == len(FEATURES.names) - sum("where inner" in n for n in FEATURES.names)


def _arguments(out: Path, *more: str) -> list[str]:
    return ["figure9", "--on", *LAYERS, "--most", "12", "--out", str(out), *more]
