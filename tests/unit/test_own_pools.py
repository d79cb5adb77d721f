"""Pools of user classes: their connections add up to the worker's, and each has at least one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolsize.errors import WorkFailed
from poolsize.load.pool import SHARED, divided


@pytest.mark.costly
@given(st.integers(3, 5_000), st.floats(0.01, 0.5), st.floats(0.01, 0.45))
def test_the_parts_are_the_whole(connections: int, first: float, second: float) -> None:
    sizes = divided(connections, {"a": first, "b": second})
    assert sum(sizes.values()) == connections
    assert set(sizes) == {"a", "b", SHARED}
    assert min(sizes.values()) >= 1
    for name, share in (("a", first), ("b", second), (SHARED, 1 - first - second)):
        assert sizes[name] == 1 or abs(sizes[name] - share * connections) < 3


def test_classes_that_share_out_everything_leave_no_other_pool() -> None:
    assert divided(9, {"short": 0.7, "long": 0.3}) == {"short": 6, "long": 3}
    assert divided(8, {}) == {SHARED: 8}
    assert divided(0, {"short": 0.5, "long": 0.5}) == {"short": 0, "long": 0}


def test_fewer_connections_than_pools_are_refused() -> None:
    with pytest.raises(WorkFailed, match="1 connection can't be divided among 2 pools"):
        divided(1, {"short": 0.5, "long": 0.5})
