"""An analysis as a pandas table, for notebooks."""

import pandas as pd

from poolsize.analysis.summary import Analysis

QUANTILES = ("p50", "p95", "p99")


def sizes_table(analysis: Analysis) -> pd.DataFrame:
    """One line a pool size: throughput per second with its interval, percentiles in ms, failed checks."""
    rows = []
    for size in analysis.sizes:
        row: dict[str, object] = {
            "throughput": round(size.throughput.mean, 1),
            "low": round(size.throughput.low, 1),
            "high": round(size.throughput.high, 1),
        }
        for name, latency in (("wait", size.wait), ("usage", size.usage), ("total", size.total)):
            row |= {f"{name}_{quantile}": round(getattr(latency, quantile), 2) for quantile in QUANTILES}
        failed = dict.fromkeys(check.name for check in size.failed_checks)
        rows.append({"pool_size": size.pool_size} | row | {"errors": size.errors, "failed_checks": ", ".join(failed)})
    return pd.DataFrame(rows).set_index("pool_size")
