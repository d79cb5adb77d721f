"""The pools of the published survey, in Java: compiled here, and timed in processes of their own.

Where no statement runs, each pool has a process: the compiler of a JVM knows the classes of the first pool better than
those of the next. With statements the driver takes nearly all of the time, and all pools of a work share a process.
"""

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from sqlalchemy import make_url

from poolsize.experiments.survey.timing import ARTIFACTS, JAVA_FOLDER, MANY_SECONDS, MANY_USERS, POOL_SIZE, USERS, Work

PROGRAMS = ("java", "javac", "mvn")
RELEASE = "17"
"""The oldest Java that the survey runs on."""
MAVEN_SECONDS = 240
"""The longest time to wait for the libraries; Maven keeps them for the next time."""
WITHOUT_STATEMENTS = {Work.MOCK, Work.BORROW}
TEST_EACH = "-Dcom.zaxxer.hikari.aliveBypassWindowMs=-1"
"""Makes HikariCP test each connection; by default it tests those that were idle for longer than 500 ms."""


class JavaLeftOut(Exception):
    """The pools of Java can't be timed here; the message is the reason."""


def compiled(folder: Path) -> str:
    """Compile the survey into a folder, and return its class path. Raises JavaLeftOut where that can't be done."""
    if absent := [program for program in PROGRAMS if shutil.which(program) is None]:
        raise JavaLeftOut(f"not installed: {', '.join(absent)}")
    libraries = folder / "classpath"
    goal = ["dependency:build-classpath", f"-Dmdep.outputFile={libraries}"]
    _run(["mvn", "--quiet", "--batch-mode", "--file", str(JAVA_FOLDER / "pom.xml"), *goal])
    class_path = libraries.read_text().strip()
    _run(["javac", "--release", RELEASE, "-cp", class_path, "-d", str(folder), str(JAVA_FOLDER / "PoolSurvey.java")])
    return f"{folder}:{class_path}"


def java_commands(class_path: str, seconds: float) -> dict[str, list[str]]:
    """Return name of a process -> its command; together they time all pools with every work.

    seconds: of each timing.
    """
    pools = tuple(ARTIFACTS.values())
    return {
        f"Java, {work}: {', '.join(together)}": _command(class_path, together, work, seconds)
        for work in Work
        for together in ([(pool,) for pool in pools] if work in WITHOUT_STATEMENTS else [pools])
    }


def _command(class_path: str, pools: tuple[str, ...], work: Work, seconds: float) -> list[str]:
    options = [TEST_EACH] if work is Work.PRE_PING else []
    many_users = MANY_USERS if work is Work.SELECT else 0
    numbers = [str(POOL_SIZE), str(seconds), ",".join(map(str, USERS)), str(MANY_SECONDS), str(many_users)]
    return ["java", *options, "-cp", class_path, "PoolSurvey", ",".join(pools), work, *numbers]


def java_environment(server_url: str) -> Mapping[str, str]:
    """Return the environment variables with which the Java process connects."""
    url = make_url(server_url)
    return {
        "JDBC_URL": f"jdbc:mysql://{url.host}:{url.port}/?useSSL=false&allowPublicKeyRetrieval=true",
        "JDBC_USER": str(url.username),
        "JDBC_PASSWORD": str(url.password),
    }


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
