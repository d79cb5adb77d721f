"""The pools of files -> what is wrong with each, and what differs from a recommendation."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isnan
from pathlib import Path

from poolsize.answer.finding import Severity
from poolsize.pool_config.files.reading import PoolFile, SetVariable
from poolsize.pool_config.files.values import at_least_1
from poolsize.pool_config.findings import (
    AboveServer,
    BelowNeed,
    BelowTraffic,
    DatabaseUnknown,
    Defaults,
    Elsewhere,
    FromVariable,
    Incomplete,
    NotANumber,
    NotFollowed,
    NotRead,
    OfCpus,
    OfParameters,
    OfThreads,
    OnlyDefaults,
    ServerTooSmall,
)
from poolsize.pool_config.libraries.python import DJANGO
from poolsize.pool_config.libraries.rules import known, wrong_units
from poolsize.pool_config.libraries.server import SERVER
from poolsize.pool_config.pool import Count, FilePool, FileSetting, Value, Worded
from poolsize.pool_config.settings import (
    DEFAULT_MAX_CONNECTIONS,
    DEFAULT_WAIT_TIMEOUT_SECONDS,
    PoolSettings,
    ServerFacts,
)
from poolsize.pool_config.stacks import STACKS, configuration


@dataclass(frozen=True)
class Difference:
    """A setting whose value differs from the recommended value.

    name: the library's. in_file: the file's value; where the file has none (is_default), the library's default.
    """

    name: str
    in_file: Value
    is_default: bool
    recommended: Value
    unit: str | None


@dataclass(frozen=True)
class CheckedPool:
    """A pool of a file, checked.

    most_connections: that it may open; None for no limit, for an unknown number, and for the server.
    findings: warnings for what causes errors, reasons for departures from the library's own advice; the gravest first.
    differences: from the recommended configuration; None without a recommendation for this library.
    """

    pool: FilePool
    most_connections: int | None
    findings: tuple[Worded, ...]
    differences: tuple[Difference, ...] | None


@dataclass(frozen=True)
class CheckedFile:
    """A file with its pools, checked. more: the number of further pools, which are not. environment: as in PoolFile."""

    path: Path
    pools: tuple[CheckedPool, ...]
    more: int
    counts: tuple[Count, ...] = ()
    environment: Mapping[str, Sequence[SetVariable]] = field(default_factory=dict)

    @property
    def has_warning(self) -> bool:
        """Whether a finding is more than a departure from advice."""
        return any(finding.severity is Severity.WARNING for pool in self.pools for finding in pool.findings)


def checked_file(file: PoolFile, server: ServerFacts, settings: PoolSettings | None) -> CheckedFile:
    """Return a file with its pools, checked as in check_pools."""
    pools = tuple(
        replace(each, findings=(*each.findings, *_of_variables(each.pool, file.environment)))
        for each in check_pools(file.pools, server, settings)
    )
    return CheckedFile(file.path, pools, file.more, file.counts, file.environment)


def with_threads(files: Sequence[CheckedFile]) -> list[CheckedFile]:
    """Return the files, the pools of Django with the threads that another file states.

    Not under ASGI, whose requests are no threads. Several files with Django may be of several environments.
    """
    stated = [(file.path.name, each.setting) for file in files for each in file.counts if each.kind == "threads"]
    of_django = [file for file in files if any(each.pool.library is DJANGO for each in file.pools)]
    number = at_least_1(stated[0][1].value) if len(stated) == len(of_django) == 1 else None
    if number is None:
        return list(files)
    finding = OfThreads(number, stated[0][0], stated[0][1].line)
    pools = tuple(
        replace(each, most_connections=number, findings=(*each.findings, finding))
        if each.pool.library is DJANGO and not each.pool.has("ASGI_APPLICATION")
        else each
        for each in of_django[0].pools
    )
    return [replace(file, pools=pools) if file is of_django[0] else file for file in files]


def _of_variables(pool: FilePool, environment: Mapping[str, Sequence[SetVariable]]) -> Iterator[Worded]:
    """Yield where the variables of a pool are set, and which settings have only defaults."""
    known = {name: each for name, each in pool.settings.items() if each.value is not None}
    for variable in sorted({variable for each in known.values() for variable in each.variables} & environment.keys()):
        first, *others = environment[variable]
        smaller = [each for each in others if each.number < first.number]
        yield FromVariable(
            *_values({name: each for name, each in known.items() if variable in each.variables}, (variable,)),
            first.text, first.place, tuple(f"{each.text} in {each.place}" for each in smaller),
        )  # fmt: skip
    for finding, is_parameter in ((OnlyDefaults, False), (OfParameters, True)):
        defaults = {
            name: names
            for name, each in known.items()
            if (names := [variable for variable in each.variables if variable.endswith(")") == is_parameter])
            and not environment.keys() & each.variables
        }
        if defaults:
            variables = tuple(dict.fromkeys(variable for names in defaults.values() for variable in names))
            yield finding(*_values({name: known[name] for name in defaults}, variables))


def _values(
    settings: Mapping[str, FileSetting], variables: tuple[str, ...]
) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Return the first setting, the variables, and the values of settings in words."""
    values = tuple(f"{name} is {_in_words(each.value)}" for name, each in settings.items())
    return next(iter(settings)), variables, values


