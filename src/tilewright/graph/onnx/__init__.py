"""ONNX files as graphs; imports the `onnx` package, so load it only on use."""

from tilewright.graph.onnx.load import load

__all__ = ["load"]
