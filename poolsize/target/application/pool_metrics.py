"""The metrics page of an application -> the counters of its pools."""

import json
from collections.abc import Sequence
from typing import Any

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from poolsize.target.application.metric_names import DRUID_FIELDS, METRIC_NAMES, MetricName

POOL_LABELS = ("pool", "pool_name", "db_client_connection_pool_name", "db_name", "name")
"""Labels that tell the pools of a page apart."""


def pool_metrics(text: str) -> dict[str, float]:
    """Return the counters that a metrics page has of its pools, summed over the pools; empty without any.

    Keys are those of METRIC_NAMES, and `pool_count`, the number of pools. text: a Prometheus page, or Druid's JSON.
    """
    try:
        content = json.loads(text)
    except ValueError:
        return _of_prometheus(text)
    return _of_druid(content)


def _of_prometheus(text: str) -> dict[str, float]:
    try:
        samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    except ValueError:
        return {}
    counters: dict[str, float] = {}
    for counter, names in METRIC_NAMES.items():
        known = next((found for name in names if (found := _of_name(samples, name))), None)
        if known is None:
            continue
        counters[counter] = sum(known.values())
        counters["pool_count"] = max(len(known), counters.get("pool_count", 0.0))
    return counters


def _of_name(samples: Sequence[Sample], name: MetricName) -> dict[tuple[str, ...], float]:
    """Return the pool's labels -> the value of a metric."""
    return {
        tuple(sample.labels.get(label, "") for label in POOL_LABELS): sample.value * name.unit
        for sample in samples
        if sample.name == name.name and (name.state is None or sample.labels.get("state") == name.state)
    }


def _of_druid(content: Any) -> dict[str, float]:
    pools = content.get("Content") if isinstance(content, dict) else None
    if not isinstance(pools, list) or not pools or not all(isinstance(pool, dict) for pool in pools):
        return {}
    counters = {
        counter: unit * sum(float(pool[field]) for pool in pools)
        for counter, (field, unit) in DRUID_FIELDS.items()
        if all(isinstance(pool.get(field), int | float) for pool in pools)
    }
    return counters | {"pool_count": float(len(pools))} if counters else {}
