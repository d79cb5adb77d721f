"""The checked pools of files -> all pools in all processes that the files state, beside the server's limit."""

import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from poolsize.answer.fleet import ServerLimit, Service, connections_of, in_deploy_of, service_pool
from poolsize.answer.fleet_plan import more_instances
from poolsize.command_line.fleet_options import FleetOptions
from poolsize.command_line.options import is_typed
from poolsize.pool_config.check import CheckedFile, CheckedPool
from poolsize.pool_config.files.containers import IN_VALUES, SWITCH
from poolsize.pool_config.files.documents import OF_FRAMEWORKS
from poolsize.pool_config.files.javascript_source import WITHOUT
from poolsize.pool_config.files.reading import PoolFile, copied_name, folders_above
from poolsize.pool_config.files.values import NAME
from poolsize.pool_config.findings import AboveLimit, AboveServer, WorkloadsAboveLimit
from poolsize.pool_config.libraries.node import TYPEORM
from poolsize.pool_config.libraries.other_languages import OWN, OWN_GO
from poolsize.pool_config.libraries.rules import Unlimited
from poolsize.pool_config.libraries.server import SERVER, STATUS
from poolsize.pool_config.pool import Count, FilePool, FileSetting, normalized
from poolsize.pool_config.settings import DEFAULT_MAX_CONNECTIONS
from poolsize.pool_config.stacks import STACKS

PROXY = "proxy"
CONFIG_FILE = re.compile(
    r"(?:default|dev|development|test|testing|local|ci|qa|uat|stage|staging|preprod|prod|production)(?:-\w{1,20})?"
    r"\.(?:[cm]?[jt]s|json|ya?ml|toml)"
)
"""In a folder `config`: the files of environments. node-config reads one of them over default.js."""
CONFIG = "config of an environment"
"""The name that all of these files share in the path of their program."""
FOR_COMMAND = re.compile(
    r"(?:data[-_]?source|orm[-_.]?config|typeorm(?:[-_.]config|[-_.]cli)?|cli|migrations?)(?:[-_.]config)?",
    re.IGNORECASE,
)
"""The name of a file with the data source for TypeORM's command, which does not read NestJS's module."""
NEST = re.compile(r"\.module\.[cm]?[jt]s$")
"""At the end of the name of a file with a module of NestJS."""
DATA_SOURCE = "DataSource,"
"""The beginning of the place of a `new DataSource` of TypeORM."""
LINE = re.compile(r", line \d+")
COMMANDS = {".sh", ".service"}
"""Endings of files with commands, whose options replace the settings of the program's own files."""
OF_BEANS = {".java", ".kt"}
"""Endings of files whose pools within a bean have the size that another file has at their place."""
OF_VALUES = re.compile(r"\{\{-?\s{0,9}\.Values\.(?P<keys>\w[\w.]{0,100})(?:\s{0,9}\|[^{}]{0,100})?\s{0,9}-?\}\}")
"""A template of Helm that is a value of the chart."""
SURGE = 0.25
"""For a maxSurge that is neither a share nor a number: the default of a Kubernetes Deployment."""


@dataclass(frozen=True)
class Stated:
    """A number that a file states."""

    path: Path
    count: Count

    @property
    def owner(self) -> str | Path:
        """The workload, or the file where the statement names none."""
        return self.count.workload or self.path

    @property
    def number(self) -> int | None:
        """The number; None where the file alone does not contain it."""
        value = self.count.setting.value
        return value if isinstance(value, int) else None


@dataclass(frozen=True)
class Typed:
    """The service of the options, and which numbers were typed; these hold, whatever the files state.

    surge: share of further instances in a rolling deploy. surge_holds: whether it does where a file states instances.
    """

    service: Service
    surge: float
    instances: bool = False
    processes: bool = False
    surge_holds: bool = False


@dataclass(frozen=True)
class PoolFleet:
    """The service of a pool, and the share of further instances in a rolling deploy.

    stated: the statements of the files that hold. unclear: those that contradict each other, or are not followed.
    """

    service: Service
    surge: float
    stated: tuple[Stated, ...] = ()
    unclear: tuple[Stated, ...] = ()


def statements(files: Sequence[PoolFile | CheckedFile]) -> list[Stated]:
    """Return the numbers that some files state; a chart's templates have those of its values."""
    stated = [Stated(file.path, count) for file in files for count in file.counts]
    return [number for each in stated if each.count.kind != SWITCH and (number := _of_chart(each, stated))]


