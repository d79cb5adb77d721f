"""The short answer of a run."""

from collections.abc import Iterator, Sequence

from poolsize.answer.application import ApplicationPool, DatabaseSize
from poolsize.answer.finding import Severity
from poolsize.answer.latency_limit import LimitDecides, LimitKept
from poolsize.answer.price import CurrentNotMeasured, CurrentNotTheLimit, CurrentSize
from poolsize.answer.reasons import CarriesRate, LimitedBy, OnPlateau, QueueInDatabase
from poolsize.answer.recommendation import Recommendation
from poolsize.present.text.layout import paragraph
from poolsize.present.text.ranges import range_text
from poolsize.present.text.recommendation import headline
from poolsize.present.text.sentences.bottlenecks import bottleneck_text
from poolsize.present.text.sentences.findings import sentence
from poolsize.present.text.sentences.reasons import highest_text
from poolsize.present.text.short import Labelled, brief, caution, leading, short_answer
from poolsize.units import count, milliseconds, per_second

ADDED_MS = (5, 20)
"""Times of an application's own, whose pool sizes are in the short answer."""
ALIKE = 0.02
"""Throughputs that differ by a smaller share are not told apart."""


def run_in_short(answer: Recommendation, commands: Sequence[str]) -> str:
    """Return the answer of a run in at most 12 lines. commands: to type next."""
    first = [paragraph(brief(finding)) for finding in answer.findings if finding.leads]
    others = [finding for finding in answer.findings if not finding.leads]
    if answer.pool_size is None:
        refusals = [sentence(each) for each in others if each.severity is Severity.REFUSAL]
        why = [("Why" if not place else "", text) for place, text in enumerate(refusals)]
        return "\n".join([*first, short_answer(headline(answer), why, commands)])
    return "\n".join([*first, short_answer(headline(answer), [*labelled(answer), caution(others)], commands)])


def in_fleet(answer: Recommendation) -> str:
    """Return the sentence that says what the database can use, above the pools of a fleet."""
    if answer.basis == "formula":
        return f"can use {answer.connections:,} connections at once, by the formula."
    interval = f" ({range_text(answer)})" if answer.range else ""
    return f"can use {answer.connections:,} connections at once, by the run{interval}."


def labelled(answer: Recommendation) -> Iterator[Labelled]:
    """Yield why the pool size is the answer, what limits throughput, and for which clients it is.

    The last is for an answer that is not in doubt, and that nothing else was asked of.
    """
    asked = (LimitKept, LimitDecides, CurrentSize, CurrentNotMeasured)
    alone = not answer.in_doubt and not any(isinstance(each, asked) for each in answer.findings)
    reached = "".join(_reached(answer))
    yield "Why", f"{reached}{_beyond(answer)}" if reached else ""
    for finding in answer.findings:
        match finding:
            case LimitKept() | LimitDecides():
                yield "Latency", sentence(finding)
            case LimitedBy():
                yield "Limit", bottleneck_text(finding.name, finding.values)
            case DatabaseSize() if alone and answer.application_sizes:
                yield "For", _clients(answer, finding)
            case CurrentSize() | CurrentNotMeasured() | CurrentNotTheLimit():
                yield "Today", leading(sentence(finding))


def _reached(answer: Recommendation) -> Iterator[str]:
    """Yield the throughput of the answer, beside capacity."""
    for finding in answer.findings:
        match finding:
            case OnPlateau():
                yield _of_plateau(finding)
            case ApplicationPool():
                share = finding.throughput / finding.capacity
                network = "by the closed network fitted to the run"
                yield f"{per_second(finding.throughput)}, {100 * share:.0f} % of capacity, {network}."
            case CarriesRate():
                yield sentence(finding)


def _of_plateau(finding: OnPlateau) -> str:
    """Return the measured throughput; with the fitted curve's where they differ."""
    highest = highest_text(finding.highest, finding.users)
    share, of_measured = finding.fitted / finding.capacity, finding.throughput / finding.capacity
    measured = f"{per_second(finding.throughput)}, {100 * of_measured:.0f} %"
    if abs(finding.throughput / finding.fitted - 1) < ALIKE:
        return f"{measured} of {highest}." if of_measured <= 1 else f"{per_second(finding.throughput)}, {highest}."
    was = "measured" if finding.measured_below is None else "between its measured neighbours"
    return f"{100 * share:.0f} % of {highest} by the fitted curve ({per_second(finding.fitted)}; {was}: {measured})."


def _beyond(answer: Recommendation) -> str:
    """Return what the largest measured pool does, where more connections only queue."""
    for finding in answer.findings:
        if isinstance(finding, QueueInDatabase):
            usage_ms, at_largest_ms = milliseconds(finding.answer_usage_ms), milliseconds(finding.usage_ms)
            reached = f"{count(finding.largest, 'connection')} reach {per_second(finding.throughput)}"
            return f" {reached}, with a usage time of {at_largest_ms} in place of {usage_ms}."
    return ""


def _clients(answer: Recommendation, finding: DatabaseSize) -> str:
    """Return for which clients the pool size is, and the sizes of applications that add more time."""
    if answer.application:
        return ""
    sizes = {size.added_ms: size.pool_size for size in answer.application_sizes}
    others = ", ".join(f"{added} ms: {sizes[added]:,}" for added in ADDED_MS if added in sizes)
    own = f"clients that add {milliseconds(finding.client_ms)} to a transaction, as the load generator does"
    return f"{own}. If yours add {others} (--usage-time)."
