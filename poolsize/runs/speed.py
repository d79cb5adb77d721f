"""The speed of the machine over a run: the usual speed, and the check of each step against it.

A machine changes its speed by itself (heat, clock rate). A neighbour on the same physical cores changes the speed of a
virtual machine. The usual speed is known only across the steps, so a further step may change the result of the check.
"""

from dataclasses import replace
from statistics import median_high

from poolsize.runs.check import Check, CheckResult
from poolsize.runs.run import Run, Step

SPEED_TOLERANCE = 0.03
"""Share by which the speed of a step may differ from the usual speed."""
FEWEST_STEPS = 3
"""Of fewer steps, none shows which speed is the usual one."""


def usual_speed(run: Run) -> float | None:
    """Return the median speed of the steps, the higher of two middle values; None with fewer than FEWEST_STEPS.

    The unit is that of the counter machine_speed. The calibration and the verification do not count: they are another
    load, and a verification must not change the curve that it verifies.
    """
    curve = [step for step in run.steps if step.rate == run.plan.rate]
    measured = [speed for step in curve if (speed := step_speed(step)) is not None]
    return median_high(measured) if len(measured) >= FEWEST_STEPS else None


def step_speed(step: Step) -> float | None:
    """Return the mean speed of the machine over the counted seconds; None where it was not measured."""
    return step.counter("machine_speed")


def is_usual(run: Run, speed: float) -> bool:
    """Return whether a speed is the run's usual speed, within 3 % and what the run's own load explains."""
    usual = usual_speed(run)
    return usual is None or _is_near(speed, usual, _loaded_share(run))


def _is_near(speed: float, usual: float, loaded: float) -> bool:
    return (1 - SPEED_TOLERANCE) * loaded * usual <= speed <= (1 + SPEED_TOLERANCE) / loaded * usual


def speed(step: Step, usual: float, loaded: float) -> CheckResult | None:
    """Check that the machine ran at the usual speed of the run, within 3 %; other speeds give other throughputs.

    The speed is that of a small piece of work on each core that the load or a local server may use, by the CPU time it
    takes. A neighbour on the same physical core, heat and another clock rate change it; other programs that take turns
    with the load do not. The usual speed is the median of all steps, from the third step on, so a further step may
    change the result. The difference may be larger by as much as a core is slower while the others are busy, which is
    measured before the first step. Before another attempt, the sweep waits up to a minute for the usual speed. Steps
    without a measured speed have no such check.

    Figures: `speed` in the counted seconds; `usual_speed` of the run, both in MB of work per second of CPU time;
    `deviation` of the speed, a share; `loaded_share`, the speed under the run's own load as a share of the idle speed;
    `steal_cores` that the hypervisor gave to other machines.
    """
    measured = step_speed(step)
    if measured is None:
        return None
    values = {
        "speed": measured,
        "usual_speed": usual,
        "deviation": measured / usual - 1,
        "loaded_share": loaded,
        "steal_cores": step.counter("machine_steal"),
    }
    return CheckResult(Check.SPEED, _is_near(measured, usual, loaded), values)


def with_speed_checks(run: Run) -> Run:
    """Return the run with the speed check of each step against the usual speed of the whole run."""
    usual, loaded = usual_speed(run), _loaded_share(run)
    if usual is None:
        return run
    return replace(run, steps=tuple(_with_speed_check(step, usual, loaded) for step in run.steps))


def _with_speed_check(step: Step, usual: float, loaded: float) -> Step:
    result = speed(step, usual, loaded)
    if result is None:
        return step
    return replace(step, checks=(*(check for check in step.checks if check.check is not Check.SPEED), result))


def _loaded_share(run: Run) -> float:
    """Return the speed of a core while the others are busy, as a share of its idle speed; 1 where it is not known."""
    calibration = run.calibration
    if calibration is None or not calibration.speed or not calibration.loaded_speed:
        return 1.0
    return min(1.0, calibration.loaded_speed / calibration.speed)
