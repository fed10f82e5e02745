"""A compiled expression, callable on arrays."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from threading import Lock
from typing import Any

import numpy as np

from tilewright.errors import ArgumentError
from tilewright.loops.interpret import packed
from tilewright.loops.nodes import Buffer, Nest
from tilewright.runtime.artifact import Artifact
from tilewright.runtime.load import Loaded, Loader, pointers
from tilewright.runtime.memory import aligned, empty
from tilewright.runtime.threads import checked
from tilewright.schedule.schedule import Schedule

_LOADER = Loader()


class Kernel:
    """Machine code for one expression.

    Call it with one array for each input, in the order of `inputs` or by name (NumPy, or anything
    with `__dlpack__`); it returns a new array, or fills `out`. Packed constants are packed
    again only when another array is given. `schedule`, `loops`, `llvm`, `asm` show how it works.
    """

    def __init__(self, schedule: Schedule, artifact: Artifact, threads: int = 1) -> None:
        self.schedule = schedule
        self.threads = threads
        self._artifact = artifact
        self._loaded = _LOADER.load(artifact)
        self._scratch = {
            b.name: empty([int(n) for n in b.shape], b.dtype)
            for b in artifact.parameters
            if b.scope == "workspace"
        }
        self._alone = Lock()  # held by a call while it uses the scratch memory
        self._packed: dict[str, tuple[Any, np.ndarray[Any, Any]]] = {}

    @property
    def inputs(self) -> tuple[Buffer, ...]:
        """The arguments: name, shape and dtype of each."""
        return self._artifact.arguments

    @property
    def output(self) -> Buffer:
        return next(b for b in self.loops.buffers if b.scope == "output")

    @property
    def loops(self) -> Nest:
        return self.schedule.loops

    @property
    def llvm(self) -> str:
        """The generated LLVM text."""
        return self._artifact.llvm

    @property
    def asm(self) -> str:
        """The machine code, disassembled."""
        return self._artifact.asm

    def __repr__(self) -> str:
        inputs = ", ".join(map(describe, self.inputs))
        return f"Kernel({inputs} -> {describe(self.output)}; threads={self.threads})"

    def __call__(
        self,
        *arrays: Any,
        out: np.ndarray[Any, Any] | None = None,
        threads: int | None = None,
        **named: Any,
    ) -> np.ndarray[Any, Any]:
        """Run the kernel; raise ArgumentError, saying what was wanted and given, on a misfit.

        Arrays are given in the order of `inputs`, or by name, and copied if they are views that
        are not contiguous.
        """
        raw = self._arguments(arrays, named)
        given = {b.name: contiguous(b, raw[b.name]) for b in self.inputs}
        return self._bound(given, out, threads)()

    def bind(
        self,
        *arrays: Any,
        out: np.ndarray[Any, Any] | None = None,
        threads: int | None = None,
        **named: Any,
    ) -> Bound:
        """Check the arrays once, and return a call that runs on what they then hold.

        Arrays that would have to be copied are refused with ArgumentError, since what is written to
        them later would not be seen. Constants are read now, and only now.
        """
        raw = self._arguments(arrays, named)
        given = {b.name: contiguous(b, raw[b.name], copy=False) for b in self.inputs}
        return self._bound(given, out, threads)

    def _arguments(self, arrays: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments by name; refuse too few, too many and unknown ones."""
        names = [b.name for b in self.inputs]
        given = dict(zip(names, arrays, strict=False))
        unknown = [name for name in named if name not in names]
        twice = [name for name in named if name in given]
        if unknown or twice or len(arrays) > len(names) or len(given | named) < len(names):
            wanted = ", ".join(map(describe, self.inputs))
            problem = f"given {len(arrays)}" + (f" and {', '.join(named)} by name" if named else "")
            problem += f"; there is no input {unknown[0]!r}" if unknown else ""
            problem += f"; {twice[0]!r} is given twice" if twice else ""
            raise ArgumentError(
                f"{self.loops.name} takes {len(names)} array{'s' * (len(names) != 1)} ({wanted}), "
                f"{problem}."
            )
        return given | named

    def _bound(
        self,
        given: dict[str, np.ndarray[Any, Any]],
        out: np.ndarray[Any, Any] | None,
        threads: int | None,
    ) -> Bound:
        result = self._result(out, given)
        placed = [self._place(buffer, given, result) for buffer in self._artifact.parameters]
        table = pointers([array.ctypes.data for array in placed])
        alone = self._alone if self._scratch else nullcontext()
        return Bound(self._loaded, table, checked(threads, self.threads), result, placed, alone)

    def _result(
        self, out: np.ndarray[Any, Any] | None, given: dict[str, np.ndarray[Any, Any]]
    ) -> np.ndarray[Any, Any]:
        buffer = self.output
        shape = tuple(int(n) for n in buffer.shape)
        if out is None:
            return empty(shape, buffer.dtype)
        if not isinstance(out, np.ndarray):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(
                f"out must be a NumPy array, {describe(buffer)}, given {type(out).__name__}."
            )
        fits = out.shape == shape and out.dtype.name == buffer.dtype and out.dtype.isnative
        if not fits or not out.flags.carray:
            readable = "" if out.flags.writeable else "read-only "
            raise ArgumentError(
                f"out must be a contiguous, aligned, writeable {describe(buffer)}, "
                f"given {readable}{out.dtype} {out.shape} with strides {out.strides}."
            )
        for name, array in given.items():
            if np.may_share_memory(out, array):
                raise ArgumentError(f"out shares memory with {name}; give another array.")
        return out

    def _place(
        self, buffer: Buffer, given: dict[str, np.ndarray[Any, Any]], result: np.ndarray[Any, Any]
    ) -> np.ndarray[Any, Any]:
        if buffer.scope == "output":
            return result
        if buffer.scope == "workspace":
            return self._scratch[buffer.name]
        if buffer.scope != "constant":
            return given[buffer.name]
        source = given[buffer.source or buffer.name]
        held = self._packed.get(buffer.name)
        if held is None or held[0] is not source:
            # Vectors of an array that starts between cache lines would all lie on two of them.
            held = (source, aligned(packed(buffer, source) if buffer.source else source))
            self._packed[buffer.name] = held
        return held[1]