def _of_chart(stated: Stated, every: Sequence[Stated]) -> Stated | None:
    """Return a number; of a template that names a value of its chart, with the largest number of this value.

    None for that of an autoscaler which the values switch off.
    """
    match = OF_VALUES.fullmatch(stated.count.setting.text)
    values = [
        each
        for each in every
        if match and each.path.name.startswith("values") and stated.path.is_relative_to(each.path.parent / "templates")
    ]
    if match is None or not values:
        return stated
    *parts, name = match["keys"].split(".")
    owner = ".".join(each for each in parts if each not in IN_VALUES)
    named = [each.number or 0 for each in values if (each.count.workload, each.count.setting.name) == (owner, name)]
    if not any(named):
        switches = [each.count for each in values if each.count.kind == SWITCH and each.count.workload == owner]
        enabled = {each.setting.text.lower() for each in switches if each.setting.name in parts}
        return None if enabled == {"false"} else stated
    setting = replace(stated.count.setting, text=str(max(named)), value=max(named))
    return replace(stated, count=replace(stated.count, setting=setting))


def pool_fleet(pool: FilePool, path: Path, every: Sequence[Stated], typed: Typed) -> PoolFleet:
    """Return the service of a pool. path: its file. every: the numbers that all files state."""
    numbers: dict[str, int] = {}
    stated: list[Stated] = []
    unclear: list[Stated] = []
    for kind in ("instances", "max_instances", "processes"):
        if typed.processes if kind == "processes" else typed.instances:
            continue
        holding = _holding(pool, path, [each for each in every if each.count.kind == kind])
        known = {each.number for each in holding}
        if len(known) == 1 and (number := holding[0].number) is not None:
            numbers[kind] = number
            stated.append(holding[0])
        else:
            unclear += holding
    if "max_instances" in numbers:
        numbers["max_instances"] = max(numbers["max_instances"], numbers.get("instances", typed.service.instances))
    service = replace(typed.service, **numbers)  # type: ignore[arg-type]  # these three are numbers
    surge = typed.surge if typed.surge_holds else _surge(stated, service.most_instances, typed.surge)
    return PoolFleet(service, surge, tuple(stated), tuple(unclear))


def typed_in(fleet: FleetOptions) -> Typed:
    """Return the service of the options."""
    instances = bool({"instances", "max_instances"} & set(fleet.of_instances))
    surge = fleet.limit().surge if fleet.of_instances or is_typed("surge") else 0.0
    holds = instances or is_typed("surge")
    return Typed(fleet.service(), surge, instances, "processes" in fleet.of_instances, holds)


def with_stated(fleet: FleetOptions, files: Sequence[PoolFile], typed: Typed) -> FleetOptions:
    """Return the options with the numbers that the files state, where these are the same for all pools."""
    every = statements(files)
    fleets = [pool_fleet(pool, file.path, every, typed) for file in files for pool in file.pools if pool.library.sizes]
    if len({(each.service, each.surge) for each in fleets}) != 1 or not fleets[0].stated:
        return fleet
    service = fleets[0].service
    return replace(
        fleet, instances=service.instances, processes=service.processes, max_instances=service.max_instances,
        surge=fleets[0].surge,
    )  # fmt: skip


def _holding(pool: FilePool, path: Path, stated: Sequence[Stated]) -> list[Stated]:
    """Return the statement that holds for a pool; several where they are of different owners.

    Of several with the same owner, as in the files of several environments, the largest holds.
    """
    own = [each for each in stated if each.owner == (pool.workload or path)]
    others = [each for each in stated if not (pool.workload and each.count.workload)]
    largest: dict[str | Path, Stated] = {}
    for each in own or others:
        if each.owner not in largest or (each.number or 0) > (largest[each.owner].number or 0):
            largest[each.owner] = each
    return list(largest.values())


def _surge(stated: Sequence[Stated], instances: int, otherwise: float) -> float:
    """Return the share of further instances in a rolling deploy, by the statement of the instances."""
    text = next((each.count.surge for each in stated if each.count.kind != "processes"), None)
    if text is None:
        return otherwise
    share = text.endswith("%")
    number = text.removesuffix("%")
    if not (number.isascii() and number.isdecimal() and len(number) < 7):
        return SURGE
    return min(1.0, int(number) / (100 if share else instances))


