"""Work that another operator does, seen otherwise: what all such operators take from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Around:
    """An operator made of another, whose space and tolerance are its own."""

    work: Any

    @property
    def tolerance(self) -> float:
        return float(getattr(self.work, "tolerance", 0.0))

    @property
    def space(self) -> Callable[..., Any] | None:
        return getattr(self.work, "space", None)
