"""The pools of files -> what is wrong with each and with all together, and what differs from a recommendation."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import isnan
from pathlib import Path

from poolsize.answer.finding import Severity
from poolsize.answer.fleet import ServerLimit, Service, connections_of, in_deploy_of, service_pool
from poolsize.answer.fleet_plan import more_instances
from poolsize.pool_config.files.reading import PoolFile
from poolsize.pool_config.findings.of_deployments import AboveLimit, AboveServer, WorkloadsAboveLimit
from poolsize.pool_config.findings.of_pools import (
    Defaults,
    Elsewhere,
    Incomplete,
    NotANumber,
    NotFollowed,
    NotRead,
    Unlimited,
)
from poolsize.pool_config.findings.of_servers import ServerTooSmall
from poolsize.pool_config.findings.worded import Worded
from poolsize.pool_config.libraries.rules import known
from poolsize.pool_config.libraries.server import SERVER
from poolsize.pool_config.pool import Count, FilePool, Value
from poolsize.pool_config.settings import (
    DEFAULT_MAX_CONNECTIONS,
    DEFAULT_WAIT_TIMEOUT_SECONDS,
    PoolSettings,
    ServerFacts,
)
from poolsize.pool_config.stacks import STACKS, configuration
from poolsize.pool_config.stated import PoolFleet, Stated, Typed, pool_fleet


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
    findings: warnings for what causes errors, reasons for departures from the library's own advice.
    differences: from the recommended configuration; None without a recommendation for this library.
    """

    pool: FilePool
    most_connections: int | None
    findings: tuple[Worded, ...]
    differences: tuple[Difference, ...] | None


@dataclass(frozen=True)
class CheckedFile:
    """A file with its pools, checked. more: the number of further pools, which are not."""

    path: Path
    pools: tuple[CheckedPool, ...]
    more: int
    counts: tuple[Count, ...] = ()

    @property
    def has_warning(self) -> bool:
        """Whether a finding is more than a departure from advice."""
        return any(finding.severity is Severity.WARNING for pool in self.pools for finding in pool.findings)


@dataclass(frozen=True)
class AllPools:
    """The pools of all files together, in all processes of a fleet.

    of_process: the pools that a process has, each with its file; of profiles, the largest. unknown, unlimited: the
    numbers of pools that are left out, because the files do not contain how many connections they may open, or because
    they have no limit. connections, connections_in_deploy: of all. processes: their usual number; None where pools are
    of workloads with different numbers. stated, unclear: as in PoolFleet, of all pools. usable: connections that the
    server's limit leaves. is_default: whether MySQL's default limit decides this. finding: why that is too little, or
    None.
    """

    of_process: tuple[tuple[CheckedFile, CheckedPool], ...]
    unknown: int
    unlimited: int
    connections: int
    connections_in_deploy: int
    processes: int | None
    stated: tuple[Stated, ...]
    unclear: tuple[Stated, ...]
    usable: int
    is_default: bool
    finding: AboveLimit | WorkloadsAboveLimit | None


def checked_file(file: PoolFile, server: ServerFacts, settings: PoolSettings | None) -> CheckedFile:
    """Return a file with its pools, checked as in check_pools."""
    return CheckedFile(file.path, check_pools(file.pools, server, settings), file.more, file.counts)


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
        numbers = [pool.number(name) for name in pool.library.sizes]
        is_limited = numbers and numbers[0] > 0 and all(number >= 0 for number in numbers)
        floors = [known(pool.number(name)) or 0 for name in pool.library.floors]
        most = int(max(sum(numbers), *floors, 0)) if is_limited else None
        findings = tuple(_findings(pool, most, server or ServerFacts(), settings))
        checked.append(CheckedPool(pool, most, findings, _differences(pool, settings)))
    return tuple(checked)


def _findings(pool: FilePool, most: int | None, server: ServerFacts, settings: PoolSettings | None) -> Iterator[Worded]:
    yield from pool.library.find(pool, server.wait_timeout_seconds or DEFAULT_WAIT_TIMEOUT_SECONDS)
    limit = server.max_connections or DEFAULT_MAX_CONNECTIONS
    if most is not None and most >= limit:
        yield AboveServer(most, limit, server.max_connections is None)
    if pool.library is SERVER and settings and pool.number("max_connections") < settings.needed_connections:
        yield ServerTooSmall(int(pool.number("max_connections")), settings.needed_connections)
    if pool.library.sizes and not any(pool.has(name) for name in pool.library.sizes):
        if not pool.complete:
            yield Incomplete()
        elif most is not None:
            yield Defaults(pool.library.title, most)
    yield from _not_covered(pool)
    for setting, in_file in pool.settings.items():
        default = pool.library.defaults[setting]
        if isinstance(in_file.value, str) and isinstance(default, int | float) and not isinstance(default, bool):
            yield NotANumber(in_file.name, in_file.text)


def _not_covered(pool: FilePool) -> Iterator[Worded]:
    for each in pool.unread:
        yield NotRead(pool.library.title, each.name)
    for each in pool.not_followed:
        yield NotFollowed(each.name, each.text)
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
        if in_file is None and not pool.has(setting) and setting in pool.library.same_as:
            in_file = pool.value(pool.library.same_as[setting])
        if in_file != recommended.value:
            differences.append(Difference(setting, in_file, not pool.has(setting), recommended.value, recommended.unit))
    return tuple(differences)


