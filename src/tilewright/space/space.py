"""Space: all candidates a program describes; a candidate is a row of option numbers.

A program may raise on candidates that its requirements admit: what is tried by the thousand has its
odd cases, a step that is illegal for one tile, a fault in one branch. They are valid, so that each
is tried once and its failure is told; populations leave them out, and the others lose nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Generic, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from tilewright.errors import SpaceError
from tilewright.space import moves
from tilewright.space.config import Config, Value
from tilewright.space.declare import declared
from tilewright.space.knobs import Knob, Knobs
from tilewright.space.run import Decided, Run, column, table
from tilewright.space.ways import Way, is_asked, ways

T = TypeVar("T")
R = TypeVar("R")
Population = NDArray[np.int32]  # a row a candidate, a column a knob: the number of an option
_PROBES = 16  # candidates of one structure that are run alone to learn whether all of it raises


@dataclass(frozen=True, eq=False)
class Space(Generic[T]):
    """What a program makes of every combination of its knobs; S_e in the paper.

    >>> def tiles(knob):
    ...     y, x = knob.split("y", 4, 2), knob.split("x", 4, 2)
    ...     knob.require(y[1] * x[1] <= 4)
    ...     return (y, x)
    >>> space = Space.declare(tiles)
    >>> print(space)
    9 configurations before requirements
      y: split of 3: (4, 1) (2, 2) (1, 4)
      x: split of 3: (4, 1) (2, 2) (1, 4)
    >>> space.instantiate(space.default())
    ((4, 1), (4, 1))

    A row on which the program raises is valid, but `populations` leaves it out:

    >>> def halves(knob):
    ...     n = knob.size("n", [2, 3, 4])
    ...     if np.any(n % 2):
    ...         raise ValueError("that is odd")
    ...     return n // 2
    >>> space = Space.declare(halves)
    >>> rows = space.sample(np.random.default_rng(0), 3)
    >>> len(rows), sorted(n for _, made in space.populations(rows) for n in made.tolist())
    (3, [1, 2])
    """

    program: Callable[[Knobs], T]
    knobs: tuple[Knob, ...]
    # How many requirements a program states for each structure: what it takes to check a candidate.
    _asked: dict[bytes, int] = field(default_factory=dict[bytes, int], init=False, repr=False)
    # The rows on which it raises, as far as that is known, and whether a whole structure does.
    _raising: set[bytes] = field(default_factory=set[bytes], init=False, repr=False)
    _hopeless: dict[bytes, bool] = field(default_factory=dict[bytes, bool], init=False, repr=False)

    @staticmethod
    def declare(program: Callable[[Knobs], T]) -> Space[T]:
        """Run `program` once for each way at its branches, to learn its knobs.

        Raise `SpaceError` if they depend on a knob's value, and what it does if it always raises.
        """
        return Space(program, declared(program))

    def __str__(self) -> str:
        count = f"{self.size:,}" if self.size < 10**9 else f"{self.size:.2e}"
        knobs = "".join(f"\n  {knob}" for knob in self.knobs)
        return f"{count} configuration{'s' * (self.size != 1)} before requirements{knobs}"

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """How many options each knob has."""
        return np.array([len(knob.options) for knob in self.knobs], np.int64)

    @cached_property
    def size(self) -> int:
        """How many combinations of options there are, requirements not considered."""
        return sum(way.size for way in self.ways)

    @cached_property
    def ways(self) -> tuple[Way, ...]:
        """The ways through the program's branches; one if it has none."""
        return ways(self.knobs)

    # -- a candidate as a row, a number, a Config, an instance

    def index(self, row: Iterable[int]) -> int:
        """Return the number of a row among all combinations, in `range(size)`."""
        row, start = list(row), 0
        for way in self.ways:
            if way.has(row):
                return start + way.number(row, self.sizes)
            start += way.size
        raise SpaceError(f"{row} is no row of this space.")

    def row(self, index: int) -> NDArray[np.int32]:
        """Return the row with this number; the reverse of `index`."""
        if not 0 <= index < self.size:
            raise SpaceError(f"no row has the number {index}; give one of 0 to {self.size - 1}.")
        return self.rows(np.array([index]))[0]

    def rows(self, numbers: NDArray[Any]) -> Population:
        """Return the rows with these numbers, last knob fastest."""
        out = np.zeros((len(numbers), len(self.knobs)), np.int32)
        start = 0
        for way in self.ways:
            mine = (numbers >= start) & (numbers < start + way.size)
            if mine.any():
                out[mine] = way.rows(numbers[mine] - start, self.sizes)
            start += way.size
        return out

    def asked(self, pop: Population) -> NDArray[np.bool_]:
        """Return, for each row and knob, whether the program asks for the knob on the row's way."""
        asked = np.ones(pop.shape, bool)
        for i, knob in enumerate(self.knobs):
            for name, value in knob.when:
                asked[:, i] &= pop[:, self._column[name]] == self._choices[name][value]
        return asked

    def canonical(self, pop: Population) -> Population:
        """Return the rows with the first option for each knob that is not asked for."""
        return np.where(self.asked(pop), pop, np.int32(0)) if self.branched else pop

    @cached_property
    def branched(self) -> bool:
        """Whether some knobs are asked for on some ways only."""
        return any(knob.when for knob in self.knobs)

    @cached_property
    def _column(self) -> dict[str, int]:
        return {knob.name: i for i, knob in enumerate(self.knobs)}

    def config(self, row: Iterable[int]) -> Config:
        """Return the values that a row stands for."""
        taken: dict[str, Value] = {}
        for knob, choice in zip(self.knobs, row, strict=True):
            if is_asked(knob, taken):
                taken[knob.name] = knob.options[int(choice)]
        return Config(tuple(taken.items()))

    def encode(self, config: Config) -> NDArray[np.int32]:
        """Return the row of a config; raise `SpaceError` if it has other knobs or values."""
        taken = dict(config.items)
        asked = {knob.name for knob in self.knobs if is_asked(knob, taken)}
        if set(config) != asked:
            raise SpaceError(
                f"cannot encode {config!r}: this space has the knobs "
                f"{', '.join(k.name for k in self.knobs if k.name in asked) or 'none'}; "
                "give these exactly."
            )
        return np.array(
            [self._choice(k, taken[k.name]) if k.name in asked else 0 for k in self.knobs],
            np.int32,
        )

    def _choice(self, knob: Knob, value: Any) -> int:
        choice = self._choices[knob.name].get(value)
        if choice is None:
            raise SpaceError(
                f"cannot encode {knob.name}={value}: it is not offered; give one of these options."
                f"\n  {knob}"
            )
        return choice

    def instantiate(self, config: Config) -> T:
        """Run the program with the values of one config."""
        self.encode(config)
        run = Run(self._named, dict(config.items))
        try:
            made = self.program(run)
        except Decided:
            raise SpaceError(
                f"{config!r} is not in the space: it fails requirement {run.asked} of "
                f"{self.program!r}; take a config from sample() or default()."
            ) from None
        run.finish()
        return made

    @cached_property
    def _default(self) -> Config:
        return self.config(moves.first(self))

    def default(self) -> Config:
        """Return the first valid config: by number if that is found soon, else by a fixed draw."""
        return self._default

    # -- many candidates at once

    def keys(self, pop: Population) -> list[bytes]:
        """Return a hashable identity for each row; `np.frombuffer(key, np.int32)` is the row."""
        pop = np.ascontiguousarray(pop, np.int32)
        if pop.shape[1] == 0:
            return [b""] * len(pop)
        return pop.view(f"V{4 * pop.shape[1]}").ravel().tolist()

    def valid(self, pop: Population) -> NDArray[np.bool_]:
        """Return which rows meet the requirements; those that raise met all they were asked."""
        met = np.ones(len(pop), bool)
        for structure, rows in self._groups(pop):
            if self._asked.get(structure) != 0:
                ask = partial(self._ask, structure, pop, met)
                self._apart(structure, pop, rows[~self._known(pop[rows])], ask, met)
        return met

    def _ask(
        self, structure: bytes, pop: Population, met: NDArray[np.bool_], rows: NDArray[np.intp]
    ) -> None:
        """Note in `met` which rows of a structure do not meet a requirement."""
        while len(rows):
            enough = self._asked.get(structure)
            run = Run(self._named, self._values(pop[rows]), len(rows), enough)
            try:
                self.program(run)
                run.finish()
                self._asked[structure] = run.asked
            except Decided:
                pass
            except SpaceError:
                raise
            except Exception:
                if run.met.all():
                    raise
                met[rows] = run.met  # those that fail a requirement may well have raised
                rows = rows[run.met]
                continue
            met[rows] = run.met
            break

    def populations(self, pop: Population) -> list[tuple[NDArray[np.intp], T]]:
        """Run the program once for each structure among valid rows: (row numbers, what it made).

        Rows on which it raises are left out; a structure that has some is made in several parts.
        """
        made: list[tuple[NDArray[np.intp], T]] = []
        met = np.ones(len(pop), bool)
        for structure, rows in self._groups(pop):
            if not self._hopeless.get(structure):
                make = partial(self._make, structure, pop)
                made += self._apart(structure, pop, rows[~self._known(pop[rows])], make, met)
        return made

    def _make(
        self, structure: bytes, pop: Population, rows: NDArray[np.intp]
    ) -> tuple[NDArray[np.intp], T]:
        run = Run(self._named, self._values(pop[rows]), len(rows))
        try:
            program = self.program(run)
        except Decided:
            raise SpaceError(
                f"cannot make a population of {len(rows)} rows: none meets the requirements of "
                f"{self.program!r}; keep the rows for which valid() is true."
            ) from None
        run.finish()
        self._asked[structure] = run.asked
        return rows, program

    def sample(self, rng: np.random.Generator, n: int) -> Population:
        """Draw up to `n` different valid rows; fewer only if more cannot be found."""
        return moves.sample(self, rng, n)

    def neighbours(self, rng: np.random.Generator, pop: Population) -> Population:
        """Change one knob in every row; a row for which a few tries are invalid stays as it is."""
        return moves.neighbours(self, rng, pop)

    def crossover(self, rng: np.random.Generator, a: Population, b: Population) -> Population:
        """Take each knob from a row of `a` or `b`; where a few tries are invalid, all from `a`."""
        return moves.crossover(self, rng, a, b)

    # -- rows on which the program raises

    def _apart(
        self,
        structure: bytes,
        pop: Population,
        rows: NDArray[np.intp],
        run: Callable[[NDArray[np.intp]], R],
        met: NDArray[np.bool_],
    ) -> list[R]:
        """Do `run` for rows of a structure, for those in `met` by halves where that raises.

        A row that raises alone is remembered and left out. What rows raise together, but none of
        them alone, is a fault with arrays: that is raised.
        """
        if not len(rows):
            return []
        try:
            return [run(rows)]
        except SpaceError:
            raise
        except Exception:
            rows, known = rows[met[rows]], len(self._raising)
            if len(rows) == 1:
                if self._outcome(pop[rows[0]]) != "raises":
                    raise
                self._raising.update(self.keys(pop[rows]))
                return []
            if self._is_hopeless(structure, pop[rows]):
                return []
            halves = np.array_split(rows, 2)
            made = [one for half in halves for one in self._apart(structure, pop, half, run, met)]
            if len(self._raising) > known or self._hopeless.get(structure):
                return made
        return [run(rows)]  # raises again, unless a half told how many requirements there are

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

    # -- rows to values

    @cached_property
    def _named(self) -> dict[str, Knob]:
        return {knob.name: knob for knob in self.knobs}

    @cached_property
    def _choices(self) -> dict[str, dict[Any, int]]:
        return {k.name: {option: i for i, option in enumerate(k.options)} for k in self.knobs}

    @cached_property
    def _tables(self) -> list[NDArray[np.int64] | None]:
        return [table(knob) for knob in self.knobs]

    @cached_property
    def _structural(self) -> list[int]:
        return [i for i, k in enumerate(self.knobs) if k.structural and len(k.options) > 1]

    def _values(self, pop: Population) -> dict[str, Any]:
        columns = zip(self.knobs, self._tables, pop.T, strict=True)
        return {knob.name: column(knob, options, choices) for knob, options, choices in columns}

    def _groups(self, pop: Population) -> list[tuple[bytes, NDArray[np.intp]]]:
        """Group the rows by their structural knobs, each group's row numbers in order."""
        if not len(pop):
            return []
        if not self._structural:
            return [(b"", np.arange(len(pop)))]
        keys = np.ascontiguousarray(pop[:, self._structural]).view(f"V{4 * len(self._structural)}")
        found, group = np.unique(keys.ravel(), return_inverse=True)
        order = np.argsort(group, kind="stable")
        ends = np.cumsum(np.bincount(group, minlength=len(found)))[:-1]
        return list(zip(found.tolist(), np.split(order, ends), strict=True))
