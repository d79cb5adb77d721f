"""The findings of a fleet as sentences."""

from collections.abc import Callable, Mapping

from poolsize.answer.finding import Code, Finding
from poolsize.units import count, loss_text

MIB = 2**20


def _size(finding: Finding) -> str:
    values = finding.values
    return (
        f"All pools together have {count(values['connections'], 'connection')}. The database serves {values['size']:,} "
        "best, and a larger pool in every process of a service would exceed them."
    )


def _limit(finding: Finding) -> str:
    values = finding.values
    return (
        f"The server's limit keeps the pools small. {_at_most(finding)}, they open {values['at_most']:,} of the "
        f"{values['usable']:,} connections that the fleet may use. The database serves {values['size']:,} best."
    )


def _smallest_pools(finding: Finding) -> str:
    values = finding.values
    return (
        f"The smallest possible pools together have {count(values['connections'], 'connection')}. The database serves "
        f"{values['size']:,} best."
    )


def _above_size(finding: Finding) -> str:
    values = finding.values
    when = "At the autoscaler's maximum, the fleet" if values["at_most"] else "The fleet"
    loss = values["throughput_loss"]
    price = "A run tells the loss of throughput: give --run"
    if loss is not None:
        price = f"By the run, that costs {loss_text(loss)}"
    return (
        f"{when} opens {values['connections']:,} connections, although each pool is small. The database serves "
        f"{values['size']:,} best. {price}."
    )


def _limit_unknown(finding: Finding) -> str:
    return (
        f"The server's max_connections is not known. {_at_most(finding)}, the fleet opens {finding.values['needed']:,} "
        "connections. To keep a limit, give --max-connections or --url."
    )


def _exceeds_limit(finding: Finding) -> str:
    values = finding.values
    return (
        f"At the autoscaler's maximum, the smallest pools open {values['needed']:,} connections in a rolling deploy. "
        f"The server admits {values['usable']:,} for the fleet ({values['variable']} {values['max_connections']:,}, "
        f"{values['reserve']:,} in reserve): {values['excess']:,} too few."
    )


def _fewer_processes(finding: Finding) -> str:
    values = finding.values
    pools = ", ".join(f"{name} {size:,}" for name, size in values["pool_sizes"].items())
    return (
        f"Fewer processes: with {values['processes']} for each instance, and threads in each process, the fleet opens "
        f"{values['connections']:,} connections (pool size: {pools})."
    )


def _proxy(finding: Finding) -> str:
    return (
        "A proxy: ProxySQL or MaxScale shares connections among all processes. Let it open at most "
        f"{count(finding.values['connections'], 'connection')} to the database."
    )


def _raise_limit(finding: Finding) -> str:
    values = finding.values
    return (
        f"A larger limit: set {values['variable']} to {values['max_connections']:,}. The memory of "
        f"{values['more']:,} more idle connections is about {values['memory_bytes'] / MIB:,.0f} MiB."
    )


def _at_most(finding: Finding) -> str:
    surge = finding.values["surge"]
    during = f"In a rolling deploy with {surge:.0%} more instances" if surge else "Without further instances"
    return f"{during.replace('%', ' %')} at the autoscaler's maximum"


FLEET: Mapping[Code, Callable[[Finding], str]] = {
    Code.FLEET_SIZE: _size,
    Code.FLEET_LIMIT: _limit,
    Code.FLEET_SMALLEST_POOLS: _smallest_pools,
    Code.FLEET_ABOVE_SIZE: _above_size,
    Code.FLEET_LIMIT_UNKNOWN: _limit_unknown,
    Code.FLEET_EXCEEDS_LIMIT: _exceeds_limit,
    Code.FLEET_FEWER_PROCESSES: _fewer_processes,
    Code.FLEET_PROXY: _proxy,
    Code.FLEET_RAISE_LIMIT: _raise_limit,
}
