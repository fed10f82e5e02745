import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.errors import SpaceError
from tilewright.space import Config

_plain = st.booleans() | st.integers() | st.text() | st.none() | st.floats(allow_nan=False)
_values = st.recursive(_plain, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=5)


@given(st.dictionaries(st.text(min_size=1), _values, max_size=5))
def test_json_round_trip_keeps_order_and_identity(values: dict[str, Any]) -> None:
    config = Config(tuple(values.items()))
    again = Config.from_json(json.loads(json.dumps(config.to_json())))
    assert again == config
    assert hash(again) == hash(config)
    assert list(again) == list(values)


def test_prints_all_of_itself() -> None:
    config = Config((("y", (8, 4)), ("o", ("k", "x")), ("u", True), ("n", None), ("e", ())))
    assert repr(config) == "Config(y=8x4, o=(k x), u=True, n=None, e=())"


def test_an_unknown_knob_names_the_known_ones() -> None:
    with pytest.raises(SpaceError, match=r"has no knob 'z'; it has y"):
        Config((("y", 1),))["z"]


def test_values_that_json_cannot_bring_back_are_refused() -> None:
    with pytest.raises(SpaceError, match="a set does not survive"):
        Config.from_json({"y": {1, 2}})
