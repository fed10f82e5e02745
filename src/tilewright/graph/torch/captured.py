"""A graph that TorchDynamo captured, compiled anew for other shapes and for other weights."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import RLock
from typing import Any

import torch
from torch import fx

from tilewright.graph.torch.options import Options
from tilewright.graph.torch.specialise import specialised
from tilewright.graph.torch.trace import traced

MAX_CHANGES = 8
MAX_SHAPES = 16

State = tuple[int, int]  # where a tensor's elements lie, and how often they were written


@dataclass(frozen=True, slots=True)
class Compiled:
    """What runs the graph as long as its weights are these, in this state."""

    weights: tuple[weakref.ref[torch.Tensor], ...]
    states: tuple[State, ...]
    run: Callable[..., Any]

    def of(self, weights: Sequence[torch.Tensor]) -> bool:
        return all(held() is w for held, w in zip(self.weights, weights, strict=True))

    @property
    def alive(self) -> bool:
        return all(held() is not None for held in self.weights)


class Captured:
    """Calls a captured graph with its inputs and its weights, which dynamo passes alike.

    Weights are packed into what is compiled. So those of a call are compared with those packed: by
    identity, as several models may share the graph, by where their elements lie, and by PyTorch's
    count of the writes to them. Inputs that the graph itself writes to are no weights from then on.
    """

    def __init__(self, graph: fx.GraphModule, options: Options) -> None:
        self._graph, self._options = graph, options
        self._weights, self._others = _sorted(graph)
        self._made: dict[Any, Compiled] = {}
        self._changes, self._given_up = 0, ""
        self._alone = RLock()

    def __call__(self, *args: Any) -> Any:
        weights = [args[i] for i in self._weights]
        shapes = tuple([_described(args[i]) for i in self._others])
        key = (shapes, *map(id, weights))
        found = self._made.get(key)
        if found is not None and found.of(weights) and found.states == tuple(map(_state, weights)):
            return found.run(*args)
        with self._alone:
            return self._first(key, args, weights)

    def _first(self, key: Any, args: tuple[Any, ...], weights: list[torch.Tensor]) -> Any:
        """Compile for these arguments, run, and look which of them that has written to."""
        old, states = self._made.get(key), tuple(map(_state, weights))
        self._changes += old is not None and old.of(weights)
        self._made = {k: made for k, made in self._made.items() if k != key and made.alive}
        if not self._given_up:
            self._given_up = self._too_much(key)
            if self._given_up:
                warnings.warn(self._given_up, stacklevel=3)
        if self._given_up:
            return self._graph(*args)
        run = self._compiled(args, {id(w): w for w in weights})
        made = run(*args)
        written = {
            i for i, was in zip(self._weights, states, strict=True) if _state(args[i]) != was
        }
        if written:
            self._weights = tuple(i for i in self._weights if i not in written)
            self._others = (*self._others, *written)
            self._made.clear()
        else:
            self._made[key] = Compiled(tuple(map(weakref.ref, weights)), states, run)
        return made

    def _too_much(self, key: Any) -> str:
        """Return why it does not pay to compile for a call; nothing if it does."""
        if self._changes > MAX_CHANGES:
            return (
                f"the weights of a model changed {self._changes} times between its calls, and were "
                "packed anew each time; from now on PyTorch runs it. Compile models whose weights "
                "stay, or call torch.compiler.reset() after the last change."
            )
        if sum(k[1:] == key[1:] for k in self._made) >= MAX_SHAPES:
            return (
                f"a model was compiled for {MAX_SHAPES} shapes; from now on PyTorch runs it for "
                "others. Pad its inputs to fewer shapes."
            )
        return ""

    def _compiled(
        self, args: tuple[Any, ...], weights: dict[int, torch.Tensor]
    ) -> Callable[..., Any]:
        """Return what runs the graph; the rest of the compilation waits for the arguments.

        PyTorch passes what it traced fewer of them, in an order of its own: there weights are known
        by who they are.
        """

        def make(graph: fx.GraphModule) -> Callable[..., Any]:
            run: list[Callable[..., Any]] = []

            def started(*given: Any) -> Any:
                if not run:
                    places = [n for n in graph.graph.nodes if n.op == "placeholder"]
                    known = {p: a for p, a in zip(places, given, strict=True) if id(a) in weights}
                    run.append(specialised(graph, known, self._options))
                return run[0](*given)

            return started

        try:
            return traced(self._graph, args, make)
        except Exception as error:  # whatever PyTorch raises on what it cannot trace
            why = next(iter(str(error).splitlines()), type(error).__name__)
            warnings.warn(f"PyTorch runs a graph that it cannot trace: {why}", stacklevel=4)
            return self._graph


def _sorted(graph: fx.GraphModule) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return which inputs are parameters and buffers of modules, and which are others."""
    weights: list[int] = []
    others: list[int] = []
    places = [n for n in graph.graph.nodes if n.op == "placeholder"]
    for i, node in enumerate(places):
        told = node.meta.get("tensor_dict") or {}
        (weights if told.get("_dynamo_static_input_type") else others).append(i)
    return tuple(weights), tuple(others)


def _described(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.shape, value.stride(), value.dtype
    return value


def _state(tensor: torch.Tensor) -> State:
    return tensor.data_ptr(), 0 if tensor.is_inference() else tensor._version
