"""The metrics in which pools and exporters count: their names, units and labels; and the samples of a metrics page.

Names are those that each library's source and its dashboards have. The exporters of OpenTelemetry add units and
suffixes to the names, and the exporter of JMX adds the names of beans.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import accumulate
from math import inf
from typing import Any, Literal, get_args

from prometheus_client.parser import text_string_to_metric_families

Quantity = Literal[
    "in_use", "in_use_max", "in_use_variance", "samples", "peak", "waiting", "waiting_max", "size",
    "uses", "usage_seconds", "wait_seconds", "timeouts", "usage_buckets", "wait_buckets",
    "running", "running_max", "connected", "connected_peak", "max_connections", "refused", "aborted",
    "process_started", "process_uptime",
]  # fmt: skip
"""What a metric counts: of a pool, of the database's server, or of the process that has the page.

peak, connected_peak: the most since the process started, or since somebody reset it. in_use_max, in_use_variance,
samples, waiting_max and running_max: made from a gauge by Prometheus. The sums, uses, timeouts, refused and
aborted count since the process started.
"""
QUANTITIES: frozenset[Quantity] = frozenset(get_args(Quantity))
TOMCAT_JDBC = r"(?:tomcat_jdbc|org_apache_tomcat_jdbc_pool_jmx)_(?:(?P<bean>\w+)_)?"
C3P0 = r"com_mchange_v2_c3p0_pooleddatasource_(?:(?P<bean>\w+)_)?"
"""Beginnings of names in the default format of the JMX exporter: the bean's domain and the value of its first property.

Format: prometheus/jmx_exporter, website/docs/configuration/rules.md. Tomcat JDBC's beans are
tomcat.jdbc:name="jdbc/shop",context=/shop (microsoft/ApplicationInsights-Java, issue 2247), tomcat.jdbc:type=
ConnectionPool (apache/tomcat, DataSource.java), and org.apache.tomcat.jdbc.pool.jmx:name=dataSourceMBean (newrelic's
Java agent, for Spring Boot 1). c3p0's are com.mchange.v2.c3p0:type=PooledDataSource,identityToken=..., and until 0.9.1
type=PooledDataSource[...] (swaldman/c3p0, ActiveManagementCoordinator.java).
"""
POOLS: dict[str, dict[str, str]] = {
    "HikariCP": {
        "in_use": "hikaricp_connections_active hikaricp_active_connections",
        "waiting": "hikaricp_connections_pending hikaricp_pending_threads",
        "size": "hikaricp_connections_max hikaricp_max_connections",
        "usage": "hikaricp_connections_usage_seconds hikaricp_connections_usage_milliseconds"
        " hikaricp_connection_usage_millis",
        "wait": "hikaricp_connections_acquire_seconds hikaricp_connections_acquire_milliseconds"
        " hikaricp_connection_acquired_nanos",
        "timeouts": "hikaricp_connections_timeout_total hikaricp_connection_timeout_total",
    },
    "DBCP2": {
        "in_use": "commons_pool2_num_active_objects commons_pool2_num_active",
        "waiting": "commons_pool2_num_waiters_threads commons_pool2_num_waiters",
        "uses": "commons_pool2_returned_objects_total commons_pool2_returned_total",
    },
    "Tomcat JDBC": {
        "in_use": rf"tomcat_jdbc_connections_active_total {TOMCAT_JDBC}active",
        "waiting": rf"tomcat_jdbc_waitingthreads_total {TOMCAT_JDBC}waitcount",
        "size": rf"tomcat_jdbc_connections_max {TOMCAT_JDBC}maxactive",
        "uses": rf"tomcat_jdbc_connections_returned_total {TOMCAT_JDBC}returnedcount",
    },
    "c3p0": {
        "in_use": rf"c3p0_num_busy_connections {C3P0}numbusyconnections",
        "waiting": rf"c3p0_num_threads_awaiting_checkout_default_user {C3P0}numthreadsawaitingcheckoutdefaultuser",
        "size": rf"c3p0_max_pool_size {C3P0}maxpoolsize",
    },
    "Agroal": {
        "in_use": "agroal_active_count vendor_agroal_active_count",
        "waiting": "agroal_awaiting_count vendor_agroal_awaiting_count",
        "peak": "agroal_max_used_count vendor_agroal_max_used_count",
        "uses": "agroal_acquire_count_total agroal_acquire_count",
        "wait_seconds": "agroal_blocking_time_total_milliseconds",
    },
    "Go database/sql": {
        "in_use": "go_sql_in_use_connections go_sql_stats_connections_in_use"
        " db_sql_connection_open{status=inuse} gorm_dbstats_in_use",
        "size": "go_sql_max_open_connections go_sql_stats_connections_max_open db_sql_connection_max_open"
        " gorm_dbstats_max_open_connections",
        "wait_seconds": "go_sql_wait_duration_seconds_total go_sql_stats_connections_blocked_seconds"
        " db_sql_connection_wait_duration_milliseconds_total gorm_dbstats_wait_duration",
    },
    "Vert.x": {
        "in_use": "vertx_pool_in_use{pool_type=sql|datasource}",
        "waiting": "vertx_pool_queue_pending{pool_type=sql|datasource}",
        "usage": "vertx_pool_usage_seconds{pool_type=sql|datasource}",
        "wait": "vertx_pool_queue_time_seconds{pool_type=sql|datasource}",
    },
    "R2DBC pool": {
        "in_use": "r2dbc_pool_acquired_connections r2dbc_pool_acquired",
        "waiting": "r2dbc_pool_pending_connections r2dbc_pool_pending",
        "size": "r2dbc_pool_max_allocated_connections r2dbc_pool_max_allocated",
    },
    "Prisma": {
        "in_use": "prisma_pool_connections_busy",
        "waiting": "prisma_client_queries_wait",
        "wait": "prisma_client_queries_wait_histogram_ms",
    },
    "generic-pool": {
        "in_use": "pool_size_total{type=borrowed}",
        "waiting": "pool_size_total{type=pending}",
        "size": "pool_size_total{type=max}",
    },
    "OpenTelemetry": {
        "in_use": "db_client_connection_count{state=used} db_client_connections_usage{state=used}"
        " db_client_connections_usage_connections{state=used}",
        "waiting": "db_client_connection_pending_requests db_client_connections_pending_requests",
        "size": "db_client_connection_max db_client_connections_max",
        "usage": "db_client_connection_use_time_seconds db_client_connection_use_time"
        " db_client_connections_use_time_milliseconds db_client_connections_use_time",
        "wait": "db_client_connection_wait_time_seconds db_client_connection_wait_time"
        " db_client_connections_wait_time_milliseconds db_client_connections_wait_time",
        "timeouts": "db_client_connection_timeouts_total db_client_connection_timeouts"
        " db_client_connections_timeouts_total db_client_connections_timeouts",
    },
    "Spring": {
        "in_use": "jdbc_connections_active",
        "size": "jdbc_connections_max",
    },
    "Tomcat": {
        "in_use": "catalina_datasource_numactive tomcat_dbcp2_connections_active_total",
        "size": "catalina_datasource_maxtotal tomcat_dbcp2_connections_max",
    },
}  # fmt: skip
"""Library -> quantity -> regular expressions of its names, in lower case; the first that a pool has counts.

