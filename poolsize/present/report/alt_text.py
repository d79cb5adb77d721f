"""What each plot shows, in words with figures, for those who can't see it."""

from collections.abc import Callable, Mapping

from poolsize.analysis.analysis import Analysis
from poolsize.analysis.size_summary import SizeSummary
from poolsize.present.text.estimator_sizes import said
from poolsize.units import count, milliseconds, number, per_second


def of_throughput(analysis: Analysis, marks: Mapping[str, int]) -> str:
    """How throughput goes with the pool size, where the plateau is, and what is marked. marks: as the plot has them."""
    best = max(analysis.sizes, key=lambda size: size.throughput.mean)
    text = f"Throughput against pool size: {_course(analysis)}; the most is {per_second(best.throughput.mean)} at "
    text += f"{best.pool_size}."
    if found := analysis.plateau:
        text += f" The plateau begins at {count(found.pool_size, 'connection')}, between {found.low} and {found.high}."
    marked = ", ".join(f"{name} {size}" for name, size in {**said(analysis), **marks}.items())
    return f"{text} Marked below: {marked}."


def of_latency(analysis: Analysis) -> str:
    """What the percentiles of the total time are at the ends and at the plateau."""
    levels = ("p50", "p95", "p99") if analysis.knows_latencies else ("p95",)

    def tell(size: SizeSummary) -> str:
        return ", ".join(f"{level} {milliseconds(getattr(size.total, level))}" for level in levels)

    return f"Percentiles of wait and usage together against pool size: {_at_landmarks(analysis, tell)}."


def of_wait_and_usage(analysis: Analysis) -> str:
    """How the mean time parts into both, at the ends and at the plateau."""

    def tell(size: SizeSummary) -> str:
        return f"{milliseconds(size.wait.mean)} of wait and {milliseconds(size.usage.mean)} of usage"

    told = _at_landmarks(analysis, tell)
    return f"Mean wait for a connection and mean usage of it, stacked, one bar a pool size: {told}."


def of_distribution(analysis: Analysis) -> str:
    """Where the distributions end."""

    def tell(size: SizeSummary) -> str:
        longest = f"p99.9 {milliseconds(size.total.p99_9)} and the longest {milliseconds(size.total.max)}"
        return f"p50 is {milliseconds(size.total.p50)}, {longest}"

    told = _at_landmarks(analysis, tell)
    return f"The whole distribution of wait and usage together, one line a pool size: {told}."


def of_users(analysis: Analysis) -> str:
    """Where the users are at the ends and at the plateau."""

    def tell(size: SizeSummary) -> str:
        holding, waiting = (size.throughput.mean * time.mean / 1000 for time in (size.usage, size.wait))
        return f"{number(holding)} hold one and {number(waiting)} wait"

    return f"Where the users are on average, one bar a pool size: {_at_landmarks(analysis, tell)}."


def of_processors(analysis: Analysis) -> str:
    """How many cores each side kept busy at the ends and at the plateau."""

    def tell(size: SizeSummary) -> str:
        busy = analysis.by_size.counter("process_cpu", size.pool_size)
        server = "" if busy is None else f"the server {number(busy)} and "
        return f"{server}the load {number(analysis.by_size.worker_cores(size.pool_size))}"

    return f"Cores kept busy, one bar a pool size: {_at_landmarks(analysis, tell)}."


def of_seconds(analysis: Analysis) -> str:
    """How long was measured in all, and how much of it was left out."""
    steps = analysis.run.steps
    warm = sum(step.warm_up_seconds for step in steps)
    return (
        f"Transactions in every second of {count(len(steps), 'step')} in the order they were measured: "
        f"{count(analysis.run.load_seconds, 'second')} in all, {warm:,} of them dropped as warm-up."
    )


def _course(analysis: Analysis) -> str:
    told = [f"{per_second(size.throughput.mean)} at {size.pool_size}" for size in _landmarks(analysis)]
    return ", ".join(told)


def _at_landmarks(analysis: Analysis, tell: Callable[[SizeSummary], str]) -> str:
    return "; ".join(f"with {count(size.pool_size, 'connection')} {tell(size)}" for size in _landmarks(analysis))


def _landmarks(analysis: Analysis) -> list[SizeSummary]:
    """The smallest size, the one nearest to the plateau, and the largest; each once."""
    found = [analysis.sizes[0], analysis.sizes[-1]]
    if analysis.plateau:
        found.insert(1, analysis.by_size.nearest(analysis.plateau.pool_size))
    return list({size.pool_size: size for size in found}.values())
