"""Whether each call of an executable has the memory that it takes, and finds there what it reads.

What the code of a kernel does beyond its parameters nobody can say: see `twm.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import combinations

from tilewright.errors import ModelError
from tilewright.graph.executable import Executable, Parameter, Place, Region
from tilewright.runtime.memory import ALIGNMENT, padded

Span = tuple[int, int]


def verify(executable: Executable) -> Executable:
    """Return `executable` if every kernel is given memory that there is, of the size it takes.

    What it reads there was put there before, and it writes to none of it. Raise ModelError that
    says what does not fit.
    """
    _distinct("input", [value.name for value in executable.inputs])
    _distinct("kernel", [k.name for k in (*executable.kernels, executable.sequence)])
    room = _Room.of(executable)
    held = _Held()
    end = 0
    for call in executable.calls:
        where = f"the call of {call.node!r}"
        if not 0 <= call.kernel < len(executable.kernels):
            raise ModelError(f"{where} is of kernel {call.kernel}, which there is not.")
        wanted = executable.kernels[call.kernel].parameters
        if len(wanted) != len(call.places):
            raise ModelError(f"{where} has {len(call.places)} places for {len(wanted)} parameters.")
        used = [_Used.of(*pair) for pair in zip(call.places, wanted, strict=True)]
        for each in used:
            room.check(where, each.place, each.parameter)
            if each.place.region == "arena":
                end = max(end, each.span[1])
        held.run(where, used)
    for copy in executable.copies:
        where = f"output {copy.output}"
        if not 0 <= copy.output < len(executable.outputs) or copy.source.region == "arena":
            raise ModelError(f"a copy of {copy.source} to {where} cannot be.")
        nbytes = executable.outputs[copy.output].nbytes
        read, write = Parameter("read", nbytes), Parameter("write", nbytes)
        room.check(where, copy.source, read)
        to = Place("output", copy.output)
        held.run(f"the copy to {where}", [_Used.of(copy.source, read), _Used.of(to, write)])
    written = held.spans
    missing = [v.name for i, v in enumerate(executable.outputs) if ("output", i) not in written]
    if missing:
        raise ModelError(f"nothing writes the outputs {', '.join(missing)}.")
    if executable.arena != padded(end):
        raise ModelError(f"the calls use {end} bytes of an arena of {executable.arena}.")
    return executable


def _distinct(what: str, names: list[str]) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ModelError(f"there are two of the {what} {twice[0]!r}.")


@dataclass(frozen=True)
class _Room:
    """How many bytes there are: of each array of a region, and in the arena."""

    arrays: dict[Region, list[int]]
    arena: int

    @staticmethod
    def of(executable: Executable) -> _Room:
        return _Room(
            {
                "input": [value.nbytes for value in executable.inputs],
                "output": [value.nbytes for value in executable.outputs],
                "weight": [weight.nbytes for weight in executable.weights],
            },
            executable.arena,
        )

    def check(self, where: str, place: Place, parameter: Parameter) -> None:
        """Raise ModelError unless a place has the bytes of a parameter, and may be used for it."""
        wanted = f"{where} wants {parameter.nbytes} bytes to {parameter.use} at {place}"
        if place.region == "arena":
            # What is read may be a block of a value: rows of it, say, which begin anywhere.
            begins = place.at >= 0 and (parameter.use == "read" or place.at % ALIGNMENT == 0)
            if not begins or place.at > self.arena - parameter.nbytes:
                raise ModelError(f"{wanted}, of an arena of {self.arena}.")
            return
        sizes = self.arrays[place.region]
        if not 0 <= place.at < len(sizes):
            raise ModelError(f"{wanted}, which there is not.")
        if sizes[place.at] != parameter.nbytes:
            raise ModelError(f"{wanted}, which has {sizes[place.at]}.")
        free = ("read", "write") if place.region == "output" else ("read",)
        if parameter.use not in free:
            raise ModelError(f"{wanted}, which is not there for that.")


@dataclass(frozen=True, slots=True)
class _Used:
    """What a call uses a place for, and which bytes of which memory that is."""

    place: Place
    parameter: Parameter
    memory: tuple[Region, int]
    span: Span

    @staticmethod
    def of(place: Place, parameter: Parameter) -> _Used:
        if place.region == "arena":
            span = place.at, place.at + parameter.nbytes
            return _Used(place, parameter, ("arena", 0), span)
        return _Used(place, parameter, (place.region, place.at), (0, parameter.nbytes))

    def __str__(self) -> str:
        return f"{self.parameter.nbytes} bytes at {self.place}"


@dataclass
class _Held:
    """The spans of memory that hold something, after the calls so far; inputs and weights do."""

    spans: dict[tuple[Region, int], list[Span]] = field(
        default_factory=dict[tuple[Region, int], list[Span]]
    )

    def run(self, where: str, used: list[_Used]) -> None:
        """Raise ModelError if a call reads what is not there, or what it writes to as well."""
        for each in used:
            reads = each.parameter.use == "read" and each.memory[0] in ("arena", "output")
            if reads and _without([each.span], self.spans.get(each.memory, [])):
                raise ModelError(f"{where} reads {each}, and nothing has written all of that.")
        for one, other in combinations(used, 2):
            changed = {one.parameter.use, other.parameter.use} != {"read"}
            if changed and one.memory == other.memory and _meet(one.span, other.span):
                raise ModelError(f"{where} takes {one} and {other}, which overlap.")
        for each in used:
            if each.parameter.use != "read":
                left = _without(self.spans.get(each.memory, []), [each.span])
                wrote = [each.span] * (each.parameter.use == "write")
                self.spans[each.memory] = left + wrote


def _meet(one: Span, other: Span) -> bool:
    return max(one[0], other[0]) < min(one[1], other[1])


def _without(spans: list[Span], taken: Iterable[Span]) -> list[Span]:
    """Return what is left of spans.

    >>> _without([(0, 8), (10, 12)], [(2, 4), (6, 11)])
    [(0, 2), (4, 6), (11, 12)]
    """
    for begin, end in taken:
        cut = [piece for a, b in spans for piece in ((a, min(b, begin)), (max(a, end), b))]
        spans = [(a, b) for a, b in cut if a < b]
    return [(a, b) for a, b in spans if a < b]
