"""One worker's step: users wait at the gate, take part until the end, and are counted; a failure ends the step."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import gevent
import pytest
from sqlalchemy import URL

from poolsize.load import worker_step
from poolsize.load.calibration import IdleConnection
from poolsize.load.fair_queue import FairQueuePool
from poolsize.load.pool import OpenPool
from poolsize.load.step_gate import StepGate
from poolsize.load.transaction import Transaction
from poolsize.load.worker_step import WorkerShare, WorkerStep
from poolsize.runs.plan import PoolKind

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


def idle_pool(size: int) -> OpenPool:
    """Return an open pool of connections that do nothing."""
    engine: Any = IdleEngine(size)
    return OpenPool(engine, [])


class Worker:
    """A worker of four users, as Locust runs them: each goes back to the gate when a step ends."""

    def __init__(self, transaction: Transaction) -> None:
        self.gate = StepGate()
        self.seconds: list[WorkerSecond] = []
        self.failures: list[str] = []
        self.transaction = transaction
        self.users = [gevent.spawn(self._run) for _ in range(USERS)]

    def step(self, share: WorkerShare) -> WorkerStep:
        """Return a step of this worker, its pool open."""
        url = URL.create("mysql+pymysql")
        return WorkerStep(
            url, share, self.gate, lambda _, second, __: self.seconds.append(second), self.failures.append
        )

    def _run(self) -> None:
        while True:
            self.gate.take_part(self.transaction)
            gevent.sleep(0)


@pytest.fixture(autouse=True)
def idle_pools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_step, "open_pool", lambda _url, _schema, size, *_: idle_pool(size))


def short(_cursor: Any) -> None:
    gevent.sleep(0.001)


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
        assert [list(section) for section in report.sections] == [["wait", "usage", "total"]]
        assert report.cpu > 0
        gevent.sleep(0.05)
        assert step._load.users == 0
    assert worker.failures == []
    gevent.killall(worker.users)


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


def test_a_failing_transaction_ends_the_step_and_is_reported() -> None:
    def fail(_cursor: Any) -> None:
        raise ValueError("wrong")

    worker = Worker(fail)
    with worker.step(CLOSED) as step:
        step.begin()
        gevent.sleep(0.1)
        assert worker.failures[0] == "the workload's transaction failed: ValueError: wrong"
        assert step._load.users == 0
    gevent.killall(worker.users)


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
