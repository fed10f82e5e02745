"""A network that a package ships, as a value."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath

from benchmarks.packages.inputs import Input


@dataclass(frozen=True, slots=True)
class Package:
    """A published package; `licence` is what it states."""

    name: str
    version: str
    licence: str


@dataclass(frozen=True, slots=True)
class Network:
    """Where a network lies, what it is fed, and how far its outputs may be off.

    `file` is the path of the ONNX file in the wheel, `beside` those of files that it refers to,
    each with its SHA-256. `inputs` are in the order of the file. `tolerance` is relative to the
    largest value of an output. `control` says what control flow the file has, if any.
    """

    name: str
    package: Package
    file: str
    sha256: str
    inputs: tuple[Input, ...]
    beside: tuple[tuple[str, str], ...] = ()
    tolerance: float = 1e-4
    control: str = ""

    @property
    def filename(self) -> str:
        return PurePosixPath(self.file).name
