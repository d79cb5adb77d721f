"""What is published from the repository: its workflows, their permissions and the scripts that they run."""

import re
import shlex
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.conftest import ROOT

WORKFLOWS = {path.name: yaml.safe_load(path.read_text()) for path in sorted(ROOT.glob(".github/workflows/*.yml"))}
JOBS = [(name, job) for name, workflow in WORKFLOWS.items() for job in workflow["jobs"].values()]
TESTS = WORKFLOWS["tests.yml"]["jobs"]


def steps() -> Iterator[dict[str, Any]]:
    """Yield the steps of all jobs, and those of the action."""
    for _, job in JOBS:
        yield from job.get("steps", ())
    yield from yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"]


def test_the_pythons_of_the_matrix_are_the_classifiers() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = [line.rpartition(" ")[2] for line in project["classifiers"] if re.search(r":: 3\.\d+$", line)]
    assert TESTS["no-server"]["strategy"]["matrix"]["python"] == named
    assert project["requires-python"] == f">={named[0]}"


def test_every_script_and_test_that_a_job_runs_exists() -> None:
    for _, job in JOBS:
        for step in job.get("steps", ()):
            words = shlex.split(step.get("run", ""))
            paths = [ROOT / word for word in words if word.startswith(("scripts/", "tests/"))]
            assert all(path.is_file() for path in paths)
            assert not words or paths


def test_every_action_is_pinned_by_its_commit() -> None:
    used = [step["uses"] for step in steps() if "uses" in step]
    assert used
    assert [name for name in used if not re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}", name)] == []


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_workflow_may_only_read(name: str) -> None:
    assert WORKFLOWS[name]["permissions"] in ({}, {"contents": "read"})
    assert "concurrency" in WORKFLOWS[name]


def test_two_jobs_may_write_and_a_third_calls_one_of_them() -> None:
    wider = [(name, job["permissions"]) for name, job in JOBS if "permissions" in job]
    pages = {"contents": "write"}
    assert wider == [("docs.yml", pages), ("release.yml", {"id-token": "write"}), ("release.yml", pages)]


def test_what_a_tag_publishes_waits_for_the_tests() -> None:
    pushed = {name: workflow[True]["push"] for name, workflow in WORKFLOWS.items()}  # PyYAML's key of `on`
    assert [name for name, event in pushed.items() if event != {"branches": ["main"]}] == ["release.yml"]
    needs = {name: job.get("needs") for name, job in WORKFLOWS["release.yml"]["jobs"].items()}
    assert needs == {"tests": None, "build": "tests", "publish": "build", "pages": "publish"}


def test_every_job_ends() -> None:
    assert all("timeout-minutes" in job for _, job in JOBS if "uses" not in job)


def test_the_image_gets_all_that_the_wheel_is_made_of() -> None:
    sent = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wheel = pyproject["tool"]["hatch"]["build"]["targets"]["wheel"]
    project = pyproject["project"]
    assert sent == {
        *wheel["packages"], *wheel["force-include"], *project["license-files"], project["readme"], "pyproject.toml",
        "constraints.txt",
    }  # fmt: skip
