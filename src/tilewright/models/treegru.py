"""TreeGRU: the paper's neural cost model, which reads a program from its innermost loops up."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from tilewright.errors import ArgumentError
from tilewright.features.tree import NODE, Tree
from tilewright.models.boosted import Zeros
from tilewright.models.bounds import demand_width, within
from tilewright.models.forest import Forest
from tilewright.models.model import Predictor
from tilewright.models.objectives import Objective, Rank, Regression
from tilewright.models.packed import Packed
from tilewright.models.recurrent import Adam, pytorch, scores
from tilewright.models.training import Training

if TYPE_CHECKING:
    from torch import Tensor

Floats = NDArray[np.float32]
_SAID = (
    "loop", "block", "extent", "serial", "parallel", "vectorize", "unroll", "reduce", "loads",
    "adds", "muls", "others",
)  # fmt: skip
_CHUNK = 512  # rows predicted at once, so that they stay in the cache
_FAR = 8.0  # deviations from the mean beyond which values of a node are all the same


@dataclass(frozen=True, slots=True)
class TreeGRU:
    """A gated recurrent unit over the tree of loops (PyTorch), on a rank or regression objective.

    The state of a node follows from what it is and from the sum of the states of what stands in it.
    In `variant="context"` (figure 3d) a loop is its context vector, and its state is scattered
    softly into `slots` vectors, which are summed over all loops: good for loops never met before.
    In `variant="vanilla"` (figure 3c) a node is an embedding learnt for its name and what its line
    of the program says, and the states of the outermost count: good for one task. A linear layer
    makes the score.

    `hidden` is the size of a state. Adam makes up to `epochs` passes over batches of `batch` rows,
    and stops once the loss has not fallen for `patience` of them; its `learning_rate` falls to 0,
    `decay` is that of weights. A fit that goes on from a previous one makes the last quarter of the
    passes. Rows that `features` did not make are taken for the context of a single loop each.
    """

    variant: Literal["context", "vanilla"] = "context"
    objective: Literal["rank", "regression"] = "rank"
    hidden: int = 32
    slots: int = 8
    epochs: int = 40
    batch: int = 64
    learning_rate: float = 0.02
    decay: float = 0.3
    patience: int = 8
    seed: int = 0
    threads: int = 1
    features: Tree = Tree()  # noqa: RUF009 a frozen value

    def __post_init__(self) -> None:
        fits = {
            "variant": (self.variant in ("context", "vanilla"), "'context' or 'vanilla'"),
            "objective": (self.objective in ("rank", "regression"), "'rank' or 'regression'"),
            "hidden": (within(self.hidden, 2, whole=True), "a whole number of at least 2"),
            "learning_rate": (within(self.learning_rate, 1e-9), "a positive number"),
            "decay": (within(self.decay, 0), "a number that is not negative"),
            **{
                name: (within(getattr(self, name), 1, whole=True), "a whole number of at least 1")
                for name in ("slots", "epochs", "batch", "patience")
            },
            "seed": (within(self.seed, 0, whole=True), "a whole number from 0"),
            "threads": (within(self.threads, 1, 1024, whole=True), "a whole number, 1 to 1024"),
        }
        for name, (fine, what) in fits.items():
            if not fine:
                raise ArgumentError(f"TreeGRU({name}={getattr(self, name)!r}): {name} is {what}.")

    def fit(self, data: Training, previous: Predictor | None = None) -> Predictor:
        """Fit to all rows, from the weights of `previous` on if it is of an equal spec."""
        objective = Rank(data) if self.objective == "rank" else Regression(data)
        if not objective:
            return Zeros()
        rng = np.random.default_rng(self.seed)
        begun = _begun(self, Forest.of(data.X, self.features, self.columns), rng)
        epochs = range(self.epochs)
        if isinstance(previous, Fitted) and previous.fits(begun):
            begun, epochs = previous.brought_to(begun), epochs[-math.ceil(self.epochs / 4) :]
        return _trained(begun, data, objective, epochs, rng)

    @property
    def columns(self) -> tuple[str, ...]:
        """What a node is told by, besides its name."""
        return NODE[2:] if self.variant == "context" else _SAID


@dataclass(frozen=True, eq=False, slots=True)
class Fitted:
    """Weights, and what nodes are brought to their scale with; `names` that have an embedding."""

    spec: TreeGRU
    names: tuple[int, ...]
    middle: Floats
    deviation: Floats
    weights: dict[str, Floats]

    def predict(self, X: NDArray[np.float32]) -> NDArray[np.float64]:
        with pytorch(self.spec.threads) as torch, torch.inference_mode():
            w = {name: torch.from_numpy(weight) for name, weight in self.weights.items()}
            parts = [
                self.scores(torch, w, X[start : start + _CHUNK]).numpy()
                for start in range(0, len(X), _CHUNK)
            ]
        return np.concatenate(parts, dtype=np.float64) if parts else np.zeros(0)

    def scores(self, torch: Any, w: dict[str, Tensor], X: NDArray[np.float32]) -> Tensor:
        forest = Forest.of(X, self.spec.features, self.spec.columns)
        if forest.values.shape[1] != len(self.middle):
            demand_width(X.shape[1], self._width)
        with np.errstate(over="ignore", invalid="ignore"):
            values = (forest.values - self.middle) / self.deviation
        values = np.nan_to_num(np.clip(values, -_FAR, _FAR))
        return scores(torch, w, forest, values, _places(self.names, forest.name))

    @property
    def _width(self) -> int:
        """How many features a row has: those of a tree, or of a single loop."""
        whole = len(self.middle) == len(self.spec.columns)
        return self.spec.features.nodes * len(NODE) if whole else len(self.middle)

    def fits(self, other: Fitted) -> bool:
        return self.spec == other.spec and len(self.middle) == len(other.middle)

    def brought_to(self, other: Fitted) -> Fitted:
        """Return what predicts the same at the scale of `other`, and knows its names as well."""
        names, w = tuple(sorted({*self.names, *other.names})), dict(self.weights)
        if "embedding" in w:
            w["embedding"] = np.zeros((len(names) + 1, w["embedding"].shape[1]), np.float32)
            for model in (other, self):
                at = _places(names, np.array(model.names))
                w["embedding"][at] = model.weights["embedding"][:-1]
        own = slice(len(self.middle))
        shift = (other.middle - self.middle) / self.deviation @ w["input"][own]
        w["bias"] = (w["bias"] + shift).astype(np.float32)
        w["input"] = w["input"].copy()
        w["input"][own] *= (other.deviation / self.deviation)[:, None]
        return Fitted(self.spec, names, other.middle, other.deviation, w)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fitted) and self.pack() == other.pack()

    def __hash__(self) -> int:
        return hash(self.pack().data)

    def pack(self) -> Packed:
        """Pack the spec as JSON, and all numbers one after the other, as little-endian float32."""
        arrays = (self.middle, self.deviation, *self.weights.values())
        values = {"spec": asdict(self.spec), "names": self.names, "columns": len(self.middle)}
        return Packed(values, b"".join(array.astype("<f4").tobytes() for array in arrays))

    @staticmethod
    def unpack(packed: Packed) -> Fitted:
        v = packed.values
        given: dict[str, Any] = dict(v["spec"])
        given["features"] = Tree(**given["features"])
        try:
            spec = TreeGRU(**given)
        except ArgumentError as error:
            raise ValueError(str(error)) from error
        names, columns = tuple(int(name) for name in v["names"]), int(v["columns"])
        shapes = {"middle": (columns,), "deviation": (columns,)}
        shapes |= _shapes(spec, columns, len(names))
        data = np.frombuffer(packed.data, "<f4").astype(np.float32)
        ends = np.cumsum([math.prod(shape) for shape in shapes.values()])
        if columns < 0 or len(data) != ends[-1] or not np.isfinite(data).all():
            raise ValueError("its weights are not of its spec")
        parts = np.split(data, ends[:-1])
        w = {k: part.reshape(shapes[k]) for k, part in zip(shapes, parts, strict=True)}
        middle, deviation = w.pop("middle"), w.pop("deviation")
        if not (deviation > 0).all() or list(names) != sorted(set(names)):
            raise ValueError("its scale or its names are none")
        return Fitted(spec, names, middle, deviation, w)


def _shapes(spec: TreeGRU, values: int, names: int) -> dict[str, tuple[int, ...]]:
    """Return the shape of each weight, for so many values of a node and names of nodes."""
    h = spec.hidden
    gru = {"bias": (3 * h,), "inside": (h, 3 * h)}
    if spec.variant == "context":
        slots = (h, spec.slots)
        return {"input": (values, 3 * h), **gru, "classes": slots, "linear": slots}
    embedding = (names + 1, h // 2)  # the last is of all other names
    return {"embedding": embedding, "input": (values + h // 2, 3 * h), **gru, "linear": (h, 1)}


def _begun(spec: TreeGRU, forest: Forest, rng: np.random.Generator) -> Fitted:
    """Return a model that has not learnt yet, at the scale of the nodes of a forest."""
    values = forest.values.astype(np.float64)
    with np.errstate(invalid="ignore"):
        middle, deviation = values.mean(axis=0), values.std(axis=0)
    middle = np.where(np.isfinite(middle), middle, 0.0)
    deviation = np.where((deviation > 1e-6) & np.isfinite(deviation), deviation, 1.0)
    vanilla = spec.variant == "vanilla"
    names = tuple(np.unique(forest.name).tolist()) if vanilla else ()
    w: dict[str, Floats] = {}
    for name, shape in _shapes(spec, values.shape[1], len(names)).items():
        reach = 0.3 if name == "embedding" else shape[0] ** -0.5
        w[name] = rng.uniform(-reach, reach, shape).astype(np.float32)
    if vanilla:
        w["embedding"][-1] = 0
    return Fitted(spec, names, middle.astype(np.float32), deviation.astype(np.float32), w)


def _trained(
    begun: Fitted, data: Training, objective: Objective, epochs: range, rng: np.random.Generator
) -> Fitted:
    spec = begun.spec
    batches = math.ceil(len(data) / spec.batch)
    least, waited = math.inf, 0
    with pytorch(spec.threads) as torch:
        w: dict[str, Tensor] = {
            name: torch.tensor(weight, requires_grad=True) for name, weight in begun.weights.items()
        }
        adam = Adam(torch, list(w.values()), spec.decay)
        for epoch in epochs:
            loss = 0.0
            for rows in _batches(data, batches, rng):
                some = objective.part(rows)
                predicted = begun.scores(torch, w, data.X[rows])
                f = data.offset[rows] + predicted.detach().numpy()
                gradient, _ = some.derivatives(f)
                predicted.backward(torch.from_numpy((gradient / len(rows)).astype(np.float32)))
                adam.step(spec.learning_rate * (1 - epoch / spec.epochs))
                loss += some.loss(f)
            waited = 0 if loss < 0.999 * least else waited + 1
            least = min(loss, least)
            if waited == spec.patience:
                break
        return replace(begun, weights={k: v.detach().numpy() for k, v in w.items()})


def _batches(data: Training, count: int, rng: np.random.Generator) -> list[NDArray[np.intp]]:
    """Share rows out at random, those of a group together: only they are compared."""
    rows = rng.permutation(len(data))
    parts = np.array_split(rows[np.argsort(data.group[rows], kind="stable")], count)
    return [parts[i] for i in rng.permutation(count)]


def _places(names: tuple[int, ...], wanted: NDArray[np.int64]) -> NDArray[np.intp]:
    """Return where each name stands in `names`, which are sorted; behind the last if nowhere."""
    known = np.array(names, np.int64)
    at = np.searchsorted(known, wanted)
    found = np.append(known, -1)[at] == wanted
    return np.where(found, at, len(known))
