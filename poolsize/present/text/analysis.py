"""An analysis as text for a terminal, and as a JSON object."""

from collections.abc import Iterable, Mapping
from math import log
from typing import TypedDict

from poolsize.analysis.analysis import Analysis
from poolsize.analysis.application_pool import SampledUsage
from poolsize.analysis.bottleneck import BottleneckName
from poolsize.analysis.fitted_models import Estimate
from poolsize.analysis.plateau import CERTAINTY
from poolsize.analysis.service_demand import ServiceDemands
from poolsize.analysis.size_summary import SizeSummary
from poolsize.analysis.speed import has_server_process, usual_speed
from poolsize.analysis.stats.percentiles import Percentiles
from poolsize.answer.verdict import Highest, highest, is_noisy, verdict_on_size
from poolsize.answer.warnings import usage_not_used
from poolsize.present.text.layout import paragraph, terminal_width
from poolsize.present.text.sentences.checks import bottleneck_sentence, check_sentence
from poolsize.present.text.sentences.findings import sentence
from poolsize.present.text.sentences.reasons import highest_text
from poolsize.present.text.setting import counted_seconds
from poolsize.present.text.short_of_run import plateau_range_text
from poolsize.present.text.tables import estimators_table, kinds_table, sizes_table, verified_table
from poolsize.runs.check import Check
from poolsize.runs.plan import PoolKind
from poolsize.runs.run import Calibration, CheckResult, Run, Value
from poolsize.units import count, milliseconds, number, per_second, percent

ESTIMATOR_TESTS = (
    "Two tests of each estimator. The error: leave each measured size out of the fit in turn, and see how far its "
    "predicted throughput is off. The change: leave out the largest size, and see how much the pool size changes "
    "(! marks more than 20 %)."
)
POOL_IN_TITLE = {
    PoolKind.SQLALCHEMY: ", SQLAlchemy's own pool",
    PoolKind.NONE: ", without a pool",
    PoolKind.LAZY: ", a lazy pool",
}


def analysis_text(analysis: Analysis, encoding: str = "utf-8") -> str:
    """Return a table with one row a pool size, the curve in letters, the estimates and the bottleneck.

    encoding: of the output; the curve is in ASCII where the encoding does not have its letters.
    """
    setting = analysis.setting
    parts = [
        f"{run_title(analysis)}, {counted_seconds(analysis.steps, setting)} counted per step, {setting.created[:10]}",
        sizes_table(analysis).as_text(),
        *map(paragraph, map(sentence, usage_not_used(analysis.sizes))),
        kinds_table(analysis).below("Each kind of transaction; times in milliseconds"),
        _writable(knee_text(analysis, terminal_width()), encoding),
        _estimates(analysis),
        f"{estimators_table(analysis).as_text()}\n\n{paragraph(ESTIMATOR_TESTS)}" if analysis.models.estimates else "",
        _bottleneck(analysis),
        verified_table(analysis).below("Verification in an open loop, at percentages of each pool size's throughput"),
        "\n".join(excluded_steps(analysis)),
        _speed(analysis.run),
    ]
    return "\n\n".join(filter(None, parts))


def run_title(analysis: Analysis) -> str:
    """Return a title of the run: workload, server, number of users, and the pool where it is not the default."""
    setting = analysis.setting
    users = "" if setting.recording else f", {count(setting.plan.users, 'user')}"
    return f"{setting.plan.workload} on {setting.subject}{users}{POOL_IN_TITLE.get(setting.plan.pool, '')}"


def excluded_steps(analysis: Analysis) -> tuple[str, ...]:
    """Return a line for each excluded step, with the checks that failed.

    A step may have none of them: later steps can change the check `speed`.
    """
    lines = []
    for step in analysis.excluded:
        failed = "; ".join(f"{result.check}: {check_sentence(result)}" for result in step.failed_checks)
        cause = f"failed {failed}" if failed else "passed; an earlier attempt at this step passed, too, and counts"
        lines.append(f"Excluded step, {count(step.pool_size, 'connection')}, {cause}")
    return tuple(lines)


def _speed(run: Run) -> str:
    if (speed := usual_speed(run)) is None:
        return ""
    figures = (
        f"it compresses {speed:.1f} MB in a second of CPU time, by all steps of the run. The check `speed` compares "
        "each step with it, so an attempt that failed the check when it was measured may pass now."
    )
    if has_server_process(run):
        return paragraph(f"The machine's usual speed: {figures}")
    unknown = (
        "The server's process is not on this machine, or can't be identified, so the speed of the server's machine is "
        "unknown."
    )
    return paragraph(f"The usual speed of the load generator's machine: {figures} {unknown}")


