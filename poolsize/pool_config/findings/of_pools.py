"""The findings that pools of several languages can have: on their settings, and on values that a file lacks."""

from math import isnan

from poolsize.answer.finding import Caution, Reason
from poolsize.pool_config.pool import MayBeDefault, OfSetting, Worded
from poolsize.pool_config.settings import SURVEY
from poolsize.units import count

DOCUMENTED = "Source: the library's documentation, {0.setting}."


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


class OfCpus(OfSetting, Reason, code="pool_of_cpus"):
    """A pool whose size the file does not set, and whose default depends on the CPUs. formula: the default, in words.

    setting: that would set it. source: of the default.
    """

    library: str
    formula: str
    source: str
    words = (
        "The file sets no {0.setting}. The default of {0.library} depends on the machine: {0.formula}. This pool is "
        "not counted. Source: {0.source}."
    )


class NotRead(OfSetting, Caution, code="pool_not_read"):
    """The library does not read a setting of this name. nearest: the name that may be meant; "" for none."""

    library: str
    nearest: str
    words = "{0.library} ignores {0.setting}: the library has another name for this setting, {0.otherwise}."
    otherwise = property(lambda self: f"perhaps {self.nearest}" if self.nearest else "or no such setting")


class NotFollowed(OfSetting, Reason, code="pool_not_followed"):
    """The file alone does not contain the value of a setting. text: as the file writes it."""

    text: str
    words = "{0.setting} is not checked: the file does not contain its value ({0.text})."


class Elsewhere(NotFollowed, code="pool_elsewhere"):
    """A statement names a place with further settings, such as an included file."""

    words = "{0.setting} {0.text} names further settings outside this file. They are not checked."


class OfVariables(OfSetting, Reason):
    """A finding on values that depend on environment variables. values: of the settings, in words."""

    variables: tuple[str, ...]
    values: tuple[str, ...]
    shown = property(lambda self: " and ".join(self.values))
    names = property(lambda self: " and ".join(self.variables))


class FromVariable(OfVariables, code="pool_from_variable"):
    """Another file sets the variable. text: to what. place: where. others: the smaller values of further places."""

    text: str
    place: str
    others: tuple[str, ...]
    words = "{0.shown}{0.why}"

    @property
    def why(self) -> str:
        """The place, and that of smaller values, in words."""
        if not self.others:
            return f": {self.place}, sets {self.names} to {self.text}."
        others = " and ".join(self.others)
        return f" if {self.names} is {self.text}, as in {self.place}. Other places set less: {others}."


class OnlyDefaults(OfVariables, code="pool_only_defaults"):
    """No file of the check sets the variables, so that the values are those without them."""

    words = (
        "{0.shown} only by default: no file of this check sets {0.names} to a number. If another file does, check "
        "both together."
    )


class Incomplete(Worded, Reason, code="pool_incomplete"):
    """Further settings of a pool come from elsewhere."""

    words = "Further settings of this pool come from outside this file. They are not checked."


class Defaults(Worded, Reason, code="pool_defaults"):
    """A pool whose size the file does not set. connections: that the library opens by default."""

    library: str
    connections: int
    words = "The file sets no pool size. The default of {0.library} is {0.size}."
    size = property(lambda self: count(self.connections, "connection"))


class BelowTraffic(Worded, Caution, code="pool_below_traffic"):
    """The traffic keeps as many connections of a process in use as its pool has, or more.

    connections: of the pool. in_use: on average, in a process. needed: the pool size for it.
    """

    gravity = 1
    connections: int
    in_use: float
    needed: int
    words = (
        "The traffic keeps {0.in_use:.1f} connections of a process in use on average, and this pool has "
        "{0.connections:,}: more and more requests wait. The traffic needs {0.needed:,}."
    )


class BelowNeed(Worded, Reason, code="pool_below_need"):
    """A pool is smaller than the traffic needs. connections: of the pool. needed: by the traffic."""

    connections: int
    needed: int
    words = "This pool has {0.connections:,}. This traffic needs {0.needed:,} in each process."


class NotANumber(OfSetting, Caution, code="pool_no_number"):
    """A setting that takes a number has another text."""

    gravity = 2
    text: str
    words = "{0.setting} {0.text} is not a number: the library does not accept it."


class DatabaseUnknown(Worded, Reason, code="pool_database_unknown"):
    """A pool may be one of another database than MySQL."""

    words = "The file does not show whether the database is MySQL or MariaDB, so the check does not cover this pool."
