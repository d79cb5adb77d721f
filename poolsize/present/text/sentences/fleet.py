"""The findings of a fleet as sentences."""

from poolsize.answer import fleet_plan
from poolsize.present.text.sentences.findings import register_templates
from poolsize.units import count, loss_text

MIB = 2**20


def in_deploy(instances: fleet_plan.MoreInstances) -> str:
    """Return when the fleet has the most connections."""
    deploy = f"In a rolling deploy with {100 * instances.surge:.0f} % more instances" if instances.surge else ""
    if not instances.autoscaled:
        return deploy or "With all instances"
    return f"{deploy}, at the autoscaler's maximum" if deploy else "At the autoscaler's maximum"


def _floors(finding: fleet_plan.FleetFloor | fleet_plan.ExceedsLimit) -> str:
    """Return the deadlock floors as part of a template; of a single service, without its name."""
    return f"{next(iter(finding.floors.values())):,}" if finding.services == 1 else "{floors:named}"


def _separate_pools(finding: fleet_plan.SeparatePools) -> str:
    busy, waits, p99 = (
        "{}, {} and {}".format(*(f"{value:.2g}" if value >= 0.01 else "0" for value in values))
        for values in ([100 * share for share in finding.busy], finding.waits, finding.p99)
    )
    return (
        "Each process of {service} has only its own {pool_size:#connection} for {threads:,} threads, and can't use "
        f"those of others. With {busy} % of its connections in use, a request waits {waits} mean usage times on "
        f"average (p99 {p99}). The rate and the usage time decide: give them to `poolsize recommend --rate` or, for "
        "several services, to `poolsize fleet --service NAME:INSTANCES:PROCESSES:RATE:USAGE_TIME`."
    )


def _above_size(finding: fleet_plan.AboveSize) -> str:
    when = "At the autoscaler's maximum, all" if finding.at_max_instances else "All"
    loss = "A measured --run shows whether the additional connections lose throughput."
    if finding.throughput_loss is not None:
        loss = f"In the run, {{connections:,}} connections lose {loss_text(finding.throughput_loss)}."
    elif finding.measured_up_to is not None:
        loss = (
            "The run does not show whether the additional connections lose throughput: it measured up to "
            "{measured_up_to:,}."
        )
    within = " With {pool_sizes:pools}, they stay within {size:,}." if finding.pool_sizes else ""
    verb = "is" if finding.size == 1 else "are"
    return (
        f"{when} pools together have {{connections:,}} connections, and {{size:,}} {verb} recommended. {loss}{within}"
    )


register_templates(
    {
        fleet_plan.MoreInstances: in_deploy,
        fleet_plan.FleetLimit: "The server's limit keeps the pools small. {instances}, they open {in_deploy:,} of the "
        "{usable:,} connections that the fleet may use. Usually they have {connections:,} of the recommended {size:,}.",
        fleet_plan.FleetFloor: lambda finding: (
            f"Deadlock floor of each process: {_floors(finding)}. With fewer connections in its pool, the threads of a "
            "process can deadlock, because each thread holds several."
        ),
        fleet_plan.SeparatePools: _separate_pools,
        fleet_plan.AboveSize: _above_size,
        fleet_plan.PoolOfOne: "Waits are no part of this division: requests queue in a pool of 1 connection. For what "
        "your traffic needs: poolsize recommend --rate.",
        fleet_plan.LimitUnknown: "The server's max_connections is not known. {instances}, the fleet opens "
        "{needed:#connection}. To stay within the server's limit, give --max-connections.",
        fleet_plan.ExceedsLimit: lambda finding: (
            f"No pool size fits. {{instances}}, {count(finding.processes, 'process', 'processes')} need {{needed:,}} "
            f"connections{f' (deadlock floor of each process: {_floors(finding)})' if finding.floors else ''}. "
            "The server admits {usable:,} for them: {excess:,} too few."
        ),
        fleet_plan.FewerProcesses: lambda finding: (
            "Alternative: fewer processes with more threads each. With "
            f"{count(finding.processes, 'process', 'processes')} in each instance, the fleet has "
            "{connections:,} connections ({pool_sizes:pools})."
        ),
        fleet_plan.RaiseLimit: lambda finding: (
            "Alternative: a larger limit. Set {variables:raised}. The pools then have "
            "{connections:,} connections ({pool_sizes:pools}). The limit then admits {more:,} more connections; even "
            f"idle, they take about {finding.memory_bytes / MIB:,.0f} MiB of the server's memory."
        ),
        fleet_plan.PoolSizeKept: "Each pool keeps its size of {pool_size}. Whether the database can use "
        "{connections:#connection} was not measured. The run's bottleneck is in the application ({bottleneck}), so the "
        "{measured_pools:#pool} of the run do not show what the database can use.",
        fleet_plan.FleetSize: lambda finding: (
            "All pools together have {connections:,} of the recommended {size:#connection}. "
            + (
                f"Pools of {finding.larger[0]:,} would have {finding.larger[1]:,}."
                if finding.larger
                else "With pools that are larger by 1, they would have more than {size:,}."
            )
            if finding.unused
            else "All pools together have the recommended {size:#connection}."
        ),
        fleet_plan.FleetThreads: "The threads of the processes can't use larger pools. All pools together have "
        "{connections:,} of the recommended {size:#connection}.",
        fleet_plan.BeyondWeight: "{service} has {connections:,} connections; its weight alone would give it "
        "{by_weight:.0f}. The other services can't use the difference: 1 connection more in each of their processes "
        "would exceed the total.",
        fleet_plan.Proxy: "Alternative: a proxy, such as ProxySQL or MaxScale. All processes would share "
        "{connections:#connection} to the database. The proxy itself must accept {clients:,} connections or more. A "
        "session that keeps state, such as a user variable or a temporary table, keeps its connection.",
    }
)
