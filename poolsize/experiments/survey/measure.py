"""The survey of pools: each concurrency of Python, and the pools of Java, in processes of their own.

Where no statement runs, each pool of Java has a process: the compiler of a JVM knows the classes of the first pool
better than those of the next. With statements the driver takes nearly all of the time, and all pools of a work share a
process.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile

from sqlalchemy import make_url

from poolsize.errors import BadInput, Interrupted, WorkFailed
from poolsize.experiments.survey.text import survey_progress
from poolsize.experiments.survey.timing import (
    ARTIFACTS,
    JAVA_FOLDER,
    MANY_SECONDS,
    MANY_USERS,
    POOL_SIZE,
    USERS,
    Concurrency,
    Survey,
    Timing,
    Work,
)
from poolsize.server.private_server import PrivateServer, private_server
from poolsize.server.processes import killed_by
from poolsize.sweep.options import SweepOptions

OF_SURVEY = ("mysqld", "server_options", "output")
"""Options that a survey of pools takes."""
MOST_CONNECTIONS = 400
"""Connections that the server must admit: of 100 users without a pool, and as many times those that are ending."""
JAVA_PROGRAMS = ("java", "javac", "mvn")
JAVA_RELEASE = "17"
"""The oldest Java that the survey runs on."""
MAVEN_SECONDS = 240
"""The longest time to wait for the libraries; Maven keeps them for the next time."""
TEST_EACH = "-Dcom.zaxxer.hikari.aliveBypassWindowMs=-1"
"""Makes HikariCP test each connection; by default it tests those that were idle for longer than 500 ms."""


class JavaLeftOut(Exception):
    """The pools of Java can't be timed here; the message is the reason."""


def survey_of_pools(name: str, typed: SweepOptions, seconds: float) -> Survey:
    """Time the pools of a scenario, each timing for so many seconds.

    Raises BadInput for an option of a sweep, WorkFailed where a process of Python fails, and Interrupted for Ctrl-C.
    """
    for option in typed.chosen:
        if option not in OF_SURVEY:
            way_out = "leave it and POOLSIZE_URL out" if option == "url" else "leave it out"
            raise BadInput(f"{typed.named(option)}: {name} times pools on a private server: {way_out}")
    try:
        with (
            private_server(typed.mysqld, typed.server_options or {}, MOST_CONNECTIONS) as server,
            survey_progress() as show,
        ):
            return survey(server, seconds, show)
    except KeyboardInterrupt:
        raise Interrupted("interrupted") from None


def survey(server: PrivateServer, seconds: float, on_timing: Callable[[Timing], None]) -> Survey:
    """Time all pools. on_timing: called with each timing. Raises WorkFailed where a process of Python fails."""
    timings: list[Timing] = []
    missing: list[str] = []
    left_out = None
    for command in python_commands(seconds).values():
        of_process, not_installed = timed(command, server, on_timing)
        timings += of_process
        missing += not_installed
    with TemporaryDirectory() as folder:
        try:
            for command in java_commands(compiled_java(Path(folder)), seconds):
                timings += timed(command, server, on_timing)[0]
        except JavaLeftOut as reason:
            left_out = str(reason)
        except WorkFailed as failure:
            if server.reason_of_end() is not None:
                raise
            left_out = str(failure)
    return Survey(tuple(timings), tuple(dict.fromkeys(missing)), left_out)


def python_commands(seconds: float) -> dict[Concurrency, list[str]]:
    """Return each concurrency of Python -> the command that times its pools."""
    module = [sys.executable, "-P", "-m", "poolsize.experiments.survey.process"]
    return {concurrency: [*module, concurrency, str(seconds)] for concurrency in Concurrency}


def compiled_java(folder: Path) -> str:
    """Compile the survey into a folder, and return its class path. Raises JavaLeftOut where that can't be done."""
    if absent := [program for program in JAVA_PROGRAMS if shutil.which(program) is None]:
        raise JavaLeftOut(f"not installed: {', '.join(absent)}")
    libraries, pom, source = folder / "classpath", str(JAVA_FOLDER / "pom.xml"), str(JAVA_FOLDER / "PoolSurvey.java")
    goal = ["dependency:build-classpath", f"-Dmdep.outputFile={libraries}"]
    _run(["mvn", "--quiet", "--batch-mode", "--file", pom, *goal])
    class_path = libraries.read_text().strip()
    _run(["javac", "--release", JAVA_RELEASE, "-cp", class_path, "-d", str(folder), source])
    return f"{folder}:{class_path}"


def _run(command: list[str]) -> None:
    """Run a command. Raises JavaLeftOut, with the first line of its output that names an error, where it fails."""
    try:
        subprocess.run(
            command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=MAVEN_SECONDS,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise JavaLeftOut(f"{command[0]} did not end within {MAVEN_SECONDS} s") from None
    except subprocess.CalledProcessError as error:
        lines = error.stdout.strip().splitlines() or [f"exit code {error.returncode}"]
        reason = next((line for line in lines if "error" in line.lower()), lines[-1])
        raise JavaLeftOut(f"{command[0]} failed: {reason}") from None


def java_commands(class_path: str, seconds: float) -> list[list[str]]:
    """Return the commands that together time all pools of Java with every work."""
    users, commands = ",".join(map(str, USERS)), []
    for work in Work:
        together = ",".join(ARTIFACTS.values())
        for pools in ARTIFACTS.values() if work in {Work.MOCK, Work.BORROW} else [together]:
            options = [TEST_EACH] if work is Work.PRE_PING else []
            many_users = MANY_USERS if work is Work.SELECT else 0
            arguments = map(str, [pools, work, POOL_SIZE, seconds, users, MANY_SECONDS, many_users])
            commands.append(["java", *options, "-cp", class_path, "PoolSurvey", *arguments])
    return commands


def timed(
    command: list[str], server: PrivateServer, on_timing: Callable[[Timing], None]
) -> tuple[list[Timing], list[str]]:
    """Return the timings of a process, and its pools whose libraries are not installed. Raises WorkFailed."""
    url = make_url(server.url)
    environment = {
        **os.environ,
        "POOLSIZE_SURVEY_URL": server.url,
        "JDBC_URL": f"jdbc:mysql://{url.host}:{url.port}/?useSSL=false&allowPublicKeyRetrieval=true",
        "JDBC_USER": str(url.username),
        "JDBC_PASSWORD": str(url.password),
    }
    timings: list[Timing] = []
    missing: list[str] = []
    with (
        TemporaryFile("w+") as errors,
        subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, text=True
        ) as running,
    ):
        assert running.stdout is not None
        try:
            for line in running.stdout:
                values = json.loads(line)
                if "missing" in values:
                    missing.append(values["missing"])
                else:
                    timings.append(Timing(**values))
                    on_timing(timings[-1])
            code = running.wait()
        finally:
            running.kill()
        if code:
            errors.seek(0)
            raise WorkFailed(f"timing the pools failed: {_reason(code, server, errors.read())}")
    return timings, missing


def _reason(code: int, server: PrivateServer, errors: str) -> str:
    lines = errors.strip().splitlines()
    if (ended := server.reason_of_end()) is not None:
        return f"the server ended: {ended}"
    killed = killed_by(code, server.oom_kills) if code < 0 else None
    return killed or (lines[-1] if lines else f"its process ended with exit code {code}")
