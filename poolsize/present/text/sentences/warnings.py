"""The warnings of an answer, and the refusals of a pool size, as sentences."""

from collections.abc import Callable, Mapping
from typing import Any

from poolsize.answer.finding import Code, Finding
from poolsize.present.text.sentences.checks import check_detail
from poolsize.present.text.sentences.reasons import limits_text
from poolsize.present.text.sentences.ways_out import way_out_sentence
from poolsize.runs.check import Check
from poolsize.units import (
    count,
    milliseconds,
    number,
    per_second,
    percent,
    pool_sizes,
    probability_text,
    signed_percent,
)

OWN_NAMES = {"mariadbd", "mysqld", "poolsize"}
"""Programs of which the sweep has one of its own: the measured server, and poolsize."""
UNLIKELY = 0.01
"""A latency limit that is kept with a smaller probability is not kept."""


def _way_out(finding: Finding) -> str:
    assert finding.way_out is not None
    return way_out_sentence(finding.way_out)


def _limit_broken(finding: Finding) -> str:
    values = finding.values
    enough = f" with a probability of {percent(values['certainty'])} or more" if values["undecided"] else ""
    no_size = _under_load("no pool size", values)
    unchanged = "" if values["decides"] else ", so the limit does not change the recommended size"
    broken = (
        f"{no_size} keeps the latency limit ({limits_text(values['limits_ms'])}){enough}{unchanged}. The lowest "
        f"measured {values['quantile']} is {milliseconds(values['lowest_ms'])}, at "
        f"{count(values['pool_size'], 'connection')}."
    )
    if values["probability"] >= UNLIKELY:
        broken += (
            f" By the fitted latency curve, {values['likeliest_size']} is most likely to keep the limit, with a "
            f"probability of {probability_text(values['probability'])}."
        )
    if values["is_edge"]:
        return f"{broken} No larger pool was measured, and a larger pool may keep the limit: {_way_out(finding)}."
    if finding.way_out is not None:
        return f"{broken} To be more certain, {_way_out(finding)}."
    if values["rate"] is not None:
        return f"{broken} Larger pools are not faster. Use a lower rate, or do less work in a transaction."
    return f"{broken} Use fewer users, or do less work in a transaction."


def _under_load(subject: str, values: Mapping[str, Any]) -> str:
    """Return the beginning of a sentence, with the users or the rate of the run where they are known."""
    if values["users"] is not None:
        return f"With {count(values['users'], 'user')}, {subject}"
    return subject.capitalize() if values["rate"] is None else f"At {per_second(values['rate'])}, {subject}"


def _high_utilisation(finding: Finding) -> str:
    values, size = finding.values, finding.values["pool_size"]
    busy = f"At {per_second(values['rate'])}, {count(size, 'connection')} {_are_busy(size, values['utilisation'])}"
    risk = "A slightly higher rate, or slower transactions for a while, would overload the pool"
    if finding.way_out is not None:
        return f"{busy}. {risk}: {_way_out(finding)}."
    larger = values["larger_size"]
    return f"{busy}. {risk}. {count(larger, 'connection')} {_are_busy(larger, values['larger_utilisation'])}."


def _are_busy(size: int, utilisation: float) -> str:
    return f"{'is' if size == 1 else 'are'} {100 * utilisation:.0f} % busy"


def _generator_limited(finding: Finding) -> str:
    size = count(finding.values["pool_size"], "connection")
    return (
        f"A worker (a process that generates load) was saturated, or its event loop was late. So {size} is the answer "
        f"for this load generator, and the database may need another pool size. {_way_out(finding)}"
    )


def _users_limited(finding: Finding) -> str:
    values = finding.values
    return (
        f"With {count(values['users'], 'user')}, pools of more than {count(values['largest'], 'connection')} were "
        f"never full, so they show nothing of the database: {_way_out(finding)}."
    )


def _one_size(finding: Finding) -> str:
    size = finding.values["pool_size"]
    return f"Only one pool size, {size}, is valid, so there is none to compare it with: {_way_out(finding)}."


def _still_rising(finding: Finding) -> str:
    largest = finding.values["largest"]
    throughput = "Throughput"
    if finding.values.get("limit_broken"):
        throughput = "For a higher throughput, whatever the latency: it"
    return f"{throughput} still rises at {largest}, the largest measured size: {_way_out(finding)}."


def _smallest_size(finding: Finding) -> str:
    size = finding.values["pool_size"]
    return f"The smallest valid size, {size}, is on the plateau, so a smaller size may be too: {_way_out(finding)}."


