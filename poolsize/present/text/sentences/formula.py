"""The findings of the formula's answer as sentences."""

from poolsize.answer import from_formula
from poolsize.present.text.sentences.findings import filled, register_templates, sentence


@sentence.register
def _(finding: from_formula.PhysicalCores) -> str:
    divided = " ({logical_cpus} logical CPUs / {threads_per_core})" if finding.threads_per_core > 1 else ""
    cores = "cores = {cores}: physical cores of the database's host; hyper-threads don't count"
    return filled(cores + divided, vars(finding))


@sentence.register
def _(finding: from_formula.DeadlockFloor) -> str:
    is_above = finding.deadlock_floor > finding.connections
    above = f"; it is above the formula's {finding.connections}" if is_above else ""
    return (
        f"deadlock floor = {finding.deadlock_floor}: with fewer connections in the pool of one process, its threads "
        f"can deadlock, because each thread holds several. It is a minimum, not an optimum{above}"
    )


register_templates(
    {
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
