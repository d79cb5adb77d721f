"""The tables of an analysis and of a recommendation: throughput, latency, estimators, prices."""

from collections.abc import Callable, Iterable, Sequence
from math import inf

from poolsize.analysis.analysis import Analysis
from poolsize.analysis.rate_evidence import VerifiedStep
from poolsize.analysis.size_summary import KindSummary, SizeSummary
from poolsize.answer.price import AtRate, MeasuredTimes
from poolsize.answer.recommendation import Recommendation
from poolsize.present.text.layout import NO_END, UNKNOWN, Table
from poolsize.runs.check import Check
from poolsize.runs.run import CheckResult
from poolsize.units import at_most, milliseconds, number, per_second, percent, sizes_text

NOT_MEASURED = "-"
"""The cell of the checks of a pool size that was not measured."""


def sizes_table(analysis: Analysis) -> Table:
    """Return throughput (per second) and main percentiles, one row a pool size, without unknown columns.

    Of an application, the total times are response times, and its own metrics have the mean times in its pool.
    """
    times, total = ("wait p50", "wait p95", "usage p50", "usage p95", "total p95"), "total"
    if analysis.setting.application is not None:
        times, total = ("wait mean", "usage mean", "total p50", "total p95", "total p99"), "response"
    heads = [name.replace("total", total) for name in _briefly(times)]
    rows = []
    for size in analysis.sizes:
        cells = dict(zip(times, _times(size, times, milliseconds), strict=True))
        if size.sampled_usage and size.usage.mean > 0:
            cells["usage mean"] += f" ±{at_most(size.sampled_usage.error)}"
        rows.append((*_throughput(size), *cells.values(), failed_names(size.failed_checks)))
    return Table(("pool", "throughput", "95 % interval", "busy", *heads, "checks"), rows).without_unknown()


def throughput_table(analysis: Analysis) -> Table:
    """Return throughput (per second) and failed checks, one row a pool size, narrow enough for a phone."""
    rows = [(*_throughput(size), failed_names(size.failed_checks)) for size in analysis.sizes]
    return Table(("pool", "per second", "95 % interval", "busy", "checks"), rows).without_unknown()


def latency_table(analysis: Analysis) -> Table:
    """Return percentiles of wait, usage and total time (ms), one row a pool size, narrow enough for a phone."""
    times = ("wait p50", "wait p95", "usage p50", "usage p95", "total p95", "total p99")
    rows = [(str(size.pool_size), *_times(size, times, number)) for size in analysis.sizes]
    return Table(("pool", *times), rows).without_unknown()


def kinds_table(analysis: Analysis) -> Table:
    """Return share and times (ms) of each kind of transaction, one row a pool size and kind; no rows for one kind."""
    times = ("usage p50", "usage p95", "total p95")
    rows = [
        (str(size.pool_size), name, percent(kind.share), *_times(kind, times, number))
        for size in analysis.sizes
        for name, kind in size.kinds.items()
    ]
    return Table(("pool", "kind", "share", *times), rows).without_unknown()


def estimators_table(analysis: Analysis) -> Table:
    """Return each estimator's pool size, its range, and its two tests, one row an estimator.

    The last column shows how far the size moves when the largest pool size is left out; "!" marks an unstable size.
    """
    rows = []
    for name, estimate in analysis.models.estimates.items():
        size = "none" if estimate.pool_size is None else str(estimate.pool_size)
        between = "" if estimate.low is None else f"{estimate.low}-{estimate.high}"
        error = "" if estimate.error is None else percent(estimate.error)
        moved = "" if estimate.moved is None else f"{estimate.moved:+.0%}{' !' if estimate.unstable else ''}"
        rows.append((name, size, between, error, moved))
    columns = ("estimator", "size", "95 % range", "error at left-out sizes", "change without the largest size")
    return Table(columns, rows)


def verified_table(analysis: Analysis, *, narrow: bool = False) -> Table:
    """Return the verification steps, one a row. narrow: with times in ms and without rates, for a phone."""
    times = ("wait p95", "total p95", "total p99") if narrow else ("wait p95", "total p50", "total p95", "total p99")
    heads = times if narrow else ("arrivals", "throughput", *_briefly(times))
    rows = []
    for step in analysis.verified:
        rates = [] if narrow else [per_second(step.rate), per_second(step.throughput)]
        figures = [*rates, *_times(step, times, number if narrow else milliseconds)]
        rows.append((str(step.pool_size), percent(step.load), *figures, failed_names(step.failed_checks)))
    return Table(("pool", "load", *heads, "checks"), rows)


