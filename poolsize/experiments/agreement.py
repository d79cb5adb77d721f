"""Whether a scenario's runs agree with its source: two throughputs or two latencies, claim by claim."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import hypot, log

from poolsize.analysis.analysis import Analysis
from poolsize.analysis.observation import Observation
from poolsize.analysis.speed import UsualSpeed
from poolsize.analysis.stats.confidence import Interval
from poolsize.analysis.stats.paired_differences import Pair, paired
from poolsize.analysis.stats.percentiles import total_percentiles
from poolsize.experiments.scenario import ALL_KINDS, Claim, Direction, Scenario, Side
from poolsize.runs.check import Check
from poolsize.runs.run import Latencies, Step

EQUAL = 0.05
"""Ratios within this share of 1 are not a change: poolsize's tolerance of a plateau."""
P95_ERROR = 0.1
"""Usual standard error of the logarithm of a p95 of a step; the scatter of the repeats counts beside it."""


@dataclass(frozen=True)
class Verdict:
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


@dataclass(frozen=True)
class Agreement:
    """A scenario's runs beside the source. analyses: of each sweep. verdicts: of each claim, in order."""

    scenario: Scenario
    analyses: tuple[Analysis, ...]
    verdicts: tuple[Verdict, ...]


def agreement(scenario: Scenario, analyses: Sequence[Analysis]) -> Agreement:
    """Return how the runs of a scenario agree with its source. analyses: of the first sweep, then of the other."""
    by_side = dict(zip(Side, analyses, strict=False))
    usual = UsualSpeed.of(*(analysis.run for analysis in analyses)) if len(analyses) > 1 else None
    verdicts = tuple(
        Verdict(claim, _ratio(by_side, claim, usual), _published(scenario, claim)) for claim in scenario.claims
    )
    return Agreement(_naming_servers(scenario, analyses), tuple(analyses), verdicts)


def _naming_servers(scenario: Scenario, analyses: Sequence[Analysis]) -> Scenario:
    """Return the scenario with the servers' names and versions for its sides, where these differ."""
    servers = tuple(analysis.run.setting.subject for analysis in analyses)
    return replace(scenario, sides=servers) if scenario.sides and len({*servers}) == len(scenario.sides) else scenario


def _ratio(by_side: Mapping[Side, Analysis], claim: Claim, usual: UsualSpeed | None) -> Interval | None:
    """Return the ratio with its interval, the usual noise between steps included; None where figures are missing.

    usual: speed of the machine over both runs of a comparison.
    """
    if claim.p95_of is not None:
        return _p95_ratio(by_side, claim, claim.p95_of)
    before, after = (_observed(by_side[side], size, usual) for side, size in zip(claim.sides, claim.sizes, strict=True))
    if before is None or after is None:
        return None
    error = hypot(*(size.standard_error / size.throughput for size in (before, after)))
    return _interval([Pair(after.pool_size, log(after.throughput / before.throughput), error)])


def _p95_ratio(by_side: Mapping[Side, Analysis], claim: Claim, kind: str) -> Interval | None:
    """Return the ratio of the p95 total times of a kind, repeat by repeat; None where figures are missing."""
    before, after = (
        [
            log(total_percentiles([latencies], by_side[side].run.timeout_ms).p95)
            for step in _steps(by_side[side], size)
            if (latencies := _latencies(step, kind))
        ]
        for side, size in zip(claim.sides, claim.sizes, strict=True)
    )
    pairs = [
        Pair(claim.sizes[1], second - first, hypot(P95_ERROR, P95_ERROR))
        for first, second in zip(before, after, strict=False)
    ]
    return _interval(pairs) if pairs else None


def _latencies(step: Step, kind: str) -> Latencies | None:
    """Return the latencies of a kind of transaction, or of all kinds; None without a transaction."""
    if kind == ALL_KINDS:
        return step.latencies if sum(step.counted) else None
    return step.kinds[kind].latencies if step.kinds[kind].transactions else None


def _interval(pairs: Sequence[Pair]) -> Interval:
    ratio, _ = paired(pairs)
    return Interval(1 + ratio.mean, 1 + ratio.low, 1 + ratio.high)


def _observed(analysis: Analysis, pool_size: int, usual: UsualSpeed | None) -> Observation | None:
    """Return the throughput at a size; None where it has no valid figures."""
    steps = _steps(analysis, pool_size)
    if not steps:
        return None
    return Observation.mean([Observation.of(step, usual.correction(step) if usual else None) for step in steps])


def _steps(analysis: Analysis, pool_size: int) -> Sequence[Step]:
    """Return the steps of a size; none where it was not measured, or by steps that failed a check.

    Users that can't fill a pool are part of the experiments.
    """
    summaries = {size.pool_size: size for size in analysis.sizes}
    summary = summaries.get(pool_size)
    if summary is None or summary.throughput.mean <= 0:
        return ()
    if any(result.check.disqualifies and result.check is not Check.USERS_LIMITED for result in summary.failed_checks):
        return ()
    return analysis.by_size.steps[pool_size]


def _published(scenario: Scenario, claim: Claim) -> dict[str, float]:
    """Return name of a published curve with both sizes -> the ratio of its throughputs."""
    ratios = {}
    for curve in scenario.curves_of(claim):
        by_size = curve.recording.by_size
        if claim.expects is None and all(size in by_size for size in claim.sizes):
            before, after = (by_size[size].throughput[0] for size in claim.sizes)
            ratios[curve.name] = after / before
    return ratios


def _direction(ratio: Interval) -> Direction:
    """Return the direction of a ratio: a change is larger than EQUAL, and its interval excludes 1."""
    if abs(ratio.mean - 1) <= EQUAL:
        return Direction.SAME if ratio.low > 1 - 2 * EQUAL and ratio.high < 1 + 2 * EQUAL else Direction.UNCLEAR
    if ratio.low <= 1 <= ratio.high:
        return Direction.UNCLEAR
    return Direction.RISES if ratio.mean > 1 else Direction.FALLS
