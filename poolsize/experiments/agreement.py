"""Whether the runs of a scenario agree with its source, claim by claim, as records, text and JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import hypot, isinf, log
from typing import TypedDict

from poolsize.analysis.analysis import Analysis
from poolsize.analysis.observation import Observation
from poolsize.analysis.plateau import TOLERANCE
from poolsize.analysis.speed import UsualSpeed
from poolsize.analysis.stats.confidence import Interval
from poolsize.analysis.stats.paired_differences import Pair, paired
from poolsize.analysis.stats.percentiles import total_percentiles
from poolsize.answer.from_run import recommend
from poolsize.answer.reasons import LimitedBy, TwoUsageTimes
from poolsize.answer.warnings import CheckFailed, NotDurable, SpeedCorrected, WithThreadPool
from poolsize.experiments.scenario import ALL_KINDS, Claim, Direction, Scenario, Side
from poolsize.present.text.layout import UNKNOWN, Table, bullets, paragraph
from poolsize.present.text.sentences.findings import sentence
from poolsize.present.text.short_of_run import range_text
from poolsize.runs.check import Check
from poolsize.runs.run import Step
from poolsize.units import count, milliseconds, number, per_second, percent

P95_ERROR = 0.1
"""Usual standard error of the logarithm of a p95 of a step; the scatter of the repeats counts beside it."""
EXPLAINING = (LimitedBy, TwoUsageTimes, CheckFailed, SpeedCorrected, WithThreadPool, NotDurable)
"""Findings that explain why this machine agrees with a claim, or does not."""
Column = tuple[str, dict[int, str]]
"""The title of a column, and pool size -> its cell."""


@dataclass(frozen=True)
class Confirmation:
    """The measured and the published ratio of a claim: its second throughput or latency divided by its first.

    measured: with its 95 % interval; None where a size has no valid figures. published: name of the curve -> its
    ratio; empty where the source gives no figures.
    """

    claim: Claim
    measured: Interval | None
    published: Mapping[str, float]

    @property
    def direction(self) -> Direction:
        """How the measured throughput or latency changes."""
        return Direction.UNCLEAR if self.measured is None else _direction(self.measured)

    @property
    def agrees(self) -> bool | None:
        """Whether throughput or latency changes as the source says, or as in any of the published curves.

        None where the measurement is unclear.
        """
        if self.direction is Direction.UNCLEAR:
            return None
        if self.claim.expects is not None:
            return self.direction is self.claim.expects
        return self.direction in {_direction(Interval(ratio, ratio, ratio)) for ratio in self.published.values()}


def _direction(ratio: Interval) -> Direction:
    """Return the direction of a ratio: a change is larger than TOLERANCE, and its interval excludes 1."""
    if abs(ratio.mean - 1) <= TOLERANCE:
        return Direction.SAME if ratio.low > 1 - 2 * TOLERANCE and ratio.high < 1 + 2 * TOLERANCE else Direction.UNCLEAR
    if ratio.low <= 1 <= ratio.high:
        return Direction.UNCLEAR
    return Direction.RISES if ratio.mean > 1 else Direction.FALLS


@dataclass(frozen=True)
class Agreement:
    """A scenario's runs beside the source. analyses: of each sweep. verdicts: of each claim, in order."""

    scenario: Scenario
    analyses: tuple[Analysis, ...]
    verdicts: tuple[Confirmation, ...]


def agreement(scenario: Scenario, analyses: Sequence[Analysis]) -> Agreement:
    """Return how the runs of a scenario agree with its source. analyses: of the first sweep, then of the other.

    The sides of the scenario get the servers' names and versions, where these differ.
    """
    by_side = dict(zip(Side, analyses, strict=False))
    usual = UsualSpeed.of(*(analysis.run for analysis in analyses)) if len(analyses) > 1 else None
    verdicts = tuple(
        Confirmation(claim, _ratio(claim, by_side, usual), _published(scenario, claim)) for claim in scenario.claims
    )
    servers = tuple(analysis.setting.subject for analysis in analyses)
    if scenario.sides and len({*servers}) == len(scenario.sides):
        scenario = replace(scenario, sides=servers)
    return Agreement(scenario, tuple(analyses), verdicts)


