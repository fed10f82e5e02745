"""Networks as shared libraries: a C program that includes the header gets the same numbers."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.graph.chains import SHAPE, chain, given, meant
from tests.graph.shipped import image, little

import tilewright as tw
from tilewright.errors import ArgumentError, CompileError, ModelError, TargetError
from tilewright.graph.assemble import Work, assemble
from tilewright.graph.compile import compile
from tilewright.graph.export import Library, link
from tilewright.graph.ir import Graph, Node, Value
from tilewright.graph.model import load_onnx
from tilewright.graph.module import Module
from tilewright.runtime.artifact import compile_nest

if not any(map(shutil.which, ("cc", "gcc", "clang"))):
    pytest.skip("there is no C compiler", allow_module_level=True)

# Reads the input from standard input; writes both outputs of both runs, on two threads at once.
PROGRAM = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include "little.h"

static LITTLE_INPUT_0_TYPE x[LITTLE_INPUT_0_ELEMENTS];
static LITTLE_OUTPUT_0_TYPE y[2][LITTLE_OUTPUT_0_ELEMENTS];
static LITTLE_OUTPUT_1_TYPE z[2][LITTLE_OUTPUT_1_ELEMENTS];
static const int shape[LITTLE_INPUT_0_RANK] = LITTLE_INPUT_0_SHAPE;

static void *call(void *of) {
  int me = *(int *)of, i, failed = 0;
  char *workspace = malloc(little_workspace_bytes() + 1);
  const void *inputs[LITTLE_INPUTS] = {x};
  void *outputs[LITTLE_OUTPUTS] = {y[me], z[me]};
  for (i = 0; i < 200; i++)
    failed |= little_run(inputs, outputs, workspace + 1, 1 + me);
  failed |= little_run(inputs, outputs, NULL, 1) != LITTLE_BAD_POINTER;
  failed |= little_run(NULL, outputs, workspace, 1) != LITTLE_BAD_POINTER;
  failed |= little_run(inputs, outputs, workspace, 0) != LITTLE_BAD_THREADS;
  failed |= little_run(inputs, outputs, workspace, -1) != LITTLE_BAD_THREADS;
  outputs[1] = NULL;
  failed |= little_run(inputs, outputs, workspace, 1) != LITTLE_BAD_POINTER;
  free(workspace);
  return failed ? of : NULL;
}

int main(void) {
  pthread_t other;
  int first = 0, second = 1;
  void *failed;
  if (shape[3] != 9 || little_workspace_bytes() != LITTLE_WORKSPACE_BYTES) return 2;
  if (fread(x, LITTLE_INPUT_0_BYTES, 1, stdin) != 1) return 3;
  if (pthread_create(&other, NULL, call, &second)) return 4;
  if (call(&first)) return 5;
  if (pthread_join(other, &failed) || failed) return 6;
  fwrite(y, sizeof y, 1, stdout);
  fwrite(z, sizeof z, 1, stdout);
  return 0;
}
"""
STRICT = ("-std=c99", "-D_POSIX_C_SOURCE=200809L", "-Wall", "-Wextra", "-pedantic", "-Werror")


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Module:
    return compile(load_onnx(little(tmp_path_factory.mktemp("net") / "m.onnx")), threads=1)


@pytest.fixture(scope="module")
def shared() -> Module:
    """A network of one kernel, whose loop is shared out among threads."""
    x = tw.tensor("X", (8, 16))
    y = tw.compute("Y", (8, 16), lambda i, j: tw.exp(x[i, j]) * 2.0)
    schedule = tw.Schedule(y).parallel("i")
    artifact = compile_nest(schedule.loops, tw.host(), "op0")
    assert "GOMP_parallel" in artifact.calls
    node = Node("twice", "unary", ("x",), (Value("y", (8, 16)),))
    graph = Graph((Value("x", (8, 16)),), ("y",), (node,), {})
    work = Work(node, "twice", 128, artifact, ("y", "x"))
    names = [b.scope for b in artifact.parameters]
    work = replace(work, places=tuple("y" if scope == "output" else "x" for scope in names))
    return Module(assemble(graph, [work], tw.host(), 2))


def run(
    library: Library, inputs: list[np.ndarray], module: Module, threads: int
) -> list[np.ndarray]:
    """Call a library of a module from this process."""
    loaded = ctypes.CDLL(str(library.path))
    entry = getattr(loaded, f"{library.name}_run")
    outputs = [np.full(v.shape, 7, v.dtype) for v in module.outputs]
    workspace = np.zeros(getattr(loaded, f"{library.name}_workspace_bytes")(), np.uint8)

    def table(arrays: list[np.ndarray]) -> ctypes.Array[ctypes.c_void_p]:
        return (ctypes.c_void_p * len(arrays))(*(a.ctypes.data for a in arrays))

    at = ctypes.c_void_p(workspace.ctypes.data)
    assert entry(table(inputs), table(outputs), at, threads) == 0
    return outputs


