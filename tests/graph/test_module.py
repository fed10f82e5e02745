"""Compiled networks: the same numbers as their meaning and as ONNX Runtime, call after call."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import numpy as np
import pytest
from benchmarks.models.resnet18 import build
from onnx import helper
from tests.graph.models import by_onnxruntime, floats, save, write
from tests.tuning.toys import Toy

import tilewright as tw
from tilewright.errors import ArgumentError, TargetError
from tilewright.graph.compile import compile
from tilewright.graph.context import Context
from tilewright.graph.interpret import interpret
from tilewright.graph.model import Model, load_onnx
from tilewright.graph.module import Module
from tilewright.records.store import Records
from tilewright.search import RandomSearch

IMAGE = (1, 3, 33, 33)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ResNet of one block a stage, with odd image sizes all the way down."""
    made = build(image=33, width=8, blocks=(1, 1, 1, 1), classes=10)
    return save(made, tmp_path_factory.mktemp("net") / "small.onnx")


@pytest.fixture(scope="module")
def model(path: Path) -> Model:
    return load_onnx(path)


@pytest.fixture(scope="module")
def module(model: Model) -> Module:
    return compile(model, threads=1)


@pytest.fixture
def image() -> np.ndarray:
    return floats(np.random.default_rng(0), *IMAGE)


def compiled(path: Path, **shapes: tuple[int, ...]) -> Module:
    return compile(load_onnx(path, shapes or None), threads=1)


@pytest.mark.parametrize("threads", [1, 2])
def test_an_untuned_network_is_right(
    path: Path, model: Model, module: Module, image: np.ndarray, threads: int
):
    got = module(image, threads=threads)
    (meant,) = interpret(model.source, [image])
    (expected,) = by_onnxruntime(path, {"input": image})
    np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(got, meant, rtol=1e-3, atol=1e-4)


def test_a_tuned_network_is_right(path: Path, model: Model, image: np.ndarray, tmp_path: Path):
    """With whatever schedule won: here a random one of each task."""
    with Records(tmp_path / "tuning.db") as records:
        tasks = model.tasks()
        tw.tune(
            model, trials=3 * len(tasks), records=records, search=RandomSearch(), measure=Toy(),
            batch=3,
        )  # fmt: skip
        got = compile(model, records, threads=2)(image)
    (expected,) = by_onnxruntime(path, {"input": image})
    np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-4)


def test_equal_work_is_one_task(model: Model):
    tasks = model.tasks()
    assert len({task.key for task in tasks}) == len(tasks)
    computing = [operator for operator in model.operators if operator is not None]
    assert sum(task.weight for task in tasks) == len(computing)


def test_a_call_leaves_nothing_behind(module: Module, image: np.ndarray):
    """Results are the caller's own, inputs stay as they are, and calls do not see each other."""
    other = image[..., ::-1].copy()
    kept = image.copy()
    first = module(image)
    copy = first.copy()
    second = module(other)
    assert not np.array_equal(first, second)
    np.testing.assert_array_equal(first, copy)
    np.testing.assert_array_equal(image, kept)
    np.testing.assert_array_equal(module(input=image), first)
    assert not np.shares_memory(first, second)


def test_calls_from_several_threads_do_not_mix(module: Module, image: np.ndarray):
    given = [image * scale for scale in np.linspace(-2, 2, 24, dtype=np.float32)]
    wanted = [module(a).copy() for a in given]
    with ThreadPoolExecutor(4) as pool:
        profile = pool.submit(module.profile, given[0], repeats=3)
        got = list(pool.map(module, given))
    for one, want in zip(got, wanted, strict=True):
        np.testing.assert_array_equal(one, want)
    assert len(profile.result().calls) == len(module.calls)


