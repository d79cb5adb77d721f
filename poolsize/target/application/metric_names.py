"""The names under which pools publish their metrics on a Prometheus page, and their units.

Sources: HikariCP's MicrometerMetricsTracker and its own Prometheus tracker; Spring Boot's DataSourcePoolMetrics;
Micrometer's CommonsObjectPool2Metrics (DBCP2); client_golang's dbstats_collector; OpenTelemetry's semantic conventions
for database clients, today's names and the earlier ones.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class MetricName:
    """A metric's name. unit: what the metric is multiplied by. state: value of its label `state`, or None."""

    name: str
    unit: float = 1.0
    state: str | None = None


METRIC_NAMES: dict[str, tuple[MetricName, ...]] = {
    "pool_active": (
        MetricName("hikaricp_connections_active"),
        MetricName("hikaricp_active_connections"),
        MetricName("commons_pool2_num_active"),
        MetricName("go_sql_in_use_connections"),
        MetricName("db_client_connection_count", state="used"),
        MetricName("db_client_connections_usage", state="used"),
        MetricName("jdbc_connections_active"),
    ),
    "pool_waiting": (
        MetricName("hikaricp_connections_pending"),
        MetricName("hikaricp_pending_threads"),
        MetricName("commons_pool2_num_waiters"),
        MetricName("db_client_connection_pending_requests"),
        MetricName("db_client_connections_pending_requests"),
    ),
    "pool_max": (
        MetricName("hikaricp_connections_max"),
        MetricName("hikaricp_max_connections"),
        MetricName("go_sql_max_open_connections"),
        MetricName("db_client_connection_max"),
        MetricName("db_client_connections_max"),
        MetricName("jdbc_connections_max"),
    ),
    "pool_wait_seconds": (
        MetricName("hikaricp_connections_acquire_seconds_sum"),
        MetricName("hikaricp_connection_acquired_nanos_sum", unit=1e-9),
        MetricName("go_sql_wait_duration_seconds_total"),
        MetricName("db_client_connection_wait_time_seconds_sum"),
        MetricName("db_client_connections_wait_time_milliseconds_sum", unit=1e-3),
    ),
    "pool_usage_seconds": (
        MetricName("hikaricp_connections_usage_seconds_sum"),
        MetricName("hikaricp_connection_usage_millis_sum", unit=1e-3),
        MetricName("db_client_connection_use_time_seconds_sum"),
        MetricName("db_client_connections_use_time_milliseconds_sum", unit=1e-3),
    ),
    "pool_timeouts": (
        MetricName("hikaricp_connections_timeout_total"),
        MetricName("hikaricp_connection_timeout_total"),
        MetricName("db_client_connection_timeouts_total"),
        MetricName("db_client_connections_timeouts_total"),
    ),
}
"""Counter of a step -> the metrics that have it; the first that a page has counts."""

DRUID_FIELDS: dict[str, tuple[str, float]] = {
    "pool_active": ("ActiveCount", 1.0),
    "pool_waiting": ("WaitThreadCount", 1.0),
    "pool_max": ("MaxActive", 1.0),
    "pool_wait_seconds": ("NotEmptyWaitMillis", 1e-3),
}
"""Counter of a step -> the field of Druid's /druid/datasource.json that has it, and its unit."""
