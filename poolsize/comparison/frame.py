"""The differences between two runs as a pandas table, for notebooks."""

import pandas as pd

from poolsize.comparison.comparison import Comparison, RunDifference


def differences_frame(comparison: Comparison, other: RunDifference) -> pd.DataFrame:
    """Return a table with one row a pool size of both runs, ascending, indexed by pool_size.

    Columns: throughput per second of the first and of this run; the differences of throughput and p95 total time in
    percent of the first run, with 95 % intervals, and whether they are significant.
    """
    rows = []
    for size in other.sizes:
        row: dict[str, object] = {
            "pool_size": size.pool_size,
            "first": round(comparison.first.analysis.at(size.pool_size).throughput.mean, 1),
            "this": round(other.run.analysis.at(size.pool_size).throughput.mean, 1),
        }
        for name, difference in (("throughput", size.throughput), ("p95", size.p95)):
            if difference is not None:
                row |= {
                    f"{name}_more_percent": round(100 * difference.mean, 1),
                    f"{name}_low": round(100 * difference.low, 1),
                    f"{name}_high": round(100 * difference.high, 1),
                    f"{name}_significant": difference.significant,
                }
        rows.append(row)
    return pd.DataFrame(rows).set_index("pool_size")