def pools_of_process(files: Sequence[CheckedFile]) -> tuple[tuple[CheckedFile, CheckedPool], ...]:
    """Return the pools that a process has, each with its file; without those of unknown size or without a limit.

    A profile of Spring Boot has its own value of a pool, not a further pool: in a document of a file, or in a file of
    its own, such as application-prod.yml. So has an environment of Rails or of a workload, or a file such as
    .env.production. Each server of a proxy has a limit of its own. The largest counts. The pool of a workload or a
    ConfigMap replaces that of the only application's file.
    """
    largest: dict[tuple[str | Path, str, str], tuple[CheckedFile, CheckedPool]] = {}
    for file in files:
        for checked in file.pools:
            place = checked.pool.place.partition(", profile ")[0].partition(", server ")[0]
            key = (checked.pool.workload or _without_profile(file.path), checked.pool.library.title, place)
            if checked.most_connections and (key not in largest or checked.most_connections > _most(largest[key])):
                largest[key] = (file, checked)
    deployed = {(title, place.partition(", ")[0]) for _, title, place in largest if ", " in place}
    files_with = Counter((title, place) for _, title, place in largest)
    is_replaced = {key for key, number in files_with.items() if key in deployed and number == 1}
    return tuple(each for (_, title, place), each in largest.items() if (title, place) not in is_replaced)


def _without_profile(path: Path) -> Path:
    """Return a path, the same for the files of all profiles or environments of an application."""
    for first in (".env", "appsettings."):
        if path.name.startswith(first):
            return path.with_name(first)
    name = path.stem.partition("-")[0]
    of_spring = name in {"application", "bootstrap"} and path.suffix in {".yml", ".yaml", ".properties"}
    return path.with_name(name) if of_spring else path


def count_pools(
    files: Sequence[CheckedFile], typed: Typed, limit: ServerLimit, in_files: int | None = None
) -> AllPools:
    """Return the pools of all files in all processes, compared with the server's limit.

    in_files: max_connections of a server among the files, which holds where the limit has none. Without any, MySQL's
    default holds. Raises BadInput where the reserve uses up the default.
    """
    of_process = pools_of_process(files)
    left_out = [each for file in files for each in file.pools if each.pool.library.sizes and not each.most_connections]
    unlimited = sum(any(isinstance(finding, Unlimited) for finding in each.findings) for each in left_out)
    fleets = [_fleet(checked.pool, file.path, files, typed) for file, checked in of_process]
    totals = [
        service_pool(fleet.service, _most(each), replace(limit, surge=fleet.surge))
        for fleet, each in zip(fleets, of_process, strict=True)
    ]
    usable, is_default = _usable(limit, in_files)
    same = {(fleet.service, fleet.surge): fleet.service.pools for fleet in fleets} or {(typed.service, 0.0): 1}
    usual, in_deploy = connections_of(totals), in_deploy_of(totals)
    together = AllPools(
        of_process, len(left_out) - unlimited, unlimited, usual, in_deploy,
        next(iter(same.values())) if len(same) == 1 else None,
        _each_once(each for fleet in fleets for each in fleet.stated),
        _each_once(each for fleet in fleets for each in fleet.unclear), usable, is_default, None,
    )  # fmt: skip
    service, surge = next(iter(same))
    return replace(together, finding=_above_limit(together, service, replace(limit, surge=surge)))


def _fleet(pool: FilePool, path: Path, files: Sequence[CheckedFile], typed: Typed) -> PoolFleet:
    """Return the service of a pool; of a proxy, which all processes share, a single process."""
    stack = STACKS.get(pool.library.stack)
    is_shared = stack is not None and stack.is_proxy
    return PoolFleet(Service("proxy", 1), 0.0) if is_shared else pool_fleet(pool, path, files, typed)


def _each_once(stated: Iterable[Stated]) -> tuple[Stated, ...]:
    return tuple(dict.fromkeys(stated))


def _above_limit(together: AllPools, service: Service, limit: ServerLimit) -> AboveLimit | WorkloadsAboveLimit | None:
    """Return why the pools exceed the server's limit; None where they do not, or the finding of a pool says so."""
    of_process, usable, is_default = together.of_process, together.usable, together.is_default
    if together.connections_in_deploy <= usable:
        return None
    if together.processes is None:
        return WorkloadsAboveLimit(together.connections, together.connections_in_deploy, usable, is_default)
    processes = service.pools_in_deploy(limit.surge)
    alone = of_process[0][1].findings if processes == len(of_process) == 1 and usable else ()
    if any(isinstance(each, AboveServer) for each in alone):
        return None
    return AboveLimit(
        sum(map(_most, of_process)), len(of_process), service.pools, processes, usable, is_default,
        more_instances([service], limit),
    )  # fmt: skip


def _usable(limit: ServerLimit, in_files: int | None) -> tuple[int, bool]:
    """Return the connections that a limit leaves to the pools, and whether MySQL's default decides this."""
    of_user = limit.max_user_connections
    if limit.max_connections is None and in_files is not None:
        of_server = max(0, in_files - limit.reserve)
        return of_server if of_user is None else min(of_server, of_user), False
    usable = replace(limit, max_connections=limit.max_connections or DEFAULT_MAX_CONNECTIONS).usable
    assert usable is not None
    return usable, limit.max_connections is None and usable != of_user


def _most(counted: tuple[CheckedFile, CheckedPool]) -> int:
    return counted[1].most_connections or 0
