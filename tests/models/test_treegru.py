"""TreeGRU: the contract of a cost model, and what it makes of trees."""

from __future__ import annotations

import pickle
import subprocess
import sys
import time
from functools import cache, partial
from typing import Any, ClassVar

import numpy as np
import pytest

from tilewright.errors import ArgumentError, ModelError
from tilewright.features.tree import NODE, Tree
from tilewright.models import Ensemble, Training, TreeGRU, load, save
from tilewright.models.forest import Forest
from tilewright.models.quality import pairwise_accuracy
from tilewright.models.treegru import Fitted
from tilewright.ops.conv2d import Conv2d
from tilewright.ops.dense import Dense
from tilewright.target import Target
from tilewright.testing import CostModelSuite
from tilewright.tuning.guess import guess
from tilewright.tuning.task import Task

pytest.importorskip("torch", reason="PyTorch is an extra")

Features = np.ndarray[Any, Any]
SMALL = Tree(nodes=6)
BOTH = ("context", "vanilla")


class TestContext(CostModelSuite):
    make = TreeGRU


class TestVanilla(CostModelSuite):
    make = partial(TreeGRU, "vanilla")


class TestRegression(CostModelSuite):
    make = partial(TreeGRU, objective="regression")


class TestVanillaRegression(CostModelSuite):
    make = partial(TreeGRU, "vanilla", "regression")


# -- trees of which the score is known


def trees(rows: int, seed: int, order: tuple[int, ...] = (0, 1, 2, 3, 4)) -> Features:
    """Two loops, one in the other or side by side, each round a block, and one round all or none.

    `order` says at which places of the row the outer loop, two inner ones and two blocks stand.
    """
    rng = np.random.default_rng(seed)
    out = np.zeros((rows, SMALL.nodes, len(NODE)), np.float32)
    column = {name: i for i, name in enumerate(NODE)}
    outer, a, b, x, y = order
    for node, name in ((outer, 7), (a, 8), (b, 9)):
        out[:, node, column["loop"]] = 1
        out[:, node, column["name"]] = name
        out[:, node, column["extent"]] = rng.uniform(0, 6, rows)
        out[:, node, column["vectorize"]] = rng.integers(0, 2, rows)
    for node in (x, y):
        out[:, node, column["block"]] = 1
    nested = rng.integers(0, 2, rows)
    out[:, a, column["parent"]] = outer + 1
    out[:, b, column["parent"]] = np.where(nested, a, outer) + 1
    out[:, x, column["parent"]] = a + 1
    out[:, y, column["parent"]] = b + 1
    return out.reshape(rows, -1)


def cost(X: Features) -> Features:
    """Rounds of all loops, where a vector saves three fourths; a loop in a loop runs more often."""
    node = X.reshape(len(X), SMALL.nodes, len(NODE)).astype(np.float64)
    rounds = np.exp2(node[:, :, NODE.index("extent")] - 2 * node[:, :, NODE.index("vectorize")])
    outer, a, b = rounds[:, :3].T
    return np.log2(outer * np.where(node[:, 2, 0] == 2, a * b, a + b))


@pytest.mark.parametrize("variant", BOTH)
def test_learns_a_function_of_trees_of_different_structure(variant: Any) -> None:
    X, new = trees(400, seed=0), trees(400, seed=1)
    fitted = TreeGRU(variant, features=SMALL).fit(Training.of(X, -cost(X)))
    assert pairwise_accuracy(fitted.predict(new), -cost(new)) > 0.93


@pytest.mark.parametrize("variant", BOTH)
def test_a_tree_is_the_same_wherever_its_nodes_stand(variant: Any) -> None:
    X = trees(200, seed=0)
    fitted = TreeGRU(variant, epochs=5, features=SMALL).fit(Training.of(X, -cost(X)))
    shuffled = trees(200, seed=0, order=(4, 5, 0, 1, 3))
    np.testing.assert_allclose(fitted.predict(shuffled), fitted.predict(X), atol=1e-4)


def test_where_a_loop_stands_counts() -> None:
    X = trees(200, seed=0)
    fitted = TreeGRU(epochs=5, features=SMALL).fit(Training.of(X, -cost(X)))
    moved = X.reshape(200, SMALL.nodes, -1).copy()
    moved[:, 2, 0] = 3 - moved[:, 2, 0]  # side by side becomes one in the other, and back
    assert (np.abs(fitted.predict(moved.reshape(200, -1)) - fitted.predict(X)) > 1e-3).all()


def test_a_loop_of_an_unknown_name_has_no_embedding_but_a_score() -> None:
    X = trees(200, seed=0)
    fitted = TreeGRU("vanilla", features=SMALL).fit(Training.of(X, -cost(X)))
    other = X.reshape(200, SMALL.nodes, -1).copy()
    other[:, 1, NODE.index("name")] = 12345
    assert np.isfinite(fitted.predict(other.reshape(200, -1))).all()
    assert not np.array_equal(fitted.predict(other.reshape(200, -1)), fitted.predict(X))


