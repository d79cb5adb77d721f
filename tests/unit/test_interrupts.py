"""Ctrl-C reaches what the tests start, also where the tests themselves run in a shell's background."""

import signal
import subprocess
import sys
import time
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


@pytest.mark.costly
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


ENDS_SLOWLY = """
import sys, threading, time
from poolsize.commands import main
threading.Thread(target=time.sleep, args=(20,)).start()
sys.argv = ["poolsize", *sys.argv[1:]]
main()
"""


@pytest.mark.costly
@pytest.mark.parametrize("words", [["recommend", "--cores", "0"], ["--version"]], ids=" ".join)
def test_ctrl_c_at_the_end_of_a_command_has_no_traceback(words: list[str]) -> None:
    """Python waits at its end for the threads of a command, such as one that waits for a server."""
    with subprocess.Popen(
        [sys.executable, "-c", ENDS_SLOWLY, *words],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as command:
        assert command.stdout is not None
        first = command.stdout.readline()
        time.sleep(0.3)
        command.send_signal(signal.SIGINT)
        output, _ = command.communicate(timeout=10)
    assert first.startswith("poolsize")
    assert output == ""
    assert command.returncode == -signal.SIGINT
