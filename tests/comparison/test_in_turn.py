"""Two sweeps in turn: who measures next, what a comparison of such runs says, and what is refused."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from poolsize.analysis.analysis import analyze
from poolsize.analysis.stats.paired_differences import Pair, paired
from poolsize.command_line.in_turn import measure_in_turn, whose_turn
from poolsize.commands.run_sweep import measures_two
from poolsize.comparison.comparison import compare
from poolsize.comparison.text import comparison_text
from poolsize.errors import BadInput
from poolsize.runs.run import Run
from poolsize.runs.store import RunWriter, other_path
from poolsize.sweep.events import TurnAwaited
from poolsize.sweep.options import SweepOptions
from tests.conftest import a_run

LOCUSTFILE = Path("insert.py")


def order(steps: list[int]) -> str:
    """The order in which two sweeps measure that need so many steps, and have none."""
    done, measured = [0, 0], ""
    while True:
        waits = [TurnAwaited(number, complete=number == needed) for number, needed in zip(done, steps, strict=True)]
        turn = whose_turn(waits[0], waits[1])
        if turn is None:
            return measured
        done[turn] += 1
        measured += "AB"[turn]


def test_two_sweeps_alternate_and_begin_in_turn() -> None:
    assert order([6, 6]) == "ABBAABBAABBA"


def test_a_sweep_with_more_steps_measures_them_when_the_other_is_complete() -> None:
    assert order([4, 2]) == "ABBAAA"
    assert order([2, 4]) == "ABBABB"


def test_a_resumed_sweep_that_is_behind_catches_up_first() -> None:
    assert whose_turn(TurnAwaited(5, complete=False), TurnAwaited(3, complete=False)) == 1
    assert whose_turn(TurnAwaited(2, complete=False), TurnAwaited(3, complete=False)) == 0
    assert whose_turn(TurnAwaited(3, complete=True), TurnAwaited(9, complete=False)) == 1


def started_at(run: Run, minutes: list[int]) -> Run:
    steps = tuple(
        replace(step, started=f"2026-01-02T03:{minute:02}:00+00:00")
        for step, minute in zip(run.steps, minutes, strict=True)
    )
    setting = replace(run.setting, created=steps[0].started)
    return replace(run, steps=steps, setting=setting)


@pytest.mark.costly
def test_a_comparison_tells_runs_in_turn_from_runs_one_after_the_other() -> None:
    run = a_run({1: 100, 2: 200, 4: 390})
    first = analyze(started_at(run, [0, 3, 4]))
    in_turn = compare({"a": first, "b": analyze(started_at(run, [1, 2, 5]))})
    assert "measured in turn" in " ".join(comparison_text(in_turn).split())
    later = " ".join(comparison_text(compare({"a": first, "b": analyze(started_at(run, [5, 6, 7]))})).split())
    assert "measured in turn, so" not in later
    assert "The runs began 5 min" in later


@pytest.mark.parametrize(
    ("options", "refused"),
    [
        ({"against_url": "mysql://db/", "against_options": ["a_b=1"]}, "`against_url` names a server"),
        ({"url": "mysql://db/", "against_options": ["a_b=1"]}, "`against_options` is for two private servers"),
        (
            {"against_url": "mysql://db/", "against_mysqld": "a"},
            "`against_url` names a server, and `against_mysqld` starts",
        ),
        ({"url": "mysql://db/", "against_mysqld": "a"}, "`against_mysqld` is for two private servers"),
        ({"against_url": "mysql://db/", "replay": "x.csv"}, "`replay` x.csv: a recording is measured already"),
        ({"against_url": "mysql://db/", "verify": "70"}, "`verify` 70: it measures one run's answer"),
        ({"against_url": "mysql://db/", "budget_seconds": "5m"}, "`budget_seconds` 5m: it is for a search"),
        ({"against_options": ["a_b=1"], "sizes": "8", "users": 4, "rate": "9"}, "`users` 4: as many"),
    ],
)
def test_what_two_sweeps_in_turn_can_not_heed_is_refused(options: dict[str, object], refused: str) -> None:
    parsed = SweepOptions.parse(options)
    assert measures_two(parsed)
    with pytest.raises(BadInput) as error:
        measure_in_turn(LOCUSTFILE, parsed, ())
    assert str(error.value).startswith(refused)


def test_a_latency_limit_is_for_the_answer_of_one_run() -> None:
    with pytest.raises(BadInput, match="`max_p95_ms` is for the answer of one run"):
        measure_in_turn(LOCUSTFILE, SweepOptions(against_url="mysql://db/"), ["max_p95_ms"])


def stored(path: Path, *, private: bool) -> Path:
    run = a_run({1: 100, 2: 200})
    with RunWriter(path, replace(run.setting, private=private)):
        return path


def test_a_run_with_another_run_beside_it_is_resumed_with_it(tmp_path: Path) -> None:
    first = stored(tmp_path / "shop.jsonl", private=False)
    assert not measures_two(SweepOptions(resume=first))
    with pytest.raises(BadInput, match="it has no other run"):
        measure_in_turn(LOCUSTFILE, SweepOptions(resume=first, against_url="mysql://db/"), ())
    stored(other_path(first), private=False)
    assert measures_two(SweepOptions(resume=first))
    with pytest.raises(BadInput, match="give its `against_url` again"):
        measure_in_turn(LOCUSTFILE, SweepOptions(resume=first, url="mysql://db/"), ())
    stored(other_path(tmp_path / "mine.jsonl"), private=True)
    mine = stored(tmp_path / "mine.jsonl", private=True)
    with pytest.raises(BadInput, match="variables of the other private server are not"):
        measure_in_turn(LOCUSTFILE, SweepOptions(resume=mine, against_options={"a_b": "1"}), ())


def session(random: np.random.Generator, order: str, difference: float) -> list[Pair]:
    """Pairs of 7 sizes on a machine whose speed drifts by 1.5 % from step to step; a step has a noise of 1 %."""
    speeds = np.cumsum(random.normal(0, 0.015, len(order))) + random.normal(0, 0.01, len(order))
    first, other = (speeds[[place for place, side in enumerate(order) if side == which]] for which in "AB")
    return [
        Pair(2**place, ratio + difference, 0.01)
        for place, ratio in enumerate((other - first + random.normal(0, 0.01, len(first))).tolist())
    ]


def significant_averages(order: str, difference: float) -> float:
    random = np.random.default_rng(1)
    return float(np.mean([paired(session(random, order, difference))[0].significant for _ in range(600)]))


@pytest.mark.costly
def test_a_machine_that_drifts_is_no_difference_between_sweeps_in_turn() -> None:
    in_turn = order([7, 7])
    assert significant_averages(in_turn, 0.0) <= 5 / 60
    assert significant_averages("A" * 7 + "B" * 7, 0.0) >= 0.3
    assert significant_averages(in_turn, float(np.log(1.05))) >= 0.9
