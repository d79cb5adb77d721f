"""The built wheel: carries the locustfiles, notebooks and published data, and works outside a checkout."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.conftest import ROOT


@pytest.mark.server
def test_a_wheel_works_outside_a_checkout(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path), str(ROOT)],
        check=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    installed = tmp_path / "installed"
    zipfile.ZipFile(wheel).extractall(installed)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    program = "import sys; from poolsize.commands import main; sys.argv[0] = 'poolsize'; main()"
    shipped = installed / "poolsize/shipped"
    sweep = (
        "sweep",
        "--workload",
        "select_one",
        "--pool-sizes",
        "1,2",
        "--step-time",
        "1s",
        "--warm-up",
        "0",
        "--think-time",
        "20ms",
    )
    report = ("report", str(shipped / "data/examples/scan-mariadb.jsonl"), "--output", "report.html")
    for command in (sweep, report):
        done = subprocess.run(
            [sys.executable, "-c", program, *command],
            cwd=elsewhere, env=os.environ | {"PYTHONPATH": str(installed)}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    assert list(elsewhere.glob("data/runs/*-select_one.jsonl"))
    assert "2 connections" in (elsewhere / "report.html").read_text()
    for name in ("locustfiles/insert.py", "notebooks/compare.ipynb", "data/published/published_curves.csv"):
        assert (shipped / name).is_file()
    assert list((shipped / "data/examples").glob("*.jsonl"))
