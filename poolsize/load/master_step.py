"""One step as the master sees it: its seconds over all workers, its end (precise enough, or early), and its record."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from math import ceil, sqrt

from poolsize.analysis.rate_evidence import COUNTED, WARM_UP, RateEvidence, relaxation_seconds
from poolsize.analysis.stats.confidence import mean_interval
from poolsize.analysis.stats.percentiles import encoded, merged, percentiles, with_failures
from poolsize.analysis.stats.steady_state import drift, warm_up_seconds
from poolsize.errors import WorkFailed
from poolsize.load.messages import RECORDED, ReportedSecond, StepSecond, WorkerReport
from poolsize.load.recorder import by_kind
from poolsize.runs.plan import PlannedStep, SweepPlan
from poolsize.runs.run import LATENCIES, QUANTILES, Kind, Latencies, Step, Stopped, StopReason, Worker
from poolsize.server.connection import is_denied

FEWEST_FAILURES = 20
"""With fewer failed transactions a step goes on, whatever its error budget is."""
STALL_SECONDS = 5.0
"""A stall of the server may leave the arrivals of so many seconds as a backlog; a larger one is an overload."""
DEVIATIONS = 4
"""Chance may leave a backlog of so many standard deviations of the arrivals; a larger one is an overload."""
LARGEST_BACKLOG = 100_000
"""A backlog of so many transactions ends a step in any case."""
PAUSES = 5
"""Mean pauses so far, of which the short ones are over first: nearly 4 of all, when 1 exponential pause in 40 lasts."""
RISE = 0.05
"""Throughput rises where it is higher than before by more than this share."""
LOOKS = (1, 2, 4)
"""Counted lengths, in planned lengths of a step, at which a step with a precision or a rate may end.

A step that might end at any second would end when its interval happens to be too narrow.
"""


class StepSeconds:
    """Collects the seconds of a step as the workers report them.

    workers: the workers that are not lost. complete: the seconds that all of them have reported, in order.
    """

    def __init__(self, workers: Iterable[str]) -> None:
        self.workers = set(workers)
        self.complete: list[StepSecond] = []
        self._incomplete: list[dict[str, StepSecond]] = []
        """Worker -> its part of a second, in order of the seconds."""

    def add(self, worker: str, reported: ReportedSecond) -> None:
        """Add one worker's part of one second; a lost worker's is ignored."""
        if worker not in self.workers:
            return
        place = reported.index - len(self.complete)
        while len(self._incomplete) <= place:
            self._incomplete.append({})
        self._incomplete[place][worker] = reported.second
        self._move_complete()

    def lose(self, worker: str) -> None:
        """Wait no longer for the seconds of a lost worker."""
        self.workers.discard(worker)
        self._move_complete()

    def _move_complete(self) -> None:
        while self._incomplete and self.workers <= self._incomplete[0].keys():
            self.complete.append(StepSecond.sum_of(self._incomplete.pop(0).values()))


@dataclass(frozen=True)
class Ending:
    """The counted seconds of a step, from first (included) to last (excluded). stopped: why it ended early, or None."""

    first: int
    last: int
    stopped: Stopped | None


def ending(plan: SweepPlan, planned: PlannedStep, seconds: Sequence[StepSecond]) -> Ending | None:
    """Return the step's ending, or None while it must go on. seconds: complete ones so far, warm-up included."""
    last = len(seconds)
    if stopped := _early_end(plan, seconds, planned.rate):
        return ending_now(plan, last, stopped)
    start = _start_seconds(plan, planned, seconds)
    if last < start + plan.step_seconds:
        return None
    throughput = [second.transactions for second in seconds]
    first = warm_up_seconds(throughput, start)
    before = last - 1 - warm_up_seconds(throughput[:-1], _start_seconds(plan, planned, seconds[:-1]))
    enough = (
        last - first >= plan.step_seconds
        and not drift(throughput[first:])
        and _is_shown(plan, planned, seconds[first:], before)
    )
    longest = max(_longest_seconds(plan, planned), start + plan.step_seconds)
    return Ending(first, last, None) if enough or last >= longest else None


def ending_now(plan: SweepPlan, last: int, stopped: Stopped | None) -> Ending:
    """Return the ending of a step after `last` seconds, with the planned warm-up. stopped: reason of an early end."""
    return Ending(min(plan.warm_up_seconds, last), last, stopped)


def _longest_seconds(plan: SweepPlan, planned: PlannedStep) -> int:
    """Return the seconds beyond which the step is not extended: never fewer than the planned ones."""
    longest = plan.longest_seconds
    return longest if planned.most_seconds is None else min(longest, max(planned.most_seconds, plan.planned_seconds))


