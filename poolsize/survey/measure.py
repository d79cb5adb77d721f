"""The survey: each concurrency of Python, and each work of Java, in a process of its own, on one private server."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any

from poolsize.errors import Interrupted, WorkFailed
from poolsize.survey.java_pools import JavaLeftOut, compiled, java_command, java_environment
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
    left_out: str | None = None
    try:
        with TemporaryDirectory() as folder:
            commands = [[sys.executable, "-P", "-m", "poolsize.survey", each, str(seconds)] for each in Concurrency]
            try:
                class_path = compiled(Path(folder))
                commands += [java_command(class_path, work, seconds) for work in Work]
            except JavaLeftOut as reason:
                left_out = str(reason)
            with private_server(mysqld, server_options, MOST_CONNECTIONS) as server:
                for measured in chain.from_iterable(_measured(command, server) for command in commands):
                    if isinstance(measured, str):
                        missing.append(measured)
                    else:
                        timings.append(measured)
                        on_timing(measured)
    except KeyboardInterrupt:
        raise Interrupted("interrupted; a survey stores nothing: run it again") from None
    return Survey(tuple(timings), tuple(dict.fromkeys(missing)), left_out)


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
