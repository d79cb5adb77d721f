"""Starts two sweeps of one server at a random distance, and in half of the trials kills the session with the lock.

    python -m tests.double_sweeps [N] [SEED]    N trials (100)

Neither sweep ever touches the other's tables: no transaction fails for want of a table, each sweep completes or is
refused because of the other, and nothing of poolsize's is left on the server.
"""

import os
import random
import subprocess
import sys
import tempfile
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pymysql

from poolsize import load_run
from poolsize.errors import PoolsizeError
from poolsize.server.connection import connect, database_url
from poolsize.server.schema import LOCK
from tests.servers import administered_server

POOLSIZE = str(Path(sys.executable).with_name("poolsize"))
SWEEP = (
    "--workload", "insert", "--pool-sizes", "1,2", "--users", "4", "--step-time", "1s", "--warm-up", "0", "--yes",
)  # fmt: skip
LONGEST_SECONDS = 10.0
"""After so long, most sweeps have ended."""
ENDING_SECONDS = 90.0
REFUSALS = ("another sweep is running", "another sweep began", "another sweep has the schema")


def main(number: int, seed: int) -> int:
    """Run the trials, print a line for each, and return the number of faults."""
    print(f"seed {seed}", flush=True)
    chance, faults = random.Random(seed), 0
    with administered_server(None, {}, 60) as server, closing(connect(database_url(server.url))) as watching:
        for trial in range(number):
            distance, moment = chance.uniform(0, LONGEST_SECONDS), chance.uniform(0, LONGEST_SECONDS)
            with tempfile.TemporaryDirectory() as folder, watching.cursor() as cursor:
                fault = _trial(Path(folder), server.url, cursor, distance, moment if trial % 2 else None)
            faults += bool(fault)
            killed = f", lock killed after {moment:.2f} s" if trial % 2 else ""
            print(f"{trial + 1}: second after {distance:.2f} s{killed}: {fault or 'ok'}", flush=True)
    print(f"{number} trials, {faults} faults")
    return faults


def _trial(folder: Path, url: str, cursor: Any, distance: float, kill_at: float | None) -> str:
    """Run two sweeps, and return what was wrong, or "". kill_at: when the session with the lock is killed, or None."""
    sweeps: list[subprocess.Popen[str]] = []
    began = time.monotonic()
    events = sorted([(0.0, "sweep"), (distance, "sweep"), *([(kill_at, "kill")] if kill_at is not None else [])])
    for moment, event in events:
        time.sleep(max(0.0, began + moment - time.monotonic()))
        if event == "sweep":
            sweeps.append(_started(folder, f"{len(sweeps)}.jsonl", url))
        else:
            _kill_holder(cursor)
    try:
        errors = [sweep.communicate(timeout=ENDING_SECONDS)[1] for sweep in sweeps]
    except subprocess.TimeoutExpired:
        return f"a sweep did not end within {ENDING_SECONDS:g} s"
    finally:
        for sweep in sweeps:
            sweep.kill()
    for sweep, text in zip(sweeps, errors, strict=True):
        if "Traceback" in text or (sweep.returncode and not _has_answer(folder, sweep) and not _is_refused(text)):
            return f"exit {sweep.returncode}: {text[-300:]}"
    cursor.execute("SHOW DATABASES LIKE 'poolsize'")
    if cursor.fetchall():
        cursor.execute("DROP DATABASE poolsize")
        return "the schema is left"
    return _missing_tables(folder)


def _started(folder: Path, run: str, url: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [POOLSIZE, "sweep", *SWEEP, "--output", run], cwd=folder, env=os.environ | {"POOLSIZE_URL": url}, text=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip


def _kill_holder(cursor: Any) -> None:
    cursor.execute("SELECT IS_USED_LOCK(%s)", (LOCK,))
    ((holder,),) = cursor.fetchall()
    if holder is not None:
        with suppress(pymysql.MySQLError):  # it has ended meanwhile
            cursor.execute(f"KILL {holder}")


def _has_answer(folder: Path, sweep: "subprocess.Popen[str]") -> bool:
    """Return whether a sweep that ended with 1 is complete: two sweeps at once disturb each other's steps."""
    arguments = sweep.args
    assert isinstance(arguments, list)
    try:
        return len({step.pool_size for step in load_run(folder / str(arguments[-1])).steps}) == 2
    except PoolsizeError:
        return False


def _is_refused(text: str) -> bool:
    return any(refusal in text for refusal in REFUSALS)


def _missing_tables(folder: Path) -> str:
    """Return the failed transactions of all steps that wanted a table; empty without any."""
    steps = [step for path in folder.glob("*.jsonl") for step in load_run(path, torn_end=True).steps]
    kinds = {kind for step in steps for kind in step.errors}
    return ", ".join(sorted(kind for kind in kinds if "1146" in kind or "1049" in kind))


if __name__ == "__main__":
    chosen = [int(word) for word in sys.argv[1:]]
    seed = chosen[1] if len(chosen) > 1 else random.SystemRandom().randrange(10**6)
    sys.exit(bool(main(chosen[0] if chosen else 100, seed)))
