"""Answers as plain text for a terminal, and as JSON for a program."""

import json
import textwrap
from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from poolsize.recommendation import Recommendation
from poolsize.units import count, milliseconds, number, per_second, percent

if TYPE_CHECKING:  # numpy stays out of `poolsize recommend --cores 8`
    from poolsize.analysis.percentiles import Percentiles
    from poolsize.analysis.summary import Analysis, SizeSummary

WIDTH = 88
MEASURED_ONLY = ("throughput", "database_size", "estimates", "regret")


def recommendation_text(answer: Recommendation) -> str:
    """The answer first, then why, what to be careful of, and what to do next."""
    parts = [_headline(answer)]
    if answer.basis == "formula":
        parts.append(_formula_line(answer))
    parts.append(_bullets(answer.reasons))
    if answer.regret:
        parts.append(_regret_table(answer))
    if answer.warnings:
        parts.append("Be careful:\n" + _bullets(answer.warnings))
    if answer.basis == "measured" and answer.pool_size:
        parts.append(f"For one process: create_engine(url, pool_size={answer.pool_size}, max_overflow=0)")
    if answer.basis == "formula":
        sizes = ",".join(map(str, answer.sweep_sizes))
        cores = answer.formula.cores
        parts.append(f"Measure it:\n  poolsize sweep --url mysql://USER@HOST/ --cores {cores} --pool-sizes {sizes}")
    return "\n\n".join(part for part in parts if part)


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
    title = (
        f"{setting.plan.workload} on {setting.server.title}, {count(setting.plan.users, 'user')}, "
        f"{setting.plan.step_seconds} s a step, {setting.created[:10]}"
    )
    return f"{title}\n\n{_table(columns, rows)}\n\n{_estimates(analysis)}"


def analysis_json(analysis: "Analysis") -> str:
    """One JSON object: steps (one a pool size) and estimates."""
    steps = [
        {
            "pool_size": size.pool_size,
            "repeats": size.repeats,
            "throughput": size.throughput.mean,
            "throughput_low": size.throughput.low,
            "throughput_high": size.throughput.high if size.throughput.high != float("inf") else None,
            "wait_ms": asdict(size.wait),
            "usage_ms": asdict(size.usage),
            "total_ms": asdict(size.total),
            "errors": size.errors,
            "valid": size.valid,
            "checks": [asdict(check) for check in size.failed_checks],
        }
        for size in analysis.sizes
    ]
    plateau = analysis.plateau.pool_size if analysis.plateau else None
    return json.dumps({"steps": steps, "estimates": {"plateau": plateau}})


def _headline(answer: Recommendation) -> str:
    if answer.pool_size is None:
        return "No pool size can be recommended from this run."
    if answer.basis == "formula":
        return f"Start with {count(answer.pool_size, 'connection')}."
    low, high = answer.range or (answer.pool_size, answer.pool_size)
    within = "" if low == high else f" (anything from {low} to {high} can't be told apart from it)"
    doubt = "" if answer.verdict == "measured" else f"  [{answer.verdict}]"
    return f"Pool size: {count(answer.pool_size, 'connection')}{within}{doubt}"


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
            milliseconds(other.p95_ms),
        ]
        for other in answer.regret
    ]
    return _table(["   pool", "throughput", "p95 (wait + usage)"], rows)


def _analysis_row(size: "SizeSummary") -> list[str]:
    rate = size.throughput
    spread = "?" if rate.high == float("inf") else f"{number(rate.low)}-{number(rate.high)}"
    failed = ", ".join(dict.fromkeys(check.name for check in size.failed_checks)) or "ok"
    return [
        str(size.pool_size),
        per_second(rate.mean),
        spread,
        *(milliseconds(value) for value in _latency_cells(size.wait, size.usage)),
        milliseconds(size.total.p95),
        failed,
    ]


def _latency_cells(wait: "Percentiles", usage: "Percentiles") -> tuple[float, ...]:
    return wait.p50, wait.p95, usage.p50, usage.p95


def _estimates(analysis: "Analysis") -> str:
    found = analysis.plateau
    if found is None:
        return "No size passed the checks that an estimate needs."
    return (
        f"Plateau: {count(found.pool_size, 'connection')}, the smallest size within {percent(found.tolerance)} "
        f"of the best throughput; given the intervals, from {found.low} to {found.high}."
    )


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(textwrap.fill(line, WIDTH, initial_indent="  - ", subsequent_indent="    ") for line in lines)


def _table(columns: list[str], rows: list[list[str]]) -> str:
    widths = [max(len(row[place]) for row in [columns, *rows]) for place in range(len(columns))]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in [columns, *rows]
    )
