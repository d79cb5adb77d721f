"""A recommendation as text for a terminal, and as a JSON object."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Literal, TypedDict

from poolsize.answer.finding import Finding, ToDivide
from poolsize.answer.recommendation import DeadlockFloor, Formula, Recommendation
from poolsize.present.text.layout import bullets, paragraph
from poolsize.present.text.sentences.findings import (
    FindingsValues,
    findings_values,
    reason_sentences,
    sentence,
    warning_sentences,
)
from poolsize.present.text.short import SAME, leading, main_caution, short_answer
from poolsize.units import at_most, count, milliseconds

if TYPE_CHECKING:  # neither numpy nor what only a run's answer needs is part of `poolsize recommend --cores 8`
    from poolsize.analysis.application_size import ApplicationSize
    from poolsize.analysis.bimodal import TransactionPool
    from poolsize.answer.fleet_plan import FleetPlan
    from poolsize.answer.price import Price
    from poolsize.answer.verdict import OpenEnd, Verdict
    from poolsize.facts.inspection import Inspection
    from poolsize.facts.instance_class import InstanceClassValues
    from poolsize.present.text.fleet import FleetValues
    from poolsize.runs.plan import MeasuredApplication

APPLICATIONS = "Pool size for an application, by the time that its own code adds to a transaction"


def recommendation_text(answer: Recommendation, fleet: "FleetPlan | None" = None) -> str:
    """Return the answer, its reasons, the price table, the warnings, and the next command or the line to configure.

    fleet: the answer divided among the application's processes; it takes the place of the line to configure.
    """
    of_formula = answer.basis == "formula"
    others = [each for each in answer.findings if not each.leads and not (fleet and isinstance(each, ToDivide))]
    parts = [
        *(paragraph(sentence(finding)) for finding in answer.findings if finding.leads),
        headline(answer),
        f"  connections = cores * 2 + effective_disks\n              = {_sum(answer.formula)}" if of_formula else "",
        bullets(reason_sentences(finding for finding in answer.findings if not finding.of_prices)),
        *([] if of_formula else _tables(answer)),
        caution(others),
    ]
    if fleet:
        from poolsize.present.text.fleet import fleet_text

        parts.append(fleet_text(fleet))
    elif not of_formula:
        parts.append(_engines(answer))
    if of_formula:
        parts.append(f"To measure the pool size:\n  {sweep_command(answer)}")
    return "\n\n".join(filter(None, parts))


def formula_in_short(answer: Recommendation) -> str:
    """Return the formula's answer in a few lines."""
    floors = [sentence(each) for each in answer.findings if isinstance(each, DeadlockFloor)]
    why = f"cores * 2 + disks that queries wait for (--disks): {_sum(answer.formula)}."
    labelled = [("Why", f"{why} The cores are physical cores of the database's host, not hyper-threads.")]
    labelled += [("", leading(text)) for text in floors]
    return short_answer(headline(answer), [*labelled, main_caution(answer.findings)], [sweep_command(answer), SAME])


def sweep_command(answer: Recommendation) -> str:
    """Return the command that measures pool sizes around the formula's."""
    sizes = f" --pool-sizes {','.join(map(str, answer.sweep_sizes))}"  # a search would go below the deadlock floor
    needed = "" if answer.pool_size == answer.formula.connections else sizes
    return f"poolsize sweep --url mysql://USER@HOST/ --cores {answer.formula.cores}{needed}"


def _tables(answer: Recommendation) -> list[str]:
    from poolsize.present.text.tables import application_table, price_table, price_title

    of_applications = "" if answer.application else application_table(answer).below(paragraph(table_title(answer)))
    notes = [paragraph(sentence(finding)) for finding in answer.findings if finding.of_prices]
    return [price_table(answer).below(paragraph(price_title(answer))), *notes, of_applications]


