"""A run's analysis as plain text for a terminal, and as JSON for a program."""

import json
from dataclasses import asdict
from math import inf, isnan

from poolsize.analysis.analysis import Analysis, Verified
from poolsize.analysis.stats.confidence import Interval
from poolsize.analysis.stats.percentiles import Percentiles
from poolsize.answer.verdict import NOISY_SPAN
from poolsize.present.text.knee import knee_text
from poolsize.present.text.tables import estimators_table, sizes_table, verified_table
from poolsize.units import count, milliseconds, percent


def analysis_text(analysis: Analysis) -> str:
    """A table with one line a pool size, its curve, then the estimates."""
    setting = analysis.setting
    title = f"{measured(analysis)}, {setting.plan.step_seconds} s a step, {setting.created[:10]}"
    parts = [
        title,
        sizes_table(analysis).as_text(),
        knee_text(analysis),
        _estimates(analysis),
        estimators_table(analysis).as_text() if analysis.estimates else "",
        _held_by(analysis),
        _verified(analysis),
        "\n".join(void_steps(analysis)),
    ]
    return "\n\n".join(part for part in parts if part)


def measured(analysis: Analysis) -> str:
    """What was measured, on what, with how many users, in one line."""
    setting = analysis.setting
    users = "" if setting.recording else f", {count(setting.plan.users, 'user')}"
    return f"{setting.plan.workload} on {setting.subject}{users}"


def void_steps(analysis: Analysis) -> tuple[str, ...]:
    """Every step that was spoiled and measured again, and by what."""
    return tuple(
        f"Void, and measured again: {count(step.pool_size, 'connection')}; "
        + "; ".join(f"{check.name}: {check.detail}" for check in step.failed_checks)
        for step in analysis.run.void
    )


def analysis_json(analysis: Analysis) -> str:
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


def _percentiles(found: Percentiles) -> dict[str, float | None]:
    """JSON has no NaN either."""
    return {name: None if isnan(value) else value for name, value in asdict(found).items()}


def _ends(interval: Interval) -> tuple[float, float | None]:
    """JSON has no infinity."""
    return interval.low, interval.high if interval.high != inf else None


def _verified_json(one: Verified) -> dict[str, object]:
    return {
        "pool_size": one.pool_size,
        "load": one.load,
        "rate": one.rate,
        "throughput": one.throughput,
        "wait_ms": _percentiles(one.wait),
        "total_ms": _percentiles(one.total),
        "checks": [asdict(check) for check in one.failed_checks],
    }


def _estimates(analysis: Analysis) -> str:
    found = analysis.plateau
    if found is None:
        return "No size passed the checks that an estimate needs."
    wide = " That is too wide for an answer." if found.high > NOISY_SPAN * found.low else ""
    return (
        f"Plateau: {count(found.pool_size, 'connection')}, the smallest size within {percent(found.tolerance)} "
        f"of the best throughput; it may begin anywhere from {found.low} to {found.high}.{wide}"
    )


def _held_by(analysis: Analysis) -> str:
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


def _verified(analysis: Analysis) -> str:
    if not analysis.verified:
        return ""
    table = verified_table(analysis).as_text()
    return f"At a part of its own capacity, with transactions that arrive by the clock:\n\n{table}"
