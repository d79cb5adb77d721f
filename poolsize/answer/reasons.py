"""The reasons of a measured answer."""

from collections.abc import Mapping, Sequence

from poolsize.analysis.analysis import Analysis
from poolsize.analysis.bottleneck import BottleneckName
from poolsize.analysis.plateau import Plateau
from poolsize.analysis.size_summary import SizeSummary
from poolsize.answer.application import database_finding
from poolsize.answer.finding import Finding, Reason
from poolsize.answer.verdict import Highest
from poolsize.runs.check import Check
from poolsize.runs.run import Value

QUEUES_INSIDE = 1.2
"""Transactions queue in the database if the usage time at the largest size is longer by more than this factor."""


class OnPlateau(Reason, code="plateau"):
    """The answer is the smallest size within the tolerance of the fitted curve's highest throughput, its capacity.

    highest: its meaning. throughput: measured at pool_size. fitted: the curve's there. best_size: where the curve is
    highest; None where unknown.
    best_measured: whether that size was measured. among_measured: whether only measured sizes could be the answer.
    measured_below, measured_above: the measured sizes around the answer; None for a measured answer. probability: that
    it is within the tolerance; None where the noise is unknown.
    """

    pool_size: int
    throughput: float
    fitted: float
    capacity: float
    highest: Highest
    users: int
    best_size: int | None
    best_measured: bool
    tolerance: float
    probability: float | None
    among_measured: bool
    measured_below: int | None
    measured_above: int | None


class CarriesRate(Reason, code="carries_rate"):
    """The smallest size that serves the arrival rate. smaller_sizes: that do not. is_answer: whether it is the answer.

    utilisation: share of time that its connections are busy; None where unknown.
    """

    pool_size: int
    rate: float
    utilisation: float | None
    smaller_sizes: Sequence[int]
    is_answer: bool


class WaitAndUsage(Reason, code="wait_and_usage"):
    """Mean wait and usage time at the answer. measured_size: the nearest measured size, which has these times.

    users: of the closed loop, whose number decides the wait time; None at a fixed rate. usage_error: half the 95 %
    interval of the usage time, as a share of it, where it follows from readings of an application's metrics.
    """

    pool_size: int
    measured_size: int
    wait_ms: float
    usage_ms: float
    users: int | None
    usage_error: float | None


class LimitedBy(Reason, code="bottleneck"):
    """What limits throughput, and the figures that show it."""

    name: BottleneckName
    values: Mapping[str, Value]


class Verified(Reason, code="verified"):
    """Times of the answer in an open loop, at a share of its own throughput. rate: that is, in transactions/s."""

    load: float
    rate: float
    wait_p95_ms: float
    total_p95_ms: float


class QueueInDatabase(Reason, code="queue_in_database"):
    """Transactions of the largest size have longer usage times than those of the answer.

    in_database: whether they queue in the database, not in the load generator or the application.
    """

    largest: int
    throughput: float
    usage_ms: float
    answer_throughput: float
    answer_usage_ms: float
    in_database: bool


class TwoUsageTimes(Reason, code="bimodal"):
    """Usage times are bimodal: share, mean and kinds of the short and long transactions, and a pool for each."""

    pool_size: int
    short_share: float
    short_usage_ms: float
    short_pool_size: int
    short_kinds: Sequence[str]
    long_share: float
    long_usage_ms: float
    long_pool_size: int
    long_kinds: Sequence[str]


class JobQueue(Reason, code="job_queue"):
    """A pool with a connection for each user was measured, as consumers of a job queue have. pool_size: the answer."""

    users: int
    pool_size: int


class FormulaCompared(Reason, code="formula"):
    """The formula's connections, for all pools together, which the measurement overrides or confirms.

    measured: the connections of the answer, for all pools together.
    """

    cores: int
    disks: int
    connections: int
    pools: int
    measured: int


