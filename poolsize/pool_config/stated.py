"""The numbers of instances and processes that the files state -> the service that each pool belongs to."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from poolsize.answer.fleet import Service
from poolsize.command_line.fleet_options import FleetOptions
from poolsize.command_line.options import is_typed
from poolsize.pool_config.check import CheckedFile
from poolsize.pool_config.files.reading import PoolFile
from poolsize.pool_config.pool import Count, FilePool

SURGE = 0.25
"""For a maxSurge that is neither a share nor a number: the default of a Kubernetes Deployment."""


@dataclass(frozen=True)
class Stated:
    """A number that a file states."""

    path: Path
    count: Count

    @property
    def owner(self) -> str | Path:
        """The workload, or the file where the statement names none."""
        return self.count.workload or self.path

    @property
    def number(self) -> int | None:
        """The number; None where the file alone does not contain it."""
        value = self.count.setting.value
        return value if isinstance(value, int) else None


@dataclass(frozen=True)
class Typed:
    """The service of the options, and which numbers were typed; these hold, whatever the files state.

    surge: share of further instances in a rolling deploy. surge_holds: whether it does where a file states instances.
    """

    service: Service
    surge: float
    instances: bool = False
    processes: bool = False
    surge_holds: bool = False


@dataclass(frozen=True)
class PoolFleet:
    """The service of a pool, and the share of further instances in a rolling deploy.

    stated: the statements of the files that hold. unclear: those that contradict each other, or are not followed.
    """

    service: Service
    surge: float
    stated: tuple[Stated, ...] = ()
    unclear: tuple[Stated, ...] = ()


def statements(files: Sequence[PoolFile | CheckedFile]) -> list[Stated]:
    """Return the numbers that some files state."""
    return [Stated(file.path, count) for file in files for count in file.counts]


def pool_fleet(pool: FilePool, path: Path, every: Sequence[Stated], typed: Typed) -> PoolFleet:
    """Return the service of a pool. path: its file. every: the numbers that all files state."""
    numbers: dict[str, int] = {}
    stated: list[Stated] = []
    unclear: list[Stated] = []
    for kind in ("instances", "max_instances", "processes"):
        if typed.processes if kind == "processes" else typed.instances:
            continue
        holding = _holding(pool, path, [each for each in every if each.count.kind == kind])
        known = {each.number for each in holding}
        if len(known) == 1 and (number := holding[0].number) is not None:
            numbers[kind] = number
            stated.append(holding[0])
        else:
            unclear += holding
    if "max_instances" in numbers:
        numbers["max_instances"] = max(numbers["max_instances"], numbers.get("instances", typed.service.instances))
    service = replace(typed.service, **numbers)  # type: ignore[arg-type]  # these three are numbers
    surge = typed.surge if typed.surge_holds else _surge(stated, service.most_instances, typed.surge)
    return PoolFleet(service, surge, tuple(stated), tuple(unclear))


def typed_in(fleet: FleetOptions) -> Typed:
    """Return the service of the options."""
    instances = bool({"instances", "max_instances"} & set(fleet.of_instances))
    surge = fleet.limit().surge if fleet.of_instances or is_typed("surge") else 0.0
    holds = instances or is_typed("surge")
    return Typed(fleet.service(), surge, instances, "processes" in fleet.of_instances, holds)


def with_stated(fleet: FleetOptions, files: Sequence[PoolFile], typed: Typed) -> FleetOptions:
    """Return the options with the numbers that the files state, where these are the same for all pools."""
    every = statements(files)
    fleets = [pool_fleet(pool, file.path, every, typed) for file in files for pool in file.pools if pool.library.sizes]
    if len({(each.service, each.surge) for each in fleets}) != 1 or not fleets[0].stated:
        return fleet
    service = fleets[0].service
    return replace(
        fleet, instances=service.instances, processes=service.processes, max_instances=service.max_instances,
        surge=fleets[0].surge,
    )  # fmt: skip


def _holding(pool: FilePool, path: Path, stated: Sequence[Stated]) -> list[Stated]:
    """Return the statement that holds for a pool; several where they are of different owners.

    Of several with the same owner, as in the files of several environments, the largest holds.
    """
    own = [each for each in stated if each.owner == (pool.workload or path)]
    others = [each for each in stated if not (pool.workload and each.count.workload)]
    largest: dict[str | Path, Stated] = {}
    for each in own or others:
        if each.owner not in largest or (each.number or 0) > (largest[each.owner].number or 0):
            largest[each.owner] = each
    return list(largest.values())


def _surge(stated: Sequence[Stated], instances: int, otherwise: float) -> float:
    """Return the share of further instances in a rolling deploy, by the statement of the instances."""
    text = next((each.count.surge for each in stated if each.count.kind != "processes"), None)
    if text is None:
        return otherwise
    share = text.endswith("%")
    number = text.removesuffix("%")
    if not (number.isascii() and number.isdecimal() and len(number) < 7):
        return SURGE
    return min(1.0, int(number) / (100 if share else instances))
