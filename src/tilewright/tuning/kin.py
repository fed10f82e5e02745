"""Kin: what is fastest for other work, to be tried where it fits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tilewright.records.store import Records
from tilewright.tuning.session import Session


@dataclass(frozen=True, slots=True)
class Kin:
    """The tasks of a run, and the best configs that the database holds of others, by place.

    A config fits where all knobs have its values: in work of the same extents that differs in what
    is fused to it, as the layers of a network and of its relatives do.
    """

    sessions: Sequence[Session]
    others: Mapping[str, Sequence[Mapping[str, Any]]]

    @staticmethod
    def of(sessions: Sequence[Session], records: Records) -> Kin:
        """Read the best config of every other task that was measured where the sessions are."""
        own = {(s.task.key, s.task.where) for s in sessions}
        others: dict[str, list[Mapping[str, Any]]] = {where: [] for _, where in own}
        for task in records.tasks():
            if task.target in others and (task.key, task.target) not in own and task.best_seconds:
                best = records.best(task.key, task.target)
                others[task.target] += [best.config] if best else []
        return Kin(sessions, others)

    def configs(self, session: Session) -> Iterator[Mapping[str, Any]]:
        """Yield the best configs of other tasks, those of the run as they now are first."""
        for other in self.sessions:
            alike = other is not session and other.task.where == session.task.where
            if alike and other.best_config is not None:
                yield other.best_config
        yield from self.others[session.task.where]
