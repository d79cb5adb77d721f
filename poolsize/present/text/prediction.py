"""A prediction as text for a terminal."""

from poolsize.answer.prediction import Prediction
from poolsize.present.text.bullets import bullets
from poolsize.present.text.sentences.findings import sentence
from poolsize.present.text.table import Table
from poolsize.units import count, milliseconds, number, per_second

NEGLIGIBLE = 0.001
"""A delay below this share of the service time is not named."""


def prediction_text(prediction: Prediction) -> str:
    """Return the users, a table with one row a pool size, and the assumptions behind the figures."""
    network = prediction.network
    title = f"{count(prediction.users, 'user')}, think time {milliseconds(prediction.think_time_ms)}"
    parts = [f"{milliseconds(network.service_ms)} in the database"]
    if network.client.demand_ms:
        parts.append(f"{milliseconds(network.client.demand_ms)} of CPU time in the load generator")
    if network.delay_ms > NEGLIGIBLE * network.service_ms:
        parts.append(f"{milliseconds(network.delay_ms)} of delay without a queue")
    columns = ("pool", "throughput", "measured", "in use", "wait p50", "p95", "usage p50", "p95", "total p95", "p99")
    rows = tuple(
        (
            str(size.pool_size),
            per_second(size.throughput),
            "" if size.measured is None else per_second(size.measured),
            number(size.at_work),
            *map(milliseconds, (size.wait.p50, size.wait.p95, size.usage.p50, size.usage.p95)),
            *map(milliseconds, (size.total.p95, size.total.p99)),
        )
        for size in prediction.sizes
    )
    demands = f"Service demands in the model: {', '.join(parts)}."
    if network.servers > 1:
        speed = f"{number(network.servers**network.scaling)} times that of one transaction at a time"
        most = f"The database serves up to {network.servers} transactions at a time"
        demands += f" {most}; its throughput is then {speed}."
    error = f"With the run's own settings, the model differs from the measurement by {100 * prediction.error:.1f} %."
    notes = (demands, error, *map(sentence, prediction.findings))
    return f"{title}\n\n{Table(columns, rows).as_text()}\n\n{bullets(filter(None, notes))}"
