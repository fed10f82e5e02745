"""The main job, from a network file to the gain: python -m benchmarks.demo

Writes ResNet-18 to an ONNX file, tunes it for this machine, and runs it side by side with ONNX
Runtime. Everything goes to `demo/`; run again, it goes on from the trials that are there.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from benchmarks.models.resnet18 import build, save

TRIALS = 1200


def main() -> None:
    folder = Path("demo")
    folder.mkdir(exist_ok=True)
    model, db = folder / "resnet18.onnx", folder / "tuning.db"
    if not model.exists():
        print("writing ResNet-18 to", model)
        save(build(), model)
    tilewright = [str(Path(sys.executable).with_name("tilewright"))]
    _run([*tilewright, "tune", str(model), "--trials", str(TRIALS), "--db", str(db)])
    for threads in range(1, min(2, len(os.sched_getaffinity(0))) + 1):
        _run([*tilewright, "bench", str(model), "--db", str(db), "--threads", str(threads)])


def _run(command: list[str]) -> None:
    print("$", " ".join(["tilewright", *command[1:]]), flush=True)
    subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
