"""The reasons of a measured answer as sentences."""

from collections.abc import Mapping

from poolsize.analysis.application_size import CERTAINTY
from poolsize.answer import application, latency_limit, price, reasons
from poolsize.answer.verdict import Highest
from poolsize.present.text.sentences.checks import bottleneck_sentence
from poolsize.present.text.sentences.findings import register_templates, sentence
from poolsize.units import at_most, count, loss_text, milliseconds, per_second, percent, probability_text

ANSWER_LARGER = (
    " The answer, {pool_size}, is larger: it comes from measurements, which include waits for the load generator's CPU."
)
"""Why the answer lies above the range of an application that adds nothing."""
ALIKE = 0.02
"""Throughputs that differ by a smaller share count as equal."""
ABOVE = 1.005
"""From this share on, the percentage would be more than 100 %."""
NEAR = 0.9
"""From this share of the throughput on, the total times are uncertain. A chosen value."""


@sentence.register
def _(finding: application.ApplicationPool) -> str:
    size, share = finding.pool_size, finding.throughput / finding.capacity
    cpu = ""
    if finding.cpu_time_ms is not None:
        cpu = f", and {milliseconds(finding.cpu_time_ms)} is its CPU time on {count(finding.cores, 'core')}"
    reached = f"{count(size, 'connection')} reach{'es' if size == 1 else ''} {per_second(finding.throughput)}"
    return (
        f"Of the usage time of {milliseconds(finding.usage_time_ms)}, {milliseconds(finding.added_ms)} is your "
        f"application's own time{cpu}. By the closed network fitted to the run, {reached}, {100 * share:.0f} % of "
        f"capacity. {size} is the smallest pool size within {percent(finding.tolerance)} of "
        f"capacity with at least {percent(finding.probability)} probability."
    )


def highest_text(highest: Highest, users: int) -> str:
    """Return the name of the fitted curve's highest throughput. users: of the run."""
    if highest == Highest.OF_FILLED:
        return f"the highest throughput of the pools that {count(users, 'user')} filled"
    return "capacity" if highest == Highest.CAPACITY else "the highest throughput of the measured pool sizes"


def curve_decides(finding: reasons.OnPlateau) -> bool:
    """Return whether the answer's share of capacity is the fitted curve's: where the measured share misleads."""
    differs = abs(finding.throughput / finding.fitted - 1) >= ALIKE
    return differs or not 1 - finding.tolerance <= finding.throughput / finding.capacity < ABOVE


def _both_rates(throughput: float, capacity: float) -> tuple[str, str]:
    """Return both rates, with a further digit where they differ by a percentage that is shown and look the same."""
    texts = per_second(throughput), per_second(capacity)
    if texts[0] == texts[1] and abs(throughput / capacity - 1) >= 0.005:
        return f"{throughput:,.4g}/s", f"{capacity:,.4g}/s"
    return texts


@sentence.register
def _(finding: reasons.OnPlateau) -> str:
    size, capacity = finding.pool_size, finding.capacity
    by_curve = curve_decides(finding)
    rate, at_highest = _both_rates(finding.fitted if by_curve else finding.throughput, capacity)
    of_curve = "By the fitted curve, from which the size comes, " if by_curve else ""
    reached = f"{of_curve}{count(size, 'connection')} reach{'es' if size == 1 else ''} {rate}"
    highest = highest_text(finding.highest, finding.users)
    if size == finding.best_size:
        reached += f", {'the ' if highest == 'capacity' else ''}{highest}"
    else:
        share = (finding.fitted if by_curve else finding.throughput) / capacity
        best = finding.best_size if finding.best_measured else None
        at_best = "" if best is None else f" at {count(best, 'connection')}"
        curve = "" if by_curve else " by the fitted curve"
        subject = "Capacity" if highest == "capacity" else "That throughput"
        reached += f", {100 * share:.0f} % of {highest}. {subject} is {at_highest}{at_best}{curve}"
    if by_curve:
        source = "Measured" if finding.measured_below is None else "Between the measurements"
        reached += f". {source}: {per_second(finding.throughput)}; the curve treats the difference as noise"
    reached += "."
    among = "measured pool size" if finding.among_measured else "pool size"
    smallest = (
        f"{size} is the smallest {among} that the fitted curve puts within {percent(finding.tolerance)} of "
        f"{highest if highest == 'capacity' else 'that highest throughput'}"
    )
    if finding.probability is not None:
        comma = "" if highest == "capacity" else ","
        smallest += f"{comma} with at least {percent(finding.probability)} probability"
    smallest += "."
    if finding.measured_below is None:
        return f"{reached} {smallest}"
    nearest = f"{finding.measured_below} and {finding.measured_above}"
    between = f"The throughput at {size} was not measured: it lies between those at {nearest}."
    return f"{reached} {smallest} {between}"


