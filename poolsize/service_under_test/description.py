"""The file that describes an application whose pool a sweep measures: `poolsize sweep --application shop.toml`."""

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from poolsize.bounds import MOST_PROCESSES
from poolsize.errors import BadInput
from poolsize.files import why_missing
from poolsize.runs.plan import MeasuredApplication
from poolsize.runs.run import Setting
from poolsize.service_under_test.guard import Command
from poolsize.sweep.opening import Workload, require_same_text, workload_of
from poolsize.sweep.options import OPTIONS, SweepOptions
from poolsize.toml_file import read_toml, record
from poolsize.web_page import PageAddress, page_address

PLACEHOLDER = "{pool_size}"
"""Stands for the pool size of a step, in a command and in a variable of the environment."""
COMMANDS, PAGES = ("start", "resize", "settled", "restore"), ("host", "ready", "metrics")
"""The keys of the file that are commands, and those that are URLs of pages."""
MOST = {"instances": MOST_PROCESSES, "processes": MOST_PROCESSES, "ready_seconds": 86_400}
FROM_ENVIRONMENT = ("url", "against_url")
"""Options that the environment may set for other sweeps."""


@dataclass(frozen=True)
class ServiceFile:
    """The file of an application: its keys are the fields.

    locustfile: path of the Locust file that drives the service, from the file's folder. host: the service's URL.
    start: command that starts the application, for each step; it ends after the step. It runs without a shell.
    environment: variable -> value, added to the environment of `start`, `resize`, `settled` and `restore`.
    directory: where these commands run, from the file's folder; by default that folder.
    resize: command that gives a running application another pool size, in place of `start`.
    settled: command that ends when the new size is in force. restore: command that puts the old size back.
    ready: URL that answers with a status below 400 once the service can work. ready_seconds: longest wait for that.
    metrics: URL of a Prometheus page, or of Druid's datasource.json, that has the pool's metrics.
    instances: of the application. processes: of each instance. Each process has a pool of its own.
    database: URL of the database, or the name of an environment variable that holds it; only read. account: the
    application's account on the database; by default the URL's.
    """

    locustfile: str
    host: str
    start: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    directory: str = "."
    resize: str | None = None
    settled: str | None = None
    restore: str | None = None
    ready: str | None = None
    ready_seconds: float = 120.0
    metrics: str | None = None
    instances: int = 1
    processes: int = 1
    database: str | None = None
    account: str | None = None

    def __post_init__(self) -> None:
        if self.start is None and self.resize is None:
            raise BadInput("start is missing, the command that starts the application; or resize, for one that runs")
        if self.start is not None and self.resize is not None:
            raise BadInput("it has `start` and `resize`: leave out resize, or start if the application runs already")
        self._require_pool_size()
        for name in ("settled", "restore"):
            if self.start is not None and getattr(self, name) is not None:
                raise BadInput(f"{name} belongs to `resize`; an application with `start` ends after each step")
        if self.start is not None and self.ready is None:
            raise BadInput('an application with `start` needs ready = "http://...", a page that answers when it is up')
        for name in PAGES:
            try:
                self.page(name)
            except ValueError as error:
                raise BadInput(f"{name}: {error}") from None
        for name, most in MOST.items():
            if not 0 < getattr(self, name) <= most:
                raise BadInput(f"{name} {getattr(self, name)}: give more than 0 and at most {most:,}")

    def page(self, name: str) -> PageAddress | None:
        """Return the address of one of PAGES, or None. Raises ValueError for a file that is not valid yet."""
        url = getattr(self, name)
        return None if url is None else page_address(url)

    def _require_pool_size(self) -> None:
        name = "start" if self.start is not None else "resize"
        if not any(PLACEHOLDER in place for place in (getattr(self, name), *self.environment.values())):
            raise BadInput(
                f"{PLACEHOLDER} is nowhere in `{name}` and in `environment`: write it where the application takes its "
                "pool size"
            )
        if PLACEHOLDER in (self.restore or ""):
            raise BadInput(f"restore has {PLACEHOLDER}, and it puts the old size back: write that size")