def _estimates(analysis: Analysis) -> str:
    plateau = analysis.plateau
    if plateau is None:
        return "No pool size passed the checks that an estimate needs."
    if analysis.setting.plan.rate is not None:
        size, rate = count(plateau.pool_size, "connection"), per_second(analysis.setting.plan.rate)
        return f"The smallest measured pool that serves {rate} has {size}."
    reached = highest_text(_highest(analysis), analysis.setting.plan.users)
    is_certain = plateau.probability >= CERTAINTY and not analysis.setting.means_only
    certainty = f" that is, with at least {percent(CERTAINTY)} probability," if is_certain else ""
    between = f" ({text})" if (text := plateau_range_text(analysis)) else ""
    wide = f" Among the measured sizes it goes from {plateau.low} to {plateau.high}: too wide for an answer."
    return (
        f"Plateau: {count(plateau.pool_size, 'connection')}, the smallest pool size{certainty} within "
        f"{percent(plateau.tolerance)} of {reached}{between}.{wide if is_noisy(plateau) else ''}"
    )


def _highest(analysis: Analysis) -> Highest:
    """Return the meaning of the fitted curve's highest throughput, of an analysis with a plateau."""
    assert analysis.plateau is not None
    return highest(verdict_on_size(analysis, analysis.plateau.pool_size)[1])


def _bottleneck(analysis: Analysis) -> str:
    """Return the bottleneck and the service demands at the plateau; empty where the users limited throughput."""
    if analysis.bottleneck is None or analysis.plateau is None or _highest(analysis) is Highest.OF_FILLED:
        return ""
    text = bottleneck_sentence(analysis.bottleneck.name, analysis.bottleneck.values)
    nearest = analysis.by_size.nearest(analysis.plateau.pool_size)
    if demands := nearest.demands:
        place = "outside of it" if demands.inferred else "of CPU time on the server"
        text += (
            f"\nAt {count(nearest.pool_size, 'connection')}, a transaction takes "
            f"{milliseconds(demands.client_ms)} of CPU time in the load generator and "
            f"{milliseconds(demands.server_ms)} {place}."
        )
    return text


class CheckValues(TypedDict):
    """A check of a step. values: the figures that it compared, by names with units; detail: the same in a sentence."""

    name: Check
    passed: bool
    detail: str
    values: Mapping[str, Value]


class KindValues(TypedDict):
    """The figures of a kind of transaction. share: of all transactions that succeeded."""

    transactions: int
    share: float
    wait_ms: Percentiles
    usage_ms: Percentiles
    total_ms: Percentiles


class SizeValues(TypedDict):
    """The figures of a pool size: of its valid steps, or of all its steps where none is valid.

    repeats: number of these steps. throughput: per second, with its 95 % interval. intervals_ms: latency -> quantile ->
    its 95 % interval; empty for runs without sections. kinds: empty for a workload with one kind. utilisation: share of
    the connections that the arrival rate needs; null in a closed loop. demands: null where not known. sampled_usage:
    where the mean usage time of an application follows from readings of its metrics, with half its 95 % interval as a
    share of it, and whether the response times allow it; else null. errors: failed transactions. valid: whether the
    size may enter an estimate. checks: that failed.
    """

    pool_size: int
    repeats: int
    throughput: float
    throughput_low: float
    throughput_high: float | None
    wait_ms: Percentiles
    usage_ms: Percentiles
    total_ms: Percentiles
    intervals_ms: Mapping[str, Mapping[str, tuple[float, float | None]]]
    kinds: Mapping[str, KindValues]
    utilisation: float | None
    demands: ServiceDemands | None
    sampled_usage: SampledUsage | None
    errors: int
    valid: bool
    checks: list[CheckValues]


class CauseValues(TypedDict):
    """What limits throughput. values: the figures that show it, by names with units; evidence: the same in words."""

    name: BottleneckName
    evidence: str
    values: Mapping[str, Value]


class VerifiedValues(TypedDict):
    """A pool size measured with arrivals at a fixed rate. load: the rate as a share of its throughput.

    checks: that failed.
    """

    pool_size: int
    load: float
    rate: float
    throughput: float
    wait_ms: Percentiles
    total_ms: Percentiles
    checks: list[CheckValues]


class ExcludedValues(TypedDict):
    """A step that counts for nothing. checks: that failed."""

    pool_size: int
    checks: list[CheckValues]


class AnalysisValues(TypedDict):
    """The analysis of a run.

    steps: the figures of each pool size. estimates: estimator -> pool size. estimators: with ranges and tests. cause:
    the bottleneck. verified: verification steps. void: excluded steps. calibration: of the load generator.
    usual_speed: of the machine, as the counter machine_speed. null: not known.
    """

    steps: list[SizeValues]
    estimates: Mapping[str, int | None]
    estimators: Mapping[str, Estimate]
    cause: CauseValues | None
    verified: list[VerifiedValues]
    void: list[ExcludedValues]
    calibration: Calibration | None
    usual_speed: float | None


