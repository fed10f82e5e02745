"""Programs as numbers: populations of loop nests to arrays that cost models learn from."""

from tilewright.features.context import Context
from tilewright.features.costs import Costs
from tilewright.features.extractor import Extractor, Joined
from tilewright.features.knob import KnobValues
from tilewright.features.relation import Relation
from tilewright.features.tree import Tree

FEATURES = Joined((Context(), Relation()))
"""What models look at unless they ask for something else."""

__all__ = ["FEATURES", "Context", "Costs", "Extractor", "Joined", "KnobValues", "Relation", "Tree"]
