"""A compiled network: machine code, packed weights, planned memory; one call runs it all."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any

from tilewright.errors import ArgumentError
from tilewright.graph.context import Context, Profile
from tilewright.graph.executable import Call, Executable
from tilewright.graph.inputs import checked_inputs
from tilewright.graph.ir import Value
from tilewright.graph.linked import Linked
from tilewright.graph.paths import path_of
from tilewright.runtime.threads import checked
from tilewright.target import Target

if TYPE_CHECKING:
    from tilewright.graph.export import Library


class Module:
    """A network ready to run: `module(x)` or `module(name=x, ...)` on arrays.

    What it returns is new at each call. Calls from several threads run beside each other, each in
    a context of its own; those are kept, so there are as many as calls ever ran at once.
    """

    def __init__(self, executable: Executable) -> None:
        self.executable = executable
        self._linked = Linked(executable)
        self._free: list[Context] = []  # taken and put back whole, which needs no lock

    def __repr__(self) -> str:
        inputs, outputs = (", ".join(map(str, end)) for end in (self.inputs, self.outputs))
        return (
            f"Module({inputs} -> {outputs}; {len(self.calls)} kernels, "
            f"{len(self.untuned)} untuned, threads={self.threads})"
        )

    @property
    def inputs(self) -> tuple[Value, ...]:
        return self.executable.inputs

    @property
    def outputs(self) -> tuple[Value, ...]:
        return self.executable.outputs

    @property
    def calls(self) -> tuple[Call, ...]:
        """The kernels in the order in which they run, each with the node that it is for."""
        return self.executable.calls

    @property
    def target(self) -> Target:
        return self.executable.target

    @property
    def threads(self) -> int:
        """How many threads a call uses unless it says otherwise."""
        return self.executable.threads

    @property
    def untuned(self) -> tuple[str, ...]:
        """Work that no record was found for."""
        return self.executable.untuned

    @property
    def peak_bytes(self) -> int:
        """Bytes for activations and scratch of one call; inputs, outputs, weights do not count."""
        return self.executable.arena

    @property
    def weight_bytes(self) -> int:
        """Bytes of the packed weights, which all calls share."""
        return sum(weight.nbytes for weight in self.executable.weights)

    def __call__(self, /, *arrays: Any, threads: int | None = None, **named: Any) -> Any:
        """Run the network; return its output, or a tuple of them.

        Arrays are given in the order of `inputs`, or by name. Raise ArgumentError, which lists all
        that is wrong, if they do not fit.
        """
        count, given = checked(threads, self.threads), checked_inputs(self.inputs, arrays, named)
        context = self._taken()
        try:
            results = context.run(given, count)
        finally:
            self._free.append(context)
        return results[0] if len(results) == 1 else results

    def context(self) -> Context:
        """Return memory of its own to run in, so that a call never makes any but its results."""
        return Context(self._linked, self.threads)

    def profile(self, *arrays: Any, threads: int | None = None, repeats: int = 20) -> Profile:
        """Time the network as a whole and kernel by kernel, `repeats` times each."""
        whole = isinstance(repeats, int) and not isinstance(repeats, bool)  # pyright: ignore[reportUnnecessaryIsInstance]
        if not whole or repeats < 1:
            raise ArgumentError(f"cannot profile with repeats={repeats}: give a number from 1.")
        count, given = checked(threads, self.threads), checked_inputs(self.inputs, arrays, {})
        context = self._taken()
        try:
            return context.profile(given, count, repeats)
        finally:
            self._free.append(context)

    def save(self, path: str | PathLike[str]) -> None:
        """Write all of it to one file, which `tilewright.load` reads; nothing if that fails."""
        from tilewright.graph.twm import save

        save(self.executable, path_of("save a module to", path))

    def export(self, path: str | PathLike[str], name: str | None = None) -> Library:
        """Write a shared library with a C header beside it, to run the network without Python.

        `name` begins its functions' names (default: that of the file).
        """
        from tilewright.graph.export import export

        return export(self.executable, path_of("export a module to", path), name)

    def __reduce__(self) -> Any:
        raise ArgumentError(
            "a compiled network cannot be pickled or copied, as it is machine code in this "
            "process: save('net.twm') keeps it, tilewright.load('net.twm') brings it back."
        )

    def _taken(self) -> Context:
        try:
            return self._free.pop()
        except IndexError:
            return self.context()
