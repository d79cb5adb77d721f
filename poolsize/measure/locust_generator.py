"""The LoadGenerator that measures with Locust's processes, here or on other machines, by Locust's messages."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict
from datetime import UTC, datetime
from time import monotonic
from typing import Any

import gevent
import pymysql
from gevent.queue import Empty, Queue
from locust.runners import MasterRunner, Runner, WorkerRunner
from sqlalchemy import URL

from poolsize.analysis.percentiles import merged
from poolsize.errors import WorkFailed
from poolsize.facts.server import connections_in
from poolsize.measure.load_process import LoadProcess, Report
from poolsize.measure.pool import SCHEMA, connect, database_url, error_kind
from poolsize.measure.progress_pipe import ProgressPipe
from poolsize.measure.recorder import Second
from poolsize.plan import PlannedStep, SweepPlan
from poolsize.progress import SecondPassed
from poolsize.run import Latencies, Setting, Step, Worker

OPEN = "poolsize_open"
OPENED = "poolsize_opened"
MEASURE = "poolsize_measure"
SECOND = "poolsize_second"
MEASURED = "poolsize_measured"
GRACE_SECONDS = 90


def serve(runner: Runner, process: LoadProcess, own_url: str | None) -> None:
    """Make this process carry out the steps that the generator sends it.

    own_url: how the database is reached from here; not needed where the generator sends its private server's.
    """

    def answer(kind: str, work: Callable[[], dict[str, Any]]) -> None:
        try:
            reply = work()
        except Exception as error:
            reply = {"error": str(error) if isinstance(error, WorkFailed) else f"{type(error).__name__}: {error}"}
        runner.send_message(kind, {"worker": _name(runner), **reply})

    def opened(shares: dict[str, int], private_url: str | None) -> dict[str, Any]:
        url = private_url or own_url
        if url is None:
            raise WorkFailed(f"the load process {_name(runner)} has no URL: set POOLSIZE_URL where it runs")
        process.open(database_url(url), shares.get(_name(runner), 0))
        return {}

    def measured(warm_up_seconds: int, step_seconds: int, think_seconds: float) -> dict[str, Any]:
        try:
            return asdict(process.measure(warm_up_seconds, step_seconds, think_seconds))
        finally:
            process.close()

    def on_open(msg: Any, **_: Any) -> None:
        gevent.spawn(answer, OPENED, lambda: opened(**msg.data))

    def on_measure(msg: Any, **_: Any) -> None:
        gevent.spawn(answer, MEASURED, lambda: measured(**msg.data))

    runner.register_message(OPEN, on_open)
    runner.register_message(MEASURE, on_measure)


def tell_second(runner: Runner, second: Second) -> None:
    """Pass one second of this process on to the generator."""
    ordered = sorted(second.total.items())
    left = 0.05 * second.transactions
    p95_us = 0
    for value, number in reversed(ordered):
        p95_us = value
        left -= number
        if left <= 0:
            break
    data = {"transactions": second.transactions, "p95_ms": p95_us / 1000}
    runner.send_message(SECOND, data)


class LocustGenerator:
    """Measures planned steps with every load process that is connected."""

    def __init__(
        self,
        runner: Runner,
        url: URL,
        setting: Setting,
        progress: ProgressPipe,
        before_step: Callable[[], None],
    ) -> None:
        self._runner = runner
        self._plan = setting.plan
        self._private_url = url.render_as_string(hide_password=False) if setting.private else None
        self._second: list[dict[str, float]] = []
        self._processes = 1
        self._progress = progress
        self._before_step = before_step
        self._replies: Queue[tuple[str, dict[str, Any]]] = Queue()
        self._monitor = connect(url)
        for kind in (OPENED, MEASURED):
            runner.register_message(kind, self._receiver(kind))
        runner.register_message(SECOND, self._on_second)

    def measure(self, planned: PlannedStep) -> Step:
        """Measure one pool size once, over all processes."""
        try:
            self._before_step()
            shares = split(planned.pool_size, self._workers())
            self._processes, self._second = len(shares), []
            self._send(OPEN, {"shares": shares, "private_url": self._private_url})
            self._collect(OPENED, len(shares))
            started = datetime.now(UTC).isoformat(timespec="seconds")
            plan = self._plan
            self._send(
                MEASURE,
                {
                    "warm_up_seconds": plan.warm_up_seconds,
                    "step_seconds": plan.step_seconds,
                    "think_seconds": plan.think_time_ms / 1000,
                },
            )
            gevent.sleep(plan.warm_up_seconds + plan.step_seconds - 0.5)
            with self._monitor.cursor() as cursor:
                counted = connections_in(cursor, SCHEMA)
            replies = self._collect(MEASURED, len(shares))
        except pymysql.MySQLError as error:
            raise WorkFailed(f"the server failed ({error_kind(error)}): {error.args[-1]}") from None
        reports = {name: Report(**reply) for name, reply in replies.items()}
        return _step(planned, plan, started, counted, shares, reports)

    def close(self) -> None:
        """Close the connection that counts the others."""
        with closing(self._monitor):
            pass

    def _workers(self) -> list[str]:
        if isinstance(self._runner, MasterRunner):
            return sorted(client.id for client in self._runner.clients.running)
        return [_name(self._runner)]

    def _send(self, kind: str, data: dict[str, Any]) -> None:
        self._runner.send_message(kind, data)

    def _receiver(self, kind: str) -> Callable[..., None]:
        def receive(msg: Any, **_: Any) -> None:
            self._replies.put((kind, msg.data))

        return receive

    def _on_second(self, msg: Any, **_: Any) -> None:
        """Tell a second once every process has reported it; its p95 is that of the slowest."""
        self._second.append(msg.data)
        if len(self._second) >= self._processes:
            transactions = sum(int(one["transactions"]) for one in self._second)
            self._progress.tell(SecondPassed(transactions, max(one["p95_ms"] for one in self._second)))
            self._second = []

    def _collect(self, kind: str, number: int) -> dict[str, dict[str, Any]]:
        """Wait for one reply of every process. Raises WorkFailed for the first one that failed."""
        replies: dict[str, dict[str, Any]] = {}
        deadline = monotonic() + GRACE_SECONDS
        while len(replies) < number:
            try:
                got, reply = self._replies.get(timeout=max(0.0, deadline - monotonic()))
            except Empty:
                raise WorkFailed(f"{number - len(replies)} of {number} load processes did not answer") from None
            if "error" in reply:
                raise WorkFailed(reply["error"])
            if got == kind:
                replies[reply.pop("worker")] = reply
        return replies


def split(pool_size: int, workers: list[str]) -> dict[str, int]:
    """Shares of a pool that add up to exactly pool_size, as equal as whole numbers can be."""
    base, more = divmod(pool_size, len(workers))
    return {name: base + (place < more) for place, name in enumerate(workers)}


def _name(runner: Runner) -> str:
    return runner.client_id if isinstance(runner, WorkerRunner) else "local"


def _step(
    planned: PlannedStep,
    plan: SweepPlan,
    started: str,
    counted: int,
    shares: dict[str, int],
    reports: dict[str, Report],
) -> Step:
    """Put the processes' reports together as one step."""
    total = merged(report.total for report in reports.values())
    transactions = total.get_total_count()
    gap_seconds = sum(report.gap_seconds for report in reports.values())
    return Step(
        pool_size=planned.pool_size,
        repeat=planned.repeat,
        order=planned.order,
        started=started,
        users=sum(report.users for report in reports.values()),
        warm_up_seconds=plan.warm_up_seconds,
        throughput=_added([report.throughput for report in reports.values()]),
        errors={
            kind: _added([report.errors[kind] for report in reports.values() if kind in report.errors])
            for kind in sorted({kind for report in reports.values() for kind in report.errors})
        },
        gap_ms=1000 * gap_seconds / transactions if transactions else 0.0,
        latencies=Latencies(
            wait=_encoded(report.wait for report in reports.values()),
            usage=_encoded(report.usage for report in reports.values()),
            total=str(total.encode(), "ascii"),
        ),
        server_connections=counted,
        workers=tuple(
            Worker(name, shares[name], report.users, report.cpu, report.loop_lag_ms)
            for name, report in sorted(reports.items())
        ),
        checks=(),
    )


def _added(series: list[list[int]]) -> tuple[int, ...]:
    return tuple(map(sum, zip(*series, strict=True)))


def _encoded(histograms: Any) -> str:
    return str(merged(histograms).encode(), "ascii")
