"""What torch.compile is told: options, training, the backend's name."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from importlib.metadata import entry_points
from pathlib import Path
from threading import Barrier, Lock
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is an extra")

from tests.graph.torch.models import Compiled, same  # noqa: E402
from torch import nn  # noqa: E402

import tilewright as tw  # noqa: E402
from tilewright.graph.torch import Options, captured, specialise  # noqa: E402


def test_training_is_left_to_pytorch() -> None:
    model, x = nn.Linear(4, 3), torch.randn(2, 4)
    compiled = Compiled(model)
    with pytest.warns(UserWarning, match=r"call it in torch.inference_mode\(\)"):
        made = compiled.run(x)
    made.sum().backward()
    assert model.weight.grad is not None
    assert not compiled.reports
    compiled.check(x)
    assert compiled.kernels > 0


def test_weights_without_gradients_need_no_mode() -> None:
    model, x = nn.Linear(4, 3).requires_grad_(False), torch.randn(2, 4)
    compiled = Compiled(model)
    same(compiled.run(x), model(x))
    assert compiled.kernels > 0


def test_dropout_and_batch_statistics_in_training_mode() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Linear(4, 2))
    compiled = Compiled(model)
    model.train()
    torch.manual_seed(0)
    x = torch.randn(8, 4)
    before = model[1].running_mean.clone()
    with torch.no_grad():
        made = compiled.run(x)
    assert made.shape == (8, 2)
    assert not torch.equal(before, model[1].running_mean)
    assert compiled.kernels > 0


def test_graphs_that_cannot_be_traced_are_left_to_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> Any:
        raise RuntimeError("no rule for it")

    monkeypatch.setattr(captured, "traced", fails)
    model, x = nn.Linear(4, 3), torch.randn(2, 4)
    with torch.inference_mode():
        with pytest.warns(UserWarning, match="cannot trace: no rule for it"):
            made = Compiled(model).run(x)
        same(made, model(x))


def test_parts_that_cannot_be_compiled_are_left_to_pytorch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(*_: Any, **__: Any) -> Any:
        raise tw.errors.ModelError("too large.")

    monkeypatch.setattr(specialise, "compile", fails)
    model, x = nn.Linear(4, 3), torch.randn(2, 4)
    compiled = Compiled(model)
    with torch.inference_mode():
        with pytest.warns(UserWarning, match=r"PyTorch runs 1 operators \(aten.addmm\): too large"):
            made = compiled.run(x)
        same(made, model(x))
    assert not compiled.kernels


def test_unknown_options_are_named() -> None:
    with pytest.raises(tw.errors.ArgumentError, match=r"options trial: there are records, trials"):
        Options.of({"trial": 3})
    assert Options.of(None) == Options()


def test_records_must_be_there(tmp_path: Path) -> None:
    compiled = Compiled(nn.Linear(4, 3), records=tmp_path / "none.db")
    with pytest.raises(Exception, match=r"none\.db"), torch.no_grad():
        compiled.run(torch.randn(2, 4))


def test_tuning_on_the_first_call(tmp_path: Path) -> None:
    where = tmp_path / "tuning.db"
    compiled = Compiled(nn.Linear(8, 16, bias=False), records=where, trials=2)
    compiled.check(torch.randn(4, 8))
    assert [module.untuned for report in compiled.reports for module in report.modules] == [()]
    again = Compiled(compiled.model, records=where)
    again.check(torch.randn(4, 8))
    assert [module.untuned for report in again.reports for module in report.modules] == [()]


def test_the_backend_is_found_by_name() -> None:
    if "tilewright" not in {e.name for e in entry_points(group="torch_dynamo_backends")}:
        pytest.skip("tilewright is not installed with its entry points")
    assert "tilewright" in torch.compiler.list_backends()
    torch.compiler.reset()
    run: Any = torch.compile(lambda x: x * 2 + 1, backend="tilewright")
    with torch.inference_mode():
        x = torch.randn(3)
        same(run(x), x * 2 + 1)


@pytest.mark.parametrize("warm", [True, False])
def test_threads_after_a_first_call_or_one_by_one(warm: bool) -> None:
    """PyTorch's own capture fails where several threads are in it at once."""
    torch.manual_seed(0)
    model, x = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)), torch.randn(3, 8)
    compiled, one = Compiled(model), Lock()
    if warm:
        compiled.check(x)
    together = Barrier(4)

    def call(number: int) -> None:
        given = x * number
        together.wait()
        with torch.inference_mode(), nullcontext() if warm else one:
            made = compiled.run(given)
        same(made, model(given).detach())

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(call, range(4)))
    assert len(compiled.reports) == 1
