"""Scenarios, and a scenario's run beside the published figures, as text for a terminal."""

from collections.abc import Sequence
from math import isinf
from statistics import fmean

from poolsize.analysis.analysis import Analysis
from poolsize.analysis.size_summary import SizeSummary
from poolsize.answer.reasons import BimodalUsage, LimitedBy
from poolsize.answer.recommendation import recommend
from poolsize.answer.warnings import CheckFailed, NotDurable, SpeedCorrected, WithThreadPool
from poolsize.experiments.agreement import Agreement, Verdict
from poolsize.experiments.scenario import ALL_KINDS, Claim, Direction, Scenario, Side
from poolsize.present.text.layout import UNKNOWN, Table, bullets, paragraph
from poolsize.present.text.recommendation import range_text
from poolsize.present.text.sentences.findings import sentence
from poolsize.recordings.published import PublishedCurve
from poolsize.units import count, milliseconds, minutes, number, per_second, percent

SHOWS = {Direction.RISES: "rises", Direction.SAME: "stays the same", Direction.FALLS: "falls"}
EXPLAINING = (LimitedBy, BimodalUsage, CheckFailed, SpeedCorrected, WithThreadPool, NotDurable)
"""Findings that explain why this machine agrees with a claim, or does not."""


def scenarios_text(scenarios: Sequence[tuple[str, Scenario, int]]) -> str:
    """Return a list of scenarios. scenarios: name, scenario, and seconds of load with its defaults."""
    parts = [
        f"{name} (about {minutes(seconds)})\n" + bullets([scenario.question, f"Source: {scenario.source}."])
        for name, scenario, seconds in scenarios
    ]
    return "\n\n".join(parts)


def agreement_text(agreement: Agreement) -> str:
    """Return the question, a table beside the published curves, each claim with the measurement, and the evidence."""
    scenario = agreement.scenario
    parts = [
        paragraph(f"{scenario.question} Source: {scenario.source}."),
        (_table(agreement) if len(agreement.analyses) == 1 else _table_of_two(agreement)).as_text(),
        bullets(_verdict_sentence(verdict, agreement) for verdict in agreement.verdicts),
    ]
    for place, analysis in enumerate(agreement.analyses):
        if evidence := _evidence(analysis):
            server = f", {scenario.sides[place]}" if scenario.sides else ""
            parts.append(f"Evidence{server}:\n" + bullets(evidence))
    return "\n\n".join(part for part in parts if part)


def _evidence(analysis: Analysis) -> list[str]:
    """Return the pool size by this run, what limits the throughput, and what limits the comparison."""
    answer = recommend(analysis)
    sentences = [sentence(finding) for finding in answer.findings if isinstance(finding, EXPLAINING)]
    if answer.pool_size is not None and answer.range is not None:
        within = ", ".join(filter(None, (range_text(answer), f"verdict `{answer.verdict}`")))
        sentences.insert(0, f"Pool size by this run: {count(answer.pool_size, 'connection')} ({within}).")
    users = analysis.setting.plan.users
    unfilled = [size.pool_size for size in analysis.sizes if size.pool_size >= users]
    if unfilled:
        sentences.append(
            f"With {min(unfilled)} connections and more, no user waits for a connection: {count(users, 'user')} use at "
            f"most {count(users, 'connection')}."
        )
    return sentences


def _table(agreement: Agreement) -> Table:
    """Return throughput by pool size, and each curve's share of its own best throughput."""
    (analysis,), curves = agreement.analyses, agreement.scenario.curves
    measured = {size.pool_size: size for size in analysis.sizes}
    best = max(size.throughput.mean for size in measured.values())
    rows = [
        (
            f"{size:,}",
            per_second(measured[size].throughput.mean) if size in measured else UNKNOWN,
            percent(measured[size].throughput.mean / best) if size in measured and best else UNKNOWN,
            milliseconds(measured[size].wait.p95) if size in measured else UNKNOWN,
            *_counters(agreement, size),
            *(_share(curve, size) for curve in curves),
        )
        for size in sorted({*measured, *(size for curve in curves for size in curve.recording.sizes)})
    ]
    server = analysis.setting.server
    here = f"{server.title if server else 'here'}, of best"
    shares = tuple(f"{curve.server}, of best" for curve in curves)
    return Table(("pool", "throughput", here, "wait p95", *agreement.scenario.counters.values(), *shares), tuple(rows))