def test_arrays_of_any_layout_are_taken(module: Module, image: np.ndarray):
    wanted = module(image)
    channels_last = np.ascontiguousarray(image.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
    np.testing.assert_array_equal(module(channels_last), wanted)
    shifted = np.zeros(image.size + 1, np.float32)[1:].reshape(IMAGE)
    shifted[...] = image
    np.testing.assert_array_equal(module(shifted), wanted)

    class Foreign:
        def __dlpack__(self, **_: Any) -> Any:
            return image.__dlpack__()

        def __dlpack_device__(self) -> tuple[int, int]:
            return image.__dlpack_device__()

    np.testing.assert_array_equal(module(Foreign()), wanted)


def test_two_modules_do_not_share_memory(model: Model, module: Module, image: np.ndarray):
    other = compile(model, threads=1)
    wanted = module(image)
    other(image * 3)
    np.testing.assert_array_equal(module(image), wanted)
    del other
    np.testing.assert_array_equal(module(image), wanted)


def test_all_that_is_wrong_is_said_at_once(tmp_path: Path):
    node = helper.make_node("Add", ["a", "b"], ["y"], "sum")
    module = compiled(write(tmp_path / "m.onnx", [node], {"a": (2, 3), "b": (2, 3)}, {}))
    good = np.zeros((2, 3), np.float32)
    cases: list[tuple[Callable[[], Any], list[str]]] = [
        (lambda: module(), ["a: float32 2x3 is missing", "b: float32 2x3 is missing"]),
        (lambda: module(good), ["b: float32 2x3 is missing"]),
        (
            lambda: module(good.astype(np.float64), good.T),
            ["a: float32 2x3 is given as float64 2x3", "b: float32 2x3 is given as float32 3x2"],
        ),
        (lambda: module([1.0], b=good), ["a: float32 2x3 is given as list"]),
        (lambda: module({"a": good, "b": good}), ["given as dict", "write net(**arrays)"]),
        (lambda: module(good, good, c=good, d=3), ["no input 'c'", "no input 'd'"]),
        (lambda: module(good, good, good), ["3 arrays for 2 inputs"]),
        (lambda: module(good, good, a=good), ["'a' is given twice"]),
        (lambda: module(good, good, threads=0), ["threads"]),
        (lambda: module(good, good, threads=-2), ["threads"]),
    ]
    for call, wanted in cases:
        with pytest.raises(ArgumentError) as refused:
            call()
        for text in wanted:
            assert text in str(refused.value)
    np.testing.assert_array_equal(module(good + 1, b=good + 2), good + 3)


def test_an_input_may_be_an_output(tmp_path: Path):
    node = helper.make_node("Relu", ["x"], ["y"], "relu")
    path = write(tmp_path / "m.onnx", [node], {"x": (2, 3)}, {}, ["y", "x"])
    x = floats(np.random.default_rng(0), 2, 3)
    y, same = compiled(path)(x)
    np.testing.assert_array_equal(y, np.maximum(x, 0))
    np.testing.assert_array_equal(same, x)
    assert not np.shares_memory(same, x)


def test_an_output_may_be_used_further(tmp_path: Path):
    nodes = [
        helper.make_node("Relu", ["x"], ["a"], "first"),
        helper.make_node("Add", ["a", "x"], ["b"], "second"),
        helper.make_node("Reshape", ["b", "shape"], ["c"], "flat"),
    ]
    constants = {"shape": np.array([6], np.int64)}
    path = write(tmp_path / "m.onnx", nodes, {"x": (2, 3)}, constants, ["a", "c", "b"])
    x = floats(np.random.default_rng(0), 2, 3)
    module = compiled(path)
    for _ in range(2):
        a, c, b = module(x)
        np.testing.assert_array_equal(a, np.maximum(x, 0))
        np.testing.assert_array_equal(b, np.maximum(x, 0) + x)
        np.testing.assert_array_equal(c, b.reshape(6))
        c[:] = 7  # each result is an array of its own
        assert not (b == 7).any()


def test_a_network_that_computes_nothing(tmp_path: Path):
    node = helper.make_node("Reshape", ["x", "shape"], ["y"], "flat")
    constants = {"shape": np.array([6], np.int64)}
    path = write(tmp_path / "m.onnx", [node], {"x": (2, 3)}, constants)
    x = floats(np.random.default_rng(0), 2, 3)
    np.testing.assert_array_equal(compiled(path)(x), x.reshape(6))


def test_a_profile_has_every_kernel(module: Module, image: np.ndarray):
    made = module.profile(image, repeats=3)
    assert [timed.call for timed in made.calls] == list(module.calls)
    for timed in (*made.calls, made.whole):
        assert len(timed.seconds) == 3
        assert 0 < timed.least <= timed.median
    assert re.fullmatch(rf"Profile\({len(made.calls)} kernels, [\d.]+ ms in one call\)", repr(made))
    head, *rows, last = str(made).splitlines()
    assert re.fullmatch(r"node +work +min us +median us +share", head)
    assert len(rows) == len(made.calls)
    for row, timed in zip(rows, made.calls, strict=True):
        assert timed.call is not None
        assert row.startswith(timed.call.node)
        assert re.search(rf" {re.escape(timed.call.work)} +[\d.]+ +[\d.]+ +\d+%$", row)
        assert len(row) == len(head)
    assert f"{len(made.calls)} kernels, " in last
    with pytest.raises(ArgumentError, match="repeats=0"):
        module.profile(image, repeats=0)


def test_calls_at_once_have_memory_of_their_own(
    module: Module, image: np.ndarray, monkeypatch: pytest.MonkeyPatch
):
    """Each of two calls waits inside of its run until the other one is there."""
    module, both, run = Module(module.executable), Barrier(2, timeout=30), Context.run

    def meeting(context: Context, given: Any, threads: int) -> Any:
        both.wait()
        return run(context, given, threads)

    wanted = module(image), module(-image)
    monkeypatch.setattr(Context, "run", meeting)
    with ThreadPoolExecutor(2) as pool:
        got = list(pool.map(module, (image, -image)))
    np.testing.assert_array_equal(got, wanted)
    with ThreadPoolExecutor(2) as pool:
        got = list(pool.map(lambda at: at[0](at[1]), ((module, image), (module.context(), -image))))
    np.testing.assert_array_equal(got, wanted)


def test_a_context_is_its_module_in_other_memory(module: Module, image: np.ndarray):
    context = module.context()
    wanted = module(image)
    np.testing.assert_array_equal(context(image), wanted)
    np.testing.assert_array_equal(context(input=image, threads=2), wanted)
    np.testing.assert_array_equal(np.from_dlpack(context(image)), wanted)
    with pytest.raises(ArgumentError, match="is missing"):
        context()
    assert str(module.peak_bytes) in repr(context)


def test_memory_is_that_of_values_and_scratch(module: Module):
    """Inputs, outputs and weights lie elsewhere; what a kernel needs besides is in the arena."""
    executable = module.executable
    used = [
        (call.places[i], parameter)
        for call in executable.calls
        for i, parameter in enumerate(executable.kernels[call.kernel].parameters)
    ]
    ends = [place.at + p.nbytes for place, p in used if place.region == "arena"]
    assert module.peak_bytes - 64 < max(ends) <= module.peak_bytes
    assert module.weight_bytes == sum(weight.nbytes for weight in executable.weights)
    assert {place.region for place, _ in used} == {"input", "output", "weight", "arena"}


def test_equal_weights_of_equal_work_are_kept_once(tmp_path: Path):
    """As those of a recurrent network, whose steps are nodes of their own."""
    rng = np.random.default_rng(0)
    nodes = [helper.make_node("MatMul", [f"x{i}", "w"], [f"x{i + 1}"]) for i in range(4)]
    path = write(tmp_path / "m.onnx", nodes, {"x0": (3, 8)}, {"w": floats(rng, 8, 8)}, ["x4"])
    module = compiled(path)
    assert len(module.calls) == 4
    assert len(module.executable.weights) == 1
    x = floats(rng, 3, 8)
    np.testing.assert_allclose(module(x), by_onnxruntime(path, {"x0": x})[0], rtol=1e-4, atol=1e-5)


def test_a_foreign_target_is_refused(model: Model):
    board = tw.Target(
        "board", triple="aarch64-unknown-linux-gnu", cpu="cortex-a72", vector_bytes=16, registers=32
    )
    with pytest.raises(TargetError, match=r"cannot run code for 'board'"):
        compile(model, target=board)


@pytest.mark.parametrize("level", ["x86-64", "x86-64-v3"])
def test_a_lesser_target_runs_here(path: Path, model: Model, image: np.ndarray, level: str):
    if not tw.host().triple.startswith("x86_64"):
        pytest.skip("another architecture")
    got = compile(model, target=tw.Target(level), threads=1)(image)
    (expected,) = by_onnxruntime(path, {"input": image})
    np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-4)


