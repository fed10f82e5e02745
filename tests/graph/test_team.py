"""A run of a network on several threads, whenever they come: our own, or a region of OpenMP's."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Thread, local
from typing import Any

import numpy as np
import pytest
from tests.codegen.test_aarch64 import MEMORY, symbols
from tests.graph.chains import chain, given, meant

from tilewright.codegen.llvm.compile import assembly, object_code
from tilewright.codegen.llvm.module import repeat
from tilewright.codegen.llvm.team import on_a_team, one_region
from tilewright.graph import linked
from tilewright.graph.assemble import walk
from tilewright.graph.context import Context
from tilewright.graph.linked import Linked
from tilewright.graph.module import Module
from tilewright.runtime import load, teams
from tilewright.runtime.artifact import Artifact
from tilewright.runtime.cpu import surely_runs
from tilewright.runtime.load import Loader
from tilewright.runtime.teams import MOST_IDLE, Team, Teams
from tilewright.runtime.threads import openmp
from tilewright.target import CALLS, Target, host

COUNT = 7
RUN_CALLS = {*CALLS, "omp_get_num_procs"}
X86 = host().architecture == "x86_64"


@pytest.fixture(scope="module")
def module() -> Module:
    return Module(chain(COUNT))


def check(module: Callable[..., Any], threads: int, seed: int = 0) -> None:
    got = module(given(seed), threads=threads)
    np.testing.assert_allclose(got, meant(given(seed), COUNT), rtol=1e-6)


@pytest.mark.parametrize("threads", [1, 2, 3, 7, 40])
def test_each_loop_waits_for_the_one_before(module: Module, threads: int) -> None:
    for seed in range(8):
        check(module, threads, seed)


def test_the_number_of_threads_may_change_from_call_to_call(module: Module) -> None:
    context = module.context()
    for i, threads in enumerate((2, 1, 5, 2, 3, 1, 7, 2)):
        check(context, threads, i)


def test_several_contexts_run_at_once(module: Module) -> None:
    with ThreadPoolExecutor(4) as pool:
        done = [pool.submit(check, module, 1 + i % 3, i) for i in range(24)]
    for each in done:
        each.result()


def test_a_profile_runs_kernels_without_a_team(module: Module) -> None:
    profile = module.profile(given(), threads=2, repeats=2)
    assert len(profile.calls) == COUNT


# -- threads of our own


@pytest.fixture
def pool(monkeypatch: pytest.MonkeyPatch) -> Teams:
    """Return the teams that networks run on meanwhile, none at first."""
    made = Teams()
    monkeypatch.setattr(linked, "TEAMS", made)
    return made


@pytest.mark.parametrize("started", [0, 1, 2])
def test_a_run_is_right_with_fewer_threads_than_were_asked_for(
    module: Module, pool: Teams, started: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Scarce(Thread):
        count = 0

        def start(self) -> None:
            if Scarce.count == started:
                raise RuntimeError("can't start new thread")
            Scarce.count += 1
            super().start()

    monkeypatch.setattr(teams, "Thread", Scarce)
    for seed in range(8):
        check(module, 4, seed)
    assert Scarce.count == started
    pool.end()


def test_what_threads_are_late_for_the_caller_does(
    module: Module, pool: Teams, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They come while later loops run, or when the run is over; none does what was done."""
    follow, late = Team._follow, [0.0, 1e-5, 1e-4, 1e-3, 0.05]

    def after_a_while(team: Team, thread: int) -> None:
        time.sleep(late[thread])
        follow(team, thread)

    monkeypatch.setattr(Team, "_follow", after_a_while)
    begin = time.perf_counter()
    check(module, 5)
    assert time.perf_counter() - begin < 0.05, "it waited for a thread"
    for seed in range(400):
        check(module, 5, seed)
    pool.end()


def busy(threads: list[Thread]) -> float:
    """Return the seconds of a core that threads used so far."""
    clocks = [Path(f"/proc/self/task/{t.native_id}/schedstat").read_text() for t in threads]
    return sum(int(clock.split()[0]) for clock in clocks) * 1e-9


