"""Time several subjects in turn, so that a drifting clock meets all of them alike."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

Clock = Callable[[], float]
SAMPLE_SECONDS = 50e-6  # shorter calls are timed in groups, for the clock is no finer


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds a call took, sample by sample, in each round."""

    name: str
    rounds: tuple[tuple[float, ...], ...]

    @property
    def median(self) -> float:
        """The median over the rounds of each round's median: one slow spell does not move it."""
        return statistics.median(statistics.median(samples) for samples in self.rounds)

    @property
    def minimum(self) -> float:
        return min(min(samples) for samples in self.rounds)

    def speedup_over(self, other: Timing) -> float:
        """How many times faster this was than `other`: the median over the rounds of the ratio."""
        pairs = zip(self.rounds, other.rounds, strict=True)
        return statistics.median(
            statistics.median(theirs) / statistics.median(ours) for ours, theirs in pairs
        )


def interleave(
    subjects: Mapping[str, Callable[[], object]],
    *,
    rounds: int = 5,
    seconds: float = 0.3,
    warmup: float = 0.1,
    clock: Clock = time.perf_counter,
) -> dict[str, Timing]:
    """Time each subject for `seconds` in each of `rounds`, each round beginning with another one.

    Before its part of a round a subject runs untimed, for `warmup` seconds at first and a
    tenth of that later, so that its data and code are in the caches again. Every round holds at
    least one sample.
    """
    order = list(subjects)
    calls = {name: _calls_per_sample(subjects[name], warmup, clock) for name in order}
    samples: dict[str, list[tuple[float, ...]]] = {name: [] for name in order}
    for number in range(rounds):
        shift = number % len(order) if order else 0
        for name in order[shift:] + order[:shift]:
            _run_for(subjects[name], warmup / 10, clock)
            samples[name].append(_samples(subjects[name], calls[name], seconds, clock))
    return {name: Timing(name, tuple(samples[name])) for name in order}


def _calls_per_sample(subject: Callable[[], object], warmup: float, clock: Clock) -> int:
    count, spent = _run_for(subject, warmup, clock)
    return max(1, round(SAMPLE_SECONDS * count / max(spent, 1e-9)))


def _run_for(subject: Callable[[], object], seconds: float, clock: Clock) -> tuple[int, float]:
    """Call at least once and until `seconds` are over; return the calls and the time they took."""
    count, begin = 0, clock()
    while True:
        subject()
        count += 1
        spent = clock() - begin
        if spent >= seconds:
            return count, spent


def _samples(
    subject: Callable[[], object], calls: int, seconds: float, clock: Clock
) -> tuple[float, ...]:
    found: list[float] = []
    begin = clock()
    while True:
        start = clock()
        for _ in range(calls):
            subject()
        end = clock()
        found.append((end - start) / calls)
        if end - begin >= seconds:
            return tuple(found)


def by_threads(module: str) -> Iterator[tuple[int, Any]]:
    """Run this command again in a process of its own on one and on two threads.

    `module` is run with the arguments at hand and `--threads`; yield the threads and the JSON that
    its last line holds.
    """
    for threads in thread_counts():
        command = [sys.executable, "-m", module, *sys.argv[1:], "--threads", str(threads)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        yield threads, json.loads(done.stdout.splitlines()[-1])


def thread_counts() -> range:
    """Return one and two threads, or one where there is only one core."""
    return range(1, min(2, len(os.sched_getaffinity(0))) + 1)


@contextmanager
def busy(core: int) -> Generator[None]:
    """Keep a process busy on a core."""
    code = f"import os\nos.sched_setaffinity(0, {{{core}}})\nwhile True: pass"
    other = subprocess.Popen([sys.executable, "-c", code])
    try:
        time.sleep(0.2)
        yield
    finally:
        other.kill()
        other.wait()
