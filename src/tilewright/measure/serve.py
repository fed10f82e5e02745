"""The other side of a worker: a clean server process that forks the workers, and their loop.

The server imports the worker's function once and then only forks, so that a worker that crashed is
replaced in milliseconds. It never runs what it imports: a process that has run a parallel region of
OpenMP must not fork.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import os
import pickle
import resource
import selectors
import signal
import socket
import struct
import sys
import traceback
from importlib import import_module
from multiprocessing.connection import Connection
from typing import Any, NoReturn

from tilewright.measure.answer import Raised, Reply, describe

FORK, KILL = b"F", b"K"  # commands to the server; FORK comes with a channel for the worker
READY, FORKED, ENDED = 1, 2, 3  # the server's notices
NOTICE = struct.Struct("!Bii")  # a notice, a process id, a wait status

# prctl(PR_SET_PDEATHSIG, ...): ask Linux for a signal when the parent ends.
_PDEATHSIG = 1


def main(control: int, target: str, cpus: list[int], memory_bytes: int | None) -> None:
    """Serve forks of `target` ("package.module:function") until the control socket closes."""
    if cpus:
        os.sched_setaffinity(0, cpus)  # before imports: runtimes count their cores when loaded
    module, _, name = target.partition(":")
    factory = getattr(import_module(module), name)
    gc.collect()
    gc.freeze()
    with socket.socket(fileno=control) as connection:
        _Server(connection, factory, memory_bytes).serve()


class _Server:
    """Forks one worker at a time, reports its end, and takes it along when the user is gone."""

    def __init__(self, control: socket.socket, factory: Any, memory_bytes: int | None) -> None:
        self._control = control
        self._factory = factory
        self._memory_bytes = memory_bytes
        self._worker = 0

    def serve(self) -> None:
        wake, woken = socket.socketpair()
        woken.setblocking(False)
        signal.set_wakeup_fd(woken.fileno())
        signal.signal(signal.SIGCHLD, lambda *_: None)
        with selectors.DefaultSelector() as selector, wake, woken:
            selector.register(self._control, selectors.EVENT_READ)
            selector.register(wake, selectors.EVENT_READ)
            self._notify(READY)
            while True:
                ready = {key.fileobj for key, _ in selector.select()}
                if wake in ready:
                    wake.recv(4096)
                    self._reap()
                if self._control in ready and not self._obey():
                    break
            signal.set_wakeup_fd(-1)
        if self._worker:
            self._kill()
            os.waitpid(self._worker, 0)

    def _obey(self) -> bool:
        """Carry out one command; False when the user of the server is gone."""
        try:
            command, channels, _, _ = socket.recv_fds(self._control, 1, 1)
        except ConnectionError:
            return False
        if command == FORK:
            self._fork(channels[0])
        elif command == KILL:
            self._kill()
        return bool(command)

    def _fork(self, channel: int) -> None:
        server = os.getpid()
        self._worker = os.fork()
        if not self._worker:
            self._control.close()
            _work(channel, self._factory, self._memory_bytes, server)
        os.close(channel)
        with contextlib.suppress(OSError):  # the worker does the same; whichever comes first
            os.setpgid(self._worker, self._worker)
        self._notify(FORKED, self._worker)

    def _kill(self) -> None:
        if self._worker:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._worker, signal.SIGKILL)

    def _reap(self) -> None:
        """Report the worker if it has ended; what it started ends with it."""
        if not self._worker:
            return
        if os.waitid(os.P_PID, self._worker, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            return
        self._kill()  # while the unreaped worker still holds the number of its group
        worker, self._worker = self._worker, 0
        _, status = os.waitpid(worker, 0)
        self._notify(ENDED, worker, status)

    def _notify(self, kind: int, worker: int = 0, status: int = 0) -> None:
        with contextlib.suppress(ConnectionError):
            self._control.sendall(NOTICE.pack(kind, worker, status))


def _work(channel: int, factory: Any, memory_bytes: int | None, server: int) -> NoReturn:
    """Be a worker: set up, then answer requests until the channel closes."""
    code = 0
    try:
        _settle(memory_bytes, server)
        with Connection(channel) as connection:
            _answer_all(connection, factory)
    except (EOFError, ConnectionError):
        pass  # the user of the worker is gone
    except BaseException:
        traceback.print_exc()
        code = 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _settle(memory_bytes: int | None, server: int) -> None:
    os.setpgid(0, 0)
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    faulthandler.enable()
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")  # when memory runs out, the candidate goes, not its tuner
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != server:
        os._exit(0)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if memory_bytes is not None:
        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))


def _answer_all(connection: Connection, factory: Any) -> None:
    try:
        function = factory(*pickle.loads(connection.recv_bytes()))
    except Exception as error:
        connection.send_bytes(pickle.dumps(Raised(describe(error))))
        return
    connection.send_bytes(pickle.dumps(Reply(None)))
    while True:
        data = connection.recv_bytes()
        try:
            answer = pickle.dumps(Reply(function(pickle.loads(data))), pickle.HIGHEST_PROTOCOL)
        except BaseException as error:  # an exit, too, is the candidate's and not the worker's
            answer = pickle.dumps(Raised(describe(error)))
        connection.send_bytes(answer)
