"""How well a model did on a batch of trials before it learnt from them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Judged:
    """A model's quality on the last `rows` of the first `trials` of a task.

    `accuracy` is the share of pairs that it put in the right order, `recall` that of the best that
    it had among its best; nan if there was nothing to tell apart. A model that was not `followed`
    did no better than chance, and proposed nothing then.
    """

    trials: int
    rows: int
    accuracy: float
    recall: float
    followed: bool

    def to_row(self) -> dict[str, Any]:
        """Lay out the columns of table `quality`; SQL has no NaN: it is null."""
        known = {
            name: None if math.isnan(getattr(self, name)) else float(getattr(self, name))
            for name in ("accuracy", "recall")
        }
        return {
            "trials": int(self.trials), "rows": int(self.rows), "followed": bool(self.followed),
            **known,
        }  # fmt: skip

    @staticmethod
    def from_row(row: Mapping[Any, Any]) -> Judged:
        accuracy, recall = (
            math.nan if row[name] is None else float(row[name]) for name in ("accuracy", "recall")
        )
        return Judged(int(row["trials"]), int(row["rows"]), accuracy, recall, bool(row["followed"]))
