"""A saved model predicts the same elsewhere, and a file cannot do what a model should not."""

from __future__ import annotations

import json
import math
import pickle
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tilewright import models
from tilewright.errors import ModelError
from tilewright.features import Context, Joined, KnobValues, Relation
from tilewright.models import Boosted, Ensemble, Packed, Predictor, Training, Transfer
from tilewright.models.boosted import Trees
from tilewright.models.relative import Relative, among

FEATURES = Relation()
WIDTH = len(FEATURES.names)


def _data(seed: int = 0, rows: int = 60) -> Training:
    X = np.random.default_rng(seed).standard_normal((rows, WIDTH)).astype(np.float32)
    return Training.of(X, X[:, 0] + X[:, 1])


SOURCE = Boosted(rounds=20).fit(_data(1))
FITTED: dict[str, Predictor] = {
    "rank": SOURCE,
    "regression": Boosted("regression", rounds=5).fit(_data()),
    "nothing": Boosted().fit(_data(rows=0)),
    "transfer": Transfer(Boosted(rounds=5), SOURCE).fit(_data(2)),
    "transfer of nothing": Transfer(Boosted(), SOURCE).fit(_data(rows=0)),
    "ensemble": Ensemble(Boosted(rounds=5), members=3, acquisition="ei").fit(_data()),
    "relative": Relative(Boosted(rounds=5)).fit(_data()),
    "relative to some rows": among(Relative(Boosted(rounds=5)).fit(_data()), _data(4).X),
    "nested": Ensemble(Transfer(Boosted(rounds=5), SOURCE), members=2).fit(_data()),
}


@pytest.mark.parametrize("name", FITTED)
def test_what_was_saved_predicts_the_same(tmp_path: Path, name: str) -> None:
    path, fitted, X = tmp_path / "model.tw", FITTED[name], _data(3).X
    models.save(fitted, path, FEATURES, data="60 rows of nothing")
    loaded = models.load(path, FEATURES)
    assert type(loaded) is type(fitted)
    assert np.array_equal(loaded.predict(X), fitted.predict(X))
    again = tmp_path / "again.tw"
    models.save(loaded, again, FEATURES, data="60 rows of nothing")
    assert np.array_equal(models.load(again, FEATURES).predict(X), fitted.predict(X))
    assert {p.name for p in tmp_path.iterdir()} == {"model.tw", "again.tw"}


def test_another_process_predicts_the_same(tmp_path: Path) -> None:
    path, X = tmp_path / "model.tw", _data(3).X
    models.save(FITTED["nested"], path, FEATURES)
    np.save(tmp_path / "X.npy", X)
    code = (
        "import sys, numpy as np; from tilewright import models; from tilewright.features import "
        "Relation; p = models.load(sys.argv[1] + '/model.tw', Relation()); "
        "np.save(sys.argv[1] + '/y.npy', p.predict(np.load(sys.argv[1] + '/X.npy')))"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)
    assert np.array_equal(np.load(tmp_path / "y.npy"), FITTED["nested"].predict(X))


def test_a_file_says_what_it_is(tmp_path: Path) -> None:
    models.save(SOURCE, tmp_path / "m", FEATURES, data="ResNet-18 on one thread")
    found = models.about(tmp_path / "m")
    assert (found.features, found.version) == (repr(FEATURES), FEATURES.version)
    assert (found.columns, found.data) == (WIDTH, "ResNet-18 on one thread")
    with zipfile.ZipFile(tmp_path / "m") as file:
        assert json.loads(file.read("model.json"))["format"] == models.store.FORMAT


@pytest.mark.parametrize(
    ("features", "said"),
    [
        (replace(FEATURES, version=2), "version 1 of Relation.*, and this is version 2"),
        (replace(FEATURES, thresholds=3), r"252 columns of .* gives 63 others"),
        (Context(), r"252 columns of Relation.*Context.* gives \d+ others"),
        (Joined((Context(), Relation())), "give the features that it was fitted to"),
    ],
)
def test_other_features_are_refused(tmp_path: Path, features: Any, said: str) -> None:
    models.save(SOURCE, tmp_path / "m", FEATURES)
    with pytest.raises(ModelError, match=said):
        models.load(tmp_path / "m", features)