def _ratio(claim: Claim, by_side: Mapping[Side, Analysis], usual: UsualSpeed | None) -> Interval | None:
    """Return the ratio with its interval, the usual noise between steps included; None where figures are missing.

    usual: speed of the machine over both runs of a comparison.
    """
    first, second = (by_side[side] for side in claim.sides)
    before, after = _steps(first, claim.sizes[0]), _steps(second, claim.sizes[1])
    pairs: list[Pair] = []
    if claim.p95_of is not None:
        logs = zip(_log_p95s(first, before, claim.p95_of), _log_p95s(second, after, claim.p95_of), strict=False)
        pairs = [Pair(claim.sizes[1], later - earlier, hypot(P95_ERROR, P95_ERROR)) for earlier, later in logs]
    elif before and after:
        means = [
            Observation.mean([Observation.of(step, usual.correction(step) if usual else None) for step in steps])
            for steps in (before, after)
        ]
        error = hypot(*(mean.standard_error / mean.throughput for mean in means))
        pairs = [Pair(claim.sizes[1], log(means[1].throughput / means[0].throughput), error)]
    if not pairs:
        return None
    ratio, _ = paired(pairs)
    return Interval(1 + ratio.mean, 1 + ratio.low, 1 + ratio.high)


def _steps(analysis: Analysis, pool_size: int) -> Sequence[Step]:
    """Return the steps of a size; none where it was not measured, or by steps that failed a check.

    Users that can't fill a pool are part of the experiments.
    """
    size = next((size for size in analysis.sizes if size.pool_size == pool_size and size.throughput.mean > 0), None)
    if size is None or any(
        result.check.disqualifies and result.check is not Check.USERS_LIMITED for result in size.failed_checks
    ):
        return ()
    return analysis.by_size.steps[pool_size]


def _log_p95s(analysis: Analysis, steps: Sequence[Step], kind: str) -> list[float]:
    """Return the logarithm of the p95 total time of a kind of transaction, in each step with such a transaction."""
    of_kind = [
        (step.latencies, sum(step.counted))
        if kind == ALL_KINDS
        else (step.kinds[kind].latencies, step.kinds[kind].transactions)
        for step in steps
    ]
    return [
        log(total_percentiles([latencies], analysis.run.timeout_ms).p95)
        for latencies, transactions in of_kind
        if latencies and transactions
    ]


def _published(scenario: Scenario, claim: Claim) -> dict[str, float]:
    if claim.expects is not None:
        return {}
    by_sizes = {curve.name: curve.recording.by_size for curve in scenario.curves_of(claim)}
    before, after = claim.sizes
    return {
        name: by_size[after].throughput[0] / by_size[before].throughput[0]
        for name, by_size in by_sizes.items()
        if by_size.keys() >= {before, after}
    }


class ClaimValues(TypedDict):
    """A claim of the source, and what was measured.

    sides: of the sweeps that are compared. p95_of: the kind whose p95 total times are compared, "all transactions", or
    null for throughput. measured: the ratio; null without valid figures. published: curve -> ratio. agrees: null where
    the measurement is unclear.
    """

    text: str
    sizes: tuple[int, int]
    sides: tuple[Side, Side]
    p95_of: str | None
    measured: Interval | None
    published: Mapping[str, float]
    direction: Direction
    agrees: bool | None


class AgreementValues(TypedDict):
    """A scenario's runs beside its source."""

    scenario: str
    question: str
    source: str
    claims: list[ClaimValues]


def agreement_values(agreement: Agreement) -> AgreementValues:
    """Return whether the runs agree with the source, as data for JSON."""
    scenario = agreement.scenario
    return {
        "scenario": scenario.name,
        "question": scenario.question,
        "source": scenario.source,
        "claims": [
            {
                "text": verdict.claim.text,
                "sizes": verdict.claim.sizes,
                "sides": verdict.claim.sides,
                "p95_of": verdict.claim.p95_of,
                "measured": verdict.measured,
                "published": verdict.published,
                "direction": verdict.direction,
                "agrees": verdict.agrees,
            }
            for verdict in agreement.verdicts
        ],
    }


def agreement_text(agreement: Agreement) -> str:
    """Return the question, a table beside the published curves, each claim with the measurement, and the evidence."""
    scenario = agreement.scenario
    parts = [
        paragraph(f"{scenario.question} Source: {scenario.source}."),
        _table(agreement).as_text(),
        bullets(_verdict_sentence(verdict, scenario) for verdict in agreement.verdicts),
    ]
    for analysis, side in zip(agreement.analyses, scenario.sides or ("",), strict=True):
        if evidence := _evidence(analysis):
            parts.append(f"Evidence{side and f', {side}'}:\n{bullets(evidence)}")
    return "\n\n".join(filter(None, parts))


