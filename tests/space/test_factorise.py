import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.errors import SpaceError
from tilewright.space.factorise import factorisations


@given(extent=st.integers(1, 3000), parts=st.integers(1, 4))
def test_every_split_covers_the_extent_with_little_waste(extent: int, parts: int) -> None:
    found = factorisations(extent, parts)
    assert found[0] == (extent, *[1] * (parts - 1))
    assert len(set(found)) == len(found)
    for factors in found:
        assert len(factors) == parts
        assert min(factors) >= 1
        assert extent <= math.prod(factors) <= extent * 4 / 3


@given(extent=st.integers(1, 500), limit=st.integers(1, 64), multiple=st.integers(1, 64))
def test_limits_of_the_innermost_factor_hold_and_leave_something(
    extent: int, limit: int, multiple: int
) -> None:
    if multiple > limit and extent > limit:
        with pytest.raises(SpaceError, match="no number is both"):
            factorisations(extent, 3, limit, multiple)
        return
    found = factorisations(extent, 3, limit, multiple)
    assert found
    for *outer, inner in found:
        assert inner <= limit
        assert inner % multiple == 0 or inner == extent
        assert math.prod(outer) * inner >= extent


@given(extent=st.integers(1, 200))
def test_all_exact_factorisations_are_there(extent: int) -> None:
    exact = {
        (extent // (b * c), b, c)
        for b in range(1, extent + 1)
        for c in range(1, extent + 1)
        if extent % (b * c) == 0
    }
    assert exact <= set(factorisations(extent, 3))


@given(extent=st.integers(1, 3000), multiple=st.sampled_from((1, 4, 16)))
def test_between_adds_tiles_that_waste_little(extent: int, multiple: int) -> None:
    plain = set(factorisations(extent, 3, multiple=multiple))
    more = set(factorisations(extent, 3, multiple=multiple, between=True))
    assert plain <= more
    for *_, inner in more - plain:
        assert inner % multiple == 0
        assert -(-extent // inner) * inner - extent <= extent / 32


def test_registers_that_powers_of_two_do_not_fill_are_filled() -> None:
    assert {f[-1] for f in factorisations(1024, 3, 28, between=True)} >= {6, 10, 12, 14}
    assert {f[-1] for f in factorisations(1024, 3, 128, 16, between=True)} >= {48, 80}


def test_rich_divisors_are_left_exact_and_primes_get_tiles() -> None:
    assert all(math.prod(f) == 56 for f in factorisations(56, 3))
    inner = {f[-1] for f in factorisations(1009, 2)}
    assert {1, 2, 4, 8, 16, 32, 64, 1009} <= inner
    assert factorisations(1, 3) == ((1, 1, 1),)
    assert [f[-1] for f in factorisations(24, 2, max_inner=16, multiple=16)] == [16]


@pytest.mark.parametrize("bad", [(0, 2), (4, 0), (4, 2, 0), (4, 2, None, 0)])
def test_nonsense_is_refused(bad: tuple[int, ...]) -> None:
    with pytest.raises(SpaceError, match="each of the four must be 1 or more"):
        factorisations(*bad)
