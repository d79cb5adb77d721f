"""A recommendation, and a fleet's pools, as text for a terminal, and as a JSON object."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from poolsize.answer.failed_attempts import MostlyFailed, TooFewValid
from poolsize.answer.finding import Finding, Severity
from poolsize.answer.fleet_plan import FleetPlan
from poolsize.answer.latency_limit import LimitBroken, LimitDecides
from poolsize.answer.reasons import CarriesRate, ServedAtOnce
from poolsize.answer.recommendation import Recommendation
from poolsize.answer.verdict import OneSize, SmallestSize, StillRising, UsersLimited, verdict_on_size
from poolsize.answer.warnings import ForAllClients, SizeUnconfirmed
from poolsize.present.text.layout import Table, bullets, paragraph
from poolsize.present.text.sentences.findings import (
    findings_values,
    reason_sentences,
    sentence,
    warning_sentences,
)
from poolsize.present.text.tables import application_table, price_table
from poolsize.units import count, milliseconds, sizes_text

if TYPE_CHECKING:  # numpy stays out of `poolsize recommend --cores 8`
    from poolsize.analysis.analysis import Analysis

BEFORE_THE_ANSWER = (MostlyFailed, TooFewValid, LimitBroken, SizeUnconfirmed)
"""Findings that put the answer in doubt, are the cause why there is none, or say that it breaks a limit."""
ON_ALL_CLIENTS = (ServedAtOnce, ForAllClients)
"""Warnings that the answer must be divided among the application's processes."""
MEASURED_ONLY = (
    "throughput", "database_size", "database_range", "application", "application_sizes", "limit_probability",
    "two_pools", "measured_in", "estimates", "regret",
)  # fmt: skip
"""Keys of the JSON object that the answer of the formula lacks."""
APPLICATIONS = "Pool size for an application, depending on the time that its own code adds to a transaction"


def recommendation_text(answer: Recommendation, fleet: FleetPlan | None = None) -> str:
    """Return the answer, its reasons, the price table, the warnings, and the next command or the line to configure.

    fleet: the answer divided among the application's processes; it takes the place of the line to configure.
    """
    of_formula = answer.basis == "formula"
    elsewhere = (*BEFORE_THE_ANSWER, *(ON_ALL_CLIENTS if fleet else ()))
    parts = [
        *(paragraph(sentence(finding)) for finding in answer.findings if isinstance(finding, BEFORE_THE_ANSWER)),
        _headline(answer),
        _formula(answer) if of_formula else "",
        bullets(reason_sentences(answer.findings)),
        price_table(answer).as_text() if answer.prices else "",
        "" if answer.application else application_table(answer).below(APPLICATIONS),
        _caution(finding for finding in answer.findings if not isinstance(finding, elsewhere)),
        fleet_text(fleet) if fleet else "" if of_formula else _engines(answer),
        f"To measure the pool size:\n  {_sweep_command(answer)}" if of_formula else "",
    ]
    return "\n\n".join(filter(None, parts))


def _headline(answer: Recommendation) -> str:
    if answer.pool_size is None:
        return f"No pool size can be recommended from this run.  [{answer.verdict}]"
    if answer.basis == "formula":
        return f"Start with {count(answer.pool_size, 'connection')}."
    interval = f" ({text})" if (text := range_text(answer)) else ""
    if answer.application is not None:
        interval += f" for a usage time of {milliseconds(answer.application.usage_time_ms)}"
    doubt = "" if answer.verdict == "measured" else f"  [{answer.verdict}]"
    return f"Pool size: {pool_size_text(answer)}{interval}{doubt}"


def pool_size_text(answer: Recommendation) -> str:
    """Return the pool size of an answer that has one, such as "8 connections in each of 4 pools"."""
    assert answer.pool_size is not None
    application = answer.measured_in
    each = f" in each of {application.pools} pools" if application is not None and application.pools > 1 else ""
    return f"{count(answer.pool_size, 'connection')}{each}"


