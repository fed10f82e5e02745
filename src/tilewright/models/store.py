"""Save and load fitted predictors: one file of plain data, which cannot run code when it is read.

The file is a zip archive: `model.json` says what the predictor is and which features it was fitted
to, and the other members are the bytes of its parts, such as XGBoost's own UBJSON. It holds their
digests too, as XGBoost's reader ends the process where such bytes are damaged.
"""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any, Protocol

from tilewright.errors import ModelError
from tilewright.models.model import Predictor
from tilewright.models.packed import Packed, Storable

FORMAT = 2
_OURS = "tilewright.models."
_HEADER = "model.json"
_DEEPEST = 8  # parts of parts


class Columns(Protocol):
    """What identifies features: an extractor's column `names` and `version`; see `features`."""

    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def version(self) -> int: ...


@dataclass(frozen=True, slots=True)
class About:
    """What a model file says of itself: the features it needs, and what it was trained on."""

    features: str
    version: int
    columns: int
    digest: str
    data: str


def save(predictor: Predictor, path: str | Path, features: Columns, data: str = "") -> None:
    """Write a predictor of these features to a file, all of it or nothing.

    `data` says for a reader what it was trained on. Raises `ModelError` for what cannot be packed.
    """
    path, of = _place("save", path), _described(features, data)
    if not of.columns:
        raise ModelError(
            f"cannot save a model of {of.features}: its columns mean nothing in another space; "
            "train it on features such as Relation()."
        )
    blobs: list[bytes] = []
    header = {
        "format": FORMAT,
        "features": {
            "extractor": of.features, "version": of.version, "columns": of.columns,
            "digest": of.digest,
        },
        "data": data,
        "predictor": _packed(predictor, blobs),
    }  # fmt: skip
    beside = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with zipfile.ZipFile(beside, "w", zipfile.ZIP_DEFLATED) as file:
            file.writestr(_HEADER, json.dumps(header, indent=1, allow_nan=False))
            for i, blob in enumerate(blobs):
                file.writestr(str(i), blob)
        beside.replace(path)
    except OSError as error:
        raise ModelError(
            f"cannot save a model to {path}: {error.strerror or error}; give the path of a file in "
            "a directory that can be written."
        ) from error
    finally:
        beside.unlink(missing_ok=True)


def load(
    path: str | Path, features: Columns, classes: tuple[type[Storable], ...] = ()
) -> Predictor:
    """Read a predictor that `save` wrote, for the features that it was fitted to.

    Predictors of `tilewright.models` are known; those of others have to be among `classes`. Raises
    `ModelError` for other features or another version of them, and for a file that is damaged.
    """
    wanted = _described(features, "")
    with _opened(path) as file:
        header = _header(file, path)
        _demand_same(_about(header, path), wanted, path)
        known = {_path_of(each): each for each in classes}
        try:
            return _unpacked(header["predictor"], file, known)
        except ModelError as error:
            raise ModelError(f"cannot load {path}: {error}") from error
        except _BROKEN as error:
            raise _damaged(path, error) from error


def about(path: str | Path) -> About:
    """Return what a model file says of itself; no predictor is made."""
    with _opened(path) as file:
        return _about(_header(file, path), path)


# -- what a reader must expect of a file that something else has written

_BROKEN = (
    ValueError, KeyError, TypeError, IndexError, zipfile.BadZipFile, zlib.error, EOFError,
    RecursionError, NotImplementedError, OSError, RuntimeError, OverflowError,
)  # fmt: skip


def _damaged(path: str | Path, error: object) -> ModelError:
    return ModelError(
        f"cannot load {path}: it is no model file, or a damaged one ({error}); give a file that "
        "models.save wrote, or fit the model again."
    )


