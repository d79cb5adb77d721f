"""The beginning of a run: its workload, the setting and the file of a new run, or an interrupted run to resume."""

import hashlib
import importlib.metadata
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path

from poolsize.analysis.speed import with_speed_checks
from poolsize.errors import BadInput, did_you_mean
from poolsize.facts.machine import this_machine
from poolsize.facts.server import Server
from poolsize.files import content, why_missing, workloads
from poolsize.runs.plan import SweepPlan
from poolsize.runs.run import Run, Setting
from poolsize.runs.store import extended, load_run, parameter_words
from poolsize.sweep.options import OPTIONS, RUN_FOLDER, SweepOptions
from poolsize.sweep.planning import cores_of, disks_of, extended_plan

HARMLESS = frozenset({
    "autocommit", "back_log", "big_tables", "binlog_cache_size", "binlog_commit_wait_count",
    "binlog_commit_wait_usec", "binlog_format", "binlog_group_commit_sync_delay",
    "binlog_group_commit_sync_no_delay_count", "binlog_order_commits", "binlog_row_image", "bulk_insert_buffer_size",
    "connect_timeout", "deadlock_search_depth_long", "deadlock_search_depth_short", "deadlock_timeout_long",
    "deadlock_timeout_short", "default_storage_engine", "eq_range_index_dive_limit", "host_cache_size",
    "interactive_timeout", "join_buffer_size", "join_cache_level", "key_buffer_size", "lock_wait_timeout",
    "lower_case_table_names", "max_allowed_packet", "max_connect_errors", "max_connections", "max_error_count",
    "max_heap_table_size", "max_prepared_stmt_count", "max_sort_length", "max_user_connections", "net_buffer_length",
    "net_read_timeout", "net_retry_count", "net_write_timeout", "open_files_limit", "optimizer_prune_level",
    "optimizer_search_depth", "optimizer_switch", "optimizer_use_condition_selectivity", "performance_schema",
    "query_alloc_block_size", "query_cache_limit", "query_cache_size", "query_cache_type", "query_prealloc_size",
    "range_alloc_block_size", "read_buffer_size", "read_rnd_buffer_size",
    "sort_buffer_size", "stored_program_cache", "sync_binlog", "table_definition_cache", "table_open_cache",
    "table_open_cache_instances", "thread_cache_size", "thread_handling", "thread_stack", "tmp_table_size",
    "transaction_isolation", "tx_isolation", "wait_timeout",
    "innodb_adaptive_flushing", "innodb_adaptive_flushing_lwm", "innodb_adaptive_hash_index",
    "innodb_adaptive_hash_index_parts", "innodb_autoextend_increment", "innodb_autoinc_lock_mode",
    "innodb_buffer_pool_chunk_size", "innodb_buffer_pool_instances", "innodb_buffer_pool_size",
    "innodb_change_buffer_max_size", "innodb_change_buffering", "innodb_checksum_algorithm",
    "innodb_commit_concurrency", "innodb_concurrency_tickets", "innodb_deadlock_detect", "innodb_dedicated_server",
    "innodb_doublewrite", "innodb_fill_factor", "innodb_flush_log_at_timeout", "innodb_flush_log_at_trx_commit",
    "innodb_flush_method", "innodb_flush_neighbors", "innodb_flush_sync", "innodb_flushing_avg_loops",
    "innodb_io_capacity", "innodb_io_capacity_max", "innodb_lock_wait_timeout", "innodb_log_buffer_size",
    "innodb_log_file_size", "innodb_log_files_in_group", "innodb_log_write_ahead_size", "innodb_lru_scan_depth",
    "innodb_max_dirty_pages_pct", "innodb_max_dirty_pages_pct_lwm", "innodb_max_purge_lag", "innodb_numa_interleave",
    "innodb_old_blocks_pct", "innodb_old_blocks_time", "innodb_open_files", "innodb_page_cleaners", "innodb_page_size",
    "innodb_purge_batch_size", "innodb_purge_threads", "innodb_random_read_ahead", "innodb_read_ahead_threshold",
    "innodb_read_io_threads", "innodb_redo_log_capacity", "innodb_rollback_on_timeout", "innodb_snapshot_isolation",
    "innodb_sort_buffer_size", "innodb_spin_wait_delay", "innodb_stats_auto_recalc", "innodb_stats_persistent",
    "innodb_sync_array_size", "innodb_sync_spin_loops", "innodb_thread_concurrency", "innodb_thread_sleep_delay",
    "innodb_use_native_aio", "innodb_write_io_threads",
    "thread_pool_dedicated_listener", "thread_pool_exact_stats", "thread_pool_idle_timeout",
    "thread_pool_max_threads", "thread_pool_min_threads", "thread_pool_oversubscribe", "thread_pool_prio_kickup_timer",
    "thread_pool_priority", "thread_pool_size", "thread_pool_stall_limit",
})  # fmt: skip
"""Variables of a private server that name no file, no program, no account and no statement.

Only these of a run may be given again to resume it.
"""


