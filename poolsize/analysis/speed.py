"""The machine's speed in each step of a run: its check, and the correction of throughput to the usual speed.

A machine changes its speed by itself (heat, clock rate). A neighbour on the same physical cores changes the speed of a
virtual machine, and a hypervisor that gives the cores to others does. Where the CPU is the bottleneck, throughput
follows the speed, so a step's throughput is corrected to the usual speed. The usual speed is known only across the
steps, so a further step may change the corrections.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, groupby
from math import exp, log, sqrt
from statistics import median_high
from typing import Self

import numpy as np

from poolsize.analysis.service_demand import SATURATED
from poolsize.runs.check import Check
from poolsize.runs.run import CheckResult, Run, Step

SPEED_TOLERANCE = 0.03
"""Share by which another speed may change what is not corrected."""
LARGEST_CORRECTION = 0.15
"""Share by which a correction may change a step's throughput; the part in which throughput follows the speed is an
estimate, and a larger correction would rest on it alone."""
MOST_CORRECTED = 2.0
"""A step that failed the check may still be the only step at its size; its correction is a factor up to this."""
SURE = 2.0
"""Standard errors of a speed that are its noise: what exceeds them is another speed."""
FEWEST_STEPS = 3
"""Fewer steps do not show which speed is usual."""
APART = 0.1
"""Two steps show the effect of the run's own load if their busy cores differ by this share of all cores."""
STEEPEST = -1.0
"""Slope of log speed over the share of busy cores: two hyper-threads of a core halve each other's speed."""


def with_speed_checks(run: Run) -> Run:
    """Return the run with the speed check of each step against the usual speed of the whole run, where it is known."""
    usual, steps = UsualSpeed.of(run), []
    for step in run.steps:
        checks = tuple(result for result in step.checks if result.check is not Check.SPEED)
        if usual is not None and (shown := StepSpeed.of(step, run.setting.pools)):
            checks += (speed_check(step, shown, usual),)
        steps.append(step if checks == step.checks else replace(step, checks=checks))
    return replace(run, steps=tuple(steps))


def with_step(run: Run, step: Step) -> Run:
    """Return the run with one more step, and with the speed checks that follow from it."""
    longer = replace(run, steps=(*run.steps, step))
    return longer if step_speed(step) is None else with_speed_checks(longer)


def speed_check(step: Step, shown: "StepSpeed", usual: "UsualSpeed") -> CheckResult:
    """Check that the machine had its usual speed, or that throughput can be corrected to that speed.

    The speed is that of a small piece of work on each core that the load or a local server may use, by the CPU time it
    takes, less the time that the hypervisor gave to other machines. A neighbour on the same physical core, heat and
    another clock rate change it; other programs that take turns with the load do not. The run's own load slows the
    cores, too, so the usual speed is a line over the busy cores, fitted to the medians of each pool size. It is known
    from the third step on, by the steps so far, and at the end by all steps of the run: an attempt that failed when it
    was measured may pass, and an attempt that passed may fail.

    A speed changes throughput by the CPU's part in the transactions: little where they wait for the disk. Where server
    and load generator share a machine, and users take turns (closed loop), throughput is corrected to the usual speed,
    in proportion to the speed. The check fails if the correction exceeds 15 % by more than two standard errors.
    Elsewhere nothing is corrected, and the check fails if the speed changed throughput by more than 3 %. A speed counts
    as different by what exceeds two standard errors.
    Latencies stay as measured. Before another attempt, the sweep waits up to a minute while the machine is much slower
    than before the first step. Where every attempt fails, the last of them counts, corrected by a factor of 2 at most.
    Steps without a measured speed have no such check.

    Figures: `speed` in the counted seconds, and the `usual_speed`, both in MB of work per second of CPU time;
    `deviation` of the speed, and `noise`, its standard error, both as shares; `cpu_share`, the CPU's part in the
    transactions; `correction`, the factor from the measured throughput to that at the usual speed, and
    `correction_noise`, its standard error, a share; `steal_cores` that the hypervisor gave to other machines.
    """
    usual_speed, noise = usual.under(shown), usual.noise(shown)
    factor, error = usual.correction_of(shown)
    values = {
        "speed": shown.speed,
        "usual_speed": usual_speed,
        "deviation": shown.speed / usual_speed - 1,
        "noise": noise,
        "cpu_share": shown.cpu_share,
        "correction": factor,
        "correction_noise": error,
        "steal_cores": step.counter("machine_steal"),
    }
    other = shown.cpu_share * (abs(log(usual_speed / shown.speed)) - SURE * noise)
    return CheckResult(
        Check.SPEED, other <= log(1 + (LARGEST_CORRECTION if shown.is_corrected else SPEED_TOLERANCE)), values
    )


def speed_correction(step: Step) -> tuple[float, float]:
    """Return the factor from a step's throughput to that at the run's usual speed, and its standard error, a share.

    It is 1 without an error where nothing is corrected.
    """
    values = next((result.values for result in step.checks if result.check is Check.SPEED), {})
    factor, error = values.get("correction"), values.get("correction_noise")
    return (factor, error) if isinstance(factor, float) and isinstance(error, float) else (1.0, 0.0)


def corrected(step: Step, factor: float | None = None) -> tuple[int | float, ...]:
    """Return the transactions in each counted second times a factor; None for the step's own correction."""
    factor = speed_correction(step)[0] if factor is None else factor
    return step.counted if factor == 1 else tuple(factor * transactions for transactions in step.counted)


def usual_speed(run: Run) -> float | None:
    """Return the median speed of the curve's steps, the higher of two middle values; None with fewer than FEWEST_STEPS.

    The unit is that of the counter machine_speed.
    """
    measured = [speed for step in _curve(run) if (speed := step_speed(step)) is not None]
    return median_high(measured) if len(measured) >= FEWEST_STEPS else None