def test_a_c_program_runs_the_network(module: Module, tmp_path: Path):
    made = module.export(tmp_path / "libwhatever.so", name="little")
    assert (made.path.name, made.header.name, made.parallel) == ("libwhatever.so", "little.h", True)
    (tmp_path / "main.c").write_text(PROGRAM)
    command = ["cc", *STRICT, "main.c", "-o", "main", "./libwhatever.so", "-lpthread"]
    command += ["-Wl,-rpath,$ORIGIN"]
    subprocess.run(command, cwd=tmp_path, check=True)
    said = subprocess.run(
        [str(tmp_path / "main")], input=image().tobytes(), capture_output=True, check=True
    ).stdout
    y, x = module(image())
    assert said == y.tobytes() * 2 + x.tobytes() * 2
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "libwhatever.so", "little.h", "main", "main.c",
    ]  # fmt: skip


# Reads the input and the numbers of threads; runs on all of them, twice at once.
THREADS = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "chain.h"

static CHAIN_INPUT_0_TYPE x[CHAIN_INPUT_0_ELEMENTS];
static CHAIN_OUTPUT_0_TYPE y[2][CHAIN_OUTPUT_0_ELEMENTS], once[CHAIN_OUTPUT_0_ELEMENTS];
static int counts[4] = {2, 1, 7, 3};

static void *call(void *of) {
  int me = *(int *)of, i, failed = 0;
  char *workspace = malloc(chain_workspace_bytes());
  const void *inputs[CHAIN_INPUTS] = {x};
  void *outputs[CHAIN_OUTPUTS] = {y[me]};
  for (i = 0; i < 40; i++) {
    memset(y[me], 0, sizeof y[me]);
    failed |= chain_run(inputs, outputs, workspace, counts[(i + me) % 4]);
    failed |= memcmp(y[me], once, sizeof once);
  }
  free(workspace);
  return failed ? of : NULL;
}

