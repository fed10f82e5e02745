"""Honest times: candidates are built and run in processes of their own, which may crash or hang."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tilewright.measure.answer import Answer, Crashed, Raised, Reply, TimedOut

if TYPE_CHECKING:  # what `__getattr__` loads on first use, and no process of a worker's
    from tilewright.measure.build import Request as Request
    from tilewright.measure.local import Local as Local
    from tilewright.measure.local import Measurer as Measurer
    from tilewright.measure.replay import Replay as Replay

_LAZY = {"Local": "local", "Measurer": "local", "Replay": "replay", "Request": "build"}

__all__ = [
    "Answer",
    "Crashed",
    "Local",
    "Measurer",
    "Raised",
    "Replay",
    "Reply",
    "Request",
    "TimedOut",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"tilewright.measure has no {name!r}; it has {', '.join(__all__)}.")
    return getattr(import_module(f"tilewright.measure.{_LAZY[name]}"), name)
