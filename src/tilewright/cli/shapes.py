"""Reading `--shape name=1x3x224x224`, and `--shape batch=1` for dimensions by name."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.errors import ArgumentError


def parse_shapes(texts: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Return the shapes by name; raise ArgumentError that shows how to write one."""
    shapes: dict[str, tuple[int, ...]] = {}
    for text in texts:
        name, _, sizes = text.rpartition("=")
        try:
            shape = tuple(int(size) for size in sizes.lower().split("x"))
        except ValueError:
            shape = ()
        if not name or not shape or min(shape) < 1:
            raise ArgumentError(
                f"cannot read --shape {text!r}: write input=1x3x224x224, or batch=1 for a "
                "dimension that the model names, with positive sizes."
            )
        if shapes.setdefault(name, shape) != shape:
            raise ArgumentError(f"--shape gives two shapes for {name!r}: give one of them.")
    return shapes
