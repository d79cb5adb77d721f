"""A comparison as text for a terminal, and as a JSON object."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypedDict

from poolsize.analysis.stats.paired_differences import Difference
from poolsize.answer.verdict import Verdict
from poolsize.comparison.comparison import ComparedRun, Comparison, RunDifference, SizeDifference
from poolsize.present.text.layout import UNKNOWN, Table, bullets
from poolsize.runs.check import Check
from poolsize.units import count, milliseconds, minutes, per_second, percent, pool_sizes, signed_percent

NO_SIZE = {
    Verdict.EDGE: "may lie beyond the measured sizes",
    Verdict.USERS_LIMITED: "is limited by its users",
    Verdict.NOISY: "is too noisy",
    Verdict.NOT_THE_LIMIT: "does not follow from throughput, because the pool is not the limit",
}
"""Verdict under which a run's pool size can't be compared -> its words."""
AT_ONCE = (
    "The throughput intervals in the table hold jointly: with 95 % probability, all of them contain their true "
    "values. The same is true of the p95 intervals. Both include the noise between steps, so they may be wider than "
    "those of `poolsize analyze`."
)


def comparison_text(comparison: Comparison) -> str:
    """Return the title, each run's answer, and for each further run its differences from the first."""
    parts = [comparison_title(comparison), runs_table(comparison).as_text()]
    for other in comparison.others:
        parts += [
            f"First: {comparison.first.value}. Other: {other.run.value}. Change: from first to other.",
            differences_table(comparison, other).as_text(),
            bullets(difference_sentences(comparison, other)),
        ]
    return "\n\n".join(parts)


def comparison_title(comparison: Comparison) -> str:
    """Return a title of the comparison: the compared field, and the setting that all runs share."""
    setting = comparison.first.analysis.setting
    same = {"workload": setting.plan.workload, "server": setting.subject}
    if not setting.recording:
        same["users"] = count(setting.plan.users, "user")
    equal = ", ".join(value for field, value in same.items() if field != comparison.field)
    if comparison.field:
        return f"Comparison by {comparison.field}; the same in all runs: {equal}"
    return f"Runs with the same setting: {equal}"


def runs_table(comparison: Comparison) -> Table:
    """Return a table with one row a run: its answer with range and verdict, its capacity (per second) and its file."""
    rows = []
    for run in comparison.runs:
        answer, plateau = run.answer, run.analysis.plateau
        assert plateau is not None  # else there was nothing to compare
        low, high = answer.range or (0, 0)
        between = "" if low == high else f" ({low}-{high})"
        size = f"{answer.pool_size}{between}" if answer.pool_size else "none"
        doubt = UNKNOWN if answer.verdict == Verdict.MEASURED else answer.verdict
        rows.append((run.value, size, doubt or UNKNOWN, per_second(plateau.capacity), run.name))
    columns = (comparison.field or "run", "pool size", "verdict", "capacity", "file")
    return Table(columns, tuple(rows)).without_unknown()


def differences_table(comparison: Comparison, other: RunDifference) -> Table:
    """Return a table with one row a pool size: throughput, p95 total time, and their differences with intervals."""
    columns = ("pool", "first", "other", "change", "95 % interval", "first p95", "other p95", "change", "95 % interval")
    rows = []
    for size in other.sizes:
        first, second = (run.analysis.at(size.pool_size) for run in (comparison.first, other.run))
        throughput = (per_second(first.throughput.mean), per_second(second.throughput.mean))
        p95 = (milliseconds(first.total.p95), milliseconds(second.total.p95))
        changes = [_with_interval(difference) for difference in (size.throughput, size.p95)]
        rows.append((str(size.pool_size), *throughput, *changes[0], *p95, *changes[1]))
    return Table(columns, tuple(rows))


def difference_sentences(comparison: Comparison, other: RunDifference) -> list[str]:
    """Return sentences on the difference of a run from the first run.

    They name its significance, the pool sizes where it is significant, the answers of both runs, and every doubt.
    """
    sentences = (
        _machine(other) if other.has_other_speed else "",
        _verdict(other, comparison.first.value),
        *_where(other),
        _latency(other, comparison.first.value),
        _sizes(comparison.first, other.run),
        AT_ONCE if other.throughput or other.p95 else "",
        *_doubts(comparison.first, other),
    )
    return list(filter(None, sentences))


