"""The warnings of an answer, and the refusals of a pool size, as sentences."""

from poolsize.answer import application, failed_attempts, latency_limit, price, verdict, warnings
from poolsize.present.text.sentences.checks import check_detail
from poolsize.present.text.sentences.findings import register_templates, sentence, way_out_text
from poolsize.present.text.sentences.reasons import limits_text
from poolsize.runs.check import Check
from poolsize.units import count, milliseconds, per_second, percent, pool_sizes, probability_text, signed_percent

OWN_NAMES = {"mariadbd", "mysqld", "poolsize"}
"""Programs of which the sweep has one of its own: the measured server, and poolsize."""
UNLIKELY = 0.01
"""A latency limit that is kept with a smaller probability is not kept."""


@sentence.register
def _(finding: latency_limit.LimitBroken) -> str:
    at_rate = "No pool size" if finding.rate is None else f"At {per_second(finding.rate)}, no pool size"
    none = at_rate if finding.users is None else f"With {count(finding.users, 'user')}, no pool size"
    enough = f" with a probability of {percent(finding.certainty)} or more" if finding.undecided else ""
    unchanged = "" if finding.decides else ", so the limit does not change the recommended size"
    broken = (
        f"{none} keeps the latency limit ({limits_text(finding.limits_ms)}){enough}{unchanged}. The "
        f"lowest measured {finding.lowest.quantile} is {milliseconds(finding.lowest.lowest_ms)}, at "
        f"{count(finding.lowest.pool_size, 'connection')}."
    )
    if finding.probability >= UNLIKELY:
        broken += (
            f" By the fitted latency curve, {finding.likeliest_size} is most likely to keep the limit, with a "
            f"probability of {probability_text(finding.probability)}."
        )
    if finding.way_out is None:
        lower = "Use fewer users" if finding.rate is None else "Larger pools are not faster. Use a lower rate"
        return f"{broken} {lower}, or do less work in a transaction."
    way_out = way_out_text(finding.way_out)
    if finding.is_edge:
        return f"{broken} No larger pool was measured, and a larger pool may keep the limit: {way_out}."
    return f"{broken} To be more certain, {way_out}."


@sentence.register
def _(finding: warnings.HighUtilisation) -> str:
    busy = f"At {per_second(finding.rate)}, {_are_busy(finding.pool_size, finding.utilisation)}"
    risk = "A slightly higher rate, or slower transactions for a while, would overload the pool"
    if finding.larger_size is None or finding.larger_utilisation is None:
        assert finding.way_out is not None
        return f"{busy}. {risk}: {way_out_text(finding.way_out)}."
    return f"{busy}. {risk}. {_are_busy(finding.larger_size, finding.larger_utilisation)}."


def _are_busy(size: int, utilisation: float) -> str:
    return f"{count(size, 'connection')} {'is' if size == 1 else 'are'} {100 * utilisation:.0f} % busy"


@sentence.register
def _(finding: warnings.CheckFailed) -> str:
    check, sizes = finding.check, pool_sizes(finding.sizes)
    failed = f"Steps at {sizes} failed the check `{check}`. They are used, because no attempt passed it"
    if check.disqualifies:
        failed = f"The figures at {sizes} are not used, because the check `{check}` failed there"
    at_largest = f". At {finding.sizes[-1]}" if len(finding.sizes) > 1 else ""
    return f"{failed}{at_largest}: {check_detail(check, finding.values)}."


@sentence.register
def _(finding: warnings.VerificationFailed) -> str:
    return (
        f"{count(finding.pool_size, 'connection')} at {percent(finding.load)} of its own throughput failed checks "
        f"({', '.join(finding.checks)}): {check_detail(finding.checks[0], finding.values)}."
    )


@way_out_text.register
def _(attempts: failed_attempts.FailedAttempts) -> str:
    """Return the cause first: what other programs used, or the checks that failed."""
    checks = ", ".join(f"{check} {count(number, 'time')}" for check, number in attempts.checks.items())
    failed = f"{attempts.failed} of {count(attempts.attempts, 'measured step')} failed a check ({checks})."
    if attempts.programs is None:
        is_busy = next(iter(attempts.checks), None) == Check.QUIET
        return f"Other programs used this machine: {failed}" if is_busy else failed
    names = ", ".join(
        f"{'another ' if name in OWN_NAMES else ''}{name} ({used:.1f})" for name, used in attempts.programs.items()
    )
    others = f"Other programs used {attempts.other_cores:.1f} of this machine's {attempts.cores:g} cores"
    return f"{others}{f', most of all {names}' if names else ''}: {failed}"


