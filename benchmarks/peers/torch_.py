"""PyTorch, in the variants that are its best somewhere: take the fastest of them.

`eager` keeps channels last; `mkldnn` packs the weights ahead for oneDNN; `compile` is Inductor with
max-autotune and frozen weights, which needs a C++ compiler and some seconds for each subject.
"""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from benchmarks.peers.torch_graph import GraphModule
from benchmarks.peers.work import Convolution, Matmul, Subject

NAME = "pytorch"


def versions() -> str:
    return f"torch {torch.__version__}"


def convolution(work: Convolution, threads: int, *, compiled: bool = True) -> list[Subject]:
    module = nn.Conv2d(work.ci, work.co, work.kernel, work.stride, work.padding, bias=False)
    weights = torch.from_numpy(np.ascontiguousarray(work.weights.transpose(3, 2, 0, 1)))
    module.weight = nn.Parameter(weights, requires_grad=False)
    data = torch.from_numpy(np.ascontiguousarray(work.data.transpose(0, 3, 1, 2)))
    data = data.contiguous(memory_format=torch.channels_last)
    subjects = _subjects(module.eval(), data, threads, compiled)
    subjects.append(_packed(module, data.contiguous()))
    return [_channels_last(subject) for subject in subjects]


def matmul(work: Matmul, threads: int, *, compiled: bool = True) -> list[Subject]:
    module = nn.Linear(work.k, work.n, bias=False)
    weights = torch.from_numpy(np.ascontiguousarray(work.b.T))
    module.weight = nn.Parameter(weights, requires_grad=False)
    return _subjects(module.eval(), torch.from_numpy(work.a), threads, compiled)


def network(path: Path, threads: int, data: np.ndarray, *, compiled: bool = True) -> list[Subject]:
    """Prepare the ONNX model at `path`, its batch normalisations folded, in PyTorch's operators."""
    module = GraphModule.load(path).eval()
    given = torch.from_numpy(data).contiguous(memory_format=torch.channels_last)
    return _subjects(module, given, threads, compiled)


def _subjects(module: nn.Module, data: torch.Tensor, threads: int, compiled: bool) -> list[Subject]:
    torch.set_num_threads(threads)
    for tensor in (*module.parameters(), *module.buffers()):
        if tensor.ndim == 4:
            tensor.data = tensor.data.contiguous(memory_format=torch.channels_last)
    subjects = [_subject("eager", lambda: module(data))]
    if compiled and shutil.which("g++"):
        from torch._inductor import config, select_algorithm

        config.freezing = True
        select_algorithm.PRINT_AUTOTUNE = False
        fast = torch.compile(module, mode="max-autotune")
        subjects.append(_subject("compile", lambda: fast(data)))
    return subjects


def _packed(module: nn.Module, data: torch.Tensor) -> Subject:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of TorchScript, which it builds on
        from torch.utils.mkldnn import to_mkldnn

        packed, inside = to_mkldnn(module), data.to_mkldnn()
    return _subject("mkldnn", lambda: packed(inside), lambda y: y.to_dense())


def _subject(
    variant: str, call: Callable[[], Any], dense: Callable[[Any], torch.Tensor] = lambda y: y
) -> Subject:
    made: list[Any] = [None]

    @torch.inference_mode()
    def run() -> None:
        made[0] = call()

    with warnings.catch_warnings(), redirect_stderr(StringIO()):
        warnings.simplefilter("ignore")  # Inductor warns of itself and prints what it tried
        run()  # compile and choose algorithms now, not in the first sample
    return Subject(f"{NAME} {variant}", run, lambda: dense(made[0]).numpy())


def _channels_last(subject: Subject) -> Subject:
    return Subject(subject.name, subject.run, lambda: subject.result().transpose(0, 2, 3, 1))