def _check_failed(finding: Finding) -> str:
    values = finding.values
    check, sizes = Check(values["check"]), pool_sizes(values["sizes"])
    failed = f"For want of better steps, the figures at {sizes} come from steps that failed the check `{check}`"
    if check.disqualifies:
        failed = f"The figures at {sizes} are not used, because the check `{check}` failed there"
    at_largest = f". At {values['sizes'][-1]}" if len(values["sizes"]) > 1 else ""
    return f"{failed}{at_largest}: {check_detail(check, values['values'])}."


def _wide_range(finding: Finding) -> str:
    values = finding.values
    return f"The range is wide, from {values['low']} to {values['high']}. To narrow it, {_way_out(finding)}."


def _budget_spent(finding: Finding) -> str:
    values = finding.values
    loss = f"{percent(values['loss_low'])} and {percent(values['loss_high'])}"
    return (
        f"The search spent its budget of {number(values['budget_seconds'])} s before its answer was certain: the "
        f"throughput loss at the answer is between {loss}. For a narrower interval, {_way_out(finding)}."
    )


def _verification_failed(finding: Finding) -> str:
    values, checks = finding.values, finding.values["checks"]
    return (
        f"{count(values['pool_size'], 'connection')} at {percent(values['load'])} of its own throughput failed checks "
        f"({', '.join(checks)}): {check_detail(checks[0], values['values'])}."
    )


def _nothing_verified(_: Finding) -> str:
    return "--verify measured nothing, because no step is valid."


def _retried(finding: Finding) -> str:
    excluded = finding.values["sizes"]
    steps, sizes = count(len(excluded), "step"), pool_sizes(sorted(set(excluded)))
    replaced = "is excluded, and another step was measured in its place"
    if len(excluded) > 1:
        replaced = "are excluded, and other steps were measured in their place"
    return f"{steps} at {sizes} {replaced}; `poolsize analyze` says why."


def _speed_corrected(finding: Finding) -> str:
    values = finding.values
    changes = " to ".join(dict.fromkeys(signed_percent(values[name]) for name in ("low", "high")))
    return (
        f"The machine's speed changed. The throughput of {count(values['steps'], 'step')} is corrected to the usual "
        f"speed of the machine, by {changes}; latencies are as measured."
    )


def _left_out(finding: Finding) -> str:
    left_out = pool_sizes(finding.values["sizes"])
    return (
        f"Not used for the answer: {left_out}, because {count(finding.values['users'], 'user')} never filled the pool."
    )


def _recording(_: Finding) -> str:
    return (
        "The run replays a recording. If the recording is not of your own server, measure your server before you "
        "rely on the answer."
    )


def _not_durable(_: Finding) -> str:
    return (
        "Commits do not wait for the disk (innodb_flush_log_at_trx_commit is not 1). The answer holds only for this "
        "setting."
    )


def _cores_assumed(finding: Finding) -> str:
    return (
        f"The formula assumes that the database's host has {count(finding.values['cores'], 'core')}, as many as "
        "the machine of the sweep. Set --cores to the host's number."
    )


def _thread_pool(_: Finding) -> str:
    return "The server's thread pool is active: throughput falls less at pool sizes that are too large."


def _total(_: Finding) -> str:
    return (
        "The pool size is the total for all clients of the database. `poolsize fleet` divides it among your "
        "application's instances and processes."
    )


def _size_unconfirmed(_: Finding) -> str:
    return (
        "Nothing shows that the application's pool had the measured sizes. Give `database` or `metrics` in the "
        "application's file: then each step is checked."
    )


def _each_pool(finding: Finding) -> str:
    instances, processes = finding.values["instances"], finding.values["processes"]
    return (
        f"The pool size is that of each pool. The application has {count(instances, 'instance')} with "
        f"{count(processes, 'process', 'processes')} each, so {instances * processes} pools."
    )


def _rate_not_served(finding: Finding) -> str:
    return (
        f"No measured pool size serves {per_second(finding.values['rate'])}: measure larger --pool-sizes, or leave "
        "--rate out to measure the capacity."
    )


def _generator_everywhere(finding: Finding) -> str:
    return f"A worker was saturated or late at every pool size. {_way_out(finding)}"


def _users_limited_everywhere(finding: Finding) -> str:
    return f"With {count(finding.values['users'], 'user')}, no pool was ever full: {_way_out(finding)}."


def _nothing_valid(_: Finding) -> str:
    return "No step passed its checks. See them with `poolsize analyze`, and measure again."


