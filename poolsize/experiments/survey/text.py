"""A survey of pools, as text for a terminal: tables beside the published survey, and who starves."""

from collections.abc import Sequence
from types import TracebackType
from typing import Self

from rich.text import Text

from poolsize.experiments.scenario import Scenario
from poolsize.experiments.survey.timing import (
    JAVA,
    MANY_USERS,
    POOL_SIZE,
    USERS,
    Concurrency,
    Survey,
    Timing,
    Work,
    java_versions,
)
from poolsize.present.text.layout import UNKNOWN, Table, bullets, paragraph
from poolsize.present.text.progress import error_console
from poolsize.recordings.published import published_pools
from poolsize.terminal import visible
from poolsize.units import count, milliseconds, number

TITLES = {
    Work.MOCK: "A connection borrowed and returned, with a driver that does nothing",
    Work.BORROW: "A connection borrowed and returned",
    Work.SELECT: "A connection borrowed, SELECT 1, and the connection returned",
    Work.PRE_PING: "The same as SELECT 1, with a pool that tests each connection first",
    Work.PREPARED: "The same as SELECT 1, prepared and executed in each transaction",
}
PUBLISHED = {Work.MOCK: "get_close_mock", Work.BORROW: "get_close_mysql", Work.SELECT: "select_one"}
"""Work -> the test of the published survey in which it was measured."""
REPEATS = {"get_close_mock": 1_000_000, "get_close_mysql": 1_000_000, "select_one": 100_000}
"""Test of the published survey -> its number of transactions."""
USER_KINDS = {Concurrency.THREADS: "threads", Concurrency.GREENLETS: "greenlets", Concurrency.ASYNCIO: "tasks"}
READING = (
    (
        f"Each pool has {count(POOL_SIZE, 'connection')}, and each user asks for one again as soon as it has returned "
        "one. The columns are numbers of users. The tables have the time per transaction of all users together, in µs: "
        "a second divided by the transactions per second. Each figure is a single timing."
    ),
    (
        "SQLAlchemy and DBUtils send a ROLLBACK with each return. mysql-connector-python resets the session then, and "
        "tests each connection that it gives, as peewee does. With asyncio, SQLAlchemy's figures include its Core."
    ),
    (
        "Published: Java pools in 2015 on 24 hyper-threads, of 20 connections in the first two tables and of 8 in the "
        "third."
    ),
)
STARVES = (
    "Starves: a user waited for at least half of the measurement while the others were served many times. Such a pool "
    "gives a returned connection to a user that asks at that moment, before the users that wait. In an application, "
    "whose threads do other work between two transactions, wait times then differ widely while the pool is full."
)


class SurveyProgress:
    """Shows which pool is timed: one line that changes in a terminal, else a line for each concurrency and work."""

    def __init__(self) -> None:
        self._console = error_console()
        self._status = self._console.status("preparing the pools of Java, and a private server")
        self._last = ""

    def __enter__(self) -> Self:
        self._status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._status.stop()

    def show(self, timing: Timing) -> None:
        """Show a timing that is complete."""
        part = f"{'Java' if timing.pool.endswith(JAVA) else 'Python'}, {USER_KINDS[timing.concurrency]}, {timing.work}"
        text = visible(f"{part}: {timing.pool}, {count(timing.users, 'user')}")
        self._status.update(Text(text))  # Rich takes a str for markup here, whatever its console does
        if part != self._last and not self._console.is_terminal:
            self._console.print(visible(part))
        self._last = part


def survey_text(scenario: Scenario, survey: Survey) -> str:
    """Return a table for each work, the longest waits, and who starves."""
    timings = survey.timings
    works = [work for work in Work if any(timing.work is work for timing in timings)]
    parts = [paragraph(f"{scenario.question} Source: {scenario.source}."), bullets(READING)]
    parts += [f"{TITLES[work]} (µs):\n{_times(work, timings).as_text()}" for work in works]
    waits = [timing for timing in timings if timing.users == MANY_USERS]
    if waits:
        parts.append(f"The longest wait of {MANY_USERS} users, SELECT 1:\n{_waits(waits).as_text()}")
    notes = [STARVES] if any(timing.starves for timing in waits) else []
    if any(timing.pool.endswith(JAVA) for timing in timings):
        notes.append(f"Java: {', '.join(f'{name} {version}' for name, version in java_versions().items())}.")
    if survey.missing:
        names = ", ".join(survey.missing)
        notes.append(f"Not installed: {names}. This installs all of them: pip install 'poolsize[pools]'.")
    if survey.java_left_out:
        notes.append(f"Pools of Java are left out: {survey.java_left_out}.")
    parts += [bullets(notes)] if notes else []
    return "\n\n".join(parts)


def _times(work: Work, timings: Sequence[Timing]) -> Table:
    by_users = {
        (timing.concurrency, timing.pool, timing.users): timing.time_us for timing in timings if timing.work is work
    }
    names = dict.fromkeys((concurrency, pool) for concurrency, pool, _ in by_users)
    rows = [
        (pool, USER_KINDS[concurrency], *(_us(by_users.get((concurrency, pool, users))) for users in USERS))
        for concurrency, pool in names
    ]
    return Table(("pool", "concurrency", *map(str, USERS)), (*rows, *_published(work)))


def _published(work: Work) -> list[tuple[str, ...]]:
    test = PUBLISHED.get(work)
    elapsed_ms = {
        (timing.pool, timing.threads): timing.elapsed_ms for timing in published_pools() if timing.test == test
    }
    return [
        (
            f"{pool} (published)",
            "threads",
            *(
                _us(1000 * elapsed_ms[pool, users] / REPEATS[test]) if (pool, users) in elapsed_ms else UNKNOWN
                for users in USERS
            ),
        )
        for pool in dict.fromkeys(pool for pool, _ in elapsed_ms)
        if test is not None
    ]


def _waits(waits: Sequence[Timing]) -> Table:
    rows = tuple(
        (
            timing.pool,
            USER_KINDS[timing.concurrency],
            _ms(timing.longest_wait_ms),
            _ms(timing.fair_wait_ms),
            str(timing.users - timing.served),
            "yes" if timing.starves else "no",
        )
        for timing in waits
    )
    return Table(("pool", "concurrency", "longest wait", "in a fair pool", "never served", "starves"), rows)


def _us(time_us: float | None) -> str:
    return UNKNOWN if time_us is None else number(time_us)


def _ms(time_ms: float | None) -> str:
    return UNKNOWN if time_ms is None else milliseconds(time_ms)