def test_a_forest_has_levels_from_the_deepest_up() -> None:
    X = trees(64, seed=0)
    forest = Forest.of(X, SMALL, ("extent",))
    nested = int((X.reshape(64, SMALL.nodes, -1)[:, 2, 0] == 2).sum())
    sizes = [level.size for level in forest.levels]
    assert sizes == [nested, 128, 128 - nested, 64]
    assert len(forest.row) == sum(sizes)
    assert [len(level.round) for level in forest.levels] == [0, *sizes[:-1]]
    assert forest.root.sum() == sizes[-1] == 64


# -- real candidates


@cache
def candidates(name: str) -> tuple[Features, Features, Features, Features]:
    """Return features and scores to learn from, and others; scores are a guess, cheap and exact."""
    operators = {
        "conv2d": Conv2d(1, 14, 14, 16, 32, (3, 3), pads=(1, 1, 1, 1), relu=True),
        "larger": Conv2d(1, 28, 28, 32, 32, (3, 3), pads=(1, 1, 1, 1), relu=True),
        "dense": Dense(24, 32, 48, bias=True),
    }
    space = Task(operators[name], Target("x86-64-v4")).space  # the same on each machine
    rows = space.sample(np.random.default_rng(0), 400)
    X, y = Tree().extract(space, rows), guess(space, rows)
    return X[:200], y[:200], X[200:], y[200:]


@pytest.mark.parametrize("variant", BOTH)
@pytest.mark.parametrize("objective", ["rank", "regression"])
@pytest.mark.parametrize("name", ["conv2d", "dense"])
def test_ranks_candidates_that_it_has_not_seen(name: str, variant: Any, objective: Any) -> None:
    X, y, new, wanted = candidates(name)
    fitted = TreeGRU(variant, objective).fit(Training.of(X, y))
    assert pairwise_accuracy(fitted.predict(new), wanted) > 0.8


def test_what_is_learnt_of_one_size_holds_for_another() -> None:
    """A context means the same for every program; 0.5 is chance."""
    X, y, _, _ = candidates("conv2d")
    _, _, new, wanted = candidates("larger")
    assert pairwise_accuracy(TreeGRU().fit(Training.of(X, y)).predict(new), wanted) > 0.7


def test_several_operators_are_groups_of_their_own() -> None:
    parts = [candidates(name) for name in ("conv2d", "dense")]
    X = np.concatenate([part[0] for part in parts])
    y = np.concatenate([part[1] + 100 * i for i, part in enumerate(parts)])
    fitted = TreeGRU().fit(Training.of(X, y, group=np.repeat([0, 1], 200)))
    for part in parts:
        assert pairwise_accuracy(fitted.predict(part[2]), part[3]) > 0.85


@pytest.mark.parametrize("variant", BOTH)
def test_a_score_does_not_depend_on_the_company(variant: Any) -> None:
    X, y, new, _ = candidates("conv2d")
    fitted = TreeGRU(variant, epochs=3).fit(Training.of(X, y))
    together = fitted.predict(new)
    np.testing.assert_allclose(fitted.predict(new[::-1])[::-1], together, atol=1e-4)
    np.testing.assert_allclose(fitted.predict(new[:1]), together[:1], atol=1e-4)


@pytest.mark.parametrize("variant", BOTH)
def test_the_same_data_give_the_same_model(variant: Any) -> None:
    X, y, new, _ = candidates("dense")
    one, two = (TreeGRU(variant, epochs=3).fit(Training.of(X, y)) for _ in range(2))
    assert one == two
    assert np.array_equal(one.predict(new), two.predict(new))
    assert one != TreeGRU(variant, epochs=3, seed=1).fit(Training.of(X, y))


def test_the_number_of_threads_of_pytorch_is_left_as_it_was() -> None:
    import torch

    X, y, new, _ = candidates("dense")
    before, state = torch.get_num_threads(), torch.random.get_rng_state()
    TreeGRU(epochs=1).fit(Training.of(X, y)).predict(new)
    assert torch.get_num_threads() == before
    assert torch.equal(torch.random.get_rng_state(), state)


# -- going on from a previous fit


@pytest.mark.parametrize("variant", BOTH)
def test_a_warm_start_predicts_as_before_at_another_scale(variant: Any) -> None:
    X, y, new, _ = candidates("conv2d")
    first = TreeGRU(variant, epochs=4).fit(Training.of(X[:100], y[:100]))
    second = TreeGRU(variant, epochs=4).fit(Training.of(X, y))
    assert isinstance(first, Fitted)
    assert isinstance(second, Fitted)
    moved = first.brought_to(second)
    assert np.array_equal(moved.middle, second.middle)
    assert set(first.names) | set(second.names) == set(moved.names)
    # What one of them cuts off as too far, the other may not.
    assert pairwise_accuracy(moved.predict(new), first.predict(new)) > 0.95