def reasons(analysis: Analysis, size: int, formula_size: int, highest: Highest) -> tuple[Finding, ...]:
    """Return the reasons why the answer is a pool size, the most important first.

    size: the answer, a size of the plateau or within the latency limits. formula_size: the formula's connections.
    highest: the meaning of the fitted curve's highest throughput.
    """
    plateau, setting = analysis.plateau, analysis.setting
    assert plateau is not None
    nearest, closed_loop = analysis.by_size.nearest(size), setting.plan.rate is None
    bottleneck, users = analysis.bottleneck, setting.plan.users
    if highest is Highest.OF_FILLED or (bottleneck and bottleneck.name is BottleneckName.UNKNOWN):
        bottleneck = None
    own_pool = setting.recording is None and setting.application is None
    cores_known = setting.recording is None or setting.cores_from == "given"  # else they are this machine's
    filled = own_pool and any(measured.pool_size == users for measured in analysis.sizes)
    findings = [
        _plateau(analysis, plateau, highest) if closed_loop else _carries_rate(analysis, plateau, size),
        WaitAndUsage(
            size,
            nearest.pool_size,
            nearest.wait.mean,
            nearest.usage.mean,
            users if closed_loop else None,
            nearest.sampled_usage.error if nearest.sampled_usage else None,
        )
        if nearest.usage.mean > 0
        else None,
        LimitedBy(bottleneck.name, bottleneck.values) if bottleneck else None,
        *(
            Verified(step.load, step.rate, step.wait.p95, step.total.p95)
            for step in analysis.verified
            if step.pool_size == size and not step.failed_checks
        ),
        _queue_in_database(analysis, nearest) if closed_loop else None,  # arrivals below capacity need no queue
        None if setting.application else database_finding(analysis, size),
        _bimodal(analysis, size),
        JobQueue(users, plateau.pool_size) if filled else None,
        FormulaCompared(setting.cores, setting.disks, formula_size, setting.pools, setting.connections(size))
        if cores_known
        else None,
    ]
    return tuple(finding for finding in findings if finding)


def _plateau(analysis: Analysis, plateau: Plateau, highest: Highest) -> Finding:
    measured = analysis.by_size.is_measured(plateau.pool_size)
    below, above = (None, None) if measured else analysis.by_size.around(plateau.pool_size)
    return OnPlateau(
        pool_size=plateau.pool_size,
        throughput=analysis.throughput_at(plateau.pool_size),
        fitted=analysis.fitted_at(plateau.pool_size),
        capacity=plateau.capacity,
        highest=highest,
        users=analysis.setting.plan.users,
        best_size=analysis.best_size,
        best_measured=analysis.best_size is not None and analysis.by_size.is_measured(analysis.best_size),
        tolerance=plateau.tolerance,
        probability=None if analysis.setting.means_only else plateau.certainty,
        among_measured=measured and analysis.setting.plan.search is None,
        measured_below=below,
        measured_above=above,
    )


def _carries_rate(analysis: Analysis, plateau: Plateau, size: int) -> Finding:
    failed = [size.pool_size for size in analysis.sizes if size.failed(Check.ARRIVALS)]
    smaller = [size for size in failed if size < plateau.pool_size]
    rate, utilisation = analysis.setting.plan.rate or 0.0, analysis.at(plateau.pool_size).utilisation
    return CarriesRate(plateau.pool_size, rate, utilisation, smaller, is_answer=size == plateau.pool_size)


def _queue_in_database(analysis: Analysis, nearest: SizeSummary) -> Finding | None:
    """Return the reason that usage times rise above those of the measured size that is nearest to the answer."""
    largest = analysis.valid_sizes[-1]
    if not largest.usage.mean > QUEUES_INSIDE * nearest.usage.mean > 0:
        return None
    outside = {BottleneckName.GENERATOR, BottleneckName.APPLICATION_CPU}
    if analysis.setting.application is not None:  # its own threads share the cores with the database
        outside.add(BottleneckName.SHARED_CPU)
    return QueueInDatabase(
        largest=largest.pool_size,
        throughput=largest.throughput.mean,
        usage_ms=largest.usage.mean,
        answer_throughput=nearest.throughput.mean,
        answer_usage_ms=nearest.usage.mean,
        in_database=analysis.bottleneck is None or analysis.bottleneck.name not in outside,
    )


def _bimodal(analysis: Analysis, size: int) -> Finding | None:
    pools = analysis.models.two_pools(size)
    if not pools:
        return None
    short, long = pools
    return TwoUsageTimes(
        pool_size=size,
        short_share=short.kind.share,
        short_usage_ms=short.kind.usage_ms,
        short_pool_size=short.pool_size,
        short_kinds=short.kind.kinds,
        long_share=long.kind.share,
        long_usage_ms=long.kind.usage_ms,
        long_pool_size=long.pool_size,
        long_kinds=long.kind.kinds,
    )
