"""`poolsize observe --url` as people give it: at each level of privileges, ended early, and on a server that stops."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from sqlalchemy import URL

from poolsize.observe.store import load_observation
from poolsize.server.connection import connect
from poolsize.server.private_server import PrivateServer
from tests.conftest import FLAVORS, in_ci, measured_again, mysqld
from tests.observe.test_server import COUNTING, PRIVILEGES, account, is_mysql, three_connections
from tests.servers import administered_server

pytestmark = pytest.mark.server

FORMS = {"alone": (), "process": ("--why",), "schema": ("--json",), "all": ("--json",)}
SIGNALS = {"interrupted": signal.SIGINT, "terminated": signal.SIGTERM}
DEADLINE = 90


@dataclass(frozen=True)
class Ran:
    """What a command printed, its exit code, and its `--output`."""

    code: int
    out: str
    err: str
    path: Path


def started(url: URL, folder: Path, name: str, *arguments: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "poolsize", "observe", *arguments, "--output", f"{name}.jsonl"]
    environment = os.environ | {"POOLSIZE_URL": url.render_as_string(hide_password=False)}
    with (folder / f"{name}.err").open("w") as errors:
        return subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True)


def ended(process: "subprocess.Popen[str]", folder: Path, name: str) -> Ran:
    out, _ = process.communicate(timeout=DEADLINE)
    return Ran(process.returncode, out, (folder / f"{name}.err").read_text(), folder / f"{name}.jsonl")


def wait_for_samples(folder: Path, name: str) -> None:
    """Wait until a command without all privileges has said so, and has sampled."""
    deadline = time.monotonic() + DEADLINE
    while "The time in use is " not in (folder / f"{name}.err").read_text() and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(2.5)


def all_ran(server: PrivateServer, folder: Path) -> Mapping[str, Ran]:
    """Run the command at each level, and let signals end two others, while three connections of `app` are open."""
    urls = {name: account(server, name, grants) for name, grants in PRIVILEGES.items()}
    ending = {name: account(server, name, PRIVILEGES["process"]) for name in SIGNALS}
    with three_connections(account(server, "app", ("ALL ON store.*",))):
        ran = {name: started(url, folder, name, "--for", "10s", *FORMS[name]) for name, url in urls.items()}
        ran |= {name: started(url, folder, name, "--json") for name, url in ending.items()}
        for name, number in SIGNALS.items():
            wait_for_samples(folder, name)
            ran[name].send_signal(number)
        return {name: ended(process, folder, name) for name, process in ran.items()}


def require_answers(ran: Mapping[str, Ran], seeing: set[str]) -> None:
    """Require what each level answers. seeing: the levels that see the connections of `app`."""
    for name, each in ran.items():
        assert each.code == 0, (name, each.err)
        assert "secret" not in each.out + each.err + each.path.read_text()
        assert all(line.startswith("poolsize: ") for line in each.err.splitlines())
        observation = load_observation(each.path)
        assert ("app" in {span.pool for span in observation.spans}) == (name in seeing)
        assert observation.server
    assert ran["alone"].out.startswith("Server")
    assert "GRANT " in ran["alone"].err
    text = " ".join(ran["process"].out.split())
    assert "oldest idle" in text
    assert " app 127.0.0.1 " in text
    assert "of 100 connections, 0 refused, 0 aborted." in text
    for name in ("schema", "all", *SIGNALS):
        answer = json.loads(ran[name].out)
        in_use = {pool["name"]: pool["in_use_mean"] for pool in answer["pools"]}
        assert in_use.get("app") == (pytest.approx(2, rel=0.1) if name in seeing else None)
        assert answer["server"][0]["connected_max"] >= 3
        assert answer["server"][0]["max_connections"] == 100


@pytest.mark.parametrize("server", in_ci(FLAVORS, "mysql"), indirect=True)
@measured_again
def test_each_level_answers_what_it_may_see(server: PrivateServer, tmp_path: Path) -> None:
    levels = {"process", "schema", "all"} if is_mysql(server) else {"process", "all"}
    require_answers(all_ran(server, tmp_path), {*levels, *SIGNALS})


@pytest.mark.experiment
@measured_again
@pytest.mark.parametrize(
    ("options", "levels"),
    [(COUNTING, {"process", "schema", "all"}), ({"userstat": "ON"}, {"process", "all"})],
    ids=["performance_schema", "userstat"],
)
def test_each_level_answers_where_mariadb_counts(tmp_path: Path, options: dict[str, str], levels: set[str]) -> None:
    with administered_server(None, options, 100) as server:
        require_answers(all_ran(server, tmp_path), {*levels, *SIGNALS})


@pytest.mark.experiment
@pytest.mark.parametrize("flavor", ["mariadb", "mysql"])
def test_a_server_that_stops_ends_the_command_with_its_answer(tmp_path: Path, flavor: str) -> None:
    with administered_server(mysqld(flavor), {}, 100) as server:
        app = account(server, "app", ("ALL ON store.*",))
        url = account(server, "process", PRIVILEGES["process"])
        with closing(connect(app)):
            process = started(url, tmp_path, "stopped", "--for", "20s", "--json")
            wait_for_samples(tmp_path, "stopped")
            os.kill(server.pid, signal.SIGTERM)
            ran = ended(process, tmp_path, "stopped")
    assert ran.code == 1, ran.err
    assert "the connection was lost" in ran.err
    assert "the server went away; the answer is of the time before" in ran.err
    assert [pool["name"] for pool in json.loads(ran.out)["pools"]] == ["app"]
