"""One worker's step: users wait at the gate, take part until the end, and are counted; a failure ends the step."""

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import gevent
import gevent.event
import pytest
from sqlalchemy import URL

from poolsize.analysis.stats.percentiles import merged
from poolsize.load import pool
from poolsize.load.fair_queue import FairQueuePool
from poolsize.load.loops import Behavior, Transaction
from poolsize.load.messages import ReportedSecond, WorkerShare
from poolsize.load.worker_step import IdleConnection, Reporting, StepGate, WorkerStep
from poolsize.runs.plan import PoolKind
from tests.conftest import measured_again

if TYPE_CHECKING:
    from poolsize.load.recorder import WorkerSecond

USERS = 4
CLOSED = WorkerShare(connections=2, rate=None, think_seconds=0.0, timeout_seconds=5.0)
OPEN = WorkerShare(connections=2, rate=100.0, think_seconds=0.0, timeout_seconds=5.0)
NOTHING = WorkerShare(connections=0, rate=None, think_seconds=0.0, timeout_seconds=5.0)


class IdleEngine:
    """An engine whose pool's connections do nothing."""

    def __init__(self, size: int) -> None:
        creator: Any = IdleConnection
        self.pool = FairQueuePool(creator, pool_size=size, max_overflow=0, reset_on_return=None)

    def dispose(self) -> None:
        """Drop the idle connections."""
        self.pool.dispose()


class Worker:
    """A worker of four users, as Locust runs them: each goes back to the gate when a step ends."""

    def __init__(self, *transactions: Transaction, pause: Callable[[], float] | None = None) -> None:
        self.gate = StepGate()
        self.seconds: list[WorkerSecond] = []
        self.unserved: list[int] = []
        self.failures: list[str] = []
        self.seen: list[tuple[str, Exception | None]] = []
        self.behavior = Behavior(tuple((task.__name__, task) for task in transactions), pause)
        self.users = [gevent.spawn(self._run) for _ in range(USERS)]

    def step(self, share: WorkerShare, pool_shares: Mapping[str, float] | None = None) -> closing[WorkerStep]:
        """Return a step of this worker, its pools open; leaving the context closes it."""
        url = URL.create("mysql+pymysql")
        kinds = list(dict.fromkeys(kind for kind, _ in self.behavior.tasks))
        reporting = Reporting(
            self._on_second,
            self.failures.append,
            lambda kind, _, error: self.seen.append((kind, error)),
        )
        return closing(WorkerStep(url, share, self.gate, kinds, pool_shares or {}, reporting))

    def _on_second(self, second: "WorkerSecond", reported: ReportedSecond) -> None:
        self.seconds.append(second)
        self.unserved.append(reported.second.unserved)

    def _run(self) -> None:
        while True:
            self.gate.take_part(self.behavior)
            gevent.sleep(0)


@pytest.fixture(autouse=True)
def idle_pools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "open_pool", lambda _url, _schema, size, *_: IdleEngine(size))


def short(_cursor: Any) -> None:
    gevent.sleep(0.001)


@pytest.mark.long
@pytest.mark.parametrize("share", [CLOSED, OPEN])
def test_users_take_part_from_the_beginning_to_the_end_of_each_step(share: WorkerShare) -> None:
    worker = Worker(short)
    for number in (1, 2):
        with worker.step(share) as step:
            gevent.sleep(0.05)
            assert len(worker.seconds) == number - 1, "an open step has not begun"
            step.begin()
            gevent.sleep(1.1)
            report = step.finish(0, 1)
        (second,) = worker.seconds[number - 1 :]
        assert second.transactions > 20
        assert report.users == USERS
        assert [list(section) for section in report.sections] == [["wait", "usage", "total", "failed"]]
        assert report.cost.cpu > 0
        gevent.sleep(0.05)
        assert step._load.users == 0
    assert worker.failures == []
    gevent.killall(worker.users)


@pytest.mark.costly
@pytest.mark.parametrize("share", [CLOSED, OPEN])
def test_with_sqlalchemys_pool_other_greenlets_run_between_two_transactions(share: WorkerShare) -> None:
    """Its queue wakes a waiter, which needs that turn to take the connection."""
    turns = {"user": 0, "other": 0}

    def no_wait(_cursor: Any) -> None:
        turns["user"] += 1
        assert turns["user"] <= 50 * (turns["other"] + 1), "no other greenlet has run"

    def other() -> None:
        while True:
            turns["other"] += 1
            gevent.sleep(0)

    worker, greenlet = Worker(no_wait), gevent.spawn(other)
    with worker.step(replace(share, pool=PoolKind.SQLALCHEMY)) as step:
        step.begin()
        gevent.sleep(0.3)
    assert turns["user"] > 5
    assert worker.failures == []
    gevent.killall([*worker.users, greenlet])


