"""The summary of k6: of --summary-export, or of handleSummary."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from poolsize.errors import BadInput
from poolsize.recordings.importers.load_run import LoadRun, mean_of_run, number_at, quantile_name, usual_percentage

PERCENTILE = re.compile(r"p\((\d{1,2}(?:\.\d{1,4})?)\)$")


def read(path: Path, summary: Mapping[str, Any]) -> Iterator[LoadRun]:
    """Yield the run: requests, or else iterations, per second without failed ones, at so many virtual users.

    Raises BadInput without a rate, and where the number of virtual users is missing.
    """

    def figures(metric: str) -> Any:
        metrics = summary["metrics"]
        values = metrics.get(metric) if isinstance(metrics, dict) else None
        return values.get("values", values) if isinstance(values, dict) else {}

    users = (
        number_at(figures("vus"), "max") or number_at(figures("vus_max"), "max") or number_at(figures("vus"), "value")
    )
    if not users or not 1 <= users <= 1e9:
        raise BadInput(f"{path}: the summary of k6 lacks the number of virtual users, the metric `vus`")
    fewest = number_at(figures("vus"), "min")
    if fewest is not None and fewest < users:
        raise BadInput(
            f"{path}: k6 had {fewest:g} to {users:g} virtual users, so the mean is of no pool size: keep --vus"
        )
    metric = "http_reqs" if figures("http_reqs") else "iterations"
    rate = number_at(figures(metric), "rate")
    if rate is None:
        raise BadInput(f"{path}: the summary of k6 lacks the rate of `http_reqs` and of `iterations`")
    failed = figures("http_req_failed") if metric == "http_reqs" else {}
    share = number_at(failed, "rate") or number_at(failed, "value") or 0.0
    duration = figures("http_req_duration" if metric == "http_reqs" else "iteration_duration")
    percentages = [match[1] for name in duration if (match := PERCENTILE.match(name))] if duration else []
    percentage = usual_percentage(percentages)
    latency_ms = number_at(duration, f"p({percentage})") or 0.0
    yield mean_of_run(int(users), rate * (1 - share), latency_ms, quantile_name(percentage) if percentage else None)