def _machine(other: RunDifference) -> str:
    way_out = "This may explain every difference below. Measure both runs again, one right after the other."
    if other.faster_machine is not None:
        usual = f"{percent(1 + other.faster_machine)} of its usual speed in the first run"
        return f"The load generator's machine ran at {usual}. {way_out}"
    assert other.longer_loop is not None
    slower, more = ("slower", "more") if other.longer_loop > 0 else ("faster", "less")
    return (
        f"The load generator's machine was {slower} than in the first run: a worker's loop took "
        f"{100 * abs(other.longer_loop):.0f} % {more} CPU time. {way_out}"
    )


def _verdict(other: RunDifference, first: str) -> str:
    quantity, difference = ("throughput", other.throughput) if other.throughput else ("p95", other.p95)
    if difference is None:
        return "Neither throughput nor latencies can be compared: the rate is fixed, and percentiles are missing."
    span = f"on average over {count(len(other.sizes), 'size')} (95 % interval of the average: {_interval(difference)})"
    if not difference.significant:
        return (
            f"No significant difference in {quantity} between {other.run.value} and {first} {span}. To find a smaller "
            "difference, measure both longer, or with --repeats 3."
        )
    effect = _longer(difference)
    if quantity == "throughput":
        effect = f"has {_share(difference)} {'higher' if difference.mean > 0 else 'lower'} throughput"
    return f"{other.run.value} {effect} than {first} {span}: a significant difference."


def _share(difference: Difference) -> str:
    return f"{100 * abs(difference.mean):.1f} %"


def _longer(p95: Difference) -> str:
    return f"has a p95 that is {_share(p95)} {'longer' if p95.mean > 0 else 'shorter'}"


def _where(other: RunDifference) -> Iterator[str]:
    if not other.significant_sizes:
        return
    sizes = ", ".join(map(str, other.significant_sizes))
    furthest, difference = max(other.significant_sizes.items(), key=lambda item: abs(item[1].mean))
    most = f"largest at {furthest}: {signed_percent(difference.mean)} ({_interval(difference)})"
    yield f"The difference is significant at the pool sizes {sizes}; {most}."
    if any(size.pairs == 1 for size in other.sizes if size.pool_size in other.significant_sizes):
        yield (
            "A single step can't tell a lasting difference from a server that was in another state, such as one that "
            "still filled its cache: confirm the difference with --repeats 3."
        )


def _latency(other: RunDifference, first: str) -> str:
    """Return the difference of the p95, where it is significant and throughput is compared as well; else ""."""
    p95 = other.p95
    if p95 is None or not p95.significant or other.throughput is None:
        return ""
    return f"{other.run.value} {_longer(p95)} on average than {first} ({_interval(p95)}): a significant difference."


def _sizes(first: ComparedRun, other: ComparedRun) -> str:
    """Return whether the runs need different pool sizes, as far as each run's verdict allows."""
    for run in (first, other):
        if run.answer.verdict in NO_SIZE:
            return f"The pool sizes can't be compared: the answer of {run.value} {NO_SIZE[run.answer.verdict]}."
    ours, theirs = first.answer, other.answer
    if not (ours.pool_size and theirs.pool_size):
        return ""
    if ours.pool_size == theirs.pool_size:
        return f"Both need the same pool size: {count(ours.pool_size, 'connection')}."
    need = f"The answer for {other.value} is {count(theirs.pool_size, 'connection')} instead of {ours.pool_size}"
    if ours.range is None or theirs.range is None:
        return f"{need}."
    if ours.range[0] > theirs.range[1] or theirs.range[0] > ours.range[1]:
        return f"{need}: a significant difference, because the 95 % ranges do not overlap."
    return f"{need}. The 95 % ranges overlap, so the runs do not show that the sizes differ."