@pytest.mark.skipif(sys.platform != "linux", reason="others have no futex")
def test_threads_that_wait_sleep_soon_and_wake_for_the_next_run(
    module: Module, pool: Teams
) -> None:
    check(module, 3)
    (team,) = pool._idle
    for seed in range(5):
        time.sleep(0.3)  # that may be much for 2000 turns, while others have the core
        before = busy(team._followers)
        time.sleep(0.2)
        assert busy(team._followers) - before < 0.01
        check(module, 3, seed)
    pool.end()


def test_runs_at_once_have_teams_of_their_own_and_few_of_them_stay(
    module: Module, pool: Teams
) -> None:
    with ThreadPoolExecutor(8) as several:
        list(several.map(lambda seed: check(module, 3, seed), range(64)))
    assert 1 <= len(pool._idle) <= MOST_IDLE
    before = list(pool._idle)
    check(module, 3)
    assert pool._idle == before, "the last one was used again"
    for threads in range(2, 4 + MOST_IDLE):
        check(module, threads)
    assert [team.threads for team in pool._idle] == list(range(4, 4 + MOST_IDLE))
    pool.end()
    assert pool._idle == []


@pytest.mark.parametrize("runs", [1, 3])
def test_an_ended_team_has_no_threads(module: Module, pool: Teams, runs: int) -> None:
    for _ in range(runs):
        check(module, 3)
    (team,) = pool._idle
    followers = list(team._followers)
    assert [thread.is_alive() for thread in followers] == [True, True]
    team.end(wait=True)
    assert [thread.is_alive() for thread in followers] == [False, False]


def test_a_team_outlives_the_network_that_it_began_with(pool: Teams) -> None:
    check(Module(chain(COUNT)), 3)
    (team,) = pool._idle
    for _ in range(3):
        other = Module(chain(COUNT))
        for seed in range(5):
            check(other, 3, seed)
        del other
        assert pool._idle == [team]
    pool.end()


# -- a region of OpenMP's, in libraries


class OpenMP:
    """A runtime that gives as many threads as it likes, and counts its regions."""

    def __init__(self, most: int) -> None:
        self.most, self.asked, self.called = most, list[int](), set[str]()
        self._mine = local()
        run = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

        def parallel(function: int, data: int, threads: int, _: int) -> None:
            self.asked.append(threads)
            count = min(threads, self.most)

            def member(number: int) -> None:
                self._mine.number, self._mine.count = number, count
                run(function)(data)

            others = [Thread(target=member, args=(i,)) for i in range(1, count)]
            for other in others:
                other.start()
            member(0)
            for other in others:
                other.join()

        ints = ctypes.CFUNCTYPE(ctypes.c_int32)
        four = ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32, ctypes.c_int32
        self._functions = {
            "GOMP_parallel": ctypes.CFUNCTYPE(None, *four)(parallel),
            "omp_get_thread_num": ints(lambda: self._mine.number),
            "omp_get_num_threads": ints(lambda: self._mine.count),
            "omp_get_num_procs": ints(lambda: 1),
        }

    def address(self, name: str) -> int:
        self.called.add(name)
        return ctypes.cast(self._functions[name], ctypes.c_void_p).value or 0


