"""The findings of the formula as sentences."""

from collections.abc import Callable, Mapping

from poolsize.answer.finding import Code, Finding


def _cores(finding: Finding) -> str:
    values = finding.values
    divided = f" ({values['logical_cpus']} logical CPUs / {values['threads_per_core']})"
    return (
        f"cores = {values['cores']}: physical cores of the database's host; hyper-threads don't count"
        f"{divided if values['threads_per_core'] > 1 else ''}"
    )


def _no_disks(_: Finding) -> str:
    return "effective_disks = 0: the data needs no disk"


def _disks_uncached(finding: Finding) -> str:
    return (
        f"effective_disks = {finding.values['disks']}: the number of disks, assuming that every read misses "
        "the cache; --cache-hit-rate makes it smaller"
    )


def _disks_cached(finding: Finding) -> str:
    values = finding.values
    return (
        f"effective_disks = {values['effective_disks']:g}: {values['disks']} x the {values['miss_share']:.0%} "
        "of reads that miss the cache"
    )


def _deadlock_floor(finding: Finding) -> str:
    floor, connections = finding.values["deadlock_floor"], finding.values["connections"]
    above = f"; it is above the formula's {connections}" if floor > connections else ""
    return (
        f"deadlock floor = {floor}: with fewer connections in the pool of one process, its threads can deadlock, "
        f"because each thread holds several. It is a minimum, not an optimum{above}"
    )


def _starting_point(_: Finding) -> str:
    return "This is a starting point, not an answer: measure pool sizes around it."


def _served_at_once(_: Finding) -> str:
    return (
        "The number is the total for all clients of the database. `poolsize fleet` divides it among your application's "
        "instances and processes."
    )


def _ssd(_: Finding) -> str:
    return (
        "The formula was never analysed for SSDs. On SSDs, connections wait less for the disk, so fewer connections "
        "are enough: measure smaller sizes first."
    )


def _floor_above_formula(_: Finding) -> str:
    return "The deadlock floor is above the formula's size: let each thread hold fewer connections at once."


FORMULA: Mapping[Code, Callable[[Finding], str]] = {
    Code.CORES: _cores,
    Code.NO_DISKS: _no_disks,
    Code.DISKS_UNCACHED: _disks_uncached,
    Code.DISKS_CACHED: _disks_cached,
    Code.DEADLOCK_FLOOR: _deadlock_floor,
    Code.STARTING_POINT: _starting_point,
    Code.SERVED_AT_ONCE: _served_at_once,
    Code.SSD: _ssd,
    Code.FLOOR_ABOVE_FORMULA: _floor_above_formula,
}