@dataclass(frozen=True)
class AllPools:
    """The pools of all files together, in all processes of a fleet.

    of_process: the pools that a process has, each with its file; of profiles, the largest. unknown, unlimited: the
    numbers of pools that are left out, because the files do not contain how many connections they may open, or because
    they have no limit. connections, connections_in_deploy: of all. processes: their usual number; None where pools are
    of workloads with different numbers. stated, unclear: as in PoolFleet, of all pools. usable: connections that the
    server's limit leaves. is_compared: whether all processes are compared with them. to_give: options that this needs;
    none where the files do not have the connections of a process. is_default: whether MySQL's default limit decides
    usable. finding: why usable is too little, or None.
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
    is_compared: bool
    to_give: tuple[str, ...]
    is_default: bool
    finding: AboveLimit | WorkloadsAboveLimit | None


_Key = tuple[str | Path, str, tuple[str, str]]
"""Of a counted pool: its workload or file, what it is within, and its title and place."""


def pools_of_process(files: Sequence[CheckedFile]) -> tuple[tuple[CheckedFile, CheckedPool], ...]:
    """Return the pools that a process has, each with its file; without those of unknown size or without a limit.

    A profile of Spring Boot has its own value of a pool, not a further pool: in a document of a file, or in a file
    of its own, such as application-prod.yml. So have bootstrap.yml, an environment of Rails, of a workload or of own
    names such as mysql.dev, and a file such as .env.production or config/test.js. Each server of a proxy has a limit of
    its own. The largest counts. The pool of a workload or a ConfigMap replaces that of the only .env or Dockerfile, and
    all of these that of the only application's file; so does the pool of a command in a script that of the nearest
    file. A number of the project's own, such as DB_POOL_SIZE, is that of the pool whose size names it. The defaults of
    fields in Go give way to a configuration. A data source for TypeORM's command does not count beside NestJS's module.
    """
    largest: dict[_Key, tuple[CheckedFile, CheckedPool]] = {}
    of_files: set[_Key] = set()
    of_code, followed = _texts_of_sizes(files), _followed(files)
    is_go_configured = any(
        each.pool.library is OWN_GO for file in files if file.path.suffix != ".go" for each in file.pools
    )
    nests = {
        _node_project(file.path)
        for file in files
        for each in file.pools
        if each.pool.library is TYPEORM and (NEST.search(file.path.name) or each.pool.place.startswith("forRoot"))
    }
    for file in files:
        numbers_of_places: Counter[str] = Counter()
        for checked in file.pools:
            pool = checked.pool
            if _is_for_command(file.path, pool) and _node_project(file.path) in nests:
                continue
            if _is_own(pool) and any(name in text for name in _names_of_sizes(pool) for text in of_code):
                continue
            keys = {f"{pool.place}.{each.name}" for each in (*pool.settings.values(), *pool.unread)}
            if keys & followed.get(file.path, set()):
                continue
            if pool.library is OWN_GO and file.path.suffix == ".go" and is_go_configured:
                continue
            path, (title, place) = _replaced(file.path, pool, files)
            program = _program(path, pool, files)
            if program.name == CONFIG and LINE.search(place):  # the lines differ
                place = LINE.sub("", place)
                numbers_of_places[place] += 1
                place = f"{place}, {numbers_of_places[place]}"
            key = (pool.workload or program, _within(pool), (title, place))
            if not _is_of_environment(pool):
                of_files.add(key)
            if checked.most_connections and (key not in largest or _weight(file, checked) > _weight(*largest[key])):
                largest[key] = (file, checked)
    # 2: of a workload or a ConfigMap, 1: of .env and the like, 0: of the application's file
    ranks = {key: 2 if key[1] else int(key not in of_files) for key in largest}
    numbers = Counter((place, rank) for (*_, place), rank in ranks.items())
    highest = dict(sorted(numbers))
    return tuple(
        each for key, each in largest.items() if ranks[key] == highest[key[-1]] or numbers[key[-1], ranks[key]] > 1
    )


def _is_for_command(path: Path, pool: FilePool) -> bool:
    """Return whether a pool is the data source that TypeORM's command takes for migrations, by the file's name."""
    return (
        pool.library is TYPEORM and pool.place.startswith(DATA_SOURCE) and FOR_COMMAND.fullmatch(path.stem) is not None
    )


def _node_project(path: Path) -> Path | None:
    """Return the nearest folder around a file that has a package.json; None without any."""
    return next((folder for folder in folders_above(path) if (folder / "package.json").is_file()), None)


def _is_of_environment(pool: FilePool) -> bool:
    """Return whether environment variables, or the options of a command, set a pool."""
    is_bound = pool.place.partition(".")[0] in OF_FRAMEWORKS
    return not pool.complete and (is_bound or all(map(NAME.fullmatch, _names_of_sizes(pool))))


def _place(pool: FilePool) -> tuple[str, str]:
    """Return the title of a pool's library, and the pool's place."""
    return pool.library.title, pool.place


def _replaced(path: Path, pool: FilePool, files: Sequence[CheckedFile]) -> tuple[Path, tuple[str, str]]:
    """Return the file, title and place of the pool of a module that a pool is an alternative of; else its own."""
    module = (path.parent / pool.alternative.removeprefix(WITHOUT)).resolve()
    of_module = (
        (file.path, _place(each.pool))
        for file in (files if pool.alternative.startswith(WITHOUT) else ())
        for each in file.pools
        if each.pool.library is pool.library and module in {real := file.path.resolve(), real.with_suffix("")}
    )
    return next(of_module, (path, _place(pool)))


def _weight(file: CheckedFile, checked: CheckedPool) -> tuple[bool, int]:
    """Return a weight: of the pools with the same key, the largest weight counts.

    A pool of a command replaces those of its program's files; of the others, the largest counts.
    """
    return file.path.suffix in COMMANDS, checked.most_connections or 0


def _has_size_of_other_file(path: Path, pool: FilePool, counted: set[tuple[str, str]]) -> bool:
    """Return whether a command, or a bean bound to keys, sets no size of a pool that is counted at its place."""
    if any(map(pool.has, pool.library.sizes)):
        return False
    if path.suffix in OF_BEANS and pool.within:  # its keys are relaxed, and it may have another title
        return normalized(pool.place) in {normalized(place) for _, place in counted}
    return path.suffix in COMMANDS and _place(pool) in counted


def _program(path: Path, pool: FilePool, files: Sequence[CheckedFile]) -> Path:
    """Return the path that all files of a program share: of a command, that of the nearest file with the same pool."""
    if path.suffix not in COMMANDS:
        return _without_profile(path)
    place = _place(pool)
    same = [
        (_nearness(path, file.path), file.path)
        for file in files
        if any(_place(each.pool) == place and not _is_of_environment(each.pool) for each in file.pools)
    ]
    nearest = max(same, key=lambda each: each[0], default=(0, path.with_name(".env")))[1]
    return _without_profile(nearest)


def _is_own(pool: FilePool) -> bool:
    """Return whether other files may ask for a pool's names: of own code, or variables outside of a workload."""
    is_of_framework = pool.workload and pool.place.partition(".")[0] in OF_FRAMEWORKS
    return pool.library in OWN.values() or (_is_of_environment(pool) and not is_of_framework)


