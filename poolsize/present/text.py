"""Answers as plain text for a terminal, and as JSON for a program."""

import json
import textwrap
from collections.abc import Iterable
from dataclasses import asdict
from math import isnan, nan
from typing import TYPE_CHECKING, Any

from poolsize.recommendation import Recommendation
from poolsize.units import count, milliseconds, number, per_second, percent

if TYPE_CHECKING:  # numpy stays out of `poolsize recommend --cores 8`
    from poolsize.analysis.confidence import Interval
    from poolsize.analysis.percentiles import Percentiles
    from poolsize.analysis.summary import Analysis, SizeSummary, Verified
    from poolsize.run import Check

WIDTH = 88
MEASURED_ONLY = ("throughput", "database_size", "database_range", "two_pools", "estimates", "regret")


def recommendation_text(answer: Recommendation) -> str:
    """The answer first, then why, what to be careful of, and what to do next."""
    parts = [_headline(answer)]
    if answer.basis == "formula":
        parts.append(_formula_line(answer))
    parts.append(bullets(answer.reasons))
    if answer.regret:
        parts.append(_regret_table(answer))
    if answer.warnings:
        parts.append("Be careful:\n" + bullets(answer.warnings))
    if answer.basis == "measured" and answer.pool_size:
        parts.append(_engines(answer))
    if answer.basis == "formula":
        parts.append(
            f"Measure it:\n  poolsize sweep --url mysql://USER@HOST/ --cores {answer.formula.cores}{_sizes(answer)}"
        )
    return "\n\n".join(part for part in parts if part)


def _sizes(answer: Recommendation) -> str:
    """The sizes to name where a search must not go below the deadlock floor."""
    floored = answer.pool_size != answer.formula.connections
    return f" --pool-sizes {','.join(map(str, answer.sweep_sizes))}" if floored else ""


def recommendation_json(answer: Recommendation, **more: Any) -> str:
    """One JSON object of Recommendation's fields and `fleet`; a formula has no measured ones."""
    fields = asdict(answer) | {"fleet": None}
    if answer.basis == "formula":
        fields = {name: value for name, value in fields.items() if name not in MEASURED_ONLY}
    return json.dumps(fields | more)


def analysis_text(analysis: "Analysis") -> str:
    """A table with one line a pool size, then the estimates."""
    columns = [
        "pool",
        "throughput",
        "95 % interval",
        "wait p50",
        "p95",
        "usage p50",
        "p95",
        "total p95",
        "checks",
    ]
    rows = [_analysis_row(size) for size in analysis.sizes]
    setting = analysis.setting
    users = "" if setting.recording else f", {count(setting.plan.users, 'user')}"
    title = (
        f"{setting.plan.workload} on {setting.subject}{users}, {setting.plan.step_seconds} s a step, "
        f"{setting.created[:10]}"
    )
    parts = [
        title,
        table(columns, rows),
        _estimates(analysis),
        _estimators_table(analysis),
        _held_by(analysis),
        _verified_table(analysis),
        _void_steps(analysis),
    ]
    return "\n\n".join(part for part in parts if part)


def analysis_json(analysis: "Analysis") -> str:
    """One JSON object: steps (one a pool size) and estimates."""
    steps = [
        {
            "pool_size": size.pool_size,
            "repeats": size.repeats,
            "throughput": size.throughput.mean,
            "throughput_low": size.throughput.low,
            "throughput_high": _ends(size.throughput)[1],
            "wait_ms": _percentiles(size.wait),
            "usage_ms": _percentiles(size.usage),
            "total_ms": _percentiles(size.total),
            "intervals_ms": {
                name: {quantile: _ends(interval) for quantile, interval in quantiles.items()}
                for name, quantiles in size.intervals.items()
            },
            "demands": asdict(size.demands) if size.demands else None,
            "errors": size.errors,
            "valid": size.valid,
            "checks": [asdict(check) for check in size.failed_checks],
        }
        for size in analysis.sizes
    ]
    plateau = analysis.plateau.pool_size if analysis.plateau else None
    return json.dumps(
        {
            "steps": steps,
            "estimates": {name: one.pool_size for name, one in analysis.estimates.items()} or {"plateau": plateau},
            "estimators": {name: asdict(one) for name, one in analysis.estimates.items()},
            "cause": asdict(analysis.cause) if analysis.cause else None,
            "verified": [_verified_json(one) for one in analysis.verified],
            "void": [
                {"pool_size": one.pool_size, "checks": list(map(asdict, one.failed_checks))}
                for one in analysis.run.void
            ],
            "calibration": asdict(analysis.run.calibration) if analysis.run.calibration else None,
        }
    )


def _percentiles(found: "Percentiles") -> dict[str, float | None]:
    """JSON has no NaN either."""
    return {name: None if isnan(value) else value for name, value in asdict(found).items()}


def _ends(interval: "Interval") -> tuple[float, float | None]:
    """JSON has no infinity."""
    return interval.low, interval.high if interval.high != float("inf") else None


def _verified_json(one: "Verified") -> dict[str, object]:
    return {
        "pool_size": one.pool_size,
        "load": one.load,
        "rate": one.rate,
        "throughput": one.throughput,
        "wait_ms": _percentiles(one.wait),
        "total_ms": _percentiles(one.total),
        "checks": [asdict(check) for check in one.failed_checks],
    }


