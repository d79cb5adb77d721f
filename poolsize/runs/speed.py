"""The check of the machine's speed in each step of a run, and the correction to the usual speed.

A machine changes its speed by itself (heat, clock rate). A neighbour on the same physical cores changes the speed of a
virtual machine, and a hypervisor that gives the cores to others does. Where the CPU is the bottleneck, throughput
follows the speed, so a step's throughput is corrected to the usual speed. The usual speed is known only across the
steps, so a further step may change the corrections.
"""

from dataclasses import replace
from math import log

from poolsize.runs.check import Check
from poolsize.runs.run import CheckResult, Run, Step
from poolsize.runs.step_speed import cpu_share, is_corrected, known_speed, step_speed
from poolsize.runs.usual_speed import UsualSpeed

SPEED_TOLERANCE = 0.03
"""Share by which another speed may change what is not corrected."""
LARGEST_CORRECTION = 0.15
"""Share by which a correction may change a step's throughput; a larger correction could itself be wrong by 3 %."""
SURE = 2.0
"""Standard errors by which a speed must differ, at least."""


def with_speed_checks(run: Run) -> Run:
    """Return the run with the speed check of each step against the usual speed of the whole run, where it is known."""
    usual = UsualSpeed.of(run)
    return replace(run, steps=tuple(_with_speed_check(step, usual, run.setting.pools) for step in run.steps))


def with_step(run: Run, step: Step) -> Run:
    """Return the run with one more step, and with the speed checks that follow from it.

    A step without a speed changes no check.
    """
    longer = replace(run, steps=(*run.steps, step))
    return longer if step_speed(step) is None else with_speed_checks(longer)


def speed_check(step: Step, usual: UsualSpeed, pools: int = 1) -> CheckResult:
    """Check that the machine had its usual speed, or that throughput can be corrected to that speed.

    The speed is that of a small piece of work on each core that the load or a local server may use, by the CPU time it
    takes, less the time that the hypervisor gave to other machines. A neighbour on the same physical core, heat and
    another clock rate change it; other programs that take turns with the load do not. The run's own load slows the
    cores, too, so the usual speed is a line over the busy cores, fitted to the medians of each pool size. It is known
    from the third step on, and a further step may change the result.

    A speed changes throughput by the CPU's part in the transactions: little where they wait for the disk. Where server
    and load generator share a machine, and users take turns (closed loop), throughput is corrected to the usual speed.
    A neighbour slows the caches and the memory more than the small piece of work, so throughput follows a power of the
    speed from 1 to 2, which the repeats of the pool sizes show. The check fails if the correction exceeds 15 %.
    Elsewhere nothing is corrected, and the check fails if the speed changed throughput by more than 3 %; a speed counts
    as different by what exceeds two standard errors.
    Latencies stay as measured. Before another attempt, the sweep waits up to a minute while the machine is much slower
    than before the first step. Where every attempt fails, the last of them counts, corrected by a factor of 2 at most.
    Steps without a measured speed have no such check.

    Figures: `speed` in the counted seconds, and the `usual_speed`, both in MB of work per second of CPU time;
    `deviation` of the speed, and `noise`, its standard error, both as shares; `cpu_share`, the CPU's part in the
    transactions; `sensitivity`, the power of the speed that throughput follows where the CPU does all the work;
    `correction`, the factor from the measured throughput to that at the usual speed, and
    `correction_noise`, its standard error, a share; `steal_cores` that the hypervisor gave to other machines.
    """
    measured, part, noise = known_speed(step), cpu_share(step, pools), usual.noise(step)
    deviation = measured / usual.speed(step) - 1
    correction, correction_noise = usual.correction(step)
    values = {
        "speed": measured,
        "usual_speed": usual.speed(step),
        "deviation": deviation,
        "noise": noise,
        "cpu_share": part,
        "sensitivity": usual.sensitivity.power,
        "correction": correction,
        "correction_noise": correction_noise,
        "steal_cores": step.counter("machine_steal"),
    }
    if is_corrected(step):
        return CheckResult(Check.SPEED, abs(log(correction)) <= log(1 + LARGEST_CORRECTION), values)
    return CheckResult(Check.SPEED, part * (abs(deviation) - SURE * noise) <= SPEED_TOLERANCE, values)


def _with_speed_check(step: Step, usual: UsualSpeed | None, pools: int) -> Step:
    checks = tuple(check for check in step.checks if check.check is not Check.SPEED)
    if usual is not None and step_speed(step) is not None:
        checks += (speed_check(step, usual, pools),)
    return step if checks == step.checks else replace(step, checks=checks)
