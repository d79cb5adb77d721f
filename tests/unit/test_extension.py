"""A finished run that is extended: it goes on from its steps, and comes out as if it had begun so."""

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from poolsize.errors import BadInput
from poolsize.runs.plan import SearchEnd
from poolsize.runs.run import Run
from poolsize.runs.store import load_run
from poolsize.sweep.next_step import remaining
from poolsize.sweep.options import SweepOptions
from poolsize.sweep.replay import replay
from tests.conftest import Command

CURVE = Path("mariadb_oltp_ro")
LONG, SHORT = 300, 45
"""Budgets in seconds, of which only the short one ends the search of the curve."""


def swept(folder: Path, name: str, **options: Any) -> Path:
    return replay(SweepOptions(**{"replay": CURVE, "output": folder / name} | options), lambda _: None)


def resumed(path: Path, **options: Any) -> Run:
    replay(SweepOptions(**{"replay": CURVE, "resume": path} | options), lambda _: None)
    return load_run(path)


def measured(run: Run) -> list[tuple[object, ...]]:
    """All of the steps but when they began: a replay begins now."""
    return [(step.order, step.pool_size, step.repeat, step.throughput, step.checks) for step in run.steps]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """The short search, the same one extended, and the long one."""
    folder = tmp_path_factory.mktemp("runs")
    paths = {name: swept(folder, f"{name}.jsonl", budget_seconds=SHORT) for name in ("short", "extended")}
    resumed(paths["extended"], budget_seconds=LONG)
    return paths | {"long": swept(folder, "long.jsonl", budget_seconds=LONG)}


@pytest.mark.costly
def test_an_extended_search_is_the_search_with_the_larger_budget(runs: Mapping[str, Path]) -> None:
    short, extended, long = (load_run(runs[name]) for name in ("short", "extended", "long"))
    assert (short.ended, extended.ended, long.ended) == (SearchEnd.BUDGET, SearchEnd.CERTAIN, SearchEnd.CERTAIN)
    assert len(short.steps) < len(extended.steps)
    assert measured(extended) == measured(long)
    assert extended.plan == long.plan


def test_the_same_command_again_changes_nothing(runs: Mapping[str, Path]) -> None:
    before = runs["extended"].read_bytes()
    for options in ({}, {"budget_seconds": LONG}, {"budget_seconds": LONG, "interval": 1.5}):
        assert len(resumed(runs["extended"], **options).steps)
        assert runs["extended"].read_bytes() == before


