"""The built wheel: it carries what comes with poolsize, and works outside a checkout and without the extras."""

import os
import subprocess
import sys
import zipfile
from importlib.metadata import Distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.conftest import ROOT, assert_swept

NOTEBOOK_ONLY = {"ipywidgets", "jupyterlab", "nbformat", "pandas", "papermill"}
"""What only the extra `notebook` installs."""
COMMANDS = (
    "sweep --workload select_one --pool-sizes 1,2 --step-time 1s --warm-up 0 --think-time 20ms",
    "report {examples}/scan-mariadb.jsonl --output report.html",
    "compare {examples}/scan-mariadb.jsonl {examples}/scan-mysql.jsonl --plot servers.png",
    "calculator --output page.html",
    "predict {examples}/scan-mariadb.jsonl --cores 4",
)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the contents of the wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)],
        check=True,
    )
    (wheel,) = folder.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(folder / "installed")
    return folder / "installed"


@pytest.mark.server
def test_a_wheel_works_outside_a_checkout_and_without_the_extras(installed: Path, tmp_path: Path) -> None:
    absent = tmp_path / "absent"
    absent.mkdir()
    for module in NOTEBOOK_ONLY:
        (absent / f"{module}.py").write_text(f"raise ModuleNotFoundError('{module} is absent in this test')\n")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    program = "import sys; from poolsize.commands import main; sys.argv[0] = 'poolsize'; main()"
    shipped = installed / "poolsize/shipped"
    for command in COMMANDS:
        words = command.format(examples=shipped / "data/examples").split()
        done = subprocess.run(
            [sys.executable, "-c", program, *words],
            cwd=elsewhere, env=os.environ | {"PYTHONPATH": f"{absent}{os.pathsep}{installed}"},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if command.startswith("sweep"):
            assert_swept(done)
        else:
            assert done.returncode == 0, done.stderr
    assert list(elsewhere.glob("data/runs/*-select_one.jsonl"))
    assert "2 connections" in (elsewhere / "report.html").read_text()
    names = ("locustfiles/insert.py", "notebooks/compare.ipynb", "data/published/published_curves.csv")
    for name in (*names, "schemas/recommend.json"):
        assert (shipped / name).is_file()
    assert list((shipped / "data/examples").glob("*.jsonl"))


@pytest.mark.long
def test_only_the_notebook_extra_requires_jupyter(installed: Path) -> None:
    (metadata,) = installed.glob("poolsize-*.dist-info")
    requirements = [Requirement(line) for line in Distribution.at(metadata).requires or ()]

    def required(extra: str) -> set[str]:
        """The names that pip installs with this extra, or without any for an empty text."""
        return {each.name for each in requirements if each.marker is None or each.marker.evaluate({"extra": extra})}

    assert {"click", "locust", "matplotlib", "numpy"} <= required("")
    assert not required("") & {*NOTEBOOK_ONLY, "jupyter", "notebook"}
    assert required("notebook") - required("") == NOTEBOOK_ONLY
    assert required("notebook") < required("dev")
