"""Conformance suites: subclass one, set `make`, and an extension is held to its contract.

`read_table` and `pool` make problems of recorded measurements, to compare extensions without
hardware; `toys` has a small problem whose best is known. `docs/guide` shows all of it at work.
"""

from tilewright.testing.cost_model import CostModelSuite
from tilewright.testing.extractor import ExtractorSuite
from tilewright.testing.measurer import MeasurerSuite
from tilewright.testing.recorded import Recorded, pool, read_table
from tilewright.testing.search import SearchSuite

__all__ = [
    "CostModelSuite",
    "ExtractorSuite",
    "MeasurerSuite",
    "Recorded",
    "SearchSuite",
    "pool",
    "read_table",
]
