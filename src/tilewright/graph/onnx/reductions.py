"""Import the reductions over axes, and sums of products."""

from __future__ import annotations

from collections.abc import Callable

from tilewright import dtypes
from tilewright.graph.ir import Shape
from tilewright.graph.onnx.source import Refusal, Source
from tilewright.ops.program import Program, Step


def reduction(
    kind: str, before: tuple[str, ...] = (), after: tuple[str, ...] = (), *, wide: bool = False
) -> Callable[[Source], str]:
    """Return the importer of a reduction, with functions of elements before and after it.

    Short floats are widened in between, and with `wide` integers become float64.
    """

    def imported(source: Source) -> str:
        over, dtype = _axes(source), source.dtype()
        held = "uint8" if dtype == "bool" else dtype
        if wide or (before and dtype in dtypes.SHORT_FLOATS):
            held = _wide(dtype)
        value = _converted(source, source.value(), held, "wide")
        if before:
            steps = tuple(_step(name, number) for number, name in enumerate(before))
            value = source.map(Program(1, steps), value, part="terms")
        if over:
            value = source.node("reduce", value, part="reduced", kind=kind, axes=over)
        if after:
            steps = tuple(_step(name, number) for number, name in enumerate(after))
            value = source.map(Program(1, steps), value, part="finished")
        return _finished(source, _converted(source, value, dtype, "narrow"), over)

    return imported


def mean(source: Source) -> str:
    """The sum over how many there are; of integers rounded to zero."""
    over, dtype = _axes(source), source.dtype()
    value = source.value()
    if not over:
        return _finished(source, value, over)
    if dtypes.is_float(dtype):
        value = source.node("reduce", value, part="reduced", kind="mean", axes=over)
        return _finished(source, value, over)
    count = 1
    for axis in over:
        count *= source.shape()[axis]
    value = _converted(source, value, "int64", "wide")
    value = source.node("reduce", value, part="sum", kind="sum", axes=over)
    steps = (Step("constant", (), (count, "int64")), Step("div", (0, 1)))
    value = source.map(Program(1, steps), value, part="mean")
    return _finished(source, _converted(source, value, dtype, "narrow"), over)


def log_sum_exp(source: Source) -> str:
    """The logarithm of the sum of powers of e: of what is less than the greatest, and then that."""
    over, dtype = _axes(source), source.dtype()
    held = _wide(dtype)
    value = _converted(source, source.value(), held, "wide")
    if over:
        top = source.node("reduce", value, part="top", kind="max", axes=over)
        endless = (
            Step("sub", (0, 0)), Step("equal", (1, 1)), Step("constant", (), (0.0, held)),
            Step("select", (2, 0, 3)),
        )  # fmt: skip
        top = source.map(Program(1, endless), top, part="shift")  # infinite ones shift nothing
        less = Program(2, (Step("sub", (0, 1)), Step("exp", (2,))))
        value = source.map(less, value, top, part="powers")
        value = source.node("reduce", value, part="sum", kind="sum", axes=over)
        more = Program(2, (Step("log", (0,)), Step("add", (2, 1))))
        value = source.map(more, value, top, part="log")
    return _finished(source, _converted(source, value, dtype, "narrow"), over)


def einsum(source: Source) -> str:
    """A sum of products; of more than two operands the first two are joined, and so on."""
    count = source.count
    terms, result = _equation(source)
    held = [(source.value(i), terms[i]) for i in range(count)]
    dtype = source.dtype()
    if dtype == "bool":
        raise Refusal("it is of bool, which is not multiplied")
    if count == 1:
        return source.node("einsum", held[0][0], equation=f"{terms[0]}->{result}")
    while len(held) > 1:
        (first, a), (second, b), *rest = held
        last = not rest
        wanted = result + "".join(term for _, term in rest)
        kept = result if last else "".join(dict.fromkeys(c for c in a + b if c in wanted))
        part = "" if last else f"of{count - len(rest)}"
        made = source.node("einsum", first, second, part=part, equation=f"{a},{b}->{kept}")
        held = [(made, kept), *rest]
    return held[0][0]


def _equation(source: Source) -> tuple[list[str], str]:
    """Return the letters of each operand and of the result; dots become letters, too."""
    text = source.attribute("equation", "").replace(" ", "")
    left, arrow, result = text.partition("->")
    terms, shapes = left.split(","), [source.shape(i) for i in range(source.count)]
    if len(terms) != len(shapes):
        raise Refusal(f"its equation {text!r} has {len(terms)} terms for {len(shapes)} operands")
    spare = [c for c in map(chr, (*range(65, 91), *range(97, 123))) if c not in text]
    ranks = [len(s) - len(t.replace("...", "")) for t, s in zip(terms, shapes, strict=True)]
    fits = all(r >= 0 and (r == 0 or "..." in t) for r, t in zip(ranks, terms, strict=True))
    most = max(ranks)
    if not fits or most > len(spare):
        raise Refusal(f"its equation {text!r} does not fit tensors of shapes {shapes}")
    dots = "".join(spare[:most])
    found = [t.replace("...", dots[len(dots) - r :]) for t, r in zip(terms, ranks, strict=True)]
    if arrow:
        result = result.replace("...", dots)
    else:
        letters = "".join(found)
        once = sorted(c for c in set(letters) if letters.count(c) == 1 and c not in dots)
        result = dots + "".join(once)
    return found, result


def _axes(source: Source) -> Shape:
    """Return the axes to reduce over: all, if none are stated, unless that means none."""
    rank = len(source.shape())
    axes = source.numbers("axes", 1)
    if axes:
        return tuple(sorted(source.axes(axes, rank)))
    return () if source.attribute("noop_with_empty_axes", 0) else tuple(range(rank))


def _finished(source: Source, value: str, over: Shape) -> str:
    """Drop the axes that were reduced over, unless they are kept."""
    shape = source.shape()
    if source.attribute("keepdims", 1) or not over:
        return value
    return source.reshaped(value, tuple(n for d, n in enumerate(shape) if d not in over))


def _wide(dtype: str) -> str:
    if dtype in dtypes.SHORT_FLOATS:
        return "float32"
    return dtype if dtypes.is_float(dtype) else "float64"


def _converted(source: Source, value: str, dtype: str, part: str) -> str:
    if source.builder.dtype(value) == dtype:
        return value
    return source.map(Program.of("cast", 1, dtype), value, part=part)


def _step(name: str, number: int) -> Step:
    return Step("mul", (number, number)) if name == "square" else Step(name, (number,))
