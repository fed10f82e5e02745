"""Teams of threads that parallel loops are shared out among, as LLVM text.

A kernel does not know where its threads come from: it hands each parallel loop to a *team*, memory
that begins with the address of `void fork(ptr team, ptr share, ptr arguments)`. That returns when
`void share(ptr arguments, i32 thread, i32 threads)` was called once for each thread. A kernel that
is called by itself makes a team that opens a region of OpenMP's for each loop. Through the run of a
network a team stays: its threads wait for the next loop, and what a thread is late for the caller
does (`docs/decisions/0019`, `0021`). In this process its threads are our own and outlive the run
(`on_a_team`); in a library one region of OpenMP's lends them for a run (`one_region`).
"""

from __future__ import annotations

from tilewright.target import Target

DECLARED = """\
declare void @GOMP_parallel(ptr, ptr, i32, i32)
declare i32 @omp_get_thread_num()
declare i32 @omp_get_num_threads()"""

# How often a thread looks for what it waits for before it lets others have the core, each time.
# That takes some 20 us, in which a loop begins or ends if all threads have a core; where there are
# more threads than cores, what is waited for needs the core, and only FEW looks are taken. As many
# are taken before a share that nobody has begun is done by the caller.
SPINS, FEW = 1000, 32
# How often a thread that waits for a loop lets others have the core before it sleeps: that is 1 ms
# or more, in which most networks come to their next loop, and programs to their next run.
YIELDS = 2000
LINE = 128  # bytes between what different threads write: two cache lines, which come as a pair
_PAUSE = {
    "x86_64": ("call void @llvm.x86.sse2.pause()", "declare void @llvm.x86.sse2.pause()"),
    # `yield` does nothing on most of them; this takes about as long as `pause`.
    "aarch64": ("call void @llvm.aarch64.isb(i32 15)", "declare void @llvm.aarch64.isb(i32)"),
}
_FUTEX = {"x86_64": 202, "aarch64": 98}  # the number of the call of Linux; others never sleep
_WAIT, _WAKE = 128, 129  # FUTEX_WAIT and FUTEX_WAKE, of threads of one process

# Line 0 of a team: its fork, how many threads and cores there are, what `walk` is given. Line 1:
# the number of the loop that was forked last, its share and arguments, how many threads sleep.
# Thread t > 0 has line 1 + t: the last loop of which its share was begun, and was done. Before the
# first loop all of these are zero; after the last comes one without a share.
_COUNT, _CORES, _STATE = 8, 12, 16
_LOOP, _SHARE, _ARGUMENTS, _SLEEPERS = LINE, LINE + 8, LINE + 16, LINE + 24
_BEGUN, _DONE = LINE, LINE + 8  # and a line more for each thread
_PLACES = f"""\
  %mine = zext i32 %thread to i64
  %before = mul i64 %mine, {LINE}
  %line = getelementptr i8, ptr %team, i64 %before
  %begun.at = getelementptr i8, ptr %line, i64 {_BEGUN}
  %done.at = getelementptr i8, ptr %line, i64 {_DONE}"""


def begun(threads: int, cores: int) -> bytes:
    """Return the memory of a team of `threads` on `cores`, which begins at a multiple of LINE."""
    start = bytearray((threads + 1) * LINE)
    start[_COUNT : _COUNT + 4] = threads.to_bytes(4, "little")
    start[_CORES : _CORES + 4] = cores.to_bytes(4, "little")
    return bytes(start)


