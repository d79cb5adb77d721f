"""Runs that other programs spoiled: no answer from one valid size, and the cause and the way out come first."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from poolsize.analysis.analysis import analyze
from poolsize.answer.from_run import recommend
from poolsize.present.text.recommendation import recommendation_text
from poolsize.runs.check import Check
from poolsize.runs.plan import MeasuredApplication, PlannedStep
from poolsize.runs.run import CheckResult, Run, Step
from poolsize.server.processes import OtherPrograms
from poolsize.sweep.events import Noted, StepDone
from tests.conftest import a_run
from tests.unit.test_speed import SlowMachine, swept

WHOLE = a_run({1: 100, 2: 200, 4: 390, 8: 400})
BUSY = CheckResult(Check.QUIET, False, {"other_cores": 1.2, "cores": 2.0, "busy_cores": 2.0})


def spoiled(step: Step, result: CheckResult = BUSY) -> Step:
    return replace(step, checks=(result,), programs={"cc1plus": 0.8, "backup": 0.3})


def text_of(run: Run) -> str:
    return " ".join(recommendation_text(recommend(analyze(run))).split())


def test_one_valid_size_is_refused_and_the_cause_comes_first() -> None:
    """Nine of ten steps are spoiled; the answer was "1 connection [edge]"."""
    one, *others = WHOLE.steps
    run = replace(WHOLE, steps=(one, *[spoiled(step) for step in others] * 3))
    answer = recommend(analyze(run))
    assert (answer.pool_size, answer.verdict) == (None, "noisy")
    text = text_of(run)
    assert text.startswith(
        "Other programs used 1.2 of this machine's 2 cores, most of all cc1plus (0.8), backup (0.3): "
        "9 of 10 measured steps failed a check (quiet 9 times). Only the pool size 1 is valid, and an answer compares "
        "two. The other programs ran until the end of the sweep: end them, or wait until they end, and measure again."
    )
    assert text.count("9 of 10") == 1
    assert "--pool-sizes" not in text


class CrowdedMachine(SlowMachine):
    """A load generator on a machine that other programs keep busy."""

    def measure(self, planned: PlannedStep) -> Step:
        """As if alone, with the counters of a crowded machine."""
        step = super().measure(planned)
        seconds = len(step.throughput)
        used = {"machine_cpu": 2.0, "machine_cores": 2.0, "process_cpu": 0.5}
        return replace(
            step, server={name: (value,) * seconds for name, value in used.items()}, programs={"cc1plus": 1.3}
        )


@pytest.mark.costly
def test_other_programs_are_named_once_and_at_once(tmp_path: Path) -> None:
    run, events = swept(CrowdedMachine(slow_size=0, slow_attempts=0), tmp_path / "busy.jsonl")
    assert len(run.steps) > 1
    assert [event for event in events if isinstance(event, StepDone | Noted)][:2] == [
        Noted(
            "other programs use 1.3 of this machine's 2 cores, most of all cc1plus: end them, because the sweep "
            "measures such steps again"
        ),
        StepDone.of(run.steps[0], again=True),
    ]
    assert sum(isinstance(event, Noted) for event in events) == 1


def test_a_quiet_end_needs_no_waiting() -> None:
    one, *others = WHOLE.steps
    run = replace(WHOLE, steps=(*[spoiled(step) for step in others] * 3, one))
    assert "The last 1 step passed, so the machine may be quiet now: measure again." in text_of(run)


def test_no_valid_size_is_refused_with_the_same_cause() -> None:
    run = replace(WHOLE, steps=tuple(map(spoiled, WHOLE.steps)) * 3)
    assert recommend(analyze(run)).verdict == "noisy"
    assert "No pool size is valid. The other programs ran until the end" in text_of(run)


def test_another_cause_is_named_by_its_check() -> None:
    starved = CheckResult(Check.LITTLES_LAW, False, {"users": 64, "accounted_users": 50.0, "deviation": -0.2})
    one, *others = WHOLE.steps
    run = replace(WHOLE, steps=(one, *[spoiled(step, starved) for step in others] * 3))
    assert text_of(run).startswith("9 of 10 measured steps failed a check (littles_law 9 times). Only the pool size 1")


def test_failed_transactions_are_the_cause_also_on_a_busy_machine() -> None:
    """Users who only get errors fill no pool: the first line was on other programs, the verdict on the users."""
    failed = CheckResult(Check.ERRORS, False, {"share": 1.0, "failed": {"CatchResponseError": 595}})
    few = CheckResult(Check.USERS_LIMITED, False, {"users": 64, "wanting_users": 0.1})
    checks = (BUSY, few, failed)
    run = replace(WHOLE, steps=tuple(replace(spoiled(step), checks=checks) for step in WHOLE.steps) * 3)
    assert recommend(analyze(run)).verdict == "noisy"
    text = text_of(run)
    assert text.startswith(
        "12 of 12 measured steps failed a check (errors 12 times, quiet 12 times). Find out "
        "why transactions fail, correct the workload or the server, and measure again."
    )


def test_a_pool_size_that_an_application_did_not_get_is_the_cause() -> None:
    """A mistyped variable leaves the pool as it was; other programs were named first."""
    more = CheckResult(Check.CONNECTIONS, False, {"server_connections": 30, "pool_size": 2})
    steps = tuple(replace(spoiled(step), checks=(BUSY, more)) for step in WHOLE.steps) * 3
    application = MeasuredApplication("shop.toml", "0" * 64, "http://shop", True, ("POOL_SIZE",))
    text = text_of(Run(replace(WHOLE.setting, application=application, private=False), steps))
    assert text.startswith("12 of 12 measured steps failed a check (connections 12 times, quiet 12 times). No pool")
    assert "The application did not have the pool size that poolsize set: correct the variable" in text


def test_two_valid_sizes_are_an_answer() -> None:
    one, two, *others = WHOLE.steps
    run = replace(WHOLE, steps=(one, two, *[spoiled(step) for step in others] * 3))
    assert recommend(analyze(run)).pool_size is not None


@pytest.fixture
def stranger(tmp_path: Path) -> Iterator[str]:
    """The name of a busy program that is not a descendant of this process."""
    program = tmp_path / "a-stranger"
    program.symlink_to(sys.executable)
    script = f"'{program}' -c 'while True: pass' >/dev/null 2>&1 & echo $!"
    pid = int(subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, check=True).stdout)
    try:
        yield program.name
    finally:
        os.kill(pid, signal.SIGKILL)


@pytest.mark.long
def test_a_busy_program_is_seen_and_the_own_processes_are_not(stranger: str, tmp_path: Path) -> None:
    own_program = tmp_path / "own-worker"
    own_program.symlink_to(sys.executable)
    own = subprocess.Popen([str(own_program), "-c", "while True: pass"])
    before = OtherPrograms()
    try:
        time.sleep(2)
        programs = before.cores_since(None)
    finally:
        own.kill()
        own.wait()
    assert programs[stranger] > 0
    assert own_program.name not in programs