def _formula(answer: Recommendation) -> str:
    formula = answer.formula
    rounded = "" if formula.effective_disks == int(formula.effective_disks) else ", rounded"
    return (
        "  connections = cores * 2 + effective_disks\n"
        f"              = {formula.cores} * 2 + {formula.effective_disks:g} = {formula.connections}{rounded}"
    )


def _sweep_command(answer: Recommendation) -> str:
    """Return the command of a sweep, with pool sizes where a search must not go below the deadlock floor."""
    command = f"poolsize sweep --url mysql://USER@HOST/ --cores {answer.formula.cores}"
    if answer.pool_size == answer.formula.connections:
        return command
    return f"{command} --pool-sizes {','.join(map(str, answer.sweep_sizes))}"


def engine_lines(answer: Recommendation) -> tuple[str, ...]:
    """Return the lines for a SQLAlchemy application of one process, one line a pool; empty without a pool size.

    For an application whose own pool was measured, the lines are the variables that hold its pool size.
    """
    if answer.pool_size is None:
        return ()
    if answer.measured_in is not None:
        return tuple(f"{name}={answer.pool_size}" for name in answer.measured_in.variables)
    if answer.two_pools:
        return tuple(
            f"{engine_line(pool.pool_size)}  # for {milliseconds(pool.kind.usage_ms)}" for pool in answer.two_pools
        )
    return (engine_line(answer.pool_size),)


def _engines(answer: Recommendation) -> str:
    """Return the lines with a title; empty without a pool size."""
    lines = engine_lines(answer)
    if answer.pool_size is None:
        return ""
    if answer.measured_in is not None:
        return f"In the application, set {' and '.join(lines) or f'the pool size to {answer.pool_size}'}."
    if len(lines) == 1:
        return f"If a single process uses the database: {lines[0]}"
    title = "If a single process uses the database, a pool for each length of transaction:"
    return "\n  ".join([title, *lines])


def fleet_text(plan: FleetPlan) -> str:
    """Return the answer, a table with a row for each service, the reasons, the warnings, and the lines to configure.

    Without an answer: the cause, and what else would fit.
    """
    reasons = bullets(reason_sentences(plan.findings))
    if not plan.pools:
        causes = [sentence(finding) for finding in plan.findings if finding.severity is Severity.REFUSAL]
        return "\n\n".join([*map(paragraph, causes), f"What fits:\n{reasons}"])
    parts = (
        _fleet_headline(plan),
        _fleet_table(plan).as_text(),
        reasons,
        _caution(plan.findings),
        _fleet_engines(plan),
    )
    return "\n\n".join(filter(None, parts))


def _fleet_headline(plan: FleetPlan) -> str:
    if len(plan.pools) > 1:
        return f"Pool sizes for each process, of {count(plan.size, 'connection')} in all:"
    (pool,) = plan.pools
    processes = pool.service.pools
    each = f" in each of {processes:,} processes" if processes > 1 else ""
    return f"Pool size: {count(pool.pool_size, 'connection')}{each}."


def _fleet_table(plan: FleetPlan) -> Table:
    rows = []
    for pool in plan.pools:
        service, low, high = pool.service, pool.service.instances, pool.service.most_instances
        counts = (service.processes, pool.pool_size, pool.connections, pool.connections_in_deploy)
        instances = f"{low:,}" if low == high else f"{low:,}-{high:,}"
        rows.append((service.name, instances, *(f"{value:,}" for value in counts)))
    if len(plan.pools) > 1:
        rows.append(("together", "", "", "", f"{plan.connections:,}", f"{plan.connections_in_deploy:,}"))
    return Table(("service", "instances", "processes", "pool size", "connections", "in a deploy"), rows)