def _opened(path: str | Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(_place("load", path))
    except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
        raise ModelError(
            f"cannot load {path}: {error.strerror}; give the path of a file that models.save wrote."
        ) from error
    except _BROKEN as error:
        raise _damaged(path, error) from error


def _header(file: zipfile.ZipFile, path: str | Path) -> dict[str, Any]:
    try:
        header = json.loads(file.read(_HEADER))
        found = header["format"]
    except _BROKEN as error:
        raise _damaged(path, error) from error
    if found != FORMAT:
        raise ModelError(
            f"cannot load {path}: its format is {found!r}, and this tilewright reads {FORMAT}; "
            "fit the model again, or use the tilewright that saved it."
        )
    return header


def _about(header: Mapping[str, Any], path: str | Path) -> About:
    try:
        f = header["features"]
        return About(
            str(f["extractor"]), int(f["version"]), int(f["columns"]), str(f["digest"]),
            str(header["data"]),
        )  # fmt: skip
    except _BROKEN as error:
        raise _damaged(path, error) from error


def _place(what: str, path: str | Path) -> Path:
    if not isinstance(path, str | PathLike) or not Path(path).name:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ModelError(
            f"cannot {what} {path!r:.60}: it names no file; give a path, as 'my.model'."
        )
    return Path(path)


def _described(features: Columns, data: str) -> About:
    if not hasattr(features, "names") or not hasattr(features, "version"):
        raise ModelError(
            f"{features!r:.60} are no features: give the extractor that the model is for, such as "
            "Relation()."
        )
    digest = _digest("\n".join(features.names).encode())[:16]
    return About(repr(features), features.version, len(features.names), digest, data)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _demand_same(saved: About, given: About, path: str | Path) -> None:
    if (saved.version, saved.digest) == (given.version, given.digest):
        return
    what = (
        f"version {saved.version} of {saved.features}, and this is version {given.version}"
        if saved.digest == given.digest
        else f"the {saved.columns} columns of {saved.features} (version {saved.version}), and "
        f"{given.features} (version {given.version}) gives {given.columns} others"
    )
    raise ModelError(
        f"cannot load {path}: it was fitted to {what}; give the features that it was fitted to, or "
        "fit it again, as in Boosted().fit(learn(records, tasks, features))."
    )


# -- predictors as plain data


def _packed(predictor: Predictor, blobs: list[bytes]) -> dict[str, Any]:
    if not isinstance(predictor, Storable):
        raise ModelError(
            f"cannot save {type(predictor).__name__}: it has no methods pack() and unpack(packed); "
            "see models.packed.Storable."
        )
    packed = predictor.pack()
    made: dict[str, Any] = {
        "class": _path_of(type(predictor)), "values": dict(packed.values),
        "sha256": _digest(packed.data),
    }  # fmt: skip
    if packed.data:
        made["data"] = str(len(blobs))
        blobs.append(packed.data)
    if packed.parts:
        made["parts"] = [_packed(part, blobs) for part in packed.parts]
    return made


def _unpacked(
    saved: Mapping[str, Any],
    file: zipfile.ZipFile,
    known: Mapping[str, type[Storable]],
    depth: int = 0,
) -> Predictor:
    if depth > _DEEPEST:
        raise ValueError("its parts are nested too deep")
    kind = _class(saved["class"], known)
    data = file.read(saved["data"]) if "data" in saved else b""
    if _digest(data) != saved["sha256"]:
        raise ValueError(f"the bytes of its {kind.__name__} are not those that were saved")
    parts = tuple(_unpacked(part, file, known, depth + 1) for part in saved.get("parts", ()))
    return kind.unpack(Packed(dict(saved["values"]), data, parts))


def _path_of(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


def _class(path: Any, known: Mapping[str, type[Storable]]) -> type[Storable]:
    """Return the class of this name: one that was given, or one of our own; nothing else."""
    if path in known:
        return known[path]
    module, _, name = str(path).partition(":")
    own = module.startswith(_OURS) and module.removeprefix(_OURS).isidentifier()
    if own and name in _names(module):
        return getattr(import_module(module), name)
    raise ModelError(
        f"it holds a predictor {path!r}, which is none of tilewright's; give its class, as in "
        "load(path, features, classes=(Mine,))."
    )


def _names(module: str) -> Iterator[str]:
    """Yield the storable classes that a module of ours defines itself."""
    try:
        found = vars(import_module(module))
    except ModuleNotFoundError as error:
        if error.name == module:
            return
        raise ModelError(
            f"its predictor needs {error.name}, which is not installed; install it."
        ) from error
    for name, value in found.items():
        own = isinstance(value, type) and value.__module__ == module
        if own and hasattr(value, "unpack") and not getattr(value, "_is_protocol", False):
            yield name
