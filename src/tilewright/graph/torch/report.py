"""What became of a graph that PyTorch handed over."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from tilewright.graph.module import Module


@dataclass(frozen=True, slots=True)
class Report:
    """The modules that a graph was compiled to, and the operators left to PyTorch, with why."""

    modules: tuple[Module, ...]
    left: tuple[tuple[str, str], ...] = ()

    @property
    def kernels(self) -> int:
        """How many kernels a call runs."""
        return sum(len(module.calls) for module in self.modules)

    def __str__(self) -> str:
        lines = [f"{self.kernels} kernels in {len(self.modules)} modules"]
        for (operator, why), count in Counter(self.left).items():
            times = f", {count} times" if count > 1 else ""
            lines.append(f"  left to PyTorch: {operator}{times}: {why}")
        return "\n".join(lines)
