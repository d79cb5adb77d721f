"""The findings of a fleet as sentences."""

from collections.abc import Mapping

from poolsize.answer import fleet_plan
from poolsize.present.text.sentences.findings import register_templates, sentence
from poolsize.units import count, loss_text

MIB = 2**20


@sentence.register
def _(finding: fleet_plan.FleetLimit) -> str:
    return (
        f"The server's limit keeps the pools small. {in_deploy(finding.instances)}, they open "
        f"{finding.in_deploy:,} of the {finding.usable:,} connections that the fleet may use. Usually they have "
        f"{finding.connections:,} of the recommended {finding.size:,}."
    )


@sentence.register
def _(finding: fleet_plan.FleetFloor) -> str:
    return (
        f"Deadlock floor of each process: {_floors(finding)}. With fewer connections in its pool, the threads of a "
        "process can deadlock, because each thread holds several."
    )


@sentence.register
def _(finding: fleet_plan.SeparatePools) -> str:
    busy, waits, p99 = (
        "{}, {} and {}".format(*(f"{value:.2g}" if value >= 0.01 else "0" for value in values))
        for values in ([100 * share for share in finding.busy], finding.waits, finding.p99)
    )
    return (
        f"Each process of {finding.service} has only its own {count(finding.pool_size, 'connection')} for "
        f"{finding.threads:,} threads, and can't use those of others. With {busy} % of its connections in use, a "
        f"request waits {waits} mean usage times on average (p99 {p99}). The rate and the usage time decide: give "
        "them to `poolsize recommend --rate` or, for several services, to `poolsize fleet --service "
        "NAME:INSTANCES:PROCESSES:RATE:USAGE_TIME`."
    )


@sentence.register
def _(finding: fleet_plan.AboveSize) -> str:
    when = "At the autoscaler's maximum, all" if finding.at_max_instances else "All"
    parts = [f"{when} pools together have {finding.connections:,} connections; {finding.size:,} are recommended."]
    if finding.throughput_loss is not None:
        parts.append(f"In the run, the difference costs {loss_text(finding.throughput_loss)}.")
    elif finding.measured_up_to is not None:
        parts.append(f"The run does not show the loss of throughput: it measured up to {finding.measured_up_to:,}.")
    else:
        parts.append("To see the loss of throughput, give a measured --run.")
    if finding.pool_sizes:
        parts.append(f"With {_pool_sizes(finding.pool_sizes)}, they stay within {finding.size:,}.")
    return " ".join(parts)


@sentence.register
def _(finding: fleet_plan.LimitUnknown) -> str:
    return (
        f"The server's max_connections is not known. {in_deploy(finding.instances)}, the fleet opens "
        f"{count(finding.needed, 'connection')}. To stay within the server's limit, give --max-connections."
    )


@sentence.register
def _(finding: fleet_plan.ExceedsLimit) -> str:
    floor = f" (deadlock floor of each process: {_floors(finding)})" if finding.floors else ""
    return (
        f"No pool size fits. {in_deploy(finding.instances)}, "
        f"{count(finding.processes, 'process', 'processes')} need {finding.needed:,} connections{floor}. "
        f"The server admits {finding.usable:,} for them: {finding.excess:,} too few."
    )


@sentence.register
def _(finding: fleet_plan.FewerProcesses) -> str:
    return (
        "Alternative: more threads and fewer processes. With at most "
        f"{count(finding.processes, 'process', 'processes')} in each instance, the fleet has "
        f"{finding.connections:,} connections ({_pool_sizes(finding.pool_sizes)})."
    )


@sentence.register
def _(finding: fleet_plan.RaiseLimit) -> str:
    variables = " and ".join(f"{name} to {value:,}" for name, value in finding.variables.items())
    return (
        f"Alternative: a larger limit. Set {variables}. The pools then have {finding.connections:,} connections "
        f"({_pool_sizes(finding.pool_sizes)}). The limit then admits {finding.more:,} more connections; even idle, "
        f"they take about {finding.memory_bytes / MIB:,.0f} MiB of the server's memory."
    )


def in_deploy(instances: fleet_plan.MoreInstances) -> str:
    """Return when the fleet has the most connections."""
    deploy = f"In a rolling deploy with {100 * instances.surge:.0f} % more instances" if instances.surge else ""
    if not instances.autoscaled:
        return deploy or "With all instances"
    return f"{deploy}, at the autoscaler's maximum" if deploy else "At the autoscaler's maximum"


def _floors(finding: fleet_plan.FleetFloor | fleet_plan.ExceedsLimit) -> str:
    return _sizes(finding.floors) if finding.services == 1 else listed(finding.floors)


def _pool_sizes(sizes: Mapping[str, int]) -> str:
    return f"pool {'size' if len(sizes) == 1 else 'sizes:'} {_sizes(sizes)}"


def _sizes(sizes: Mapping[str, int]) -> str:
    """Return pool sizes with the names of their services; of a single service, without its name."""
    if len(sizes) == 1:
        return f"{next(iter(sizes.values())):,}"
    return listed(sizes)


def listed(sizes: Mapping[str, int]) -> str:
    """Return pool sizes with the names of their services."""
    return ", ".join(f"{name} {size:,}" for name, size in sizes.items())


register_templates(
    {
        fleet_plan.PoolSizeKept: "Each pool keeps its size of {pool_size}. Whether the database can use "
        "{connections:#connection} was not measured. The run's bottleneck is in the application ({bottleneck}), so the "
        "{measured_pools:#pool} of the run do not show what the database can use.",
        fleet_plan.FleetSize: lambda finding: (
            "All pools together have {connections:,} of the recommended {size:#connection}. With pools that are larger "
            "by 1, they would have more than {size:,}."
            if finding.unused
            else "All pools together have the recommended {size:#connection}."
        ),
        fleet_plan.FleetThreads: "The threads of the processes can't use larger pools. All pools together have "
        "{connections:,} of the recommended {size:#connection}.",
        fleet_plan.BeyondWeight: "{service} has {connections:,} connections; its weight alone would give it "
        "{by_weight:.0f}. The other services can't use the difference: 1 connection more in each of their processes "
        "would exceed the total.",
        fleet_plan.Proxy: "Alternative: a proxy, such as ProxySQL or MaxScale. All processes would share "
        "{connections:#connection} to the database. The proxy itself must accept {clients:,} or more.",
    }
)
