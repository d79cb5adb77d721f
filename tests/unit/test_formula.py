"""The formula, its bounds and its warnings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolsize.answer.recommendation import from_formula
from poolsize.errors import BadInput
from poolsize.formula import deadlock_floor, starting_point


@pytest.mark.parametrize(
    ("cores", "facts", "connections"),
    [
        (4, {}, 9),  # HikariCP, "About Pool Sizing": 4 cores, 1 disk
        (8, {}, 17),
        (8, {"cache_hit_rate": 1.0}, 16),
        (8, {"cache_hit_rate": 0.0, "disks": 4}, 20),
        (8, {"cache_hit_rate": 0.5, "disks": 4}, 18),
        (16, {"threads_per_core": 2}, 17),
        (1, {"disks": 0}, 2),
    ],
)
def test_the_formula_gives_the_published_numbers(cores: int, facts: dict[str, int], connections: int) -> None:
    start = starting_point(cores, **facts)  # type: ignore[arg-type]  # floats and ints by name
    assert (start.connections, start.pool_size) == (connections, connections)


def test_three_threads_of_four_connections_need_ten() -> None:
    assert deadlock_floor(3, 4) == 10
    assert starting_point(1, app_threads=3, connections_per_thread=4).pool_size == 10
    assert starting_point(8, app_threads=3, connections_per_thread=4).pool_size == 17


@pytest.mark.costly
@given(threads=st.integers(1, 20), connections=st.integers(2, 6))
def test_at_the_floor_some_thread_can_always_finish_and_below_it_all_can_block(threads: int, connections: int) -> None:
    floor = deadlock_floor(threads, connections)
    assert floor is not None

    def all_block(pool: int) -> bool:
        holding = [0] * threads  # taken in turns, the worst order: everybody gets as far as everybody else
        for taken in range(pool):
            holding[taken % threads] += 1
        return max(holding) < connections

    assert not all_block(floor)
    assert all_block(floor - 1)


@pytest.mark.costly
@given(cores=st.integers(1, 256), disks=st.integers(0, 64), hit=st.floats(0, 1))
def test_more_cache_never_asks_for_more_connections(cores: int, disks: int, hit: float) -> None:
    with_cache = starting_point(cores, disks=disks, cache_hit_rate=hit)
    assert 2 * cores <= with_cache.connections <= starting_point(cores, disks=disks).connections
    assert with_cache.pool_size in with_cache.sizes
    assert with_cache.sizes == tuple(sorted(set(with_cache.sizes)))


def test_an_ssd_is_warned_about() -> None:
    def codes(*, ssd: bool) -> set[str]:
        return {finding.code for finding in from_formula(starting_point(8, ssd=ssd)).findings}

    assert "ssd" in codes(ssd=True)
    assert "ssd" not in codes(ssd=False)


@pytest.mark.parametrize(
    ("facts", "named"),
    [
        ({"cores": -3}, "`cores` -3"),
        ({"cores": 8, "disks": -1}, "`disks` -1"),
        ({"cores": 8, "cache_hit_rate": 1.5}, "`cache_hit_rate` 1.5"),
        ({"cores": 8, "threads_per_core": 0}, "`threads_per_core` 0"),
        ({"cores": 8, "app_threads": 3}, "`connections_per_thread`"),
        ({"cores": 8, "app_threads": 0, "connections_per_thread": 2}, "`app_threads` 0"),
    ],
)
def test_impossible_facts_are_refused_by_name(facts: dict[str, int], named: str) -> None:
    with pytest.raises(BadInput, match=named):
        starting_point(**facts)  # type: ignore[arg-type]  # floats and ints by name
