"""The short answer of a run, and the 95 % range of an answer as text."""

from collections.abc import Iterator, Sequence

from poolsize.analysis.analysis import Analysis
from poolsize.analysis.application_size import CERTAINTY
from poolsize.analysis.bottleneck import BottleneckName
from poolsize.answer.application import ApplicationPool, DatabaseSize, LoadGeneratorSize
from poolsize.answer.finding import Severity
from poolsize.answer.latency_limit import LimitDecides, LimitKept
from poolsize.answer.price import (
    CurrentNotMeasured,
    CurrentNotTheLimit,
    CurrentSize,
    MeasuredTimes,
    ModelledTimes,
    NoTotalTimes,
)
from poolsize.answer.reasons import CarriesRate, LimitedBy, OnPlateau, QueueInDatabase
from poolsize.answer.recommendation import Recommendation
from poolsize.answer.verdict import MeansOnly, OpenEnd, known_range, verdict_on_size
from poolsize.present.text.layout import paragraph
from poolsize.present.text.recommendation import headline
from poolsize.present.text.sentences.checks import bottleneck_text
from poolsize.present.text.sentences.findings import sentence
from poolsize.present.text.sentences.reasons import curve_decides, highest_text
from poolsize.present.text.short import Labelled, brief, leading, main_caution, short_answer
from poolsize.units import count, milliseconds, per_second, percent

UNKNOWN = "range unknown: too few figures of a pool size"


def range_text(answer: Recommendation) -> str:
    """Return the 95 % range of an answer, such as "95 % range 2 to 3"; empty where none was estimated."""
    if any(isinstance(finding, MeansOnly) for finding in answer.findings):
        return UNKNOWN
    return _range(answer.range, answer.range_open)


def plateau_range_text(analysis: Analysis) -> str:
    """Return the 95 % range of the plateau's start; empty without a fitted curve, such as at a fixed rate."""
    if analysis.plateau is None:
        return ""
    if analysis.setting.means_only:
        return UNKNOWN
    _, findings = verdict_on_size(analysis, analysis.plateau.pool_size)
    return _range(*known_range(analysis, findings))


def _range(sizes: tuple[int, int] | None, open_end: OpenEnd | None) -> str:
    if sizes is None:
        return ""
    low, high = sizes
    if open_end:
        return f"95 % range {f'{low} or more' if open_end == 'high' else f'{high} or less'}"
    return f"95 % range: only {low}" if low == high else f"95 % range {low} to {high}"


ADDED_MS = (5, 20)
"""Times of an application's own, whose pool sizes are in the short answer."""
LIMITED = {
    BottleneckName.GENERATOR: "the sweep's load generator, not the database.",
    BottleneckName.SHARED_CPU: "the CPU that the load generator and the server share on the sweep's machine.",
}
"""Bottleneck of a run whose load generator was saturated -> its words; the caution has the figures."""


def run_in_short(answer: Recommendation, commands: Sequence[str], *, at_rate: bool = False) -> str:
    """Return the answer of a run in at most 12 lines.

    commands: to type next. at_rate: whether an arrival rate was asked for, at which the answer has the total times.
    """
    first = [paragraph(brief(finding)) for finding in answer.findings if finding.leads]
    others = [finding for finding in answer.findings if not finding.leads]
    if answer.pool_size is None:
        refusals = [sentence(each) for each in others if each.severity is Severity.REFUSAL]
        why = [("Why" if not place else "", text) for place, text in enumerate(refusals)]
        return "\n".join([*first, short_answer(headline(answer), why, commands)])
    texts = [*labelled(answer, at_rate=at_rate), main_caution(others)]
    return "\n".join([*first, short_answer(headline(answer), texts, commands)])


def in_fleet(answer: Recommendation) -> str:
    """Return the sentence that says what the database can use, above the pools of a fleet."""
    if answer.pool_size is None or answer.connections is None or answer.measured_in is not None:
        return ""
    can_use = f"can use {count(answer.connections, 'connection')} at once"
    if answer.basis == "formula":
        return f"{can_use}, by the formula: a starting point."
    interval = f" ({range_text(answer)})" if answer.range else ""
    return f"{can_use}, by the run{interval}."


