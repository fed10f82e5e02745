"""From the graph that TorchDynamo captured to one of PyTorch's core operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx
from torch._dynamo.backends.common import aot_autograd

from tilewright.graph.torch.decompositions import table

Run = Callable[..., Any]


def traced(
    captured: fx.GraphModule, args: Sequence[Any], make: Callable[[fx.GraphModule], Run]
) -> Run:
    """Return what runs a captured graph by what `make` makes of it in core operators.

    That graph neither changes its inputs nor returns views of them: PyTorch does both around it.
    Its shapes are those of `args`.
    """

    def compiler(graph: fx.GraphModule, examples: Sequence[Any]) -> Run:
        del examples
        run = make(graph)

        def boxed(given: list[Any]) -> Any:
            held = tuple(given)
            given.clear()  # as the convention is, so that nothing is held for longer
            return run(*held)

        boxed._boxed_call = True  # pyright: ignore[reportFunctionMemberAccess]
        return boxed

    with torch.no_grad():
        return aot_autograd(fw_compiler=compiler, decompositions=table())(captured, list(args))
