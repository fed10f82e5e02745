"""A function in a process of its own, whose crash or hang costs one request."""

from __future__ import annotations

import contextlib
import pickle
import weakref
from collections.abc import Collection
from multiprocessing.connection import Connection
from typing import Any, Self

from tilewright.measure.answer import Answer, Crashed, Raised, TimedOut, shorten
from tilewright.measure.forkserver import ForkServer, WorkerError


class Worker:
    """Answers requests one at a time with `function(request)`, in another process.

    `target` is an import path, "package.module:factory". The process calls `factory(*setup)` once
    and then the function which that returns, on every request. Both travel by pickle, so neither
    closures nor anything from a `__main__` module can. The module is imported in a server that only
    forks: importing must not compute in parallel, and setting up should be quick.

    `cpus` pins the process. `memory_bytes` bounds its address space. `lifetime` is the number
    of requests after which a process is replaced, since compilers leak; `start_timeout` (seconds)
    bounds the import and the setting up, each. A worker that cannot be set up raises `WorkerError`
    at the first request.

    Processes start with the first request and end with `close`, or with this process, however it
    ends. Not to be shared by threads.
    """

    def __init__(
        self,
        target: str,
        setup: tuple[Any, ...] = (),
        *,
        cpus: Collection[int] = (),
        memory_bytes: int | None = None,
        lifetime: int = 1000,
        start_timeout: float = 60.0,
    ) -> None:
        module, _, name = target.partition(":")
        if not name or module == "__main__":
            raise WorkerError(
                f"cannot run {target!r} in a worker: it must read 'package.module:function', and "
                "the module must be one that another process can import."
            )
        self._target = target
        self._setup = pickle.dumps(setup, pickle.HIGHEST_PROTOCOL)
        self._cpus = tuple(cpus)
        self._memory_bytes = memory_bytes
        self._lifetime = lifetime
        self._start_timeout = start_timeout
        self._server: ForkServer | None = None
        self._channel: Connection | None = None
        self._served = 0
        self._busy = False
        self._finish: weakref.finalize[[], Self] | None = None

    @property
    def busy(self) -> bool:
        """Whether a request was submitted whose answer has not been taken."""
        return self._busy

    def submit(self, request: Any) -> None:
        """Send a request; the answer is taken with `wait` before the next one is sent."""
        if self._busy:
            raise RuntimeError("a worker takes one request at a time; wait for its answer first.")
        data = pickle.dumps(request, pickle.HIGHEST_PROTOCOL)
        if self._channel is not None and self._served >= self._lifetime:
            self.abort()
        channel = self.start()
        assert self._server is not None
        self._server.forget()
        self._busy = True
        self._served += 1
        with contextlib.suppress(ConnectionError):  # it died while idle: `wait` tells how
            channel.send_bytes(data)

    def poll(self) -> bool:
        """Return whether `wait` would answer at once."""
        return self._busy and self._channel is not None and self._channel.poll()

    @property
    def channel(self) -> Connection:
        """What becomes readable with the answer, for `multiprocessing.connection.wait`."""
        if self._channel is None:
            raise RuntimeError("a worker has a channel only between a request and its answer.")
        return self._channel

    def wait(self, timeout: float) -> Answer:
        """Take the answer to the request; after `timeout` seconds kill the process instead."""
        if not self._busy:
            raise RuntimeError("there is no request to wait for; submit one first.")
        channel = self.channel
        try:
            if not channel.poll(max(0.0, timeout)):
                return TimedOut(timeout, self._bury().stderr)
            data = channel.recv_bytes()
        except (EOFError, ConnectionError):
            return self._bury()
        self._busy = False
        return pickle.loads(data)

    def call(self, request: Any, timeout: float) -> Answer:
        """Submit a request and wait for its answer."""
        self.submit(request)
        return self.wait(timeout)

    def start(self) -> Connection:
        """Start the process and set it up now, if it is not there; return its channel."""
        if self._channel is not None:
            return self._channel
        if self._server is None:
            server = ForkServer(self._target, self._cpus, self._memory_bytes, self._start_timeout)
            self._finish = weakref.finalize(self, server.close)
            self._server = server
        try:
            self._channel = self._server.fork()
            self._served = 0
            self._set_up(self._channel)
        except BaseException:
            self.close()
            raise
        return self._channel

    def abort(self) -> None:
        """Kill the process with whatever it is doing; the next request gets a new one."""
        if self._channel is not None:
            self._bury()

    def _set_up(self, channel: Connection) -> None:
        problem = f"it was not set up within {self._start_timeout:g} s"
        try:
            channel.send_bytes(self._setup)
            if channel.poll(self._start_timeout):
                answer = pickle.loads(channel.recv_bytes())
                if not isinstance(answer, Raised):
                    return
                problem = answer.message
        except (EOFError, ConnectionError):
            problem = self._bury().message
        raise WorkerError(f"cannot set up a worker for {self._target}: {problem}")

    def _bury(self) -> Crashed:
        """Kill what is left of the process and its group, and say how it ended."""
        assert self._server is not None
        assert self._channel is not None
        self._busy = False
        self._channel.close()
        self._channel = None
        self._server.kill()
        ended = self._server.ended()
        crashed = Crashed(ended.cause if ended else "loss", shorten(self._server.stderr()))
        if ended is None:
            self.close()
        return crashed

    def close(self) -> None:
        """End the processes; a later request would start them anew."""
        self._busy = False
        if self._channel is not None:
            self._channel.close()
            self._channel = None
        if self._finish is not None:
            self._finish()
        self._server = self._finish = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