`{label=value}` is what a sample must have. `usage` and `wait` are histograms or summaries, with _sum, _count and
_bucket. Names of Tomcat's pools without a bean are those of nlighten/tomcat_exporter (TomcatJdbcPoolExports.java,
TomcatDbcp2PoolExports.java), catalina_datasource_* are in the default format of the JMX exporter (elastic/integrations,
packages/apache_tomcat), and those of c3p0 are Metabase's (metabase/metabase, observability-with-prometheus.md).
"""
FRAMEWORKS = {"Spring", "Tomcat"}
"""Those whose gauges are of a pool that its own library may count, too."""
SERVER = {
    "running": "mysql_global_status_threads_running",
    "connected": "mysql_global_status_threads_connected",
    "connected_peak": "mysql_global_status_max_used_connections",
    "max_connections": "mysql_global_variables_max_connections",
    "refused": "mysql_global_status_connection_errors_total{error=max_connections}",
    "aborted": "mysql_global_status_aborted_clients",
}
"""Quantity -> the name of mysqld_exporter."""
PROCESS = {
    "process_started": "process_start_time_seconds",
    "process_uptime": "process_uptime_seconds mysql_global_status_uptime",  # the exporter's own start does not count
}
DRUID_FIELDS: dict[str, Quantity] = {
    "ActiveCount": "in_use",
    "ActivePeak": "peak",
    "WaitThreadCount": "waiting",
    "MaxActive": "size",
    "NotEmptyWaitMillis": "wait_seconds",
    "LogicCloseCount": "uses",
}
"""Field of Druid's /druid/datasource.json -> what it counts."""
DRUID_HOLD_TIMES = "ConnectionHoldTimeHistogram"
DRUID_BOUNDS_MS = (1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, inf)
SECONDS = {"nanos": 1e-9, "millis": 1e-3, "milliseconds": 1e-3, "ms": 1e-3}
"""Word in a metric's name -> the length of its unit in seconds."""
UNNAMED_SECONDS = {
    "gorm_dbstats_wait_duration": 1e-9,  # Go's durations
    "db_client_connections_use_time": 1e-3,  # the old convention counts in ms
    "db_client_connections_wait_time": 1e-3,
    "NotEmptyWaitMillis": 1e-3,
}
STATE = ("state", "db_client_connection_state")
"""Names that OpenTelemetry had for the label of a connection's state."""
POOL_LABELS = (
    "pool", "pool_name", "db_client_connection_pool_name", "db_name", "datasource", "name", "database", "bean",
)  # fmt: skip
"""Labels that tell the pools of a page apart."""
OTHER_SYSTEMS = {"redis", "mongodb", "memcached", "cassandra", "elasticsearch"}
MOST_SAMPLES = 10_000
"""A page with more samples of pools is not read."""
MOST_NAMES = 4_096
"""Names of metrics whose meaning is kept: those of a page are the same at each reading."""
LINE_NAME = re.compile(r"\w+(?!\S)", re.ASCII)
"""The name in a line of a Prometheus page, of which the labels are cut off."""
LONGEST_LINE = 2_000
"""Longer lines of a Prometheus page are not read: the time to parse labels grows with the square of their length."""


