"""Recorded programs that were never measured, but quick to read."""

from __future__ import annotations

import numpy as np
import pytest
from experiments.workloads import AVX512, task_named

from tilewright.records.store import Records
from tilewright.records.trial import Failed, Measured, Trial


@pytest.fixture(scope="session")
def records() -> Records:
    """Hold twelve programs each of C3 and C5, as if they had been measured."""
    made = Records(":memory:")
    for name in ("C3", "C5"):
        task = task_named(name, AVX512)
        made.register(task.key, task.where, task.name, task.flops)
        configs = [task.space.config(r) for r in task.space.sample(np.random.default_rng(0), 12)]
        outcomes = [Measured((1e-3 / (i + 1),)) for i in range(11)]
        made.add(
            [
                Trial(task.key, task.where, c.to_json(), task.schedule(c).to_json(), outcome)
                for c, outcome in zip(configs, [*outcomes, Failed("run", "crash")], strict=True)
            ]
        )
    return made
