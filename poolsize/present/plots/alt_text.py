"""Alternative texts of plots: their main figures, for readers who can't see the plots."""

from collections.abc import Callable, Sequence

from poolsize.analysis.analysis import Analysis
from poolsize.analysis.size_summary import SizeSummary
from poolsize.answer.recommendation import Recommendation
from poolsize.present.text.short_of_run import range_text
from poolsize.recordings.published import known_curves, timings_of
from poolsize.runs.run import Run
from poolsize.units import count, milliseconds, number, per_second


def of_throughput(analysis: Analysis, answer: Recommendation | None, current: int | None = None) -> str:
    """Return the alternative text of the throughput plot. answer, current: as in plot_throughput."""
    best = max(analysis.sizes, key=lambda size: size.throughput.mean)
    at_sizes = (f"{per_second(size.throughput.mean)} at {size.pool_size}" for size in _landmarks(analysis, answer))
    between = range_text(answer) if answer else ""
    marked = f" The answer is {count(answer.pool_size, 'connection')}" if answer and answer.pool_size else ""
    marked += (f", {between}." if between else ".") if marked else ""
    marked += f" The current pool size is {current}." if current else ""
    return (
        f"Throughput against pool size: {', '.join(at_sizes)}; the highest is {per_second(best.throughput.mean)} at "
        f"{best.pool_size}.{marked}"
    )


def of_latency(analysis: Analysis, answer: Recommendation | None) -> str:
    """Return the alternative text of the latency plot: percentiles of the total time at the ends and the answer."""
    levels = ("p50", "p95", "p99") if analysis.knows_percentiles else ("p95",)
    return _at_landmarks(
        "Percentiles of the total time against pool size",
        analysis,
        answer,
        lambda size: ", ".join(f"{level} {milliseconds(getattr(size.total, level))}" for level in levels),
    )


def of_wait_and_usage(analysis: Analysis, answer: Recommendation | None) -> str:
    """Return the alternative text of the plot of mean wait and usage time."""
    return _at_landmarks(
        "Mean wait time and mean usage time, stacked, one bar for each pool size",
        analysis,
        answer,
        lambda size: f"{milliseconds(size.wait.mean)} wait time and {milliseconds(size.usage.mean)} usage time",
    )


def of_distribution(analysis: Analysis, answer: Recommendation | None, latency: str = "total") -> str:
    """Return the alternative text of the plot of a latency's distribution. latency: "wait", "usage" or "total"."""

    def describe(size: SizeSummary) -> str:
        times = getattr(size, latency)
        p50, p99_9, longest = map(milliseconds, (times.p50, times.p99_9, times.max))
        return f"p50 is {p50}, p99.9 {p99_9} and the longest {longest}"

    return _at_landmarks(
        f"The distribution of the {latency} time, one line for each pool size", analysis, answer, describe
    )


def of_processors(analysis: Analysis, answer: Recommendation | None) -> str:
    """Return the alternative text of the plot of busy cores."""

    def describe(size: SizeSummary) -> str:
        busy = analysis.by_size.counter("process_cpu", size.pool_size)
        server = "" if busy is None else f"the server {number(busy)} and "
        return f"{server}the load generator {number(analysis.by_size.worker_cores(size.pool_size))}"

    return _at_landmarks("Busy cores, one bar for each pool size", analysis, answer, describe)


def of_threads(analysis: Analysis, answer: Recommendation | None) -> str:
    """Return the alternative text of the plot of the statements that the server ran at the same time."""

    def describe(size: SizeSummary) -> str:
        running = analysis.by_size.counter("Threads_running", size.pool_size)
        return "not known" if running is None else number(running)

    return _at_landmarks("Statements that the server ran at the same time, by pool size", analysis, answer, describe)


def of_published(names: Sequence[str]) -> str:
    """Return the alternative text of the plot of published curves. names: keys of known_curves()."""
    curves, highest = known_curves(), []
    for curve in map(curves.__getitem__, names):
        by_size = {size: seconds.throughput[0] for size, seconds in curve.recording.by_size.items()}
        best = max(by_size, key=by_size.__getitem__)
        highest.append(f"{curve.name} is highest at {best} ({by_size[best]:,.0f} {curve.unit})")
    return f"Throughput against connections: {'; '.join(highest)}."


def of_survey(test: str, pools: Sequence[str] | None = None) -> str:
    """Return the alternative text of the plot of a test of the survey. test, pools: as in plot_survey."""
    timings = timings_of(test, pools)
    most = max(timing.threads for timing in timings)
    figures = ", ".join(f"{timing.pool} {timing.elapsed_ms:,.0f} ms" for timing in timings if timing.threads == most)
    return f"Elapsed time of each pool against the number of threads; with {most} threads: {figures}."


def of_seconds(run: Run) -> str:
    """Return the alternative text of the plot of every second: seconds of load, and of dropped warm-up."""
    warm = sum(step.warm_up_seconds for step in run.steps)
    return (
        f"Transactions in every second of {count(len(run.steps), 'step')} in the order they were measured: "
        f"{count(run.load_seconds, 'second')} in all, {warm:,} of them dropped as warm-up."
    )


def _at_landmarks(
    title: str, analysis: Analysis, answer: Recommendation | None, describe: Callable[[SizeSummary], str]
) -> str:
    sizes = _landmarks(analysis, answer)
    figures = (f"with {count(size.pool_size, 'connection')} {describe(size)}" for size in sizes)
    return f"{title}: {'; '.join(figures)}."


def _landmarks(analysis: Analysis, answer: Recommendation | None) -> list[SizeSummary]:
    """Return the smallest size, the size nearest to the answer, and the largest size, without duplicates."""
    landmarks = [analysis.sizes[0], analysis.sizes[-1]]
    if answer and answer.pool_size:
        landmarks.insert(1, analysis.by_size.nearest(answer.pool_size))
    return list({size.pool_size: size for size in landmarks}.values())
