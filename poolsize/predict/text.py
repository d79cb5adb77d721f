"""A prediction as text for a terminal, and as a JSON object."""

from collections.abc import Mapping
from typing import TypedDict

from poolsize.analysis.models.closed_network import FittedNetwork, Station
from poolsize.predict.predicted_size import PredictedSize
from poolsize.predict.prediction import (
    CoresMayNotHelp,
    CoresScaleCpu,
    Extrapolated,
    Prediction,
    UsageAsMeasured,
    UsageExponential,
    UsersRoundedUp,
    UsersTimeOut,
    WhatIf,
)
from poolsize.present.text.layout import UNKNOWN, Table, bullets
from poolsize.present.text.sentences.findings import FindingValues, finding_values, register_templates, sentence
from poolsize.units import count, milliseconds, number, per_second

PRINTED = ("p50", "p95", "p99")
"""The quantiles whose errors are printed."""
ERRORS = (
    "Accuracy: as a test, the model predicted the latencies at each measured pool size. It did not\n"
    "use the wait times and the spread of usage times at that size. Errors (root mean square):"
)
NEGLIGIBLE = 0.001
"""A time below this share of the longest is not named."""


def prediction_text(prediction: Prediction) -> str:
    """Return the users, a table with one row a pool size, the errors, and the assumptions behind the figures."""
    title = f"Predicted for {count(prediction.users, 'user')}, think time {milliseconds(prediction.think_time_ms)}"
    title += _changes(prediction.what_if)
    error = (
        "With the run's own settings, the model's throughput differs from the measurement by "
        f"{100 * prediction.error:.1f} %."
    )
    notes = (*_network(prediction.network), error, *map(sentence, prediction.findings))
    rows = tuple(
        (latency, *(f"{100 * errors[quantile]:.0f} %" for quantile in PRINTED))
        for latency, errors in prediction.latency_errors.items()
    )
    errors = f"{ERRORS}\n\n{Table(('', *PRINTED), rows).as_text()}" if rows else ""
    return "\n\n".join(filter(None, (title, _sizes(prediction).as_text(), errors, bullets(notes))))


def _changes(what_if: WhatIf) -> str:
    """Return the changes of database and application, with a leading comma each."""
    changes = (
        what_if.cores and f"{count(what_if.cores, 'core')} on the database's host",
        what_if.round_trip_ms is not None and f"round trip {milliseconds(what_if.round_trip_ms)}",
        what_if.instances > 1 and f"{what_if.instances} instances of the application",
    )
    return "".join(f", {change}" for change in changes if change)


def _sizes(prediction: Prediction) -> Table:
    columns = ("pool", "throughput", "measured", "in use", "wait p50", "p95", "usage p50", "p95", "total p95", "p99")
    timeouts = any(size.timeouts > 0 for size in prediction.sizes)
    rows = tuple(
        (
            str(size.pool_size),
            per_second(size.throughput),
            UNKNOWN if size.measured is None else per_second(size.measured),
            number(size.at_work),
            *map(milliseconds, (size.wait.p50, size.wait.p95, size.usage.p50, size.usage.p95)),
            *map(milliseconds, (size.total.p95, size.total.p99)),
            *([per_second(size.timeouts)] if timeouts else []),
        )
        for size in prediction.sizes
    )
    return Table((*columns, "timeouts") if timeouts else columns, rows).without_unknown()


def _network(network: FittedNetwork) -> tuple[str, ...]:
    """Return the parts of a transaction's time in the network, and what each station with several servers does."""
    where, queue = ("in a further queue of the database", "further queue")
    if not network.cpu.demand_ms:
        where, queue = ("in the database", "database")
    times = (
        (network.cpu.demand_ms, "of CPU time on the server"),
        (network.queue.demand_ms, where),
        (network.client.demand_ms, "of CPU time in the load generator"),
        (network.delay_ms, "of delay without a queue"),
    )
    least_ms = NEGLIGIBLE * max(time_ms for time_ms, _ in times)
    parts = ", ".join(f"{milliseconds(time_ms)} {place}" for time_ms, place in times if time_ms > least_ms)
    return f"In the model, a transaction needs {parts}.", *(
        f"The {name} serves up to {station.servers} transactions at a time; its throughput is then "
        f"{number(station.servers**station.scaling)} times that of one transaction at a time."
        for station, name in ((network.cpu, "server's CPU"), (network.queue, queue))
        if station.demand_ms > least_ms and station.servers > 1
    )


class NetworkValues(TypedDict):
    """The fitted closed network: its stations, and the time of a transaction without a queue, delay_ms."""

    client: Station
    cpu: Station
    queue: Station
    delay_ms: float


class PredictionValues(TypedDict):
    """The prediction of a run with differences.

    network: with the differences. users: of all instances. think_time_ms: mean pause of a user between transactions.
    sizes: the prediction for each pool size. error: root mean square error, a share, of the fitted network's throughput
    at the measured sizes. latency_errors: latency -> quantile -> the same of the predicted times; empty where the run
    does not know them. what_if: the differences from the run, each null where the run's value stays. notes: the
    findings as sentences.
    """

    network: NetworkValues
    users: int
    think_time_ms: float
    sizes: tuple[PredictedSize, ...]
    error: float
    latency_errors: Mapping[str, Mapping[str, float]]
    findings: list[FindingValues]
    what_if: WhatIf
    notes: list[str]


def prediction_values(prediction: Prediction) -> PredictionValues:
    """Return a prediction as data for JSON."""
    network = prediction.network
    return {
        "network": {
            "client": network.client, "cpu": network.cpu, "queue": network.queue, "delay_ms": network.delay_ms,
        },
        "users": prediction.users,
        "think_time_ms": prediction.think_time_ms,
        "sizes": prediction.sizes,
        "error": prediction.error,
        "latency_errors": prediction.latency_errors,
        "findings": list(map(finding_values, prediction.findings)),
        "what_if": prediction.what_if,
        "notes": list(map(sentence, prediction.findings)),
    }  # fmt: skip


def _users_time_out(finding: UsersTimeOut) -> str:
    least, most = (f"{100 * share:.0f} %" for share in (finding.least, finding.most))
    return (
        f"With {{sizes:sizes}}, {least if least == most else f'{least} to {most}'} of the requests for a connection "
        "time out after {timeout_seconds:number} s, the run's pool timeout. The times in the table are those of the "
        "other requests."
    )


register_templates(
    {
        CoresScaleCpu: "More cores let the server work on more transactions at a time. They do not shorten a "
        "transaction: it still needs {cpu_ms:ms} of CPU time on the server.",
        CoresMayNotHelp: "The run's bottleneck is not the server's CPU ({bottleneck}): more cores may not help.",
        UsersTimeOut: _users_time_out,
        UsersRoundedUp: "Every instance has {users_per_instance} users, because {users:,} was rounded up to a multiple "
        "of the instances.",
        Extrapolated: "Above {largest_measured} connections the prediction is an extrapolation: nothing was measured "
        "there.",
        UsageAsMeasured: "The percentiles assume that usage times vary around their mean as they did at the measured "
        "pool size that is nearest to the connections in use.",
        UsageExponential: "Usage times are assumed to be exponentially distributed, because the run contains no usage "
        "times.",
    }
)
