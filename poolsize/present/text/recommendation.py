"""A recommendation as text for a terminal, and as a JSON object."""

import json
from dataclasses import asdict
from typing import Any

from poolsize.answer.finding import Code
from poolsize.answer.fleet_plan import FleetPlan
from poolsize.answer.recommendation import Recommendation
from poolsize.present.text.bullets import bullets, paragraph
from poolsize.present.text.fleet import engine_line, fleet_text
from poolsize.present.text.ranges import range_text
from poolsize.present.text.sentences.findings import reason_sentences, sentence, warning_sentences
from poolsize.present.text.tables import application_table, price_table
from poolsize.units import count, milliseconds

BEFORE_THE_ANSWER = {Code.MOSTLY_FAILED, Code.TOO_FEW_VALID, Code.LIMIT_BROKEN, Code.SIZE_UNCONFIRMED}
"""Findings that put the answer in doubt, are the cause why there is none, or say that it breaks a limit."""
ON_ALL_CLIENTS = {Code.SERVED_AT_ONCE, Code.TOTAL}
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
    doubts = [sentence(finding) for finding in answer.findings if finding.code in BEFORE_THE_ANSWER]
    parts = [*map(paragraph, doubts), _headline(answer)]
    elsewhere = BEFORE_THE_ANSWER | (ON_ALL_CLIENTS if fleet else set())
    warnings = warning_sentences(finding for finding in answer.findings if finding.code not in elsewhere)
    if answer.basis == "formula":
        parts.append(_formula_line(answer))
    parts.append(bullets(reason_sentences(answer.findings)))
    if answer.prices:
        parts.append(price_table(answer).as_text())
    if answer.application_sizes and answer.application is None:
        parts.append(f"{APPLICATIONS}:\n\n{application_table(answer).as_text()}")
    if warnings:
        parts.append("Caution:\n" + bullets(warnings))
    if fleet:
        parts.append(fleet_text(fleet))
    elif answer.basis == "measured" and answer.pool_size:
        parts.append(_engines(answer))
    if answer.basis == "formula":
        command = f"poolsize sweep --url mysql://USER@HOST/ --cores {answer.formula.cores}{_sizes(answer)}"
        parts.append(f"To measure the pool size:\n  {command}")
    return "\n\n".join(part for part in parts if part)


def _sizes(answer: Recommendation) -> str:
    """Return the option with pool sizes, where a search must not go below the deadlock floor; else empty."""
    floored = answer.pool_size != answer.formula.connections
    return f" --pool-sizes {','.join(map(str, answer.sweep_sizes))}" if floored else ""


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


def engine_lines(answer: Recommendation) -> tuple[str, ...]:
    """Return the lines for a SQLAlchemy application of one process, one line a pool; empty without a pool size.

    For an application whose own pool was measured, the lines are the variables that hold its pool size.
    """
    if answer.measured_in is not None:
        return tuple(f"{name}={answer.pool_size}" for name in answer.measured_in.variables if answer.pool_size)
    if answer.two_pools:
        return tuple(
            f"{engine_line(pool.pool_size)}  # for {milliseconds(pool.kind.usage_ms)}" for pool in answer.two_pools
        )
    return (engine_line(answer.pool_size),) if answer.pool_size else ()


def _engines(answer: Recommendation) -> str:
    if answer.measured_in is not None:
        variables = " and ".join(engine_lines(answer))
        return f"In the application, set {variables or f'the pool size to {answer.pool_size}'}."
    lines = engine_lines(answer)
    if len(lines) == 1:
        return f"If a single process uses the database: {lines[0]}"
    return "\n".join(
        [
            "If a single process uses the database, a pool for each length of transaction:",
            *(f"  {line}" for line in lines),
        ]
    )


def _formula_line(answer: Recommendation) -> str:
    formula = answer.formula
    rounded = "" if formula.effective_disks == int(formula.effective_disks) else ", rounded"
    return (
        "  connections = cores * 2 + effective_disks\n"
        f"              = {formula.cores} * 2 + {formula.effective_disks:g} = {formula.connections}{rounded}"
    )


def explain(answer: Recommendation) -> str:
    """Return a recommendation as text: the pool size, the reasons, the price table and the warnings."""
    return recommendation_text(answer)


def recommendation_json(answer: Recommendation, **more: Any) -> str:
    """Return a recommendation as a JSON object.

    Keys: the fields of Recommendation, of which prices is "regret", for a formula without the measured fields;
    connections, of all pools together; reasons and warnings: the findings as sentences. more: further keys and their
    values.
    """
    fields = {"regret" if name == "prices" else name: value for name, value in asdict(answer).items()} | {
        "connections": answer.connections,
        "reasons": reason_sentences(answer.findings),
        "warnings": warning_sentences(answer.findings),
    }
    if answer.basis == "formula":
        fields = {name: value for name, value in fields.items() if name not in MEASURED_ONLY}
    return json.dumps(fields | more)