class Bound:
    """A kernel with its arrays: each call runs it again and returns the same result array."""

    def __init__(
        self,
        loaded: Loaded,
        table: Any,
        threads: int,
        result: np.ndarray[Any, Any],
        held: Any,
        alone: AbstractContextManager[Any],
    ) -> None:
        self._alone = alone
        self._run, self._table, self._threads = loaded.run, table, threads
        self._result, self._held = result, (held, loaded)

    def __repr__(self) -> str:
        shape = " x ".join(map(str, self._result.shape)) or "scalar"
        return f"Bound(-> {self._result.dtype} {shape}; threads={self._threads})"

    def __call__(self) -> np.ndarray[Any, Any]:
        with self._alone:
            self._run(self._table, self._threads)
        return self._result


def describe(buffer: Buffer) -> str:
    shape = " x ".join(str(n) for n in buffer.shape) or "scalar"
    return f"{buffer.name}: {buffer.dtype} {shape}"


def check(buffer: Buffer, array: Any) -> np.ndarray[Any, Any]:
    """Return an argument as a NumPy array on the same memory; raise ArgumentError on a misfit."""
    array = as_array(describe(buffer), array)
    if array.shape != tuple(buffer.shape):
        raise ArgumentError(f"{describe(buffer)} wanted, given shape {array.shape}.")
    if array.dtype.name != buffer.dtype or not array.dtype.isnative:
        raise ArgumentError(
            f"{describe(buffer)} wanted, given {array.dtype}; "
            f"convert it with array.astype({buffer.dtype!r})."
        )
    return array


def as_array(wanted: str, array: Any) -> np.ndarray[Any, Any]:
    """Return an array of NumPy's or another library's without a copy, or raise ArgumentError."""
    if isinstance(array, np.ma.MaskedArray):
        raise ArgumentError(
            f"{wanted} wants a value for each element, given a masked array; "
            "pass array.filled(value), or array.data to use what lies under the mask."
        )
    return array if isinstance(array, np.ndarray) else from_dlpack(wanted, array)


def from_dlpack(wanted: str, array: Any) -> np.ndarray[Any, Any]:
    """Return another library's array without a copy; raise ArgumentError if that cannot be."""
    if not hasattr(array, "__dlpack__"):
        raise ArgumentError(
            f"{wanted} wants an array, given {type(array).__name__}; "
            "pass a NumPy array, or anything with __dlpack__."
        )
    try:
        return np.from_dlpack(array)
    except Exception as error:  # another library's code, which may raise anything
        raise ArgumentError(
            f"{wanted} wants an array that can be shared, given {type(array).__name__}: {error} "
            "Pass a plain array in the CPU's memory, as tensor.detach().cpu() is in PyTorch."
        ) from None


def contiguous(buffer: Buffer, array: Any, *, copy: bool = True) -> np.ndarray[Any, Any]:
    """Return an argument as kernels read it, row-major and aligned: a copy only if that may be."""
    view = check(buffer, array)
    made = np.require(view, requirements=("C", "A"))
    if made.size and not copy and not np.may_share_memory(made, view):
        raise ArgumentError(
            f"cannot bind {buffer.name}, whose strides are {view.strides}: a kernel reads "
            "contiguous, aligned arrays, and a copy would not see what is written later; bind "
            "np.ascontiguousarray(array), or call the kernel, which copies each time."
        )
    return made
