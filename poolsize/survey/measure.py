"""The survey: each concurrency of Python, and the pools of Java, in processes of their own."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any

from poolsize.errors import Interrupted, WorkFailed
from poolsize.survey.java_pools import JavaLeftOut, compiled, java_commands, java_environment
from poolsize.survey.timing import Concurrency, Survey, Timing, Work
from poolsize.target.killed import killed_by
from poolsize.target.private_server import PrivateServer, private_server

MOST_CONNECTIONS = 400
"""Connections that the server must admit: of 100 users without a pool, and as many times those that are ending."""


def survey(
    mysqld: Path | None, server_options: Mapping[str, str], seconds: float, on_timing: Callable[[Timing], None]
) -> Survey:
    """Time all pools. on_timing: called with each timing.

    seconds: of each timing. mysqld, server_options: as in private_server. Raises WorkFailed where a process fails, and
    Interrupted for Ctrl-C.
    """
    timings: list[Timing] = []
    missing: list[str] = []

    def take(command: list[str], server: PrivateServer) -> None:
        for measured in _measured(command, server):
            if isinstance(measured, str):
                missing.append(measured)
            else:
                timings.append(measured)
                on_timing(measured)

    try:
        with TemporaryDirectory() as folder:
            java, left_out = _java_commands(Path(folder), seconds)
            with private_server(mysqld, server_options, MOST_CONNECTIONS) as server:
                for concurrency in Concurrency:
                    take([sys.executable, "-P", "-m", "poolsize.survey", concurrency, str(seconds)], server)
                try:
                    for command in java:
                        take(command, server)
                except WorkFailed as failure:
                    if server.reason_of_end() is not None:
                        raise
                    left_out = str(failure)
    except KeyboardInterrupt:
        raise Interrupted("interrupted; a survey stores nothing: run it again") from None
    return Survey(tuple(timings), tuple(dict.fromkeys(missing)), left_out)


def _java_commands(folder: Path, seconds: float) -> tuple[list[list[str]], str | None]:
    """Return the commands that time the pools of Java, and why there are none, or None."""
    try:
        class_path = compiled(folder)
    except JavaLeftOut as reason:
        return [], str(reason)
    return java_commands(class_path, seconds), None


def _measured(command: list[str], server: PrivateServer) -> Iterator[Timing | str]:
    """Yield each timing of a process, or the name of a pool whose library is missing."""
    environment = {**os.environ, "POOLSIZE_SURVEY_URL": server.url, **java_environment(server.url)}
    with (
        TemporaryFile("w+") as errors,
        subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, text=True
        ) as process,
    ):
        assert process.stdout is not None
        try:
            for line in process.stdout:
                values = json.loads(line)
                yield values["missing"] if "missing" in values else _timing(values)
            code = process.wait()
        finally:
            process.kill()
        if code:
            errors.seek(0)
            raise WorkFailed(f"timing the pools failed: {_reason(code, server, errors.read())}")


def _timing(values: dict[str, Any]) -> Timing:
    return Timing(**values | {"concurrency": Concurrency(values["concurrency"]), "work": Work(values["work"])})


def _reason(code: int, server: PrivateServer, errors: str) -> str:
    lines = errors.strip().splitlines()
    if (ended := server.reason_of_end()) is not None:
        return f"the server ended: {ended}"
    killed = killed_by(code, server.oom_kills) if code < 0 else None
    return killed or (lines[-1] if lines else f"its process ended with exit code {code}")
