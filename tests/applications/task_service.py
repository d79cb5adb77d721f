"""The task service in five languages and frameworks, on a server of the tests, and its file for poolsize."""

import fcntl
import hashlib
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest
from sqlalchemy import URL

from poolsize.server.connection import connect, database_url
from poolsize.server.private_server import PrivateServer, free_port
from tests.conftest import ROOT

APPLICATIONS = Path(__file__).parent
BUILT = ROOT / "build" / "applications"
UNREACHABLE = (
    "Could not transfer",
    "Could not resolve",
    "dial tcp",
    "no such host",
    "ENOTFOUND",
    "ETIMEDOUT",
    "EAI_AGAIN",
)
"""What Maven, Go and npm say where a registry does not answer."""
ACCOUNT, PASSWORD = "shop", "not-a-secret"
TABLE = "CREATE TABLE shop.tasks (id BIGINT AUTO_INCREMENT PRIMARY KEY, task_id VARCHAR(256) UNIQUE)"


@dataclass(frozen=True)
class Kind:
    """One implementation of the task service.

    start: its command, which ends with the port or has {port}. environment: variable -> value, with {pool_size}; the
    other words in braces are those of the database. ready, metrics: paths of its pages; no metrics is "".
    """

    start: str
    environment: Mapping[str, str]
    ready: str = "/health"
    metrics: str = ""


def fastapi() -> Kind:
    """FastAPI and SQLAlchemy under uvicorn."""
    environment = {"SHOP_DATABASE": "mysql+pymysql://{account}:{password}@{host}:{port}/shop"}
    start = f"{sys.executable} -m tests.applications.fastapi_tasks {{service_port}}"
    return Kind(start, environment | {"POOL_SIZE": "{pool_size}"}, metrics="/metrics")


def go() -> Kind:
    """net/http and database/sql."""
    program = built(APPLICATIONS / "go", ("go",), ("go", "build", "-o", "tasks", ".")) / "tasks"
    environment = {"DSN": "{account}:{password}@tcp({host}:{port})/shop", "POOL_SIZE": "{pool_size}"}
    return Kind(f"{program} {{service_port}}", environment, metrics="/metrics")


def node() -> Kind:
    """Node's http and mysql2, which publishes no metrics."""
    install = ("npm", "install", "--no-package-lock", "--no-audit", "--no-fund")
    folder = built(APPLICATIONS / "node", ("node", "npm"), install)
    environment = {"SHOP_DATABASE": "mysql://{account}:{password}@{host}:{port}/shop", "POOL_SIZE": "{pool_size}"}
    return Kind(f"node {folder / 'service.js'} {{service_port}}", environment)


def spring() -> Kind:
    """Spring Boot with its HikariCP."""
    return _spring({"SPRING_DATASOURCE_HIKARI_MAXIMUM_POOL_SIZE": "{pool_size}"}, "/actuator/prometheus")


def druid() -> Kind:
    """Spring Boot with Druid."""
    return _spring({"DRUID_MAX_ACTIVE": "{pool_size}"}, "/druid/datasource.json")


KINDS: Mapping[str, Callable[[], Kind]] = {
    "fastapi": fastapi,
    "spring": spring,
    "druid": druid,
    "go": go,
    "node": node,
}


def _spring(pool: Mapping[str, str], metrics: str) -> Kind:
    folder = built(APPLICATIONS / "spring", ("java", "mvn"), ("mvn", "--quiet", "--batch-mode", "package"))
    environment = {
        "SERVER_PORT": "{service_port}",
        "SPRING_DATASOURCE_URL": "jdbc:mysql://{host}:{port}/shop?allowPublicKeyRetrieval=true&useSSL=false",
        "SPRING_DATASOURCE_USERNAME": "{account}",
        "SPRING_DATASOURCE_PASSWORD": "{password}",
    }
    start = f"java -jar {folder / 'target' / 'tasks.jar'}"
    return Kind(start, environment | dict(pool), ready="/actuator/health", metrics=metrics)