def has_server_process(run: Run) -> bool:
    """Return whether the server's process is on this machine: the speed is then that of the server's machine, too."""
    return any(step.counter("process_cpu") is not None for step in run.steps)


def step_speed(step: Step) -> float | None:
    """Return the machine's mean speed in the counted seconds, or None where it was not measured.

    It is the speed of the cores (the counter machine_speed), times the share of their busy time that the hypervisor did
    not give to other machines.
    """
    speed, stolen, busy = (step.counter(f"machine_{name}") for name in ("speed", "steal", "cpu"))
    if speed and stolen and busy:
        speed *= max(0.0, 1 - stolen / busy)
    return speed or None


def cpu_share(step: Step, pools: int = 1) -> float:
    """Return the share in which throughput follows the speed of the CPU, from 0 to 1.

    It is the CPU's part in the time of the busy connections, or the utilisation of a worker or a local server that has
    saturated its cores. Users who pause are not delayed, so throughput that pauses limit follows it less; where
    a pool is full and its users pause, this share is too small.
    Without workers' figures it is 1. pools: number of pools of the step's size.
    """
    server, server_cores = step.counter("process_cpu") or 0.0, step.counter("process_cores")
    workers = [worker.cpu for worker in step.workers]
    if not workers:
        return 1.0
    active_users = max(1.0, step.users - step.mean_throughput * step.gap_ms / 1000)
    work = min(1.0, (server + sum(workers)) / max(1.0, min(pools * step.pool_size, active_users)))
    work *= min(1.0, active_users / max(1, step.users))
    utilisations = [*workers, server / server_cores if server_cores else 0.0]
    saturated = max([share for share in utilisations if share >= SATURATED], default=0.0)
    return min(1.0, max(work, saturated))


@dataclass(frozen=True)
class StepSpeed:
    """What a step shows of the machine's speed.

    speed: see step_speed. second_noise: standard deviation of the speed of a counted second, a share. seconds: their
    number. busy_share: busy cores of the machine as a share of its cores; 0 where they were not counted.
    cpu_share: see there. is_corrected: whether throughput is corrected: users take turns, and the server's process is
    seen on this machine.
    """

    speed: float
    second_noise: float
    seconds: int
    busy_share: float
    cpu_share: float
    is_corrected: bool

    @classmethod
    def of(cls, step: Step, pools: int = 1) -> Self | None:
        """Return what a step shows; None without a speed. pools: number of pools of its size."""
        speed = step_speed(step)
        if speed is None:
            return None
        seconds = [each for each in step.server["machine_speed"][step.warm_up_seconds :] if each is not None]
        busy, cores = step.counter("machine_cpu"), step.counter("machine_cores")
        return cls(
            speed,
            float(np.std(seconds) / np.mean(seconds)),
            len(seconds),
            busy / cores if busy and cores else 0.0,
            cpu_share(step, pools),
            step.counter("process_cpu") is not None and step.rate is None and step.knows_usage,
        )


@dataclass(frozen=True)
class UsualSpeed:
    """The usual speed of steps on one machine: its logarithm is a line over the share of busy cores.

    The line is that of Theil (1950) and Sen (1968), with the median step of each pool size and run: neither a slow step
    moves it, nor a size that was measured again and again. second_noise: standard deviation of the noise of a second's
    speed, a share.
    """

    intercept: float
    slope: float
    second_noise: float

    @classmethod
    def of(cls, *runs: Run) -> Self | None:
        """Return the usual speed by the steps of all runs' curves; None where fewer than FEWEST_STEPS have a speed."""
        known = [
            sorted(
                ((step.pool_size, shown) for step in _curve(run) if (shown := StepSpeed.of(step))),
                key=lambda sized: (sized[0], sized[1].speed),
            )
            for run in runs
        ]
        every = [shown for of_run in known for _, shown in of_run]
        if len(every) < FEWEST_STEPS:
            return None
        groups = [[shown for _, shown in group] for of_run in known for _, group in groupby(of_run, lambda of: of[0])]
        points = [(middle.busy_share, log(middle.speed)) for middle in (group[len(group) // 2] for group in groups)]
        slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in combinations(points, 2) if abs(b[0] - a[0]) >= APART]
        slope = min(0.0, max(STEEPEST, median_high(slopes))) if slopes else 0.0
        intercept = median_high([y - slope * x for x, y in points])
        return cls(intercept, slope, median_high([shown.second_noise for shown in every]))

    def under(self, shown: StepSpeed) -> float:
        """Return the usual speed under the load of a step."""
        return exp(self.intercept + self.slope * shown.busy_share)

    def noise(self, shown: StepSpeed) -> float:
        """Return the standard error of a step's speed, a share."""
        return self.second_noise / sqrt(shown.seconds)

    def correction(self, step: Step) -> tuple[float, float]:
        """Return the factor from a step's throughput to that at the usual speed, and its standard error, a share."""
        shown = StepSpeed.of(step)
        return (1.0, 0.0) if shown is None else self.correction_of(shown)

    def correction_of(self, shown: StepSpeed) -> tuple[float, float]:
        """Return the correction by what a step shows; 1 without an error where nothing is corrected."""
        if not shown.is_corrected:
            return 1.0, 0.0
        slowness, most = shown.cpu_share * log(self.under(shown) / shown.speed), log(MOST_CORRECTED)
        return exp(min(most, max(-most, slowness))), shown.cpu_share * self.noise(shown)


def _curve(run: Run) -> Sequence[Step]:
    """Return the steps of the throughput curve.

    The calibration and the verification do not count: they are another load, and a verification must not change the
    curve that it verifies.
    """
    return [step for step in run.steps if step.rate == run.plan.rate]
