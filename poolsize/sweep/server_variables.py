"""The variables of a private server: which are poolsize's own, and which may come from a run of somebody else."""

import re

RESERVED = frozenset({
    "admin_address", "admin_port", "basedir", "bind_address", "bootstrap", "chroot", "daemonize", "datadir",
    "defaults_extra_file", "defaults_file", "defaults_group_suffix", "help", "init_file", "initialize",
    "initialize_insecure", "local_infile", "login_path", "mysqlx", "mysqlx_bind_address", "mysqlx_port",
    "mysqlx_socket", "no_defaults", "pid_file", "port", "print_defaults", "secure_file_priv", "skip_grant_tables",
    "skip_name_resolve", "skip_networking", "socket", "user", "version",
})  # fmt: skip
"""poolsize's own: where the server keeps its files, where it listens, who may log in, and how long it lives."""

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
"""Sizes, limits, timeouts, thread pools and flushing: no file, no program, no account, no statement.

Only these of a run may be given again to resume it.
"""

_NAME = re.compile(r"[a-z][a-z0-9_.]*")
_PREFIX = re.compile(r"(?:loose|skip|disable|enable|maximum)_")


def is_name(name: str) -> bool:
    """Return whether a text can be a server variable's name, written with underscores."""
    return _NAME.fullmatch(name) is not None


def reserved_by(name: str) -> str | None:
    """Return the variable of poolsize's own that a name would set; None where it sets none of them.

    Servers also take the beginning of a name for the whole, and prefixes such as `loose_` and `skip_`.
    """
    names = [name]
    while prefix := _PREFIX.match(names[-1]):
        names.append(names[-1][prefix.end() :])
    return next((own for own in sorted(RESERVED) for each in names if each and own.startswith(each)), None)
