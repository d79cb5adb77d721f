"""The findings on pools of any library: on settings that are missing or unclear, the traffic, and the server's limit.

Those of a library, and of the rules that libraries share, stand in `libraries`.
"""

from poolsize.answer.finding import Caution, Reason
from poolsize.answer.fleet_plan import MoreInstances
from poolsize.pool_config.pool import OfSetting, Worded
from poolsize.pool_config.settings import DEFAULT_MAX_CONNECTIONS
from poolsize.present.text.sentences.fleet import in_deploy
from poolsize.units import count


class OfCpus(OfSetting, Reason, code="pool_of_cpus"):
    """A pool without a size in the file, whose default size is not known. formula: what the default depends on.

    setting: that would set the size. source: of the default.
    """

    library: str
    formula: str
    source: str
    words = (
        "The file sets no {0.setting}. The default of {0.library} depends on {0.formula}. This pool is not counted. "
        "Source: {0.source}."
    )


class NotRead(OfSetting, Caution, code="pool_not_read"):
    """The library does not read a setting of this name. nearest: the name that may be meant; "" for none."""

    library: str
    nearest: str
    words = "{0.library} ignores {0.setting}: the library has another name for this setting, {0.otherwise}."
    otherwise = property(lambda self: f"perhaps {self.nearest}" if self.nearest else "or no such setting")


class NotFollowed(OfSetting, Reason, code="pool_not_followed"):
    """The file alone does not contain the value of a setting. text: as the file writes it, and what it comes from."""

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


class OfParameters(OnlyDefaults, code="pool_of_parameters"):
    """The values are the defaults of parameters of a function."""

    words = "{0.shown} only by default: calls may give {0.names} another value, and are not followed."


class Incomplete(Worded, Reason, code="pool_incomplete"):
    """Further settings of a pool come from elsewhere."""

    words = "Further settings of this pool come from outside this file. They are not checked."


class Defaults(Worded, Reason, code="pool_defaults"):
    """A pool whose size the file does not set. connections: that the library opens by default."""

    library: str
    connections: int
    words = "The file sets no pool size. The default of {0.library} is {0.size}."
    size = property(lambda self: count(self.connections, "connection"))


class OfThreads(Worded, Reason, code="pool_of_threads"):
    """Django has a connection for each thread. threads: of a process. file, line: that state them."""

    threads: int
    file: str
    line: int
    words = (
        "Django has a connection for each thread, and {0.file}, line {0.line}, gives each process {0.size}. "
        "Source: Django's documentation, Connection management."
    )
    size = property(lambda self: count(self.threads, "thread"))


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


class AboveServer(Worded, Caution, code="pool_above_server"):
    """A pool may open as many connections as the server admits, or more. is_default: the limit is MySQL's default."""

    gravity = 1
    connections: int
    max_connections: int
    is_default: bool
    words = (
        "This pool alone may open {0.open}. {0.server} admits {0.max_connections:,} for all clients. "
        "Source: MySQL's manual, max_connections."
    )
    open = property(lambda self: count(self.connections, "connection"))
    server = property(lambda self: "A server with the default max_connections" if self.is_default else "The server")


class ServerTooSmall(Worded, Caution, code="server_too_small"):
    """The server's limit is too small for the recommended pools."""

    max_connections: int
    needed: int
    about = "max_connections"
    words = (
        "max_connections {0.max_connections:,} is too small: in a rolling deploy, the recommended pools and the "
        "reserve need {0.needed:,}."
    )


class _OfLimit:
    """Words for the server's limit and what it leaves, of findings with `usable` and `is_default`."""

    server = property(lambda self: server_limit(is_default=self.is_default))
    left = property(lambda self: count(self.usable, "connection"))


class AboveLimit(_OfLimit, Worded, Caution, code="pools_above_limit"):
    """All pools of the files, in all processes, may open more connections than the server's limit leaves to them.

    of_process: connections that the pools of a process may open, and the number of these pools. usual, most: number of
    processes usually and in a rolling deploy, with the instances that it adds. usable: connections that the limit
    leaves. is_default: the limit is MySQL's default.
    """

    of_process: int
    pools: int
    usual: int
    most: int
    usable: int
    is_default: bool
    instances: MoreInstances
    words = "{0.together} {0.server} leaves {0.left} for them. {0.fits}"

    @property
    def together(self) -> str:
        """The connections in words, in a deploy and usually."""
        each = count(self.of_process, "connection")
        if self.most == 1:
            return f"{'The pool' if self.pools == 1 else 'All pools together'} may open {each}."
        subject = "the pools of all processes together" if self.pools == 1 else "all pools together"
        opened = count(self.of_process * self.most, "connection")
        usual = count(self.usual, "process", "processes")
        usually = f" Usually they may open {self.of_process * self.usual:,}, in {usual}."
        return (
            f"{in_deploy(self.instances)}, {subject} may open {opened}: {self.of_process:,} in each of {self.most:,} "
            f"processes.{usually if self.usual < self.most else ''}"
        )

    @property
    def fits(self) -> str:
        """The largest pool that fits, in words."""
        largest = self.usable // self.most
        if not self.usable:
            return "No pool fits: the reserve (--reserve) uses up the limit."
        if largest < self.pools:
            return f"Not even 1 connection in each pool fits: there are {self.pools * self.most:,} pools."
        subject = "The largest pool that fits has" if self.pools == 1 else "The pools of each process may together have"
        return f"{subject} {count(largest, 'connection')}."


class WorkloadsAboveLimit(_OfLimit, Worded, Caution, code="workloads_above_limit"):
    """The pools of workloads with different numbers of instances may open more connections than the limit leaves.

    connections, in_deploy: of all pools, usually and in a rolling deploy. usable, is_default: as in AboveLimit.
    """

    connections: int
    in_deploy: int
    usable: int
    is_default: bool
    words = "All pools together may open {0.most}. {0.server} leaves {0.left} for them."

    @property
    def most(self) -> str:
        """The connections in words, usually and in a deploy."""
        most = f", and {self.in_deploy:,} in a rolling deploy" if self.in_deploy > self.connections else ""
        return count(self.connections, "connection") + most


def server_limit(*, is_default: bool) -> str:
    """Return the server's limit in words, as the subject of a sentence. is_default: whether it is MySQL's default."""
    return f"MySQL's default limit, {DEFAULT_MAX_CONNECTIONS}, less --reserve," if is_default else "The server's limit"
