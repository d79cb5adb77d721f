"""Plots against the pool size, with their titles: measured throughput, latency, and published curves."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import groupby

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from poolsize.analysis.analysis import Analysis
from poolsize.analysis.stats.confidence import TAILS
from poolsize.analysis.stats.percentiles import Percentiles, quantiles
from poolsize.answer.finding import Finding
from poolsize.answer.from_run import recommend
from poolsize.answer.latency_limit import LimitBroken, LimitDecides
from poolsize.answer.reasons import QueueInDatabase
from poolsize.answer.recommendation import Recommendation
from poolsize.answer.verdict import GeneratorLimited, NotTheLimit, SmallestSize, StillRising, UsersLimited, Verdict
from poolsize.present.plots.axes import (
    ANSWER,
    GREY,
    IN_ORDER,
    LARGEST,
    LIGHT,
    MARKERS,
    PERCENTILES,
    SMALLEST,
    THROUGHPUT,
    USAGE,
    WAIT,
    band,
    below_each_other,
    legend_above,
    mark_range,
    mark_sizes,
    marks_of,
    milliseconds_axis,
    pool_size_axis,
    rate_axis,
    stacked_bars,
    with_title,
)
from poolsize.present.text.analysis import run_title
from poolsize.present.text.short_of_run import range_text
from poolsize.recordings.published import known_curves, timings_of
from poolsize.sweep.next_step import remaining
from poolsize.units import count, per_second, percent

NINES = {"50": 0.5, "90": 0.9, "99": 0.99, "99.9": 0.999, "99.99": 0.9999, "99.999": 0.99999}
"""Percentile -> the share of transactions that are at most as slow."""
FEWEST_NINES = 0.301
"""The median, -log10(1 - 0.5), where the lines of a distribution start."""
POINTS = 100
"""Points of a distribution's line."""
UNCHANGED = 1.05
"""Waiting moves into the database only if throughput grows by less than this factor."""
LATENCY_TITLE = "Total time of a transaction"
TITLES: Mapping[type[Finding], str] = {
    NotTheLimit: "The pool is not the limit",
    GeneratorLimited: "The load generator limits throughput",
    StillRising: "Throughput still rises at {largest}",
    UsersLimited: "Throughput still rises at {largest}",
    LimitBroken: "No pool size surely keeps the latency limit",
    LimitDecides: "The latency limit needs {size}",
    SmallestSize: "{size} are enough: fewer were not measured",
}
"""Finding -> the title of the throughput plot, by importance."""


def figure(analysis: Analysis) -> Figure:
    """Return a figure of an analysis: throughput, latency, and, where they are known, wait and usage time.

    The plots are below each other, under a title that names workload, server and users. An incomplete run has no answer
    to mark.
    """
    answer = None if remaining(analysis.run) else recommend(analysis)
    plots: list[tuple[Callable[..., Axes], str]] = [
        (plot_throughput, throughput_title(analysis, answer)),
        (plot_latency, LATENCY_TITLE),
    ]
    if analysis.knows_usage:
        plots.append((plot_wait_and_usage, wait_and_usage_title(analysis, answer)))
    draws = [with_title(partial(plot, analysis=analysis, answer=answer), title) for plot, title in plots]
    return below_each_other(draws, run_title(analysis))


def plot_throughput(
    ax: Axes, analysis: Analysis, answer: Recommendation | None = None, current: int | None = None
) -> Axes:
    """Draw measured throughput per second with its 95 % intervals, and the fitted curve with its 95 % band. Returns ax.

    answer: its pool size has a line, and its 95 % range a bracket; None for neither. current: the user's pool size
    today, which has a line too.
    """
    sizes = [size.pool_size for size in analysis.sizes]
    if analysis.curve:
        if not analysis.setting.means_only:
            band(ax, analysis.curve, THROUGHPUT, "95 % band of the curve")
        ax.plot(analysis.curve.sizes, analysis.curve.mean, color=THROUGHPUT, label="fitted curve")
    for failed, face, label in ((False, THROUGHPUT, "measured"), (True, "white", "a check failed")):
        shown = [size for size in analysis.sizes if bool(size.failed_checks) is failed]
        if shown:
            rates = np.array([(size.throughput.mean, size.throughput.low, size.throughput.high) for size in shown])
            rates[~np.isfinite(rates).all(axis=1), 1:] = np.nan  # too little was measured for an interval
            ax.errorbar(
                [size.pool_size for size in shown], rates[:, 0], yerr=np.abs(rates[:, 1:] - rates[:, :1]).T, capsize=3,
                color=THROUGHPUT, linestyle="none", marker="o", markersize=5, markerfacecolor=face, label=label,
            )  # fmt: skip
    if analysis.plateau and not (answer and answer.verdict == Verdict.NOT_THE_LIMIT):
        share = percent(1 - analysis.plateau.tolerance)
        ax.axhline(analysis.plateau.threshold, color=GREY, linestyle=":", label=f"{share} of capacity")
    rate_axis(ax)
    pool_size_axis(ax, sizes)
    mark_sizes(ax, sizes, marks_of(answer, current))
    if answer and answer.range:
        mark_range(ax, answer.range, answer.range_open, range_text(answer))
    return ax


