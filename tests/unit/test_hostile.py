"""Files that are not what they say are refused in one line, quickly and within little memory."""

import subprocess
import sys

import pytest

from tests.conftest import ROOT

CHANGED_RUNS = 240


@pytest.mark.long
def test_no_file_breaks_a_command() -> None:
    """Written files and changed runs, more than 300 together."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.hostile", "corpus", str(CHANGED_RUNS)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout.split()[-4]) > 300
