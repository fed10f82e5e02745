"""PyTorch's models, through TorchDynamo: the backend "tilewright" of torch.compile."""

from tilewright.graph.torch.backend import backend
from tilewright.graph.torch.options import Options
from tilewright.graph.torch.report import Report

__all__ = ["Options", "Report", "backend"]
