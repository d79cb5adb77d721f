"""The first of the 200 kills of tests/kills.py."""

import subprocess
import sys

import pytest

from tests.conftest import ROOT, in_ci

pytestmark = [pytest.mark.server, pytest.mark.slow]


@pytest.mark.timeout(900)
@pytest.mark.parametrize("kills", in_ci(["3", "20"], "3"))
def test_nothing_is_lost_and_nothing_stays(kills: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.kills", kills], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
