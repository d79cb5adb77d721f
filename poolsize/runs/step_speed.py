"""What a step shows of the machine's speed: the speed itself, and in which share throughput follows it."""

from poolsize.runs.run import Step

SATURATED = 0.85
"""From this utilisation on, the cores decide the throughput, and it follows their speed."""


def step_speed(step: Step) -> float | None:
    """Return the machine's mean speed in the counted seconds, or None where it was not measured.

    It is the speed of the cores (the counter machine_speed), times the share of their busy time that the hypervisor did
    not give to other machines.
    """
    speed, stolen, busy = (step.counter(f"machine_{name}") for name in ("speed", "steal", "cpu"))
    if speed and stolen and busy:
        speed *= max(0.0, 1 - stolen / busy)
    return speed or None


def known_speed(step: Step) -> float:
    """Return the machine's mean speed in the counted seconds of a step where it was measured."""
    measured = step_speed(step)
    assert measured is not None
    return measured


def second_speeds(step: Step) -> list[float | None]:
    """Return the speed in each counted second, or None where it was not read."""
    return list(step.server.get("machine_speed", ())[step.warm_up_seconds :])


def busy_share(step: Step) -> float:
    """Return the busy cores of the machine as a share of its cores; 0 where they were not counted."""
    busy, cores = step.counter("machine_cpu"), step.counter("machine_cores")
    return busy / cores if busy and cores else 0.0


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


def is_corrected(step: Step) -> bool:
    """Return whether throughput is corrected: users take turns, and the server's process is seen on this machine."""
    seen = step_speed(step) is not None and step.counter("process_cpu") is not None
    return seen and step.rate is None and step.knows_usage
