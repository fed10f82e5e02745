"""A compiled network as a shared library with a C header, to be run without Python."""

from tilewright.graph.export.library import Library, export

__all__ = ["Library", "export"]