def loop_by_loop(name: str, *, shared: bool) -> str:
    """Return the entry `name(arguments, threads)`, and its team of regions of OpenMP's.

    What it calls is `name.within(arguments, team)`, in which no team is the caller's thread alone.
    Where no loop is shared out, both are one function, which is to be defined as `name`.
    """
    if not shared:
        return f"@{name}.within = alias void (ptr, ptr), ptr @{name}"
    return f"""\
define void @{name}(ptr %arguments, i32 %threads) #0 {{
  %team = alloca [4 x ptr]
  %count.at = getelementptr ptr, ptr %team, i64 1
  store ptr @{name}.fork, ptr %team
  store i32 %threads, ptr %count.at
  %several = icmp sgt i32 %threads, 1
  %given = select i1 %several, ptr %team, ptr null
  call void @{name}.within(ptr %arguments, ptr %given)
  ret void
}}
define internal void @{name}.fork(ptr %team, ptr %share, ptr %arguments) #1 {{
  %count.at = getelementptr ptr, ptr %team, i64 1
  %share.at = getelementptr ptr, ptr %team, i64 2
  %arguments.at = getelementptr ptr, ptr %team, i64 3
  store ptr %share, ptr %share.at
  store ptr %arguments, ptr %arguments.at
  %threads = load i32, ptr %count.at
  call void @GOMP_parallel(ptr @{name}.each, ptr %team, i32 %threads, i32 0)
  ret void
}}
define internal void @{name}.each(ptr %team) #1 {{
  %share.at = getelementptr ptr, ptr %team, i64 2
  %arguments.at = getelementptr ptr, ptr %team, i64 3
  %share = load ptr, ptr %share.at
  %arguments = load ptr, ptr %arguments.at
  %thread = call i32 @omp_get_thread_num()
  %threads = call i32 @omp_get_num_threads()
  call void %share(ptr %arguments, i32 %thread, i32 %threads)
  ret void
}}
attributes #1 = {{ nounwind optnone noinline }}"""  # a region costs more than that; compiling less


def one_region(target: Target, *, shared: bool = True) -> str:
    """Return `void team.run(ptr state, i32 threads)`, which is `walk(state, team)` on a team.

    `void walk(ptr state, ptr team)` is to be defined beside it, and hands on its team to kernels.
    OpenMP may give fewer threads than asked for; where that is one, no team is handed on. Where no
    kernel has a loop that is shared out, there is never one, and OpenMP is not called.
    """
    if not shared:
        return """\
define internal void @team.run(ptr %state, i32 %threads) #0 {
  call void @walk(ptr %state, ptr null)
  ret void
}"""
    return f"""\
define internal void @team.run(ptr %state, i32 %threads) #0 {{
  %several = icmp sgt i32 %threads, 1
  br i1 %several, label %many, label %one
one:
  call void @walk(ptr %state, ptr null)
  ret void
many:
  %asked = zext i32 %threads to i64
  %lines = add i64 %asked, 1
  %bytes = mul i64 %lines, {LINE}
  %team = alloca i8, i64 %bytes, align {LINE}
  call void @llvm.memset.p0.i64(ptr align {LINE} %team, i8 0, i64 %bytes, i1 false)
  %state.at = getelementptr i8, ptr %team, i64 {_STATE}
  store ptr %state, ptr %state.at
  %cores = call i32 @omp_get_num_procs()
  %cores.at = getelementptr i8, ptr %team, i64 {_CORES}
  store i32 %cores, ptr %cores.at
  call void @GOMP_parallel(ptr @team.each, ptr %team, i32 %threads, i32 0)
  ret void
}}
define internal void @team.each(ptr %team) #0 {{
  %thread = call i32 @omp_get_thread_num()
  %first = icmp eq i32 %thread, 0
  br i1 %first, label %lead, label %follow
lead:
  %threads = call i32 @omp_get_num_threads()
  %count.at = getelementptr i8, ptr %team, i64 {_COUNT}
  store i32 %threads, ptr %count.at
  %state.at = getelementptr i8, ptr %team, i64 {_STATE}
  %state = load ptr, ptr %state.at
  %several = icmp sgt i32 %threads, 1
  %given = select i1 %several, ptr %team, ptr null
  call void @team.walk(ptr %state, ptr %given)
  call void @team.end(ptr %team)
  ret void
follow:
  call void @team.work(ptr %team, i32 %thread)
  ret void
}}
{_team(target, "internal ")}
{DECLARED}
declare i32 @omp_get_num_procs()
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"""


def on_a_team(target: Target, *, shared: bool = True) -> str:
    """Return `void team.walk(ptr state, ptr team)`, which is `walk(state, team)` on a team.

    It lies where `begun` was written, or is null for the caller's thread alone, as it always is
    where no kernel has a loop that is shared out. On each other thread `team.work(team, thread)`
    is to be called, which returns when somebody has called `team.end(team)`. A run is right
    however few of its threads are there.
    """
    if not shared:
        return """\
define internal void @team.walk(ptr %state, ptr %team) #0 {
  call void @walk(ptr %state, ptr null)
  ret void
}"""
    return _team(target, "")


