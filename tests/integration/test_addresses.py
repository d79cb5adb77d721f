"""Servers at an IPv6 address, and at a name with two addresses."""

import subprocess
from pathlib import Path

import pytest

from poolsize import load_run
from poolsize.server import private_server as servers
from poolsize.server.connection import connect, database_url
from tests.conftest import POOLSIZE, Command, assert_counted_steps, assert_swept
from tests.machines import IP, load_machines, server_for
from tests.servers import administered_server

pytestmark = pytest.mark.server


def test_a_server_at_an_ipv6_address_is_swept(
    poolsize: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = servers._settings
    monkeypatch.setattr(servers, "_settings", lambda *a, **k: settings(*a, **k) | {"bind_address": "127.0.0.1,::1"})
    with administered_server(None, {}, 60) as server:
        with connect(database_url(server.url)).cursor() as cursor:
            cursor.execute("CREATE USER loader@'::1' IDENTIFIED BY 'remote'")
            cursor.execute("GRANT ALL ON poolsize.* TO loader@'::1'")
        url = f"mysql://loader:remote@[::1]:{database_url(server.url).port}/"
        done = poolsize(
            "sweep", "--workload", "select_one", "--pool-sizes", "1,2", "--users", "8", "--step-time", "1s",
            "--warm-up", "1s", "--output", "a.jsonl", url=url,
        )  # fmt: skip
        assert_swept(done)
        run = load_run(tmp_path / "a.jsonl")
        assert_counted_steps(run)
        assert run.setting.given_host == f"[::1]:{database_url(server.url).port}"
        assert all("process_cpu" in step.server for step in run.steps)  # it is known to run on this machine


@pytest.mark.skipif(not IP, reason="needs the command ip")
def test_of_a_name_with_two_addresses_the_one_that_answers_counts() -> None:
    """The first address refuses connections, as a replaced host's may."""
    with load_machines(1) as machines, server_for(machines) as server:
        name, address = machines[0]
        hosts = Path("/etc/netns") / name / "hosts"
        hosts.parent.mkdir(parents=True, exist_ok=True)
        try:
            hosts.write_text(f"127.0.0.1 localhost\n10.213.0.2 db.example\n{address} db.example\n")
            url = f"mysql://loader:remote@db.example:{database_url(server.url).port}/?ssl-mode=off"
            done = subprocess.run(
                [IP, "netns", "exec", name, POOLSIZE, "recommend", "--cores", "2", "--url", url],
                capture_output=True, text=True, timeout=60, check=False,
            )  # fmt: skip
        finally:
            hosts.unlink()
            hosts.parent.rmdir()
    assert done.returncode == 0, done.stderr
    assert "MariaDB" in done.stdout