@pytest.mark.skipif(not X86, reason="LLVM links on other machines, and is not given addresses")
@pytest.mark.parametrize("most", [1, 2, 3, 9])
def test_a_run_is_one_region_of_as_many_threads_as_there_are(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = OpenMP(most)
    monkeypatch.setattr(load, "address", runtime.address)
    made = chain(COUNT)
    lines = [
        f'target triple = "{made.target.triple}"',
        "define void @net(ptr %table, i32 %threads) #0 {",
        "  call void @team.run(ptr %table, i32 %threads)\n  ret void\n}",
        *walk(made.calls),
        repeat("net"),
        one_region(made.target),
        "attributes #0 = { nounwind }",
    ]
    code = object_code("\n".join(lines), made.target)
    loaded = Loader().load(Artifact(code, "net", (), (), tuple(RUN_CALLS), made.target, ""))
    within = Linked(made)
    monkeypatch.setattr(within, "run", loaded.run)
    context = Context(within, 2)
    assert runtime.called == RUN_CALLS
    for threads in 3, 2, 5:
        check(context, threads)
    assert runtime.asked == [3, 2, 5]
    check(context, 1)
    assert runtime.asked == [3, 2, 5]


def test_threads_of_a_region_may_each_run_a_network(module: Module) -> None:
    """Each on threads of its own."""
    wanted, results = meant(given(), COUNT), list[bool]()

    @ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    def each(_: int) -> None:
        results.append(bool(np.allclose(module(given(), threads=3), wanted, rtol=1e-6)))

    openmp().GOMP_parallel(each, None, 2, 0)
    assert results == [True, True]


# Loads the network from a file, runs it on each number of threads, forks, and runs it again.
PROGRAM = """
import os, sys
from threading import Thread
import numpy as np, tilewright as tw
path, x, wanted, llvm = sys.argv[1:]
net, x, wanted = tw.load(path), np.load(x), np.load(wanted)
context = net.context()

def right():
    return all((run(x, threads=n) == wanted).all() for n in (2, 1, 3, 7) for run in (net, context))

def forked(depth):
    assert right()
    child = os.fork()
    if child == 0:
        os._exit(0 if right() and (depth == 0 or forked(depth - 1)) else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0 and right()

fine = [forked(1)]
thread = Thread(target=lambda: fine.append(forked(0)))
thread.start()
thread.join()
assert llvm == "with" or "llvmlite" not in sys.modules
sys.exit(0 if fine == [True, True] else 1)
"""


@pytest.mark.parametrize("limits", [{}, {"OMP_THREAD_LIMIT": "1"}], ids=str)
def test_a_file_runs_in_a_process_without_llvm(
    module: Module, tmp_path: Path, limits: dict[str, str]
) -> None:
    """Where it forks between runs, and whatever OpenMP is told, which it does not use."""
    module.save(tmp_path / "net.twm")
    np.save(tmp_path / "x.npy", given())
    np.save(tmp_path / "y.npy", module(given(), threads=1))
    arguments = [str(tmp_path / name) for name in ("net.twm", "x.npy", "y.npy")]
    llvm = "without" if surely_runs(host()) else "with"  # elsewhere LLVM links
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM, *arguments, llvm]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False, env=os.environ | limits
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not X86, reason="code for x86-64 is run")
def test_llvm_links_it_too() -> None:
    """As it does what is said to be for other machines."""
    module = Module(replace(chain(COUNT), target=Target("aarch64")))
    for threads in 1, 2, 3:
        check(module, threads)


def test_a_network_without_loops_to_share_has_no_team() -> None:
    made = chain(COUNT, parallel=False)
    assert made.sequence.calls == ()
    assert symbols(made.sequence.code) == {"net": True, "net.repeat": True}
    check(Module(made), 3)


@pytest.mark.parametrize(
    ("target", "instructions"),
    [("x86-64", ("pause",)), ("x86-64-v4", ("pause",)), ("aarch64", ("isb", "ldar", "stlr"))],
)
def test_objects_of_a_machine(target: str, instructions: tuple[str, ...]) -> None:
    """What it waits by, and on AArch64 what orders the memory of threads."""
    assert missing(chain(2, Target(target)).sequence.code) == {"sched_yield", "syscall"}
    ways = {
        on_a_team: ("walk(ptr %a, ptr null)", set[str]()),
        one_region: ("run(ptr %a, i32 2)", RUN_CALLS),
    }
    for team, (run, calls) in ways.items():
        text = (
            f'target triple = "{Target(target).triple}"\ndeclare void @walk(ptr, ptr)\n'
            f"{team(Target(target))}\n"
            f"define void @f(ptr %a) {{ call void @team.{run} ret void }}\n"
            "attributes #0 = { nounwind }"
        )
        for each in instructions:
            assert each in assembly(text, Target(target))
        undefined = missing(object_code(text, Target(target))) - MEMORY
        assert undefined == {"walk", "sched_yield", "syscall"} | calls


def missing(code: bytes) -> set[str]:
    return {name for name, defined in symbols(code).items() if not defined}