int main(void) {
  pthread_t other;
  int first = 0, second = 1;
  void *failed;
  char *workspace = malloc(chain_workspace_bytes());
  const void *inputs[CHAIN_INPUTS] = {x};
  void *outputs[CHAIN_OUTPUTS] = {once};
  if (fread(x, CHAIN_INPUT_0_BYTES, 1, stdin) != 1) return 2;
  if (chain_run(inputs, outputs, workspace, 1)) return 3;
  if (pthread_create(&other, NULL, call, &second)) return 4;
  if (call(&first)) return 5;
  if (pthread_join(other, &failed) || failed) return 6;
  free(workspace);
  fwrite(once, sizeof once, 1, stdout);
  return 0;
}
"""


@pytest.mark.parametrize("openmp", [True, False])
def test_a_c_program_runs_loops_on_several_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, openmp: bool
):
    if not openmp:
        monkeypatch.setattr(link, "_OPENMP", ())
    made = Module(chain(5)).export(tmp_path / "libchain.so")
    assert made.parallel <= openmp
    (tmp_path / "main.c").write_text(THREADS)
    command = ["cc", *STRICT, "main.c", "-o", "main", "./libchain.so", "-lpthread"]
    subprocess.run([*command, "-Wl,-rpath,$ORIGIN"], cwd=tmp_path, check=True)
    for limit in {}, {"OMP_THREAD_LIMIT": "1"}, {"OMP_THREAD_LIMIT": "4", "OMP_DYNAMIC": "true"}:
        said = subprocess.run(
            [str(tmp_path / "main")], input=given().tobytes(), capture_output=True, check=True,
            timeout=60, env=os.environ | limit,
        ).stdout  # fmt: skip
        got = np.frombuffer(said, np.float32).reshape(SHAPE)
        np.testing.assert_allclose(got, meant(given(), 5), rtol=1e-6)


@pytest.mark.parametrize("driver", [True, False])
def test_paths_may_hold_what_they_like(
    shared: Module, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, driver: bool
):
    if not driver:
        if not any(map(shutil.which, ("ld", "ld.lld"))):
            pytest.skip("there is no linker")
        monkeypatch.setattr(link, "_DRIVERS", ())
    folder = tmp_path / "my nets, all $of 'them'"
    folder.mkdir()
    x = np.linspace(-1, 1, 128, dtype=np.float32).reshape(8, 16)
    made = shared.export(folder / "a net, b.so")
    np.testing.assert_array_equal(run(made, [x], shared, 1)[0], shared(x))
    assert sorted(p.name for p in folder.iterdir()) == ["a net, b.so", "a_net__b.h"]


def test_a_loaded_module_can_be_exported(module: Module, tmp_path: Path):
    module.save(tmp_path / "net.twm")
    made = tw.load(tmp_path / "net.twm").export(tmp_path / "net.so")
    for got, wanted in zip(run(made, [image()], module, 1), module(image()), strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_a_library_offers_its_two_functions_alone(module: Module, tmp_path: Path):
    if not shutil.which("nm"):
        pytest.skip("there is no nm")
    made = module.export(tmp_path / "net.so")
    told = subprocess.run(["nm", "-D", str(made.path)], capture_output=True, text=True, check=True)
    offered = re.findall(r" T (\w+)", told.stdout)
    assert set(offered) - {"_init", "_fini"} == {"net_run", "net_workspace_bytes"}


@pytest.mark.parametrize("threads", [1, 2])
def test_loops_are_shared_out_where_openmp_is(shared: Module, tmp_path: Path, threads: int):
    x = np.linspace(-1, 1, 128, dtype=np.float32).reshape(8, 16)
    made = shared.export(tmp_path / "net.so")
    (got,) = run(made, [x], shared, threads)
    np.testing.assert_array_equal(got, shared(x))
    np.testing.assert_allclose(got, np.exp(x) * 2, rtol=1e-5)
    said = "several cores are used" if made.parallel else "without OpenMP"
    assert said in made.header.read_text()


def test_without_openmp_one_thread_does_all(
    shared: Module, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(link, "_OPENMP", (("-lthere-is-no-such-library",),))
    x = np.linspace(-1, 1, 128, dtype=np.float32).reshape(8, 16)
    made = shared.export(tmp_path / "net.so")
    assert not made.parallel
    assert "without OpenMP" in made.header.read_text()
    np.testing.assert_array_equal(run(made, [x], shared, 2)[0], shared(x))


def test_a_linker_alone_will_do(shared: Module, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    if not any(map(shutil.which, ("ld", "ld.lld"))):
        pytest.skip("there is no linker")
    monkeypatch.setattr(link, "_DRIVERS", ())
    x = np.linspace(-1, 1, 128, dtype=np.float32).reshape(8, 16)
    made = shared.export(tmp_path / "net.so")
    np.testing.assert_array_equal(run(made, [x], shared, 1)[0], shared(x))


def test_without_a_linker_it_is_said_what_to_install(
    module: Module, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(link, "find_spec", lambda _: None)
    with pytest.raises(CompileError, match=r"cannot link net\.so: no linker works.*ziglang"):
        module.export(tmp_path / "net.so")
    (tmp_path / "cc").write_text("#!/bin/sh\necho it is broken >&2\nexit 1\n")
    (tmp_path / "cc").chmod(0o755)
    with pytest.raises(CompileError, match=r"works here \(cc: it is broken\)"):
        module.export(tmp_path / "net.so")
    assert [p.name for p in tmp_path.iterdir()] == ["cc"]


def elsewhere(module: Module, path: Path) -> None:
    board = tw.Target(
        "board", "riscv64-unknown-linux-gnu", "generic-rv64", vector_bytes=16, registers=32
    )
    Module(replace(module.executable, target=board)).export(path / "net.so")


@pytest.mark.parametrize(
    ("asked", "kind", "said"),
    [
        (lambda m, path: m.export(path / "net.o"), ArgumentError, r"ends in \.so"),
        (lambda m, path: m.export(path / "net.so", name="a-b"), ArgumentError, "a name as of C"),
        (lambda m, path: m.export(path / "net.so", name=""), ArgumentError, "a name as of C"),
        (lambda m, path: m.export(path / "no" / "net.so"), ModelError, "cannot export to"),
        (elsewhere, TargetError, "riscv64"),
    ],
)
def test_what_cannot_be_exported(
    module: Module, tmp_path: Path, asked: Callable[[Module, Path], None], kind: type, said: str
):
    with pytest.raises(kind, match=said):
        asked(module, tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("file", "name"),
    [("libres-net.so", "res_net"), ("18.so", "net_18"), ("größe.so", "gr__e"), ("lib.so", "net_")],
)
def test_functions_are_named_for_the_file(module: Module, tmp_path: Path, file: str, name: str):
    made = module.export(tmp_path / file)
    assert (made.name, made.header.name) == (name, f"{name}.h")
    assert f"int {name}_run(" in made.header.read_text()


def test_names_of_values_cannot_leave_their_comment(module: Module, tmp_path: Path):
    wild = replace(module.executable.inputs[0], name='x*/ int main;\n??/\\ "/* é')
    made = Module(replace(module.executable, inputs=(wild,))).export(tmp_path / "net.so")
    (tmp_path / "main.c").write_text(
        '#include "net.h"\nint main(void) { return NET_INPUTS - 1; }\n'
    )
    subprocess.run(["cc", *STRICT, "-trigraphs", "-c", "main.c"], cwd=tmp_path, check=True)
    assert "input 0: x*_ int main" in made.header.read_text()
