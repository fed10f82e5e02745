"""The backend tests of the `onnx` package: a model, inputs, and what must come out."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import version_converter
from onnx.backend.test.loader import load_model_tests

from tilewright.graph.onnx.read import OLDEST

KINDS = ("node", "simple", "pytorch-operator", "pytorch-converted")
MEASURED = ("node", "simple")  # the others are whole layers, written for operator set 6
Arrays = tuple[Any, ...]  # arrays; lists of them for sequences, None for an empty optional


@dataclass(frozen=True, eq=False)
class Case:
    """One test of the package. `stored` holds the files of one that is not made in memory."""

    name: str
    kind: str
    rtol: float
    atol: float
    stored: Path | None = None
    made: onnx.ModelProto | None = field(default=None, repr=False)
    given: tuple[tuple[Any, Any], ...] = field(default=(), repr=False)

    def model(self) -> onnx.ModelProto:
        if self.made is not None:
            return self.made
        assert self.stored is not None
        model = onnx.load(self.stored / "model.onnx")
        return _raised(model) if self.kind not in MEASURED else model

    def data(self) -> list[tuple[Arrays, Arrays]]:
        """Return the data sets: inputs in the order of the model's, and expected outputs."""
        if self.stored is not None:
            folders = sorted(self.stored.glob("test_data_set_*"))
            return [(_read(folder, "input"), _read(folder, "output")) for folder in folders]
        return [(tuple(map(_array, a)), tuple(map(_array, b))) for a, b in self.given]


def load(kinds: tuple[str, ...] = KINDS, containing: str = "") -> list[Case]:
    """Return the cases of these kinds whose names contain a text, by kind and name."""
    found: list[Case] = []
    for kind in kinds:
        with warnings.catch_warnings(action="ignore"):  # the package computes what overflows
            tests = load_model_tests(kind=kind)
        found += [
            Case(
                test.name,
                kind,
                test.rtol,
                test.atol,
                Path(test.model_dir) if test.model_dir else None,
                test.model,
                tuple(test.data_sets or ()),
            )
            for test in sorted(tests, key=lambda test: test.name)
            if containing in test.name
        ]
    return found


def nodes_of(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    """Yield the nodes of a graph and of the graphs that they hold."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from nodes_of(attribute.g)


def _raised(model: onnx.ModelProto) -> onnx.ModelProto:
    """Raise a model to the oldest operator set that is read, as the refusal of it advises."""
    if max(opset.version for opset in model.opset_import) >= OLDEST:
        return model
    try:
        return version_converter.convert_version(model, OLDEST)
    except version_converter.ConvertError:
        return model


def _read(folder: Path, end: str) -> Arrays:
    files = sorted(folder.glob(f"{end}_*.pb"), key=lambda file: int(file.stem.split("_")[1]))
    return tuple(_array(onnx.TensorProto.FromString(file.read_bytes())) for file in files)


def _array(value: Any) -> Any:
    if isinstance(value, np.generic):
        return np.asarray(value)
    return onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value