def _table_of_two(agreement: Agreement) -> Table:
    """Return throughput, p95 and counters of both sweeps by pool size, and each curve's share of its best."""
    scenario = agreement.scenario
    measured = [{size.pool_size: size for size in analysis.sizes} for analysis in agreement.analyses]
    kinds = tuple(dict.fromkeys(kind for analysis in agreement.analyses for kind in analysis.sizes[0].kinds))
    if any(claim.p95_of == ALL_KINDS for claim in scenario.claims):
        kinds = (ALL_KINDS, *kinds)
    rows = [
        (
            f"{size:,}",
            *(per_second(sizes[size].throughput.mean) if size in sizes else UNKNOWN for sizes in measured),
            *(
                milliseconds(_p95_ms(sizes[size], kind)) if size in sizes else UNKNOWN
                for kind in kinds
                for sizes in measured
            ),
            *_counters(agreement, size),
            *(_share(curve, size) for curve in scenario.curves),
        )
        for size in sorted({size for sizes in measured for size in sizes})
    ]
    latencies = tuple(f"p95 of {kind}, {side}" for kind in kinds for side in scenario.sides)
    counters = tuple(f"{name}, {server}" for name in scenario.counters.values() for server in scenario.sides)
    shares = tuple(f"{curve.server}, of best" for curve in scenario.curves)
    return Table(("pool", *scenario.sides, *latencies, *counters, *shares), tuple(rows)).without_unknown()


def _p95_ms(size: SizeSummary, kind: str) -> float:
    """Return the p95 total time of a kind of transaction, or of all kinds."""
    return (size if kind == ALL_KINDS else size.kinds[kind]).total.p95


def _counters(agreement: Agreement, size: int) -> list[str]:
    """Return the mean of each of the scenario's counters at a size, sweep by sweep."""
    cells = []
    for name in agreement.scenario.counters:
        for analysis in agreement.analyses:
            means = [step.counter(name) for step in analysis.by_size.steps.get(size, ())]
            known = [mean for mean in means if mean is not None]
            cells.append(_quantity(name, fmean(known)) if known else UNKNOWN)
    return cells


def _quantity(counter: str, mean: float) -> str:
    return f"{number(mean / 1e6)} MB" if counter.endswith("_bytes") else number(mean)


def _share(curve: PublishedCurve, size: int) -> str:
    """Return a curve's throughput at a size as a share of its best."""
    by_size = curve.recording.by_size
    if size not in by_size:
        return UNKNOWN
    return percent(by_size[size].throughput[0] / max(seconds.throughput[0] for seconds in by_size.values()))


def _verdict_sentence(verdict: Verdict, agreement: Agreement) -> str:
    servers = {curve.name: curve.server for curve in agreement.scenario.curves_of(verdict.claim)}
    published = ", ".join(f"{number(ratio)} ({servers[name]})" for name, ratio in verdict.published.items())
    ratio, text, what = verdict.measured, verdict.claim.text, _compared(verdict.claim, agreement.scenario)
    if ratio is None:
        return f"{text} There are no valid figures of both here."
    interval = f"95 % interval {number(ratio.low)} to {number(ratio.high)}"
    if isinf(ratio.high):
        interval = "measured too briefly for an interval"
    here = f"Here: {number(ratio.mean)} ({interval})."
    quantity = f"p95 of {verdict.claim.p95_of}" if verdict.claim.p95_of else "throughput"
    here = f"Published ratio of throughput, {what}: {published}. {here}" if published else f"Ratio, {what}. {here}"
    if verdict.agrees is None:
        return f"{text} {here} The measurement is too uncertain to agree or disagree."
    word = "agrees" if verdict.agrees else "disagrees"
    return f"{text} {here} The direction {word}: {quantity} {SHOWS[verdict.direction]}."


def _compared(claim: Claim, scenario: Scenario) -> str:
    """Return what a ratio compares: the second of the claim to the first."""
    (first_size, second_size), (first, second) = claim.sizes, claim.sides
    if first is second:
        of_server = f", {scenario.sides[list(Side).index(first)]}" if scenario.sides else ""
        return f"{second_size} to {count(first_size, 'connection')}{of_server}"
    names = dict(zip(Side, scenario.sides, strict=True))
    return f"{names[second]} to {names[first]} at {count(second_size, 'connection')}"