def _in_words(value: Value) -> str:
    """Return a value in words; of a duration in Go below a millisecond, the nanoseconds."""
    if isinstance(value, float) and 0 < value < 1e-3:
        return f"{value * 1e9:,.0f} ns"
    return str(value).removesuffix(".0")


def server_in(files: Sequence[PoolFile]) -> ServerFacts:
    """Return the smallest max_connections and wait_timeout of the servers that the files configure."""
    return ServerFacts(_least(files, "max_connections"), _least(files, "wait_timeout"))


def _least(files: Sequence[PoolFile], name: str) -> int | None:
    servers = [pool for file in files for pool in file.pools if pool.library is SERVER and pool.has(name)]
    numbers = [pool.number(name) for pool in servers]
    return min((max(1, int(each)) for each in numbers if not isnan(each)), default=None)  # a server takes 1 for less


def check_pools(
    pools: Sequence[FilePool], server: ServerFacts | None = None, settings: PoolSettings | None = None
) -> tuple[CheckedPool, ...]:
    """Return each pool with its findings.

    server: that the pools connect to; None for the defaults. settings: the recommended ones, or None.
    Raises BadInput for recommended settings that a library does not accept.
    """
    checked = []
    for pool in pools:
        numbers = [pool.number(name) for name in pool.library.sizes] if pool.database_known else []
        is_limited = numbers and numbers[0] > 0 and all(number >= 0 for number in numbers) and not pool.is_off
        floors = [known(pool.number(name)) or 0 for name in pool.library.floors]
        most = int(max(sum(numbers), *floors, 0)) if is_limited else None
        findings = sorted(_findings(pool, most, server or ServerFacts(), settings), key=lambda each: -each.gravity)
        checked.append(CheckedPool(pool, most, tuple(findings), _differences(pool, settings)))
    return tuple(checked)


def _findings(pool: FilePool, most: int | None, server: ServerFacts, settings: PoolSettings | None) -> Iterator[Worded]:
    if not pool.database_known:
        yield DatabaseUnknown()
        return
    yield from pool.library.notes
    yield from pool.library.find(pool, server.wait_timeout_seconds or DEFAULT_WAIT_TIMEOUT_SECONDS)
    yield from wrong_units(pool)
    limit = server.max_connections or DEFAULT_MAX_CONNECTIONS
    if most is not None and most >= limit:
        yield AboveServer(most, limit, server.max_connections is None)
    yield from _below_need(pool, most, settings)
    if pool.library is SERVER and settings and pool.number("max_connections") < settings.needed_connections:
        yield ServerTooSmall(int(pool.number("max_connections")), settings.needed_connections)
    if pool.library.sizes and not any(
        pool.has(pool.library.same_as.get(name, name)) or pool.has(name) for name in pool.library.sizes
    ):
        if not pool.complete:
            yield Incomplete()
        if pool.library.of_cpus:
            yield OfCpus(pool.library.sizes[0], pool.library.title, *pool.library.of_cpus)
        elif pool.complete and most is not None:
            yield Defaults(pool.library.title, most)
    yield from _not_covered(pool)
    for setting, in_file in pool.settings.items():
        default = pool.library.defaults[setting]
        if isinstance(in_file.value, str) and isinstance(default, int | float) and not isinstance(default, bool):
            yield NotANumber(in_file.name, in_file.text)


def _below_need(pool: FilePool, most: int | None, settings: PoolSettings | None) -> Iterator[Worded]:
    """Yield what a process's pool of at most this many connections lacks for the traffic; nothing without traffic."""
    answer, stack = settings.traffic if settings else None, STACKS.get(pool.library.stack)
    if answer is None or most is None or (stack and stack.shared_by_all):
        return
    in_use = answer.traffic.loaded(answer.load).of_process().load
    if most < answer.useful and most <= in_use:
        yield BelowTraffic(most, in_use, answer.useful)
    elif most < answer.useful:
        yield BelowNeed(most, answer.useful)


def _not_covered(pool: FilePool) -> Iterator[Worded]:
    for each in pool.unread:
        yield NotRead(each.name, pool.library.title, pool.library.nearest(each.name))
    for each in pool.not_followed:
        sources = " and ".join(name for name in each.variables if name not in each.text)
        yield NotFollowed(each.name, f"{each.text}, from {sources}" if sources else each.text)
    for each in pool.elsewhere:
        yield Elsewhere(each.name, each.text)


def _differences(pool: FilePool, settings: PoolSettings | None) -> tuple[Difference, ...] | None:
    stack = STACKS.get(pool.library.stack)
    if settings is None or stack is None or not stack.accepts(settings.size):
        return None
    if pool.has("ASGI_APPLICATION"):
        return None  # what is recommended for Django is for WSGI
    differences = []
    for recommended in configuration(stack, settings).settings:
        names = (recommended.name, recommended.name.rsplit(".", 1)[-1])
        setting = next(filter(None, (pool.library.setting(name, relaxed=True) for name in names)), None)
        if setting is None or (setting in pool.library.constants and not pool.has(setting)):
            continue
        in_file = pool.value(setting)
        if in_file != recommended.value:
            differences.append(Difference(setting, in_file, not pool.has(setting), recommended.value, recommended.unit))
    return tuple(differences)