def _headline(answer: Recommendation) -> str:
    if answer.pool_size is None:
        return f"No pool size can be recommended from this run.  [{answer.verdict}]"
    if answer.basis == "formula":
        return f"Start with {count(answer.pool_size, 'connection')}."
    low, high = answer.range or (answer.pool_size, answer.pool_size)
    within = "" if low == high else f" (anything from {low} to {high} can't be told apart from it)"
    doubt = "" if answer.verdict == "measured" else f"  [{answer.verdict}]"
    return f"Pool size: {count(answer.pool_size, 'connection')}{within}{doubt}"


def _engines(answer: Recommendation) -> str:
    if not answer.two_pools:
        return f"For one process: create_engine(url, pool_size={answer.pool_size}, max_overflow=0)"
    lines = [
        f"  create_engine(url, pool_size={pool.pool_size}, max_overflow=0)  # {milliseconds(pool.kind.usage_ms)} each"
        for pool in answer.two_pools
    ]
    return "For one process, by how long a transaction takes:\n" + "\n".join(lines)


def _formula_line(answer: Recommendation) -> str:
    formula = answer.formula
    rounded = "" if formula.effective_disks == int(formula.effective_disks) else ", rounded"
    return (
        "  connections = cores * 2 + effective_disks\n"
        f"              = {formula.cores} * 2 + {formula.effective_disks:g} = {formula.connections}{rounded}"
    )


def _regret_table(answer: Recommendation) -> str:
    rows = [
        [
            f"{'->' if other.pool_size == answer.pool_size else '  '} {other.pool_size}",
            f"{'-' if other.throughput_loss else ''}{percent(other.throughput_loss)}",
            milliseconds(nan if other.p95_ms is None else other.p95_ms),
        ]
        for other in answer.regret
    ]
    return table(["   pool", "throughput", "p95 (wait + usage)"], rows)


def _analysis_row(size: "SizeSummary") -> list[str]:
    rate = size.throughput
    spread = "?" if rate.high == float("inf") else f"{number(rate.low)}-{number(rate.high)}"
    return [
        str(size.pool_size),
        per_second(rate.mean),
        spread,
        *(milliseconds(value) for value in (size.wait.p50, size.wait.p95, size.usage.p50, size.usage.p95)),
        milliseconds(size.total.p95),
        _failed(size.failed_checks),
    ]


def _estimates(analysis: "Analysis") -> str:
    found = analysis.plateau
    if found is None:
        return "No size passed the checks that an estimate needs."
    return (
        f"Plateau: {count(found.pool_size, 'connection')}, the smallest size within {percent(found.tolerance)} "
        f"of the best throughput; it may begin anywhere from {found.low} to {found.high}."
    )


def _estimators_table(analysis: "Analysis") -> str:
    """What every estimator says, so that their disagreement shows."""
    if not analysis.estimates:
        return ""
    rows = [
        [
            name,
            "none inside" if one.pool_size is None else str(one.pool_size),
            "" if one.low is None else f"{one.low}-{one.high}",
            "" if one.error is None else percent(one.error),
            "" if one.moved is None else f"{one.moved:+.0%}" + (" !" if one.unstable else ""),
        ]
        for name, one in analysis.estimates.items()
    ]
    columns = ["estimator", "size", "95 % range", "error at sizes left out", "moves without the largest"]
    return table(columns, rows)


def _held_by(analysis: "Analysis") -> str:
    """What holds the throughput at the plateau, and what a transaction takes of each side there."""
    if analysis.cause is None or analysis.plateau is None:
        return ""
    text = f"Held by: {analysis.cause.name}; {analysis.cause.evidence}."
    chosen = analysis.nearest(analysis.plateau.pool_size)
    demands = chosen.demands
    if demands is not None:
        whose = "everything else" if demands.inferred else "the server's"
        text += (
            f"\nA transaction takes {milliseconds(demands.client_ms)} of the client's processor and "
            f"{milliseconds(demands.server_ms)} of {whose} at {count(chosen.pool_size, 'connection')}."
        )
    return text


def _verified_table(analysis: "Analysis") -> str:
    if not analysis.verified:
        return ""
    rows = [
        [
            str(one.pool_size),
            percent(one.load),
            per_second(one.rate),
            per_second(one.throughput),
            *map(milliseconds, (one.wait.p95, one.total.p50, one.total.p95, one.total.p99)),
            _failed(one.failed_checks),
        ]
        for one in analysis.verified
    ]
    columns = ["pool", "load", "due", "done", "wait p95", "total p50", "p95", "p99", "checks"]
    return "At a part of its own capacity, with transactions that arrive by the clock:\n\n" + table(columns, rows)


def _void_steps(analysis: "Analysis") -> str:
    return "\n".join(
        f"Void, and measured again: {count(step.pool_size, 'connection')}; "
        + "; ".join(f"{check.name}: {check.detail}" for check in step.failed_checks)
        for step in analysis.run.void
    )


def _failed(checks: "Iterable[Check]") -> str:
    return ", ".join(dict.fromkeys(check.name for check in checks)) or "ok"


def bullets(lines: Iterable[str]) -> str:
    """One dash a line, wrapped for a terminal."""
    return "\n".join(textwrap.fill(line, WIDTH, initial_indent="  - ", subsequent_indent="    ") for line in lines)


def table(columns: list[str], rows: list[list[str]]) -> str:
    """Right-aligned columns under their names."""
    widths = [max(len(row[place]) for row in [columns, *rows]) for place in range(len(columns))]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in [columns, *rows]
    )