def _table(agreement: Agreement) -> Table:
    """Return throughput, latencies and counters of each sweep by pool size, and each curve's share of its best.

    Of one sweep, the published pool sizes are in the table as well.
    """
    scenario, alone = agreement.scenario, len(agreement.analyses) == 1
    sides = list(zip(scenario.sides or ("throughput",), agreement.analyses, strict=True))
    columns = [
        (side, {size.pool_size: per_second(size.throughput.mean) for size in analysis.sizes})
        for side, analysis in sides
    ]
    if alone:
        sizes_alone = agreement.analyses[0].sizes
        shares = _shares({size.pool_size: size.throughput.mean for size in sizes_alone})
        waits = {size.pool_size: milliseconds(size.wait.p95) for size in sizes_alone}
        columns += [(f"{agreement.analyses[0].setting.subject}, of best", shares), ("wait p95", waits)]
    else:
        columns += _latencies(scenario, sides)
    for name, title in scenario.counters.items():
        for side, analysis in sides:
            means = {size.pool_size: analysis.by_size.counter(name, size.pool_size) for size in analysis.sizes}
            cells = {size: _quantity(name, mean) for size, mean in means.items() if mean is not None}
            columns.append((title if alone else f"{title}, {side}", cells))
    sizes = {size.pool_size for analysis in agreement.analyses for size in analysis.sizes}
    for curve in scenario.curves_of():
        by_size = {size: seconds.throughput[0] for size, seconds in curve.recording.by_size.items()}
        columns.append((f"{curve.server}, of best", _shares(by_size)))
        sizes |= by_size.keys() if alone else set()
    rows = [(f"{size:,}", *(cells.get(size, UNKNOWN) for _, cells in columns)) for size in sorted(sizes)]
    table = Table(("pool", *(title for title, _ in columns)), rows)
    return table if alone else table.without_unknown()


def _latencies(scenario: Scenario, sides: Sequence[tuple[str, Analysis]]) -> list[Column]:
    kinds = [ALL_KINDS] if any(claim.p95_of == ALL_KINDS for claim in scenario.claims) else []
    kinds += dict.fromkeys(kind for _, analysis in sides for kind in analysis.sizes[0].kinds)
    columns = []
    for kind in kinds:
        for side, analysis in sides:
            of_kind = [(size.pool_size, size if kind == ALL_KINDS else size.kinds[kind]) for size in analysis.sizes]
            p95s = {pool_size: milliseconds(each.total.p95) for pool_size, each in of_kind}
            columns.append((f"p95 of {kind}, {side}", p95s))
    return columns


def _shares(throughputs: Mapping[int, float]) -> dict[int, str]:
    """Return pool size -> its throughput as a share of the best; empty where there is none."""
    best = max(throughputs.values())
    return {size: percent(throughput / best) for size, throughput in throughputs.items() if best}


def _quantity(counter: str, mean: float) -> str:
    return f"{number(mean / 1e6)} MB" if counter.endswith("_bytes") else number(mean)


def _verdict_sentence(verdict: Confirmation, scenario: Scenario) -> str:
    claim, ratio = verdict.claim, verdict.measured
    if ratio is None:
        return f"{claim.text} There are no valid figures of both here."
    interval = f"95 % interval {number(ratio.low)} to {number(ratio.high)}"
    if isinf(ratio.high):
        interval = "measured too briefly for an interval"
    here = f"Here: {number(ratio.mean)} ({interval})."
    servers = {curve.name: curve.server for curve in scenario.curves_of(claim)}
    published = ", ".join(f"{number(value)} ({servers[name]})" for name, value in verdict.published.items())
    what = _compared(claim, scenario)
    ratios = f"Published ratio of throughput, {what}: {published}." if published else f"Ratio, {what}."
    if verdict.agrees is None:
        return f"{claim.text} {ratios} {here} The measurement is too uncertain to agree or disagree."
    word = "agrees" if verdict.agrees else "disagrees"
    quantity = f"p95 of {claim.p95_of}" if claim.p95_of else "throughput"
    change = "stays the same" if verdict.direction is Direction.SAME else verdict.direction
    return f"{claim.text} {ratios} {here} The direction {word}: {quantity} {change}."


def _compared(claim: Claim, scenario: Scenario) -> str:
    names = dict(zip(Side, scenario.sides, strict=False))
    (first_size, second_size), (first, second) = claim.sizes, claim.sides
    if first is not second:
        return f"{names[second]} to {names[first]} at {count(second_size, 'connection')}"
    return ", ".join([f"{second_size} to {count(first_size, 'connection')}", *([names[first]] if names else [])])


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