@sentence.register
def _(finding: reasons.CarriesRate) -> str:
    smaller = ", ".join(map(str, finding.smaller_sizes))
    others = f"smaller pools ({smaller}) do not" if smaller else "no smaller measured pool is known to fail"
    connections, rate = count(finding.pool_size, "connection"), f"the arrival rate {per_second(finding.rate)}"
    busy = "" if finding.utilisation is None else f" ({100 * finding.utilisation:.0f} % busy)"
    if not finding.is_answer:
        return f"The smallest measured pool that serves {rate} has {connections}{busy}; {others}."
    return f"{connections} serve{'s' if finding.pool_size == 1 else ''} {rate}{busy}; {others}."


def limits_text(limits_ms: Mapping[str, float]) -> str:
    """Return latency limits as text, such as "p95 within 20 ms and p99 within 50 ms". limits_ms: by quantile."""
    return " and ".join(f"{quantile} within {milliseconds(limit_ms)}" for quantile, limit_ms in limits_ms.items())


@sentence.register
def _(finding: latency_limit.LimitKept | latency_limit.LimitDecides) -> str:
    kept = (
        f"This pool size is within the latency limit: {limits_text(finding.limits_ms)} with "
        f"{probability_text(finding.probability)} probability."
    )
    if isinstance(finding, latency_limit.LimitKept):
        return kept
    loss = f" The limit loses {loss_text(finding.throughput_loss)}." if finding.throughput_loss > 0 else ""
    return f"{kept} Without the limit the pool size would be {finding.plateau_size}.{loss}"


def _two_usage_times(finding: reasons.TwoUsageTimes) -> str:
    short, long = (
        f" ({{{kind}_kinds:names}})" if kinds else ""
        for kind, kinds in (("short", finding.short_kinds), ("long", finding.long_kinds))
    )
    more = count(finding.short_pool_size + finding.long_pool_size - finding.pool_size, "connection")
    return (
        f"Usage times are bimodal: {{short_share:%}} of the transactions{short} take {{short_usage_ms:ms}}, "
        f"{{long_share:%}}{long} take {{long_usage_ms:ms}}. Use two pools, {{short_pool_size:#connection}} for the "
        "short transactions and {long_pool_size} for the long ones, so that short transactions never wait for long "
        f"ones. Together they have {more} more than one pool, because neither can use the other's."
    )


def _interval(measured: price.MeasuredP95) -> str:
    """Return the interval of the measured p95, if it is known, and the computed p95 where it lies outside of it."""
    if measured.p95_interval_ms is None:
        return ""
    (low_ms, high_ms), computed_ms = measured.p95_interval_ms, measured.computed_p95_ms
    interval = f" The 95 % interval of the measured p95 is {milliseconds(low_ms)} to {milliseconds(high_ms)}"
    if computed_ms is None:
        return f"{interval}; by the computation, this pool size can't keep up with the rate."
    if not measured.contradicts:
        return f"{interval}."
    return (
        f"{interval}; the computed p95, {milliseconds(computed_ms)}, is outside of it. Compare the other pool sizes "
        "with the computed times; measured, theirs may differ as much."
    )