def _start_seconds(plan: SweepPlan, planned: PlannedStep, seconds: Sequence[StepSecond]) -> int:
    """Return the seconds until every user of a closed loop was served and has paused, at least the planned warm-up.

    In an open loop it lasts until the queue has forgotten its start, up to the same share of the longest step.

    All users ask for a connection when the step begins. Until the last of them is served, after users / throughput
    seconds, wait times are shorter than later, although throughput is steady. No user waits longer than the pool
    timeout, so that part of the start is at most that long. Before PAUSES mean pauses, the longest pauses are not over:
    those that are over are shorter on average, and Little's law does not hold.
    """
    if planned.rate is not None:
        relaxation = _relaxation_seconds(planned, planned.rate, seconds[plan.warm_up_seconds :])
        longest = _longest_seconds(plan, planned)
        most = min(longest * WARM_UP / (WARM_UP + COUNTED), longest - plan.step_seconds)
        return max(plan.warm_up_seconds, ceil(min(most, WARM_UP * relaxation)))
    unserved = sum(second.unserved > 0 for second in seconds)
    served_after = unserved + 1 if unserved else 0
    start = max(plan.warm_up_seconds, min(served_after, ceil(plan.pool_timeout_seconds)), _paused_after(plan, seconds))
    return _risen_after(plan, [second.transactions for second in seconds], start)


def _risen_after(plan: SweepPlan, throughput: Sequence[int], start: int) -> int:
    """Return the seconds until throughput no longer rises, at least start, at most the plan's longest warm-up.

    A JVM compiles while it serves, and is faster from then on. Throughput rises where the seconds after a moment have
    more of it than as many before. While too few seconds are over to show that, the warm-up ends at that moment.
    """
    window = min(plan.warm_up_seconds, plan.step_seconds)
    while start < plan.longest_warm_up_seconds and len(throughput) >= start + window:
        before, after = throughput[start - window : start], throughput[start : start + window]
        if sum(after) <= (1 + RISE) * sum(before):
            break
        start = min(plan.longest_warm_up_seconds, start + ceil(window / 2))
    return start


def _paused_after(plan: SweepPlan, seconds: Sequence[StepSecond]) -> int:
    """Return the number of seconds until PAUSES mean pauses were over; all seconds so far where they are not yet.

    The first transaction of a user follows no pause. Pauses so short that the first second has PAUSES of them count as
    none, and an open loop has none. It is never more than the longest step.
    """
    if not any(second.gap_seconds for second in seconds):
        return 0
    later, pauses_seconds = -plan.users, 0.0
    for number, second in enumerate(seconds[: plan.longest_seconds], 1):
        later += second.transactions
        pauses_seconds += second.gap_seconds
        if later > 0 and PAUSES * pauses_seconds <= number * later:
            return number if number > 1 else 0
    most = plan.longest_seconds if later >= 0 else ceil(plan.pool_timeout_seconds)
    return min(len(seconds), most)


def _is_shown(plan: SweepPlan, planned: PlannedStep, counted: Sequence[StepSecond], before: int) -> bool:
    """Return whether throughput is as precise as planned, and a pool serves the rate or not: only at the LOOKS.

    A pool that serves the rate is also counted for long enough to show its percentiles.
    before: number of counted seconds a second ago, from which it may jump, because the warm-up's end moves.
    """
    if plan.precision is None and planned.rate is None:
        return True
    if not any(before < plan.step_seconds * times <= len(counted) for times in LOOKS):
        return False
    throughput = [second.transactions for second in counted]
    if plan.precision is not None:
        interval = mean_interval([throughput])
        if interval.high - interval.mean > plan.precision * interval.mean:
            return False
    if planned.rate is None:
        return True
    busy, backlog, p95_ms = ([getattr(second, name) for second in counted] for name in ("busy", "backlog", "p95_ms"))
    evidence = RateEvidence.of(planned.rate, planned.pool_size, throughput, busy, backlog, p95_ms)
    if evidence is None or not evidence.is_decided:
        return False
    return not evidence.is_served or len(counted) >= COUNTED * _relaxation_seconds(planned, planned.rate, counted)


def _relaxation_seconds(planned: PlannedStep, rate: float, counted: Sequence[StepSecond]) -> float:
    transactions, busy = ([getattr(second, name) for second in counted] for name in ("transactions", "busy"))
    return relaxation_seconds(rate, planned.pool_size, transactions, busy)