def _noisy(finding: Finding) -> str:
    values = finding.values
    return f"The range is too wide for an answer, {values['low']} to {values['high']} connections: {_way_out(finding)}."


def _generator_not_separable(finding: Finding) -> str:
    return (
        "A worker was saturated or late, and the service demands of load generator and server can't be separated. "
        f"{_way_out(finding)}"
    )


def _mostly_failed(finding: Finding) -> str:
    doubt = " The answer is in doubt." if finding.values["has_size"] else ""
    return f"{_failed_attempts(finding)}{doubt} {_way_out(finding)}."


def _too_few_valid(finding: Finding) -> str:
    valid = finding.values["valid"]
    left = f"Only the pool size {valid[0]} is valid, and one size has none to compare it with." if valid else ""
    return f"{_failed_attempts(finding)} {left or 'No pool size is valid.'} {_way_out(finding)}."


def _failed_attempts(finding: Finding) -> str:
    """Return the cause first: what other programs used, or the checks that failed."""
    values = finding.values
    checks = ", ".join(f"{check} {count(number, 'time')}" for check, number in values["checks"].items())
    failed = f"{values['failed']} of {count(values['attempts'], 'measured step')} failed a check ({checks})."
    if "other_cores" not in values:
        return f"Other programs used this machine: {failed}" if Check.QUIET in values["checks"] else failed
    names = ", ".join(
        f"{'another ' if name in OWN_NAMES else ''}{name} ({used:.1f})" for name, used in values["programs"].items()
    )
    others = f"Other programs used {values['other_cores']:.1f} of this machine's {values['cores']:g} cores"
    return f"{others}{f', most of all {names}' if names else ''}: {failed}"


def _beyond_measured(finding: Finding) -> str:
    values = finding.values
    return (
        f"The sweep measured {per_second(values['highest'])} at most. That your application can reach "
        f"{per_second(values['capacity'])} follows from the fitted network alone."
    )


def _short_usage_time(finding: Finding) -> str:
    values = finding.values
    return (
        f"The usage time of {milliseconds(values['usage_time_ms'])} is shorter than the "
        f"{milliseconds(values['database_ms'])} that a transaction of this run takes in the database alone, so the "
        "answer is for an application that adds nothing. Check that both are the same transaction, on the same server."
    )


def _few_steps(finding: Finding) -> str:
    steps = finding.values["steps"]
    more = "search with a larger --budget" if finding.values["search"] else "add --repeats 3"
    return (
        f"{count(steps, 'step')} at different pool sizes do not show how much a repeated step would differ. The 95 % "
        f"range assumes the usual noise between steps. To measure the noise, {more}."
    )


WARNINGS: Mapping[Code, Callable[[Finding], str]] = {
    Code.MOSTLY_FAILED: _mostly_failed,
    Code.LIMIT_BROKEN: _limit_broken,
    Code.BEYOND_MEASURED: _beyond_measured,
    Code.SHORT_USAGE_TIME: _short_usage_time,
    Code.HIGH_UTILISATION: _high_utilisation,
    Code.GENERATOR_LIMITED: _generator_limited,
    Code.USERS_LIMITED: _users_limited,
    Code.ONE_SIZE: _one_size,
    Code.STILL_RISING: _still_rising,
    Code.SMALLEST_SIZE: _smallest_size,
    Code.CHECK_FAILED: _check_failed,
    Code.WIDE_RANGE: _wide_range,
    Code.FEW_STEPS: _few_steps,
    Code.BUDGET_SPENT: _budget_spent,
    Code.VERIFICATION_FAILED: _verification_failed,
    Code.NOTHING_VERIFIED: _nothing_verified,
    Code.RETRIED: _retried,
    Code.SPEED_CORRECTED: _speed_corrected,
    Code.LEFT_OUT: _left_out,
    Code.RECORDING: _recording,
    Code.NOT_DURABLE: _not_durable,
    Code.CORES_ASSUMED: _cores_assumed,
    Code.THREAD_POOL: _thread_pool,
    Code.TOTAL: _total,
    Code.EACH_POOL: _each_pool,
    Code.SIZE_UNCONFIRMED: _size_unconfirmed,
    Code.RATE_NOT_SERVED: _rate_not_served,
    Code.GENERATOR_EVERYWHERE: _generator_everywhere,
    Code.USERS_LIMITED_EVERYWHERE: _users_limited_everywhere,
    Code.NOTHING_VALID: _nothing_valid,
    Code.TOO_FEW_VALID: _too_few_valid,
    Code.NOISY: _noisy,
    Code.GENERATOR_NOT_SEPARABLE: _generator_not_separable,
}