@dataclass(frozen=True)
class Workload:
    """The workload of a sweep.

    name: the locustfile's name without its folder and ending. own_path: the path as typed, or None for a workload that
    comes with poolsize. sha256: of the locustfile's text, or of its name where there is no such file, as for a
    published curve.
    """

    name: str
    own_path: str | None
    sha256: str


def workload_of(locustfile: Path, own_path: str | None = None) -> Workload:
    """Return the workload of a locustfile or of a recording, by its path (16 MiB at most) or its published name."""
    text = content(locustfile, 2**24) if locustfile.is_file() else os.fsencode(locustfile.name)
    return Workload(locustfile.stem, own_path, hashlib.sha256(text).hexdigest())


def typed_workload(typed: str) -> Workload:
    """Return the workload of a path as typed. The path may be that of a locustfile that comes with poolsize."""
    locustfile = Path(typed)
    shipped = workloads().get(locustfile.stem)
    return workload_of(locustfile, None if shipped and shipped.samefile(locustfile) else typed)


def find_locustfile(workload: str) -> Path:
    """Return the locustfile of a shipped workload's name, or of a path. Raises BadInput for neither."""
    known, path = workloads(), Path(workload)
    if workload in known:
        return known[workload]
    if path.is_file():
        if path.suffix == ".py":
            return path
        raise BadInput(f"`workload` {workload}: the name of a locustfile ends in .py")
    if path.suffix == ".py" or path.parent != Path():
        raise BadInput(f"`workload` {workload}: {why_missing(path)}")
    raise BadInput(
        f"`workload` {workload}: neither a locustfile nor one of {', '.join(known)}{did_you_mean(workload, known)}"
    )


def new_setting(
    options: SweepOptions,
    plan: SweepPlan,
    workload: Workload,
    *,
    server: Server | None = None,
    server_options: Mapping[str, str] | None = None,
    local: bool = False,
    recording: str | None = None,
    libraries: Sequence[str] = (),
) -> Setting:
    """Return the setting of a run that starts now on this machine.

    server: the database, or None in a replay. recording: the curve of a replay, as typed, or None.
    server_options: variable -> value of a private server. local: whether the database runs on this machine.
    libraries: packages whose versions are recorded beside poolsize's own.
    """
    versions = {name: importlib.metadata.version(name) for name in ("poolsize", *libraries)}
    return Setting(
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        plan=plan,
        own_workload=workload.own_path,
        workload_sha256=workload.sha256,
        cores=cores_of(options),
        disks=disks_of(options),
        cores_from="given" if options.cores is not None else "this machine" if local else "assumed",
        client=this_machine(),
        server=server,
        private=server is not None and options.url is None,
        server_options=server_options or {},
        versions=versions | {"python": platform.python_version()},
        recording=recording,
    )