@dataclass(frozen=True)
class Metric:
    """A metric that poolsize knows. name: a regular expression. rank: of several metrics, the lowest is the best.

    library: "" for those of no pool. unit: what a value is multiplied by, to get seconds. label, label_values: what
    the label of a sample must be; label is "" where every sample counts.
    """

    name: str
    library: str
    quantity: Quantity
    rank: int
    unit: float = 1.0
    label: str = ""
    label_values: frozenset[str] = frozenset()

    def has(self, labels: Mapping[str, str]) -> bool:
        """Return whether a sample with these labels is of a pool of connections to a database, and counts."""
        if {labels.get("db_system"), labels.get("db_system_name")} & OTHER_SYSTEMS:
            return False
        if self.library == "DBCP2" and "dbcp" not in labels.get("factoryType", "dbcp"):
            return False  # a pool of something else, such as of connections to Redis
        names = STATE if self.label == "state" else (self.label,)
        return not self.label or any(labels.get(name) in self.label_values for name in names)


def _metrics() -> Iterator[Metric]:
    rank = 0
    for library, quantities in {**POOLS, "": SERVER | PROCESS}.items():
        for quantity, names in quantities.items():
            for text in names.split():
                name, _, condition = text.removesuffix("}").partition("{")
                label, _, values = condition.partition("=")
                for suffix, its in _parts(quantity).items():
                    rank += 1
                    unit = _unit(name) if its not in ("uses", "size") else 1.0
                    yield Metric(name + suffix, library, its, rank, unit, label, frozenset(values.split("|")))


def _parts(quantity: str) -> dict[str, Quantity]:
    """Return suffix of a name -> what it counts."""
    if quantity == "usage":
        return {"_sum": "usage_seconds", "_count": "uses", "_bucket": "usage_buckets"}
    if quantity == "wait":
        return {"_sum": "wait_seconds", "_bucket": "wait_buckets"}
    return {"": quantity}  # type: ignore[dict-item]  # the tables have only quantities


def _unit(name: str) -> float:
    return UNNAMED_SECONDS.get(name) or next((SECONDS[word] for word in name.split("_") if word in SECONDS), 1.0)


METRICS = tuple(_metrics())
DRUID_METRICS = {field: Metric(field, "Druid", counted, 0, _unit(field)) for field, counted in DRUID_FIELDS.items()}
DRUID_HOLD_METRIC = Metric(DRUID_HOLD_TIMES, "Druid", "usage_buckets", 0)
BEAN = "connectionpool"
"""Part of a name that is the type of a bean, and not the pool's own name."""


@cache
def _exact() -> Mapping[str, tuple[Metric, ...]]:
    exact: dict[str, tuple[Metric, ...]] = {}
    for metric in METRICS:
        if "(" not in metric.name:
            exact[metric.name] = (*exact.get(metric.name, ()), metric)
    return exact


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], Metric], ...]:
    return tuple((re.compile(metric.name), metric) for metric in METRICS if "(" in metric.name)


