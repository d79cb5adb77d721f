"""What a run and its answer say, as tables for people."""

from math import inf, nan
from typing import TYPE_CHECKING

from poolsize.answer.recommendation import Recommendation
from poolsize.present.text.table import Table
from poolsize.units import milliseconds, number, per_second, percent

if TYPE_CHECKING:  # numpy stays out of `poolsize recommend --cores 8`
    from collections.abc import Iterable

    from poolsize.analysis.analysis import Analysis, SizeSummary
    from poolsize.analysis.stats.confidence import Interval
    from poolsize.runs.run import Check


def sizes_table(analysis: "Analysis") -> Table:
    """Throughput and the main percentiles, one line a pool size; wide enough for a terminal."""
    columns = (
        "pool", "throughput", "95 % interval", "wait p50", "p95", "usage p50", "p95", "total p95", "checks",
    )  # fmt: skip
    return Table(
        columns,
        tuple(
            (
                *_throughput(size),
                *map(milliseconds, (size.wait.p50, size.wait.p95, size.usage.p50, size.usage.p95, size.total.p95)),
                failed_names(size.failed_checks),
            )
            for size in analysis.sizes
        ),
    )


def throughput_table(analysis: "Analysis") -> Table:
    """Throughput, one line a pool size, with what the checks said; narrow enough for a phone."""
    return Table(
        ("pool", "per second", "95 % interval", "checks"),
        tuple((*_throughput(size), failed_names(size.failed_checks)) for size in analysis.sizes),
    )


def latency_table(analysis: "Analysis") -> Table:
    """Milliseconds of each size's total time and of its two parts; narrow enough for a phone."""
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
    )  # fmt: skip


def estimators_table(analysis: "Analysis") -> Table:
    """What every estimator says, so that their disagreement shows."""
    return Table(
        ("estimator", "size", "95 % range", "error at sizes left out", "moves without the largest"),
        tuple(
            (
                name,
                "none inside" if one.pool_size is None else str(one.pool_size),
                "" if one.low is None else f"{one.low}-{one.high}",
                "" if one.error is None else percent(one.error),
                "" if one.moved is None else f"{one.moved:+.0%}" + (" !" if one.unstable else ""),
            )
            for name, one in analysis.estimates.items()
        ),
    )


def verified_table(analysis: "Analysis") -> Table:
    """The answer and its neighbours at a part of their own capacity, with transactions that arrive by the clock."""
    return Table(
        ("pool", "load", "due", "done", "wait p95", "total p50", "p95", "p99", "checks"),
        tuple(
            (
                str(one.pool_size),
                percent(one.load),
                per_second(one.rate),
                per_second(one.throughput),
                *map(milliseconds, (one.wait.p95, one.total.p50, one.total.p95, one.total.p99)),
                failed_names(one.failed_checks),
            )
            for one in analysis.verified
        ),
    )


def verified_table_in_ms(analysis: "Analysis") -> Table:
    """The same in milliseconds and without what is due; narrow enough for a phone."""
    return Table(
        ("pool", "load", "wait p95", "total p95", "total p99", "checks"),
        tuple(
            (
                str(one.pool_size),
                percent(one.load),
                *map(number, (one.wait.p95, one.total.p95, one.total.p99)),
                failed_names(one.failed_checks),
            )
            for one in analysis.verified
        ),
    )


def regret_table(answer: Recommendation) -> Table:
    """The price of every other size, pointing at the answer."""
    sizes = [other.pool_size for other in answer.regret]
    return Table(
        ("pool", "throughput", "p95 (wait + usage)"),
        tuple(
            (
                str(other.pool_size),
                f"{'-' if other.throughput_loss else ''}{percent(other.throughput_loss)}",
                milliseconds(nan if other.p95_ms is None else other.p95_ms),
            )
            for other in answer.regret
        ),
        chosen=sizes.index(answer.pool_size) if answer.pool_size in sizes else None,
    )


def interval_text(interval: "Interval") -> str:
    """Both ends, or a question mark where too little was measured to tell."""
    return "?" if interval.high == inf else f"{number(interval.low)}-{number(interval.high)}"


def failed_names(checks: "Iterable[Check]") -> str:
    """The checks that did not pass, each once, or ok."""
    return ", ".join(dict.fromkeys(check.name for check in checks)) or "ok"


def _throughput(size: "SizeSummary") -> tuple[str, str, str]:
    return str(size.pool_size), per_second(size.throughput.mean), interval_text(size.throughput)
