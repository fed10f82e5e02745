"""An executable in this process: its code linked, and the table of addresses that a run reads."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from tilewright.errors import ModelError
from tilewright.graph.executable import Executable, Kernel, Place
from tilewright.runtime.artifact import Artifact
from tilewright.runtime.load import Loaded, Loader
from tilewright.runtime.teams import TEAMS, Code

_RUN = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)


class Linked:
    """What all contexts of a module share; nothing in it changes.

    `bound` says, for each input and output, which entries of the table are its address.
    """

    def __init__(self, executable: Executable) -> None:
        """Link the code; raise ModelError for object code that cannot be."""
        self.executable = executable
        loader = Loader()
        self._kernels = [
            _load(loader, kernel, executable, f"{kernel.name}.within")
            for kernel in executable.kernels
        ]
        team = ("team.work", "team.end") if executable.shared else ()
        self._sequence = _load(loader, executable.sequence, executable, *team)
        self._run = _RUN(self._sequence.entry)
        self._team: Code | None = None
        if executable.shared:
            work, end = self._sequence.others
            self._team = Code(work, end, self._sequence.held)
        self.bound: dict[Place, list[int]] = {}
        self._table: list[int] = [self._kernels[c.kernel].others[0] for c in executable.calls]
        self._in_arena: list[tuple[int, int]] = []
        self.starts: list[int] = []
        for call in executable.calls:
            self.starts.append(len(self._table))
            for place in call.places:
                self._enter(place)

    def _enter(self, place: Place) -> None:
        position = len(self._table)
        self._table.append(0)
        match place.region:
            case "weight":
                self._table[position] = self.executable.weights[place.at].ctypes.data
            case "arena":
                self._in_arena.append((position, place.at))
            case "input" | "output":
                self.bound.setdefault(place, []).append(position)

    def table(self, arena: int) -> ctypes.Array[ctypes.c_void_p]:
        """Return a table for an arena at this address; inputs and outputs are still to be bound."""
        table = (ctypes.c_void_p * max(1, len(self._table)))(*self._table)
        for position, offset in self._in_arena:
            table[position] = arena + offset
        return table

    def run(self, table: Any, threads: int) -> None:
        """Make all calls, whose loops are shared out among so many threads."""
        if self._team is None or threads == 1:
            self._run(table, None)
            return
        team = TEAMS.borrow(threads, self._team)
        try:
            self._run(table, team.address)
        finally:
            TEAMS.give_back(team)

    def kernel(self, call: int, table: Any) -> Callable[[int], None]:
        """Return what runs the call of that number alone, with a number of threads."""
        run = self._kernels[self.executable.calls[call].kernel].run
        at = ctypes.addressof(table) + ctypes.sizeof(ctypes.c_void_p) * self.starts[call]
        return lambda threads: run(at, threads)


def _load(loader: Loader, kernel: Kernel, executable: Executable, *others: str) -> Loaded:
    artifact = Artifact(kernel.code, kernel.name, (), (), kernel.calls, executable.target, "")
    try:
        return loader.load(artifact, *others)
    except (RuntimeError, ValueError, KeyError) as error:
        raise ModelError(
            f"the object code of kernel {kernel.name!r} cannot be linked: {error}"
        ) from error
