"""Golden texts: what the compiler says, kept in tests/golden and compared word by word."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

# A shell starts a job in the background with Ctrl-C ignored, and what tests start would inherit it.
signal.signal(signal.SIGINT, signal.default_int_handler)

GOLDEN = Path(__file__).parent / "golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write the golden texts anew, then read them"
    )


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare a text with the file of that name, or write it with --update-golden."""
    update = bool(request.config.getoption("--update-golden"))

    def compare(name: str, text: str) -> None:
        path = GOLDEN / f"{name}.txt"
        if update:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text.rstrip() + "\n")
        if not path.exists():
            pytest.fail(f"there is no {path}; write it with pytest --update-golden, and read it.")
        assert path.read_text() == text.rstrip() + "\n"

    return compare