@pytest.mark.long
def test_a_kill_at_any_moment_leaves_a_run_that_goes_on(runs: Mapping[str, Path], tmp_path: Path) -> None:
    """The file is cut after each line, and within it; until the first new step the run is finished as before."""
    whole, finished, killed = runs["extended"].read_bytes(), runs["short"].read_bytes(), tmp_path / "killed.jsonl"
    assert whole.count(b'{"plan":') == 1
    lines, places = whole.splitlines(keepends=True), [0]
    for line in lines:
        places += [places[-1] + len(line) // 2, places[-1] + len(line)]
    first = finished.count(b"\n")
    for place in (place for place in places if place >= sum(map(len, lines[:first]))):
        killed.write_bytes(whole[:place])
        run = load_run(killed, torn_end=True)
        goes_on = b'{"plan":' in whole[:place].rpartition(b"\n")[0]
        assert len(run.steps) >= len(load_run(runs["short"]).steps)
        assert (remaining(run) is None) == (not goes_on or place > len(whole) - 2)
        assert measured(resumed(killed, **({} if goes_on else {"budget_seconds": LONG}))) == measured(
            load_run(runs["long"])
        )


@pytest.mark.costly
def test_a_certain_search_is_extended_by_a_narrower_interval(tmp_path: Path) -> None:
    short = {"warm_up_seconds": 0, "step_seconds": 3, "budget_seconds": 45, "replay": Path("cisco")}
    path = swept(tmp_path, "a.jsonl", interval=8.0, **short)
    before, begun = path.read_bytes(), load_run(path)
    assert begun.ended is SearchEnd.CERTAIN
    with pytest.raises(BadInput, match="its answer was certain: a smaller `interval` extends it"):
        resumed(path, budget_seconds=60, replay=Path("cisco"))
    assert path.read_bytes() == before
    narrower = resumed(path, interval=1.01, replay=Path("cisco"))
    assert len(narrower.steps) > len(begun.steps)
    assert narrower.plan.search
    assert narrower.plan.search.interval == 1.01


def test_a_grid_is_extended_by_sizes_between_its_own_and_by_repeats(tmp_path: Path) -> None:
    path = swept(tmp_path, "a.jsonl", sizes=(16, 128, 512))
    before = load_run(path).steps
    run = resumed(path, sizes=(64, 128), repeats=2)
    assert run.steps[: len(before)] == before
    assert (run.plan.sizes, run.plan.repeats) == ((16, 64, 128, 512), 2)
    assert remaining(run) is None
    counts = [sum(step.pool_size == size for step in run.steps) for size in run.plan.sizes]
    assert min(counts) >= 2


@pytest.mark.parametrize(
    ("options", "way_out"),
    [
        ("short --budget 30s", "--budget 30s: the search had 45s, which are a part of it: give more"),
        ("short --interval 2", "--interval 2: the search had 1.5: give less"),
        ("short --repeats 3", "--repeats 3: it is for a grid, and the run is a search: leave it out"),
        ("short --seed 3", "--seed 3: a resumed run keeps its plan; leave --seed out"),
        ("short --budget 300d", "a run holds 5,000 steps at most"),
        ("grid --budget 5m", "--budget 5m: it is for a search, and the run is a grid: leave it out"),
        ("grid --pool-sizes 20,64", "--pool-sizes 64: the run is extended by sizes between its own, 16 to 32"),
        ("grid --repeats 1", "--repeats 1: the run has 2 already: give more"),
    ],
)
def test_what_extends_nothing_is_one_line(
    options: str, way_out: str, runs: Mapping[str, Path], tmp_path: Path, poolsize_here: Command
) -> None:
    name, *words = options.split()
    path = swept(tmp_path, "grid.jsonl", sizes=(16, 32), repeats=2) if name == "grid" else runs[name]
    before = path.read_bytes()
    done = poolsize_here("sweep", "--resume", str(path), *words)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert way_out in done.stderr
    assert path.read_bytes() == before


@pytest.mark.costly
def test_the_command_that_an_answer_advises_extends_the_run(runs: Mapping[str, Path], poolsize_here: Command) -> None:
    path = runs["short"].rename(runs["short"].with_name("a b.jsonl"))
    steps = len(load_run(path).steps)
    text = poolsize_here("recommend", "--run", str(path)).stdout
    (command,) = [line.removeprefix("  Next").strip() for line in text.splitlines() if "poolsize sweep" in line]
    assert poolsize_here(*shlex.split(command)[1:]).returncode == 0
    assert len(load_run(path).steps) > steps
    assert "poolsize sweep" not in poolsize_here("recommend", "--run", str(path)).stdout


@pytest.mark.parametrize("changes", [{"users": 3}, {"workload": "evil"}, {"search": None, "sizes": [1, 2]}])
def test_a_plan_that_does_not_extend_the_run_is_refused(
    changes: Mapping[str, Any], runs: Mapping[str, Path], tmp_path: Path
) -> None:
    path, lines = tmp_path / "a.jsonl", runs["long"].read_text().splitlines(keepends=True)
    plan = json.loads(lines[0])["setting"]["plan"] | changes
    path.write_text("".join([*lines, json.dumps({"plan": plan}), "\n"]))
    with pytest.raises(BadInput, match=rf"line {len(lines) + 1}: the plan is not one that extends the run's"):
        load_run(path)