def _names_of_sizes(pool: FilePool) -> list[str]:
    return [pool.settings[name].name for name in pool.library.sizes if name in pool.settings]


def _texts_of_sizes(files: Sequence[CheckedFile]) -> list[str]:
    """Return the texts of the sizes of pools in source, which may name a key, and the variables that they depend on."""
    return [text for file in files for size in _sizes(file) for text in (size.text, *size.variables)]


def _followed(files: Sequence[CheckedFile]) -> dict[Path, set[str]]:
    """Return the keys that pools in source have their size from: file that sets them -> its keys.

    Of files with the same name in several folders, the nearest to the source is of its program.
    """
    followed: dict[Path, set[str]] = {}
    for file in files:
        for key in {key for size in _sizes(file) for key in size.variables}:
            paths = {each.path for each in file.environment.get(key, ())}
            for path in paths:
                same = [each for each in paths if _without_profile(each).name == _without_profile(path).name]
                if _nearness(file.path, path) == max(_nearness(file.path, each) for each in same):
                    followed.setdefault(path, set()).add(key)
    return followed


def _nearness(path: Path, other: Path) -> int:
    """Return the length of the path that the folders of two files have in common."""
    return len(os.path.commonpath([path.parent.resolve(), other.parent.resolve()]))


def _sizes(file: CheckedFile) -> list[FileSetting]:
    """Return the sizes that the pools of a file set, without those for which other files may ask."""
    pools = [each.pool for each in file.pools if each.most_connections and not _is_own(each.pool)]
    return [pool.settings[name] for pool in pools for name in pool.library.sizes if name in pool.settings]


