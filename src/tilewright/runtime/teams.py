"""Threads that networks run on: they wait for the next run of whichever network it is.

All modules of a process share them, and each run has a team for itself. A thread that is late costs
a run no more than what it would have done (`codegen/llvm/team.py`), so a team is used as soon as
its threads were asked for, and also where the system starts fewer of them.
"""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock, Thread
from typing import Any

import numpy as np

from tilewright.codegen.llvm.team import LINE, begun
from tilewright.runtime.memory import empty

MOST_IDLE = 4  # teams that wait at once: more threads than that were asked for once, and no longer
_WORK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int32)
_END = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


@dataclass(frozen=True)
class Code:
    """What threads run: `work(team, thread)` until `end(team)`, at these addresses in `held`."""

    work: int
    end: int
    held: Any


class Team:
    """So many threads less the caller's, which wait at `address` for what they are to do."""

    def __init__(self, threads: int, code: Code) -> None:
        self.threads, self._code = threads, code
        start = begun(threads, len(os.sched_getaffinity(0)))
        self._memory = empty((len(start),), "uint8", LINE)
        self._memory[:] = np.frombuffer(start, np.uint8)
        self.address = self._memory.ctypes.data
        self._followers: list[Thread] = []
        with suppress(RuntimeError):  # there are no more threads to be had
            for thread in range(1, threads):
                # They end with the process at the latest, and hold what they read until then.
                follower = Thread(target=self._follow, args=(thread,), daemon=True)
                follower.start()
                self._followers.append(follower)

    def __repr__(self) -> str:
        return f"Team({self.threads} threads)"

    def _follow(self, thread: int) -> None:
        _WORK(self._code.work)(self.address, thread)

    def end(self, *, wait: bool = False) -> None:
        """Let the threads go; that is when each of them wakes."""
        _END(self._code.end)(self.address)
        for follower in self._followers if wait else ():
            follower.join()


class Teams:
    """The teams that nobody runs a network on, the last used at the end."""

    def __init__(self) -> None:
        self._idle: list[Team] = []
        self._lock = Lock()

    def __repr__(self) -> str:
        return f"Teams({self._idle})"

    def borrow(self, threads: int, code: Code) -> Team:
        """Return a team of so many threads until `give_back`; `code` is for new ones."""
        with self._lock:
            for at in reversed(range(len(self._idle))):
                if self._idle[at].threads == threads:
                    return self._idle.pop(at)
        return Team(threads, code)

    def give_back(self, team: Team) -> None:
        with self._lock:
            self._idle.append(team)
            ended = self._idle.pop(0) if len(self._idle) > MOST_IDLE else None
        if ended:
            ended.end()

    def end(self) -> None:
        """End the teams that wait: a process does before it forks, as no thread survives that."""
        with self._lock:
            ended, self._idle = self._idle, []
        for team in ended:
            team.end(wait=True)

    def forget(self) -> None:
        """Start anew in a forked child; a thread of its parent may have held the lock."""
        self._idle, self._lock = [], Lock()


TEAMS = Teams()  # threads belong to a process, and so do these
os.register_at_fork(before=TEAMS.end, after_in_child=TEAMS.forget)
