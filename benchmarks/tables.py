"""Tables of measurements as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isnan, nan, prod
from typing import TypedDict

OWN = "tilewright"
Seconds = Mapping[str, tuple[float, float]]  # of each subject, the median and the minimum


class Row(TypedDict):
    """What was measured of one work; `flops` are operations, `peak` operations a second."""

    flops: float
    peak: float
    seconds: Seconds


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table; short rows are filled up with empty cells.

    >>> print(table(["work", "ms"], [["C6", "1.0"], ["mean"]]))
    | work | ms |
    | --- | --- |
    | C6 | 1.0 |
    | mean | |
    """
    lines = [_line(header), _line(["---"] * len(header))]
    lines += [_line([*row, *[""] * (len(header) - len(row))]) for row in rows]
    return "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return "".join(f"| {cell} " if cell else "| " for cell in cells) + "|"


def geometric_mean(values: Sequence[float]) -> float:
    return prod(values) ** (1 / len(values)) if values else nan


def against(seconds: Seconds) -> tuple[float, float]:
    """Return how many times faster ours is than PyTorch's best variant, and than the best peer.

    Where there is none of these, or not ours, that is nan, which tables leave out.

    >>> against({"tilewright": (1, 1), "pytorch eager": (3, 3), "pytorch mv": (2, 2), "x": (4, 4)})
    (2.0, 2.0)
    """
    others = {name: medians[0] for name, medians in seconds.items() if name != OWN}
    torch = [median for name, median in others.items() if name.startswith("pytorch")]
    ours = seconds[OWN][0] if OWN in seconds else nan
    torch_best, best = (min(group, default=nan) / ours for group in (torch, others.values()))
    return torch_best, best


def speeds(rows: Mapping[str, Row]) -> str:
    """Return median GFLOP/s (in brackets the best) and share of the peak of each subject."""

    def cell(work: str, name: str) -> str:
        row = rows[work]
        return speed(row["flops"], *row["seconds"][name], row["peak"])

    return compared({work: row["seconds"] for work, row in rows.items()}, cell)


def compared(
    rows: Mapping[str, Seconds],
    cell: Callable[[str, str], str],
    weights: Mapping[str, int] | None = None,
    mean: str = "geometric mean",
) -> str:
    """Return `cell` of each work and subject, how much faster ours is, and the means of that.

    A work counts as often in the means as `weights` say, or once.
    """
    found = dict.fromkeys(name for seconds in rows.values() for name in seconds)
    names = sorted(found, key=lambda name: name != OWN)  # ours first
    lines: list[list[str]] = []
    ratios: list[tuple[float, float]] = []
    for work, seconds in rows.items():
        cells = [cell(work, name) if name in seconds else "-" for name in names]
        faster = against(seconds)
        ratios += [faster] * (1 if weights is None else weights[work])
        lines.append([work, *cells, *map(times, faster)])
    header = ["work", *names, "against torch", "against best"]
    absent = [i for i in (-2, -1) if all(line[i] == "-" for line in lines)]
    kept = [i for i in range(len(header)) if i - len(header) not in absent]
    if ratios and len(absent) < 2:
        lines.append([mean, *[""] * len(names), *means(ratios)])
    return table([header[i] for i in kept], [[line[i] for i in kept] for line in lines])


def speed(operations: float, median: float, least: float, peak: float) -> str:
    """Return operations a second, in 10^9, as median, best and share of the peak.

    >>> speed(2e9, 1.0, 0.5, 4e9)
    '2 (4) 50%'
    """
    rate = operations / median
    digits = 0 if rate >= 2e9 else 1
    return f"{rate / 1e9:.{digits}f} ({operations / least / 1e9:.{digits}f}) {rate / peak:.0%}"


def means(ratios: Sequence[tuple[float, ...]]) -> list[str]:
    """Return the geometric mean of each column, of the numbers that it holds.

    >>> means([(1.0, 4.0), (nan, 1.0)]), means([(nan, 3.0)])
    (['1.00 x', '2.00 x'], ['-', '3.00 x'])
    """
    columns = (
        [ratio for ratio in column if ratio == ratio] for column in zip(*ratios, strict=True)
    )
    return [times(geometric_mean(column)) for column in columns]


def times(ratio: float) -> str:
    """Return a ratio as text, as in "1.25 x"; "-" where there is none."""
    return "-" if isnan(ratio) else f"{ratio:.2f} x"
