"""Timings: how fast one pool serves a number of users, how long the unluckiest of them waits; a survey and its file."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from pydantic import TypeAdapter

from poolsize.errors import BadInput
from poolsize.record import Amount, Count, Name, Series, record
from poolsize.runs.line_file import LineFile, naming_line, record_of, run_lines

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
FORMAT = 1
"""The version of the file's format."""


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


@record
class SurveySetting:
    """What a survey times.

    seconds: of each timing. mysqld: path of the server program, or None to search for it. server_options: variables of
    the server.
    """

    seconds: Amount
    mysqld: Name | None
    server_options: Mapping[Name, Name]


@record
class SurveyPart:
    """The timings of a process. process: its name. missing: names of its pools whose libraries are not installed."""

    process: Name
    timings: Series[Timing]
    missing: Series[Name] = ()


@dataclass(frozen=True)
class Survey:
    """A survey, complete or not.

    parts: of the processes that have ended. java_left_out: why pools of Java were not timed; None where all were, and
    in a file.
    """

    setting: SurveySetting
    parts: tuple[SurveyPart, ...] = ()
    java_left_out: str | None = None

    @property
    def timings(self) -> tuple[Timing, ...]:
        """The timings of all processes."""
        return tuple(timing for part in self.parts for timing in part.timings)

    @property
    def missing(self) -> tuple[str, ...]:
        """The names of the pools whose libraries are not installed."""
        return tuple(dict.fromkeys(name for part in self.parts for name in part.missing))


_SETTING = TypeAdapter(SurveySetting)
_PART = TypeAdapter(SurveyPart)


class SurveyWriter(LineFile):
    """Appends parts to a survey's file, which has a header, and a line for each process that has timed its pools."""

    def __init__(self, path: Path, setting: SurveySetting, *, resume: bool) -> None:
        """Make the file of a survey, or open that of an interrupted survey (`resume`). Raises as LineFile does."""
        header = {"survey": FORMAT, "setting": _SETTING.dump_python(setting, mode="json")}
        super().__init__(path, None if resume else header)

    def append(self, part: SurveyPart) -> None:
        """Append a part, and wait until it is on the disk. Raises WorkFailed where the disk does not take it."""
        self.append_record({"part": _PART.dump_python(part, mode="json")})


def load_survey(path: Path) -> Survey:
    """Return the survey in a file, without a last line that is cut off. Raises BadInput for any other file."""
    lines = (line for line in run_lines(path) if not line.is_torn)
    first = next(lines, None)
    header = record_of(path, first) if first else {}
    if first is None or header.get("survey") != FORMAT:
        raise BadInput(f"{path} is not a survey of pools that this poolsize can resume: start a new survey")
    with naming_line(path, first):
        setting = _SETTING.validate_python(header.get("setting"))
    parts = []
    for line in lines:
        values = record_of(path, line)
        with naming_line(path, line):
            parts.append(_PART.validate_python(values.get("part")))
    return Survey(setting, tuple(parts))


def java_versions() -> Mapping[str, str]:
    """Return the version of each pool of Java by its name, and of the driver."""
    pom = (JAVA_FOLDER / "pom.xml").read_text()
    versions = dict(re.findall(r"<artifactId>(.+)</artifactId>\s*<version>(.+)</version>", pom))
    names = ARTIFACTS | {"mysql-connector-j": "mysql-connector-j"}
    return {name: versions[artifact] for artifact, name in names.items()}
