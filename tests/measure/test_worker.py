"""A worker answers, and survives whatever a request does to its process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tilewright.errors import CompileError
from tilewright.measure import Crashed, Raised, Reply, TimedOut
from tilewright.measure.forkserver import WorkerError
from tilewright.measure.worker import Worker

PATIENT = 60.0
ACTOR = "tests.measure.toys:actor"


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with Worker(ACTOR, ("set", 1)) as worker:
        yield worker


def wait_for_end(pid: int) -> None:
    """Return when a process is gone, or a zombie that nobody has reaped yet."""
    deadline = time.monotonic() + PATIENT
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return
        if state == "Z":
            return
        time.sleep(0.01)
    raise AssertionError(f"process {pid} is still there")


def test_requests_are_answered_by_one_process(worker: Worker):
    assert worker.call(("echo", {"a": [1, 2]}), PATIENT) == Reply({"a": [1, 2]})
    assert worker.call(("setup", None), PATIENT) == Reply(("set", 1))
    first, second = (worker.call(("pid", None), PATIENT) for _ in range(2))
    assert first == second != Reply(os.getpid())


def test_big_messages_pass_both_ways(worker: Worker):
    data = os.urandom(30 << 20)
    assert worker.call(("echo", data), PATIENT) == Reply(data)


def test_answers_can_be_awaited(worker: Worker):
    worker.submit(("sleep", 0.2))
    assert worker.busy
    with pytest.raises(RuntimeError, match="one request at a time"):
        worker.submit(("echo", 1))
    while not worker.poll():
        time.sleep(0.01)
    assert worker.wait(0) == Reply(0.2)
    with pytest.raises(RuntimeError, match="no request to wait for"):
        worker.wait(0)


def test_what_raises_is_told_and_the_process_lives_on(worker: Worker):
    before = worker.call(("pid", None), PATIENT)
    answer = worker.call(("raise", KeyError("tile")), PATIENT)
    assert isinstance(answer, Raised)
    assert answer.message.startswith("KeyError: 'tile'\n")
    assert "in act" in answer.message
    told = worker.call(("raise", CompileError("cannot vectorize 'k'.")), PATIENT)
    assert told == Raised("cannot vectorize 'k'.")
    assert isinstance(worker.call(("sys.exit", 3), PATIENT), Raised)
    assert isinstance(worker.call(("lambda", 3), PATIENT), Raised)
    assert worker.call(("pid", None), PATIENT) == before


def test_long_texts_lose_their_middle(worker: Worker):
    answer = worker.call(("raise", ValueError("<" + "x" * 1_000_000 + ">")), PATIENT)
    assert isinstance(answer, Raised)
    assert len(answer.message) < 10_000
    assert answer.message.startswith("ValueError: <xxx")
    assert "characters left out" in answer.message


@pytest.mark.parametrize(
    ("action", "cause"),
    [
        (("kill", signal.SIGSEGV), "SIGSEGV"),
        (("kill", signal.SIGKILL), "SIGKILL"),
        (("null", None), "SIGSEGV"),
        (("exit", 3), "exit 3"),
        (("exit", 0), "exit 0"),
        (("close", None), "SIGKILL"),
    ],
)
def test_a_crash_is_named_and_costs_one_request(worker: Worker, action: object, cause: str):
    answer = worker.call(action, PATIENT)
    assert isinstance(answer, Crashed)
    assert answer.cause == cause
    assert f"the process ended by {cause}" in answer.message
    assert worker.call(("echo", 1), PATIENT) == Reply(1)


def test_a_crash_tells_what_was_written_for_this_request_alone(worker: Worker):
    worker.call(("say", "earlier"), PATIENT)
    answer = worker.call(("say", "LLVM ERROR: out of registers"), PATIENT)
    assert isinstance(answer, Crashed)
    assert "LLVM ERROR: out of registers" in answer.message
    assert "earlier" not in answer.message


def test_a_hang_is_killed_with_its_children(worker: Worker):
    assert worker.call(("hang", None), 0.2) == TimedOut(0.2)
    answer = worker.call(("hang with child", None), 1.0)
    assert isinstance(answer, TimedOut)
    assert answer.message.startswith("no answer within 1 s\nchild ")
    wait_for_end(int(answer.stderr.split()[-1]))
    assert worker.call(("echo", 1), PATIENT) == Reply(1)


def test_a_process_that_dies_idle_is_told_by_the_next_answer(worker: Worker):
    pid = worker.call(("pid", None), PATIENT)
    assert isinstance(pid, Reply)
    os.kill(pid.value, signal.SIGTERM)
    wait_for_end(pid.value)
    answer = worker.call(("echo", bytes(1 << 22)), PATIENT)
    assert isinstance(answer, Crashed)
    assert answer.cause == "SIGTERM"
    assert worker.call(("echo", 1), PATIENT) == Reply(1)


def test_a_lost_server_is_replaced(worker: Worker):
    pid = worker.call(("pid", None), PATIENT)
    assert isinstance(pid, Reply)
    stat = Path(f"/proc/{pid.value}/stat").read_text().rpartition(")")[2].split()
    os.kill(int(stat[1]), signal.SIGKILL)
    answer = worker.call(("sleep", 5), PATIENT)
    assert isinstance(answer, Crashed)
    assert worker.call(("echo", 1), PATIENT) == Reply(1)


def test_processes_are_replaced_after_their_lifetime():
    with Worker(ACTOR, lifetime=2) as worker:
        pids = [worker.call(("pid", None), PATIENT) for _ in range(5)]
    assert pids[0] == pids[1] != pids[2] == pids[3] != pids[4]


def test_a_worker_is_pinned_and_bounded():
    (cpu, *_) = sorted(os.sched_getaffinity(0))
    with Worker(ACTOR, cpus=[cpu], memory_bytes=1 << 30) as worker:
        assert worker.call(("cpus", None), PATIENT) == Reply([cpu])
        assert worker.call(("allocate", 1 << 20), PATIENT) == Reply(1 << 20)
        answer = worker.call(("allocate", 1 << 31), PATIENT)
        assert isinstance(answer, Raised)
        assert answer.message.startswith("MemoryError")


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("tests.measure.toys", r"must read 'package\.module:function'"),
        ("__main__:f", "another process can import"),
        ("tests.measure.missing:f", r"(?s)ended; .*ModuleNotFoundError"),
        ("tests.measure.toys:missing", "(?s)ended; .*AttributeError"),
        ("tests.measure.toys:broken", "cannot set up .*: this factory is broken"),
        ("tests.measure.toys:dying", "cannot set up .*: the process ended by SIGKILL"),
        ("tests.measure.toys:slow", "was not set up within 2 s"),
    ],
)
def test_a_worker_that_cannot_be_set_up_is_an_error(target: str, message: str):
    with pytest.raises(WorkerError, match=message), Worker(target, start_timeout=2) as worker:
        worker.submit(None)


def test_closing_ends_the_processes_and_a_new_request_starts_them():
    worker = Worker(ACTOR)
    pid = worker.call(("pid", None), PATIENT)
    assert isinstance(pid, Reply)
    worker.submit(("hang", None))
    worker.close()
    worker.close()
    wait_for_end(pid.value)
    assert worker.call(("echo", 1), PATIENT) == Reply(1)
    pid = worker.call(("pid", None), PATIENT)
    assert isinstance(pid, Reply)
    del worker  # a forgotten worker takes its processes along
    wait_for_end(pid.value)


USER = """
import sys
from tilewright.measure.worker import Worker
worker = Worker("tests.measure.toys:actor")
print(worker.call(("pid", None), 60).value, flush=True)
worker.submit(("hang with child", None))
try:
    print("hanging", flush=True)
    worker.wait(1000)
except KeyboardInterrupt:
    worker.close()
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize("kill", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_no_process_outlives_its_user(kill: signal.Signals):
    command = [sys.executable, "-c", USER]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as user:
        assert user.stdout is not None
        pid = int(user.stdout.readline())
        user.stdout.readline()
        deadline = time.monotonic() + PATIENT
        children = Path(f"/proc/{pid}/task/{pid}/children")
        while not (child := children.read_text()) and time.monotonic() < deadline:
            time.sleep(0.01)
        os.kill(user.pid, kill)
        said = user.stdout.read()
    assert said == ("interrupted\n" if kill == signal.SIGINT else "")
    wait_for_end(pid)
    wait_for_end(int(child))
