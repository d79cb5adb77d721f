"""The findings of the formula's answer as sentences."""

from poolsize.answer import recommendation
from poolsize.present.text.sentences.findings import register_templates

register_templates(
    {
        recommendation.PhysicalCores: lambda finding: (
            "cores = {cores}: physical cores of the database's host; hyper-threads don't count"
            + (" ({logical_cpus} logical CPUs / {threads_per_core})" if finding.threads_per_core > 1 else "")
        ),
        recommendation.DeadlockFloor: lambda finding: (
            "deadlock floor = {deadlock_floor}: with fewer connections in the pool of one process, its threads can "
            "deadlock, because each thread holds several. It is a minimum, not an optimum"
            + ("; it is above the formula's {connections}" if finding.deadlock_floor > finding.connections else "")
        ),
        recommendation.NoDisks: "effective_disks = 0: the data needs no disk",
        recommendation.DisksUncached: "effective_disks = {disks}: the number of disks, assuming that every read misses "
        "the cache; --cache-hit-rate makes it smaller",
        recommendation.DisksCached: "effective_disks = {effective_disks:g}: {disks} x the {miss_share:.0%} of reads "
        "that miss the cache",
        recommendation.OnlyStartingPoint: "This is a starting point, not an answer: measure pool sizes around it.",
        recommendation.ServedAtOnce: "The number is the total for all clients of the database. `poolsize fleet` "
        "divides it among your application's instances and processes.",
        recommendation.OnSsd: "The formula was never analysed for SSDs. On SSDs, connections wait less for the disk, "
        "so fewer connections are enough: measure smaller sizes first.",
        recommendation.FloorAboveFormula: "The deadlock floor is above the formula's size: let each thread hold "
        "fewer connections at once.",
    }
)