def _within(pool: FilePool) -> str:
    """Return what a pool is within, the same for the variables of a workload and its embedded application.yml."""
    *files, name = pool.within.split(", ")
    if files and not all(_without_profile(Path(each)).name == "application" for each in files):
        return pool.within
    if name and pool.workload:
        return pool.workload
    return name


def _without_profile(path: Path) -> Path:
    """Return a path, the same for the files of all profiles or environments of an application."""
    path = path.with_name(copied_name(path.name))
    if "dockerfile" in path.name.lower():  # its variables are the defaults of those in .env
        return path.with_name(".env")
    for first in (".env", "appsettings."):
        if path.name.startswith(first):
            return path.with_name(first)
    if path.resolve().parent.name == "config" and CONFIG_FILE.fullmatch(path.name):
        return path.with_name(CONFIG)
    name = path.stem.partition("-")[0]
    of_spring = name in {"application", "bootstrap"} and path.suffix in {".yml", ".yaml", ".properties"}
    return path.with_name("application") if of_spring else path  # a bootstrap.yml sets the same pools


def count_pools(
    files: Sequence[CheckedFile], typed: Typed, limit: ServerLimit, in_files: int | None = None
) -> AllPools:
    """Return the pools of all files in all processes, compared with the server's limit.

    in_files: max_connections of a server among the files, which holds where the limit has none. Without any, MySQL's
    default holds. Raises BadInput where the reserve uses up the default.
    """
    of_process = pools_of_process(files)
    counted = {_place(checked.pool) for _, checked in of_process}
    left_out = [
        each
        for file in files
        for each in file.pools
        if each.pool.library.sizes and each.pool.database_known and not each.most_connections
        and not _has_size_of_other_file(file.path, each.pool, counted)
    ]  # fmt: skip
    unlimited = sum(
        each.pool.is_off or any(isinstance(finding, Unlimited) for finding in each.findings) for each in left_out
    )
    every = statements(files)
    fleets = [_fleet(checked.pool, file.path, every, typed) for file, checked in of_process]
    totals = [
        service_pool(fleet.service, _most(each), replace(limit, surge=fleet.surge))
        for fleet, each in zip(fleets, of_process, strict=True)
    ]
    usable, is_default = _usable(limit, in_files)
    same = {(fleet.service, fleet.surge): fleet.service.pools for fleet in fleets} or {(typed.service, 0.0): 1}
    usual, in_deploy = connections_of(totals), in_deploy_of(totals)
    to_give = _to_give(fleets, typed, is_default=is_default)
    are_servers = all(each.pool.library in (SERVER, STATUS) for file in files for each in file.pools)
    together = AllPools(
        of_process, len(left_out) - unlimited, unlimited, usual, in_deploy,
        next(iter(same.values())) if len(same) == 1 else None,
        tuple(dict.fromkeys(each for fleet in fleets for each in fleet.stated)),
        tuple(dict.fromkeys(each for fleet in fleets for each in fleet.unclear)), usable,
        are_servers or (bool(fleets) and not to_give), to_give, is_default, None,
    )  # fmt: skip
    service, surge = next(iter(same))
    return replace(together, finding=_above_limit(together, service, replace(limit, surge=surge)))


def _to_give(fleets: Sequence[PoolFleet], typed: Typed, *, is_default: bool) -> tuple[str, ...]:
    is_proxied = any(fleet.service.name == PROXY for fleet in fleets)
    is_stated = typed.instances or typed.processes or all(each.stated or each.service.name == PROXY for each in fleets)
    options: tuple[str, ...] = () if is_stated else ("instances", "processes")
    return (*options, "max_connections") if is_default and (options or is_proxied) else options


def _fleet(pool: FilePool, path: Path, every: Sequence[Stated], typed: Typed) -> PoolFleet:
    """Return the service of a pool; of a proxy, which all processes share, a single process."""
    stack = STACKS.get(pool.library.stack)
    is_shared = stack is not None and stack.is_proxy
    return PoolFleet(Service(PROXY, 1), 0.0) if is_shared else pool_fleet(pool, path, every, typed)


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