def _early_end(plan: SweepPlan, seconds: Sequence[StepSecond], rate: float | None) -> Stopped | None:
    """Return the reason why the step must end now, or None.

    At a utilisation of just 1, the backlog is a reflected random walk (Iglehart and Whitt, "Multiple channel queues in
    heavy traffic", 1970): after t seconds the absolute value of a normal variable with the variance 2 * rate * t, of
    Poisson arrivals and exponential usage times. It exceeds 4 standard deviations with a probability of 0.006 %, so in
    any of a minute's seconds with less than 0.4 %. A pool with capacity to spare has a smaller backlog.
    """
    counted = seconds[plan.warm_up_seconds :]
    failed = sum(sum(second.errors.values()) for second in counted)
    succeeded = sum(second.transactions for second in counted)
    if failed >= FEWEST_FAILURES and failed > plan.error_budget * (failed + succeeded):
        return Stopped(StopReason.TOO_MANY_ERRORS, {"failed": failed, "transactions": failed + succeeded})
    backlog = seconds[-1].backlog if seconds else 0
    if rate:
        by_chance = DEVIATIONS * sqrt(2 * rate * len(seconds))
        if backlog > min(LARGEST_BACKLOG, max(STALL_SECONDS * rate, by_chance)):
            return Stopped(StopReason.BACKLOG, {"backlog": backlog})
    return None


def assemble(
    planned: PlannedStep,
    started: str,
    seconds: Sequence[StepSecond],
    ending: Ending,
    shares: Mapping[str, int],
    reports: Mapping[str, WorkerReport],
    timeout_ms: float,
) -> Step:
    """Return the step, without checks and without the server's part.

    planned: the step's place in the plan. started: UTC, ISO 8601. seconds: the step's seconds over all workers.
    ending: which seconds count. shares: worker -> connections, of the workers that began the step.
    reports: worker -> report, of the workers that stayed to the end.
    timeout_ms: how long a user waits for a connection.
    """
    seconds, is_open = seconds[: ending.last], planned.rate is not None
    number = min((len(report.sections) for report in reports.values()), default=0)
    all_together = _kind([part for report in reports.values() for part in report.sections[:number]])
    sections = {
        name: [merged(report.sections[place][name] for report in reports.values()) for place in range(number)]
        for name in RECORDED
    }
    failed = zip(sections["total"], sections["failed"], strict=True)
    sections["total"] = [with_failures(total, failures, timeout_ms) for total, failures in failed]
    gap_seconds = sum(report.gap_seconds for report in reports.values())
    kinds = by_kind(report.kinds for report in reports.values())
    return Step(
        pool_size=planned.pool_size,
        repeat=planned.repeat,
        order=planned.order,
        started=started,
        users=sum(report.users for report in reports.values()),
        rate=planned.rate,
        warm_up_seconds=ending.first,
        throughput=tuple(second.transactions for second in seconds),
        errors={
            kind: tuple(second.errors.get(kind, 0) for second in seconds)
            for kind in sorted({kind for second in seconds for kind in second.errors})
        },
        p95_ms=tuple(second.p95_ms for second in seconds),
        backlog=tuple(second.backlog for second in seconds if is_open),
        busy=tuple(second.busy for second in seconds if is_open),
        gap_ms=1000 * gap_seconds / all_together.transactions if all_together.transactions else 0.0,
        latencies=all_together.latencies,
        sections={
            name: {quantile: tuple(getattr(latency, quantile) for latency in latencies) for quantile in QUANTILES}
            for name in LATENCIES
            for latencies in [[percentiles(section) for section in sections[name] if section.get_total_count()]]
        },
        kinds={name: _kind(parts) for name, parts in kinds.items()} if len(kinds) > 1 else {},
        server={},
        server_connections=None,
        workers=tuple(
            Worker(name, shares[name], report.users, *astuple(report.cost)) for name, report in sorted(reports.items())
        ),
        stopped=ending.stopped,
        checks=(),
    )


def _kind(parts: Sequence[Mapping[str, str]]) -> Kind:
    """Return the transactions of some workers and sections together. parts: of each, RECORDED -> encoded histogram."""
    histograms = {name: merged(part[name] for part in parts) for name in RECORDED}
    latencies = {name: encoded(histograms[name]) for name in LATENCIES}
    failed = encoded(histograms["failed"]) if histograms["failed"].get_total_count() else ""
    return Kind(histograms["total"].get_total_count(), Latencies(**latencies, failed=failed))


def raise_denied(step: Step) -> None:
    """Raise WorkFailed where most failures of a step that ended early are refusals: no other attempt would pass."""
    if step.stopped is None or step.stopped.reason is not StopReason.TOO_MANY_ERRORS:
        return
    failed = {kind: sum(seconds) for kind, seconds in step.errors.items()}
    refused = {kind: number for kind, number in failed.items() if is_denied(kind)}
    if 2 * sum(refused.values()) > sum(failed.values()):
        kind = max(refused, key=refused.__getitem__)
        raise WorkFailed(
            f"the server refuses the workload's statements ({kind}): give the account its privileges again, or let the "
            "server be written to"
        )
