"""The README: every command in it works, and every output in it is what the command prints."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from poolsize.target.connection import connect, database_url
from poolsize.target.private_server import PrivateServer
from tests.conftest import ROOT, Command

BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
OTHERWISE = {"--resume", "--expect-workers", "--replay"}
"""Options of sweeps that other tests run."""
LIGHT = ("--think-time", "20ms")
"""So that a sweep which is not there to be measured leaves the processors to other tests."""
HERE = str(Path(sys.executable).parent)


def blocks(language: str) -> list[str]:
    return [text for kind, text in BLOCKS if kind == language]


def shell_lines(beginning: str) -> list[str]:
    lines = [line.split("  #")[0].strip() for text in blocks("sh") for line in text.splitlines()]
    return [line for line in lines if line.startswith(beginning)]


def environment() -> dict[str, str]:
    """That of a user with poolsize on the path."""
    return os.environ | {"PATH": f"{HERE}{os.pathsep}{os.environ['PATH']}"}


@pytest.mark.parametrize("text", blocks("console"), ids=lambda text: text.splitlines()[0])
def test_a_command_prints_what_the_readme_shows(text: str) -> None:
    command, _, output = text.partition("\n")
    done = subprocess.run(
        shlex.split(command.removeprefix("$ ")),
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == output


@pytest.mark.parametrize("line", shell_lines("scripts/"))
def test_a_script_is_there(line: str) -> None:
    assert os.access(ROOT / line.split(maxsplit=1)[0], os.X_OK)


def test_every_kind_of_block_and_command_is_checked() -> None:
    assert {kind for kind, _ in BLOCKS} == {"sh", "console", "sql", "python"}
    commands = ("scripts/", "poolsize sweep", *DRAWN, "poolsize notebook", "locust ", *SERVERLESS)
    known = (*commands, "export POOLSIZE_URL=", "unset POOLSIZE_URL")
    assert all(line.startswith(known) for line in shell_lines("") if line)


SERVERLESS = ("poolsize recommend", "poolsize sweep --replay", "poolsize import", "poolsize report")
DRAWN = ("poolsize analyze", "poolsize compare")


@pytest.mark.parametrize("line", [line for beginning in SERVERLESS for line in shell_lines(beginning)])
def test_what_needs_no_server_works_as_shown(line: str, tmp_path: Path) -> None:
    seconds = "\n".join(f"[ {second}s ] thds: 8 tps: 100.00 lat (ms,95%): 9.00 err/s: 0.00" for second in range(9))
    (tmp_path / "threads-8.log").write_text(seconds)
    words = [str(ROOT / word) if word.startswith("data/") else word for word in shlex.split(line)]
    words = [word.replace("*", "8") for word in words]
    subprocess.run(words, cwd=tmp_path, env=environment(), check=True, capture_output=True)


@pytest.mark.parametrize("line", [line for beginning in DRAWN for line in shell_lines(beginning)])
def test_what_draws_does(line: str, tmp_path: Path) -> None:
    words = [str(ROOT / word) if word.startswith("data/") else word for word in shlex.split(line)]
    subprocess.run(words, cwd=tmp_path, env=environment(), check=True, capture_output=True)
    assert list(tmp_path.glob("*.png"))


def test_the_plots_work_as_shown(tmp_path: Path) -> None:
    (program,) = [text for text in blocks("python") if "plot_throughput" in text]
    program = program.replace('"data/', f'"{ROOT}/data/')
    environ = os.environ | {"MPLBACKEND": "agg"}
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=environ, check=True)
    assert (tmp_path / "knee.svg").read_text().count("<path") > 10


def test_the_notebooks_that_it_names_are_there() -> None:
    named = re.findall(r"\]\(([^)#]+)\)", (ROOT / "README.md").read_text())
    assert [path for path in named if not path.startswith("https:") and not (ROOT / path).exists()] == []


def test_the_python_api_works_as_shown() -> None:
    (program,) = [text for text in blocks("python") if "answer.range" in text]
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    size, low, high, p99 = done.stdout.replace("(", "").replace(")", "").replace(",", "").split()
    assert size == "2"
    assert int(low) <= 2 <= int(high)
    assert float(p99) > 1


@pytest.mark.server
def test_the_sweeps_work_with_the_account_the_readme_makes(
    server: PrivateServer, poolsize: Command, tmp_path: Path
) -> None:
    (grant,) = blocks("sql")
    with connect(database_url(server.url)) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT VERSION()")
        (version,) = cursor.fetchone()
        for statement in grant.replace("'poolsize'@'%'", "reader@'127.0.0.1'").split(";"):
            if statement.strip():
                cursor.execute(statement)
    url = f"mysql://reader:PASSWORD@127.0.0.1:{database_url(server.url).port}/"
    (workload,) = [text for text in blocks("python") if "PoolUser" in text]
    (tmp_path / "checkout.py").write_text(workload)
    lines = [line for line in shell_lines("poolsize sweep") if not OTHERWISE & set(line.split())]
    for place, line in enumerate(lines if "MariaDB" in version else lines[:1]):
        options = shlex.split(line)[2:]
        if "--pool-sizes" in options:
            options[options.index("--pool-sizes") + 1] = "1,2"
        else:
            options += ["--pool-sizes", "1,2"]
        if not {"--think-time", "--rate"} & set(options):
            options += LIGHT
        short = ("--step-time", "1s", "--warm-up", "0", "--output", f"{place}.jsonl")
        done = poolsize("sweep", *options, *short, url=None if "--server-option" in options else url)
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(("Pool size: ", "No pool size"))


@pytest.mark.server
@pytest.mark.parametrize("line", [line for line in shell_lines("locust") if "--worker" not in line])
def test_plain_locust_works_as_shown(server: PrivateServer, line: str, tmp_path: Path) -> None:
    words = [str(ROOT / word) if word.startswith("locustfiles/") else word for word in shlex.split(line)]
    words[words.index("--pool-sizes") + 1] = "1,2"
    words[words.index("--step-time") + 1] = "1s"
    subprocess.run(
        [*words, *LIGHT],
        cwd=tmp_path,
        env=environment() | {"POOLSIZE_URL": server.url},
        check=True,
        capture_output=True,
    )
    assert list(tmp_path.glob("*.jsonl"))
