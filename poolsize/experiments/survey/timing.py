"""Timings: how fast one pool serves a number of users, and how long the unluckiest of them waits."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import ClassVar

from poolsize.record import Amount, Count, Name, record

POOL_SIZE = 8
"""Connections of each pool."""
USERS = (5, 8, 20, 50, 100)
"""Numbers of users: those of the published survey."""
MANY_USERS, MANY_SECONDS = 64, 1.0
"""Users, and seconds, with which the longest wait is measured."""
TIMING_SECONDS, FULL_SECONDS = 0.2, 2.0
"""Length of each other timing, and at the published scale."""
LENGTH_SECONDS = 170
"""Usual length of the survey."""
JAVA = " (Java)"
"""The end of the name of a pool of Java."""
JAVA_FOLDER = Path(__file__).parent / "java"
"""The folder with the Java source and Maven's list of libraries."""
ARTIFACTS = {
    "HikariCP": "HikariCP",
    "druid": "Druid",
    "commons-dbcp2": "DBCP2",
    "c3p0": "c3p0",
    "tomcat-jdbc": "Tomcat JDBC",
}
"""Name in Maven -> name of the pool."""


class Concurrency(StrEnum):
    """What the users are."""

    THREADS = "threads"
    GREENLETS = "greenlets"
    ASYNCIO = "asyncio"


class Work(StrEnum):
    """What a user does with a connection before it returns it.

    MOCK: nothing, with a driver that does nothing. BORROW: nothing. SELECT: SELECT 1. PRE_PING: the same, with a pool
    that tests each connection first. PREPARED: the same, prepared and executed in each transaction.
    """

    MOCK = "mock"
    BORROW = "borrow"
    SELECT = "select"
    PRE_PING = "pre_ping"
    PREPARED = "prepared"


@record
class Timing:
    """One pool with one number of users.

    pool: library and kind. transactions: borrowed and returned connections, in so many seconds. served: users that
    completed a transaction. longest_wait_ms: of any user, those that still wait at the end included; None where it
    was not measured.
    """

    ALSO_PRINTED: ClassVar = ("time_us", "fair_wait_ms", "starves")
    pool: Name
    concurrency: Concurrency
    work: Work
    users: Count
    transactions: Count
    seconds: Amount
    served: Count
    longest_wait_ms: Amount | None

    @property
    def time_us(self) -> float | None:
        """Time per transaction, over all users; None without a transaction."""
        return 1e6 * self.seconds / self.transactions if self.transactions else None

    @property
    def fair_wait_ms(self) -> float | None:
        """The time in which a fair pool serves each user once; None without a transaction."""
        return 1000 * self.users * self.seconds / self.transactions if self.transactions else None

    @property
    def starves(self) -> bool:
        """Whether a user waited for half of the measurement while the others were served ten times on average."""
        waited = self.longest_wait_ms is not None and self.longest_wait_ms >= 1000 * self.seconds / 2
        return waited and self.transactions >= 10 * self.users


@dataclass(frozen=True)
class Survey:
    """The timings of all pools. missing: pools not installed. java_left_out: why the pools of Java are, or None."""

    timings: tuple[Timing, ...] = ()
    missing: tuple[str, ...] = ()
    java_left_out: str | None = None


def java_versions() -> Mapping[str, str]:
    """Return the version of each pool of Java by its name, and of the driver."""
    pom = (JAVA_FOLDER / "pom.xml").read_text()
    versions = dict(re.findall(r"<artifactId>(.+)</artifactId>\s*<version>(.+)</version>", pom))
    names = ARTIFACTS | {"mysql-connector-j": "mysql-connector-j"}
    return {name: versions[artifact] for artifact, name in names.items()}
