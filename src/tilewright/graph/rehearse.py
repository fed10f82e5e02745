"""Rehearsal: the best few schedules of each task, timed where they will run.

A trial times work by itself: what it reads lies in a cache of its own core, and nobody waits for
what it writes. In a network a layer reads what the one before has written, on several threads in
part on other cores, and all weights compete for one cache. So schedules that trials can hardly
tell apart, or that differ in kind, take turns inside of the network, and what wins there is kept.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from statistics import median

from tilewright.errors import ArgumentError, ModelError
from tilewright.graph.choices import candidates, known_as, schedules_of
from tilewright.graph.construct import Constructor
from tilewright.graph.model import Model
from tilewright.graph.module import Module
from tilewright.graph.plan import views
from tilewright.graph.random import random_inputs
from tilewright.models.bounds import positive
from tilewright.records.store import Records
from tilewright.runtime.threads import checked
from tilewright.target import host
from tilewright.tuning.result import Rehearsal
from tilewright.tuning.tune import MOST_REHEARSING

PASSES = 2  # over all tasks
SAMPLES, FEWEST = 24, 6  # runs of a candidate at most, and fewer than which say nothing
FINAL = 4  # times as many of what is chosen, against what is usual
LOOKING = 0.3  # the share of the seconds in which trials are looked at
GAIN = 0.01  # the share of its time, and its readers', by which a candidate has to be faster


def rehearse(
    model: Model,
    records: Records | str | Path,
    *,
    threads: int | None = None,
    seconds: float = MOST_REHEARSING,
) -> Rehearsal | None:
    """Time the best schedules on record inside of their network, and keep what is fastest there.

    `compile` takes it from then on, until a faster trial of that task comes. It takes up to about
    so many `seconds`. None is returned, and nothing chosen, if there is nothing to choose or so
    little time that few runs of the network fit into it. Tuning a network ends with it; it is of
    use on its own for records of other networks. Inputs are random. Raise ArgumentError for what is
    no network or no number of seconds, RecordsError for a file that holds no records or cannot be
    written, ModelError where memory runs out; what was chosen before is then kept.
    """
    if not isinstance(model, Model):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(
            f"cannot rehearse {model!r:.60} ({type(model).__name__}): give a network, as in "
            "rehearse(load_onnx('model.onnx'), records)."
        )
    if not positive(seconds):
        raise ArgumentError(f"cannot rehearse for {seconds!r} seconds: give a number above 0.")
    with schedules_of(records) as known:
        known.check_writable()
        try:
            return _rehearsed(model, known, checked(threads, host().cores), float(seconds))
        except MemoryError:
            raise ModelError(
                f"cannot rehearse {model!r:.60}: this machine's memory ran out; end what else "
                "needs it, or compile the network without: all trials are on record."
            ) from None


def _rehearsed(model: Model, records: Records, threads: int, seconds: float) -> Rehearsal | None:
    stage = _Stage(model, records, threads, seconds)
    first = now = [0] * len(stage.tasks)
    if stage.samples < FEWEST:
        return None
    for _ in range(stage.passes):
        before = now
        for group in stage.groups:
            if time.monotonic() < stage.choosing:
                now = stage.chosen(now, group)
        if now == before:
            break
    if not stage.compared:
        return None
    if now == first:
        stage.keep(now)
        ((_, whole),) = stage.timed((first,), stage.samples, stage.late)
        return Rehearsal(median(whole), median(whole), (), stage.lost)
    (_, old), (_, new) = stage.timed((first, now), FINAL * stage.samples, stage.late)
    after, before = median(new), median(old)
    kept = now if after < before else first
    stage.keep(kept)
    changed = tuple(t.name for t, i in zip(stage.tasks, kept, strict=True) if i)
    return Rehearsal(before, min(before, after), changed, stage.lost)


class _Stage:
    """A network whose tasks are done in any of their candidates' ways, by a number for each task.

    The first candidate of a task is what is usual. `samples` is how often each can run until it is
    `late`; `choosing` ends before, with time to run what is chosen against what is usual.
    """

    def __init__(self, model: Model, records: Records, threads: int, seconds: float) -> None:
        self._model, self._records, self._threads = model, records, threads
        self._construct = Constructor(model, host(), threads)
        self.tasks = self._construct.tasks
        now = time.monotonic()
        self.late = now + seconds
        self.passes = PASSES
        self._candidates = candidates(model, self._construct, records, now + LOOKING * seconds)
        self._windows = windows(model, self._construct.numbers)
        self._inputs = tuple(random_inputs(model.graph.inputs).values())
        self._prepared: set[tuple[int, int]] = set()
        self._run = self._took = self._had = 0.0  # seconds: of a run, of all, and on a core
        self.compared = False  # whether any candidate was timed beside what is usual
        self.samples = self._affordable_samples()
        self.choosing = self.late - 2 * FINAL * self.samples * self._run

    @cached_property
    def groups(self) -> list[list[int]]:
        """Tasks with a choice, in groups of those whose effects do not meet."""
        open_tasks = [t for t, of in enumerate(self._candidates) if len(of) > 1]
        return apart(self._windows, open_tasks)

    @property
    def lost(self) -> float:
        """The share of the time of all runs in which this thread had no core, or nothing to do."""
        return max(0.0, 1 - self._had / self._took) if self._took else 0.0

    def _affordable_samples(self) -> int:
        """Return how often each candidate can run before it is late.

        Where that says nothing, there is one pass only, then fewer candidates of each task.
        """
        begin = time.monotonic()
        usual = self._module([0] * len(self.tasks), self.late) if self.groups else None
        if usual is None:
            return 0
        compiling = (time.monotonic() - begin) / len(self.tasks)
        self._run = _least(*self._profiled(usual, 1))
        if 2 * FINAL * FEWEST * self._run < self.late - time.monotonic():
            self._run = min(self._run, _least(*self._profiled(usual, 2)))
        samples = 0
        for self.passes, most in ((PASSES, None), (1, None), (1, 4), (1, 2)):
            self._candidates = [of[:most] for of in self._candidates]
            modules = sum(max(len(self._candidates[t]) for t in group) for group in self.groups)
            others = sum(map(len, self._candidates)) - len(self.tasks)
            left = self.late - time.monotonic() - compiling * others
            runs = self.passes * modules + 2 * FINAL
            samples = min(SAMPLES, int(left / (self._run * runs)))
            if samples >= FEWEST:
                break
        return samples

    def chosen(self, now: list[int], group: Sequence[int]) -> list[int]:
        """Return what is fastest for the tasks of a group, with the others as they are `now`.

        Of what was timed, that is: when it is late no further candidates are.
        """
        count = max(len(self._candidates[t]) for t in group)
        turns = [
            [(i + v) % len(self._candidates[t]) if t in group else i for t, i in enumerate(now)]
            for v in range(count)
        ]
        times = [calls for calls, _ in self.timed(turns, self.samples, self.choosing)]
        turns = turns[: len(times)]
        self.compared |= len(turns) > 1
        best = list(now)
        for t in group:
            costs = {
                i: sum(_middle(times, turns, t, i, call) for call in self._windows[t])
                for i in sorted({turn[t] for turn in turns})
            }
            least = min(costs, key=costs.__getitem__)
            if costs[least] < (1 - GAIN) * costs[now[t]]:
                best[t] = least
        return best

    def timed(
        self, turns: Sequence[list[int]], samples: int, late: float
    ) -> list[tuple[list[list[float]], list[float]]]:
        """Run modules in turn; return for each the seconds of each call, and of whole runs.

        When it is `late`, no more of them are made, nor is one that is made run again: the result
        is then of fewer turns, or samples.
        """
        modules: list[Module] = []
        times: list[tuple[list[list[float]], list[float]]] = []
        for turn in turns:
            module = self._module(turn, late)
            if module is None or (len(modules) > 1 and time.monotonic() > late):
                break
            modules.append(module)
            times.append(self._profiled(module, FEWEST))
        for number in range(1, -(-samples // FEWEST)):
            for i in range(len(modules)):
                if time.monotonic() > late:
                    return times
                at = (i + number) % len(modules)  # each begins once
                calls, whole = self._profiled(modules[at], FEWEST)
                times[at][1].extend(whole)
                for seconds, more in zip(times[at][0], calls, strict=True):
                    seconds += more
        return times

    def _profiled(self, module: Module, repeats: int) -> tuple[list[list[float]], list[float]]:
        """Return the seconds of each call and of whole runs; of one more, which is not counted.

        What another module left in the caches is gone after a run.
        """
        begin, had = time.perf_counter(), time.thread_time()
        profile = module.profile(*self._inputs, threads=self._threads, repeats=repeats + 1)
        self._took += time.perf_counter() - begin
        self._had += time.thread_time() - had
        calls = [list(timed.seconds[1:]) for timed in profile.calls]
        return calls, list(profile.whole.seconds[1:])

    def keep(self, numbers: Iterable[int]) -> None:
        """Put on record which candidates are the network's."""
        chosen = [of[i].choice for of, i in zip(self._candidates, numbers, strict=True)]
        where = self.tasks[0].where
        self._records.choose(known_as(self._model), where, [c for c in chosen if c is not None])

    def _module(self, numbers: Sequence[int], late: float) -> Module | None:
        """Return a module that is made before it is `late`, or whose parts are made; else None."""
        for made in enumerate(numbers):
            if made not in self._prepared:
                if time.monotonic() > late:
                    return None
                task, number = made
                self._construct.prepare(task, self._candidates[task][number].way)
                self._prepared.add(made)
        return self._construct.module(
            [of[i].way for of, i in zip(self._candidates, numbers, strict=True)]
        )


