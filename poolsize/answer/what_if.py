"""What differs from a run in a prediction, and the network that follows from it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from poolsize.analysis.analysis import Analysis
from poolsize.analysis.models.closed_network import Station
from poolsize.analysis.models.fitted_network import FittedNetwork
from poolsize.errors import BadInput
from poolsize.formula import require_cores
from poolsize.runs.plan import MOST_USERS

LARGEST = 10_000
"""The largest pool size that is predicted."""
LONGEST_ROUND_TRIP_MS = 10_000
"""A longer round trip is a typing error."""


@dataclass(frozen=True)
class WhatIf:
    """The differences from the run; None for no difference.

    cores: physical cores of the database's host. round_trip_ms: of one statement. think_time_ms: mean pause of a user
    between transactions. users: of all instances together.
    instances: number of instances of the application. Each has an equal share of the users and of the pool, and workers
    like the run's.
    """

    cores: int | None = None
    round_trip_ms: float | None = None
    think_time_ms: float | None = None
    users: int | None = None
    instances: int = 1

    def __post_init__(self) -> None:
        """Raise BadInput for impossible values."""
        if self.cores is not None:
            require_cores(self.cores)
        if self.users is not None and not 1 <= self.users <= MOST_USERS:
            raise BadInput(f"`users` {self.users}: give 1 to {MOST_USERS:,} users")
        if self.round_trip_ms is not None and self.round_trip_ms > LONGEST_ROUND_TRIP_MS:
            raise BadInput(f"`round_trip_ms` {self.round_trip_ms:g}ms: give at most {LONGEST_ROUND_TRIP_MS:,}ms")
        if not 1 <= self.instances <= MOST_USERS:
            raise BadInput(f"`instances` {self.instances}: give 1 to {MOST_USERS:,}")

    def require_possible(self, sizes: Sequence[int], users: int) -> None:
        """Raise BadInput for fewer users than instances, and for sizes that they can't share or that are too large."""
        if users < self.instances:
            raise BadInput(f"`users` {users}: fewer than the {self.instances} instances that share them")
        for size in sizes:
            if size % self.instances:
                raise BadInput(
                    f"`sizes` {size}: {self.instances} instances can't share it; give multiples of {self.instances}"
                )
            if size > LARGEST:
                raise BadInput(f"`sizes` {size}: give {LARGEST:,} connections at most")


def changed_network(analysis: Analysis, network: FittedNetwork, what_if: WhatIf) -> FittedNetwork:
    """Return the network with other cores, another round trip, and the workers of all instances.

    Raises BadInput for differences that need figures the run lacks.
    """
    return replace(
        network,
        client=replace(network.client, servers=network.client.servers * what_if.instances),
        cpu=network.cpu if what_if.cores is None else _with_cores(analysis, network.cpu, what_if.cores),
        delay_ms=_delay_ms(analysis, network.delay_ms, what_if.round_trip_ms),
    )


def _with_cores(analysis: Analysis, cpu: Station, cores: int) -> Station:
    if not cpu.demand_ms:
        raise BadInput(
            f"`cores` {cores}: the run does not know how much CPU time a transaction takes on the server; leave it out"
        )
    return cpu.with_servers(max(1, round(cpu.servers * cores / analysis.setting.cores)))


def _delay_ms(analysis: Analysis, delay_ms: float, round_trip_ms: float | None) -> float:
    if round_trip_ms is None:
        return delay_ms
    calibration, statements = analysis.run.calibration, analysis.statements
    if calibration is None or statements is None:
        raise BadInput(
            f"`round_trip_ms` {round_trip_ms:g}ms: the run does not know how long its own round trip was, "
            "or how many statements a transaction has; leave it out"
        )
    return max(0.0, delay_ms + statements * (round_trip_ms - calibration.round_trip_us / 1000))
