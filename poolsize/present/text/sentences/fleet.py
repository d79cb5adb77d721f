"""The findings of a fleet as sentences."""

from collections.abc import Callable, Mapping

from poolsize.answer.finding import Code, Finding
from poolsize.units import count, loss_text

MIB = 2**20


def _size(finding: Finding) -> str:
    values = finding.values
    if not values["unused"]:
        return f"All pools together have the recommended {count(values['size'], 'connection')}."
    return (
        f"All pools together have {values['connections']:,} of the recommended {count(values['size'], 'connection')}. "
        f"With pools that are larger by 1, they would have more than {values['size']:,}."
    )


def _limit(finding: Finding) -> str:
    values = finding.values
    return (
        f"The server's limit keeps the pools small. {_in_deploy(finding)}, they open "
        f"{values['in_deploy']:,} of the {values['usable']:,} connections that the fleet may use. Usually they have "
        f"{values['connections']:,} of the recommended {values['size']:,}."
    )


def _threads(finding: Finding) -> str:
    values = finding.values
    return (
        "The threads of the processes can't use larger pools. All pools together have "
        f"{values['connections']:,} of the recommended {count(values['size'], 'connection')}."
    )


def _floor(finding: Finding) -> str:
    floors = finding.values["floors"]
    listed = _sizes(floors) if finding.values["services"] == 1 else _listed(floors)
    return (
        f"Deadlock floor of each process: {listed}. With fewer connections in its pool, the threads of a "
        "process can deadlock, because each thread holds several."
    )


def _beyond_weight(finding: Finding) -> str:
    values = finding.values
    return (
        f"{values['service']} has {values['connections']:,} connections; its weight alone would give it "
        f"{values['by_weight']:.0f}. The other services can't use the difference: 1 connection more in each of their "
        "processes would exceed the total."
    )


def _above_size(finding: Finding) -> str:
    values = finding.values
    when = "At the autoscaler's maximum, all" if values["at_max_instances"] else "All"
    parts = [f"{when} pools together have {values['connections']:,} connections; {values['size']:,} are recommended."]
    if values["throughput_loss"] is not None:
        parts.append(f"In the run, the difference costs {loss_text(values['throughput_loss'])}.")
    elif values["measured_up_to"] is not None:
        parts.append(f"The run does not show the loss of throughput: it measured up to {values['measured_up_to']:,}.")
    else:
        parts.append("To see the loss of throughput, give a measured --run.")
    if values["pool_sizes"]:
        parts.append(f"With {_pool_sizes(values['pool_sizes'])}, they stay within {values['size']:,}.")
    return " ".join(parts)


def _limit_unknown(finding: Finding) -> str:
    values = finding.values
    return (
        f"The server's max_connections is not known. {_in_deploy(finding)}, the fleet opens "
        f"{count(values['needed'], 'connection')}. To stay within the server's limit, give --max-connections."
    )


def _exceeds_limit(finding: Finding) -> str:
    values = finding.values
    floor = f", at least {values['floor']:,} in each pool (the deadlock floor)" if values["floor"] > 1 else ""
    return (
        f"No pool size fits. {_in_deploy(finding)}, "
        f"{count(values['processes'], 'process', 'processes')} need {values['needed']:,} connections{floor}. "
        f"The server admits {values['usable']:,} for them: {values['excess']:,} too few."
    )


def _fewer_processes(finding: Finding) -> str:
    values = finding.values
    return (
        "Alternative: more threads and fewer processes. With "
        f"{count(values['processes'], 'process', 'processes')} in each instance, the fleet has "
        f"{values['connections']:,} connections ({_pool_sizes(values['pool_sizes'])})."
    )


def _proxy(finding: Finding) -> str:
    values = finding.values
    return (
        "Alternative: a proxy, such as ProxySQL or MaxScale. All processes would share "
        f"{count(values['connections'], 'connection')} to the database. "
        f"The proxy itself must accept {values['clients']:,} or more."
    )


def _raise_limit(finding: Finding) -> str:
    values = finding.values
    variables = " and ".join(f"{name} to {value:,}" for name, value in values["variables"].items())
    return (
        f"Alternative: a larger limit. Set {variables}. The pools then have {values['connections']:,} connections "
        f"({_pool_sizes(values['pool_sizes'])}). The limit then admits {values['more']:,} more connections; even idle, "
        f"they take about {values['memory_bytes'] / MIB:,.0f} MiB of the server's memory."
    )


def _in_deploy(finding: Finding) -> str:
    """Return when the fleet has the most connections."""
    surge, autoscaled = finding.values["surge"], finding.values["autoscaled"]
    deploy = f"In a rolling deploy with {100 * surge:.0f} % more instances" if surge else ""
    if not autoscaled:
        return deploy or "With all instances"
    return f"{deploy}, at the autoscaler's maximum" if deploy else "At the autoscaler's maximum"


def _pool_sizes(sizes: Mapping[str, int]) -> str:
    return f"pool {'size' if len(sizes) == 1 else 'sizes:'} {_sizes(sizes)}"


def _sizes(sizes: Mapping[str, int]) -> str:
    """Return pool sizes with the names of their services; of a single service, without its name."""
    if len(sizes) == 1:
        return f"{next(iter(sizes.values())):,}"
    return _listed(sizes)


def _listed(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {size:,}" for name, size in sizes.items())


FLEET: Mapping[Code, Callable[[Finding], str]] = {
    Code.FLEET_SIZE: _size,
    Code.FLEET_LIMIT: _limit,
    Code.FLEET_THREADS: _threads,
    Code.FLEET_FLOOR: _floor,
    Code.FLEET_BEYOND_WEIGHT: _beyond_weight,
    Code.FLEET_ABOVE_SIZE: _above_size,
    Code.FLEET_LIMIT_UNKNOWN: _limit_unknown,
    Code.FLEET_EXCEEDS_LIMIT: _exceeds_limit,
    Code.FLEET_FEWER_PROCESSES: _fewer_processes,
    Code.FLEET_PROXY: _proxy,
    Code.FLEET_RAISE_LIMIT: _raise_limit,
}