@lru_cache(MOST_NAMES)
def metrics_named(name: str) -> tuple[Metric, ...]:
    """Return the metrics of this name, of which a sample's labels select; empty for an unknown name."""
    plain = name.lower().replace(".", "_")
    return _exact().get(plain) or tuple(metric for pattern, metric in _patterns() if pattern.fullmatch(plain))


@dataclass(frozen=True)
class Sample:
    """A value of a metric. name: as the page has it. value: in seconds, if a time; whatever number the page has.

    bound: upper bound of a bucket in ms, inf for none; 0 for other metrics.
    """

    metric: Metric
    name: str
    labels: Mapping[str, str]
    value: float
    bound: float = 0.0

    @property
    def pool(self) -> tuple[str, ...]:
        """The labels that tell its pool from others of the page."""
        return tuple(self.labels.get(label, "") for label in POOL_LABELS)


def sample_of(name: str, labels: Mapping[str, str], value: float) -> Sample | None:
    """Return the sample of a metric with these labels; None for an unknown metric, and for what is no pool's."""
    metrics = metrics_named(name)
    if not metrics:
        return None
    plain = {label.replace(".", "_"): text for label, text in labels.items()}
    metric = next((metric for metric in metrics if metric.has(plain)), None)
    if metric is None:
        return None
    if "(" in metric.name:
        match = re.fullmatch(metric.name, name, re.IGNORECASE)
        bean = match.group("bean") if match else None
        plain |= {"bean": bean} if bean and bean.lower() != BEAN else {}
    bound = 0.0
    if metric.quantity in ("usage_buckets", "wait_buckets"):
        try:
            bound = float(plain.get("le", "")) * metric.unit * 1000
        except ValueError:
            return None
        return Sample(metric, name, plain, value, bound) if bound > 0 else None
    return Sample(metric, name, plain, _times(value, metric.unit), bound)


def _times(value: float, unit: float) -> float:
    """Return a value in its unit; inf for an integer that no float can hold."""
    try:
        return value * unit
    except OverflowError:
        return inf


def page_samples(text: str, quantities: Collection[Quantity] = QUANTITIES) -> list[Sample]:
    """Return the samples of a metrics page that poolsize knows; empty for another page, and for one too long.

    text: a Prometheus page, or Druid's JSON. quantities: those that the caller needs; other samples may be left out.
    """
    try:
        return list(_of_druid(json.loads(text)))
    except (ValueError, RecursionError):
        return _of_prometheus(text, quantities)


def _of_prometheus(text: str, quantities: Collection[Quantity]) -> list[Sample]:
    lines = [line.strip() for line in text.split("\n") if len(line) <= LONGEST_LINE]
    heads = [line.partition("{")[0] for line in lines]
    known = {head for head in set(heads) if _counts(head, quantities)}
    lines = [line for line, head in zip(lines, heads, strict=True) if head in known]
    if len(lines) > MOST_SAMPLES:
        return []
    try:
        families = text_string_to_metric_families("\n".join(lines))
        samples = [sample for family in families for sample in family.samples]
    except Exception:  # a malformed page makes the parser raise more than ValueError
        return []
    made = (sample_of(sample.name, sample.labels, sample.value) for sample in samples)
    return [sample for sample in made if sample is not None]


def _counts(head: str, quantities: Collection[Quantity]) -> bool:
    """Return whether a metric may have one of these quantities. head: of its line, up to the labels."""
    name = LINE_NAME.match(head)
    return name is not None and any(metric.quantity in quantities for metric in metrics_named(name[0]))


def _of_druid(content: Any) -> Iterator[Sample]:
    pools = content.get("Content") if isinstance(content, dict) else None
    if not isinstance(pools, list) or not all(isinstance(pool, dict) for pool in pools):
        return
    for number, pool in enumerate(pools[:MOST_SAMPLES]):
        labels = {"name": name if isinstance(name := pool.get("Name"), str) and name else f"druid-{number + 1}"}
        for field, metric in DRUID_METRICS.items():
            if type(value := pool.get(field)) in {int, float}:
                yield Sample(metric, field, labels, _times(value, metric.unit))
        hold_times = pool.get(DRUID_HOLD_TIMES)
        if isinstance(hold_times, list) and all(type(value) is int for value in hold_times):
            for bound, total in zip(DRUID_BOUNDS_MS, accumulate(hold_times), strict=False):
                yield Sample(DRUID_HOLD_METRIC, DRUID_HOLD_TIMES, labels, _times(total, 1.0), bound)
