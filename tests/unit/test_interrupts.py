"""Ctrl-C reaches what the tests start, also where the tests themselves run in a shell's background."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT, Command

CHILD = "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
IN_THE_BACKGROUND = f"""
import signal, subprocess, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
import tests.conftest
subprocess.run([sys.executable, "-c", {CHILD!r}], check=True)
"""


def test_children_of_a_background_job_can_be_interrupted() -> None:
    done = subprocess.run(
        [sys.executable, "-c", IN_THE_BACKGROUND], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "True\n"


@pytest.mark.long
@pytest.mark.parametrize(
    "words", [["sweep", "--url", "mysql://u@127.0.0.1:1/", "--pool-sizes", "1"], ["application", "check", "a.toml"]],
    ids=" ".join,
)  # fmt: skip
def test_a_command_gives_sigterm_back(words: list[str], tmp_path: Path, poolsize_here: Command) -> None:
    (tmp_path / "a.toml").write_text(
        'locustfile = "a.py"\nhost = "http://127.0.0.1:1"\nstart = "true"\nready = "http://127.0.0.1:1/"\n'
    )
    (tmp_path / "a.py").write_text("from locust import HttpUser\nclass Shop(HttpUser):\n    pass\n")
    before = signal.getsignal(signal.SIGTERM)
    done = poolsize_here(*words)
    assert done.returncode
    assert signal.getsignal(signal.SIGTERM) is before, done.stderr
