"""The survey: each concurrency of Python, and the pools of Java, in processes of their own."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any

from poolsize.errors import Interrupted, WorkFailed
from poolsize.experiments.survey.java_pools import JavaLeftOut, compiled, java_commands, java_environment
from poolsize.experiments.survey.store import StoredSurvey, SurveyPart
from poolsize.experiments.survey.timing import Concurrency, Survey, Timing, Work
from poolsize.server.private_server import PrivateServer, private_server
from poolsize.server.processes import killed_by

MOST_CONNECTIONS = 400
"""Connections that the server must admit: of 100 users without a pool, and as many times those that are ending."""
PYTHON_PROCESSES = {f"Python, {concurrency}": concurrency for concurrency in Concurrency}
"""Name of each process of Python -> its concurrency."""


def survey(stored: StoredSurvey, on_part: Callable[[SurveyPart], None], on_timing: Callable[[Timing], None]) -> Survey:
    """Time all pools whose process has not ended yet, and return the timings of all.

    stored: the survey so far. on_part: called with the timings of each process that ends. on_timing: called with each
    timing. Raises WorkFailed where a process fails, and Interrupted for Ctrl-C.
    """
    parts, setting = {part.process: part for part in stored.parts}, stored.setting
    program = Path(setting.mysqld) if setting.mysqld else None
    try:
        with (
            private_server(program, setting.server_options, MOST_CONNECTIONS) as server,
            TemporaryDirectory() as folder,
        ):
            commands, left_out = _commands(Path(folder), setting.seconds)
            for process, command in commands.items():
                if process in parts:
                    continue
                try:
                    parts[process] = _part(process, command, server, on_timing)
                except WorkFailed as failure:
                    if server.reason_of_end() is not None or process in PYTHON_PROCESSES:
                        raise
                    left_out = str(failure)
                    break
                on_part(parts[process])
    except KeyboardInterrupt:
        raise Interrupted("interrupted") from None
    timings = tuple(timing for part in parts.values() for timing in part.timings)
    missing = tuple(dict.fromkeys(name for part in parts.values() for name in part.missing))
    return Survey(timings, missing, left_out)


def _commands(folder: Path, seconds: float) -> tuple[dict[str, list[str]], str | None]:
    """Return name of a process -> the command that times its pools, and why those of Java are left out, or None.

    seconds: of each timing.
    """
    python = {
        process: [sys.executable, "-P", "-m", "poolsize.experiments.survey", concurrency, str(seconds)]
        for process, concurrency in PYTHON_PROCESSES.items()
    }
    try:
        return python | java_commands(compiled(folder), seconds), None
    except JavaLeftOut as reason:
        return python, str(reason)


def _part(process: str, command: list[str], server: PrivateServer, on_timing: Callable[[Timing], None]) -> SurveyPart:
    """Return what a process times. Raises WorkFailed where it fails."""
    timings: list[Timing] = []
    missing: list[str] = []
    for measured in _measured(command, server):
        if isinstance(measured, str):
            missing.append(measured)
        else:
            timings.append(measured)
            on_timing(measured)
    return SurveyPart(process, tuple(timings), tuple(missing))


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