def _least(calls: Sequence[Sequence[float]], whole: Sequence[float]) -> float:
    """Return the least seconds of a run as a whole and then call by call."""
    return min(whole) + sum(map(min, calls))


def _middle(
    times: Sequence[Sequence[Sequence[float]]],
    turns: Sequence[Sequence[int]],
    task: int,
    candidate: int,
    call: int,
) -> float:
    """Return the median seconds of a call in the turns in which a task had this candidate."""
    return median(
        seconds
        for calls, turn in zip(times, turns, strict=True)
        if turn[task] == candidate
        for seconds in calls[call]
    )


def windows(model: Model, numbers: Sequence[int]) -> list[frozenset[int]]:
    """Return for each task the calls that its schedule has an effect on.

    These are its own, and those that read what they have written. `numbers` says of which task each
    call is, in the order in which they run.
    """
    seen = views(model.graph)
    nodes = [n for n, w in zip(model.graph.nodes, model.bound, strict=True) if w is not None]
    makers = {node.output.name: call for call, node in enumerate(nodes)}
    found = [set[int]() for _ in range(max(numbers, default=-1) + 1)]
    for call, (node, task) in enumerate(zip(nodes, numbers, strict=True)):
        found[task].add(call)
        for name in node.inputs:
            while name in seen:
                name = seen[name].source
            if name in makers:
                found[numbers[makers[name]]].add(call)
    return [frozenset(calls) for calls in found]


def apart(windows: Sequence[frozenset[int]], tasks: Iterable[int]) -> list[list[int]]:
    """Return tasks in few groups, of which no two tasks share a call.

    >>> apart([frozenset({0, 1}), frozenset({1, 2}), frozenset({2})], range(3))
    [[0, 2], [1]]
    """
    groups: list[list[int]] = []
    for task in sorted(tasks, key=lambda t: -len(windows[t])):
        for group in groups:
            if not any(windows[task] & windows[other] for other in group):
                group.append(task)
                break
        else:
            groups.append([task])
    return groups
