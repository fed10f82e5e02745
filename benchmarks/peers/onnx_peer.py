"""What peers that read ONNX models have in common: the work goes to them as such models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.peers import onnx_models
from benchmarks.peers.rows import Rows
from benchmarks.peers.work import Matmul, Subject


@dataclass(frozen=True)
class OnnxPeer:
    """The entry points, by how a subject is made of a model, a number of threads and its data."""

    subject: Callable[..., Subject]

    def matmul(self, work: Matmul, threads: int) -> list[Subject]:
        return [self.subject(onnx_models.matmul(work), threads, work.a)]

    def rows(self, work: Rows, threads: int) -> list[Subject]:
        models = onnx_models.rows(work)
        return [self.subject(m, threads, *work.varying, variant=v) for v, m in models.items()]

    def network(self, path: Path, threads: int, *data: np.ndarray) -> list[Subject]:
        return [self.subject(path.read_bytes(), threads, *data)]
