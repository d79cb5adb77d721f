"""The task service on a server of the tests: its schema, its account, and the file that describes it to poolsize."""

import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from poolsize.target.connection import connect, database_url
from poolsize.target.private_server import PrivateServer, free_port
from tests.conftest import ROOT

APPLICATIONS = Path(__file__).parent
ACCOUNT, PASSWORD = "shop", "not-a-secret"
TABLE = "CREATE TABLE shop.tasks (id BIGINT AUTO_INCREMENT PRIMARY KEY, task_id VARCHAR(256) UNIQUE)"


@dataclass(frozen=True)
class TaskService:
    """A task service that poolsize can start. url: its own. database: its database, with its own account."""

    url: str
    database: str

    @property
    def start(self) -> str:
        """The command that starts the FastAPI service."""
        return f"{sys.executable} -m tests.applications.fastapi_tasks {self.url.rpartition(':')[2]}"

    def file(self, folder: Path, *changed: str, **environment: str) -> Path:
        """Write the file that describes the service. changed: lines that replace those of their keys."""
        variables = {"SHOP_DATABASE": self.database, "POOL_SIZE": "{pool_size}"} | environment
        table = ", ".join(f'{name} = "{value}"' for name, value in variables.items())
        lines = {
            "locustfile": f'locustfile = "{APPLICATIONS / "tasks_locustfile.py"}"',
            "host": f'host = "{self.url}"',
            "start": f'start = "{self.start}"',
            "directory": f'directory = "{ROOT}"',
            "environment": f"environment = {{{table}}}",
            "ready": f'ready = "{self.url}/health"',
            "database": f'database = "{self.database}"',
        }
        lines |= {line.split(" =")[0]: line for line in changed}
        path = folder / "shop.toml"
        path.write_text("\n".join(lines.values()) + "\n")
        return path


@contextmanager
def task_service(server: PrivateServer) -> Iterator[TaskService]:
    """Make the schema and the account of a task service, and drop them at the end."""
    url = database_url(server.url)
    with closing(connect(url)) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE SCHEMA shop")
        cursor.execute(TABLE)
        cursor.execute(f"CREATE USER {ACCOUNT}@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'")
        cursor.execute(f"GRANT ALL ON shop.* TO {ACCOUNT}@'127.0.0.1'")
        try:
            yield TaskService(
                f"http://127.0.0.1:{free_port()}", f"mysql+pymysql://{ACCOUNT}:{PASSWORD}@127.0.0.1:{url.port}/shop"
            )
        finally:
            cursor.execute("DROP SCHEMA shop")
            cursor.execute(f"DROP USER {ACCOUNT}@'127.0.0.1'")
