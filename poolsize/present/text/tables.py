"""The tables of an analysis and of a recommendation: throughput, latency, estimators, prices."""

from math import inf, nan
from typing import TYPE_CHECKING

from poolsize.answer.recommendation import Recommendation
from poolsize.present.text.table import Table
from poolsize.units import milliseconds, number, per_second, percent, sizes_text

if TYPE_CHECKING:  # numpy stays out of `poolsize recommend --cores 8`
    from collections.abc import Iterable

    from poolsize.analysis.analysis import Analysis
    from poolsize.analysis.size_summary import SizeSummary
    from poolsize.analysis.stats.confidence import Interval
    from poolsize.runs.check_result import CheckResult


def sizes_table(analysis: "Analysis") -> Table:
    """Return throughput (per second) and main percentiles, one row a pool size, without unknown columns."""
    columns = (
        "pool", "throughput", "95 % interval", "busy", "wait p50", "p95", "usage p50", "p95", "total p95", "checks",
    )  # fmt: skip
    return Table(
        columns,
        tuple(
            (
                *_throughput(size),
                _busy(size),
                *map(milliseconds, (size.wait.p50, size.wait.p95, size.usage.p50, size.usage.p95, size.total.p95)),
                failed_names(size.failed_checks),
            )
            for size in analysis.sizes
        ),
    ).without_unknown()


def application_sizes_table(analysis: "Analysis") -> Table:
    """Return throughput, mean times in the pool by the application's metrics, and response times, one row a size."""
    columns = (
        "pool", "throughput", "95 % interval", "wait mean", "usage mean", "response p50", "p95", "p99", "checks",
    )  # fmt: skip
    return Table(
        columns,
        tuple(
            (
                *_throughput(size),
                *map(milliseconds, (size.wait.mean, size.usage.mean, size.total.p50, size.total.p95, size.total.p99)),
                failed_names(size.failed_checks),
            )
            for size in analysis.sizes
        ),
    ).without_unknown()


def throughput_table(analysis: "Analysis") -> Table:
    """Return throughput (per second) and failed checks, one row a pool size, narrow enough for a phone."""
    return Table(
        ("pool", "per second", "95 % interval", "busy", "checks"),
        tuple((*_throughput(size), _busy(size), failed_names(size.failed_checks)) for size in analysis.sizes),
    ).without_unknown()


def latency_table(analysis: "Analysis") -> Table:
    """Return percentiles of wait, usage and total time (ms), one row a pool size, narrow enough for a phone."""
    return Table(
        ("pool", "wait p50", "wait p95", "usage p50", "usage p95", "total p95", "total p99"),
        tuple(
            (
                str(size.pool_size),
                *map(
                    number,
                    (
                        size.wait.p50, size.wait.p95, size.usage.p50, size.usage.p95, size.total.p95, size.total.p99,
                    ),
                ),
            )
            for size in analysis.sizes
        ),
    ).without_unknown()  # fmt: skip


def kinds_table(analysis: "Analysis") -> Table:
    """Return share and times (ms) of each kind of transaction, one row a pool size and kind; no rows for one kind."""
    return Table(
        ("pool", "kind", "share", "usage p50", "usage p95", "total p95"),
        tuple(
            (
                str(size.pool_size),
                name,
                percent(kind.share),
                *map(number, (kind.usage.p50, kind.usage.p95, kind.total.p95)),
            )
            for size in analysis.sizes
            for name, kind in size.kinds.items()
        ),
    ).without_unknown()


def estimators_table(analysis: "Analysis") -> Table:
    """Return each estimator's pool size, its range, and its two tests, one row an estimator.

    The last column shows how far the size moves when the largest pool size is left out; "!" marks an unstable size.
    """
    return Table(
        ("estimator", "size", "95 % range", "error at left-out sizes", "change without the largest size"),
        tuple(
            (
                name,
                "none" if estimate.pool_size is None else str(estimate.pool_size),
                "" if estimate.low is None else f"{estimate.low}-{estimate.high}",
                "" if estimate.error is None else percent(estimate.error),
                "" if estimate.moved is None else f"{estimate.moved:+.0%}" + (" !" if estimate.unstable else ""),
            )
            for name, estimate in analysis.models.estimates.items()
        ),
    )


def verified_table(analysis: "Analysis") -> Table:
    """Return the verification steps: pool sizes in an open loop at a share of their throughput, one row per step."""
    return Table(
        ("pool", "load", "arrivals", "throughput", "wait p95", "total p50", "p95", "p99", "checks"),
        tuple(
            (
                str(step.pool_size),
                percent(step.load),
                per_second(step.rate),
                per_second(step.throughput),
                *map(milliseconds, (step.wait.p95, step.total.p50, step.total.p95, step.total.p99)),
                failed_names(step.failed_checks),
            )
            for step in analysis.verified
        ),
    )


def verified_table_in_ms(analysis: "Analysis") -> Table:
    """Return the verification steps with times in ms and without rates, narrow enough for a phone."""
    return Table(
        ("pool", "load", "wait p95", "total p95", "total p99", "checks"),
        tuple(
            (
                str(step.pool_size),
                percent(step.load),
                *map(number, (step.wait.p95, step.total.p95, step.total.p99)),
                failed_names(step.failed_checks),
            )
            for step in analysis.verified
        ),
    )


def price_table(answer: Recommendation) -> Table:
    """Return the price table, one row a pool size: throughput loss (share of capacity) and p95 total time.

    An arrow points at the answer.
    """
    sizes = [price.pool_size for price in answer.prices]
    return Table(
        ("pool", "throughput", "p95 total"),
        tuple(
            (
                str(price.pool_size),
                _loss(price.throughput_loss),
                milliseconds(nan if price.p95_ms is None else price.p95_ms),
            )
            for price in answer.prices
        ),
        chosen=sizes.index(answer.pool_size) if answer.pool_size in sizes else None,
    ).without_unknown()


def application_table(answer: Recommendation) -> Table:
    """Return the pool sizes of applications by the time that they add, one row an application."""
    return Table(
        ("added", "usage time", "pool", "95 % range"),
        tuple(
            (
                milliseconds(size.added_ms),
                milliseconds(size.usage_time_ms),
                str(size.pool_size),
                sizes_text(size.range),
            )
            for size in answer.application_sizes
        ),
    )


def _loss(share: float) -> str:
    """Return a throughput loss as a difference in whole percent, as much as its noise supports; "±0" below 0.5 %."""
    return f"{-100 * share:+.0f} %" if abs(share) >= 0.005 else "±0"


def interval_text(interval: "Interval") -> str:
    """Return both ends of an interval, or "?" where too little was measured to know them."""
    return "?" if interval.high == inf else f"{number(interval.low)}-{number(interval.high)}"


def failed_names(results: "Iterable[CheckResult]") -> str:
    """Return the names of the failed checks, each once, or "ok" without any."""
    return ", ".join(dict.fromkeys(result.check for result in results)) or "ok"


def _throughput(size: "SizeSummary") -> tuple[str, str, str]:
    return str(size.pool_size), per_second(size.throughput.mean), interval_text(size.throughput)


def _busy(size: "SizeSummary") -> str:
    """Return the utilisation at an arrival rate; "?", an unknown value, in a closed loop."""
    return "?" if size.utilisation is None else f"{100 * size.utilisation:.0f} %"
