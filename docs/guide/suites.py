"""What the guide adds, held to its contracts: `python -m pytest docs/guide/suites.py`."""

from functools import partial

from docs.guide.estimate import Estimate
from docs.guide.gaussian import GaussianProcess
from docs.guide.summary import Summary
from docs.guide.tabu import Tabu

from tilewright.search import Guided
from tilewright.testing import CostModelSuite, ExtractorSuite, MeasurerSuite, SearchSuite


class TestGaussianProcess(CostModelSuite):
    make = GaussianProcess


class TestGuidedByIt(SearchSuite):
    make = partial(Guided, GaussianProcess())
    beats_random = True


class TestTabu(SearchSuite):
    make = Tabu
    beats_random = True


class TestSummary(ExtractorSuite):
    make = Summary


class TestEstimate(MeasurerSuite):
    make = Estimate
    runs = False
