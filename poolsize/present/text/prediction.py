"""A prediction as plain text for a terminal, and as JSON for a program."""

import json
from dataclasses import asdict

from poolsize.answer.prediction import Prediction
from poolsize.present.text.bullets import bullets
from poolsize.present.text.table import Table
from poolsize.units import count, milliseconds, number, per_second, percent

TOLD = 0.001
"""A delay below this share of the service is none."""


def prediction_text(found: Prediction) -> str:
    """What was put in, a table with one line a pool size, and what the figures rest on."""
    network = found.network
    title = f"{count(found.users, 'user')} who think for {milliseconds(found.think_time_ms)} between transactions"
    parts = [
        f"{milliseconds(network.service_ms)} of service on {count(network.servers, 'parallel server')} of the model"
    ]
    if network.client.demand_ms:
        parts.append(f"{milliseconds(network.client.demand_ms)} of the client's processor")
    if network.delay_ms > TOLD * network.service_ms:
        parts.append(f"{milliseconds(network.delay_ms)} that nobody queues for")
    columns = ("pool", "throughput", "measured", "in use", "wait p50", "p95", "usage p50", "p95", "total p95", "p99")
    rows = tuple(
        (
            str(one.pool_size),
            per_second(one.throughput),
            "" if one.measured is None else per_second(one.measured),
            number(one.at_work),
            *map(milliseconds, (one.wait.p50, one.wait.p95, one.usage.p50, one.usage.p95)),
            *map(milliseconds, (one.total.p95, one.total.p99)),
        )
        for one in found.sizes
    )
    error = f"At the sizes that were measured the network is {percent(found.error)} off."
    notes = (f"A transaction takes {', '.join(parts)}.", error, *found.notes)
    return f"{title}\n\n{Table(columns, rows).as_text()}\n\n{bullets(filter(None, notes))}"


def prediction_json(found: Prediction) -> str:
    """One JSON object: users, think_time_ms, network, sizes, error and notes."""
    fields = asdict(found)
    fields["network"].pop("covariance")
    return json.dumps(fields)
