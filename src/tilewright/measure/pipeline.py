"""Builders and a runner at work at once: the next candidates are built while one is timed."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import wait as wait_readable
from typing import Any, Self, assert_never

from tilewright.measure.answer import Answer, Crashed, Raised, Reply, TimedOut
from tilewright.measure.worker import Worker
from tilewright.records.trial import Failed, Measured, Outcome, Stage


class Pipeline:
    """Measures candidates with builder workers and one runner, which it starts and closes.

    A builder's function takes a request and returns an artifact, both picklable and opaque here;
    the runner's takes the artifact and returns `Measured` or `Failed`. Either may raise, crash or
    hang (timeouts are in seconds): that is the `Failed` outcome of that candidate alone. A builder
    may return `Failed` as well.

    Candidates are timed strictly one at a time. With `overlap=False` nothing is built meanwhile,
    for runners that need the builders' cores.
    """

    def __init__(
        self,
        builders: Sequence[Worker],
        runner: Worker,
        *,
        build_timeout: float = 10.0,
        run_timeout: float = 10.0,
        overlap: bool = True,
    ) -> None:
        if not builders:
            raise ValueError("a pipeline needs at least one builder.")
        self._builders = tuple(builders)
        self._runner = runner
        self._build_timeout = build_timeout
        self._run_timeout = run_timeout
        self._overlap = overlap

    def start(self) -> None:
        """Start all processes now, rather than with the first candidate."""
        for worker in (*self._builders, self._runner):
            worker.start()

    def measure(self, requests: Iterable[Any]) -> Iterator[Outcome]:
        """Yield the outcome of each request, in their order, as soon as it is known.

        Requests are taken as builders become free, a few ahead of the runner. Leaving the iteration
        early kills what is under way and keeps the workers usable.
        """
        flow = _Flow(iter(requests), ahead=len(self._builders) + 1)
        try:
            while True:
                self._dispatch(flow)
                while flow.next_out in flow.outcomes:
                    outcome = flow.outcomes.pop(flow.next_out)
                    flow.next_out += 1
                    yield outcome
                if not flow.jobs and not flow.built and flow.exhausted:
                    return
                self._collect(flow)
        finally:
            for worker in flow.jobs:
                worker.abort()

    def _dispatch(self, flow: _Flow) -> None:
        """Give free workers something to do, the runner first, as it is what takes time."""
        if self._overlap:
            self._run_next(flow)
            self._build_more(flow)
        elif self._runner not in flow.jobs:
            self._build_more(flow)
            if not flow.jobs:
                self._run_next(flow)

    def _run_next(self, flow: _Flow) -> None:
        if flow.built and self._runner not in flow.jobs:
            index = min(flow.built)
            self._submit(flow, self._runner, index, flow.built.pop(index), "run")

    def _build_more(self, flow: _Flow) -> None:
        for builder in self._builders:
            if builder in flow.jobs or flow.is_full:
                continue
            request = flow.take()
            if request is None:
                return
            self._submit(flow, builder, request.index, request.payload, "build")

    def _submit(self, flow: _Flow, worker: Worker, index: int, payload: Any, stage: Stage) -> None:
        seconds = self._build_timeout if stage == "build" else self._run_timeout
        worker.submit(payload)
        flow.jobs[worker] = _Job(index, stage, seconds, time.monotonic() + seconds)

    def _collect(self, flow: _Flow) -> None:
        """Wait until some worker has answered or run out of time, and take what there is."""
        if not flow.jobs:
            return
        left = min(job.deadline for job in flow.jobs.values()) - time.monotonic()
        wait_readable([worker.channel for worker in flow.jobs], max(0.0, left))
        now = time.monotonic()
        for worker, job in list(flow.jobs.items()):
            if worker.poll() or job.deadline <= now:
                answer = worker.wait(0.0)
                del flow.jobs[worker]
                if isinstance(answer, TimedOut):
                    answer = TimedOut(job.seconds, answer.stderr)
                flow.settle(job, answer)

    def close(self) -> None:
        """End all processes."""
        for worker in (*self._builders, self._runner):
            worker.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass(frozen=True, slots=True)
class _Request:
    index: int
    payload: Any


@dataclass(frozen=True, slots=True)
class _Job:
    """What a worker is busy with, and until when (`time.monotonic`)."""

    index: int
    stage: Stage
    seconds: float
    deadline: float


@dataclass(slots=True)
class _Flow:
    """Where the candidates of one `measure` are: not taken, in work, built, or done."""

    requests: Iterator[Any]
    ahead: int
    exhausted: bool = False
    next_in: int = 0
    next_out: int = 0
    jobs: dict[Worker, _Job] = field(default_factory=dict[Worker, _Job])
    built: dict[int, Any] = field(default_factory=dict[int, Any])
    outcomes: dict[int, Outcome] = field(default_factory=dict[int, Outcome])

    @property
    def is_full(self) -> bool:
        """Whether enough is built, or being built, to keep the runner busy."""
        building = sum(job.stage == "build" for job in self.jobs.values())
        return building + len(self.built) >= self.ahead

    def take(self) -> _Request | None:
        for payload in self.requests:
            self.next_in += 1
            return _Request(self.next_in - 1, payload)
        self.exhausted = True
        return None

    def settle(self, job: _Job, answer: Answer) -> None:
        """Keep what came of a job: an artifact to run, or the candidate's outcome."""
        match answer:
            case Reply(Failed() as outcome):
                self.outcomes[job.index] = outcome
            case Reply(artifact) if job.stage == "build":
                self.built[job.index] = artifact
            case Reply(Measured() as outcome):
                self.outcomes[job.index] = outcome
            case Reply(value):
                kind = type(value).__name__
                raise TypeError(f"a runner must return Measured or Failed, but returned a {kind}.")
            case Raised(message):
                self.outcomes[job.index] = Failed(job.stage, "error", message)
            case TimedOut():
                self.outcomes[job.index] = Failed(job.stage, "timeout", answer.message)
            case Crashed():
                self.outcomes[job.index] = Failed(job.stage, "crash", answer.message)
            case _:
                assert_never(answer)
