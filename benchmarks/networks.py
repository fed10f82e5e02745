"""The networks of the paper's Figure 11 against the installed peers, one and two threads, one run.

python -m benchmarks.networks [--networks resnet18 lstm20 ...] [--trials 2000] [--db networks.db]

Trials are in all for each network, on one thread, if not on record; a fifth of them more on two.
Models, inputs and answers, which ONNX's own evaluation in NumPy gives, are written to `--folder`.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto
from onnx.reference import ReferenceEvaluator

from benchmarks.models import dcgan, dqn, lstm, mobilenet_v1, resnet18
from benchmarks.models.net import save
from benchmarks.peers.work import Subject, error
from benchmarks.side_by_side import (
    WRONG,
    described,
    forget_compiled,
    installed,
    options,
    run,
    time_all,
)
from benchmarks.tables import OWN, Seconds, compared
from benchmarks.timing import thread_counts
from tilewright.graph.choices import known_as
from tilewright.graph.compile import compile
from tilewright.graph.model import load_onnx
from tilewright.graph.rehearse import rehearse
from tilewright.records.store import Records
from tilewright.tuning.tune import tune

Array = np.ndarray[Any, Any]
Build = Callable[[], onnx.ModelProto]
VARIANTS = (" nchw", " cells")  # of a peer, of which the table shows the faster


@dataclass(frozen=True)
class Network:
    """A model, and how much it weighs in the mean of the five networks.

    `cells` is the same model spelled otherwise, which peers may take if it suits them better.
    """

    build: Build
    weight: int = 0
    cells: Build | None = None


NETWORKS = {
    "resnet18": Network(resnet18.build, 2),
    "mobilenet_v1": Network(mobilenet_v1.build, 2),
    "dqn": Network(dqn.build, 2),
    "dcgan": Network(dcgan.build, 2),
    "lstm1": Network(lstm.build, 1, partial(lstm.build, cells=True)),
    "lstm20": Network(partial(lstm.build, 20), 1),
    "resnet18_b8": Network(partial(resnet18.build, batch=8)),
    "mobilenet_v1_b8": Network(partial(mobilenet_v1.build, batch=8)),
}


def main() -> None:
    parser = options(__doc__, trials=2000, db="networks.db", rounds=9, seconds=0.4)
    parser.add_argument(
        "--networks", nargs="*", default=list(NETWORKS), choices=list(NETWORKS), metavar="NAME",
        help=f"of {', '.join(NETWORKS)}",
    )  # fmt: skip
    parser.add_argument("--folder", type=Path, default=Path("build/networks"))
    run("benchmarks.networks", parser, _prepare, _measure, _show)


def _prepare(args: argparse.Namespace) -> None:
    """Write the models, their inputs and answers, and tune them."""
    args.folder.mkdir(parents=True, exist_ok=True)
    for name in args.networks:
        network = NETWORKS[name]
        write(args.folder / name, network)
        try:
            _tune(name, args)
        except Exception as reason:  # whatever it is, peers are measured, and the report says it
            traceback.print_exc()
            print(f"\n{name} cannot be tuned: {said(reason)}.", flush=True)


def _tune(name: str, args: argparse.Namespace) -> None:
    """Tune with so many trials in all; those on two threads begin with the best on one."""
    network = load_onnx(args.folder / f"{name}.onnx")
    with Records(args.db) as records:
        for threads in thread_counts():
            trials = args.trials // (1 if threads == 1 else 5)
            tasks = network.tasks(threads=threads)
            held = sum(len(records.trials(task.key, task.where)) for task in tasks)
            begin = time.perf_counter()
            if held < trials:
                tune(network, trials=trials - held, records=records, threads=threads)
                done = f"{trials - held} trials"
            elif not records.choices(known_as(network), tasks[0].where):
                rehearse(network, records, threads=threads)
                done = "choosing in the network"
            else:
                continue
            took = f"{done} on {threads} thread(s) took {time.perf_counter() - begin:.0f} s."
            print(f"\n{name}: {took}", flush=True)


def write(path: Path, network: Network) -> None:
    """Write `path`.onnx and `path`.cells.onnx, and inputs and answers as `path`.npz."""
    model = network.build()
    save(model, path.with_suffix(".onnx"))
    if network.cells:
        save(network.cells(), path.with_suffix(".cells.onnx"))
    given = inputs(model)
    held: dict[str, Any] = {f"input{i}": array for i, array in enumerate(given.values())}
    held |= {f"output{i}": array for i, array in enumerate(answers(model, given))}
    np.savez(path.with_suffix(".npz"), **held)


def inputs(model: onnx.ModelProto) -> dict[str, Array]:
    """Return data for a model: numbers of words are below the size of its vocabulary."""
    rng = np.random.default_rng(0)
    sizes = {tensor.name: tensor.dims[0] for tensor in model.graph.initializer if tensor.dims}
    tables = {
        n.input[1]: sizes.get(n.input[0], 1) for n in model.graph.node if n.op_type == "Gather"
    }
    made: dict[str, Array] = {}
    for value in model.graph.input:
        shape = [d.dim_value for d in value.type.tensor_type.shape.dim]
        if value.type.tensor_type.elem_type == TensorProto.INT64:
            made[value.name] = rng.integers(0, tables[value.name], shape)
        else:
            made[value.name] = rng.standard_normal(shape, np.float32)
    return made


def answers(model: onnx.ModelProto, given: Mapping[str, Array]) -> list[Array]:
    """Return all outputs of a model, as ONNX's own evaluation in NumPy has them."""
    return [np.asarray(made) for made in ReferenceEvaluator(model).run(None, dict(given))]


