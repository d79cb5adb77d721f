"""What can be wrong with a setting of any pool: the rules that libraries share, and their findings."""

import re
from collections.abc import Iterator
from math import isnan

from poolsize.answer.finding import Caution, Reason
from poolsize.pool_config.pool import FilePool, MayBeDefault, OfSetting, Worded
from poolsize.pool_config.settings import SURVEY

DOCUMENTED = "Source: the library's documentation, {0.setting}."
WITHOUT_UNIT = re.compile(
    r"[\d_]{1,20}l?|(?!\S*(?:milli|second|minute|hour|duration|unit|ms\b))[a-z_$][\w.$]{0,100}", re.IGNORECASE
)
"""The text of a time: a number, such as 60L of Java, or a name."""
LONGEST_MISTAKEN_MS = 60
"""The longest time in ms that is taken to be seconds."""
DAY_SECONDS = 86_400
FEW = 2
"""So few idle connections are taken to be fewer than a pool has whose size is not known."""


class NoLimit(MayBeDefault):
    """A setting without a positive value, which sets no limit. value: NaN for None."""

    value: float
    shown = property(lambda self: "None" if isnan(self.value) else f"{self.value:.0f}")


class WaitsForEver(NoLimit, Caution, code="pool_waits"):
    """A setting sets no limit for waiting."""

    words = (
        "{0.setting} {0.shown}{0.default} sets no limit for waiting: while all connections are in use, a "
        f"request waits until a connection is given back. {DOCUMENTED}"
    )


class Unlimited(NoLimit, Caution, code="pool_unlimited"):
    """A setting sets no limit for the connections."""

    gravity = 1
    words = (
        "{0.setting} {0.shown}{0.default} sets no limit: the pool opens connections until the server refuses them. "
        f"{DOCUMENTED}"
    )


class FailsAtOnce(MayBeDefault, Reason, code="pool_fails_at_once"):
    """A request does not wait for a connection. value: as the file writes it."""

    value: str
    words = (
        "{0.setting} {0.value}{0.default} sets no wait: while all connections are in use, a request gets an error at "
        f"once. That is right where no more threads use the pool than it has connections. {DOCUMENTED}"
    )


class NoPoolSize(OfSetting, Caution, code="pool_no_size"):
    """A pool without a connection. result: what the library then does, in words."""

    gravity = 2
    value: float
    result: str
    words = "{0.setting} {0.value:,.0f} is no pool size: {0.result}. Give 1 or more."


class LeastAboveMost(OfSetting, Caution, code="pool_least_above_most"):
    """A setting whose value is above that of another."""

    gravity = 2
    least: int
    other: str
    most: int
    words = "{0.setting} {0.least:,} is {0.relation} {0.other} {0.most:,}: the library does not start with such a pool."
    relation = property(lambda self: "more than" if self.least > self.most else "not less than")


class WrongUnit(OfSetting, Caution, code="pool_wrong_unit"):
    """A time that only fits another unit. unit: the setting's; other: that is meant. meant: the time in `unit`."""

    value: float
    unit: str
    other: str
    meant: float
    words = (
        "{0.setting} {0.value:,.0f} is in {0.unit}. If {0.value:,.0f} {0.other} is meant, write {0.meant:.10g}. "
        f"{DOCUMENTED}"
    )


class OwnNames(Worded, Reason, code="pool_own_names"):
    """The project's own code binds the settings, so that the file does not show the library. condition: of the pool."""

    condition: str
    words = (
        "The project's own code reads these names. The values hold if {0.condition}. "
        "Defaults and the library's rules are not checked."
    )


class BorrowTested(MayBeDefault, Reason, code="pool_tests_on_borrow"):
    """Each borrowed connection is tested."""

    words = (
        "{0.setting}{0.default} tests each connection when a request takes it: 1 more round trip to the database. Test "
        f"idle connections in the background instead. Source: {SURVEY}."
    )


class ClosesIdle(MayBeDefault, Caution, code="pool_closes_idle"):
    """A pool keeps fewer idle connections than it opens."""

    kept: int
    words = (
        "The pool keeps at most {0.kept:,} idle connections ({0.setting}{0.default_at_end}) and closes the others. "
        "Under load, the pool then opens connections all the time. Set {0.setting} to the pool size. "
        f"{DOCUMENTED}"
    )


class OutlivesServer(MayBeDefault, Caution, code="pool_outlives_server"):
    """The server ends an idle connection before the pool does. value: lifetime in seconds; None for ever."""

    gravity = 1
    value: float | None
    wait_timeout_seconds: int
    words = (
        "The server ends an idle connection after {0.wait_timeout_seconds:,} s (wait_timeout). The pool keeps it "
        "{0.kept} ({0.setting}{0.default_at_end}) without a check, so the next request gets an error. Set a shorter "
        "lifetime. Source: MySQL's manual, wait_timeout."
    )

    kept = property(lambda self: kept_for(self.value))


def kept_for(seconds: float | None) -> str:
    """Return how long a connection is kept, in words. seconds: None or 0 for ever."""
    return f"for {seconds:,.0f} s" if seconds else "for ever"