def test_records_may_be_a_path(tmp_path: Path):
    node = helper.make_node("Relu", ["x"], ["y"], "clip")
    model = load_onnx(write(tmp_path / "m.onnx", [node], {"x": (40, 30)}, {}))
    db = tmp_path / "tuning.db"
    assert compile(model, threads=1).untuned == ("relu 40x30",)
    with Records(db) as records:
        tw.tune(model, trials=2, records=records, measure=Toy(), search=RandomSearch())
    for where in db, str(db):
        assert compile(model, where, threads=1).untuned == ()
        assert compile(model, where, threads=2).untuned == ()  # those of one thread are better


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("model.onnx",), r"load_onnx\('model\.onnx'\)"),
        ((None,), "give a network"),
        (("MODEL", 3), "the path of a database"),
    ],
)
def test_what_is_not_compiled(model: Model, arguments: tuple[Any, ...], said: str):
    given: list[Any] = [model if a == "MODEL" else a for a in arguments]
    with pytest.raises(ArgumentError, match=said):
        compile(*given)


def test_networks_print_in_a_line(model: Model, module: Module):
    ends = "input: float32 1x3x33x33 -> output: float32 1x10"
    assert repr(model).startswith(f"Model({ends}; ")
    assert repr(module).startswith(f"Module({ends}; {len(module.calls)} kernels, ")
    assert repr(module).endswith("untuned, threads=1)")
    assert repr(module.calls[0]).startswith("Call(")
    for each in model, module, module.calls[0]:
        assert len(repr(each)) < 160
