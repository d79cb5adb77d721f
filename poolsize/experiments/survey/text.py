"""A survey of pools as text for a terminal, beside the published survey, and as JSON; its progress."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import nan
from typing import TypedDict

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
from poolsize.present.text.layout import Table, bullets, paragraph
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
PUBLISHED = {
    Work.MOCK: ("get_close_mock", 1_000_000),
    Work.BORROW: ("get_close_mysql", 1_000_000),
    Work.SELECT: ("select_one", 100_000),
}
"""Work -> the test of the published survey in which it was measured, and the test's number of transactions."""
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


@contextmanager
def survey_progress() -> Iterator[Callable[[Timing], None]]:
    """Show which pool is timed, by each complete timing with which the function that is yielded is called.

    A terminal has one line that changes; elsewhere there is a line for each concurrency and work.
    """
    console, shown = error_console(), set[str]()
    with console.status("preparing the pools of Java, and a private server") as status:

        def show(timing: Timing) -> None:
            language = "Java" if timing.pool.endswith(JAVA) else "Python"
            part = f"{language}, {USER_KINDS[timing.concurrency]}, {timing.work}"
            text = visible(f"{part}: {timing.pool}, {count(timing.users, 'user')}")
            status.update(Text(text))  # Rich takes a str for markup here, whatever its console does
            if part not in shown and not console.is_terminal:
                console.print(visible(part))
            shown.add(part)

        yield show


def survey_text(scenario: Scenario, survey: Survey) -> str:
    """Return a table for each work, the longest waits, and who starves."""
    timings = survey.timings
    works = [work for work in Work if any(timing.work is work for timing in timings)]
    parts = [paragraph(f"{scenario.question} Source: {scenario.source}."), bullets(READING)]
    parts += [f"{TITLES[work]} (µs):\n{_times(work, timings).as_text()}" for work in works]
    if waits := [timing for timing in timings if timing.users == MANY_USERS]:
        rows = [
            (
                timing.pool,
                USER_KINDS[timing.concurrency],
                *(milliseconds(nan if ms is None else ms) for ms in (timing.longest_wait_ms, timing.fair_wait_ms)),
                str(timing.users - timing.served),
                "yes" if timing.starves else "no",
            )
            for timing in waits
        ]
        table = Table(("pool", "concurrency", "longest wait", "in a fair pool", "never served", "starves"), rows)
        parts.append(f"The longest wait of {MANY_USERS} users, SELECT 1:\n{table.as_text()}")
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
    """Return the time per transaction of a work by pool and number of users, here and in the published survey."""
    test, transactions = PUBLISHED.get(work, ("", 1))
    times_us = {
        (timing.pool, USER_KINDS[timing.concurrency], timing.users): timing.time_us or nan
        for timing in timings
        if timing.work is work
    } | {
        (f"{timing.pool} (published)", "threads", timing.threads): 1000 * timing.elapsed_ms / transactions
        for timing in published_pools()
        if timing.test == test
    }
    rows = tuple(
        (pool, kind, *(number(times_us.get((pool, kind, users), nan)) for users in USERS))
        for pool, kind in dict.fromkeys((pool, kind) for pool, kind, _ in times_us)
    )
    return Table(("pool", "concurrency", *map(str, USERS)), rows)


class SurveyValues(TypedDict):
    """A survey of pools.

    file: of the survey. pool_size: connections of each pool. missing: pools whose libraries are not installed.
    java_left_out: why pools of Java were not timed, or null.
    """

    scenario: str
    question: str
    source: str
    file: str
    pool_size: int
    missing: tuple[str, ...]
    java_left_out: str | None
    timings: tuple[Timing, ...]


def survey_values(scenario: Scenario, survey: Survey, path: str) -> SurveyValues:
    """Return a survey as data for JSON. path: of the survey's file."""
    return {
        "scenario": scenario.name,
        "question": scenario.question,
        "source": scenario.source,
        "file": path,
        "pool_size": POOL_SIZE,
        "missing": survey.missing,
        "java_left_out": survey.java_left_out,
        "timings": survey.timings,
    }