def no_limit(pool: FilePool, setting: str, record: type[NoLimit]) -> Iterator[Worded]:
    """Find a setting without a positive value, which sets no limit."""
    if (value := pool.number(setting)) <= 0:
        yield record(setting, not pool.has(setting), value)


def refused_size(pool: FilePool, setting: str) -> Iterator[Worded]:
    """Find a size below 1, with which the library does not start."""
    if (size := pool.number(setting)) < 1:
        yield NoPoolSize(setting, size, f"{pool.library.title} does not start")


def least_above_most(pool: FilePool, most: str, *leasts: str, may_be_equal: bool = True) -> Iterator[Worded]:
    """Find the first setting above another, with which the library does not start, where the file has both numbers.

    may_be_equal: whether both may be equal. A limit below 1 is none.
    """
    high, mistaken = pool.literal(most), {each.about for each in wrong_units(pool)}
    for least in leasts:
        low = pool.literal(least)
        is_above = low > high > 0 or (low == high > 0 and not may_be_equal)
        if is_above and not mistaken & {least, most}:
            yield LeastAboveMost(least, int(low), most, int(high))
            return


def wrong_units(pool: FilePool) -> Iterator[Worded]:
    """Find numbers without a unit, in the file, that are no usual times in the setting's unit and are in another."""
    for setting, per_second in {**pool.library.waits, **pool.library.ages}.items():
        is_plain = pool.has(setting) and WITHOUT_UNIT.fullmatch(pool.settings[setting].text.strip("\"'"))
        if not (is_plain and isinstance(pool.value(setting), int)):
            continue
        value = pool.number(setting) / (1000 if setting in pool.library.seconds else 1)
        if per_second == 1000 and 0 < value <= LONGEST_MISTAKEN_MS:
            yield WrongUnit(setting, value, "ms", "s", value * 1000)
        elif per_second == 1 and _is_mistaken_ms(value, is_wait=setting in pool.library.waits):
            yield WrongUnit(setting, value, "s", "ms", value / 1000)


def _is_mistaken_ms(value: float, *, is_wait: bool) -> bool:
    """Return whether a number of seconds is more usual in ms: of a wait from 1,000 on, of an age above a day."""
    return (value >= 1_000 and value % 500 == 0) if is_wait else (value > DAY_SECONDS and value % 60_000 == 0)


def tested_on_borrow(pool: FilePool, setting: str) -> Iterator[Worded]:
    """Find that each borrowed connection is tested."""
    if pool.value(setting) is True:
        yield BorrowTested(setting, not pool.has(setting))


def closes_idle(pool: FilePool, idle: str, most: str) -> Iterator[Worded]:
    """Find a pool that keeps fewer idle connections than it opens. idle, most: the settings of these numbers.

    A pool of unknown size is taken to have more connections than FEW.
    """
    kept, opened = pool.number(idle), pool.number(most)
    has_more = opened <= 0 or (kept <= FEW and pool.is_unknown(most))
    if kept < opened > 0 or (kept >= 0 and has_more and not pool.has(idle)):
        yield ClosesIdle(idle, not pool.has(idle), max(0, int(kept)))


def outlives_server(
    pool: FilePool, wait_timeout: int, lifetime: str, per_second: int = 1, *, is_checked: bool
) -> Iterator[Worded]:
    """Find a connection that neither ends nor is checked before the server ends it.

    lifetime: setting after which a connection ends. per_second: its units in a second.
    """
    limit = pool.number(lifetime)
    is_mistaken = lifetime in {each.about for each in wrong_units(pool)}
    if not (is_checked or is_mistaken) and (limit <= 0 or limit >= wait_timeout * per_second):
        seconds = limit / per_second if limit > 0 else None
        yield OutlivesServer(lifetime, not pool.has(lifetime), seconds, wait_timeout)


def in_time(pool: FilePool, wait_timeout: int, setting: str, per_second: int) -> bool:
    """Return whether an interval is shorter than the server's wait_timeout, or may be: the file does not show it."""
    return 0 < pool.number(setting) < wait_timeout * per_second or pool.is_unknown(setting)


def is_on(pool: FilePool, setting: str) -> bool:
    """Return whether a setting is true, or may be because the file does not contain its value."""
    return pool.value(setting) is True or pool.is_unknown(setting)


def is_tested(pool: FilePool, wait_timeout: int, *, ends_idle: bool) -> bool:
    """Return whether Druid, DBCP 2 or Tomcat test or end a connection that was idle, or test each that is borrowed.

    ends_idle: whether the pool may end every connection that was idle.
    """
    runs = in_time(pool, wait_timeout, "timeBetweenEvictionRunsMillis", 1000)
    ends = ends_idle and in_time(pool, wait_timeout, "minEvictableIdleTimeMillis", 1000)
    return is_on(pool, "testOnBorrow") or (runs and (ends or is_on(pool, "testWhileIdle")))


def known(number: float) -> float | None:
    """Return a number; None for NaN."""
    return None if isnan(number) else number
