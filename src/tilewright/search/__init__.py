"""Searches: they ask for candidates to be measured and are told how these did."""

from tilewright.search.annealing import Annealing
from tilewright.search.evolution import Evolution
from tilewright.search.genetic import Genetic
from tilewright.search.grid import Grid
from tilewright.search.guided import Guided
from tilewright.search.history import History
from tilewright.search.optuna_ import OptunaSearch
from tilewright.search.problem import Problem, Search, Searcher
from tilewright.search.random import RandomSearch

__all__ = [
    "Annealing",
    "Evolution",
    "Genetic",
    "Grid",
    "Guided",
    "History",
    "OptunaSearch",
    "Problem",
    "RandomSearch",
    "Search",
    "Searcher",
]