register_templates(
    {
        application.BeyondMeasured: "The sweep measured {highest:/s} at most. That your application can reach "
        "{capacity:/s} follows from the fitted network alone.",
        application.OwnCores: "The answer holds if the application's own CPU can do {capacity:/s}: on 1 core, that "
        "is at most {cpu_ms:ms} of CPU time a transaction. --app-cpu-time and --app-cores count it.",
        application.LocksHeld: lambda finding: (
            "Transactions wait for each other's row locks. The answer holds if the application holds none during its "
            "own {added_ms:ms} of a transaction"
            + (
                ": {pool_size:#connection}, at most {capacity:/s}. If it holds a lock all that time, "
                "{locked_size:#connection} are enough, and throughput is at most {locked_capacity:/s}."
                if finding.locked_size
                else ". If it holds a lock all that time, throughput is lower, and so is the pool size."
            )
            + " Lock rows late in the transaction, or measure the application itself (poolsize application)."
        ),
        application.ShortUsageTime: "The usage time of {usage_time_ms:ms} is shorter than the {database_ms:ms} that a "
        "transaction of this run takes in the database alone, so the answer is for an application that adds nothing. "
        "Check that both are the same transaction, on the same server.",
        warnings.UsageNotUsed: lambda finding: (
            f"The mean usage time is not used at {pool_sizes(finding.sizes)}"
            + (f": at {finding.sizes[-1]}, " if len(finding.sizes) > 1 else ": ")
            + "it is {usage_ms:ms} by readings of the metrics page, and the response time leaves at most "
            "{longest_ms:ms} for it. The service answers the page while it works, or other work uses the pool. A "
            "metric that sums usage times has no such error."
        ),
        price.RateTooHigh: lambda finding: (
            "No pool size keeps up with {rate:/s}: the highest throughput is {highest:/s}. Use a lower rate, or do "
            "less work in a transaction."
            if finding.keeps_up is None
            else "{pool_size:#connection} can't keep up with {rate:/s}. The smallest pool size that can is {keeps_up}."
        ),
        failed_attempts.MostlyFailed: lambda finding: (
            f"{{attempts}}{' The answer is in doubt.' if finding.has_size else ''} {{way_out}}."
        ),
        failed_attempts.TooFewValid: lambda finding: (
            "{attempts} "
            + (
                f"Only the pool size {finding.valid[0]} is valid, and an answer compares two."
                if finding.valid
                else "No pool size is valid."
            )
            + " {way_out}."
        ),
        failed_attempts.EndPrograms: lambda way_out: (
            "The last {quiet_steps:#step} passed, so the machine may be quiet now: measure again"
            if way_out.quiet_steps
            else "The other programs ran until the end of the sweep: end them, or wait until they end, and measure "
            "again"
        ),
        failed_attempts.MeasureAgain: "Measure again; `poolsize analyze` shows the checks",
        failed_attempts.CorrectSize: "The application did not have the pool size that poolsize set: correct the "
        "variable or the command that sets it, and measure again",
        failed_attempts.CorrectWorkload: "Find out why transactions fail, correct the workload or the server, and "
        "measure again",
        warnings.Retried: lambda finding: (
            f"{count(len(finding.sizes), 'step')} at {pool_sizes(sorted({*finding.sizes}))} "
            + (
                "are excluded, and other steps were measured in their place"
                if len(finding.sizes) > 1
                else "is excluded, and another step was measured in its place"
            )
            + "; `poolsize analyze` says why."
        ),
        warnings.SpeedCorrected: lambda finding: (
            "The machine's speed changed. The throughput of {steps:#step} is corrected to the usual speed of all "
            f"steps, by {' to '.join(dict.fromkeys(map(signed_percent, (finding.low, finding.high))))}; latencies "
            "are as measured."
        ),
        warnings.ForEachPool: lambda finding: (
            f"The pool size is that of each pool. The application has {count(finding.instances, 'instance')} with "
            f"{count(finding.processes, 'process', 'processes')} each, so {finding.instances * finding.processes} "
            "pools."
        ),
        warnings.Contradicted: "The measured steps contradict the pool size of {pool_size}. With {faster:#connection}, "
        "throughput was {throughput:/s} in {steps:#step}, and the fitted curve puts capacity at {capacity:/s}. To find "
        "out which is right, {way_out}.",
        warnings.WideRange: lambda finding: (
            "The range is wide, from {low} to {high}. With 97.5 % probability, {pool_size:#connection} "
            f"{'has' if finding.pool_size == 1 else 'have'} at most {{greatest_loss:most}} less throughput than "
            "the best size, by the fitted curve." + (" To narrow the range, {way_out}." if finding.way_out else "")
        ),
        warnings.BudgetSpent: lambda finding: (
            "The search spent its budget of {budget_seconds:number} s before its answer was certain. The throughput "
            "loss at the answer is at most {greatest_loss:most}."
            + (" For a smaller loss, {way_out}." if finding.way_out else "")
        ),
        warnings.TwoLevels: "The steps fall into two levels: {low_steps} of {steps:#step} reached {share:%} of the "
        "throughput of the others, also at the same pool size. The answer is for the higher level; the range also "
        "allows for noise. Find what slows down whole steps, such as a backup, another virtual machine or a limit of "
        "CPU time, and measure again without it.",
        warnings.DataGrew: "The data grew during the sweep, which makes later steps slower: with "
        "{pool_size:#connection}, a transaction read {pages:number} pages in the first step, and {later_pages:number} "
        "in the last. Restore the data before each step, and measure again.",
        warnings.FewSteps: lambda finding: (
            "{steps:#step} at different pool sizes do not show how much a repeated step would differ. The 95 % range "
            "assumes the usual noise between steps. To measure the noise, "
            + ("extend the search with --resume and a larger --budget." if finding.search else "add --repeats 3.")
        ),
        warnings.Unsettled: lambda finding: (
            "The true percentiles at {sizes:sizes} are higher than the measured ones. The queue needs up to "
            "{relaxation_seconds:number} s to change its length, which is too long for the steps: "
            + ("measure with --step-time {step_seconds}s." if finding.step_seconds else "use a lower rate.")
        ),
        warnings.NothingVerified: "No step in an open loop was measured. If the sweep was interrupted, "
        "`poolsize sweep --resume` measures it.",
        warnings.LongTotalTimes: "{users:#user} queue so long that a transaction takes {total_seconds:number} s on "
        "average, so few transactions end in a step. Fewer users fill the pools as well: measure again with --users "
        "{fewer}.",
        warnings.LeftOut: "Not used for the answer: {sizes:sizes}, because {users:#user} never filled the pool.",
        warnings.CoresAssumed: "The formula assumes that the database's host has {cores:#core}, as many as the machine "
        "of the sweep. Set --cores to the host's number.",
        warnings.IntervalMeans: "Each figure of the recording is a mean over {seconds:g} s. Such means hide seconds "
        "that were slower or faster.",
        verdict.MeansOnly: "The recording has too few figures for each pool size to show how much throughput varies, "
        "so the range is unknown. Measure with a figure for each second, such as by sysbench --report-interval=1.",
        warnings.OfRecording: "The run replays a recording, whose threads or users count as connections. If the "
        "recording is not of your own server, measure your server before you rely on the answer.",
        warnings.NotDurable: "Commits do not wait for the disk (innodb_flush_log_at_trx_commit is not 1). The answer "
        "holds only for this setting.",
        warnings.WithThreadPool: "The server's thread pool is active: throughput falls less at pool sizes that are "
        "too large.",
        warnings.ForAllClients: "The pool size is the total for all clients of the database. `poolsize fleet` divides "
        "it among your application's instances and processes.",
        warnings.SizeUnconfirmed: "Nothing shows that the application's pool had the measured sizes. Give `database` "
        "or `metrics` in the application's file: then each step is checked.",
        verdict.NotTheLimit: lambda finding: (
            "The pool is not the limit: no measured size limits throughput. The smallest that was never full has "
            "{pool_size:#connection}: with {users:#user}, {in_use:number} were in use on average, and at most "
            "{most_in_use} at once."
            + (
                " Even {smallest:#connection} reached {smallest_throughput:/s}, with {smallest_in_use:number} in use "
                "on average"
                + ("." if finding.smallest_wait_ms is None else " and a mean wait time of {smallest_wait_ms:ms}.")
                if finding.smallest < finding.pool_size
                else ""
            )
        ),
        warnings.NoFreeCore: "No core of this machine was free. Run Locust's workers on another machine "
        "(--expect-workers), or size the pool by your traffic: poolsize recommend --rate. {smallest:#connection} "
        "reached {throughput:/s}: a service that needs much less is not limited by its pool.",
        verdict.GeneratorLimited: "The load generator was too slow: a worker was saturated or late. The "
        "best pool size may differ. {way_out}",
        verdict.UsersLimited: "With {users:#user}, pools of more than {largest:#connection} were never full, so they "
        "show nothing of the database: {way_out}.",
        verdict.OneSize: "Only one pool size, {pool_size}, is valid, and an answer compares two: {way_out}.",
        verdict.StillRising: lambda finding: (
            ("Throughput without the latency limit" if finding.limit_broken else "Throughput")
            + " still rises at {largest}, the largest measured size: {way_out}."
        ),
        verdict.SmallestSize: "The smallest valid size, {pool_size}, is on the plateau, so a smaller size may be too: "
        "{way_out}.",
        verdict.NothingValid: "No step passed its checks. See them with `poolsize analyze`, and measure again.",
        verdict.RateNotServed: "No measured pool size serves {rate:/s}: measure larger --pool-sizes, or leave --rate "
        "out to measure the capacity.",
        verdict.GeneratorEverywhere: "A worker was saturated or late at every pool size. {way_out}",
        verdict.UsersLimitedEverywhere: "With {users:#user}, no pool was ever full: {way_out}.",
        verdict.Noisy: "The range is too wide for an answer, {low} to {high} connections, and the most probable size "
        "may lose {greatest_loss:most} of throughput: {way_out}.",
        verdict.GeneratorNotSeparable: "A worker was saturated or late, and the service demands of load generator and "
        "server can't be separated. {way_out}",
    }
)
