"""Read the protobuf of an ONNX file, and say clearly what is wrong with one that is broken."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

import numpy as np
import onnx
import onnx.inliner
import onnx.parser
from google.protobuf import json_format, text_format
from google.protobuf.message import DecodeError

from tilewright.errors import ModelError
from tilewright.graph.onnx.mistaken import mistaken

# As onnx reads protobuf, and by a file's suffix JSON and two kinds of text.
_UNPARSED = (
    DecodeError,
    UnicodeDecodeError,
    json_format.ParseError,
    text_format.ParseError,
    onnx.parser.ParseError,
)
OLDEST = 7  # the operator set before which shapes were not repeated as NumPy does


def read(source: str | PathLike[str] | onnx.ModelProto) -> tuple[onnx.ModelProto, str]:
    """Return a model with its external data, functions inlined, and its name for messages.

    It is read from a path, or given. Raise `ModelError` if it is missing or broken.
    """
    if isinstance(source, onnx.ModelProto):
        return _ready(source, "the given model", None), "the given model"
    if not isinstance(source, str | PathLike):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ModelError(
            f"cannot load a model from {type(source).__name__} {source!r:.60}.\n"
            "  Give the path of an ONNX file, or an onnx.ModelProto."
        )
    path = Path(source)
    _check_path(path)
    if path.suffix == ".twm":
        raise ModelError(
            f"cannot load {path}: it is a compiled network, which module.save wrote, not an ONNX "
            "file.\n  Run it with tilewright.load; to tune it or to compile it anew, give the ONNX "
            "file that it was made from."
        )
    try:
        model = onnx.load(str(path), load_external_data=False)
    except _UNPARSED as error:
        raise _other(path) or _broken(path, f"it does not parse ({error})") from None
    except OSError as error:
        raise ModelError(f"cannot read {path}: {error.strerror}.") from None
    if not model.ByteSize() and (other := _other(path)):
        raise other
    return _ready(model, str(path), path.parent), str(path)


def _check_path(path: Path) -> None:
    try:
        if path.is_file():
            return
        why = "it is a directory" if path.is_dir() else "there is no such file"
    except OSError as error:
        why = str(error.strerror)
    raise ModelError(f"cannot load {path}: {why}.\n  Give the path of an ONNX model.")


def _other(path: Path) -> ModelError | None:
    """Return the error that names what else a file is; None if that is not known."""
    found = mistaken(path)
    if found is None:
        return None
    what, remedy = found
    return ModelError(f"cannot load {path}: it is no ONNX model, but {what}.\n  {remedy}")


def _ready(model: onnx.ModelProto, path: str, folder: Path | None) -> onnx.ModelProto:
    """Check a model, read the weights that lie in `folder`, and inline its functions."""
    if not model.ir_version or not model.graph.node:
        raise _broken(path, "it holds no graph")
    _check_operator_set(model, path)
    try:
        if folder is not None:
            onnx.load_external_data_for_model(model, str(folder))
    except (OSError, ValueError, onnx.checker.ValidationError) as error:
        raise ModelError(
            f"cannot load {path}: its weights lie in another file that cannot be read ({error})."
            "\n  Put that file beside the model, as its exporter did."
        ) from None
    if model.functions:
        model = onnx.inliner.inline_local_functions(model)
    return model


def constants_of(model: onnx.ModelProto, path: str) -> dict[str, np.ndarray]:
    """Return the arrays that are stored in the model, by name."""
    try:
        return {tensor.name: array_of(tensor) for tensor in model.graph.initializer}
    except ValueError as problem:
        raise _broken(path, str(problem)) from None


def array_of(tensor: onnx.TensorProto) -> np.ndarray:
    """Return the array that is stored in a tensor; raise ValueError if there is no such."""
    try:
        return onnx.numpy_helper.to_array(tensor)
    except MemoryError:
        raise ValueError(
            f"constant {tensor.name!r} of shape {tuple(tensor.dims)} does not fit into memory"
        ) from None
    except (
        *(ValueError, TypeError, KeyError, IndexError, OverflowError, OSError),
        onnx.checker.ValidationError,
    ) as error:
        raise ValueError(f"constant {tensor.name!r} does not fit its shape: {error}") from None


def _check_operator_set(model: onnx.ModelProto, path: str) -> None:
    versions = [o.version for o in model.opset_import if o.domain in ("", "ai.onnx")]
    newest = onnx.defs.onnx_opset_version()
    if len(versions) != 1 or versions[0] > newest:
        stated = ", ".join(map(str, versions)) or "not stated"
        raise ModelError(
            f"cannot load {path}: its operator set is {stated}; it must be one, and onnx "
            f"{onnx.__version__} knows up to {newest}.\n"
            "  Export it again for an older one, or update the onnx package."
        )
    if versions[0] < OLDEST:
        raise ModelError(
            f"cannot load {path}: it uses operator set {versions[0]}, older than {OLDEST}.\n"
            "  Export it again, or raise it with onnx.version_converter.convert_version."
        )


def _broken(path: str | Path, why: str) -> ModelError:
    return ModelError(
        f"cannot load {path}: it is no whole ONNX model: {why}.\n  Copy or export the file again."
    )