def throughput_title(analysis: Analysis, answer: Recommendation | None) -> str:
    """Return the title of the throughput plot. answer: None for an incomplete run."""
    if answer is None:
        return "The run is incomplete"
    if answer.pool_size is None:
        return "No pool size can be recommended"
    size = count(answer.pool_size, "connection")
    findings = {type(finding): finding for finding in answer.findings}
    for kind, title in TITLES.items():
        if kind in findings:
            largest = getattr(findings[kind], "largest", answer.pool_size)
            return title.format(size=size, largest=count(largest, "connection"))
    if answer.in_doubt:
        return "The answer is in doubt"
    rate = analysis.setting.plan.rate
    purpose = f" for {per_second(rate)}" if rate else f": more add {_gain(analysis)}"
    return f"{size} {'is' if answer.pool_size == 1 else 'are'} enough{purpose}"


def _gain(analysis: Analysis) -> str:
    """Return the throughput that pools larger than the plateau's size add: "nothing" where it is not significant."""
    plateau, curve = analysis.plateau, analysis.curve
    assert plateau is not None
    assert curve is not None  # a measured answer in a closed loop has both
    gain = plateau.capacity / plateau.throughput - 1
    is_significant = curve.against(plateau.pool_size).quantile(TAILS[0]).max() > 0
    return f"up to {100 * gain:.0f} %" if is_significant and gain >= 0.005 else "nothing"


def plot_latency(ax: Axes, analysis: Analysis, answer: Recommendation | None = None) -> Axes:
    """Draw p50, p95 and p99 of the total time (wait + usage, ms) against pool size. Returns ax.

    answer: its pool size has a line; None for no line.
    """
    return plot_percentiles(ax, {size.pool_size: size.total for size in analysis.sizes}, marks_of(answer))


def plot_percentiles(ax: Axes, by_size: Mapping[int, Percentiles], marks: Mapping[str, int] | None = None) -> Axes:
    """Draw p50, p95 and p99 of the total time against pool size. Returns ax. Unknown percentiles have no line.

    by_size: pool size -> total times in ms. marks: as in mark_sizes; None for none.
    """
    sizes = list(by_size)
    for (name, colour), marker in zip(PERCENTILES.items(), MARKERS, strict=False):
        times_ms = [getattr(total, name) for total in by_size.values()]
        if not np.isnan(times_ms).all():
            ax.plot(sizes, times_ms, color=colour, marker=marker, label=name)
    milliseconds_axis(ax, "total time (ms)")
    mark_sizes(ax, sizes, marks or {}, columns=3)
    return pool_size_axis(ax, sizes)


def plot_wait_and_usage(ax: Axes, analysis: Analysis, answer: Recommendation | None = None) -> Axes:
    """Draw mean wait time and mean usage time (ms) as stacked bars, one bar a pool size. Returns ax.

    answer: its pool size has a line; None for no line.
    """
    sizes = analysis.sizes
    parts = [
        ("usage time", USAGE, "", np.array([size.usage.mean for size in sizes])),
        ("wait time", WAIT, "///", np.array([size.wait.mean for size in sizes])),
    ]
    return stacked_bars(ax, [size.pool_size for size in sizes], parts, "mean (ms)", marks_of(answer))


def wait_and_usage_title(analysis: Analysis, answer: Recommendation | None) -> str:
    """Return the title of the plot of wait and usage times."""
    if answer and answer.pool_size:
        start, largest = analysis.by_size.nearest(answer.pool_size), analysis.valid_sizes[-1]
        queued = any(isinstance(finding, QueueInDatabase) and finding.in_database for finding in answer.findings)
        no_faster = largest.throughput.mean < UNCHANGED * start.throughput.mean
        if queued and no_faster and largest.wait.mean < start.wait.mean:
            return f"Beyond {count(start.pool_size, 'connection')}, waiting moves into the database"
    return "Wait time and usage time"


