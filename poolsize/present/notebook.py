"""What notebooks show: an analysis as pandas tables, and plots with alternative texts."""

from collections.abc import Iterator
from contextlib import contextmanager

import matplotlib.pyplot as plt
import pandas as pd
from IPython.display import display
from matplotlib.axes import Axes

from poolsize.analysis.analysis import Analysis
from poolsize.present.text.tables import failed_names
from poolsize.runs.run import LATENCIES

WIDTH, HEIGHT = 7.2, 3.8
"""Inches of a plot in a notebook."""
QUANTILES = ("p50", "p95", "p99")
COUNTERS = {
    "Threads_running": "threads running",
    "Questions": "statements/s",
    "process_cpu": "server cores busy",
    "process_context_switches": "context switches/s",
    "Innodb_row_lock_waits": "row lock waits/s",
    "Innodb_row_lock_time": "row lock ms/s",
    "Innodb_os_log_written": "redo log bytes/s",
    "Innodb_os_log_fsyncs": "redo log fsyncs/s",
    "Innodb_buffer_pool_reads": "pages from disk/s",
    "process_written_bytes": "bytes written/s",
    "application_cpu": "application cores busy",
    "application_memory_bytes": "application memory bytes",
    "pool_active": "connections in use",
    "machine_speed": "machine speed",
    "machine_steal": "stolen cores",
}
"""Server counter -> its column, with unit."""
THREAD_POOL_COUNTERS = {"Threadpool_threads": "pool threads", "Threadpool_idle_threads": "idle pool threads"}
"""Counter -> its column, for a server whose thread pool is active; any other MariaDB counts 0."""


def sizes_frame(analysis: Analysis) -> pd.DataFrame:
    """Return a table with one row a pool size, ascending, indexed by pool_size.

    Columns: throughput per second with its 95 % interval (low, high), percentiles of wait, usage and total time in ms,
    failed transactions (errors) and failed checks.
    """
    rows = []
    for size in analysis.sizes:
        rates = {name: round(getattr(size.throughput, name), 1) for name in ("mean", "low", "high")}
        times = {
            f"{latency}_{quantile}": round(getattr(getattr(size, latency), quantile), 2)
            for latency in LATENCIES
            for quantile in QUANTILES
        }
        checks = {"errors": size.errors, "checks": failed_names(size.failed_checks)}
        rows.append({"pool_size": size.pool_size, "throughput": rates.pop("mean")} | rates | times | checks)
    return pd.DataFrame(rows).set_index("pool_size")


def counters_frame(analysis: Analysis) -> pd.DataFrame:
    """Return a table with one row a pool size, ascending, indexed by pool_size: the means of the server's counters.

    Counters that the run does not have are left out. Units are in the column names.
    """
    server = analysis.setting.server
    counters = COUNTERS | (THREAD_POOL_COUNTERS if server and server.thread_pool else {})
    rows = [
        {"pool_size": size.pool_size}
        | {label: analysis.by_size.counter(name, size.pool_size) for name, label in counters.items()}
        for size in analysis.sizes
    ]
    return pd.DataFrame(rows).set_index("pool_size").dropna(axis=1, how="all").round(2)


@contextmanager
def picture(alt: str, title: str = "") -> Iterator[Axes]:
    """Yield the axes of a new plot; at the end of the context, show the plot. alt: its alternative text."""
    figure, ax = plt.subplots(figsize=(WIDTH, HEIGHT), layout="constrained")
    if title:
        figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")
    yield ax
    plt.close(figure)  # or the notebook shows the plot a second time
    display(figure, metadata={"image/png": {"alt": alt}})  # type: ignore[no-untyped-call]  # IPython has no types
