"""Other machines: network namespaces with a cable each to this one, and a server that listens on the cables' ends."""

import fcntl
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from poolsize.server import private_server as servers
from poolsize.server.connection import connect, database_url
from poolsize.server.private_server import PrivateServer
from tests.servers import administered_server

IP = shutil.which("ip") or ""


def ip(*commands: str) -> None:
    """Run commands of the program `ip`, given without its name."""
    for command in commands:
        subprocess.run([IP, *command.split()], check=True)


@contextmanager
def load_machines(number: int) -> Iterator[list[tuple[str, str]]]:
    """Network namespaces, each with a cable of its own to this machine: (name, this machine's address from there)."""
    machines = [(f"poolsize{place}", f"10.213.{place}.1") for place in range(number)]
    with ExitStack() as stack:
        lock = stack.enter_context((Path(tempfile.gettempdir()) / "poolsize-tests-machines").open("w"))
        fcntl.flock(lock, fcntl.LOCK_EX)  # one test at a time has these names and addresses
        for place, (name, address) in enumerate(machines):
            subprocess.run([IP, "netns", "del", name], capture_output=True, check=False)  # of tests that were killed
            made = subprocess.run([IP, "netns", "add", name], capture_output=True, text=True, check=False)
            if made.returncode:
                pytest.skip(f"network namespaces can't be made here: {made.stderr.strip()}")
            stack.callback(subprocess.run, [IP, "netns", "del", name], check=True)
            # The kernel ends a deleted namespace's cable later, when its name may be needed again.
            stack.callback(subprocess.run, [IP, "link", "del", name], check=False, capture_output=True)
            ip(
                f"link add {name} type veth peer name eth0 netns {name}",
                f"address add {address}/24 dev {name}",
                f"link set {name} up",
                f"-n {name} address add 10.213.{place}.2/24 dev eth0",
                f"-n {name} link set eth0 up",
                f"-n {name} link set lo up",
            )
        yield machines


@contextmanager
def server_for(machines: list[tuple[str, str]]) -> Iterator[PrivateServer]:
    """A MariaDB that listens on the cables' ends too, with an account for those who come through them."""
    addresses = ",".join(["127.0.0.1", *(address for _, address in machines)])
    settings = servers._settings
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(servers, "_settings", lambda *a, **k: settings(*a, **k) | {"bind_address": addresses})
        with administered_server(None, {}, 60) as server:
            with connect(database_url(server.url)).cursor() as cursor:
                cursor.execute("CREATE USER loader@'%' IDENTIFIED BY 'remote'")
                cursor.execute("GRANT ALL ON poolsize.* TO loader@'%'")
            yield server