def table_title(answer: Recommendation) -> str:
    """Return the title of the table of applications, with the largest measured size where sizes exceed it."""
    largest = max((price.pool_size for price in answer.prices), default=0)
    beyond = any(size.pool_size > largest for size in answer.application_sizes)
    return f"{APPLICATIONS}{f' (pools above {largest}: extrapolated)' if beyond else ''}"


def headline(answer: Recommendation) -> str:
    """Return the first line: the pool size with its range, and the verdict where it is in doubt."""
    if answer.pool_size is None:
        return f"No pool size can be recommended from this run.  [{answer.verdict}]"
    of_process = answer.basis == "formula" and answer.pool_size != answer.formula.connections  # the deadlock floor
    is_total = not of_process and any(isinstance(each, ToDivide) for each in answer.findings)
    scope = ", counted over all processes" if is_total else ""
    if answer.measured_in is not None and answer.measured_in.pools == 1:
        scope = " in the application's pool"
    if answer.basis == "formula":
        return f"Start with {count(answer.pool_size, 'connection')}{scope}."
    from poolsize.answer.warnings import WideRange
    from poolsize.present.text.short_of_run import range_text

    interval = range_text(answer)
    for finding in answer.findings:
        if isinstance(finding, WideRange) and finding.pool_size == answer.pool_size:
            loss = at_most(finding.greatest_loss)
            interval += f"; {finding.pool_size} may have up to {loss} less throughput than the best size"
    interval = f" ({interval})" if interval else ""
    usage = ""
    if answer.application is not None:
        usage = f" for a usage time of {milliseconds(answer.application.usage_time_ms)}"
    end = "." if answer.verdict == "measured" else f"  [{answer.verdict}]"
    return f"Use {pool_size_text(answer)}{usage}{scope}{interval}{end}"


def pool_size_text(answer: Recommendation) -> str:
    """Return the pool size of an answer that has one, such as "8 connections in each of 4 pools"."""
    assert answer.pool_size is not None
    application = answer.measured_in
    each = f" in each of {application.pools} pools" if application is not None and application.pools > 1 else ""
    return f"{count(answer.pool_size, 'connection')}{each}"


def _sum(formula: Formula) -> str:
    rounded = "" if formula.effective_disks == int(formula.effective_disks) else ", rounded"
    return f"{formula.cores} * 2 + {formula.effective_disks:g} = {formula.connections}{rounded}"


def engine_lines(answer: Recommendation) -> tuple[str, ...]:
    """Return the lines for a SQLAlchemy application of one process, one line a pool; empty without a pool size.

    For an application whose own pool was measured, the lines are the variables that hold its pool size.
    """
    if answer.pool_size is None:
        return ()
    if answer.measured_in is not None:
        return tuple(f"{name}={answer.pool_size}" for name in answer.measured_in.variables)
    lines = (f"{engine_line(pool.pool_size)}  # for {milliseconds(pool.kind.usage_ms)}" for pool in answer.two_pools)
    return tuple(lines) or (engine_line(answer.pool_size),)


def application_line(answer: Recommendation) -> str:
    """Return what to set in an application whose own pool was measured."""
    return f"In the application, set {' and '.join(engine_lines(answer)) or f'the pool size to {answer.pool_size}'}"


def _engines(answer: Recommendation) -> str:
    if answer.in_doubt:
        return ""
    if answer.measured_in is not None:
        return f"{application_line(answer)}."
    lines = engine_lines(answer)
    if len(lines) == 1:
        return f"If a single process uses the database: {lines[0]}"
    title = "If a single process uses the database, a pool for each length of transaction:"
    return "\n  ".join([title, *lines])


def engine_line(pool_size: int) -> str:
    """Return the line. max_overflow is 0, for SQLAlchemy's default adds 10 connections to the pool size."""
    return f"create_engine(url, pool_size={pool_size}, max_overflow=0)"


def caution(findings: Iterable[Finding]) -> str:
    """Return the warnings among the findings, under a title; empty without a warning."""
    warnings = warning_sentences(findings)
    return f"Caution:\n{bullets(warnings)}" if warnings else ""


