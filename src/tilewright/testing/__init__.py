"""Conformance suites: subclass one, set `make`, and an extension is held to its contract."""

from tilewright.testing.cost_model import CostModelSuite
from tilewright.testing.extractor import ExtractorSuite
from tilewright.testing.measurer import MeasurerSuite
from tilewright.testing.search import SearchSuite

__all__ = ["CostModelSuite", "ExtractorSuite", "MeasurerSuite", "SearchSuite"]