@cache
def built(source: Path, tools: tuple[str, ...], command: tuple[str, ...]) -> Path:
    """Return the folder of a program, which is built there if its sources have changed.

    Processes of tests build in turn: a program must not change while another process runs it. Skip the test where a
    tool is missing, or where the libraries can't be fetched.
    """
    for tool in tools:
        if shutil.which(tool) is None:
            pytest.skip(f"no {tool} on this machine")
    folder = BUILT / source.name
    folder.mkdir(parents=True, exist_ok=True)
    files = sorted(path for part in source.iterdir() if part.name != "target" for path in (part, *part.rglob("*")))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in files if path.is_file())).hexdigest()
    built_of = folder / f"{hashlib.sha256(repr(command).encode()).hexdigest()}.digest"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not built_of.exists() or built_of.read_text() != digest:
            shutil.copytree(source, folder, ignore=shutil.ignore_patterns("target"), dirs_exist_ok=True)
            _run(command, folder)
            built_of.write_text(digest)
    return folder


def _run(command: tuple[str, ...], folder: Path) -> None:
    """Run the command that builds a program in its folder."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    output = done.stdout + done.stderr
    if done.returncode and any(sign in output for sign in UNREACHABLE):
        pytest.skip(f"the libraries of {folder.name} can't be fetched here")
    assert not done.returncode, output


@dataclass(frozen=True)
class TaskService:
    """A task service that poolsize can start. url: its own. database: URL of its database, with its own account."""

    url: str
    database: URL
    kind: Kind = field(default_factory=fastapi)

    @property
    def start(self) -> str:
        """The command that starts the service."""
        return self._filled(self.kind.start)

    def environment(self, pool_size: str) -> dict[str, str]:
        """The variables of the service for a pool size."""
        return {name: self._filled(value, pool_size) for name, value in self.kind.environment.items()}

    def file(self, folder: Path, *changed: str, **environment: str) -> Path:
        """Write the file that describes the service. changed: lines that replace those of their keys."""
        variables = self.environment("{pool_size}") | environment
        table = ", ".join(f'{name} = "{value}"' for name, value in variables.items())
        lines = {
            "locustfile": f'locustfile = "{APPLICATIONS / "tasks_locustfile.py"}"',
            "host": f'host = "{self.url}"',
            "start": f'start = "{self.start}"',
            "directory": f'directory = "{ROOT}"',
            "environment": f"environment = {{{table}}}",
            "ready": f'ready = "{self.url}{self.kind.ready}"',
            "database": f'database = "{self.database.render_as_string(hide_password=False)}"',
        }
        if self.kind.metrics:
            lines["metrics"] = f'metrics = "{self.url}{self.kind.metrics}"'
        lines |= {line.split(" =")[0]: line for line in changed}
        path = folder / "shop.toml"
        path.write_text("\n".join(lines.values()) + "\n")
        return path

    def _filled(self, text: str, pool_size: str = "{pool_size}") -> str:
        database = self.database
        return text.format(
            account=database.username, password=database.password, host=database.host, port=database.port,
            service_port=self.url.rpartition(":")[2], pool_size=pool_size,
        )  # fmt: skip


@contextmanager
def task_service(server: PrivateServer, kind: str = "fastapi") -> Iterator[TaskService]:
    """Make the schema and the account of a task service, and drop them at the end. kind: one of KINDS."""
    url = database_url(server.url)
    implementation = KINDS[kind]()
    with closing(connect(url)) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE SCHEMA shop")
        cursor.execute(TABLE)
        cursor.execute(f"CREATE USER {ACCOUNT}@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'")
        cursor.execute(f"GRANT ALL ON shop.* TO {ACCOUNT}@'127.0.0.1'")
        own = url.set(username=ACCOUNT, password=PASSWORD, database="shop")
        try:
            yield TaskService(f"http://127.0.0.1:{free_port()}", own, implementation)
        finally:
            cursor.execute("DROP SCHEMA shop")
            cursor.execute(f"DROP USER {ACCOUNT}@'127.0.0.1'")
