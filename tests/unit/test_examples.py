"""The example runs: of this version, small, whole, and explained field by field."""

import json
from pathlib import Path
from typing import Any

import pytest
from matplotlib.testing.compare import compare_images

from poolsize.analysis.checks import check_step
from poolsize.present.plots import figure, save_figure
from poolsize.runs.store import FORMAT, load_run
from poolsize.sweep.next_step import remaining
from tests.conftest import EXAMPLES, ROOT, example
from tests.golden import PIXELS
from tests.terminal_picture import PICTURES, drawn
from tests.terminal_picture import path as path_of

FREE = {"server_options", "errors", "failed", "versions"}
"""Objects whose keys are the user's, the server's or the libraries'."""


def keys(value: Any) -> set[str]:
    if isinstance(value, list):
        return {key for item in value for key in keys(item)}
    if not isinstance(value, dict):
        return set()
    return set(value) | {key for name, item in value.items() if name not in FREE for key in keys(item)}


@pytest.mark.parametrize("path", EXAMPLES.values(), ids=EXAMPLES)
def test_it_is_of_this_version_small_and_whole(path: Path) -> None:
    run = load_run(path)
    assert json.loads(path.read_text().splitlines()[0])["format"] == FORMAT
    assert path.stat().st_size < 200_000
    assert remaining(run) is None
    assert run.setting.server


@pytest.mark.parametrize("path", EXAMPLES.values(), ids=EXAMPLES)
def test_its_steps_are_judged_by_the_checks_of_this_version(path: Path) -> None:
    run = load_run(path)
    for step in run.steps:
        judged = {result.check: result.passed for result in check_step(step, run.plan.error_budget)}
        assert judged == {result.check: result.passed for result in step.checks}


@pytest.mark.parametrize("path", EXAMPLES.values(), ids=EXAMPLES)
def test_every_field_of_it_is_explained(path: Path) -> None:
    examples = (path.parent / "README.md").read_text()
    text = "".join((ROOT / f"docs/reference/{page}.md").read_text() for page in ("run-format", "checks"))
    stored = {key for line in path.read_text().splitlines() for key in keys(json.loads(line))}
    assert sorted(key for key in stored if f"`{key}`" not in text) == []
    assert f"`{path.name}`" in examples


def test_they_show_both_servers_and_a_thread_pool() -> None:
    settings = [load_run(path).setting for path in EXAMPLES.values()]
    servers = {setting.server.flavor for setting in settings if setting.server}
    assert servers == {"MariaDB", "MySQL"}
    assert {setting.plan.workload for setting in settings} >= {"insert", "scan", "oltp_read_write"}
    assert any(setting.server and setting.server.thread_pool for setting in settings)


@pytest.mark.long
def test_the_picture_is_what_is_drawn_of_it_now(tmp_path: Path) -> None:
    save_figure(figure(example("scan-mariadb")), tmp_path / "now.png")
    stored = ROOT / "data/examples/scan-mariadb.png"
    assert compare_images(str(stored), str(tmp_path / "now.png"), PIXELS) is None, "draw it again, and look at it"


@pytest.mark.costly
@pytest.mark.parametrize("name", PICTURES)
def test_the_pictures_of_a_terminal_show_what_is_printed_now(name: str) -> None:
    assert path_of(name).read_text(encoding="utf-8") == drawn(name), "python -m tests.terminal_picture"
