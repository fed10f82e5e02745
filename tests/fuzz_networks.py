"""Random networks, compiled with random schedules of their spaces, against ONNX Runtime.

    python -m tests.fuzz_networks --seconds 600 --seed 0
    python -m tests.fuzz_networks --count 1 --seed 4711 --keep folder

makes a network of each seed and compiles it untuned, and with a candidate drawn for each piece of
work on one thread and on two; results must agree, and be the same when called again, in memory that
holds something else, and from a file. Inputs lie between guard pages: the seed of a network that
reads beside them is the last that is printed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
from tests.differential import near
from tests.networks.blocks import BLOCKS
from tests.networks.control import CONTROL
from tests.networks.elementwise import ELEMENTWISE
from tests.networks.growing import Array, Growing, Refused, fresh_session
from tests.networks.indexing import INDEXING
from tests.networks.large import LARGE, NODES, begin
from tests.networks.layers import LAYERS
from tests.networks.movement import MOVEMENT
from tests.networks.quantized import QUANTIZED
from tests.networks.spread import spread

import tilewright as tw
from tilewright.errors import TilewrightError
from tilewright.graph.interpret import interpret
from tilewright.graph.model import Model
from tilewright.graph.module import Module
from tilewright.measure.guard import GuardedArena
from tilewright.records.trial import Measured, Trial
from tilewright.target import Target, target_of

OPSETS = range(7, 26)  # the newest that ONNX Runtime has
# Of the largest result, by which any may be off.
SHARES = {"float16": 4e-3, "float32": 5e-5, "float64": 1e-10}
FLOATS = ("float32",) * 6 + ("float64", "float16")
KINDS = (
    *(LAYERS, LAYERS, ELEMENTWISE, ELEMENTWISE, MOVEMENT, MOVEMENT, BLOCKS, BLOCKS, INDEXING),
    *(QUANTIZED, CONTROL),
)
TARGETS = (None, None, None, None, "x86-64-v3", "x86-64")


def network(seed: int) -> tuple[onnx.ModelProto, list[Array]]:
    """Return the network of a seed, and its inputs."""
    rng = np.random.default_rng(seed)
    g = Growing(seed, rng.choice(OPSETS).item(), str(rng.choice(FLOATS)))
    large = g.chance(0.03)
    if large:
        begin(g)
    while not g.nodes:
        wanted = NODES if large else g.pick.randint(3, 12)
        for _ in range(4 * wanted):
            try:
                g.some(*(LARGE if large else g.some(*KINDS)))(g)
            except Refused:
                continue
            if len(g.nodes) >= wanted:
                break
    made = [name for node in g.nodes for name in node.output]
    shared = g.pick.sample(made, min(len(made), g.some(0, 0, 1, 2)))
    if g.chance(0.1):  # what no node makes
        shared.append(g.some(*g.inputs, *g.constants))
    last = [name for name in g.unread if name in made]
    outputs = list(dict.fromkeys((*last, *shared)))
    g.pick.shuffle(outputs)
    return g.model(outputs), list(g.inputs.values())


def check(seed: int, seen: Counter[str]) -> None:
    """Raise what is wrong with the network of a seed; `seen` counts what was done."""
    proto, first = network(seed)
    rng = np.random.default_rng(seed)
    model = tw.load_onnx(proto, tolerance=float(rng.choice([0, 5e-5])))
    seen.update(graphs=1, nodes=len(proto.graph.node))
    session, names = fresh_session(proto), [value.name for value in proto.graph.input]

    def expected(given: Sequence[Array]) -> list[Array]:
        return [np.asarray(a) for a in session.run(None, dict(zip(names, given, strict=True)))]

    sets = [(given, expected(given)) for given in (first, [_other(a) for a in first])]
    target = target_of(TARGETS[rng.integers(len(TARGETS))])
    choices = draw(model, target, rng)
    for threads, chosen in zip((1, 2), choices, strict=True):
        chosen = [] if seed % 8 == threads else chosen
        with tw.Records(":memory:") as records:
            for task, trial in zip(model.tasks(target, threads), chosen, strict=False):
                records.register(task.key, task.where, task.name, task.flops)
                records.add([replace(trial, target=task.where)])
            module = tw.compile(model, records, target=target, threads=threads)
        assert not (chosen and module.untuned), f"not with what was drawn: {module.untuned}"
        seen.update(modules=1, schedules=len(chosen), untuned=not chosen)
        seen.update(name for trial in chosen for name in {step["step"] for step in trial.steps})
        check_module(module, proto, sets, seen)


def draw(model: Model, target: Target, rng: np.random.Generator) -> tuple[list[Trial], list[Trial]]:
    """Return two candidates of each task, as if they had been measured."""
    chosen: tuple[list[Trial], list[Trial]] = [], []
    for task in model.tasks(target):
        rows = task.space.sample(rng, 8)
        assert len(rows), f"no candidate of {task.name}"
        made = [(config := task.space.config(row), task.schedule(config)) for row in rows]
        made.sort(key=lambda pair: -pair[1].error)  # algorithms are rare among all candidates
        for trials in chosen:
            config, schedule = made[0 if rng.random() < 0.4 else rng.integers(len(made))]
            steps, outcome = schedule.to_json(), Measured((1e-3,))
            trials.append(Trial(task.key, task.where, config.to_json(), steps, outcome))
    return chosen


def check_module(
    module: Module,
    proto: onnx.ModelProto,
    sets: Sequence[tuple[list[Array], list[Array]]],
    seen: Counter[str],
) -> None:
    got = [run(module, given, module.threads) for given, _ in sets]
    for (given, wanted), results in zip(sets, got, strict=True):
        agree(proto, given, results, wanted, seen)
        agree(proto, given, run(module, given, 3 - module.threads), wanted, seen)
    for context in module._free:  # pyright: ignore[reportPrivateUsage]
        context._arena.fill(0xFF)  # pyright: ignore[reportPrivateUsage]
    for (given, _), results in zip(sets, got, strict=True):
        same("called again", run(module, given, module.threads), results)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "net.twm"
        module.save(path)
        again = tw.load(path)
    for (given, _), results in zip(sets, got, strict=True):
        same("from a file", run(again, given, module.threads), results)


def run(module: Module, given: Sequence[Array], threads: int) -> list[Array]:
    """Run on inputs between guard pages, which must stay as they are; results are arrays alone."""
    arena = GuardedArena()
    at = "start" if threads == 1 else "end"
    arrays = [arena.allocate(a.shape, a.dtype, align=a.dtype.itemsize, at=at) for a in given]
    for array, source in zip(arrays, given, strict=True):
        array[...] = source
    made = module(*arrays, threads=threads)
    results = list(made) if isinstance(made, tuple) else [made]
    same("an input", arrays, given)
    assert not arena.damaged(), "written beside an input"
    for i, result in enumerate(results):
        for other in (*arrays, *results[:i]):
            assert not np.shares_memory(result, other), f"output {i} is memory of another array"
    return results


def same(what: str, got: Sequence[Array], wanted: Sequence[Array]) -> None:
    for i, (a, b) in enumerate(zip(got, wanted, strict=True)):
        assert a.tobytes() == b.tobytes(), f"{what}: {i} is not the same\n{a}\n{b}"


def share(array: Array) -> float:
    return SHARES.get(array.dtype.name, 0.0)


def agree(
    proto: onnx.ModelProto,
    given: Sequence[Array],
    got: Sequence[Array],
    wanted: Sequence[Array],
    seen: Counter[str],
) -> None:
    """Compare with ONNX Runtime; where that differs, with what float64 and errors explain."""
    for i, (a, b) in enumerate(zip(got, wanted, strict=True)):
        assert (a.shape, a.dtype) == (b.shape, b.dtype), f"output {i}: {a.dtype} {a.shape}"
    far = [
        i
        for i, (a, b) in enumerate(zip(got, wanted, strict=True))
        if not near(np.asarray(a, np.float64), np.asarray(b, np.float64), share(b))
    ]
    if not far:
        return
    seen.update(doubtful=1)
    names = [value.name for value in proto.graph.input]
    meant = spread(proto, dict(zip(names, given, strict=True)))
    for i in far:
        right, error = meant[i]
        found = got[i].astype(np.float64)
        same = found == wanted[i]
        with np.errstate(invalid="ignore"):
            off = np.minimum(np.abs(found - right), np.abs(found - wanted[i].astype(np.float64)))
        least = share(wanted[i]) * max(
            1.0, float(np.max(np.abs(right[np.isfinite(right)]), initial=0))
        )
        assert np.all(same | (off <= 4 * error + least)), (
            f"output {i} ({proto.graph.output[i].name}) is off by {np.max(off - error)}\n"
            f"{got[i]}\nONNX Runtime\n{wanted[i]}\nfloat64\n{right}\nerror\n{error}"
        )


def _other(array: Array) -> Array:
    """Return other numbers of the same kind."""
    turned = array.reshape(-1)[::-1].reshape(array.shape).copy()
    return np.asarray(turned * -0.75, array.dtype) if array.dtype.kind == "f" else turned


def explain(seed: int) -> str:
    """Say which step of a network's way goes wrong first, with its nodes."""
    proto, given = network(seed)
    lines = [f"opset {proto.opset_import[0].version}"]
    lines += [f"  {tensor.name} {list(tensor.dims)}" for tensor in proto.graph.initializer]
    shown = zip(proto.graph.input, given, strict=True)
    lines += [f"  {value.name} {array.dtype} {array.shape}" for value, array in shown]
    lines += [f"  {onnx.printer.to_text(node)}" for node in proto.graph.node]
    lines += [f"outputs {[value.name for value in proto.graph.output]}"]
    try:
        model = tw.load_onnx(proto)
        names = [value.name for value in proto.graph.input]
        made = fresh_session(proto).run(None, dict(zip(names, given, strict=True)))
        wanted = [np.asarray(array) for array in made]
        for which, graph in ("imported", model.source), ("optimized", model.graph):
            agree(proto, given, interpret(graph, given), wanted, Counter())
            lines.append(f"{which}: agrees")
        lines.append(str(model.graph))
    except Exception as error:
        lines.append(f"{type(error).__name__}: {str(error)[:1500]}")
    return "\n".join(lines)


def main() -> int:
    """Check networks until the time is over; return how many fail."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0, help="of the first network")
    parser.add_argument("--count", type=int, default=sys.maxsize)
    parser.add_argument("--keep", type=Path, help="a folder for the models that fail")
    options = parser.parse_args()
    seen, end, failed = Counter[str](), time.monotonic() + options.seconds, 0
    for seed in range(options.seed, options.seed + options.count):
        if time.monotonic() > end:
            break
        print(f"seed {seed}", flush=True)
        try:
            check(seed, seen)
        except Exception as error:
            kind = "REFUSED" if isinstance(error, TilewrightError) else "FAILED"
            failed += 1
            print(f"{kind} {seed}\n{traceback.format_exc()}\n{explain(seed)}", flush=True)
            if options.keep:
                options.keep.mkdir(parents=True, exist_ok=True)
                onnx.save(network(seed)[0], options.keep / f"{seed}.onnx")
    print(f"{failed} failed; {dict(seen)}")
    return min(100, failed)


if __name__ == "__main__":
    sys.exit(main())
