"""The reasons of a measured answer as sentences."""

from collections.abc import Callable, Mapping
from typing import Any

from poolsize.answer.finding import Code, Finding
from poolsize.present.text.sentences.bottlenecks import bottleneck_evidence
from poolsize.units import count, milliseconds, per_second, percent

SAME_LATENCY = 1.1
"""Latencies within this factor of each other are called about the same."""


def _plateau(finding: Finding) -> str:
    values = finding.values
    size, tolerance = values["pool_size"], percent(values["tolerance"])
    beginning = f"By the curve through all steps, {count(size, 'connection')} make{'s' if size == 1 else ''} "
    beginning += f"{per_second(values['throughput'])}, "
    between, certainty = "", f"{percent(values['probability'])} sure"
    if values["measured_below"] is not None:
        between = f" It lies between {values['measured_below']} and {values['measured_above']}, which were measured."
    if size == values["best_size"]:
        return f"{beginning}its best; no smaller size is {certainty} to come within {tolerance} of it.{between}"
    return (
        f"{beginning}within {tolerance} of its best, {per_second(values['capacity'])} with {values['best_size']}; no "
        f"smaller size is {certainty} to come as near.{between}"
    )


def _carries_rate(finding: Finding) -> str:
    values, smaller = finding.values, finding.values["smaller_sizes"]
    than = f"smaller pools ({', '.join(map(str, smaller))}) did not" if smaller else "nothing smaller was measured"
    return f"{count(values['pool_size'], 'connection')} carried {per_second(values['rate'])}; {than}."


def limits_text(limits_ms: Mapping[str, float]) -> str:
    """Return latency limits as text, such as "p95 within 20 ms and p99 within 50 ms". limits_ms: by quantile."""
    return " and ".join(f"{quantile} within {milliseconds(limit_ms)}" for quantile, limit_ms in limits_ms.items())


def _limit_kept(finding: Finding) -> str:
    return f"It keeps {limits_text(finding.values['limits_ms'])}."


def _limit_decides(finding: Finding) -> str:
    values = finding.values
    more = f", which does {percent(values['throughput_loss'])} more" if values["throughput_loss"] > 0 else ""
    return (
        f"It is what keeps {limits_text(values['limits_ms'])}: for throughput alone it would be "
        f"{values['plateau_size']}{more}."
    )


def _current_size(finding: Finding) -> str:
    values = finding.values
    current, size, loss, ratio = (values[key] for key in ("current", "pool_size", "throughput_loss", "p95_ratio"))
    if current == size:
        return f"Your {current} is the recommended size."
    throughput = f"costs {percent(loss)} throughput" if loss >= 0 else f"gains {percent(-loss)} throughput"
    if ratio is None:
        return f"Your {current} {throughput} against {size}."
    latency = f"{ratio:.2g}x p95" if not 1 / SAME_LATENCY < ratio < SAME_LATENCY else "about the same p95"
    return f"Your {current} {throughput} and has {latency} against {size}."


def _current_not_measured(finding: Finding) -> str:
    values = finding.values
    return (
        f"Your {values['current']} lies outside of the sizes measured ({values['low']} to {values['high']}), so its "
        f"cost is not known: measure it with --pool-sizes {values['pool_size']},{values['current']}."
    )


def _wait_and_usage(finding: Finding) -> str:
    values, measured = finding.values, finding.values["measured_size"]
    user = "A caller" if measured == values["pool_size"] else f"With {measured}, the nearest measured, a caller"
    return (
        f"{user} waited {milliseconds(values['wait_ms'])} for a connection and held it for "
        f"{milliseconds(values['usage_ms'])} on average."
    )


def _bottleneck(finding: Finding) -> str:
    name = finding.values["name"]
    return f"What holds it there: {name}; {bottleneck_evidence(name, finding.values['values'])}."


def _verified(finding: Finding) -> str:
    values = finding.values
    return (
        f"At {percent(values['load'])} of what it can do, {per_second(values['rate'])} by the clock, a caller waited "
        f"{milliseconds(values['wait_p95_ms'])} and was served within {milliseconds(values['total_p95_ms'])} "
        "(p95 of each)."
    )


def _queue_in_database(finding: Finding) -> str:
    values = finding.values
    return (
        f"With {count(values['largest'], 'connection')} it was {per_second(values['throughput'])}, and each "
        f"was held for {milliseconds(values['usage_ms'])}: callers queue in the database instead of in the pool."
    )


def _database_size(finding: Finding) -> str:
    values: Mapping[str, Any] = finding.values
    alone, low, high = values["database_size"], values["low"], values["high"]
    about = f"about {alone}" if low == high else f"about {alone} ({low} to {high})"
    server = f"{milliseconds(values['server_ms'])} on {count(values['server_cores'], 'core')}"
    if alone >= values["pool_size"]:
        return f"The database alone needs {about}: a transaction takes {server} of its processor."
    return (
        f"The database alone needs {about}, inferred from the {server} that a transaction takes of its processor; this "
        f"client needs {values['pool_size']}, for it holds each connection through "
        f"{milliseconds(values['client_ms'])} of its own processor's time as well."
    )


def _bimodal(finding: Finding) -> str:
    values = finding.values
    return (
        f"There are two kinds of transactions: {percent(values['short_share'])} hold a connection for "
        f"{milliseconds(values['short_usage_ms'])}, {percent(values['long_share'])} for "
        f"{milliseconds(values['long_usage_ms'])}. Give each a pool of its own, {values['short_pool_size']} for the "
        f"short ones and {values['long_pool_size']} for the long ones, so that the short never wait behind the long."
    )


def _job_queue(finding: Finding) -> str:
    values = finding.values
    return (
        f"With as many callers as connections ({values['users']}) nobody waits for one. If your callers are the "
        f"workers of a job queue, run {values['pool_size']} of them, as many as the pool has, and let the jobs wait in "
        "the queue."
    )


def _estimators_disagree(finding: Finding) -> str:
    sizes = ", ".join(f"{name} {size if size else 'none'}" for name, size in finding.values["sizes"].items())
    return f"The estimators disagree ({sizes}): poolsize analyze shows how far each can be trusted."


def _formula(finding: Finding) -> str:
    values = finding.values
    return (
        f"The formula said {values['connections']} ({values['cores']} cores * 2 + {values['disks']} effective disks): "
        "where to start, not where to end."
    )


REASONS: Mapping[Code, Callable[[Finding], str]] = {
    Code.PLATEAU: _plateau,
    Code.CARRIES_RATE: _carries_rate,
    Code.LIMIT_KEPT: _limit_kept,
    Code.LIMIT_DECIDES: _limit_decides,
    Code.CURRENT_SIZE: _current_size,
    Code.CURRENT_NOT_MEASURED: _current_not_measured,
    Code.WAIT_AND_USAGE: _wait_and_usage,
    Code.BOTTLENECK: _bottleneck,
    Code.VERIFIED: _verified,
    Code.QUEUE_IN_DATABASE: _queue_in_database,
    Code.DATABASE_SIZE: _database_size,
    Code.BIMODAL: _bimodal,
    Code.JOB_QUEUE: _job_queue,
    Code.ESTIMATORS_DISAGREE: _estimators_disagree,
    Code.FORMULA: _formula,
}
