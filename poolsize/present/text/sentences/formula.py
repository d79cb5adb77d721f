"""The findings of the formula's answer as sentences."""

from poolsize.answer import from_formula
from poolsize.present.text.sentences.findings import register_templates

register_templates(
    {
        from_formula.PhysicalCores: lambda finding: (
            "cores = {cores}: physical cores of the database's host; hyper-threads don't count"
            + (" ({logical_cpus} logical CPUs / {threads_per_core})" if finding.threads_per_core > 1 else "")
        ),
        from_formula.DeadlockFloor: lambda finding: (
            "deadlock floor = {deadlock_floor}: with fewer connections in the pool of one process, its threads can "
            "deadlock, because each thread holds several. It is a minimum, not an optimum"
            + ("; it is above the formula's {connections}" if finding.deadlock_floor > finding.connections else "")
        ),
        from_formula.NoDisks: "effective_disks = 0: the data needs no disk",
        from_formula.DisksUncached: "effective_disks = {disks}: the number of disks, assuming that every read misses "
        "the cache; --cache-hit-rate makes it smaller",
        from_formula.DisksCached: "effective_disks = {effective_disks:g}: {disks} x the {miss_share:.0%} of reads "
        "that miss the cache",
        from_formula.OnlyStartingPoint: "This is a starting point, not an answer: measure pool sizes around it.",
        from_formula.ServedAtOnce: "The number is the total for all clients of the database. `poolsize fleet` "
        "divides it among your application's instances and processes.",
        from_formula.OnSsd: "The formula was never analysed for SSDs. On SSDs, connections wait less for the disk, so "
        "fewer connections are enough: measure smaller sizes first.",
        from_formula.FloorAboveFormula: "The deadlock floor is above the formula's size: let each thread hold fewer "
        "connections at once.",
    }
)
