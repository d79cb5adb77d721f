"""Ctrl-C reaches what the tests start, also where the tests themselves run in a shell's background."""

import subprocess
import sys

from tests.conftest import ROOT

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
