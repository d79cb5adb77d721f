"""The reasons of a measured answer as sentences."""

from collections.abc import Callable, Mapping, Sequence

from poolsize.answer.application import EXPLANATIONS
from poolsize.answer.finding import Code, Finding
from poolsize.answer.verdict import Highest
from poolsize.present.text.sentences.bottlenecks import bottleneck_evidence
from poolsize.units import count, loss_text, milliseconds, per_second, percent, probability_text, sizes_text


def _database_size(finding: Finding) -> str:
    values = finding.values
    text = (
        f"When nothing queues, a transaction takes {milliseconds(values['database_ms'])} in the database, and "
        f"{milliseconds(values['client_ms'])} of CPU time in the load generator."
    )
    if values["database_size"] is None or values["database_size"] > values["pool_size"]:
        return text
    needed = count(values["database_size"], "connection")
    return f"{text} For an application whose own code took no time in a transaction, {needed} would be enough."


def _no_application_sizes(finding: Finding) -> str:
    return f"The table of pool sizes for applications is missing: {EXPLANATIONS[finding.values['why']]}."


def _application_size(finding: Finding) -> str:
    values = finding.values
    size, share = values["pool_size"], values["throughput"] / values["capacity"]
    cpu = ""
    if values["cpu_time_ms"] is not None:
        cpu = f", and {milliseconds(values['cpu_time_ms'])} is its CPU time on {count(values['cores'], 'core')}"
    reached = f"{count(size, 'connection')} reach{'es' if size == 1 else ''} {per_second(values['throughput'])}"
    return (
        f"Of the usage time of {milliseconds(values['usage_time_ms'])}, {milliseconds(values['added_ms'])} is your "
        f"application's own time{cpu}. By the closed network fitted to the run, {reached}, {100 * share:.0f} % of "
        f"capacity. {size} is the smallest pool size within {percent(values['tolerance'])} of "
        f"capacity with at least {percent(values['probability'])} probability."
    )


def _load_generator_size(finding: Finding) -> str:
    values = finding.values
    return (
        f"The load generator, which takes {milliseconds(values['client_ms'])} of CPU time for a transaction, needs "
        f"{count(values['pool_size'], 'connection')} (95 % range {sizes_text(values['range'])})."
    )


APPLICATION: Mapping[Code, Callable[[Finding], str]] = {
    Code.DATABASE_SIZE: _database_size,
    Code.NO_APPLICATION_SIZES: _no_application_sizes,
    Code.APPLICATION_SIZE: _application_size,
    Code.LOAD_GENERATOR_SIZE: _load_generator_size,
}


def highest_text(highest: Highest, users: int) -> str:
    """Return the name of the fitted curve's highest throughput. users: of the run."""
    if highest == Highest.OF_FILLED:
        return f"the highest throughput of the pools that {count(users, 'user')} filled"
    return "capacity" if highest == Highest.CAPACITY else "the highest throughput of the measured pool sizes"


def _plateau(finding: Finding) -> str:
    values = finding.values
    size, capacity = values["pool_size"], values["capacity"]
    reached = f"{count(size, 'connection')} reach{'es' if size == 1 else ''} {per_second(values['throughput'])}"
    highest = highest_text(values["highest"], values["users"])
    if size == values["best_size"]:
        reached += f", {'the ' if highest == 'capacity' else ''}{highest}."
    else:
        share = values["throughput"] / capacity
        at_best = f" at {count(values['best_size'], 'connection')}" if values["best_measured"] else ""
        by_curve = f"{per_second(capacity)}{at_best} by the fitted curve"
        reached += (
            f", {100 * share:.0f} % of {highest} ({by_curve})."
            if share < 1.005
            else f" in the measurement. {highest[0].upper()}{highest[1:]} is lower, {by_curve}: the difference is "
            "probably noise."
        )
        if share < 1 - values["tolerance"]:
            reached += f" The fitted curve, which also follows the other sizes, is higher at {size} than measured."
    among = "measured pool size" if values["among_measured"] else "pool size"
    smallest = (
        f"{size} is the smallest {among} that the fitted curve puts within {percent(values['tolerance'])} of "
        f"{highest if highest == 'capacity' else 'that highest throughput,'} "
        f"with at least {percent(values['probability'])} probability."
    )
    if values["measured_below"] is None:
        return f"{reached} {smallest}"
    nearest = f"{values['measured_below']} and {values['measured_above']}"
    between = f"{size} itself was not measured: its figures lie between those of {nearest}."
    return f"{reached} {smallest} {between}"


def _carries_rate(finding: Finding) -> str:
    values, smaller = finding.values, finding.values["smaller_sizes"]
    others = (
        f"smaller pools ({', '.join(map(str, smaller))}) do not"
        if smaller
        else "no smaller measured pool is known to fail"
    )
    size, utilisation = values["pool_size"], values["utilisation"]
    rate = f"the arrival rate {per_second(values['rate'])}"
    busy = "" if utilisation is None else f"{100 * utilisation:.0f} % busy"
    if not values["is_answer"]:
        has = f"The smallest measured pool that serves {rate} has {count(size, 'connection')}"
        return f"{has}{f' ({busy})' if busy else ''}; {others}."
    serves = f"{count(size, 'connection')} serve{'s' if size == 1 else ''} {rate}"
    return f"{serves}{f' ({busy})' if busy else ''}; {others}."


def limits_text(limits_ms: Mapping[str, float]) -> str:
    """Return latency limits as text, such as "p95 within 20 ms and p99 within 50 ms". limits_ms: by quantile."""
    return " and ".join(f"{quantile} within {milliseconds(limit_ms)}" for quantile, limit_ms in limits_ms.items())