def price_table(answer: Recommendation) -> Table:
    """Return throughput loss (share of capacity) and total time at a rate, by pool size; an arrow at the answer.

    The loss by the fitted curve stands beside the measured one, where there is a curve. Where only some times were
    measured, a column says which; where they contradict the computed ones, the size has a row for each. Where a size
    has no better steps than some that failed a check, a column names the checks.
    """
    fitted = any(price.fitted_loss != price.throughput_loss for price in answer.prices)
    shown = [(price, at_rate) for price in answer.prices for at_rate in _measured_and_computed(price.at_rate)]
    sizes = [price.pool_size for price, _ in shown]
    of_some = len({at_rate.measured for _, at_rate in shown if at_rate}) > 1
    failed = any(price.failed_checks for price in answer.prices)
    rows = [
        (
            str(price.pool_size),
            _change(price.throughput_loss),
            _change(price.fitted_loss) if fitted else UNKNOWN,
            *_total_times(at_rate),
            ("measured" if at_rate.measured else "computed") if of_some and at_rate else UNKNOWN,
            (NOT_MEASURED if price.failed_checks is None else _names(price.failed_checks)) if failed else UNKNOWN,
        )
        for price, at_rate in shown
    ]
    chosen = sizes.index(answer.pool_size) if answer.pool_size in sizes else None
    columns = ("pool", "throughput", "by the curve", "total p95", "p99.9", "times are", "checks")
    return Table(columns, rows, chosen).without_unknown()


def _measured_and_computed(at_rate: AtRate | None) -> tuple[AtRate | None, ...]:
    """Return a latency, and behind a measured one that contradicts the computed one, the computed one."""
    return (at_rate, AtRate(at_rate.rate, at_rate.computed_ms)) if at_rate and at_rate.computed_ms else (at_rate,)


def _change(loss: float) -> str:
    return f"{-100 * loss:+.0f} %" if abs(loss) >= 0.005 else "±0"


def price_title(answer: Recommendation) -> str:
    """Return the title of the price table, which names the arrival rate. At a fixed rate no throughput is lost."""
    for finding in answer.findings:
        if isinstance(finding, MeasuredTimes):
            return f"Total time at {per_second(finding.rate)}"
    compared = "Throughput as a difference from the fitted curve's highest point"
    rates = [price.at_rate.rate for price in answer.prices if price.at_rate]
    if not rates:
        return compared
    grows = any(price.at_rate and price.at_rate.total_ms is None for price in answer.prices)
    ends = f" ({NO_END}: the queue grows without end)" if grows else ""
    return f"{compared}, and total times at {per_second(rates[0])}{ends}"


def _total_times(at_rate: AtRate | None) -> tuple[str, str]:
    if at_rate is None:
        return UNKNOWN, UNKNOWN
    total = at_rate.total_ms
    return (milliseconds(total.p95), milliseconds(total.p99_9)) if total else (NO_END, NO_END)


def application_table(answer: Recommendation) -> Table:
    """Return the pool sizes of applications by the time that they add, one row an application."""
    rows = [
        (milliseconds(size.added_ms), milliseconds(size.usage_time_ms), str(size.pool_size), sizes_text(size.range))
        for size in answer.application_sizes
    ]
    return Table(("added", "usage time", "pool", "95 % range"), rows)


def failed_names(results: Iterable[CheckResult]) -> str:
    """Return the names of the failed checks, each once, or "ok" without any."""
    return _names(result.check for result in results)


def _names(failed: Iterable[Check]) -> str:
    return ", ".join(dict.fromkeys(failed)) or "ok"


def _throughput(size: SizeSummary) -> tuple[str, ...]:
    """Return pool size, throughput, its interval, and the utilisation at an arrival rate, unknown in a closed loop."""
    low, high = size.throughput.low, size.throughput.high
    interval = UNKNOWN if high == inf else f"{number(low)}-{number(high)}"  # too little was measured
    busy = UNKNOWN if size.utilisation is None else f"{100 * size.utilisation:.0f} %"
    return str(size.pool_size), per_second(size.throughput.mean), interval, busy


def _times(
    source: SizeSummary | KindSummary | VerifiedStep, names: Sequence[str], unit: Callable[[float], str]
) -> list[str]:
    """Return the times that the names say, such as "wait p50". unit: time in ms -> text."""
    return [unit(getattr(getattr(source, latency), quantile)) for latency, quantile in map(str.split, names)]


def _briefly(names: Sequence[str]) -> list[str]:
    """Return the names of times without a latency that the name before has: "wait p50" and "p95"."""
    latencies = ["", *(name.split()[0] for name in names)]
    return [name.removeprefix(f"{earlier} ") for name, earlier in zip(names, latencies, strict=False)]
