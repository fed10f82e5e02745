"""Work drawn at random, for a model that is to know work it never saw.

`corpus` always gives the same tasks: operators of sizes that networks have, on this machine with
one and two threads, and as AVX2 code. `elsewhere` gives others, for one thread of a second machine,
of all kinds alike. What `benchmarks.workloads` has is left out, so that what a model of them says
of that is an honest test.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from benchmarks.workloads import MOBILENET, WORK, task_of

from tilewright import ops
from tilewright.target import Target, host
from tilewright.tuning.task import Operator, Task

SEED, SECOND = 20, 21
FLOPS = 1 << 18, 1 << 29  # the least and most operations of a task
ELEMENTS = 1 << 23  # the most of an operand or a result
CHANNELS = (8, 12, 16, 24, 32, 40, 48, 64, 72, 80, 96, 112, 128, 144, 160, 192, 224, 256, 320, 384,
            480, 512, 576, 640, 768, 960, 1024, 1280, 1536, 2048)  # fmt: skip
IMAGES = (4, 5, 6, 7, 8, 10, 12, 13, 14, 15, 16, 17, 19, 20, 24, 26, 27, 28, 30, 32, 35, 38, 40, 48,
          52, 55, 56, 64, 73, 80, 96, 104, 112, 128, 147, 160, 208, 224)  # fmt: skip


def corpus(count: int = 285, machine: Target | None = None) -> list[Task]:
    """Return the first `count` tasks; `machine` is what is not AVX2 code for, if not this one."""
    target = machine or host()

    def placed(operator: Operator, rng: np.random.Generator) -> Task:
        where = rng.random()
        if where > 0.8:
            return Task(operator, Target("x86-64-v3"))
        return Task(operator, target, threads=1 if where < 0.6 else 2)

    return _drawn(count, np.random.default_rng(SEED), list(SHARE_OF.values()), placed)


def elsewhere(count: int = 160, machine: Target | None = None) -> list[Task]:
    """Return the first `count` tasks, all kinds of work alike, on one thread of `machine`."""
    target, kinds = machine or host(), len(SHARE_OF)
    rng = np.random.default_rng(SECOND)
    return _drawn(count, rng, [1 / kinds] * kinds, lambda operator, _: Task(operator, target))


def _drawn(
    count: int,
    rng: np.random.Generator,
    shares: list[float],
    placed: Callable[[Operator, np.random.Generator], Task],
) -> list[Task]:
    known = {task_of(work).key for work in WORK.values()}
    known |= {task_of(work).key for work in MOBILENET.values()}
    families, tasks = tuple(SHARE_OF), list[Task]()
    while len(tasks) < count:
        family = families[int(rng.choice(len(families), p=shares))]
        task = placed(family(rng), rng)
        sizes = [math.prod(t.shape) for t in (task.expression, *task.expression.inputs)]
        if FLOPS[0] <= task.flops <= FLOPS[1] and max(sizes) <= ELEMENTS and task.key not in known:
            known.add(task.key)
            tasks.append(task)
    return tasks


def _one(rng: np.random.Generator, of: tuple[int, ...]) -> int:
    return int(rng.choice(of))


def _flag(rng: np.random.Generator) -> bool:
    return bool(rng.random() < 0.5)


def _conv2d(rng: np.random.Generator) -> Operator:
    kernel, stride = _one(rng, (1, 1, 1, 3, 3, 3, 3, 5, 7)), _one(rng, (1, 1, 1, 2))
    size, pads = max(kernel, _one(rng, IMAGES)), (kernel // 2,) * 4
    first = rng.random() < 0.05  # of a network, on three colours
    channels = 3 if first else _one(rng, CHANNELS)
    return ops.Conv2d(
        1, size, size, channels, _one(rng, CHANNELS), (kernel,) * 2, (stride,) * 2, pads,
        bias=_flag(rng), relu=_flag(rng),
    )  # fmt: skip


def _depthwise(rng: np.random.Generator) -> Operator:
    kernel, stride, size = _one(rng, (3, 3, 5, 7)), _one(rng, (1, 2)), _one(rng, IMAGES)
    size, pads, channels = max(size, kernel), (kernel // 2,) * 4, _one(rng, CHANNELS)
    if rng.random() < 0.3:
        return ops.DepthwisePointwise(
            1, size, size, channels, _one(rng, CHANNELS), (kernel,) * 2, (stride,) * 2, pads
        )
    return ops.Depthwise(1, size, size, channels, (kernel,) * 2, (stride,) * 2, pads)


def _dense(rng: np.random.Generator) -> Operator:
    rows, wide = _one(rng, (1, 4, 16, 49, 64, 100, 128, 196, 384, 512, 1000)), (*CHANNELS, 3072)
    if rows == 1:
        return ops.MatVec(_one(rng, wide), _one(rng, wide))
    return ops.Dense(rows, _one(rng, wide), _one(rng, wide), bias=_flag(rng), relu=_flag(rng))


def _matmul(rng: np.random.Generator) -> Operator:
    rows, depth, columns = (_one(rng, (32, 49, 64, 77, 96, 128, 197, 256, 384)) for _ in range(3))
    heads = _one(rng, (1, 4, 8, 12))
    return ops.Matmul(rows, depth, columns, (heads,) if heads > 1 else (), transpose_b=_flag(rng))


def _other_convolution(rng: np.random.Generator) -> Operator:
    channels, out, size = _one(rng, CHANNELS[:16]), _one(rng, CHANNELS[:16]), _one(rng, IMAGES[:20])
    kind = rng.integers(3)
    if kind == 0:
        return ops.TransposedConv(1, (size, size), channels, out, (4, 4), (2, 2), (1, 1, 1, 1))
    if kind == 1:
        return ops.Conv(1, (16 * size,), channels, out, (3,), pads=(1, 1))
    groups = _one(rng, (2, 4, 8))
    return ops.Conv2d(
        1, size, size, groups * channels, groups * out, (3, 3), pads=(1, 1, 1, 1), groups=groups
    )


def _rows(rng: np.random.Generator) -> Operator:
    shape = (_one(rng, (64, 128, 197, 500, 1000)), _one(rng, (64, 100, 256, 384, 768, 1000, 2048)))
    kind = rng.integers(5)
    if kind == 0:
        return ops.LayerNorm(shape)
    if kind == 1:
        return ops.Reduction(
            str(rng.choice(["sum", "max", "mean"])), shape, (int(rng.integers(2)),)
        )
    if kind == 2:
        return ops.Activation((ops.Gelu(),) if _flag(rng) else (ops.Silu(),), math.prod(shape))
    return ops.Softmax(shape) if kind == 3 else ops.RmsNorm(shape)


def _image(rng: np.random.Generator) -> Operator:
    size, channels = _one(rng, IMAGES[8:]), _one(rng, CHANNELS[:20])
    kind = rng.integers(3)
    if kind == 0:
        return ops.Pool2d(str(rng.choice(["max", "average"])), 1, size, size, channels, (3, 3),
                          (2, 2), (1, 1, 1, 1))  # fmt: skip
    if kind == 1:
        return ops.GroupNorm(1, channels, size * size, 4, channels_last=True)
    return ops.Resize((1, size, size, channels), (1, 2 * size, 2 * size, channels), "linear")


def _cell(rng: np.random.Generator) -> Operator:
    hidden, inputs = _one(rng, (64, 128, 200, 256, 512, 650)), _one(rng, (64, 128, 256, 512))
    batch = _one(rng, (1, 4, 20))
    kind = ops.LstmCell if _flag(rng) else ops.GruCell
    return kind(batch, inputs, hidden)


Family = Callable[[np.random.Generator], Operator]
SHARE_OF: dict[Family, float] = {
    _conv2d: 0.37, _depthwise: 0.1, _dense: 0.12, _matmul: 0.08, _other_convolution: 0.07,
    _rows: 0.14, _image: 0.08, _cell: 0.04,
}  # fmt: skip