def _limit_kept(finding: Finding) -> str:
    return f"{_within_limit(finding)}."


def _limit_decides(finding: Finding) -> str:
    values = finding.values
    loss = f" The limit loses {loss_text(values['throughput_loss'])}." if values["throughput_loss"] > 0 else ""
    return f"{_within_limit(finding)}. Without the limit the pool size would be {values['plateau_size']}.{loss}"


def _within_limit(finding: Finding) -> str:
    values = finding.values
    return (
        f"This pool size is within the latency limit: {limits_text(values['limits_ms'])} with "
        f"{probability_text(values['probability'])} probability"
    )


def _current_size(finding: Finding) -> str:
    values = finding.values
    current, size, loss = (values[key] for key in ("current", "pool_size", "throughput_loss"))
    if current == size:
        return f"Your current pool size, {current}, is the recommended size."
    begin = f"Your current pool size, {current},"
    throughput = f"{'loses' if loss >= 0 else 'gains'} {loss_text(abs(loss))}"
    compared = f"compared with {count(size, 'connection')}"
    if values["p95_ms"] is None or values["recommended_p95_ms"] is None:
        return f"{begin} {throughput} {compared}."
    latencies = f"{milliseconds(values['p95_ms'])} instead of {milliseconds(values['recommended_p95_ms'])}"
    return f"{begin} {throughput} {compared}, and has a p95 of {latencies}."


def _current_not_measured(finding: Finding) -> str:
    values = finding.values
    return (
        f"Your current pool size, {values['current']}, is outside of the measured sizes ({values['low']} to "
        f"{values['high']}), so its price is not known. To measure it, use --pool-sizes "
        f"{values['pool_size']},{values['current']}."
    )


def _wait_and_usage(finding: Finding) -> str:
    values, measured = finding.values, finding.values["measured_size"]
    place = "" if measured == values["pool_size"] else f" (both at {measured}, the nearest measured size)"
    return (
        f"Mean wait time {milliseconds(values['wait_ms'])}, mean usage time {milliseconds(values['usage_ms'])}{place}."
    )


def _bottleneck(finding: Finding) -> str:
    name = finding.values["name"]
    return f"Bottleneck: {name} ({bottleneck_evidence(name, finding.values['values'])})."


def _verified(finding: Finding) -> str:
    values = finding.values
    return (
        f"At {percent(values['load'])} of the throughput of this pool size ({per_second(values['rate'])}, open loop), "
        f"the p95 wait time is {milliseconds(values['wait_p95_ms'])} and the p95 total time "
        f"{milliseconds(values['total_p95_ms'])}."
    )


def _queue_in_database(finding: Finding) -> str:
    values = finding.values
    usage = f"from {milliseconds(values['answer_usage_ms'])} to {milliseconds(values['usage_ms'])}"
    in_database = "transactions also queue in the database, not only in the pool"
    holding = "transactions wait while they hold a connection, instead of waiting for one in the pool"
    return (
        f"With {count(values['largest'], 'connection')}, measured throughput is {per_second(values['throughput'])} and "
        f"usage time rises {usage}: {in_database if values['in_database'] else holding}."
    )


def _bimodal(finding: Finding) -> str:
    values = finding.values
    short = f"{percent(values['short_share'])} of the transactions{_names(values['short_kinds'])}"
    long = f"{percent(values['long_share'])}{_names(values['long_kinds'])}"
    more = values["short_pool_size"] + values["long_pool_size"] - values["pool_size"]
    return (
        f"Usage times are bimodal: {short} take {milliseconds(values['short_usage_ms'])}, {long} take "
        f"{milliseconds(values['long_usage_ms'])}. Use two pools, {count(values['short_pool_size'], 'connection')} for "
        f"the short transactions and {values['long_pool_size']} for the long ones, so that short transactions never "
        f"wait for long ones. Together they have {count(more, 'connection')} more than one pool, because neither can "
        "use the other's."
    )


def _names(kinds: Sequence[str]) -> str:
    return f" ({', '.join(kinds)})" if kinds else ""


def _job_queue(finding: Finding) -> str:
    values = finding.values
    return (
        f"With as many users as connections ({values['users']}) no user waits. If your users are the consumers of a "
        f"job queue, run {count(values['pool_size'], 'consumer')}, as many as the pool has connections, and let the "
        "jobs wait in the queue."
    )


def _formula(finding: Finding) -> str:
    values = finding.values
    together = f" for all {values['pools']} pools together" if values["pools"] > 1 else ""
    return (
        f"The formula suggests {values['connections']}{together} ({count(values['cores'], 'core')} x 2 + "
        f"{count(values['disks'], 'disk')}). The measurement overrides it."
    )


REASONS: Mapping[Code, Callable[[Finding], str]] = {
    Code.PLATEAU: _plateau,
    Code.CARRIES_RATE: _carries_rate,
    Code.LIMIT_KEPT: _limit_kept,
    Code.LIMIT_DECIDES: _limit_decides,
    Code.CURRENT_SIZE: _current_size,
    Code.CURRENT_NOT_MEASURED: _current_not_measured,
    Code.WAIT_AND_USAGE: _wait_and_usage,
    Code.BOTTLENECK: _bottleneck,
    Code.VERIFIED: _verified,
    Code.QUEUE_IN_DATABASE: _queue_in_database,
    **APPLICATION,
    Code.BIMODAL: _bimodal,
    Code.JOB_QUEUE: _job_queue,
    Code.FORMULA: _formula,
}