def test_features_of_one_space_alone_are_not_saved(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="mean nothing in another space"):
        models.save(SOURCE, tmp_path / "m", KnobValues())
    assert not list(tmp_path.iterdir())


@dataclass(frozen=True)
class Mine:
    """A predictor of somebody else's."""

    weight: float

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.weight * X[:, 0].astype(np.float64)

    def pack(self) -> Packed:
        return Packed({"weight": self.weight})

    @staticmethod
    def unpack(packed: Packed) -> Mine:
        return Mine(float(packed.values["weight"]))


def test_predictors_of_others_are_made_only_if_they_are_given(tmp_path: Path) -> None:
    models.save(Ensemble(base=_Always(Mine(2.0)), members=2).fit(_data()), tmp_path / "m", FEATURES)
    loaded = models.load(tmp_path / "m", FEATURES, classes=(Mine,))
    assert loaded.predict(_data().X).std() > 0
    with pytest.raises(ModelError, match=r"Mine', which is none of tilewright's; give its class"):
        models.load(tmp_path / "m", FEATURES)


@dataclass(frozen=True)
class _Always:
    predictor: Predictor

    def fit(self, data: Training, previous: Predictor | None = None) -> Predictor:  # noqa: ARG002
        return self.predictor


def test_what_cannot_be_packed_is_refused(tmp_path: Path) -> None:
    class Closed:
        def predict(self, X: np.ndarray) -> np.ndarray:
            return np.zeros(len(X))

    with pytest.raises(ModelError, match=r"cannot save Closed: it has no methods pack\(\)"):
        models.save(Closed(), tmp_path / "m", FEATURES)
    with pytest.raises(ModelError, match="cannot save a model to"):
        models.save(SOURCE, tmp_path / "nowhere" / "m", FEATURES)


class Evil:
    """What a pickle would run."""

    def __reduce__(self) -> Any:
        return (Path.touch, (Path("/tmp/tilewright-was-here"),))


def _zipped(path: Path, change: Callable[[dict[str, bytes]], Any]) -> None:
    """Change what is in a file, and zip it again: the archive itself is sound."""
    with zipfile.ZipFile(path) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    change(parts)
    with zipfile.ZipFile(path, "w") as file:
        for name, data in parts.items():
            file.writestr(name, data)


