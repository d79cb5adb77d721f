"""The pools of Go: their settings, defaults and limits, and what is wrong with them."""

import re
from collections.abc import Iterator
from dataclasses import replace

from poolsize.answer.finding import Caution, Reason
from poolsize.pool_config.libraries.rules import Unlimited, closes_idle, no_limit
from poolsize.pool_config.pool import FilePool, Library, OfSetting, Worded

SHORTEST_SECONDS = 1e-3
"""A shorter duration in Go is a number whose unit was forgotten, if its text has no unit of SHORT_UNITS."""
SHORT_UNITS = re.compile(r"\btime\.(?:Micro|Nano)second\b")
NO_UNIT = re.compile(r"time\.Duration\((?P<number>[\w.]{1,100})\)")


class GoLifetime(Worded, Caution, code="go_lifetime"):
    """Go's connections live longer than the driver's authors advise, in seconds. value: None for ever."""

    value: float | None
    most: int
    about = "SetConnMaxLifetime"
    words = (
        "{0.kept}. The driver's authors advise less than {0.minutes} min: the server or the network may end an older "
        "connection, and the next request then gets an error. Source: the README of go-sql-driver/mysql, Important "
        "settings."
    )
    minutes = property(lambda self: self.most // 60)

    @property
    def kept(self) -> str:
        """The lifetime in words."""
        longest = "Connections have no longest lifetime"
        return longest if self.value is None else f"SetConnMaxLifetime is {self.value:,.0f} s"


class OfEachPool(Worded, Reason, code="go_of_each_pool"):
    """A call sets the limits of several pools, whose number the file may not show. pools: in words."""

    pools: str
    source: str
    words = "The limits hold for each of {0.pools}. This check counts one pool. Source: {0.source}."


class OnlyPings(Worded, Reason, code="go_only_pings"):
    """A function opens a pool, pings the server, and closes the pool."""

    words = (
        "The function that opens this pool only pings the server and closes the pool: each call of the function has 1 "
        "connection. The file does not show how many calls run at once. The settings of the pool make no difference."
    )


class WithoutUnit(OfSetting):
    """A duration in Go has no unit, so Go reads a number as nanoseconds."""

    advice = (
        "the pool closes {0.closed}. A number without a unit is in nanoseconds: write the unit, as in "
        "180 * time.Second. Source: the documentation of Go's package time, Duration."
    )

    @property
    def closed(self) -> str:
        """What the pool closes, and when, in words."""
        idle = "all idle connections once a second"  # the shortest interval of database/sql's connectionCleaner
        return idle if self.setting == "SetConnMaxIdleTime" else "each connection after a single use"


class GoNanoseconds(WithoutUnit, Caution, code="go_nanoseconds"):
    """A duration without a unit is short. nanoseconds: the number."""

    nanoseconds: int
    words = "{0.setting} is {0.nanoseconds:,} ns: " + WithoutUnit.advice


class GoNoUnit(WithoutUnit, Reason, code="go_no_unit"):
    """A duration is a number that the file does not contain, without a unit. number: its name in the file."""

    number: str
    words = "{0.setting}: if {0.number} is a plain number such as 180, " + WithoutUnit.advice


def _go(pool: FilePool, _: int) -> Iterator[Worded]:
    for setting in ("SetConnMaxLifetime", "SetConnMaxIdleTime"):
        seconds = pool.number(setting)
        if pool.is_unknown(setting) and (match := NO_UNIT.fullmatch(pool.settings[setting].text)):
            yield GoNoUnit(setting, match["number"])
        if 0 < seconds < SHORTEST_SECONDS and not SHORT_UNITS.search(pool.settings[setting].text):
            yield GoNanoseconds(setting, round(seconds * 1e9))
    yield from no_limit(pool, "SetMaxOpenConns", Unlimited)
    yield from closes_idle(pool, "SetMaxIdleConns", "SetMaxOpenConns")
    lifetime, most = pool.number("SetConnMaxLifetime"), pool.library.largest["SetConnMaxLifetime"]
    if lifetime <= 0 or lifetime > most:
        yield GoLifetime(lifetime if lifetime > 0 else None, most)


GO = Library(
    "Go's database/sql",
    {"SetMaxOpenConns": 0, "SetMaxIdleConns": 2, "SetConnMaxLifetime": 0, "SetConnMaxIdleTime": 0, "WaitLimit": None},
    stack="go",
    find=_go,
    sizes=("SetMaxOpenConns",),
    largest={"SetConnMaxLifetime": 300},
    constants=frozenset({"WaitLimit"}),
)
GO_GROUP = replace(
    GO,
    title="Go's database/sql in each engine of xorm's group",
    notes=(OfEachPool("the master and the slaves of the group", "xorm's documentation, EngineGroup"),),
)
GO_RESOLVER = replace(
    GO,
    title="Go's database/sql in each pool of dbresolver",
    notes=(
        OfEachPool(
            "the resolver's sources (or the pool of gorm.Open(), if it has none) and of its replicas",
            "GORM's documentation, DBResolver",
        ),
    ),
)
GO_PING = Library("Go's database/sql for a ping", GO.defaults, notes=(OnlyPings(),))
GO_ZERO = Library(
    "go-zero's sqlx",
    {"maxOpenConns": 64, "maxIdleConns": 64, "maxLifetime": 60},
    sizes=("maxOpenConns",),
)
"""Constants of go-zero, core/stores/sqlx/sqlmanager.go: no option changes them."""
