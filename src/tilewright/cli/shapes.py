"""Reading `--shape name=1x3x224x224`."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.errors import ArgumentError


def parse_shapes(texts: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Return the shapes by input name; raise ArgumentError that shows how to write one."""
    shapes: dict[str, tuple[int, ...]] = {}
    for text in texts:
        name, _, sizes = text.rpartition("=")
        try:
            shape = tuple(int(size) for size in sizes.lower().split("x"))
        except ValueError:
            shape = ()
        if not name or not shape or min(shape) < 1:
            raise ArgumentError(
                f"cannot read --shape {text!r}: write input=1x3x224x224, with positive sizes."
            )
        shapes[name] = shape
    return shapes
