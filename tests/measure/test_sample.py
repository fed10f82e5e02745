"""Random inputs: of every type, and indices that lead somewhere."""

from __future__ import annotations

import numpy as np

import tilewright as tw
from tilewright.measure.sample import indexed, sample

X, IDS = tw.tensor("X", (700, 4)), tw.tensor("I", (400,), "int64")


def test_indices_are_drawn_from_both_ends():
    rows = tw.compute("R", (400, 4), lambda i, j: X[IDS[i], j])
    assert indexed(rows) == {"I": 700}
    drawn = sample(np.random.default_rng(0), IDS, 700)
    assert -700 <= drawn.min() < -350 < 350 < drawn.max() < 700


def test_indices_of_several_tensors_suit_the_smallest():
    small = tw.tensor("S", (9,))
    both = tw.compute("R", (400,), lambda i: X[IDS[i] + 1, 0] * small[IDS[i]])
    assert indexed(both) == {"I": 9}


def test_indices_fit_their_type():
    for dtype in ("int8", "uint8"):
        drawn = sample(np.random.default_rng(0), tw.tensor("I", (400,), dtype), 700)
        info = np.iinfo(dtype)
        assert drawn.min() < info.min + 16
        assert drawn.max() > info.max - 16


def test_what_is_no_index_is_small():
    rng = np.random.default_rng(0)
    assert not indexed(tw.compute("Y", (400,), lambda i: IDS[i] + 1))
    assert np.abs(sample(rng, IDS)).max() == 8
    assert sample(rng, tw.tensor("U", (400,), "uint8")).max() == 8
