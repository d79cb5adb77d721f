"""The pool size of an application as sentences."""

from collections.abc import Callable, Mapping

from poolsize.answer.application import EXPLANATIONS
from poolsize.answer.finding import Code, Finding
from poolsize.units import count, milliseconds, per_second, percent


def sizes_text(sizes: tuple[int, int]) -> str:
    """Return the range of a pool size: 6 to 9, or 7 where both ends are equal."""
    low, high = sizes
    return str(low) if low == high else f"{low} to {high}"


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