def _fleet_engines(plan: FleetPlan) -> str:
    if len(plan.pools) == 1:
        return f"For each process: {engine_line(plan.pools[0].pool_size)}"
    lines = (f"  {engine_line(pool.pool_size)}  # {pool.service.name}" for pool in plan.pools)
    return "\n".join(["For each process:", *lines])


def engine_line(pool_size: int) -> str:
    """Return the line. max_overflow is 0, for SQLAlchemy's default adds 10 connections to the pool size."""
    return f"create_engine(url, pool_size={pool_size}, max_overflow=0)"


def _caution(findings: Iterable[Finding]) -> str:
    """Return the warnings under a title; empty without one."""
    warnings = warning_sentences(findings)
    return f"Caution:\n{bullets(warnings)}" if warnings else ""


def range_text(answer: Recommendation) -> str:
    """Return the 95 % range of an answer, such as "95 % range 2 to 3"; empty where none was estimated.

    An end is open where pools beyond the measured sizes may be the answer: the users could not fill larger pools, the
    curve still rises, or the answer is the smallest size. Empty, too, for a single measured size.
    """
    if answer.range is None or any(map(_excludes_range, answer.findings)):
        return ""
    return _range(answer.range, answer.findings if answer.application is None else ())


def plateau_range_text(analysis: "Analysis") -> str:
    """Return the 95 % range of the plateau's start, as `range_text` does.

    Empty without a fitted curve, such as at a fixed rate.
    """
    plateau = analysis.plateau
    if plateau is None or analysis.curve is None:
        return ""
    _, finding = verdict_on_size(analysis, plateau.pool_size)
    return _range((plateau.low, plateau.high), (finding,) if finding else ())


def _excludes_range(finding: Finding) -> bool:
    """Return whether the answer is a measured size, or a limit decides it: no 95 % range was estimated."""
    return isinstance(finding, CarriesRate | LimitDecides) or (isinstance(finding, LimitBroken) and finding.decides)


def _range(sizes: tuple[int, int], findings: Sequence[Finding]) -> str:
    for finding in findings:
        if isinstance(finding, OneSize):
            return ""
        if isinstance(finding, UsersLimited | StillRising):
            return f"95 % range {sizes[0]} or more"
        if isinstance(finding, SmallestSize):
            return f"95 % range {sizes[1]} or less"
    return f"95 % range {sizes_text(sizes)}"


def recommendation_json(answer: Recommendation, **more: Any) -> str:
    """Return a recommendation as a JSON object.

    Keys: the fields of Recommendation, of which prices is "regret", for a formula without the measured fields;
    connections, of all pools together; reasons and warnings: the findings as sentences. more: further keys and their
    values.
    """
    fields = {"regret" if name == "prices" else name: value for name, value in asdict(answer).items()} | {
        "findings": findings_values(answer.findings),
        "connections": answer.connections,
        "reasons": reason_sentences(answer.findings),
        "warnings": warning_sentences(answer.findings),
    }
    if answer.basis == "formula":
        fields = {name: value for name, value in fields.items() if name not in MEASURED_ONLY}
    return json.dumps(fields | more)


def fleet_json(plan: FleetPlan) -> str:
    """Return a fleet's plan as a JSON object, with the keys of fleet_values."""
    return json.dumps(fleet_values(plan))


def fleet_values(plan: FleetPlan) -> dict[str, Any]:
    """Return a fleet's plan as data for JSON.

    Keys: the fields of FleetPlan; connections and connections_in_deploy of all pools, null without pools; reasons and
    warnings: the findings as sentences.
    """
    return asdict(plan) | {
        "connections": plan.connections or None,
        "connections_in_deploy": plan.connections_in_deploy or None,
        "findings": findings_values(plan.findings),
        "reasons": reason_sentences(plan.findings),
        "warnings": warning_sentences(plan.findings),
    }


def explain(answer: Recommendation) -> str:
    """Return a recommendation as text: the pool size, the reasons, the price table and the warnings."""
    return recommendation_text(answer)
