"""The speed of the machine over a run: the usual speed, and the check of each step against it.

A machine changes its speed by itself (heat, clock rate). A neighbour on the same physical cores changes the speed of a
virtual machine. The usual speed is known only across the steps, so a further step may change the result of the check.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import exp, log, sqrt
from statistics import median_high, pstdev

from poolsize.runs.check import Check, CheckResult
from poolsize.runs.run import Run, Step

SPEED_TOLERANCE = 0.03
"""Share by which another speed may change a step's throughput."""
FEWEST_STEPS = 3
"""Fewer steps do not show which speed is usual."""
APART = 0.1
"""Two steps show the effect of the run's own load if their busy cores differ by this share of all cores."""
STEEPEST = -1.0
"""Slope of log speed over the share of busy cores: two hyper-threads of a core halve each other's speed."""
SURE = 2.0
"""Standard errors by which a speed must differ, at least."""


def usual_speed(run: Run) -> float | None:
    """Return the median speed of the steps, the higher of two middle values; None with fewer than FEWEST_STEPS.

    The unit is that of the counter machine_speed. The calibration and the verification do not count: they are another
    load, and a verification must not change the curve that it verifies.
    """
    measured = [speed for step in _curve(run) if (speed := step_speed(step)) is not None]
    return median_high(measured) if len(measured) >= FEWEST_STEPS else None


def step_speed(step: Step) -> float | None:
    """Return the mean speed of the machine in the counted seconds, or None where it was not measured."""
    return step.counter("machine_speed") or None


def with_speed_checks(run: Run) -> Run:
    """Return the run with the speed check of each step against the usual speed of the whole run."""
    steps = [step for step in _curve(run) if step_speed(step) is not None]
    if len(steps) < FEWEST_STEPS:
        return run
    usual = _Usual.of(steps)
    return replace(run, steps=tuple(_with_speed_check(step, usual) for step in run.steps))


def speed_check(step: Step, usual_speed: float, noise: float) -> CheckResult:
    """Check that the machine's speed changed the step's throughput by at most 3 %, against the run's usual speed.

    The speed is that of a small piece of work on each core that the load or a local server may use, by the CPU time it
    takes. A neighbour on the same physical core, heat and another clock rate change it; other programs that take turns
    with the load do not. The run's own load slows the cores, too, so the usual speed is a line over the busy cores,
    fitted to the medians of each pool size. It is known from the third step on, and a further step may change the
    result. A speed counts as different by what exceeds two standard errors. It changes throughput by its share of the
    CPU's part in the transactions: little where they wait for the disk. Before another attempt, the sweep waits up to a
    minute while the machine is much slower than before the first step. Steps without a measured speed have no such
    check.

    Figures: `speed` in the counted seconds, and the `usual_speed`, both in MB of work per second of CPU time;
    `deviation` of the speed, and `noise`, its standard error, both as shares; `cpu_share`, the CPU's part in the
    transactions; `steal_cores` that the hypervisor gave to other machines.
    """
    measured, part = _speed(step), _cpu_share(step)
    deviation = measured / usual_speed - 1
    values = {
        "speed": measured,
        "usual_speed": usual_speed,
        "deviation": deviation,
        "noise": noise,
        "cpu_share": part,
        "steal_cores": step.counter("machine_steal"),
    }
    return CheckResult(Check.SPEED, part * (abs(deviation) - SURE * noise) <= SPEED_TOLERANCE, values)


@dataclass(frozen=True)
class _Usual:
    """The usual log speed of a run, a line over the share of busy cores, and the deviation of a second from its mean.

    The line is that of Theil (1950) and Sen (1968), from medians, with a point for each pool size: neither a slow step
    moves it, nor a size that was measured again and again.
    """

    intercept: float
    slope: float
    second: float

    @classmethod
    def of(cls, steps: Sequence[Step]) -> "_Usual":
        """Return the line through steps with a speed."""
        points = [_median_point(group) for group in _by_size(steps)]
        slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in combinations(points, 2) if abs(b[0] - a[0]) >= APART]
        slope = min(0.0, max(STEEPEST, median_high(slopes))) if slopes else 0.0
        seconds = median_high([pstdev(_seconds(step)) / _speed(step) for step in steps])
        return cls(median_high([y - slope * x for x, y in points]), slope, seconds)

    def speed(self, step: Step) -> float:
        """Return the usual speed under the load of a step."""
        return exp(self.intercept + self.slope * _busy_share(step))

    def noise(self, step: Step) -> float:
        """Return the standard error of a step's speed, a share."""
        return self.second / sqrt(len(_seconds(step)))


def _speed(step: Step) -> float:
    measured = step_speed(step)
    assert measured is not None
    return measured


def _by_size(steps: Sequence[Step]) -> list[list[Step]]:
    sizes = sorted({step.pool_size for step in steps})
    return [[step for step in steps if step.pool_size == size] for size in sizes]


def _median_point(steps: Sequence[Step]) -> tuple[float, float]:
    """Return the medians of the share of busy cores and of the log speed."""
    return median_high(map(_busy_share, steps)), median_high([log(_speed(step)) for step in steps])


def _curve(run: Run) -> list[Step]:
    return [step for step in run.steps if step.rate == run.plan.rate]


def _seconds(step: Step) -> list[float]:
    return [speed for speed in step.server["machine_speed"][step.warm_up_seconds :] if speed is not None]


def _busy_share(step: Step) -> float:
    """Return the busy cores of the machine as a share of its cores; 0 where they were not counted."""
    busy, cores = step.counter("machine_cpu"), step.counter("machine_cores")
    return busy / cores if busy and cores else 0.0


def _cpu_share(step: Step) -> float:
    """Return the share in which throughput follows the speed of the CPU, from 0 to 1.

    It is the CPU's part in the time of the busy connections, or the utilisation of the busiest worker or of a local
    server's cores where that is higher. Without workers' figures it is 1.
    """
    server, server_cores = step.counter("process_cpu") or 0.0, step.counter("process_cores")
    workers = [worker.cpu for worker in step.workers]
    if not workers:
        return 1.0
    work = (server + sum(workers)) / max(1, min(step.pool_size, step.users))
    return min(1.0, max(work, *workers, server / server_cores if server_cores else 0.0))


def _with_speed_check(step: Step, usual: _Usual) -> Step:
    if step_speed(step) is None:
        return step
    result = speed_check(step, usual.speed(step), usual.noise(step))
    return replace(step, checks=(*(check for check in step.checks if check.check is not Check.SPEED), result))
