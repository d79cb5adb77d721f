"""The warnings of an answer, and the refusals of a pool size, as sentences."""

from collections.abc import Callable, Mapping

from poolsize.answer.finding import Code, Finding
from poolsize.present.text.sentences.checks import check_detail
from poolsize.present.text.sentences.reasons import limits_text
from poolsize.present.text.sentences.ways_out import way_out_sentence
from poolsize.units import count, milliseconds, number, per_second, percent


def _way_out(finding: Finding) -> str:
    assert finding.way_out is not None
    return way_out_sentence(finding.way_out)


def _limit_broken(finding: Finding) -> str:
    values = finding.values
    callers = "" if values["users"] is None else f" with {count(values['users'], 'caller')}"
    return (
        f"No size kept {limits_text(values['limits_ms'])}{callers}: the lowest {values['quantile']} was "
        f"{milliseconds(values['lowest_ms'])}, at {count(values['pool_size'], 'connection')}. A pool's size can't do "
        "that: it takes fewer callers, or less work in a transaction."
    )


def _generator_limited(finding: Finding) -> str:
    size = count(finding.values["pool_size"], "connection")
    return (
        f"The load process itself was busy or late: {size} is what this client can use, and the database may take "
        f"more. {_way_out(finding)}"
    )


def _users_limited(finding: Finding) -> str:
    values = finding.values
    return (
        f"Larger pools than {values['largest']} were never full with {count(values['users'], 'user')}, so they say "
        f"nothing: {_way_out(finding)}."
    )


def _one_size(finding: Finding) -> str:
    size = finding.values["pool_size"]
    return f"Only {size} was measured, so there is nothing to compare it with: {_way_out(finding)}."


def _still_rising(finding: Finding) -> str:
    largest = finding.values["largest"]
    return f"Throughput was still rising at {largest}, the largest size measured: {_way_out(finding)}."


def _smallest_size(finding: Finding) -> str:
    return f"The smallest size that counts, {finding.values['pool_size']}, is already enough: {_way_out(finding)}."


def _check_failed(finding: Finding) -> str:
    values = finding.values
    sizes = ", ".join(map(str, values["sizes"]))
    return (
        f"Check {values['check']} failed with {sizes} connections: {check_detail(values['check'], values['values'])}."
    )


def _wide_range(finding: Finding) -> str:
    values = finding.values
    return f"The range is wide, from {values['low']} to {values['high']}; to narrow it, {_way_out(finding)}."


def _budget_spent(finding: Finding) -> str:
    values = finding.values
    return (
        f"The search spent its {number(values['budget_seconds'])} s before it was certain: the size gives up between "
        f"{percent(values['loss_low'])} and {percent(values['loss_high'])} of the throughput; to know it better, "
        f"{_way_out(finding)}."
    )


def _verification_failed(finding: Finding) -> str:
    values, checks = finding.values, finding.values["checks"]
    return (
        f"{count(values['pool_size'], 'connection')} at {percent(values['load'])} of what it can do failed its checks "
        f"({', '.join(checks)}): {check_detail(checks[0], values['values'])}."
    )


def _nothing_verified(_: Finding) -> str:
    return "Nothing was verified: the sweep found no size whose capacity could be taken a part of."


def _retried(finding: Finding) -> str:
    sizes = ", ".join(map(str, finding.values["sizes"]))
    return f"Steps that failed a check and were measured again, by their connections: {sizes}; see poolsize analyze."


def _left_out(finding: Finding) -> str:
    sizes = ", ".join(map(str, finding.values["sizes"]))
    return f"Left out: {sizes}, pools that {count(finding.values['users'], 'user')} never filled."


def _recording(_: Finding) -> str:
    return "It is a recording of one machine with one load: sweep your own server before you rely on it."


def _not_durable(_: Finding) -> str:
    return "The server does not wait for the disk when it commits (innodb_flush_log_at_trx_commit is not 1)."


def _cores_assumed(finding: Finding) -> str:
    return (
        f"The formula assumed that the database's host has {count(finding.values['cores'], 'core')}, as the load's "
        "machine has: give its --cores."
    )


def _thread_pool(_: Finding) -> str:
    return "The server's thread pool is on: it flattens the curve's tail."


def _total(_: Finding) -> str:
    return "It is the total for all clients of the database: divide it over instances and processes."


def _rate_not_served(finding: Finding) -> str:
    return (
        f"No pool that was measured served {per_second(finding.values['rate'])}: sweep larger --pool-sizes, or find "
        "out what the database can do by leaving --rate out."
    )


def _generator_everywhere(finding: Finding) -> str:
    return f"The load process itself was busy or late at every size. {_way_out(finding)}"


def _users_limited_everywhere(finding: Finding) -> str:
    return f"No pool was ever full with {count(finding.values['users'], 'user')}: {_way_out(finding)}."


def _nothing_valid(_: Finding) -> str:
    return "No step passed its checks; see them with poolsize analyze, and measure again."


def _noisy(finding: Finding) -> str:
    values = finding.values
    return f"Anything from {values['low']} to {values['high']} connections may be right: {_way_out(finding)}."


def _generator_not_separable(finding: Finding) -> str:
    return (
        "The load process itself was busy or late, and what a transaction takes of the client and of the server "
        f"can't be told apart here. {_way_out(finding)}"
    )


WARNINGS: Mapping[Code, Callable[[Finding], str]] = {
    Code.LIMIT_BROKEN: _limit_broken,
    Code.GENERATOR_LIMITED: _generator_limited,
    Code.USERS_LIMITED: _users_limited,
    Code.ONE_SIZE: _one_size,
    Code.STILL_RISING: _still_rising,
    Code.SMALLEST_SIZE: _smallest_size,
    Code.CHECK_FAILED: _check_failed,
    Code.WIDE_RANGE: _wide_range,
    Code.BUDGET_SPENT: _budget_spent,
    Code.VERIFICATION_FAILED: _verification_failed,
    Code.NOTHING_VERIFIED: _nothing_verified,
    Code.RETRIED: _retried,
    Code.LEFT_OUT: _left_out,
    Code.RECORDING: _recording,
    Code.NOT_DURABLE: _not_durable,
    Code.CORES_ASSUMED: _cores_assumed,
    Code.THREAD_POOL: _thread_pool,
    Code.TOTAL: _total,
    Code.RATE_NOT_SERVED: _rate_not_served,
    Code.GENERATOR_EVERYWHERE: _generator_everywhere,
    Code.USERS_LIMITED_EVERYWHERE: _users_limited_everywhere,
    Code.NOTHING_VALID: _nothing_valid,
    Code.NOISY: _noisy,
    Code.GENERATOR_NOT_SEPARABLE: _generator_not_separable,
}