def _changed(path: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    def in_header(parts: dict[str, bytes]) -> None:
        header = json.loads(parts["model.json"])
        change(header)
        parts["model.json"] = json.dumps(header).encode()

    _zipped(path, in_header)


@pytest.mark.parametrize(
    "name",
    [
        "os:system", "subprocess:Popen", "tilewright.models.store:load", "builtins:eval",
        "tilewright.models.boosted:Boosted", "tilewright.models.packed:Storable",
        "tilewright.models.store:os", "tilewright.models...os:system", "tilewright.models.nope:X",
        "tilewright.models.transfer:Zeros.unpack", "", ":", 5, None, ["a"],
    ],
)  # fmt: skip
def test_a_file_cannot_name_what_else_to_call(tmp_path: Path, name: Any) -> None:
    path = tmp_path / "m"
    models.save(SOURCE, path, FEATURES)
    _changed(path, lambda header: header["predictor"].update({"class": name}))
    with pytest.raises(ModelError, match="cannot load"):
        models.load(path, FEATURES)


def test_pickles_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "m"
    path.write_bytes(pickle.dumps(Evil()))
    with pytest.raises(ModelError, match="it is no model file, or a damaged one"):
        models.load(path, FEATURES)
    models.save(SOURCE, path, FEATURES)
    _zipped(path, lambda parts: parts.update({"0": pickle.dumps(Evil())}))
    with pytest.raises(ModelError, match="the bytes of its Trees are not those that were saved"):
        models.load(path, FEATURES)
    with pytest.raises(ValueError, match="its trees are no UBJSON"):
        Trees.unpack(Packed(data=pickle.dumps(Evil())))
    assert not Path("/tmp/tilewright-was-here").exists()


DAMAGE: dict[str, Callable[[dict[str, Any]], Any]] = {
    "no format": lambda h: h.pop("format"),
    "no features": lambda h: h.pop("features"),
    "features of text": lambda h: h.update(features="Relation"),
    "no predictor": lambda h: h.pop("predictor"),
    "a list": lambda h: h.update(predictor=[]),
    "another part": lambda h: h["predictor"].update(data="7"),
    "one part": lambda h: h["predictor"]["parts"].pop(),
    "no number": lambda h: h["predictor"]["values"].update(worth="high"),
    "no spread": lambda h: h["predictor"]["values"].update(spread=0),
    "nothing in it": lambda h: h["predictor"].update(values=None),
    "no bytes": lambda h: h["predictor"]["parts"][0].pop("data"),
    "no digest": lambda h: h["predictor"]["parts"][0].pop("sha256"),
    "a version without end": lambda h: h["features"].update(version=math.inf),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_an_error_that_says_so(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "m"
    models.save(FITTED["transfer"], path, FEATURES)
    _changed(path, DAMAGE[damage])
    with pytest.raises(ModelError, match="it is no model file, or a damaged one"):
        models.load(path, FEATURES)


BYTES: dict[str, Callable[[bytes], bytes]] = {
    "none": lambda _: b"",
    "half": lambda data: data[: len(data) // 2],
    "more": lambda data: data + b"}",
    "others in the middle": lambda data: data[:200] + b"\xff" * 64 + data[264:],
    "one bit": lambda data: bytes([data[0] ^ 1]) + data[1:],
}


@pytest.mark.parametrize("damage", BYTES)
def test_bytes_are_read_only_if_they_are_what_was_saved(tmp_path: Path, damage: str) -> None:
    """XGBoost's reader would end the process."""
    path = tmp_path / "m"
    models.save(FITTED["nested"], path, FEATURES)
    _zipped(path, lambda parts: parts.update({"1": BYTES[damage](parts["1"])}))
    with pytest.raises(ModelError, match=r"a damaged one \(the bytes of its Trees are not those"):
        models.load(path, FEATURES)


NUMBERS = {
    "ensemble": ("middle", "kappa", "best", "spread"),
    "transfer": ("middle", "spread", "worth"),
}


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 10**400])
@pytest.mark.parametrize(("name", "key"), [(n, key) for n, keys in NUMBERS.items() for key in keys])
def test_numbers_are_finite(tmp_path: Path, name: str, key: str, value: float) -> None:
    path = tmp_path / "m"
    models.save(FITTED[name], path, FEATURES)

    def change(header: dict[str, Any]) -> None:
        values = header["predictor"]["values"]
        values[key] = [value, *values[key][1:]] if isinstance(values[key], list) else value

    _changed(path, change)
    with pytest.raises(ModelError, match="it is no model file, or a damaged one"):
        models.load(path, FEATURES)


def test_files_that_are_none(tmp_path: Path) -> None:
    path = tmp_path / "m"
    with pytest.raises(ModelError, match=r"No such file.*give the path of a file"):
        models.load(path, FEATURES)
    with pytest.raises(ModelError, match="cannot load"):
        models.load(tmp_path, FEATURES)
    models.save(SOURCE, path, FEATURES)
    whole = path.read_bytes()
    for size in (0, 10, len(whole) // 2, len(whole) - 10):
        path.write_bytes(whole[:size])
        with pytest.raises(ModelError, match="it is no model file, or a damaged one"):
            models.load(path, FEATURES)
    path.write_bytes(whole)
    _changed(path, lambda header: header.update(format=99))
    with pytest.raises(ModelError, match="its format is 99, and this tilewright reads 2"):
        models.load(path, FEATURES)
