"""The memory of one run at a time: a module has as many contexts as calls are under way."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from threading import Lock
from typing import Any

from tilewright.graph.executable import Array, Call, Place
from tilewright.graph.inputs import checked_inputs
from tilewright.graph.linked import Linked
from tilewright.runtime.memory import address, empty
from tilewright.runtime.threads import checked


@dataclass(frozen=True, slots=True)
class Timed:
    """A kernel call, or the call of a whole network, with the seconds that each run of it took."""

    call: Call | None
    seconds: tuple[float, ...]

    @property
    def least(self) -> float:
        return min(self.seconds)

    @property
    def median(self) -> float:
        return median(self.seconds)


@dataclass(frozen=True, slots=True)
class Profile:
    """`calls` are the kernels' in the order in which they run, `whole` is that of all in one.

    `print(profile)` shows a table of them.
    """

    calls: tuple[Timed, ...]
    whole: Timed

    def __repr__(self) -> str:
        return f"Profile({len(self.calls)} kernels, {self.whole.median * 1e3:.3f} ms in one call)"

    def __str__(self) -> str:
        total = sum(timed.median for timed in self.calls)
        rows = [("node", "work", "min us", "median us", "share")]
        for timed in self.calls:
            assert timed.call is not None
            share = timed.median / max(total, 1e-9)
            times = f"{timed.least * 1e6:.1f}", f"{timed.median * 1e6:.1f}", f"{share:.0%}"
            rows.append((timed.call.node, timed.call.work, *times))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(
                text.ljust(width) if i < 2 else text.rjust(width)
                for i, (text, width) in enumerate(zip(row, widths, strict=True))
            )
            for row in rows
        ]
        plural = "s" * (len(self.calls) != 1)
        lines.append(
            f"{len(self.calls)} kernel{plural}, {total * 1e3:.3f} ms in all; the whole network in "
            f"one call: {self.whole.median * 1e3:.3f} ms (min {self.whole.least * 1e3:.3f})"
        )
        return "\n".join(lines)


class Context:
    """Memory to run a network in, which shares its code and weights with the others.

    `context(x)` is `module(x)`, in this memory. Contexts run beside each other; calls of one wait
    for each other.
    """

    def __init__(self, linked: Linked, threads: int) -> None:
        self._linked, self._threads = linked, threads
        self._alone = Lock()  # held by a call while it uses the memory and the table of addresses
        self._arena = empty((max(1, linked.executable.arena),), "uint8")
        self._table = linked.table(self._arena.ctypes.data)

    def __repr__(self) -> str:
        nbytes = self._linked.executable.arena
        return f"Context({nbytes} bytes of memory, threads={self._threads})"

    def __call__(self, /, *arrays: Any, threads: int | None = None, **named: Any) -> Any:
        """Run the network; return its output, or a tuple of them, in new arrays.

        Arrays are given in the order of the inputs, or by name. Raise ArgumentError, which lists
        all that is wrong, if they do not fit.
        """
        count = checked(threads, self._threads)
        results = self.run(checked_inputs(self._linked.executable.inputs, arrays, named), count)
        return results[0] if len(results) == 1 else results

    def run(self, given: Sequence[Array], threads: int) -> tuple[Array, ...]:
        """Run on arrays that are known to fit; return all outputs."""
        with self._alone:
            results = self._bind(given)
            self._linked.run(self._table, threads)
        for copy in self._linked.executable.copies:
            source, result = self._source(copy.source, given, results), results[copy.output]
            result[...] = source.reshape(-1).view(result.dtype).reshape(result.shape)
        return results

    def profile(self, given: Sequence[Array], threads: int, repeats: int) -> Profile:
        """Run as a whole, then kernel by kernel, all of it `repeats` times."""
        calls = range(len(self._linked.executable.calls))
        whole: list[float] = []
        times: list[list[float]] = [[] for _ in calls]
        with self._alone:
            held = self._bind(given)  # the kernels write to it
            runs = [self._linked.kernel(i, self._table) for i in calls]
            self._linked.run(self._table, threads)
            for _ in range(repeats):
                begin = time.perf_counter_ns()
                self._linked.run(self._table, threads)
                whole.append((time.perf_counter_ns() - begin) * 1e-9)
                for i, run in enumerate(runs):
                    begin = time.perf_counter_ns()
                    run(threads)
                    times[i].append((time.perf_counter_ns() - begin) * 1e-9)
            del held
        made = zip(self._linked.executable.calls, times, strict=True)
        return Profile(
            tuple(Timed(call, tuple(seconds)) for call, seconds in made), Timed(None, tuple(whole))
        )

    def _bind(self, given: Sequence[Array]) -> tuple[Array, ...]:
        """Point the kernels at the caller's arrays, and at new ones for the outputs."""
        executable = self._linked.executable
        results = tuple(empty(value.shape, value.dtype) for value in executable.outputs)
        table = self._table
        for place, positions in self._linked.bound.items():
            at = address((given if place.region == "input" else results)[place.at])
            for position in positions:
                table[position] = at
        return results

    def _source(self, place: Place, given: Sequence[Array], results: Sequence[Array]) -> Array:
        match place.region:
            case "input":
                return given[place.at]
            case "weight":
                return self._linked.executable.weights[place.at]
            case _:
                return results[place.at]
