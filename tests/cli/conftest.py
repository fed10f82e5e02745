"""What the command line prints is as wide as it is, whatever terminal the tests run in."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def no_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
