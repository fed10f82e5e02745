"""Peak memory of running the networks of Figure 11, against ONNX Runtime and OpenVINO.

python -m benchmarks.memory [--networks resnet18 ...] [--threads 1 2] [--db networks.db]

Each subject runs in a new process, which imports NumPy, then the subject's library, loads the
network (tilewright from the .twm file that it was compiled to, which reads no model and no records)
and calls it a few times. The greatest resident memory (VmHWM) counts all that was ever there. Pages
of files, such as those of libraries, processes share and the system may drop: what is private
(RssAnon, at the end) is shown beside it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from benchmarks.tables import OWN, geometric_mean, table

PEER = "onnxruntime"
NETWORKS = ("resnet18", "mobilenet_v1", "dqn", "dcgan", "lstm1", "lstm20")  # of benchmarks.networks
RUNS = 3
_TYPES = {"tensor(float)": "float32", "tensor(int64)": "int64"}


@dataclass(frozen=True)
class Memory:
    """Bytes of a process: the peak with NumPy, with the library, in the end; what is private then.

    >>> Memory(20, 30, 90, 50).beyond_numpy, Memory(20, 30, 90, 50).beyond_library
    (70, 60)
    """

    numpy: int
    library: int
    peak: int
    private: int

    @property
    def beyond_numpy(self) -> int:
        return self.peak - self.numpy

    @property
    def beyond_library(self) -> int:
        return self.peak - self.library


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--networks", nargs="*", default=list(NETWORKS), choices=NETWORKS, metavar="NAME",
        help=f"of {', '.join(NETWORKS)}",
    )  # fmt: skip
    parser.add_argument("--threads", nargs="*", type=int, default=[1, 2])
    parser.add_argument("--db", type=Path, default=Path("networks.db"), help="records to use")
    parser.add_argument("--folder", type=Path, default=Path("build/networks"))
    parser.add_argument("--child", nargs=2, metavar=("SUBJECT", "FILE"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        print(json.dumps(vars(_run(args.child[0], args.child[1], args.threads[0]))))
        return
    args.folder.mkdir(parents=True, exist_ok=True)
    rows: dict[str, dict[str, Memory]] = {}
    notes: list[str] = []
    for name in args.networks:
        for threads in args.threads:
            row = f"{name}, {threads} thread{'s' * (threads > 1)}"
            model, compiled = (args.folder / f"{name}{end}" for end in (".onnx", f".{threads}.twm"))
            try:
                notes.append(f"- {row}: {_prepare(name, model, compiled, args.db, threads)}.")
            except (
                Exception
            ) as reason:  # whatever it is, peers are measured, and the report says it
                notes.append(f"- {row}: tilewright does not run it: {str(reason).splitlines()[0]}")
                compiled.unlink(missing_ok=True)
            files = {OWN: compiled, PEER: model, "openvino": model}
            there = [name for name in files if find_spec(name) and files[name].exists()]
            rows[row] = {name: measured(name, files[name], threads) for name in there}
    print(shown(rows), *notes, sep="\n")


def _prepare(name: str, model: Path, compiled: Path, records: Path, threads: int) -> str:
    """Write a model and what it is compiled to; return what takes memory of the latter."""
    from benchmarks.models.net import save
    from benchmarks.networks import NETWORKS as BUILDERS
    from tilewright.graph.compile import compile
    from tilewright.graph.model import load_onnx

    if not model.exists():
        save(BUILDERS[name].build(), model)
    module = compile(load_onnx(model), records if records.exists() else None, threads=threads)
    module.save(compiled)
    ends = sum(value.nbytes for value in (*module.inputs, *module.outputs))
    return (
        f"weights {_mb(module.weight_bytes)} MB, where the model has {_mb(model.stat().st_size)}; "
        f"what lies between {_mb(module.peak_bytes)}, inputs and outputs {_mb(ends)}; "
        f"{len(module.untuned)} of {len(module.executable.kernels)} kernels untuned"
    )


def measured(subject: str, file: Path, threads: int) -> Memory:
    """Return the memory of a process that runs a network; raise RuntimeError if it cannot."""
    # A new program: a fork of this process would begin with the memory of this one.
    command = [sys.executable, "-m", "benchmarks.memory", "--threads", str(threads)]
    done = subprocess.run(
        [*command, "--child", subject, str(file)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["nothing"])[-1]
        raise RuntimeError(f"{subject} does not run {file.name}: {said}")
    return Memory(**json.loads(done.stdout.splitlines()[-1]))


def shown(rows: Mapping[str, Mapping[str, Memory]]) -> str:
    """Return a table in MB; of ratios, more than 1 says that tilewright takes less."""
    peers = list(dict.fromkeys(name for row in rows.values() for name in row if name != OWN))
    kinds: dict[str, Callable[[Memory], int]] = {
        "peak": lambda memory: memory.peak,
        "peak beyond NumPy": lambda memory: memory.beyond_numpy,
        "peak beyond the library": lambda memory: memory.beyond_library,
        "private at the end": lambda memory: memory.private,
    }
    tables: list[str] = []
    for kind, of in kinds.items():
        ratios = [of(row[PEER]) / of(row[OWN]) for row in rows.values() if {OWN, PEER} <= {*row}]
        cells = [
            [
                name,
                *(_mb(of(row[s])) if s in row else "-" for s in (OWN, *peers)),
                *(
                    f"{of(row[s]) / of(row[OWN]):.2f} x" if {s, OWN} <= {*row} else "-"
                    for s in peers
                ),
            ]
            for name, row in rows.items()
        ]
        if PEER in peers and ratios:
            mean = ["geometric mean", "", *("" for _ in peers)]
            cells.append([*mean, *("" for _ in peers[: peers.index(PEER)])])
            cells[-1].append(f"{geometric_mean(ratios):.2f} x")
        header = [f"{kind}, MB", OWN, *peers, *(f"{name} / tilewright" for name in peers)]
        tables.append(table(header, cells))
    return "\n\n".join(tables) + "\n"


def _mb(nbytes: int) -> str:
    return f"{nbytes / 1e6:.1f}"


# -- in the process that is measured


def _run(subject: str, file: str, threads: int) -> Memory:
    numpy = status()["VmHWM"]
    load = _SUBJECTS[subject]()
    library = status()["VmHWM"]
    call = load(file, threads)
    for _ in range(RUNS):
        call()
    end = status()
    return Memory(numpy, library, end["VmHWM"], end["RssAnon"])


def status() -> dict[str, int]:
    """Return the bytes of memory that Linux tells of this process, by name."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return {key: int(kb[:-3]) * 1024 for key, kb in (x.split(":") for x in lines) if "kB" in kb}


Load = Callable[[str, int], Callable[[], object]]


def _tilewright() -> Load:
    from tilewright.graph.twm import load

    def loaded(file: str, threads: int) -> Callable[[], object]:
        module = load(file)
        arrays = [np.zeros(value.shape, value.dtype) for value in module.inputs]
        return lambda: module(*arrays, threads=threads)

    return loaded


def _onnxruntime() -> Load:
    import onnxruntime

    def loaded(file: str, threads: int) -> Callable[[], object]:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
        given = {x.name: np.zeros(x.shape, _TYPES[x.type]) for x in session.get_inputs()}
        return lambda: session.run(None, given)

    return loaded


def _openvino() -> Load:
    import openvino

    def loaded(file: str, threads: int) -> Callable[[], object]:
        settings = {"INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": "f32"}
        compiled = openvino.Core().compile_model(file, "CPU", settings)
        given = [np.zeros(tuple(x.shape), x.element_type.to_dtype()) for x in compiled.inputs]
        return lambda: compiled(given)

    return loaded


_SUBJECTS: dict[str, Callable[[], Load]] = {
    OWN: _tilewright, PEER: _onnxruntime, "openvino": _openvino,
}  # fmt: skip


if __name__ == "__main__":
    main()
