"""A clean process to fork workers from, seen from the process that uses it."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Collection
from dataclasses import dataclass
from multiprocessing.connection import Connection

from tilewright.measure.serve import ENDED, FORK, FORKED, KILL, NOTICE, READY

_START = """
import json, sys
path, arguments = json.loads(sys.argv[1])
sys.path[:] = path
from tilewright.measure.serve import main
main(*arguments)
"""

# How much of what a worker wrote is read back for a message.
_STDERR_BYTES = 4_000


class WorkerError(RuntimeError):
    """A worker that cannot be started at all: its function, or what it is set up with, is wrong."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a worker's process ended."""

    status: int

    @property
    def cause(self) -> str:
        """The signal's name ("SIGSEGV"), or "exit 3"."""
        code = os.waitstatus_to_exitcode(self.status)
        return signal.Signals(-code).name if code < 0 else f"exit {code}"


class ForkServer:
    """Starts on creation, in a session of its own; ends when closed or when this process ends.

    At most one forked worker lives at a time. What server and workers write to their standard
    output and error is kept in a file without name, see `stderr`.
    """

    def __init__(
        self, target: str, cpus: Collection[int], memory_bytes: int | None, start_timeout: float
    ) -> None:
        self._target = target
        self._output = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 (open until `close`)
        # Every writer appends, so that `forget` may truncate at any time.
        fcntl.fcntl(self._output, fcntl.F_SETFL, os.O_APPEND)
        self._control, theirs = socket.socketpair()
        path = [entry or os.getcwd() for entry in sys.path]
        arguments = [theirs.fileno(), target, sorted(cpus), memory_bytes]
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _START, json.dumps([path, arguments])],
                stdin=subprocess.DEVNULL,
                stdout=self._output,
                stderr=self._output,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        except BaseException:
            self._control.close()
            self._output.close()
            raise
        finally:
            theirs.close()
        self._start_timeout = start_timeout
        self._started = False

    def fork(self) -> Connection:
        """Fork a worker, once the one before has ended, and return the channel to it."""
        self._await_start()
        ours, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(self._control, [FORK], [theirs.fileno()])
        self._expect(FORKED)
        return Connection(ours.detach())

    def kill(self) -> None:
        """Kill the worker and its process group; `ended` tells when it is gone."""
        with contextlib.suppress(OSError):
            self._control.sendall(KILL)

    def ended(self) -> Ended | None:
        """Wait for the worker to end; None if the server itself is gone."""
        try:
            return Ended(self._expect(ENDED))
        except WorkerError:
            return None

    def stderr(self) -> str:
        """Return the end of what was written since `forget`."""
        size = os.fstat(self._output.fileno()).st_size
        data = os.pread(self._output.fileno(), _STDERR_BYTES, max(0, size - _STDERR_BYTES))
        return data.decode(errors="replace").strip()

    def forget(self) -> None:
        """Drop what was written so far."""
        self._output.truncate(0)

    def close(self) -> None:
        """End worker and server, and wait until they are gone."""
        self._control.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._output.close()

    def _await_start(self) -> None:
        if not self._started:
            self._control.settimeout(self._start_timeout)
            self._expect(READY)
            self._control.settimeout(None)
            self._started = True

    def _expect(self, wanted: int) -> int:
        """Read notices up to the wanted one and return its status."""
        while True:
            try:
                data = self._control.recv(NOTICE.size, socket.MSG_WAITALL)
            except TimeoutError:
                raise WorkerError(
                    f"the server of {self._target} did not start within {self._start_timeout:g} s; "
                    "its module takes too long to import."
                ) from None
            except ConnectionError:
                data = b""
            if len(data) < NOTICE.size:
                raise WorkerError(
                    f"the server of {self._target} ended; is its module importable, and the "
                    f"function in it? It said:\n{self.stderr()}"
                )
            kind, _, status = NOTICE.unpack(data)
            if kind == wanted:
                return status