@pytest.mark.parametrize("variant", BOTH)
def test_a_warm_start_begins_where_the_last_fit_ended(variant: Any) -> None:
    X, y, new, wanted = candidates("conv2d")
    spec = TreeGRU(variant)
    first = spec.fit(Training.of(X[:150], y[:150]))
    before = first.predict(new)
    still = TreeGRU(variant, epochs=1)
    cold = still.fit(Training.of(X, y))
    assert np.array_equal(first.predict(new), before), "a predictor never changes"
    assert pairwise_accuracy(spec.fit(Training.of(X, y), first).predict(new), wanted) > 0.85
    assert still.fit(Training.of(X, y), first) == cold, "another spec is no start"


def test_a_previous_fit_of_other_features_is_no_start() -> None:
    X, y, _, _ = candidates("conv2d")
    plain = np.random.default_rng(0).standard_normal((100, 5))
    first = TreeGRU(epochs=2).fit(Training.of(plain, plain[:, 0]))
    assert TreeGRU(epochs=2).fit(Training.of(X, y), first) == TreeGRU(epochs=2).fit(
        Training.of(X, y)
    )


# -- odd data, files, other machines


@pytest.mark.parametrize("variant", BOTH)
def test_odd_features_give_finite_scores(variant: Any) -> None:
    X, y, new, _ = candidates("dense")
    X = X.copy()
    X[:, 5:9] = 3e38, -3e38, np.inf, 1e-40
    fitted = TreeGRU(variant, epochs=2).fit(Training.of(X, y))
    for value in (0, 1, 3e38, np.inf):
        table = new.copy().reshape(len(new), Tree().nodes, -1)
        table[:, :, 4:] = value
        assert np.isfinite(fitted.predict(table.reshape(len(new), -1))).all()
    assert np.isfinite(fitted.predict(np.zeros_like(new))).all(), "rows of no nodes"


def test_a_model_can_be_saved_and_loaded(tmp_path: Any) -> None:
    X, y, new, _ = candidates("dense")
    for variant in BOTH:
        fitted = TreeGRU(variant, epochs=2).fit(Training.of(X, y))
        save(fitted, tmp_path / variant, Tree())
        loaded = load(tmp_path / variant, Tree())
        assert loaded == fitted == pickle.loads(pickle.dumps(fitted))
        assert np.array_equal(loaded.predict(new), fitted.predict(new))


def test_it_is_a_member_of_an_ensemble() -> None:
    X, y, new, wanted = candidates("dense")
    fitted = Ensemble(TreeGRU(epochs=15), members=2).fit(Training.of(X, y))
    assert pairwise_accuracy(fitted.predict(new), wanted) > 0.85


@pytest.mark.parametrize(
    "settings", [{"variant": "deep"}, {"objective": "cost"}, {"hidden": 0}, {"epochs": 0},
                 {"batch": 0}, {"slots": 0}, {"threads": 0}, {"decay": -1.0},
                 {"learning_rate": float("nan")}, {"patience": 0}, {"hidden": 2.5}, {"seed": -1},
                 {"epochs": "4"}],
)  # fmt: skip
def test_settings_that_cannot_be(settings: dict[str, Any]) -> None:
    (name,) = settings
    with pytest.raises(ArgumentError, match=rf"TreeGRU\({name}=.*: {name} is "):
        TreeGRU(**settings)


@pytest.mark.parametrize(("fitted", "given"), [(7, 9), (7, 6 * len(NODE)), (6 * len(NODE), 7)])
def test_other_features_than_it_was_fitted_to_are_refused(fitted: int, given: int) -> None:
    X = trees(20, 0) if fitted == 6 * len(NODE) else np.eye(20, fitted, dtype=np.float32)
    model = TreeGRU(epochs=1, features=SMALL).fit(Training.of(X, np.arange(20)))
    with pytest.raises(ModelError, match=f"from {given} features: .* was fitted to {fitted};"):
        model.predict(np.zeros((2, given), np.float32))


def test_predicts_thousands_a_second() -> None:
    """Loosely: it is ten times as fast, and other work may run on the machine."""
    X, y, new, _ = candidates("conv2d")
    fitted = TreeGRU(epochs=1).fit(Training.of(X, y))
    many = np.concatenate([new] * 15)
    begun = time.process_time()
    fitted.predict(many)
    assert len(many) / (time.process_time() - begun) > 3000


# -- without PyTorch


class TestWithoutPyTorch:
    code: ClassVar[str] = """
import sys
sys.modules['torch'] = None
import numpy as np
from tilewright.errors import ArgumentError
from tilewright.models import Training, TreeGRU
from tilewright.search import Guided
assert TreeGRU().fit(Training.of(np.zeros((0, 3)), [])).predict(np.zeros((2, 3))).sum() == 0
try:
    TreeGRU().fit(Training.of(np.eye(3), [1, 2, 3]))
except ArgumentError as error:
    sys.exit('pip install tilewright[torch]' not in str(error))
sys.exit('no error')
"""

    def test_the_error_says_what_to_install(self) -> None:
        assert subprocess.run([sys.executable, "-c", self.code], check=False).returncode == 0

    def test_importing_models_does_not_load_it(self) -> None:
        code = "import sys, tilewright.models as m; m.TreeGRU(); sys.exit('torch' in sys.modules)"
        assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