def analysis_values(analysis: Analysis) -> AnalysisValues:
    """Return an analysis as data for JSON."""
    plateau, cause, estimates = analysis.plateau, analysis.bottleneck, analysis.models.estimates
    return {
        "steps": list(map(_size_values, analysis.sizes)),
        "estimates": {name: estimate.pool_size for name, estimate in estimates.items()}
        or {"plateau": plateau.pool_size if plateau else None},
        "estimators": estimates,
        "cause": None
        if cause is None
        else {"name": cause.name, "evidence": bottleneck_sentence(cause.name, cause.values), "values": cause.values},
        "verified": [
            {
                "pool_size": step.pool_size,
                "load": step.load,
                "rate": step.rate,
                "throughput": step.throughput,
                "wait_ms": step.wait,
                "total_ms": step.total,
                "checks": _check_values(step.failed_checks),
            }
            for step in analysis.verified
        ],
        "void": [
            {"pool_size": step.pool_size, "checks": _check_values(step.failed_checks)} for step in analysis.excluded
        ],
        "calibration": analysis.run.calibration,
        "usual_speed": usual_speed(analysis.run),
    }


def _size_values(size: SizeSummary) -> SizeValues:
    return {
        "pool_size": size.pool_size,
        "repeats": size.repeats,
        "throughput": size.throughput.mean,
        "throughput_low": size.throughput.low,
        "throughput_high": size.throughput.high,
        "wait_ms": size.wait,
        "usage_ms": size.usage,
        "total_ms": size.total,
        "intervals_ms": {
            name: {quantile: (interval.low, interval.high) for quantile, interval in quantiles.items()}
            for name, quantiles in size.intervals.items()
        },
        "kinds": {
            name: {
                "transactions": kind.transactions,
                "share": kind.share,
                "wait_ms": kind.wait,
                "usage_ms": kind.usage,
                "total_ms": kind.total,
            }
            for name, kind in size.kinds.items()
        },
        "utilisation": size.utilisation,
        "demands": size.demands,
        "sampled_usage": size.sampled_usage,
        "errors": size.errors,
        "valid": size.valid,
        "checks": _check_values(size.failed_checks),
    }


def _check_values(results: Iterable[CheckResult]) -> list[CheckValues]:
    return [
        {"name": result.check, "passed": result.passed, "detail": check_sentence(result), "values": result.values}
        for result in results
    ]


WIDTH, HEIGHT = 60, 8
NARROWEST, BESIDE = 14, 26
"""Columns of the narrowest curve, and of what stands beside a curve: the label on its left, a word on its right."""
EIGHTHS = " ▁▂▃▄▅▆▇█"
"""A letter for each eighth of a line's height."""
IN_ASCII = str.maketrans("▁▂▃▄▅▆▇█", "....####")


def _writable(curve: str, encoding: str) -> str:
    """Return a curve in ASCII where an encoding does not have its letters."""
    try:
        curve.encode(encoding)
    except UnicodeEncodeError:
        return curve.translate(IN_ASCII)
    return curve


def knee_text(analysis: Analysis, width: int | None = None) -> str:
    """Return the fitted curve as lines of letters: throughput from 0 over log2 of the pool size.

    Two lines below the curve show the valid pool sizes, and the plateau's start (^) with its 95 % range (~). Empty for
    a run without a curve, and for a single size. width: columns that the lines may have; None for all they need.
    """
    curve, plateau = analysis.curve, analysis.plateau
    if curve is None or plateau is None or len(curve.sizes) < 2:
        return ""
    smallest, largest = curve.sizes[0], curve.sizes[-1]

    def column(size: float) -> int:
        return round((columns - 1) * log(size / smallest) / log(largest / smallest))

    columns = WIDTH if width is None else min(WIDTH, max(NARROWEST, width - BESIDE))
    rates = [curve.at(smallest * (largest / smallest) ** (place / (columns - 1))) for place in range(columns)]
    heights = [round(8 * HEIGHT * rate / max(rates)) for rate in rates]
    label = per_second(plateau.capacity)
    margin = " " * (len(label) + 2)
    lines = []
    for row in reversed(range(HEIGHT)):
        letters = "".join(EIGHTHS[min(8, max(0, height - 8 * row))] for height in heights).rstrip()
        lines.append(f"{label if row == HEIGHT - 1 else '':{len(label)}} |{letters}")
    sizes = {column(each.pool_size): number(each.pool_size) for each in analysis.valid_sizes}
    lines.append(f"{margin}{_row(sizes)}  connections")
    ends = (plateau.pool_size,) * 2 if analysis.setting.means_only else (plateau.low, plateau.high)
    low, start, high = map(column, (ends[0], plateau.pool_size, ends[1]))
    marks = margin + " " * low + "~" * (high - low + 1)
    start += len(margin)
    marks = f"{marks[:start]:<{start}}^{marks[start + 1 :]}"
    meaning = "  plateau's start and its 95 % range" if low < high else "  plateau's start"
    lines.append(marks + (meaning if width is None or len(marks) + len(meaning) <= width else "  plateau"))
    return "\n".join(lines)


def _row(labels: dict[int, str]) -> str:
    """Return a line with labels at their columns, left out where they would touch the label before."""
    row = ""
    for place, label in sorted(labels.items()):
        if not row or place > len(row):
            row = row.ljust(place) + label
    return row
