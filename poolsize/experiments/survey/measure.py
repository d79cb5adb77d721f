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
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile

from sqlalchemy import make_url

from poolsize.errors import BadInput, Interrupted, PoolsizeError, WorkFailed
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
    SurveyPart,
    SurveySetting,
    SurveyWriter,
    Timing,
    Work,
    load_survey,
)
from poolsize.runs.store import parameter_words
from poolsize.server.private_server import PrivateServer, private_server
from poolsize.server.processes import killed_by
from poolsize.sweep.opening import new_file, require_given_again, require_server_options
from poolsize.sweep.options import SweepOptions

OF_SURVEY = ("mysqld", "server_options", "output", "resume")
"""Options that a survey of pools takes."""
MOST_CONNECTIONS = 400
"""Connections that the server must admit: of 100 users without a pool, and as many times those that are ending."""
PYTHON_PROCESSES = {f"Python, {concurrency}": concurrency for concurrency in Concurrency}
"""Name of each process of Python -> its concurrency."""
JAVA_PROGRAMS = ("java", "javac", "mvn")
JAVA_RELEASE = "17"
"""The oldest Java that the survey runs on."""
MAVEN_SECONDS = 240
"""The longest time to wait for the libraries; Maven keeps them for the next time."""
TEST_EACH = "-Dcom.zaxxer.hikari.aliveBypassWindowMs=-1"
"""Makes HikariCP test each connection; by default it tests those that were idle for longer than 500 ms."""


class JavaLeftOut(Exception):
    """The pools of Java can't be timed here; the message is the reason."""


def survey_of_pools(name: str, typed: SweepOptions, command: str, seconds: float) -> tuple[Survey, Path]:
    """Time the pools, or those that are missing in the file of an interrupted survey.

    Return the survey and the path of its file. command: of the scenario, without its options. seconds: of each timing.
    Raises BadInput for an option of a sweep, and an error that names the command that resumes.
    """
    for option in typed.chosen:
        if option not in OF_SURVEY:
            way_out = "leave it and POOLSIZE_URL out" if option == "url" else "leave it out"
            raise BadInput(f"{typed.named(option)}: {name} times pools on a private server: {way_out}")
    if typed.resume:
        begun, path = _resumed(typed, typed.resume, seconds), typed.resume
    else:
        mysqld = str(typed.mysqld) if typed.mysqld else None
        begun, path = Survey(SurveySetting(seconds, mysqld, typed.server_options or {})), new_file(typed.output, name)
    setting = begun.setting
    with SurveyWriter(path, setting, resume=typed.resume is not None) as writer, survey_progress() as show:
        try:
            return survey(begun, writer.append, show), path
        except PoolsizeError as error:
            if load_survey(path).parts:
                named = {"resume": str(path), "mysqld": setting.mysqld, "server_options": setting.server_options}
                words = parameter_words({name: value for name, value in named.items() if value})
                error.args = (f"{error}; the timings of finished processes are kept: {' '.join([command, *words])}",)
            elif typed.resume is None:
                path.unlink()
            raise


def _resumed(typed: SweepOptions, path: Path, seconds: float) -> Survey:
    """Return the survey so far. Raises BadInput for options that it did not begin with."""
    if typed.output is not None:
        raise BadInput(f"{typed.named('output')}: a resumed survey keeps its settings: leave it out")
    begun = load_survey(path)
    setting = begun.setting
    if setting.seconds != seconds:
        raise BadInput(
            f"{typed.named('resume')} has timings of {setting.seconds:g} s, and these would last {seconds:g} s: add or "
            "leave out --full"
        )
    require_given_again(typed, "mysqld", setting.mysqld)
    if typed.mysqld and str(typed.mysqld) != setting.mysqld:
        program = setting.mysqld or "the program that poolsize finds"
        raise BadInput(f"{typed.named('mysqld')}: the survey began with {program}: use that, or start a new survey")
    require_server_options(typed, setting.server_options)
    return begun


def survey(begun: Survey, on_part: Callable[[SurveyPart], None], on_timing: Callable[[Timing], None]) -> Survey:
    """Time all pools whose process has not ended yet, and return the survey with the timings of all.

    begun: the survey so far. on_part: called with the timings of each process that ends. on_timing: called with each
    timing. Raises WorkFailed where a process fails, and Interrupted for Ctrl-C.
    """
    parts, setting = {part.process: part for part in begun.parts}, begun.setting
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
    return replace(begun, parts=tuple(parts.values()), java_left_out=left_out)


def _commands(folder: Path, seconds: float) -> tuple[dict[str, list[str]], str | None]:
    """Return name of a process -> the command that times its pools, and why those of Java are left out, or None.

    seconds: of each timing.
    """
    python = {
        process: [sys.executable, "-P", "-m", "poolsize.experiments.survey.process", concurrency, str(seconds)]
        for process, concurrency in PYTHON_PROCESSES.items()
    }
    try:
        return python | java_commands(compiled_java(folder), seconds), None
    except JavaLeftOut as reason:
        return python, str(reason)


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


def java_commands(class_path: str, seconds: float) -> dict[str, list[str]]:
    """Return name of a process -> its command; together they time all pools of Java with every work.

    seconds: of each timing.
    """
    users, commands = ",".join(map(str, USERS)), {}
    for work in Work:
        together = ", ".join(ARTIFACTS.values())
        for pools in ARTIFACTS.values() if work in {Work.MOCK, Work.BORROW} else [together]:
            options = [TEST_EACH] if work is Work.PRE_PING else []
            many_users = MANY_USERS if work is Work.SELECT else 0
            arguments = [pools.replace(", ", ","), work, POOL_SIZE, seconds, users, MANY_SECONDS, many_users]
            commands[f"Java, {work}: {pools}"] = [
                "java", *options, "-cp", class_path, "PoolSurvey", *map(str, arguments),
            ]  # fmt: skip
    return commands


def _part(process: str, command: list[str], server: PrivateServer, on_timing: Callable[[Timing], None]) -> SurveyPart:
    """Return what a process times. Raises WorkFailed where it fails."""
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
    return SurveyPart(process, tuple(timings), tuple(missing))


def _reason(code: int, server: PrivateServer, errors: str) -> str:
    lines = errors.strip().splitlines()
    if (ended := server.reason_of_end()) is not None:
        return f"the server ended: {ended}"
    killed = killed_by(code, server.oom_kills) if code < 0 else None
    return killed or (lines[-1] if lines else f"its process ended with exit code {code}")
