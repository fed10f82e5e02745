"""Teams of threads that parallel loops are shared out among, as LLVM text.

A kernel does not know where its threads come from: it hands each parallel loop to a *team*, memory
that begins with the address of `void fork(ptr team, ptr share, ptr arguments)`. That returns when
`void share(ptr arguments, i32 thread, i32 threads)` was called once on each thread. A kernel that
is called by itself makes a team that opens a region of OpenMP's for each loop; the run of a network
is one region as a whole, in which the threads wait for the next loop (`docs/decisions/0019`).
"""

from __future__ import annotations

from tilewright.target import Target

DECLARED = """\
declare void @GOMP_parallel(ptr, ptr, i32, i32)
declare i32 @omp_get_thread_num()
declare i32 @omp_get_num_threads()"""

# How often a thread looks for what it waits for before it lets others have the core, each time.
# That takes some 20 us, in which a loop begins or ends if all threads have a core; where there are
# more threads than cores, it is found out after FEW looks, as what is waited for needs the core.
SPINS, FEW = 1000, 32
LINE = 128  # bytes between what different threads write: two cache lines, which come as a pair
_PAUSE = {
    "x86_64": ("call void @llvm.x86.sse2.pause()", "declare void @llvm.x86.sse2.pause()"),
    # `yield` does nothing on most of them; this takes about as long as `pause`.
    "aarch64": ("call void @llvm.aarch64.isb(i32 15)", "declare void @llvm.aarch64.isb(i32)"),
}

# Line 0 of a team: its fork, what `walk` is given, how many threads there are. Line 1: the number
# of the loop that was forked last, its share and arguments; thread t > 0 says in line 1 + t which
# it has done. Before the first of them all is zero; after the last comes one without a share.
_STATE, _COUNT, _LOOP, _SHARE, _ARGUMENTS = 8, 16, LINE, LINE + 8, LINE + 16


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
    pause, declared = _PAUSE.get(target.architecture, ("", ""))
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
  store ptr @team.fork, ptr %team
  %state.at = getelementptr i8, ptr %team, i64 {_STATE}
  store ptr %state, ptr %state.at
  call void @GOMP_parallel(ptr @team.each, ptr %team, i32 %threads, i32 0)
  ret void
}}
define internal void @team.each(ptr %team) #0 {{
  %thread = call i32 @omp_get_thread_num()
  %threads = call i32 @omp_get_num_threads()
  %loop.at = getelementptr i8, ptr %team, i64 {_LOOP}
  %share.at = getelementptr i8, ptr %team, i64 {_SHARE}
  %first = icmp eq i32 %thread, 0
  br i1 %first, label %lead, label %follow
lead:
  %state.at = getelementptr i8, ptr %team, i64 {_STATE}
  %state = load ptr, ptr %state.at
  %count.at = getelementptr i8, ptr %team, i64 {_COUNT}
  store i32 %threads, ptr %count.at
  %several = icmp sgt i32 %threads, 1
  %given = select i1 %several, ptr %team, ptr null
  call void @walk(ptr %state, ptr %given)
  %done = load i32, ptr %loop.at
  %last = add i32 %done, 1
  store ptr null, ptr %share.at
  store atomic i32 %last, ptr %loop.at release, align 4
  ret void
follow:
  %mine = zext i32 %thread to i64
  %before = mul i64 %mine, {LINE}
  %done.at = getelementptr i8, ptr %loop.at, i64 %before
  %arguments.at = getelementptr i8, ptr %team, i64 {_ARGUMENTS}
  br label %next
next:
  %old = phi i32 [ 0, %follow ], [ %loop, %work ]
  %loop = add i32 %old, 1
  call void @team.wait(ptr %loop.at, i32 %loop, i32 %threads)
  %share = load ptr, ptr %share.at
  %ended = icmp eq ptr %share, null
  br i1 %ended, label %end, label %work
work:
  %arguments = load ptr, ptr %arguments.at
  call void %share(ptr %arguments, i32 %thread, i32 %threads)
  store atomic i32 %loop, ptr %done.at release, align 4
  br label %next
end:
  ret void
}}
define internal void @team.fork(ptr %team, ptr %share, ptr %arguments) #0 {{
entry:
  %loop.at = getelementptr i8, ptr %team, i64 {_LOOP}
  %share.at = getelementptr i8, ptr %team, i64 {_SHARE}
  %arguments.at = getelementptr i8, ptr %team, i64 {_ARGUMENTS}
  %count.at = getelementptr i8, ptr %team, i64 {_COUNT}
  %old = load i32, ptr %loop.at
  %loop = add i32 %old, 1
  store ptr %share, ptr %share.at
  store ptr %arguments, ptr %arguments.at
  store atomic i32 %loop, ptr %loop.at release, align 4
  %threads = load i32, ptr %count.at
  call void %share(ptr %arguments, i32 0, i32 %threads)
  br label %join
join:
  %thread = phi i32 [ 1, %entry ], [ %next, %join ]
  %place = phi ptr [ %loop.at, %entry ], [ %done.at, %join ]
  %done.at = getelementptr i8, ptr %place, i64 {LINE}
  call void @team.wait(ptr %done.at, i32 %loop, i32 %threads)
  %next = add i32 %thread, 1
  %more = icmp slt i32 %next, %threads
  br i1 %more, label %join, label %joined
joined:
  ret void
}}
define internal void @team.wait(ptr %place, i32 %wanted, i32 %threads) #0 {{
entry:
  br label %look
look:
  %turn = phi i32 [ 0, %entry ], [ %next, %spin ], [ {SPINS}, %rest ]
  %now = load atomic i32, ptr %place acquire, align 4
  %there = icmp eq i32 %now, %wanted
  br i1 %there, label %ready, label %wait
wait:
  %long = icmp eq i32 %turn, {FEW}
  br i1 %long, label %count, label %try
count:
  %cores = call i32 @omp_get_num_procs()
  %room = icmp sle i32 %threads, %cores
  br i1 %room, label %spin, label %rest
try:
  %early = icmp slt i32 %turn, {SPINS}
  br i1 %early, label %spin, label %rest
spin:
  {pause}
  %next = add i32 %turn, 1
  br label %look
rest:
  %ignored = call i32 @sched_yield()
  br label %look
ready:
  ret void
}}
{DECLARED}
{declared}
declare i32 @omp_get_num_procs()
declare i32 @sched_yield()
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"""
