"""Packed: a fitted predictor as plain data, which `models.store` writes and reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from tilewright.models.model import Predictor


@dataclass(frozen=True, slots=True)
class Packed:
    """What a predictor is made of: JSON `values`, `data` bytes, and predictors inside of it."""

    values: Mapping[str, Any] = field(default_factory=dict[str, Any])
    data: bytes = b""
    parts: tuple[Predictor, ...] = ()


@runtime_checkable
class Storable(Predictor, Protocol):
    """A predictor that can be written to a file. Nothing in what it packs may be run as code."""

    def pack(self) -> Packed:
        """Return what makes this predictor."""
        ...

    @staticmethod
    def unpack(packed: Packed) -> Storable:
        """Return the predictor that packed this; raise ValueError, KeyError or TypeError if none.

        It is read from a file that anyone may have written: check what could do harm.
        """
        ...
