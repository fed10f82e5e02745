"""Import what depends on the order of elements: sorting, and running totals."""

from __future__ import annotations

from tilewright.graph.torch.indexing import LONG
from tilewright.graph.torch.pointwise import Importer
from tilewright.graph.torch.source import Refusal, Source
from tilewright.ops.program import Program, Step


def sort(source: Source) -> tuple[str, str]:
    """Sort along an axis; equal elements stay in their order, whether that is asked or not."""
    shape = source.shape()
    count = shape[source.axis("dim", len(shape))] if shape else 1
    return _sorted(source, count, bool(source.argument("descending", False)))


def top_k(source: Source) -> tuple[str, str]:
    return _sorted(source, source.argument("k"), bool(source.argument("largest", True)))


def _sorted(source: Source, count: int, greatest: bool) -> tuple[str, str]:
    value, shape = source.value(), source.shape() or (1,)
    axis = source.axis("dim", len(shape))
    if shape[axis] > LONG:
        raise Refusal(f"it sorts {shape[axis]} elements, each of which is compared with all others")
    value = source.reshaped(value, shape)
    seen = source.cast(value, "uint8") if source.dtype() == "bool" else value
    places = source.node("top_k", seen, axis=axis, count=count, least=int(not greatest))
    made = source.node("gather_elements", value, places, axis=axis)
    (out, _), _ = source.results
    return source.reshaped(made, out), source.reshaped(places, out)


def bucket(source: Source) -> str:
    """Count the bounds below each element, or not above it; bounds of each row or of all."""
    bounds = source.value("boundaries" if source.has("boundaries") else "sorted_sequence")
    if source.has("side") or source.has("sorter"):
        raise Refusal("it has a side by name, or bounds that are not sorted")
    shape, among = source.shape(), source.builder.shape(bounds)
    if among[-1] > LONG:
        raise Refusal(f"each element is compared with {among[-1]} bounds")
    if len(among) > 1:
        bounds = source.reshaped(bounds, (*among[:-1], 1, among[-1]))
    given = source.reshaped(source.value(), (*shape, 1))
    ((_, dtype),) = source.results
    right = source.argument("right", False)
    compared = Step("less_equal" if right else "less", (1, 0))
    passed = source.map(Program(2, (compared, Step("cast", (2,), (dtype,)))), given, bounds)
    made = source.node("reduce", passed, kind="sum", axes=(len(shape),))
    return source.reshaped(made, shape)


def total(kind: str) -> Importer:
    """Return the importer of running sums or products."""

    def imported(source: Source) -> str:
        ((shape, dtype),) = source.results
        value = source.operand("self", dtype)
        if not shape:
            return value
        axis = source.axis("dim", len(shape))
        return source.node("scan", value, kind=kind, axis=axis, exclusive=0, reverse=0)

    return imported