def _doubts(first: ComparedRun, other: RunDifference) -> Iterator[str]:
    both = (first.analysis, other.run.analysis)
    compared = [size.pool_size for size in other.sizes]
    busy = [size for size in compared if any(analysis.at(size).failed(Check.GENERATOR) for analysis in both)]
    if busy:
        yield (
            f"At {pool_sizes(busy)} a worker was saturated or late (the check `generator` failed). There the "
            "difference between the databases themselves may be larger or smaller."
        )
    if other.left_out:
        yield f"Not compared: {pool_sizes(other.left_out)}, because one run did not measure the size or a check failed."
    if other.in_turn:
        yield "The runs were measured in turn, so a change of the machine meets both."
    elif other.apart_seconds:
        yield (
            f"The runs began {minutes(abs(other.apart_seconds))} apart: anything that changed on the machine "
            "in between is part of the difference. To measure both servers alternately, use --against-url or "
            "--against-option."
        )


def _with_interval(difference: Difference | None) -> tuple[str, str]:
    if difference is None:
        return "", ""
    return f"{signed_percent(difference.mean)}{' !' if difference.significant else ''}", _interval(difference)


def _interval(difference: Difference) -> str:
    return f"{signed_percent(difference.low)} to {signed_percent(difference.high)}"


def run_names(paths: Sequence[str]) -> list[str]:
    """Return a short name for each path, in their order: the file's name without its ending.

    The names contain as many parent folders as are needed to make them differ.
    """
    parts_of_paths = [Path(path).with_suffix("").parts for path in paths]
    for length in range(1, max(map(len, parts_of_paths)) + 1):
        names = ["/".join(parts[-length:]) for parts in parts_of_paths]
        if len(set(names)) == len(set(paths)):
            return names
    return list(paths)


class ComparedRunValues(TypedDict):
    """A run and its answer. value: of the field in which the runs differ."""

    run: str
    value: str
    pool_size: int | None
    range: tuple[int, int] | None
    verdict: Verdict | None


class DifferenceValues(TypedDict):
    """A difference from the first run as shares, with its 95 % interval.

    high: null where the interval has no upper end. real: whether the interval excludes 0.
    """

    mean: float
    low: float
    high: float | None
    real: bool


class DifferencesValues(TypedDict):
    """throughput: null at a fixed rate. p95: of the total time; null where a run does not know it."""

    throughput: DifferenceValues | None
    p95: DifferenceValues | None


class SizeDifferencesValues(DifferencesValues):
    """The differences at a pool size. throughput: null at a fixed rate. p95: null where a run does not know it."""

    pool_size: int


class RunDifferencesValues(DifferencesValues):
    """The differences of a run from the first: in all, and at each pool size with valid steps in both.

    throughput: null at a fixed rate. p95: null where a run does not know it. left_out: every other measured size.
    apart_seconds: from the beginning of the first run. in_turn: whether the steps of both alternate. longer_loop,
    faster_machine: shares; null where a run did not measure them. sentences: the same in words.
    """

    run: str
    sizes: list[SizeDifferencesValues]
    left_out: tuple[int, ...]
    apart_seconds: float
    in_turn: bool
    longer_loop: float | None
    faster_machine: float | None
    sentences: list[str]


class ComparisonValues(TypedDict):
    """A comparison. differences: of each further run from the first.

    field: in which the runs differ; null where they do not differ.
    """

    field: str | None
    runs: list[ComparedRunValues]
    differences: list[RunDifferencesValues]


def comparison_values(comparison: Comparison) -> ComparisonValues:
    """Return a comparison as data for JSON."""
    return {
        "field": comparison.field,
        "runs": [
            {
                "run": run.name,
                "value": run.value,
                "pool_size": run.answer.pool_size,
                "range": run.answer.range,
                "verdict": run.answer.verdict,
            }
            for run in comparison.runs
        ],
        "differences": [
            {
                "run": other.run.name,
                **_differences(other),
                "sizes": [{"pool_size": size.pool_size, **_differences(size)} for size in other.sizes],
                "left_out": other.left_out,
                "apart_seconds": other.apart_seconds,
                "in_turn": other.in_turn,
                "longer_loop": other.longer_loop,
                "faster_machine": other.faster_machine,
                "sentences": difference_sentences(comparison, other),
            }
            for other in comparison.others
        ],
    }


def _differences(source: RunDifference | SizeDifference) -> DifferencesValues:
    return {"throughput": _values(source.throughput), "p95": _values(source.p95)}


def _values(difference: Difference | None) -> DifferenceValues | None:
    if difference is None:
        return None
    mean, low, high = difference.mean, difference.low, difference.high
    return {"mean": mean, "low": low, "high": high, "real": difference.significant}
