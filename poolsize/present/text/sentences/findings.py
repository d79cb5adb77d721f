"""Findings as sentences and as data, and their ways out as parts of sentences, with the options of the command line.

A record's words are a template, or a function where they depend on the figures. Those of the formula's findings and of
ways out are here.
"""

import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial, singledispatch
from importlib import import_module
from typing import Any, TypedDict

from poolsize.answer import recommendation
from poolsize.answer.finding import (
    Figures,
    FillGap,
    Finding,
    MeasureLonger,
    MoreUsers,
    MoreWorkers,
    MoreWorkersByDemands,
    MoreWorkersElsewhere,
    OtherMachine,
    RestoreData,
    SearchLonger,
    SearchNarrower,
    Severity,
    SweepBeyond,
    SweepRecordingBeyond,
)
from poolsize.units import at_most, count, milliseconds, number, per_second, percent, pool_sizes, sizes_text

OWN_WORDS = {
    "poolsize.answer.fleet_plan": "fleet",
    "poolsize.answer.fleet_from_traffic": "traffic",
    "poolsize.answer.traffic_findings": "traffic",
}
"""Module in which findings arise -> the module here that words them; `warnings` and `reasons` word those of a run."""
SHORTER_PAUSES = "with shorter pauses of the users: they ask for a connection too rarely to fill the pool"
MORE_CPU = "Give the load generator a core or a machine of its own."
MORE_WORKERS = (
    "Sweep with {workers} workers (--processes {workers}) on a machine with more cores, or on several machines "
    "(--expect-workers)."
)
UNITS: Mapping[str, Callable[[Any], str]] = {
    "ms": milliseconds,
    "/s": per_second,
    "%": percent,
    "most": at_most,
    "number": number,
    "range": sizes_text,
    "sizes": pool_sizes,
    "kinds": lambda failed: ", ".join(f"{failed[kind]} {kind}" for kind in sorted(failed)) or "none",
    "names": ", ".join,
    "limits": lambda limits_ms: ", ".join(f"{name} {milliseconds(limit_ms)}" for name, limit_ms in limits_ms.items()),
    "raised": lambda variables: " and ".join(f"{name} to {value:,}" for name, value in variables.items()),
    "named": lambda sizes: ", ".join(f"{name} {size:,}" for name, size in sizes.items()),
    "pools": lambda sizes: (
        f"pool size {next(iter(sizes.values())):,}" if len(sizes) == 1 else f"pool sizes: {UNITS['named'](sizes)}"
    ),
}
"""Name of a unit in a template -> figure as text."""


class _Figure:
    def __init__(self, value: Any) -> None:
        self._value = value

    def __format__(self, unit: str) -> str:
        """Return the figure as text. unit: of UNITS, a noun to count (#user), a percentage (.0f %), or Python's."""
        if isinstance(self._value, Figures):
            return way_out_text(self._value)
        if unit in UNITS:
            return UNITS[unit](self._value)
        if unit.startswith("#"):
            return count(self._value, unit[1:])
        return f"{100 * self._value:{unit[:-2]}} %" if unit.endswith(" %") else format(self._value, unit)


def filled(template: str, values: Mapping[str, Any]) -> str:
    """Return a template with its figures.

    {usage_ms:ms}: in a unit of UNITS. {users:#user}: counted. {share:.0f %}: a fraction. {way_out}: figures that have
    words of their own. Or a format of Python's.
    """
    return template.format_map({name: _Figure(value) for name, value in values.items()})


@singledispatch
def sentence(finding: Finding) -> str:
    """Return the sentence of a finding, with its figures and its way out.

    The words of a module's findings are registered when the first of them is worded: the formula's answer starts
    without the words of a run's.
    """
    module = f"{__package__}.{OWN_WORDS.get(type(finding).__module__, 'warnings')}"
    if module in sys.modules:
        raise NotImplementedError(finding.code)
    import_module(module)
    return sentence(finding)


def register_templates(templates: Mapping[type[Figures], str | Callable[[Any], str]]) -> None:
    """Register the words of findings, and of ways out and other figures in them.

    templates: record -> its template, for `filled`, or the function that chooses a template for a record's figures.
    """
    for record, template in templates.items():
        words: Any = sentence if issubclass(record, Finding) else way_out_text
        words.register(record, partial(_filled_from, template))


