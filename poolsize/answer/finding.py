"""Finding: a reason, a warning or a refusal, as a code with figures; `present.text` words the sentence."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Severity(StrEnum):
    """Kinds of findings. REASON explains an answer, WARNING limits its use, REFUSAL explains why there is no answer."""

    REASON = "reason"
    WARNING = "warning"
    REFUSAL = "refusal"


class Code(StrEnum):
    """The codes of all findings; the values are printed in JSON."""

    # of the formula
    CORES = "cores"
    NO_DISKS = "no_disks"
    DISKS_UNCACHED = "disks_uncached"
    DISKS_CACHED = "disks_cached"
    DEADLOCK_FLOOR = "deadlock_floor"
    STARTING_POINT = "starting_point"
    SERVED_AT_ONCE = "served_at_once"
    SSD = "ssd"
    FLOOR_ABOVE_FORMULA = "floor_above_formula"
    # why a measured answer is that size
    PLATEAU = "plateau"
    CARRIES_RATE = "carries_rate"
    LIMIT_KEPT = "limit_kept"
    LIMIT_DECIDES = "limit_decides"
    CURRENT_SIZE = "current_size"
    CURRENT_NOT_MEASURED = "current_not_measured"
    WAIT_AND_USAGE = "wait_and_usage"
    BOTTLENECK = "bottleneck"
    VERIFIED = "verified"
    QUEUE_IN_DATABASE = "queue_in_database"
    DATABASE_SIZE = "database_size"
    NO_APPLICATION_SIZES = "no_application_sizes"
    APPLICATION_SIZE = "application_size"
    LOAD_GENERATOR_SIZE = "load_generator_size"
    SHORT_USAGE_TIME = "short_usage_time"
    BIMODAL = "bimodal"
    JOB_QUEUE = "job_queue"
    FORMULA = "formula"
    # what limits its use
    MOSTLY_FAILED = "mostly_failed"
    LIMIT_BROKEN = "limit_broken"
    BEYOND_MEASURED = "beyond_measured"
    HIGH_UTILISATION = "high_utilisation"
    GENERATOR_LIMITED = "generator_limited"
    USERS_LIMITED = "users_limited"
    ONE_SIZE = "one_size"
    STILL_RISING = "still_rising"
    SMALLEST_SIZE = "smallest_size"
    CHECK_FAILED = "check_failed"
    WIDE_RANGE = "wide_range"
    FEW_STEPS = "few_steps"
    BUDGET_SPENT = "budget_spent"
    VERIFICATION_FAILED = "verification_failed"
    NOTHING_VERIFIED = "nothing_verified"
    RETRIED = "retried"
    SPEED_CORRECTED = "speed_corrected"
    LEFT_OUT = "left_out"
    RECORDING = "recording"
    NOT_DURABLE = "not_durable"
    CORES_ASSUMED = "cores_assumed"
    THREAD_POOL = "thread_pool"
    EACH_POOL = "each_pool"
    SIZE_UNCONFIRMED = "size_unconfirmed"
    TOTAL = "total"
    # why there is no answer
    RATE_NOT_SERVED = "rate_not_served"
    GENERATOR_EVERYWHERE = "generator_everywhere"
    USERS_LIMITED_EVERYWHERE = "users_limited_everywhere"
    NOTHING_VALID = "nothing_valid"
    TOO_FEW_VALID = "too_few_valid"
    NOISY = "noisy"
    GENERATOR_NOT_SEPARABLE = "generator_not_separable"
    # of a fleet
    FLEET_SIZE = "fleet_size"
    FLEET_LIMIT = "fleet_limit"
    FLEET_THREADS = "fleet_threads"
    FLEET_FLOOR = "fleet_floor"
    FLEET_BEYOND_WEIGHT = "fleet_beyond_weight"
    FLEET_ABOVE_SIZE = "fleet_above_size"
    FLEET_LIMIT_UNKNOWN = "fleet_limit_unknown"
    FLEET_EXCEEDS_LIMIT = "fleet_exceeds_limit"
    FLEET_FEWER_PROCESSES = "fleet_fewer_processes"
    FLEET_PROXY = "fleet_proxy"
    FLEET_RAISE_LIMIT = "fleet_raise_limit"
    # of a pool in a configuration file
    POOL_ABOVE_SERVER = "pool_above_server"
    POOL_WAITS = "pool_waits"
    POOL_UNLIMITED = "pool_unlimited"
    POOL_QUEUE_UNLIMITED = "pool_queue_unlimited"
    POOL_TESTS_ON_BORROW = "pool_tests_on_borrow"
    POOL_CLOSES_IDLE = "pool_closes_idle"
    POOL_OUTLIVES_SERVER = "pool_outlives_server"
    POOL_KEEPALIVE_DEFAULT = "pool_keepalive_default"
    POOL_KEEPALIVE_OVER_LIFETIME = "pool_keepalive_over_lifetime"
    POOL_BELOW_LEAST = "pool_below_least"
    POOL_REFUSED = "pool_refused"
    POOL_NOT_READ = "pool_not_read"
    POOL_NO_NUMBER = "pool_no_number"
    POOL_SHRINKS = "pool_shrinks"
    POOL_TEST_QUERY = "pool_test_query"
    POOL_REMOVES_ABANDONED = "pool_removes_abandoned"
    POOL_TOO_LARGE = "pool_too_large"
    DJANGO_CONNECTS = "django_connects"
    GO_LIFETIME = "go_lifetime"
    SERVER_THREAD_CACHE = "server_thread_cache"
    SERVER_WAIT_TIMEOUT = "server_wait_timeout"
    SERVER_TOO_SMALL = "server_too_small"
    # what a prediction rests on
    CORES_SCALE_CPU = "cores_scale_cpu"
    CORES_MAY_NOT_HELP = "cores_may_not_help"
    USERS_TIME_OUT = "users_time_out"
    USERS_ROUNDED_UP = "users_rounded_up"
    EXTRAPOLATED = "extrapolated"
    USAGE_AS_MEASURED = "usage_as_measured"
    USAGE_EXPONENTIAL = "usage_exponential"


class Remedy(StrEnum):
    """The actions that improve an answer; `present.text` adds the options for each."""

    MEASURE_LONGER = "measure_longer"
    SEARCH_LONGER = "search_longer"
    FILL_GAP = "fill_gap"
    SWEEP_BEYOND = "sweep_beyond"
    SWEEP_RECORDING_BEYOND = "sweep_recording_beyond"
    MORE_USERS = "more_users"
    MORE_WORKERS = "more_workers"
    END_PROGRAMS = "end_programs"
    MEASURE_AGAIN = "measure_again"
    CORRECT_WORKLOAD = "correct_workload"


@dataclass(frozen=True)
class WayOut:
    """An action that improves an answer. values: the figures of the action, by names with units."""

    remedy: Remedy
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Finding:
    """A reason, a warning or a refusal.

    values: its figures by names with units; shares are fractions. way_out: an action that improves the answer, or None.
    """

    code: Code
    severity: Severity
    values: Mapping[str, Any] = field(default_factory=dict)
    way_out: WayOut | None = None


def reason(code: Code, **values: object) -> Finding:
    """Return a finding that explains the answer. values: its figures."""
    return Finding(code, Severity.REASON, values)


def warning(code: Code, way_out: WayOut | None = None, **values: object) -> Finding:
    """Return a finding that limits the answer's use. values: its figures."""
    return Finding(code, Severity.WARNING, values, way_out)


def refusal(code: Code, way_out: WayOut | None = None, **values: object) -> Finding:
    """Return a finding that explains why there is no answer. values: its figures."""
    return Finding(code, Severity.REFUSAL, values, way_out)
