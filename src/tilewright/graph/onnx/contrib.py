"""Import what ONNX Runtime's own optimizer leaves in a model: operators of com.microsoft."""

from __future__ import annotations

from collections.abc import Callable

from tilewright.graph.onnx.source import Refusal, Source
from tilewright.ops.program import Draft


def fused_matmul(source: Source) -> str:
    """alpha * A @ B, with the last two axes of either swapped."""
    if source.attribute("transBatchA", 0) or source.attribute("transBatchB", 0):
        raise Refusal("it swaps axes of the batch")
    A, B = source.value(), source.value(1)
    if min(len(source.shape()), len(source.shape(1))) < 2:
        raise Refusal(f"a product of shapes {source.shape()} and {source.shape(1)}")
    alpha = source.attribute("alpha", 1.0)
    across = {f"transpose_{which}": source.attribute(f"trans{which.upper()}", 0) for which in "ab"}
    made = source.node("matmul", A, B, part="product" if alpha != 1.0 else "", **across)
    if alpha == 1.0:
        return made
    draft = Draft(1)
    draft("mul", 0, draft.constant(alpha, source.dtype()))
    return source.map(draft.program, made)


def gelu(*, tanh: bool) -> Callable[[Source], str]:
    """Return the importer of GELU of a tensor and, if there is one, a bias."""

    def imported(source: Source) -> str:
        given = [source.value(i) for i in range(source.count)]
        draft = Draft(len(given))
        x = draft("add", 0, 1) if len(given) > 1 else 0
        draft("gelu", x, parameters=(int(tanh),))
        return source.map(draft.program, *given)

    return imported


def quick_gelu(source: Source) -> str:
    """x * sigmoid(alpha * x)."""
    draft = Draft(1)
    draft("silu", 0, parameters=(source.attribute("alpha", 1.702),))
    return source.map(draft.program, source.value())


def skip_norm(*, rms: bool) -> Callable[[Source], tuple[str, ...]]:
    """Return the importer of a sum that is normalised, scaled and shifted.

    The fourth output is the sum itself; mean and deviation are not made.
    """

    def imported(source: Source) -> tuple[str, ...]:
        if any(source.outputs[1:3]):
            raise Refusal("it is asked for mean and deviation")
        index = {"scale": 2, "shift": 3, "bias": 4} if not rms else {"scale": 2, "bias": 3}
        total = source.map("add", source.value(), source.value(1), part="added")
        if source.has(index["bias"]):
            total = source.map("add", total, source.value(index["bias"]), part="biased")
        made = source.node(
            "layer_norm", total, part="normal", axis=len(source.shape()) - 1,
            epsilon=source.attribute("epsilon", 1e-12), rms=int(rms),
        )  # fmt: skip
        shifted = not rms and source.has(3)
        made = source.map("mul", made, source.value(2), part="scaled" * shifted)
        made = source.map("add", made, source.value(3)) if shifted else made
        # Mean and deviation, which nothing reads, stand for the places of their outputs.
        return (made, made, made, total)[: max(1, len(source.outputs))]

    return imported
