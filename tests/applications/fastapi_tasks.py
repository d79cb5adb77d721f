"""A task service: FastAPI and SQLAlchemy under uvicorn; `python -m tests.applications.fastapi_tasks PORT`.

SHOP_DATABASE holds the database's URL, POOL_SIZE the size of the pool. BUSY_MS is CPU time that each request takes
beside the database. THREADS is the number of the service's worker threads. WORKERS is the number of its processes, of
which each but that which makes the file FIRST starts later: after LATE_SECONDS of sleep, or BUSY_SECONDS of CPU time.
OBSERVATION is a file for what `poolsize.observe.instrument` records; the metrics page is its page then. USES is a file
to which each request for the newest tasks appends when it had its connection and when it gave it back, in Unix seconds.
"""

import os
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

import uvicorn
from anyio import to_thread
from fastapi import FastAPI
from fastapi.responses import PlainTextResponse
from sqlalchemy import create_engine, text
from sqlalchemy.pool import QueuePool

from poolsize.observe import instrument

BUSY_MS = float(os.environ.get("BUSY_MS", "0"))
THREADS = int(os.environ.get("THREADS", "100"))

engine = create_engine(
    os.environ["SHOP_DATABASE"], pool_size=int(os.environ["POOL_SIZE"]), max_overflow=0, pool_timeout=30
)

recorded = instrument(engine, os.environ["OBSERVATION"]) if "OBSERVATION" in os.environ else None
uses = Path(os.environ.get("USES", os.devnull)).open("a")  # noqa: SIM115 (open as long as the service)


@asynccontextmanager
async def started(_: FastAPI) -> AsyncIterator[None]:
    """Start as a later process, and give the service its worker threads."""
    if "FIRST" in os.environ:
        try:
            Path(os.environ["FIRST"]).touch(exist_ok=False)
        except FileExistsError:
            time.sleep(float(os.environ.get("LATE_SECONDS", "0")))
            _be_busy(float(os.environ.get("BUSY_SECONDS", "0")))
            Path(os.environ["FIRST"]).with_name("second").touch()
    to_thread.current_default_thread_limiter().total_tokens = THREADS
    yield
    if recorded is not None and recorded.writer is not None:
        recorded.writer.close()  # uvicorn lets SIGTERM end the process, which then runs no atexit functions


app = FastAPI(lifespan=started)


@app.get("/health")
def health() -> str:
    """Answer that the service works: its database does."""
    with engine.connect() as connection:
        connection.execute(text("SELECT 1"))
    return "up"


@app.get("/metrics", response_class=PlainTextResponse)
async def metrics() -> str:
    """Publish the pool's connections under the names of OpenTelemetry; no database and no worker thread is needed."""
    if recorded is not None:
        return recorded.page()
    pool = engine.pool
    assert isinstance(pool, QueuePool)
    return (
        f'db_client_connections_usage{{state="used"}} {pool.checkedout()}\n'
        f'db_client_connections_usage{{state="idle"}} {pool.checkedin()}\n'
        f"db_client_connections_max {pool.size()}\n"
    )


@app.post("/tasks")
def create() -> str:
    """Insert a task."""
    task_id = uuid4().hex
    with engine.begin() as connection:
        connection.execute(text("INSERT INTO tasks (task_id) VALUES (:task_id)"), {"task_id": task_id})
    _be_busy(BUSY_MS / 1000)
    return task_id


@app.get("/tasks")
def newest() -> list[str]:
    """Return the last ten tasks."""
    with engine.connect() as connection:
        got = time.time()
        rows = connection.execute(text("SELECT task_id FROM tasks ORDER BY id DESC LIMIT 10")).all()
    print(got, time.time(), file=uses, flush=True)
    _be_busy(BUSY_MS / 1000)
    return [row[0] for row in rows]


def _be_busy(seconds: float) -> None:
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


if __name__ == "__main__":
    uvicorn.run(
        "tests.applications.fastapi_tasks:app",
        host="127.0.0.1",
        port=int(sys.argv[1]),
        workers=int(os.environ.get("WORKERS", "1")),
        log_level="warning",
        access_log=False,
    )