@dataclass(frozen=True)
class DescribedService:
    """An application as its file describes it. typed: the file's path as typed. sha256: hash of the file's text."""

    typed: Path
    sha256: str
    file: ServiceFile

    @property
    def locustfile(self) -> Path:
        """The path of the Locust file."""
        return self.typed.parent / self.file.locustfile

    @property
    def workload(self) -> Workload:
        """The workload of the Locust file."""
        return workload_of(self.locustfile, str(self.locustfile))

    @property
    def directory(self) -> Path:
        """The folder in which the commands run."""
        return self.typed.parent / self.file.directory

    @property
    def measured(self) -> MeasuredApplication:
        """What a run stores of the application: of its host, no user, no password and no query."""
        file = self.file
        return MeasuredApplication(
            file=str(self.typed),
            sha256=self.sha256,
            host=page_address(file.host).shown,
            started=file.start is not None,
            variables=tuple(name for name, value in file.environment.items() if PLACEHOLDER in value),
            instances=file.instances,
            processes=file.processes,
        )

    @property
    def database_url(self) -> str | None:
        """The database's URL, from the file or its variable; None if the file names none. Raises BadInput."""
        text = self.file.database
        if text is None or "://" in text:
            return text
        if not text.isidentifier():  # it may be a URL without its beginning, with a password
            raise BadInput(
                f"{self.in_error} is neither a URL, such as mysql://USER:PASSWORD@HOST:3306/, nor the name of an "
                "environment variable"
            )
        if text not in os.environ:
            raise BadInput(
                f"{self.in_error} {text}: no environment variable of that name is set: set it to "
                "mysql://USER:PASSWORD@HOST:3306/, or write that URL here"
            )
        return os.environ[text]

    @property
    def in_error(self) -> str:
        """The database of the file, as an error names it."""
        return f"`application` {self.typed}: database"

    @property
    def starts_jvm(self) -> bool:
        """Whether the command that starts the application runs Java."""
        return self.file.start is not None and Path(shlex.split(self.file.start)[0]).name == "java"

    def command(self, name: str, pool_size: int) -> Command:
        """Return a command of the file for a pool size, with its variables; for `restore`, those without a size."""
        variables = {
            variable: value.replace(PLACEHOLDER, str(pool_size))
            for variable, value in self.file.environment.items()
            if name != "restore" or PLACEHOLDER not in value
        }
        return shlex.split(getattr(self.file, name).replace(PLACEHOLDER, str(pool_size))), variables


def read_description(path: Path) -> DescribedService:
    """Return the application of a file. Raises BadInput for a file that no sweep can use."""
    table, sha256 = read_toml("application", path)
    secret = ("environment", "database", *PAGES, *COMMANDS)
    described = DescribedService(path, sha256, record(f"`application` {path}", ServiceFile, table, secret))
    file = described.file
    if why := why_missing(described.locustfile):
        raise BadInput(f"`application` {path}: locustfile {file.locustfile}: {why}")
    if not os.path.isdir(described.directory):  # noqa: PTH112 (Path.is_dir raises OSError for a long name)
        raise BadInput(f"`application` {path}: directory {file.directory}: there is no such folder")
    for name in COMMANDS:
        command = getattr(file, name)
        try:
            is_empty = command is not None and not shlex.split(command)
        except ValueError as error:  # a quote that does not end
            raise BadInput(f"`application` {path}: {name}: {error}") from None
        if is_empty:
            raise BadInput(f"`application` {path}: {name} is empty")
    return described


def of_application(options: SweepOptions) -> SweepOptions:
    """Return the options without a database's URL from the environment: an application's file names its database.

    Raises BadInput for an option that belongs to poolsize's own pool.
    """
    options = options.having(**dict.fromkeys(FROM_ENVIRONMENT))
    for name in options.chosen:
        if OPTIONS[name].of_pool:
            raise BadInput(f"{options.named(name)}: `application` does not support this option; leave it out")
    return options


def require_same_application(options: SweepOptions, setting: Setting, described: DescribedService) -> None:
    """Raise BadInput for another application, or another Locust file of it, than that of the run to resume."""
    if setting.application is None:
        raise BadInput(f"{options.named('resume')}: the run began without an `application`: leave it out")
    if setting.application.sha256 != described.sha256:
        raise BadInput(f"{options.named('resume')}: {described.typed} has changed since the run began: start a new run")
    require_same_text(options, setting, described.workload)