def resumed_run(options: SweepOptions, workload: Workload) -> Run | None:
    """Return the run that the options resume, with the plan that they extend, or None for a new run.

    Raises BadInput for an option that a resumed run has already, for one that does not extend it, for another workload
    or recording than the run's, and for server variables that the run has and the options do not repeat.
    """
    if options.resume is None:
        return None
    for name in options.chosen:
        if OPTIONS[name].settled:
            raise BadInput(f"{options.named(name)}: a resumed run keeps its plan; leave `{name}` out")
    run = with_speed_checks(load_run(options.resume, torn_end=True))
    require_server_options(options, run.setting.server_options)
    require_same_text(options, run.setting, workload)
    run = extended(run, extended_plan(options, run))
    # Another version of poolsize may have other words in the file of a workload that comes with it.
    return replace(run, setting=replace(run.setting, workload_sha256=workload.sha256))


def require_given_again(options: SweepOptions, parameter: str, named: str | None) -> None:
    """Raise BadInput where a run names something that a sweep would open or execute, and the options do not name it.

    parameter: of the options, such as workload. named: its text in the run, or None.
    """
    if named is not None and getattr(options, parameter) is None:
        (words,) = parameter_words({parameter: named})
        noun = "recording" if parameter == "replay" else parameter
        raise BadInput(
            f"{options.named('resume')}: the run names the {noun} {named}, and the run may be somebody else's: check "
            f"that {noun}, then add {words}"
        )


def require_same_text(options: SweepOptions, setting: Setting, workload: Workload) -> None:
    """Raise BadInput for another workload or recording than that of the run to resume."""
    shipped = setting.own_workload is None and workload.own_path is None and options.replay is None
    if setting.workload_sha256 == workload.sha256 or (shipped and setting.plan.workload == workload.name):
        return
    if options.application:
        why = f"{workload.own_path} has changed since the run began: start a new run"
    elif options.replay:
        why = f"the run replays another recording than {options.replay}: name its recording"
    else:
        why = (
            f"the locustfile is not the {setting.plan.workload} that the run began with, or its text has changed: "
            "give the run's own with `workload`, or start a new run"
        )
    raise BadInput(f"{options.named('resume')}: {why}")


def require_server_options(options: SweepOptions, began: Mapping[str, str]) -> None:
    """Raise BadInput where the options do not repeat the server variables of a run, or where one may do harm."""
    resume, typed = options.named("resume"), dict(options.server_options or {})
    if harmful := sorted(began.keys() - HARMLESS):
        raise BadInput(f"{resume}: the run sets {harmful[0]} on its private server, which may do harm: start a new run")
    if typed != began:
        way_out = " ".join(parameter_words({"server_options": began})) or "leave `server_options` out"
        raise BadInput(f"{resume}: the private server began with other variables: {way_out}")


def new_file(output: Path | None, name: str) -> Path:
    """Return the path of a new file, which does not exist. output: the path to use, or None for a new name.

    name: of what is measured. A new path is in data/runs, from the time and the name. Raises BadInput for an output
    that exists, or whose folder does not exist.
    """
    if output is None:
        return free_path(Path(RUN_FOLDER) / f"{datetime.now():%Y-%m-%dT%H%M%S}-{name}", ".jsonl")
    if output.suffix != ".jsonl":
        raise BadInput(f"`output` {output}: the name ends in .jsonl")
    if output.exists():
        finish = " ".join(parameter_words({"resume": str(output)}))
        raise BadInput(f"`output` {output} already exists: name another file, or finish it with {finish}")
    if not output.parent.is_dir():
        raise BadInput(f"`output` {output}: there is no folder {output.parent}; make it, or name a file elsewhere")
    return output


def free_path(stem: Path, ending: str) -> Path:
    """Return stem + ending, with a number from 2 on where that file exists."""
    names = chain([stem.name], (f"{stem.name}-{number}" for number in count(2)))
    return next(path for name in names if not (path := stem.with_name(name + ending)).exists())
