"""Space: all candidates a program describes; a candidate is a row of option numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from tilewright.errors import SpaceError
from tilewright.space import moves
from tilewright.space.config import Config, Value
from tilewright.space.knobs import Knob, Knobs
from tilewright.space.run import Decided, Declaration, Run, column, table
from tilewright.space.ways import Way, is_asked, ways

T = TypeVar("T")
Population = NDArray[np.int32]  # a row a candidate, a column a knob: the number of an option


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
    """

    program: Callable[[Knobs], T]
    knobs: tuple[Knob, ...]
    # How many requirements a program states for each structure: what it takes to check a candidate.
    _asked: dict[bytes, int] = field(default_factory=dict[bytes, int], init=False, repr=False)

    @staticmethod
    def declare(program: Callable[[Knobs], T]) -> Space[T]:
        """Run `program` once for each way at its branches, to learn its knobs."""
        knobs: dict[str, Knob] = {}
        ways: list[dict[str, Value]] = [{}]
        done: set[tuple[tuple[str, Value], ...]] = set()
        failure: _UndeclaredError | None = None
        runs = 0
        while ways:
            try:
                run = _declare(program, ways.pop(0), knobs)
                runs += 1
            except _UndeclaredError as error:  # other ways may still be fine
                failure, run = error, error.run
            knobs = run.knobs
            for name in run.values:
                branch = knobs[name]
                if branch.kind != "branch":
                    continue
                done.add((*branch.when, (name, run.values[name])))
                for option in branch.options:
                    path = (*branch.when, (name, option))
                    if path not in done:
                        done.add(path)
                        ways.append(dict(path))
        if failure is not None and not runs:
            raise failure
        space = Space(program, tuple(knobs.values()))
        space._probe()
        return space

    def _probe(self) -> None:
        """Raise `SpaceError` if some other options make the program ask for other knobs."""
        for _, pick in zip(range(4), _picks(), strict=False):
            run = Run(self._named, _taken(self.knobs, pick), lenient=True)
            try:
                self.program(run)
            except SpaceError:
                raise
            except Exception:
                continue  # outside the space, or a fault that instantiate() will show
            run.finish()

    def __str__(self) -> str:
        count = f"{self.size:,}" if self.size < 10**9 else f"{self.size:.2e}"
        knobs = "".join(f"\n  {knob}" for knob in self.knobs)
        return f"{count} configurations before requirements{knobs}"

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
        """Return which rows meet the program's requirements."""
        met = np.zeros(len(pop), bool)
        for structure, rows in self._groups(pop):
            met[rows] = self._meets(structure, pop[rows])
        return met

    def _meets(self, structure: bytes, pop: Population) -> NDArray[np.bool_]:
        met = np.zeros(len(pop), bool)
        alive = np.arange(len(pop))
        enough = self._asked.get(structure)
        if enough == 0:
            return ~met
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
            except Exception:
                if run.met.all():
                    raise
                alive = alive[run.met]  # those that fail a requirement may well have raised
                continue
            met[alive] = run.met
            break
        return met

    def populations(self, pop: Population) -> list[tuple[NDArray[np.intp], T]]:
        """Run the program once for each structure among valid rows: (row numbers, what it made)."""
        made: list[tuple[NDArray[np.intp], T]] = []
        for structure, rows in self._groups(pop):
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
            made.append((rows, program))
        return made

    def sample(self, rng: np.random.Generator, n: int) -> Population:
        """Draw up to `n` different valid rows; fewer only if more cannot be found."""
        return moves.sample(self, rng, n)

    def neighbours(self, rng: np.random.Generator, pop: Population) -> Population:
        """Change one knob in every row; a row for which a few tries are invalid stays as it is."""
        return moves.neighbours(self, rng, pop)

    def crossover(self, rng: np.random.Generator, a: Population, b: Population) -> Population:
        """Take each knob from a row of `a` or `b`; where a few tries are invalid, all from `a`."""
        return moves.crossover(self, rng, a, b)

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


class _UndeclaredError(SpaceError):
    """A way on which no candidate tried runs; `run` is the last that was tried."""

    def __init__(self, message: str, run: Declaration) -> None:
        super().__init__(message)
        self.run = run


def _declare(
    program: Callable[[Knobs], T], ways: dict[str, Value], knobs: dict[str, Knob]
) -> Declaration:
    """Run `program` down these ways: with the first options, or others if these fail."""
    run = Declaration(lambda _: 0, ways, knobs)
    for pick in _picks():
        run = Declaration(pick, ways, knobs)
        try:
            program(run)
        except SpaceError:
            raise
        except Exception:
            if run.met:
                raise
            continue  # the values picked are outside the space, where anything may fail
        return run
    raise _UndeclaredError(
        f"cannot declare the knobs of {program!r}: no candidate tried meets its requirements, "
        "and it raises on each; loosen them, or return before what raises.",
        run,
    )


def _taken(knobs: tuple[Knob, ...], pick: Callable[[Knob], int]) -> dict[str, Any]:
    """Return the values that `pick` gives to the knobs that are then asked for."""
    values: dict[str, Any] = {}
    for knob in knobs:
        if is_asked(knob, values):
            values[knob.name] = knob.options[pick(knob)]
    return values


def _picks() -> Iterator[Callable[[Knob], int]]:
    """Yield ways to pick an option of a knob: the first, the last, then draws with fixed seeds."""
    yield lambda _: 0
    yield lambda knob: len(knob.options) - 1
    for seed in range(62):
        draw = np.random.default_rng(seed)
        yield lambda knob, draw=draw: int(draw.integers(len(knob.options)))
