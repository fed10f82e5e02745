"""PyTorch, in the variants that are its best somewhere: take the fastest of them.

`eager` keeps channels last; `mkldnn` packs the weights ahead for oneDNN; `compile` is Inductor with
max-autotune and frozen weights, which needs a C++ compiler and some seconds for each subject.
"""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from benchmarks.peers.rows import EPSILON, Rows
from benchmarks.peers.torch_graph import GraphModule
from benchmarks.peers.work import Chain, Convolution, Matmul, Subject, named

NAME = "pytorch"
SETTINGS = (
    "inference mode, threads set; `eager` and `compile` (Inductor, max-autotune, frozen weights) "
    "channels last, or `nchw`; `mkldnn` with weights packed ahead"
)
COMPILER = shutil.which("g++")


def versions() -> str:
    missing = "" if COMPILER else ", without torch.compile, which lacks a C++ compiler (g++)"
    return f"torch {torch.__version__}{missing}"


def convolution(
    work: Convolution | Chain, threads: int, *, layouts: bool = False, compiled: bool = True
) -> list[Subject]:
    data = torch.from_numpy(np.ascontiguousarray(work.data.transpose(0, 3, 1, 2)))
    last = data.contiguous(memory_format=torch.channels_last)
    subjects = _subjects(_channels_last(_module(work)), last, threads, compiled)
    if layouts:
        subjects += _subjects(_module(work), data, threads, compiled, variant=" nchw")
    subjects.append(_packed(_module(work), data))
    return [subject.channels_last() for subject in subjects]


def matmul(work: Matmul, threads: int, *, compiled: bool = True) -> list[Subject]:
    return _subjects(_linear(work.b.T), torch.from_numpy(work.a), threads, compiled)


def rows(work: Rows, threads: int, *, compiled: bool = True) -> list[Subject]:
    if work.onnx != "MatMul":
        return _subjects(_Row(work), torch.from_numpy(work.varying[0]), threads, compiled)
    torch.set_num_threads(threads)
    w, x = (torch.from_numpy(work.data[name]) for name in work.inputs)
    linear, column, zero = _linear(work.data["W"]), w.T.contiguous(), torch.zeros(len(w))
    packed, inside = _mkldnn(linear), x[None].to_mkldnn()
    return [
        _subject("mv", lambda: torch.mv(w, x)),
        _subject("addmv", lambda: torch.addmv(zero, w, x, beta=0)),
        _subject("x @ W.T", lambda: x @ column),
        _subject("mkldnn", lambda: packed(inside), lambda y: y.to_dense()),
        *_subjects(linear, x[None], threads, compiled),
    ]


def network(path: Path, threads: int, *data: np.ndarray, compiled: bool = True) -> list[Subject]:
    """Prepare the ONNX model at `path`, its batch normalisations folded, in PyTorch's operators."""
    given = [torch.from_numpy(array) for array in data]
    module = GraphModule.load(path).eval()
    if given[0].ndim != 4:
        return _subjects(module, given, threads, compiled)
    last = given[0].contiguous(memory_format=torch.channels_last)
    return [
        *_subjects(module, given, threads, False, variant=" nchw"),
        *_subjects(_channels_last(GraphModule.load(path).eval()), last, threads, compiled),
    ]


class _Row(nn.Module):
    """Softmax, layer normalisation or GELU, by PyTorch's own functions."""

    def __init__(self, work: Rows) -> None:
        super().__init__()
        self.kind = work.name
        self.rest = [torch.from_numpy(work.data[name]) for name in work.inputs[1:]]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        match self.kind:
            case "softmax":
                return functional.softmax(x, -1)
            case "layer norm":
                return functional.layer_norm(x, x.shape[-1:], *self.rest, EPSILON)
            case _:
                return functional.gelu(x)


def _module(work: Convolution | Chain) -> nn.Module:
    made: list[nn.Module] = []
    for layer in work.layers:
        conv = nn.Conv2d(
            layer.ci, layer.co, layer.kernel, layer.stride, layer.padding,
            groups=layer.groups, bias=layer.bias,
        )  # fmt: skip
        weights = torch.from_numpy(np.ascontiguousarray(layer.weights.transpose(3, 2, 0, 1)))
        conv.weight = nn.Parameter(weights, requires_grad=False)
        if layer.bias:
            conv.bias = nn.Parameter(torch.from_numpy(layer.biases), requires_grad=False)
        made += [conv, nn.ReLU()] if layer.relu else [conv]
    return nn.Sequential(*made).eval()


def _linear(weights: np.ndarray) -> nn.Module:
    """Return a layer without bias; weights are (out, in)."""
    module = nn.Linear(weights.shape[1], weights.shape[0], bias=False)
    given = torch.from_numpy(np.ascontiguousarray(weights))
    module.weight = nn.Parameter(given, requires_grad=False)
    return module.eval()


def _channels_last(module: nn.Module) -> nn.Module:
    """Let a module's weights lie as its data do."""
    for tensor in (*module.parameters(), *module.buffers()):
        if tensor.ndim == 4:
            tensor.data = tensor.data.contiguous(memory_format=torch.channels_last)
    return module


def _subjects(
    module: nn.Module,
    data: torch.Tensor | Sequence[torch.Tensor],
    threads: int,
    compiled: bool,
    variant: str = "",
) -> list[Subject]:
    """Return the module run eagerly and compiled."""
    torch.set_num_threads(threads)
    given = (data,) if isinstance(data, torch.Tensor) else data
    subjects = [_subject(f"eager{variant}", lambda: module(*given))]
    if compiled and COMPILER:
        from torch._inductor import config, select_algorithm

        config.freezing = True
        select_algorithm.PRINT_AUTOTUNE = False
        fast = torch.compile(module, mode="max-autotune")
        subjects.append(_subject(f"compile{variant}", lambda: fast(*given)))
    return subjects


def _packed(module: nn.Module, data: torch.Tensor) -> Subject:
    packed, inside = _mkldnn(module), data.to_mkldnn()
    return _subject("mkldnn", lambda: packed(inside), lambda y: y.to_dense())


def _mkldnn(module: nn.Module) -> nn.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of TorchScript, which it builds on
        from torch.utils.mkldnn import to_mkldnn

        return to_mkldnn(module)


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

    def outputs() -> tuple[torch.Tensor, ...]:
        return made[0] if isinstance(made[0], tuple) else (made[0],)

    return Subject(
        named(NAME, variant),
        run,
        lambda: dense(outputs()[0]).numpy(),
        others=lambda: [output.numpy() for output in outputs()[1:]],
    )