def _filled_from(template: str | Callable[[Any], str], figures: Figures) -> str:
    return filled(template if isinstance(template, str) else template(figures), vars(figures))


def reason_sentences(findings: Iterable[Finding]) -> tuple[str, ...]:
    """Return the sentences of the reasons, in the order of the findings."""
    return tuple(sentence(finding) for finding in findings if finding.severity is Severity.REASON)


def warning_sentences(findings: Iterable[Finding]) -> tuple[str, ...]:
    """Return the sentences of the warnings and refusals, in the order of the findings."""
    return tuple(sentence(finding) for finding in findings if finding.severity is not Severity.REASON)


class WayOutValues(TypedDict):
    """An action that improves an answer. values: its figures, by names with units."""

    remedy: str
    values: Mapping[str, Any]


class FindingValues(TypedDict):
    """A reason, a warning or a refusal. values: its figures, by names with units."""

    code: str
    severity: Severity
    values: Mapping[str, Any]
    way_out: WayOutValues | None


class FindingsValues(TypedDict):
    """The findings of an answer, in the order to read them. reasons, warnings: the same, as sentences."""

    findings: list[FindingValues]
    reasons: tuple[str, ...]
    warnings: tuple[str, ...]


def findings_values(findings: Iterable[Finding]) -> FindingsValues:
    """Return the findings of an answer as data and as sentences."""
    findings = tuple(findings)
    return {
        "findings": [finding_values(finding) for finding in findings],
        "reasons": reason_sentences(findings),
        "warnings": warning_sentences(findings),
    }


def finding_values(finding: Finding) -> FindingValues:
    """Return a finding as data."""
    way_out = getattr(finding, "way_out", None)
    return {
        "code": finding.code,
        "severity": finding.severity,
        "values": dict(finding.items()),
        "way_out": None if way_out is None else {"remedy": way_out.code, "values": dict(way_out.items())},
    }


@singledispatch
def way_out_text(way_out: Figures) -> str:
    """Return the way out of a finding, or other figures that it has, as part of a sentence."""
    raise NotImplementedError(way_out.code)


@way_out_text.register
def _(way_out: SweepBeyond) -> str:
    sizes = f"measure --pool-sizes {','.join(map(str, way_out.pool_sizes))}"
    if way_out.shorter_pauses:
        return f"{sizes} {SHORTER_PAUSES}"
    return sizes if way_out.users is None else f"{sizes} --users {way_out.users}"


@way_out_text.register
def _(way_out: MoreUsers) -> str:
    if way_out.shorter_pauses:
        return f"measure {SHORTER_PAUSES}"
    users = [] if way_out.users is None else [f"--users {way_out.users}"]
    smaller = ["smaller --pool-sizes"] if way_out.smaller_sizes else []
    return f"use {' or '.join([*users, *smaller])}"


def _room(way_out: MoreWorkersByDemands) -> float:
    """Return by what share the workers can do more transactions than the server."""
    assert way_out.workers is not None
    return way_out.workers / way_out.client_ms * way_out.server_ms / way_out.server_cores - 1


register_templates(
    {
        MeasureLonger: "measure longer, with --step-time {step_seconds}s or --repeats {repeats}",
        SearchLonger: "extend the search with --resume and --budget {budget_minutes}m",
        SearchNarrower: "extend the search with --resume and --interval {interval:g}",
        FillGap: "measure more pool sizes between {below} and {above}",
        SweepRecordingBeyond: "measure or replay other pool sizes",
        MoreWorkersByDemands: lambda way_out: (
            (MORE_CPU if way_out.workers is None else MORE_WORKERS)
            + (
                " At {pool_size:#connection}, a transaction takes {client_ms:ms} of CPU time in the load generator and "
                "{server_ms:ms} of CPU time on the server, which has {server_cores:#core}."
                if way_out.workers is None
                else " At {pool_size:#connection}, a transaction takes {client_ms:ms} of the load generator's CPU and "
                "{server_ms:ms} of the server's ({server_cores:#core}). So {workers:#worker} can generate "
                f"{100 * _room(way_out):.0f} % more transactions than the server can process."
            )
        ),
        OtherMachine: "run Locust on another machine",
        RestoreData: "restore the data before each step, and measure again",
        MoreWorkersElsewhere: "Run Locust on another machine.",
        MoreWorkers: f"{MORE_CPU} Or divide the load among workers with --processes 2 or more.",
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
