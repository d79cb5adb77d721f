"""The pool's queue: first come, first served, nobody starves, and a wait ends in time."""

import time
from collections.abc import Iterator
from typing import Any

import gevent
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Engine, create_engine, event
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import PoolProxiedConnection
from sqlalchemy.util.queue import Empty, Full

from poolsize.load.fair_queue import FairQueue, FairQueuePool
from poolsize.load.pool import SHARED, Pools


def test_sixty_four_users_of_one_connection_get_equal_turns() -> None:
    queue = FairQueue(1)
    turns = [0] * 64

    def take_turns(place: int) -> None:
        for _ in range(10):
            item = queue.get(timeout=5)
            turns[place] += 1
            assert max(turns) - min(turns) <= 1
            queue.put(item)

    users = [gevent.spawn(take_turns, place) for place in range(64)]
    gevent.sleep(0)  # they stand in line
    queue.put("connection")
    gevent.joinall(users, raise_error=True)
    assert turns == [10] * 64


def test_a_wait_ends_in_time_and_leaves_the_line() -> None:
    queue = FairQueue(1)

    def wait() -> str:
        try:
            return str(queue.get(timeout=0.05))
        except Empty:
            return "empty"

    waiters = [gevent.spawn(wait) for _ in range(3)]
    gevent.joinall(waiters, timeout=5, raise_error=True)
    assert [waiter.value for waiter in waiters] == ["empty"] * 3
    queue.put("connection")
    assert queue.get(timeout=1) == "connection"


def test_a_dead_waiter_is_passed_over() -> None:
    queue = FairQueue(1)
    dead, alive = gevent.spawn(queue.get, timeout=5), gevent.spawn(queue.get, timeout=5)
    gevent.sleep(0)
    dead.kill()
    queue.put("connection")
    assert alive.get(timeout=5) == "connection"


def test_a_waiter_that_is_killed_passes_on_the_connection_on_its_way() -> None:
    """The kill comes first, and the connection is returned before the kill takes effect."""
    queue = FairQueue(1)
    killed, alive = gevent.spawn(queue.get, timeout=5), gevent.spawn(queue.get, timeout=5)
    gevent.sleep(0)
    killed.kill(block=False)
    queue.put("connection")
    assert alive.get(timeout=1) == "connection"
    assert isinstance(killed.value, gevent.GreenletExit)


def test_without_another_waiter_the_connection_of_a_killed_waiter_is_stored() -> None:
    queue = FairQueue(1)
    killed = gevent.spawn(queue.get, timeout=5)
    gevent.sleep(0)
    killed.kill(block=False)
    queue.put("connection")
    killed.join(timeout=1)
    assert queue.get(timeout=1) == "connection"


def test_a_killed_waiter_that_lives_on_gets_nothing_in_its_next_wait() -> None:
    queue = FairQueue(1)

    def outlive() -> str:
        try:
            return str(queue.get(timeout=5))
        except gevent.GreenletExit:
            gevent.sleep(0.05)
            return "outlived"

    killed = gevent.spawn(outlive)
    gevent.sleep(0)
    killed.kill(block=False)
    queue.put("connection")
    assert killed.get(timeout=1) == "outlived"
    assert queue.get(timeout=1) == "connection"


def test_a_waiter_whose_time_is_up_while_it_is_killed_is_only_killed() -> None:
    queue = FairQueue(1)
    killed = gevent.spawn(queue.get, timeout=0.02)
    gevent.sleep(0)
    until = time.monotonic() + 0.03
    while time.monotonic() < until:
        pass  # the kill and the end of the timeout are due in the same turn of the loop
    killed.kill(block=False)
    killed.join(timeout=1)
    assert isinstance(killed.value, gevent.GreenletExit)
    queue.put("connection")
    assert queue.get(timeout=1) == "connection"


@pytest.mark.costly
@given(items=st.lists(st.integers(), max_size=5))
def test_without_waiters_it_is_a_bounded_queue(items: list[int]) -> None:
    queue = FairQueue(5)
    for item in items:
        queue.put(item)
    assert (queue.qsize(), queue.full()) == (len(items), len(items) == 5)
    assert [queue.get(block=False) for _ in items] == items
    with pytest.raises(Empty):
        queue.get(block=False)


def test_more_than_its_size_is_refused() -> None:
    queue = FairQueue(1)
    queue.put(1)
    with pytest.raises(Full):
        queue.put(2)


class Connection:
    """A connection that does nothing, with a number."""

    def __init__(self, number: int) -> None:
        self.number = number

    def close(self) -> None:
        """Do nothing."""

    def cursor(self) -> int:
        """Return the number."""
        return self.number


def engine_of(connections: Iterator[Any]) -> Engine:
    """An engine with one connection at a time, each the next of these; it fails where the next is an exception."""

    def create() -> Any:
        connection = next(connections)
        if isinstance(connection, Exception):
            raise connection
        return connection

    return create_engine(
        "sqlite://", poolclass=FairQueuePool, creator=create, pool_size=1, max_overflow=0, pool_timeout=0.01,
        pool_reset_on_return=None, _initialize=False,
    )  # fmt: skip


def test_a_lease_gives_its_connection_back_once() -> None:
    checkout = Pools({SHARED: engine_of(map(Connection, range(9)))}, []).checkouts[SHARED]
    first = checkout()
    first.close()
    second = checkout()
    first.close()
    with pytest.raises(PoolTimeout):
        checkout()
    second.close()
    assert checkout().cursor() == 0


def test_a_lease_that_nothing_refers_to_gives_its_connection_back() -> None:
    checkout = Pools({SHARED: engine_of(map(Connection, range(9)))}, []).checkouts[SHARED]
    assert [checkout().cursor() for _ in range(3)] == [0, 0, 0]


def test_a_connection_that_was_invalidated_is_replaced() -> None:
    checkout = Pools({SHARED: engine_of(map(Connection, range(9)))}, []).checkouts[SHARED]
    broken = checkout()
    broken.invalidate()
    broken.close()
    assert [checkout().cursor(), checkout().cursor()] == [1, 1]


def test_a_place_in_the_pool_is_free_again_where_the_server_refuses_to_replace_its_connection() -> None:
    connections = iter((Connection(0), OSError("refused"), Connection(1)))
    checkout = Pools({SHARED: engine_of(connections)}, []).checkouts[SHARED]
    checkout().invalidate()
    with pytest.raises(OSError, match="refused"):
        checkout()
    assert checkout().cursor() == 1


@pytest.mark.parametrize("name", ["checkout", "checkin", "connect", "reset", "invalidate"])
def test_a_listener_hears_every_event_of_the_pool(name: str) -> None:
    engine, heard = engine_of(map(Connection, range(9))), []
    event.listen(engine, name, lambda *_: heard.append(name))
    checkout = Pools({SHARED: engine}, []).checkouts[SHARED]
    for _ in range(3):
        connection = checkout()
        if name == "invalidate":
            connection.invalidate()
        connection.close()
    assert len(heard) == (1 if name == "connect" else 3)
    assert isinstance(connection, PoolProxiedConnection) == (name in {"checkout", "reset"})