def _measure(args: argparse.Namespace) -> dict[str, Any]:
    peers = installed()
    rows: dict[str, Any] = {}
    for name in args.networks:
        print(f"{name} on {args.threads} thread(s)", file=sys.stderr, flush=True)
        forget_compiled()
        path = args.folder / name
        with np.load(path.with_suffix(".npz")) as held:
            data, right = (
                [held[key] for key in held.files if key.startswith(kind)]
                for kind in ("input", "output")
            )
        makers: dict[str, Callable[[], list[Subject]]] = {
            OWN: partial(_own, path.with_suffix(".onnx"), args, data)
        }
        for peer in peers:
            for file in (path.with_suffix(".onnx"), path.with_suffix(".cells.onnx")):
                if file.exists():
                    variant = " cells" if ".cells" in file.name else ""
                    makers[peer.NAME + variant] = partial(
                        _variant, partial(peer.network, file, args.threads, *data), variant
                    )
        subjects, notes = sound(makers, right)
        rows[name] = {"seconds": time_all(subjects, args), "notes": notes}
    return {"peers": described(peers), "rows": rows}


def _variant(make: Callable[[], Iterable[Subject]], variant: str) -> list[Subject]:
    return [replace(subject, name=subject.name + variant) for subject in make()]


def _own(path: Path, args: argparse.Namespace, data: Sequence[Array]) -> list[Subject]:
    with Records(args.db) as records:
        module = compile(load_onnx(path), records, threads=args.threads)
    made: list[tuple[Array, ...]] = [()]

    def call() -> None:
        result = module(*data)
        made[0] = result if isinstance(result, tuple) else (result,)

    return [Subject(OWN, call, lambda: made[0][0], others=lambda: made[0][1:])]


def sound(
    makers: Mapping[str, Callable[[], Iterable[Subject]]], right: Sequence[Array]
) -> tuple[list[Subject], list[str]]:
    """Return the subjects that compute what is right, and a sentence on each that does not."""
    subjects: list[Subject] = []
    notes: list[str] = []
    for name, make in makers.items():
        try:
            for subject in make():
                off = error(subject, *right)
                if off < WRONG:
                    subjects.append(subject)
                else:
                    notes.append(f"{subject.name} computes it WRONGLY: off by {off:.2g}")
        except NotImplementedError as reason:
            notes.append(f"{name} is left out: {reason}")
        except Exception as reason:  # one that fails must not end the run of all others
            traceback.print_exc()
            notes.append(f"{name} does not run it: {said(reason)}")
    return subjects, notes


def said(reason: Exception) -> str:
    """Return an error in one line."""
    text = " ".join(str(reason).split()).rstrip(".")
    known = type(reason).__name__
    return f"{known}: {text[:200]}{'...' if len(text) > 200 else ''}" if text else known


def merged(seconds: Seconds) -> dict[str, tuple[float, float]]:
    """Return the fastest variant of each, by medians.

    >>> merged({"a": (2.0, 1.5), "a nchw": (1.0, 0.9), "b compile": (3.0, 3.0)})
    {'a': (1.0, 0.9), 'b compile': (3.0, 3.0)}
    """
    best: dict[str, tuple[float, float]] = {}
    for name, measured in seconds.items():
        for variant in VARIANTS:
            name = name.removesuffix(variant)
        best[name] = min(best.get(name, measured), measured)
    return best


def _show(measured: dict[str, Any], threads: int) -> str:
    rows: dict[str, Any] = measured["rows"]
    seconds = {name: merged(row["seconds"]) for name, row in rows.items()}

    def cell(name: str, subject: str) -> str:
        median, least = seconds[name][subject]
        return f"{median * 1e3:.3f} ({least * 1e3:.3f})"

    weights = {name: NETWORKS[name].weight for name in rows}
    title = f"## {threads} thread(s): median ms (min), and how many times faster tilewright is"
    shown = compared(seconds, cell, weights, "geometric mean of batch 1, LSTM once")
    notes = "\n".join(f"- {name}: {note}." for name, row in rows.items() for note in row["notes"])
    return f"{title}\n\n{shown}\n\n{notes}".strip()


if __name__ == "__main__":
    main()
