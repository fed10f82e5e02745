"""Functions for workers that behave, and that do not."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from tilewright.errors import CompileError
from tilewright.records import Failed, Measured

Action = tuple[str, Any]


def actor(*setup: Any) -> Callable[[Action], Any]:
    """Return a function that does what it is told, and knows what it was set up with."""

    def act(action: Action) -> Any:
        what, value = action
        match what:
            case "echo":
                return value
            case "setup":
                return setup
            case "pid":
                return os.getpid()
            case "cpus":
                return sorted(os.sched_getaffinity(0))
            case "sleep":
                time.sleep(value)
                return value
            case "hang":
                while True:
                    pass
            case "hang with child":
                child = subprocess.Popen(["sleep", "1000"])
                print("child", child.pid, file=sys.stderr, flush=True)
                time.sleep(1000)
            case "kill":
                os.kill(os.getpid(), value)
            case "null":
                return ctypes.string_at(0)
            case "exit":
                os._exit(value)
            case "sys.exit":
                sys.exit(value)
            case "raise":
                raise value
            case "say":
                print(value, file=sys.stderr)
                os.kill(os.getpid(), signal.SIGABRT)
            case "close":
                os.closerange(3, 100)
                time.sleep(1000)
            case "lambda":
                return lambda: value
            case "allocate":
                return len(bytearray(value))
            case _:
                raise AssertionError(what)
        return None

    return act


def broken(*_: Any) -> Any:
    raise CompileError("this factory is broken")


def dying() -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


def slow() -> Any:
    time.sleep(1000)


def builder() -> Callable[[Action], Any]:
    """Build ("ok", n) and ("run", action) into an artifact; do anything else at once."""
    act = actor()

    def build(action: Action) -> Any:
        what, value = action
        if what == "refuse":
            return Failed("build", "error", value)
        if what == "span":
            return (what, (value, _span(value)))
        return action if what in ("ok", "run") else act(action)

    return build


def runner() -> Callable[[Action], Any]:
    act = actor()

    def run(artifact: Action) -> Any:
        what, value = artifact
        if what == "run":
            return act(value)
        if what == "span":
            seconds, build = value
            return Measured((*build, *_span(seconds)))
        return Measured((float(value),))

    return run


def _span(seconds: float) -> tuple[float, float]:
    """Take some time, and tell from when to when on the clock that processes share."""
    start = time.monotonic()
    time.sleep(seconds)
    return start, time.monotonic()
