"""How far results of a network may lie apart, by runs in float64 with an error at each node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import onnx
from onnx import NodeProto, TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from tests.networks.growing import Array, fresh_session, model_of

RUNS = 8
PRODUCTS = ("Conv", "ConvTranspose", "MatMul", "Gemm", "Einsum", "LSTM", "GRU", "RNN")
SHARES = 1e-4, 4e-6  # of the largest element: errors of algorithms, and those of sums


def spread(model: onnx.ModelProto, given: Mapping[str, Array]) -> list[tuple[Array, Array]]:
    """Return each output in float64, and how far it may be off: by the most of several runs.

    Where a comparison or a rounding may go one way or the other, that is what both ways make.
    """
    meant = _run(model, given, None)
    noisy = [_run(model, given, np.random.default_rng(seed)) for seed in range(RUNS)]
    return [
        (right, np.max([_apart(run[i], right) for run in noisy], axis=0))
        for i, right in enumerate(meant)
    ]


def _apart(a: Array, b: Array) -> Array:
    """Return how far numbers lie apart; any distance where an error leads out of a domain."""
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(np.abs(a - b), nan=np.inf, posinf=np.inf)


def _run(
    model: onnx.ModelProto, given: Mapping[str, Array], rng: np.random.Generator | None
) -> list[Array]:
    opset = model.opset_import[0].version
    held = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    every = {**held, **given}
    single = {name for name, array in every.items() if array.dtype == np.float32}
    known = {name: _in(np.float64, array) for name, array in every.items()}
    known.update((name, _noisy(known[name], "", rng)) for name in given)
    for node in model.graph.node:
        read = {
            n: _in(np.float32, a) if n in single else a for n, a in known.items() if n in node.input
        }
        made = _results(node, read, opset)
        single.update(
            name for name, a in zip(node.output, made, strict=True) if a.dtype == np.float32
        )
        exact = _exact(node, {name: known[name] for name in read}, opset, made)
        for name, array in zip(node.output, exact, strict=True):
            known[name] = _noisy(_in(np.float64, array), node.op_type, rng)
    return [known[value.name].astype(np.float64) for value in model.graph.output]


def _results(node: NodeProto, read: Mapping[str, Array], opset: int) -> list[Array]:
    session = fresh_session(model_of([node], read, {}, node.output, opset))
    arrays = {name: np.asarray(array) for name, array in read.items()}  # not NumPy's scalars
    return [np.asarray(array) for array in session.run(None, arrays)]


def _exact(
    node: NodeProto, read: Mapping[str, Array], opset: int, near: Sequence[Array]
) -> Sequence[Array]:
    """Return results in float64, by onnx; those of ONNX Runtime where it fails or means another."""
    if node.op_type == "Cast" and node.attribute[0].i == TensorProto.FLOAT:
        node = helper.make_node("Cast", node.input, node.output, to=TensorProto.DOUBLE)
    try:
        with np.errstate(all="ignore"):
            one = model_of([node], read, {}, node.output, opset)
            made = [np.asarray(array) for array in ReferenceEvaluator(one).run(None, dict(read))]
            same = all(
                a.shape == b.shape and np.allclose(a, b, 1e-3, 1e-3 * np.max(np.abs(b)))
                for a, b in zip(made, near, strict=True)
            )
    except Exception:  # whatever it raises on what it does not know
        return near
    return made if same else near


def _in(dtype: type[np.floating], array: Array) -> Array:
    """Return numbers of float32 or float64 in one of these."""
    return array.astype(dtype) if array.dtype in (np.float32, np.float64) else array


def _noisy(array: Array, op: str, rng: np.random.Generator | None) -> Array:
    if rng is None or array.dtype.kind != "f":
        return array
    share = 1e-3 if array.dtype == np.float16 else SHARES[0 if op in PRODUCTS else 1]
    largest = np.max(np.abs(array[np.isfinite(array)]), initial=0)
    error = rng.uniform(-share, share, array.shape) * largest
    return (array + error).astype(array.dtype)
