"""Problem, and the two interfaces of a search: a spec that starts, and what asks and is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tilewright.errors import ArgumentError
from tilewright.space.space import Population, Space


@dataclass(frozen=True, eq=False, slots=True)
class Problem:
    """What is searched: a space, and the features (n, f) in float32 of n valid rows of it.

    `extract` is pure, and so are features: a row's never change. Those of a row that cannot be
    scheduled are NaN: it fails without being looked at. `prior` guesses scores, higher = better,
    before anything was measured. `weigh` says of rows that were told how much their scores count,
    from 0 to 1: less where repeats of a measurement differ much. Searches may ignore it.
    """

    space: Space[Any]
    extract: Callable[[Population], NDArray[np.float32]]
    prior: Callable[[Population], NDArray[np.float64]] | None = None
    weigh: Callable[[Population], NDArray[np.float64]] | None = None


class Searcher(Protocol):
    """A search under way. The same seed and the same calls give the same proposals."""

    def ask(self, n: int) -> Population:
        """Propose up to `n` different valid rows, none asked or told before.

        Fewer only if the space has no more to be found.
        """
        ...

    def tell(self, rows: Population, scores: NDArray[np.float64]) -> None:
        """Learn scores, higher = better, -inf = failed; in any order, of rows asked or not."""
        ...


class Search(Protocol):
    """A frozen spec of how to search, which many tasks can share.

    An attribute `features`, if it is there and not None, is the extractor for its problems.
    """

    def start(self, problem: Problem, rng: np.random.Generator) -> Searcher:
        """Begin; the searcher owns `rng` from here on."""
        ...


def demand(spec: Any, name: str, fits: bool, what: str) -> None:
    """Raise ArgumentError unless a field of a spec fits; NaN never does."""
    if not fits:
        kind, value = type(spec).__name__, getattr(spec, name)
        raise ArgumentError(f"{kind}({name}={value!r}): {name} is {what}.")


def proposals(searcher: Searcher, space: Space[Any], n: int) -> Population:
    """Ask for up to `n` rows; raise ArgumentError that names the search if these are none."""
    made: Any = searcher.ask(n)
    wanted = f"up to {n} rows of {len(space.knobs)} knobs, integers that count their options"
    rows = made if isinstance(made, np.ndarray) else None
    if rows is None:
        problem = f"{made!r:.60}"
    elif rows.ndim != 2 or rows.shape[1] != len(space.knobs) or rows.dtype.kind not in "iu":
        problem = f"{rows.dtype} of shape {rows.shape}"
    elif len(rows) > n:
        problem = f"{len(rows)} rows"
    elif (outside := ((rows < 0) | (rows >= space.sizes)).any(axis=1)).any():
        problem = (
            f"{rows[outside][0].tolist()}, where the knobs have {space.sizes.tolist()} options"
        )
    else:
        return rows.astype(np.int32, copy=False)
    raise ArgumentError(
        f"{type(searcher).__name__}.ask({n}) gave {problem}: return an array of {wanted}."
    )
