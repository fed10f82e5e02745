"""A space whose program may raise on candidates that its requirements admit.

What is tried by the thousand has its odd cases: a step that is illegal for one tile, a fault in one
branch. Those candidates stay in the space, so that each is tried once and its failure is told, and
the others lose nothing by them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from tilewright.errors import SpaceError
from tilewright.space.knobs import Knobs
from tilewright.space.run import Decided, Declaration, Run
from tilewright.space.space import Population, Space

T = TypeVar("T")
R = TypeVar("R")
_PROBES = 16  # candidates of one structure that are run alone to learn whether all of it raises


@dataclass(frozen=True, eq=False)
class Forgiving(Space[T]):
    """A space as `Space`, but a row on which the program raises is valid.

    `populations` leaves such rows out, and `instantiate` raises what the program does. What it
    raises on rows together, but on none of them alone, is a fault with arrays: that is raised.

    >>> def halves(knob):
    ...     n = knob.size("n", [2, 3, 4])
    ...     if np.any(n % 2):
    ...         raise ValueError("that is odd")
    ...     return n // 2
    >>> space = Forgiving.declare(halves)
    >>> rows = space.sample(np.random.default_rng(0), 3)
    >>> len(rows), sorted(n for _, made in space.populations(rows) for n in made.tolist())
    (3, [1, 2])
    """

    _raising: set[bytes] = field(default_factory=set[bytes], init=False, repr=False)  # rows
    _hopeless: dict[bytes, bool] = field(default_factory=dict[bytes, bool], init=False, repr=False)

    @staticmethod
    def declare(program: Callable[[Knobs], T]) -> Forgiving[T]:
        """Run `program` to learn its knobs; raise what it does if it always raises."""
        errors: list[Exception] = []

        def attempt(knob: Knobs) -> T:
            try:
                return program(knob)
            except SpaceError:
                raise
            except Exception as error:
                if isinstance(knob, Declaration) and knob.met:
                    errors.append(error)
                    knob.require(False)  # so that other options are tried
                raise

        try:
            declared = Space.declare(attempt)
        except SpaceError:
            if errors:
                raise errors[-1] from None
            raise
        return Forgiving(program, declared.knobs)

    def populations(self, pop: Population) -> list[tuple[NDArray[np.intp], T]]:
        """Run the program once for each structure among valid rows: (row numbers, what it made).

        Rows on which it raises are left out; a structure that has some is made in several parts.
        """
        made: list[tuple[NDArray[np.intp], T]] = []
        for structure, rows in self._groups(pop):
            if not self._hopeless.get(structure):
                rows = rows[~self._known(pop[rows])]
                made += self._together(structure, pop, rows) if len(rows) else []
        return made

    def _together(
        self, structure: bytes, pop: Population, rows: NDArray[np.intp]
    ) -> list[tuple[NDArray[np.intp], T]]:
        try:
            ((_, program),) = super().populations(pop[rows])
        except SpaceError:
            raise
        except Exception as error:
            known = len(self._raising)
            again = partial(self._together, structure, pop)
            made = self._apart(structure, pop, rows, error, again)
            if len(self._raising) == known and not self._hopeless.get(structure):
                raise  # not one of the rows raises: the program fails to work with arrays
            return made
        return [(rows, program)]

    def _meets(self, structure: bytes, pop: Population) -> NDArray[np.bool_]:
        """Return which rows of a structure are valid: those that raise met all they were asked."""
        met = self._known(pop)
        alive = np.flatnonzero(~met)
        enough = self._asked.get(structure)
        if enough == 0:
            return np.ones(len(pop), bool)
        while len(alive):
            run = Run(self._named, self._values(pop[alive]), len(alive), enough)
            try:
                self.program(run)
                run.finish()
                self._asked[structure] = run.asked
            except Decided:
                pass
            except SpaceError:
                raise
            except Exception as error:
                if not run.met.all():
                    alive = alive[run.met]  # those that fail a requirement may well have raised
                    continue
                met[alive] = True
                again = partial(self._again, structure, pop)
                for rows, found in self._apart(structure, pop, alive, error, again):
                    met[rows] = found
                break
            met[alive] = run.met
            break
        return met

    def _again(
        self, structure: bytes, pop: Population, rows: NDArray[np.intp]
    ) -> list[tuple[NDArray[np.intp], NDArray[np.bool_]]]:
        return [(rows, self._meets(structure, pop[rows]))]

    def _apart(
        self,
        structure: bytes,
        pop: Population,
        rows: NDArray[np.intp],
        error: Exception,
        again: Callable[[NDArray[np.intp]], list[R]],
    ) -> list[R]:
        """Do `again` with half of the rows each, as they raise `error` together.

        One that raises alone is remembered and left out.
        """
        if len(rows) == 1:
            if self._outcome(pop[rows[0]]) != "raises":
                raise error
            self._raising.update(self.keys(pop[rows]))
            return []
        if self._is_hopeless(structure, pop[rows]):
            return []
        half = len(rows) // 2
        return again(rows[:half]) + again(rows[half:])

    def _is_hopeless(self, structure: bytes, pop: Population) -> bool:
        """Whether the program raises on all candidates of a structure, as far as a few can tell."""
        if structure not in self._hopeless and len(pop) >= _PROBES:
            picked = pop[np.linspace(0, len(pop) - 1, _PROBES).astype(int)]
            found = [self._outcome(row) for row in picked]
            self._hopeless[structure] = "made" not in found and found.count("raises") >= _PROBES / 2
        return self._hopeless.get(structure, False)

    def _outcome(self, row: NDArray[np.int32]) -> Literal["made", "raises", "not in the space"]:
        try:
            self.instantiate(self.config(row))
        except SpaceError:
            return "not in the space"
        except Exception:
            return "raises"
        return "made"

    def _known(self, pop: Population) -> NDArray[np.bool_]:
        """Return which rows are known to raise."""
        if not self._raising:
            return np.zeros(len(pop), bool)
        return np.array([key in self._raising for key in self.keys(pop)], bool)
