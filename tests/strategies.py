"""Hypothesis strategies for random expressions and schedules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from hypothesis import strategies as st
from tests import elements

import tilewright as tw
from tilewright import Schedule
from tilewright.testing import programs

T = TypeVar("T")


def _picker(draw: st.DrawFn) -> programs.Pick:
    def pick(options: Sequence[T], /) -> T:
        return draw(st.sampled_from(list(options)))

    return pick


@st.composite
def expressions(draw: st.DrawFn, max_points: int = 600) -> tw.Tensor:
    """Expressions of one to three stages."""
    return programs.program(_picker(draw), max_points=max_points)


@st.composite
def schedules(draw: st.DrawFn, steps: int = 6, max_points: int = 600) -> Schedule:
    """Legal schedules of random expressions: random steps, or tiles as operators make them."""
    pick: Any = _picker(draw)
    output = programs.program(pick, max_points=max_points)
    if draw(st.booleans()):
        return programs.tiled(pick, output)
    return programs.schedule(pick, output, steps=steps)


@st.composite
def operations(draw: st.DrawFn) -> tw.Tensor:
    """Random operations on single elements, of every type."""
    return elements.program(_picker(draw))
