"""What the notebook's sliders answer."""

import re
from functools import cache

import pytest

from poolsize.predict.explorer import explorer, what_if_text
from poolsize.recordings.published import published_curves
from poolsize.runs.run import Run
from poolsize.runs.store import load_run
from poolsize.sweep.replay import recorded_run
from tests.conftest import EXAMPLES, a_run, curve_of

SCAN = load_run(EXAMPLES["scan-mariadb"])


@cache
def replayed() -> Run:
    """A run that does not contain its number of users."""
    return recorded_run(published_curves()["cisco"].recording, "cisco", 8)


def size_of(text: str) -> int:
    match = re.search(r"(\d+) connections?:", text)
    assert match
    return int(match[1])


@pytest.mark.costly
def test_a_greater_tolerance_takes_fewer_connections() -> None:
    run = a_run({1: 100, 2: 190, 4: 340, 8: 500, 16: 560, 32: 580}, users=200)
    sizes = [size_of(what_if_text(run, tolerance)) for tolerance in (0.01, 0.05, 0.2)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > sizes[-1]


@pytest.mark.costly
def test_a_limit_that_is_kept_or_not_is_told() -> None:
    assert "keeps the limit of 1,000 ms with more than 99 % probability" in what_if_text(SCAN, max_p95_ms=1000)
    assert "keeps the limit of 20 ms with less than 1 % probability" in what_if_text(SCAN, max_p95_ms=20)


@pytest.mark.costly
def test_other_cores_are_predicted() -> None:
    assert "With 8 cores the network" in what_if_text(SCAN, cores=8)
    assert "network" not in what_if_text(SCAN, cores=SCAN.setting.cores)


@pytest.mark.costly
def test_what_a_recording_does_not_know_is_told() -> None:
    assert "does not know" in what_if_text(replayed(), max_p95_ms=10)
    assert "does not contain its number of users" in " ".join(what_if_text(replayed(), cores=16).split())


@pytest.mark.costly
def test_a_slider_that_could_say_nothing_is_not_there() -> None:
    assert [child.description for child in explorer(replayed()).children[:-1]] == ["tolerance"]


@pytest.mark.costly
def test_the_sliders_begin_at_the_answer() -> None:
    tolerance, limit, cores, _ = explorer(SCAN).children
    assert tolerance.value == 0.05
    assert limit.value == 0
    assert limit.max >= max(step.p95_ms[-1] for step in curve_of(SCAN))
    assert cores.value == SCAN.setting.cores