def labelled(answer: Recommendation, *, at_rate: bool = False) -> Iterator[Labelled]:
    """Yield why the pool size is the answer, what limits throughput, and for which clients it is.

    The clients are left out where the answer is in doubt, and where an option asked for something else.
    at_rate: as in run_in_short.
    """
    of_options = (LimitKept, LimitDecides, CurrentSize, CurrentNotMeasured)
    is_plain = not (answer.in_doubt or at_rate or any(isinstance(each, of_options) for each in answer.findings))
    reached = "".join(_reached(answer))
    yield "Why", f"{reached}{_beyond(answer)}" if reached else ""
    for finding in answer.findings:
        match finding:
            case LimitKept() | LimitDecides():
                yield "Latency", sentence(finding)
            case LimitedBy() if answer.verdict == "generator-limited":
                yield "Limit", LIMITED.get(finding.name, f"{finding.name}.")
            case LimitedBy():
                yield "Limit", bottleneck_text(finding.name, finding.values)
            case DatabaseSize() if is_plain and answer.application_sizes:
                yield "For", _clients(answer, finding)
            case ModelledTimes() | MeasuredTimes() | NoTotalTimes() if at_rate:
                yield "Latency", _at_rate(answer) or sentence(finding)
            case CurrentSize() | CurrentNotMeasured() | CurrentNotTheLimit():
                yield "Today", leading(sentence(finding))


def _at_rate(answer: Recommendation) -> str:
    """Return the total times of the answer at the arrival rate; "" where they are not known."""
    for price in answer.prices:
        if price.pool_size == answer.pool_size and price.at_rate and price.at_rate.total_ms:
            total, how = price.at_rate.total_ms, "measured" if price.at_rate.measured else "computed"
            times = f"p95 {milliseconds(total.p95)}, p99.9 {milliseconds(total.p99_9)}"
            return f"total time at {per_second(price.at_rate.rate)}: {times} ({how})."
    return ""


def _reached(answer: Recommendation) -> Iterator[str]:
    """Yield the throughput of the answer, beside capacity."""
    for finding in answer.findings:
        match finding:
            case OnPlateau() if finding.pool_size == answer.pool_size:
                yield _of_plateau(finding)
            case OnPlateau() if answer.throughput is not None:
                share = answer.throughput / finding.capacity
                yield f"{per_second(answer.throughput)}, {100 * min(share, 1):.0f} % of capacity."
            case ApplicationPool():
                share = finding.throughput / finding.capacity
                yield f"{per_second(finding.throughput)}, {100 * share:.0f} % of capacity, computed from the run."
            case LoadGeneratorSize():
                yield f" {_of_generator(finding)}"
            case CarriesRate():
                yield sentence(finding)


def _of_plateau(finding: OnPlateau) -> str:
    """Return the throughput as a share of capacity: the measured, or the fitted curve's where that decides."""
    highest, measured = highest_text(finding.highest, finding.users), per_second(finding.throughput)
    between = ""
    if finding.measured_below is not None:
        between = f"between those at {finding.measured_below:,} and {finding.measured_above:,}"
    if not curve_decides(finding):
        measured += between and f" ({between})"
        return f"{measured}, {100 * finding.throughput / finding.capacity:.0f} % of {highest}."
    share = finding.fitted / finding.capacity
    fitted = f"{per_second(finding.fitted)} on the fitted curve, {100 * share:.0f} % of {highest}"
    return f"{fitted} ({between or 'measured'}: {measured}). The curve decides the size."


def _of_generator(finding: LoadGeneratorSize) -> str:
    """Return the load generator's own pool size, and why it differs from that of an application with its usage time."""
    needs = f"With its {milliseconds(finding.usage_time_ms)}, the load generator needs {finding.pool_size:,}"
    why = (
        "its CPU was saturated"
        if finding.saturated
        else f"with {percent(finding.probability)} probability, not {percent(CERTAINTY)}"
    )
    return f"{needs} ({why})."


def _beyond(answer: Recommendation) -> str:
    """Return what the largest measured pool does, where more connections only queue."""
    for finding in answer.findings:
        if isinstance(finding, QueueInDatabase):
            usage_ms, at_largest_ms = milliseconds(finding.answer_usage_ms), milliseconds(finding.usage_ms)
            reached = f"With {count(finding.largest, 'connection')}: {per_second(finding.throughput)} (measured)"
            return f" {reached}, and a usage time of {at_largest_ms} instead of {usage_ms}."
    return ""


def _clients(answer: Recommendation, finding: DatabaseSize) -> str:
    """Return for which usage time the pool size is, and the sizes of applications with a longer time."""
    sizes = [size for size in answer.application_sizes if size.added_ms in ADDED_MS]
    own = f"the load generator (usage time {milliseconds(finding.database_ms + finding.client_ms)})."
    if not sizes:
        return own
    first, *further = sizes
    needs = [f"with {milliseconds(first.usage_time_ms)} need {count(first.pool_size, 'connection')}"]
    needs += [f"with {milliseconds(size.usage_time_ms)} {size.pool_size:,}" for size in further]
    return f"{own} Applications {', '.join(needs)} ({percent(CERTAINTY)} probability). Yours: --usage-time."