def plot_distribution(
    ax: Axes, analysis: Analysis, answer: Recommendation | None = None, latency: str = "total"
) -> Axes:
    """Draw the slower half of a latency's distribution (ms, logarithmic), one line a pool size. Returns ax.

    latency: "wait", "usage" or "total". The percentiles 90, 99, 99.9 and so on have equal distances on the x axis.
    The smallest size, the measured size nearest to the answer, and the largest size have a line of their own; the
    lines of all other sizes are grey.
    """
    ends = [size.pool_size for size in (analysis.sizes[0], analysis.sizes[-1])]
    styles: dict[int, tuple[str, str, float]] = {ends[1]: (LARGEST, "-.", 1.8), ends[0]: (SMALLEST, "--", 1.8)}
    if answer and answer.pool_size:
        styles[analysis.by_size.nearest(answer.pool_size).pool_size] = (ANSWER, "-", 2.2)
    most_nines = FEWEST_NINES
    for size in analysis.sizes:
        histogram = analysis.by_size.histogram(latency, size.pool_size)
        if histogram is None:
            continue
        nines = np.linspace(FEWEST_NINES, np.log10(histogram.get_total_count()), POINTS)
        times_ms = quantiles(histogram, (1 - 10**-nines).tolist()) / 1000
        colour, line_style, width = styles.get(size.pool_size, (LIGHT, "-", 0.8))
        label = count(size.pool_size, "connection") if size.pool_size in styles else ""
        if answer and colour == ANSWER:
            label += " (answer)" if size.pool_size == answer.pool_size else " (nearest to the answer)"
        ax.plot(nines, times_ms, color=colour, linestyle=line_style, linewidth=width, label=label or "_other")
        most_nines = max(most_nines, nines[-1])
    if len(analysis.sizes) > len(styles) and ax.lines:
        ax.plot([], [], color=LIGHT, linewidth=0.8, label="other sizes")
    ticks = {label: -np.log10(1 - share) for label, share in NINES.items() if -np.log10(1 - share) <= most_nines}
    ax.set_xticks(list(ticks.values()), list(ticks))
    ax.set_xlabel("percentile")
    milliseconds_axis(ax, f"{latency} time (ms)")
    legend_above(ax, 2)
    return ax


def plot_published(ax: Axes, names: Sequence[str]) -> Axes:
    """Draw published curves, each as a share of its highest throughput, for curves of several units. Returns ax.

    names: keys of known_curves(), at most five. A dotted line marks a fixed number of users within the sizes.
    """
    sizes: set[int] = set()
    curves = known_curves()
    for curve, colour, marker in zip([curves[name] for name in names], IN_ORDER, MARKERS, strict=False):
        by_size = {size: seconds.throughput[0] for size, seconds in curve.recording.by_size.items()}
        highest = max(by_size.values())
        ax.plot(
            list(by_size), [rate / highest for rate in by_size.values()], color=colour, marker=marker, markersize=4,
            label=f"{curve.name} (100 % = {highest:,.0f} {curve.unit})",
        )  # fmt: skip
        sizes.update(by_size)
        if curve.recording.users and curve.recording.users < max(by_size):
            ax.axvline(curve.recording.users, color=colour, linestyle=":")
    ax.set_ylim(0, 1.05)
    ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    ax.set_ylabel("share of the highest throughput")
    legend_above(ax, 1)
    return pool_size_axis(ax, sorted(sizes), "connections or users")


def plot_survey(ax: Axes, test: str, pools: Sequence[str] | None = None) -> Axes:
    """Draw the elapsed time (ms) of pools in a test of the survey against the number of threads. Returns ax.

    test: name of a test in published_pools(). pools: at most five names of pools, as of timings_of(); None for those
    that are published.
    """
    timings = timings_of(test, pools)
    by_pool = groupby(timings, key=lambda timing: timing.pool)
    for (pool, group), colour, marker in zip(by_pool, IN_ORDER, MARKERS, strict=False):
        timings_of_pool = list(group)
        threads = [timing.threads for timing in timings_of_pool]
        ax.plot(threads, [timing.elapsed_ms for timing in timings_of_pool], color=colour, marker=marker, label=pool)
    milliseconds_axis(ax, "elapsed (ms)")
    legend_above(ax, 3)
    return pool_size_axis(ax, sorted({timing.threads for timing in timings}), "threads")