def _team(target: Target, linkage: str) -> str:
    """Return what a team does, of which `team.work` and `team.end` may be called from outside.

    A share is begun by who changes the number in its thread's line from that of the loop before
    to that of this loop. So a thread that was late with what it read of an older loop begins none,
    and what is read of a loop stays as it is until all of its shares are begun.
    """
    pause, declared = _PAUSE.get(target.architecture, ("", ""))
    return f"""\
define internal void @team.walk(ptr %state, ptr %team) #0 {{
  %none = icmp eq ptr %team, null
  br i1 %none, label %alone, label %many
many:
  store ptr @team.fork, ptr %team
  br label %alone
alone:
  call void @walk(ptr %state, ptr %team)
  ret void
}}
define internal void @team.fork(ptr %team, ptr %share, ptr %arguments) #0 {{
entry:
  %count.at = getelementptr i8, ptr %team, i64 {_COUNT}
  %threads = load i32, ptr %count.at
  %loop = call i64 @team.tell(ptr %team, ptr %share, ptr %arguments)
  %old = sub i64 %loop, 1
  call void %share(ptr %arguments, i32 0, i32 %threads)
  br label %join
join:
  %thread = phi i32 [ 1, %entry ], [ %thread.next, %joined ]
  %looks = phi i32 [ {FEW}, %entry ], [ %looks.next, %joined ]
{_PLACES}
  %now = call i64 @team.look(ptr %done.at, i64 %old, i32 %looks)
  %waiting = icmp eq i64 %now, %old
  br i1 %waiting, label %claim, label %joined
claim:
  %tried = cmpxchg ptr %begun.at, i64 %old, i64 %loop acq_rel acquire, align 8
  %ours = extractvalue {{ i64, i1 }} %tried, 1
  br i1 %ours, label %help, label %rest
help:
  call void %share(ptr %arguments, i32 %thread, i32 %threads)
  store atomic i64 %loop, ptr %done.at release, align 8
  br label %joined
rest:
  call void @team.wait(ptr %team, ptr %done.at, i64 %old)
  br label %joined
joined:
  %looks.next = phi i32 [ %looks, %join ], [ 0, %help ], [ %looks, %rest ]
  %thread.next = add i32 %thread, 1
  %more = icmp slt i32 %thread.next, %threads
  br i1 %more, label %join, label %ready
ready:
  ret void
}}
define internal i64 @team.tell(ptr %team, ptr %share, ptr %arguments) #0 {{
  %loop.at = getelementptr i8, ptr %team, i64 {_LOOP}
  %share.at = getelementptr i8, ptr %team, i64 {_SHARE}
  %arguments.at = getelementptr i8, ptr %team, i64 {_ARGUMENTS}
  %sleepers.at = getelementptr i8, ptr %team, i64 {_SLEEPERS}
  %old = load i64, ptr %loop.at
  %loop = add i64 %old, 1
  store atomic ptr %share, ptr %share.at monotonic, align 8
  store atomic ptr %arguments, ptr %arguments.at monotonic, align 8
  store atomic i64 %loop, ptr %loop.at seq_cst, align 8
  %sleepers = load atomic i32, ptr %sleepers.at seq_cst, align 4
  %asleep = icmp ne i32 %sleepers, 0
  br i1 %asleep, label %wake, label %told
wake:
  {_wake(target)}
  br label %told
told:
  ret i64 %loop
}}
define {linkage}void @team.end(ptr %team) #0 {{
  %ignored = call i64 @team.tell(ptr %team, ptr null, ptr null)
  ret void
}}
define {linkage}void @team.work(ptr %team, i32 %thread) #0 {{
entry:
  %share.at = getelementptr i8, ptr %team, i64 {_SHARE}
  %arguments.at = getelementptr i8, ptr %team, i64 {_ARGUMENTS}
  %count.at = getelementptr i8, ptr %team, i64 {_COUNT}
{_PLACES}
  br label %next
next:
  %begun = load atomic i64, ptr %begun.at acquire, align 8
  %loop = call i64 @team.next(ptr %team, i64 %begun)
  %share = load atomic ptr, ptr %share.at monotonic, align 8
  %arguments = load atomic ptr, ptr %arguments.at monotonic, align 8
  %threads = load i32, ptr %count.at
  %tried = cmpxchg ptr %begun.at, i64 %begun, i64 %loop acq_rel acquire, align 8
  %ours = extractvalue {{ i64, i1 }} %tried, 1
  br i1 %ours, label %begin, label %next
begin:
  %ended = icmp eq ptr %share, null
  br i1 %ended, label %end, label %work
work:
  call void %share(ptr %arguments, i32 %thread, i32 %threads)
  store atomic i64 %loop, ptr %done.at release, align 8
  br label %next
end:
  ret void
}}
define internal i64 @team.next(ptr %team, i64 %before) #0 {{
entry:
  %loop.at = getelementptr i8, ptr %team, i64 {_LOOP}
  %sleepers.at = getelementptr i8, ptr %team, i64 {_SLEEPERS}
  %looks = call i32 @team.patience(ptr %team)
  %first = call i64 @team.look(ptr %loop.at, i64 %before, i32 %looks)
  br label %again
again:
  %turn = phi i32 [ 0, %entry ], [ %yielded, %yield ], [ 0, %sleep ]
  %now = phi i64 [ %first, %entry ], [ %later, %yield ], [ %last, %sleep ]
  %same = icmp eq i64 %now, %before
  br i1 %same, label %tired, label %there
tired:
  %awake = icmp slt i32 %turn, {YIELDS}
  br i1 %awake, label %yield, label %sleep
yield:
  %ignored = call i32 @sched_yield()
  %yielded = add i32 %turn, 1
  %later = load atomic i64, ptr %loop.at acquire, align 8
  br label %again
sleep:
  %more = atomicrmw add ptr %sleepers.at, i32 1 seq_cst
  {_sleep(target)}
  %less = atomicrmw sub ptr %sleepers.at, i32 1 seq_cst
  %last = load atomic i64, ptr %loop.at acquire, align 8
  br label %again
there:
  ret i64 %now
}}
define internal void @team.wait(ptr %team, ptr %place, i64 %old) #0 {{
entry:
  %looks = call i32 @team.patience(ptr %team)
  %first = call i64 @team.look(ptr %place, i64 %old, i32 %looks)
  br label %again
again:
  %now = phi i64 [ %first, %entry ], [ %later, %yield ]
  %same = icmp eq i64 %now, %old
  br i1 %same, label %yield, label %ready
yield:
  %ignored = call i32 @sched_yield()
  %later = load atomic i64, ptr %place acquire, align 8
  br label %again
ready:
  ret void
}}
define internal i64 @team.look(ptr %place, i64 %old, i32 %looks) #0 {{
entry:
  br label %look
look:
  %turn = phi i32 [ 0, %entry ], [ %next, %spin ]
  %now = load atomic i64, ptr %place acquire, align 8
  %same = icmp eq i64 %now, %old
  %early = icmp slt i32 %turn, %looks
  %more = and i1 %same, %early
  br i1 %more, label %spin, label %ready
spin:
  {pause}
  %next = add i32 %turn, 1
  br label %look
ready:
  ret i64 %now
}}
define internal i32 @team.patience(ptr %team) #0 {{
  %count.at = getelementptr i8, ptr %team, i64 {_COUNT}
  %cores.at = getelementptr i8, ptr %team, i64 {_CORES}
  %threads = load i32, ptr %count.at
  %cores = load i32, ptr %cores.at
  %room = icmp sle i32 %threads, %cores
  %looks = select i1 %room, i32 {SPINS}, i32 {FEW}
  ret i32 %looks
}}
{declared}
declare i32 @sched_yield()
declare i64 @syscall(i64, ...)"""


def _sleep(target: Target) -> str:
    """Return a call that sleeps until `_wake` unless the number of the loop is another by then."""
    number = _FUTEX.get(target.architecture)
    return "%slept = call i32 @sched_yield()" if number is None else (
        "%seen = trunc i64 %before to i32\n"
        f"  %slept = call i64 (i64, ...) @syscall(i64 {number}, ptr %loop.at, i32 {_WAIT}, "
        "i32 %seen, ptr null)"
    )  # fmt: skip


def _wake(target: Target) -> str:
    number = _FUTEX.get(target.architecture)
    return "" if number is None else (
        f"%woken = call i64 (i64, ...) @syscall(i64 {number}, ptr %loop.at, i32 {_WAKE}, "
        f"i32 {(1 << 31) - 1})"
    )  # fmt: skip