@pytest.mark.long
@pytest.mark.parametrize(("share", "unserved"), [(CLOSED, [2, 0]), (OPEN, [0, 0])])
def test_users_of_a_closed_loop_are_unserved_until_their_first_transaction_ends(
    share: WorkerShare, unserved: list[int]
) -> None:
    """Two transactions end at once; the next two hold both connections until the first second is over."""
    started: list[None] = []
    second_over = gevent.event.Event()

    def waiting(_cursor: Any) -> None:
        started.append(None)
        if len(started) > CLOSED.connections:
            second_over.wait()
        gevent.sleep(0.001)

    worker = Worker(waiting)
    with worker.step(share) as step:
        step.begin()
        for _ in unserved:
            seconds = len(worker.unserved)
            while len(worker.unserved) == seconds:
                gevent.sleep(0.01)
            second_over.set()
    assert worker.unserved == unserved
    gevent.killall(worker.users)


@pytest.mark.long
def test_no_other_pools_transactions_serve_the_users_of_a_slow_pool() -> None:
    """Of the slow pool, one of three users holds the only connection until the first second is over."""
    second_over = gevent.event.Event()

    def slow(_cursor: Any) -> None:
        second_over.wait()
        gevent.sleep(0.001)

    worker = Worker(short)
    behavior = Behavior((("short", slow),), pool="Slow")
    slow_users = [gevent.spawn(worker.gate.take_part, behavior) for _ in range(3)]
    with worker.step(CLOSED, {"Slow": 0.5}) as step:
        step.begin()
        for number in (1, 2):
            while len(worker.unserved) < number:
                gevent.sleep(0.01)
            second_over.set()
    assert worker.seconds[0].transactions > USERS + len(slow_users)
    assert worker.unserved[:2] == [3, 0]
    gevent.killall([*worker.users, *slow_users])


def test_a_failing_transaction_ends_the_step_and_is_reported() -> None:
    def fail(_cursor: Any) -> None:
        raise ValueError("wrong")

    worker = Worker(fail)
    with worker.step(CLOSED) as step:
        step.begin()
        gevent.sleep(0.1)
        line = fail.__code__.co_firstlineno + 1
        assert worker.failures[0].startswith("the workload's transaction failed: ")
        assert worker.failures[0].endswith(f"test_worker_step.py:{line}: ValueError: wrong")
        assert step._load.users == 0
    gevent.killall(worker.users)


@pytest.mark.long
def test_a_worker_without_connections_keeps_its_users_at_the_gate() -> None:
    worker = Worker(short)
    with worker.step(NOTHING) as step:
        step.begin()
        gevent.sleep(1.1)
        assert step.finish(0, 1).users == 0
    assert [second.transactions for second in worker.seconds] == [0]
    gevent.killall(worker.users)


def test_a_step_that_never_began_can_be_closed() -> None:
    worker = Worker(short)
    with worker.step(OPEN):
        pass
    assert worker.seconds == []
    gevent.killall(worker.users)


@pytest.mark.long
@pytest.mark.parametrize("share", [CLOSED, OPEN])
def test_weighted_tasks_are_kinds_that_add_up(share: WorkerShare) -> None:
    def browse(_cursor: Any) -> None:
        gevent.sleep(0.001)

    def buy(_cursor: Any) -> None:
        gevent.sleep(0.002)

    worker = Worker(browse, browse, browse, buy)
    with worker.step(share) as step:
        step.begin()
        gevent.sleep(1.1)
        report = step.finish(0, 1)
    (second,) = worker.seconds
    assert second.transactions == sum(kind.transactions for kind in second.kinds.values())
    assert sum(second.total.values()) == second.transactions
    assert 0.55 < second.kinds["browse"].transactions / second.transactions < 0.95
    assert {name: merged([kind["total"]]).get_total_count() for name, kind in report.kinds.items()} == {
        name: kind.transactions for name, kind in second.kinds.items()
    }
    assert {kind for kind, _ in worker.seen} == {"browse", "buy"}
    gevent.killall(worker.users)


@pytest.mark.long
@measured_again
def test_the_pause_of_a_user_is_in_its_gap_and_the_end_of_the_step_interrupts_a_long_one() -> None:
    worker = Worker(short, pause=lambda: 0.05)
    with worker.step(CLOSED) as step:
        step.begin()
        gevent.sleep(1.1)
        report = step.finish(0, 1)
    (second,) = worker.seconds
    assert 0.85 * USERS * 20 < second.transactions <= USERS * 20
    assert 0.8 < report.gap_seconds / USERS <= 1
    gevent.killall(worker.users)
    patient = Worker(short, pause=lambda: 1000.0)
    with patient.step(CLOSED) as step:
        step.begin()
        gevent.sleep(1.1)
        assert step.finish(0, 1).users == USERS
        assert step._load.users == 0
    gevent.killall(patient.users)
