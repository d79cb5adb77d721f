"""Files of others: only regular files are read, and a parser that a file exhausts costs little."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from poolsize import parser_process
from poolsize.errors import BadInput
from poolsize.files import content
from poolsize.parser_process import CPU_SECONDS, MEMORY_BYTES, parsed
from tests.conftest import Command
from tests.hostile_files import EVERY_READER


def _fifo(path: Path) -> str:
    os.mkfifo(path)
    return "it is a FIFO"


def _link_to_fifo(path: Path) -> str:
    os.mkfifo(path.with_name("fifo"))
    path.symlink_to("fifo")
    return "it is a FIFO"


def _socket(path: Path) -> str:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))
    return "it is a socket"


def _endless(path: Path) -> str:
    path.symlink_to("/dev/zero")
    return "it is a device"


@pytest.mark.parametrize("make", [_fifo, _link_to_fifo, _socket, _endless])
@pytest.mark.parametrize("command", EVERY_READER)
def test_no_reader_waits_for_what_is_no_regular_file(
    poolsize_here: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    make: Callable[[Path], str],
) -> None:
    """A reader that opened the path would wait for ever, or read without end."""
    (tmp_path / "pool.py").write_text("create_engine(u)")
    monkeypatch.chdir(tmp_path)  # the path of a socket must be short
    kind = make(Path("strange.py"))
    done = poolsize_here(*command.replace("{}", "strange.py").split())
    assert done.returncode == 2
    assert done.stderr.startswith("poolsize: error: ")
    assert done.stderr.count("\n") == 1
    assert kind in done.stderr


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc on this machine")
def test_a_file_of_unknown_length_is_read_up_to_the_limit() -> None:
    """Files of /proc have a length of 0."""
    assert content(Path("/proc/self/status"), 2**20).startswith(b"Name:")
    with pytest.raises(BadInput, match="is longer than 10 bytes"):
        content(Path("/proc/self/status"), 10)


def test_a_path_that_becomes_a_fifo_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is looked at again once it is open."""
    path = tmp_path / "x"
    path.write_text("")
    regular = path.stat()
    path.unlink()
    os.mkfifo(path)
    monkeypatch.setattr(Path, "stat", lambda _: regular)
    with pytest.raises(BadInput, match="it is a FIFO"):
        content(path, 10)


def _die() -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


def _spin() -> Any:
    while True:
        pass


def _allocate() -> Any:
    return [bytearray(2**20) for _ in range(MEMORY_BYTES // 2**20)]


def _fail() -> Any:
    raise AttributeError("of a parser")


def _nest() -> Any:
    return _nest()


def _refuse() -> Any:
    raise BadInput("this is not YAML: line 3\x1b[31m")


@pytest.mark.costly
@pytest.mark.parametrize(
    ("parse", "line"),
    [
        pytest.param(_spin, f"x.yml can't be parsed within {CPU_SECONDS} s of CPU time", marks=pytest.mark.long),
        (_allocate, "x.yml can't be parsed within 3 s of CPU time, 128 MiB and a result of 1 MiB: "),
        (_die, "x.yml can't be parsed within"),
        (lambda: "x" * 2_000_000, "x.yml can't be parsed within"),
        (lambda: ["no number"], "x.yml can't be parsed within"),
        (_fail, "x.yml: its parser fails with AttributeError"),
        (_nest, "x.yml: its values are nested too deeply"),
        (_refuse, "x.yml: this is not YAML: line 3\x1b[31m"),
    ],
)
def test_a_parser_that_breaks_is_a_refusal(parse: Callable[[], Any], line: str) -> None:
    children = set(psutil.Process().children())
    with pytest.raises(BadInput) as refused:
        parsed(parse, list[int], "x.yml")
    assert str(refused.value).startswith("x.yml")
    assert line in str(refused.value)
    assert set(psutil.Process().children()) <= children


def test_a_parser_that_waits_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parser_process, "WALL_SECONDS", 0.5)
    with pytest.raises(BadInput, match="can't be parsed within"):
        parsed(lambda: time.sleep(200), list[int], "x.yml")


def test_a_parser_s_result_comes_back() -> None:
    assert parsed(lambda: {"a": [1, "é"]}, dict[str, list[int | str]], "x.yml") == {"a": [1, "é"]}


@pytest.mark.costly
def test_many_pools_are_counted_and_the_first_are_shown(poolsize_here: Command, tmp_path: Path) -> None:
    (tmp_path / "db.py").write_text("create_engine(u)\n" * 1300)
    text = poolsize_here("config", "--check", "db.py").stdout
    assert text.count("SQLAlchemy (db.py") == 100
    assert "The file has 1,200 more pools, which poolsize does not check." in text
    (values,) = json.loads(poolsize_here("config", "--check", "db.py", "--json").stdout)["files"]
    assert (len(values["pools"]), values["more_pools"]) == (100, 1200)


def test_many_settings_that_a_library_does_not_read_are_refused(poolsize_here: Command, tmp_path: Path) -> None:
    (tmp_path / "db.py").write_text("create_engine(u, **{" + "'poolSize': 1, " * 21 + "})")
    done = poolsize_here("config", "--check", "db.py")
    assert (done.returncode, done.stdout) == (2, "")
    assert "does not read 21 settings" in done.stderr


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.yml", "password: 'Secret9\n"),
        ("a.yml", "password: Secret9: x\n"),
        ("a.cnf", "password = Secret9\n"),
        ("a.cnf", "[client]\n= Secret9\n"),
        ("a.py", "PASSWORD = 'Secret9\n"),
        ("a.properties", "password=Secret9\\u12\n"),
    ],
)
def test_an_error_quotes_no_line_of_a_file(poolsize_here: Command, tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    done = poolsize_here("config", "--check", name)
    assert done.returncode == 2
    assert "Secret9" not in done.stderr


UNDER_LOCUST = """
import gevent, locust, os, posix, subprocess, sys
from pathlib import Path
from poolsize.errors import BadInput
from poolsize.toml_file import read_toml

assert os.fork is not posix.fork  # gevent's
ticks = []
gevent.spawn(lambda: [(ticks.append(1), gevent.sleep(0.01)) for _ in range(10_000)])
other = subprocess.Popen([sys.executable, "-c", ""])
for _ in range(20):
    assert read_toml("x", Path("good.toml"))[0] == {"a": 1}
before = len(ticks)
try:
    read_toml("x", Path("bad.toml"))
except BadInput as error:
    print(error)
assert len(ticks) > before + 10  # the users go on meanwhile
assert other.wait() == 0
"""


@pytest.mark.long
def test_a_parser_runs_in_a_child_under_locust_too(tmp_path: Path) -> None:
    (tmp_path / "good.toml").write_text("a = 1")
    (tmp_path / "bad.toml").write_text("a." * 200_000 + "b = 1")
    done = subprocess.run(
        [sys.executable, "-c", UNDER_LOCUST], cwd=tmp_path, capture_output=True, text=True, timeout=200, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "can't be parsed within" in done.stdout


@pytest.mark.parametrize("words", [["import", "LONG", "--output", "LONG.csv"], ["sweep", "--workload", "LONG.py"]])
def test_a_name_that_is_too_long_is_refused(poolsize_here: Command, words: list[str]) -> None:
    done = poolsize_here(*(word.replace("LONG", "x" * 300) for word in words))
    assert done.returncode == 2
    assert "File name too long" in done.stderr
