"""The first kill of tests/kills.py."""

import subprocess
import sys

import pytest

from tests.conftest import ROOT

pytestmark = [pytest.mark.server, pytest.mark.slow]


@pytest.mark.timeout(900)
def test_nothing_is_lost_and_nothing_stays() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.kills", "1"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