class OfClass(TypedDict, total=False):
    """What --instance-class adds to an answer."""

    instance_class: "InstanceClassValues"


class MoreValues(OfClass, total=False):
    """What options add to an answer. fleet: the connections divided. facts: of the server at --url."""

    fleet: "FleetValues"
    facts: "Inspection"


class _AnswerValues(FindingsValues, MoreValues):
    formula: Formula
    sweep_sizes: tuple[int, ...]
    connections: int | None


class FormulaValues(_AnswerValues):
    """The formula's answer: a place to start measuring.

    pool_size: connections. range: half of pool_size, at least the deadlock floor, and twice pool_size. formula: its
    terms and its result. connections: of all pools together. sweep_sizes: worth measuring. instance_class: with
    --instance-class. fleet: the connections divided, with --instances or --processes. facts: of the server at --url.
    """

    basis: Literal["formula"]
    pool_size: int
    range: tuple[int, int]
    verdict: None


class RunValues(_AnswerValues):
    """The answer of a measured run.

    pool_size: of each pool; null where the verdict forbids a number. range: lowest and highest pool size; null where
    none was estimated. range_open: the end beyond which the answer may lie. formula: the formula's answer. throughput:
    transactions per second at pool_size. database_size: a bound, never what to configure: it keeps the saturated
    resource busy when no client adds time; database_range: its 95 % range. application: for the usage time that was
    given. application_sizes: for applications that add other times. limit_probability: that pool_size keeps the latency
    limits. measured_in: the application whose pools were measured. two_pools: for short and for long transactions,
    where usage times are bimodal. estimates: estimator -> its pool size. regret: the price table. sweep_sizes: worth
    measuring next. connections: of all pools together. instance_class: with --instance-class. fleet: the connections
    divided, with --instances or --processes. null: not known, or not asked for.
    """

    basis: Literal["measured"]
    pool_size: int | None
    range: tuple[int, int] | None
    verdict: "Verdict"
    range_open: "OpenEnd | None"
    throughput: float | None
    database_size: int | None
    database_range: tuple[int, int] | None
    application: "ApplicationSize | None"
    application_sizes: "tuple[ApplicationSize, ...]"
    limit_probability: float | None
    measured_in: "MeasuredApplication | None"
    two_pools: "tuple[TransactionPool, ...]"
    estimates: Mapping[str, int | None] | None
    regret: "tuple[Price, ...]"


def recommendation_values(answer: Recommendation, more: MoreValues | None = None) -> FormulaValues | RunValues:
    """Return a recommendation as data for JSON. more: further keys, or None."""
    of_both: _AnswerValues = {
        "formula": answer.formula,
        "sweep_sizes": answer.sweep_sizes,
        "connections": answer.connections,
        **findings_values(answer.findings),
        **(more or {}),
    }
    if answer.basis == "formula":
        assert answer.pool_size is not None
        assert answer.range is not None
        formula: FormulaValues = {
            "basis": "formula", "pool_size": answer.pool_size, "range": answer.range, "verdict": None, **of_both,
        }  # fmt: skip
        return formula
    assert answer.verdict is not None
    return {
        "basis": "measured",
        "pool_size": answer.pool_size,
        "range": answer.range,
        "verdict": answer.verdict,
        "range_open": answer.range_open,
        "throughput": answer.throughput,
        "database_size": answer.database_size,
        "database_range": answer.database_range,
        "application": answer.application,
        "application_sizes": answer.application_sizes,
        "limit_probability": answer.limit_probability,
        "measured_in": answer.measured_in,
        "two_pools": answer.two_pools,
        "estimates": answer.estimates,
        "regret": answer.prices,
        **of_both,
    }


def explain(answer: Recommendation) -> str:
    """Return a recommendation as text: the pool size, the reasons, the price table and the warnings."""
    return recommendation_text(answer)