register_templates(
    {
        application.NoApplicationSizes: lambda finding: (
            f"The table of pool sizes for applications is missing: {application.EXPLANATIONS[finding.why]}."
        ),
        application.DatabaseSize: lambda finding: (
            "When nothing queues, a transaction takes {database_ms:ms} in the database, and {client_ms:ms} of CPU time "
            "in the load generator."
            + (
                ""
                if finding.database_size is None
                else " For an application whose own code took no time in a transaction, {pool_size:#connection} would "
                "be enough with the answer's probability. The table of sizes for applications has {database_size}, "
                f"because it requires {percent(CERTAINTY)}."
                if finding.database_size > finding.pool_size
                else " For an application whose own code took no time in a transaction, {database_size:#connection} "
                "would be enough." + (ANSWER_LARGER if finding.pool_size > finding.range[1] else "")
            )
        ),
        application.LoadGeneratorSize: lambda finding: (
            "The load generator, with a usage time of {usage_time_ms:ms} when nothing queues, needs "
            "{pool_size:#connection} (95 % range {range:range}). "
            + (
                "Its CPU was saturated: its transactions waited for CPU time, and held connections meanwhile."
                if finding.saturated
                else "Its size was measured, and has {probability:%} probability; an application's is computed, and "
                "has " + percent(CERTAINTY) + "."
            )
            + " For your application, use the size of its own usage time."
        ),
        price.CurrentSize: lambda finding: (
            "Your current pool size, {current}, is the recommended size."
            if finding.current == finding.pool_size
            else f"Your current pool size, {{current}}, {'loses' if finding.throughput_loss >= 0 else 'gains'} "
            f"{loss_text(abs(finding.throughput_loss))} compared with {{pool_size:#connection}}."
        ),
        price.CurrentNotTheLimit: "Your current pool size, {current}, is not the limit either.",
        price.CurrentNotMeasured: "Your current pool size, {current}, is outside of the measured sizes ({low} to "
        "{high}), so its price is not known. To measure it, use --pool-sizes {pool_size},{current}.",
        price.ModelledTimes: lambda finding: (
            "Requests arrive at random, at {load:%} of the throughput of {pool_size:#connection}: with so many "
            "connections, the queue grows without end."
            if finding.load >= 1
            else (
                "The total times are computed, not measured, because the run has no valid open-loop step at this rate. "
                "They assume random arrivals at {load:%} of the throughput of {pool_size:#connection}, and usage times "
                "that grow with the connections in use."
                if finding.measured is None
                else "The total times of {pool_size:#connection} are measured: requests arrive at random, at {load:%} "
                "of the throughput of this pool size. Those of the other pool sizes are computed, with usage times "
                "that grow with the connections in use." + _interval(finding.measured)
            )
            + ("" if finding.usage_measured else " Usage times are assumed to be exponentially distributed.")
            + (
                " The rate is close to this throughput, so a small error of the throughput changes the times much: "
                "`poolsize sweep --rate {rate:g}` measures them."
                if finding.load >= NEAR
                else ""
            )
        ),
        price.MeasuredTimes: "The total times were measured at this arrival rate.",
        price.NoTotalTimes: lambda finding: (
            "The total times at an arrival rate are not known. They need a measurement, not a replay, of one pool with "
            "4 valid sizes."
            if finding.measured_size is None
            else "The total times of {measured_size:#connection} are measured: requests arrive at random. Those of the "
            "other pool sizes are not known: they need 4 valid sizes."
        ),
        reasons.WaitAndUsage: lambda finding: (
            ("Mean" if finding.users is None else "With {users:#user} in the closed loop: mean")
            + " wait time {wait_ms:ms}, mean usage time {usage_ms:ms}"
            + ("" if finding.usage_error is None else f" ±{at_most(finding.usage_error)}")
            + (
                "."
                if finding.measured_size == finding.pool_size
                else " (both at {measured_size}, the nearest measured size)."
            )
        ),
        reasons.QueueInDatabase: lambda finding: (
            "With {largest:#connection}, measured throughput is {throughput:/s} instead of {answer_throughput:/s}, "
            + ("but" if finding.throughput > (1 + ALIKE) * finding.answer_throughput else "and")
            + " usage time rises from {answer_usage_ms:ms} to {usage_ms:ms}: "
            + (
                "transactions also queue in the database, not only in the pool."
                if finding.in_database
                else "transactions wait while they hold a connection, instead of waiting for one in the pool."
            )
        ),
        reasons.FormulaCompared: lambda finding: (
            "The formula suggests {connections}"
            + (" for all {pools} pools together" if finding.pools > 1 else "")
            + " ({cores:#core} x 2 + {disks:#disk}). The measurement "
            + ("agrees." if finding.measured == finding.connections else "overrides it.")
        ),
        reasons.TwoUsageTimes: _two_usage_times,
        reasons.LimitedBy: lambda finding: bottleneck_sentence(finding.name, finding.values),
        reasons.Verified: "At {load:%} of the throughput of this pool size ({rate:/s}, open loop), the p95 wait time "
        "is {wait_p95_ms:ms} and the p95 total time {total_p95_ms:ms}.",
        reasons.JobQueue: "With as many users as connections ({users}) no user waits. If your users are the consumers "
        "of a job queue, run {pool_size:#consumer}, as many as the pool has connections, and let the jobs wait in the "
        "queue.",
    }
)
