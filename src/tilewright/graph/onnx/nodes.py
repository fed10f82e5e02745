"""Import the nodes of a graph one by one, and those inside of functions, branches and loops."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import onnx
import onnx.checker

from tilewright.errors import ExpressionError, ModelError
from tilewright.graph.onnx import control
from tilewright.graph.onnx.check import reads
from tilewright.graph.onnx.fold import TooLarge, fold, would_fold
from tilewright.graph.onnx.functions import Body, function_of, has_function, inlined
from tilewright.graph.onnx.importers import IMPORTERS
from tilewright.graph.onnx.source import Refusal, Scope, Source

_BY_DATA = "the shape of what it makes depends on data, for which a compiled network has no room"
_RANDOM = "it makes other numbers each time, where a compiled network repeats its results"
_SEQUENCES = "sequences and optional values are no tensors"
_STRINGS = "nothing is computed with strings"

# Operators of which no kernel could be made.
_REASONS = {
    **dict.fromkeys(("Compress", "NonMaxSuppression", "NonZero", "Unique"), _BY_DATA),
    **dict.fromkeys(("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike"), _RANDOM),
    **dict.fromkeys(("RandomUniform", "RandomUniformLike"), _RANDOM),
    **dict.fromkeys(("SequenceAt", "SequenceConstruct", "SequenceEmpty"), _SEQUENCES),
    **dict.fromkeys(("SequenceErase", "SequenceInsert", "SequenceLength"), _SEQUENCES),
    **dict.fromkeys(("SequenceMap", "SplitToSequence", "ConcatFromSequence"), _SEQUENCES),
    **dict.fromkeys(("Optional", "OptionalGetElement", "OptionalHasElement"), _SEQUENCES),
    **dict.fromkeys(
        ("RegexFullMatch", "StringConcat", "StringNormalizer", "StringSplit"), _STRINGS
    ),
}

# ONNX Runtime's optimizer writes these into models of older operator sets than ONNX has them in.
_EARLY = {"LayerNormalization": 17}


@dataclass(frozen=True)
class Dialect:
    """The versions of ONNX that nodes are written in."""

    ir_version: int
    opsets: tuple[onnx.OperatorSetIdProto, ...]

    def version(self, domain: str) -> int:
        same = ("", "ai.onnx") if domain in ("", "ai.onnx") else (domain,)
        return next((o.version for o in self.opsets if o.domain in same), 0)

    def with_opsets(self, opsets: Sequence[onnx.OperatorSetIdProto]) -> Dialect:
        """Return the dialect in which operator sets that are stated are others."""
        stated = {o.domain for o in opsets}
        kept = (o for o in self.opsets if o.domain not in stated)
        return Dialect(self.ir_version, (*opsets, *kept))


def import_nodes(
    nodes: Iterable[onnx.NodeProto], scope: Scope, dialect: Dialect, outputs: Iterable[str]
) -> list[str]:
    """Import every node in order; return those that cannot be, each with its reason.

    `outputs` are the names that are read afterwards.
    """
    nodes = list(nodes)
    wanted = {name for node in nodes for name in reads(node)} | set(outputs)
    refusals: list[str] = []
    for proto in nodes:
        source = Source(proto, scope, dialect.version(proto.domain))
        try:
            _translate(source, dialect, wanted)
        except (Refusal, ModelError, ExpressionError) as problem:
            scope.unknown.update(proto.output)
            refusals.append(f"{source.op} {source.name!r}: {problem}")
    return refusals


def _translate(source: Source, dialect: Dialect, wanted: set[str]) -> None:
    """Put the outputs of a node into its scope; raise `Refusal` if that cannot be."""
    scope, outputs = source.scope, source.outputs
    importer = IMPORTERS.get(source.op if source.standard else f"{source.domain}.{source.op}")
    understood = importer is not None or has_function(source)
    if source.standard and onnx.defs.has(source.op) and not control.holds_graphs(source.proto):
        _check(source.proto, dialect)
    if any(name in scope.unknown or name in scope.pending for name in reads(source.proto)):
        # It follows a node that was refused: only its kind counts.
        if would_fold(source):
            scope.pending.update(outputs)
            return
        scope.unknown.update(outputs)
        if not understood and source.op not in control.KINDS:
            raise _not_supported(source)
        return
    if source.standard and source.op in control.KINDS:
        control.KINDS[source.op](source, _importer(source, dialect))
        return
    folded, unfolded = None, ""
    try:
        folded = fold(source, dialect.opsets)
    except Refusal as problem:
        if not understood or isinstance(problem, TooLarge):
            raise
        unfolded = f"; {problem}"
    if folded is not None:
        scope.constants.update(zip(outputs, folded, strict=False))
        return
    try:
        if importer is None:
            if (body := function_of(source)) is None:
                raise _not_supported(source)
            _importer(source, dialect)(body, "its function")
            return
        made = importer(source)
    except Refusal as problem:
        raise Refusal(f"{problem}{unfolded}") from None
    every = (made,) if isinstance(made, str | np.ndarray) else made
    for name in outputs[len(every) :]:
        if name in wanted:
            raise Refusal(f"its output {name!r} is read, but is not computed")
    for name, value in zip(outputs, every, strict=False):
        if isinstance(value, str):
            scope.values[name] = value
        else:
            scope.constants[name] = value


def _importer(source: Source, dialect: Dialect) -> Callable[[Body, str], None]:
    """Return what imports nodes that stand for `source`, or raises one `Refusal` for all."""

    def imported(body: Body, where: str) -> None:
        inner = dialect.with_opsets(body.opsets)
        nodes, aliases = inlined(body)
        scope = source.scope
        scope.constants.update(body.constants)
        refusals = import_nodes(nodes, scope, inner, (name for _, name in aliases))
        if refusals:
            raise Refusal(f"in {where}, {'; '.join(refusals)}")
        for name, of in aliases:
            if of in scope.constants:
                scope.constants[name] = scope.constants[of]
            else:
                scope.values[name] = scope.value(of)

    return imported


def _not_supported(source: Source) -> Refusal:
    reason = _REASONS.get(source.op) if source.standard else None
    return Refusal(f"not supported: {reason}" if reason else "not supported")


def _check(proto: onnx.NodeProto, dialect: Dialect) -> None:
    """Refuse a node that lacks inputs or attributes that its operator must have."""
    for attribute in proto.attribute:
        if attribute.ref_attr_name:
            raise Refusal(f"its {attribute.name} refers to an attribute of a function, in none")
    context = onnx.checker.C.CheckerContext()
    context.ir_version = dialect.ir_version
    versions = {opset.domain: opset.version for opset in dialect.opsets}
    if proto.op_type in _EARLY:
        versions[proto.domain] = max(dialect.version(proto.domain), _EARLY[proto.op_type])
    context.opset_imports = versions
    try:
        onnx.checker.check_node(proto, context)
    except onnx.checker.ValidationError as error:
        raise Refusal(str(error).splitlines()[0]) from None
