"""Where and how a run was measured: its facts, and the command that measures it again."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from poolsize.analysis.speed import has_server_process, usual_speed
from poolsize.facts.server import Server
from poolsize.facts.ssl_mode import SslMode
from poolsize.runs.plan import MeasuredApplication, PoolKind
from poolsize.runs.run import Run, Setting, Step
from poolsize.sweep.opening import HARMLESS
from poolsize.sweep.options import OPTIONS, words_of
from poolsize.sweep.planning import options_of
from poolsize.terminal import pasteable
from poolsize.units import count, minutes, number

HOST = re.compile(r"[\w.\-:\[\]]+")
"""A host with its port. Whatever else a run has in its place is not a host, and would change the URL's meaning."""
POOLS = {
    PoolKind.SQLALCHEMY: "SQLAlchemy's own QueuePool; users let other users run between transactions",
    PoolKind.NONE: "none: each transaction opens and closes a connection, at most the pool size at a time",
    PoolKind.LAZY: "lazy: a connection is opened when a user needs it, and the server may refuse it",
}
Facts = Iterator[tuple[str, str]]
"""Name and value of each fact."""


def facts(run: Run) -> list[tuple[str, str]]:
    """Return name and value of each fact, in the order of the report."""
    setting, plan = run.setting, run.plan
    return [
        ("Workload", f"{plan.workload}, captured: {setting.covers}" if setting.covers else plan.workload),
        *(_facts_of_application(setting.application) if setting.application else []),
        *(_facts_of_server(setting, setting.server) if setting.server else []),
        *(_facts_of_load(run) if setting.recording is None else [("Recording", setting.recording)]),
        ("Steps", f"{len(run.steps)}, with {counted_seconds(run.steps, setting)} of counted time each"),
        ("Warm-up", f"{plan.warm_up_seconds} s or more before the counted time of each step"),
        ("Replayed load" if setting.recording else "Load", minutes(run.load_seconds)),
        ("Measured", setting.created.replace("T", " ").replace("+00:00", " UTC")),
        ("Versions", ", ".join(f"{name} {version}" for name, version in setting.versions.items())),
    ]


def scope(run: Run) -> str:
    """Return the sentence that says where and for how long a run was measured."""
    setting = run.setting
    server = f"{setting.server.flavor} {setting.server.version}, " if setting.server else ""
    steps = f"{count(len(run.steps), 'step')} of {counted_seconds(run.steps, setting)} each"
    if setting.recording:
        return f"Replayed: the recording {setting.recording}; {steps}. The answer holds for the recorded server."
    return (
        f"Measured: {run.plan.workload} on {server}{count(setting.cores, 'core')}; {count(run.workers, 'worker')} "
        f"generated load; {steps}. The answer holds for this server, these data and this workload."
    )


def counted_seconds(steps: Sequence[Step], setting: Setting) -> str:
    """Return the counted time of the shortest and of the longest of some steps: 4 to 8 s; 8 s where they are equal."""
    if setting.means_only and setting.plan.search is None:
        return "an unknown time"
    lengths = [round(setting.interval_seconds * len(step.counted)) for step in steps] or [0]
    shortest, longest = min(lengths), max(lengths)
    return f"{longest:,} s" if shortest == longest else f"{shortest:,} to {longest:,} s"


def _facts_of_application(application: MeasuredApplication) -> Facts:
    how = "started for each pool size" if application.started else "running, its pool resized by a command"
    yield "Application", f"{application.host}, {how}"
    yield "Instances", f"{application.instances:,}, with {count(application.processes, 'process', 'processes')} each"


def _facts_of_server(setting: Setting, server: Server) -> Facts:
    started = ", started for this run" if setting.private else ""
    options = "".join(f", {name}={value}" for name, value in setting.server_options.items())
    yield "Server", f"{server.flavor} {server.version}{started}{options}"
    yield "Database host", f"{count(setting.cores, 'core')} ({setting.cores_from}), {count(setting.disks, 'disk')}"
    yield "Thread handling", server.thread_handling
    yield "Buffer pool", f"{number(server.buffer_pool_bytes / 2**20)} MiB"
    yield "Commits wait for the disk", "yes" if server.durable else "no"
    if setting.ssl_mode:
        yield "Encryption", f"{setting.cipher or 'none'} (ssl-mode {setting.ssl_mode})"
    if setting.schema:
        yield "Schema", f"{setting.schema}, your own"
    if setting.plan.pool in POOLS:
        yield "Pool", POOLS[setting.plan.pool]


def _facts_of_load(run: Run) -> Facts:
    plan, client, speed = run.plan, run.setting.client, usual_speed(run)
    yield "Load generator", f"{count(run.workers, 'worker')}, {client.usable_cpus:g} CPUs, {client.system}"
    if speed:
        yield "Usual speed of its machine", f"{number(round(speed, 1))} MB compressed in a second of CPU time"
    if speed and not has_server_process(run):
        yield "Speed of the server's machine", "unknown"
    if plan.rate is None:
        yield "Users", f"{plan.users:,}, mean think time {number(run.think_time_ms)} ms"
    else:
        yield "Arrival rate", f"{number(plan.rate)}/s (open loop), at most {plan.users:,} transactions at once"


def repeat_command(run: Run, workers: int | None = None) -> str:
    """Return the command that measures the run again; empty for an imported run, which no sweep made.

    workers: their number, where it is not that of the run. They need a larger machine: a private server on it then has
    the cores of that machine, which a sweep counts by itself.

    The command has the server's address, but no account. For a private server it has a placeholder for the program,
    unless the server is a MariaDB, which a sweep chooses by itself. It is also empty for a private server with a
    variable that may do harm: the run may be somebody else's, and a reader may paste the command.
    """
    setting, plan = run.setting, run.plan
    if (setting.recording is not None and plan.search is None) or setting.server_options.keys() - HARMLESS:
        return ""
    values: dict[str, Any] = {"replay": setting.recording} if setting.recording else {}
    values["workload"] = setting.own_workload or plan.workload
    if setting.application is not None:
        values = {"application": setting.application.file}
    values |= options_of(plan)
    if (workers or run.workers) > 1:
        values["processes"] = workers or run.workers
    if not (workers and setting.private):
        values["cores"] = setting.cores
    if setting.disks != 1:
        values["disks"] = setting.disks
    if setting.recording is not None:
        values = {name: value for name, value in values.items() if OPTIONS[name].replayed}
    elif setting.application is not None:
        values = {name: value for name, value in values.items() if not OPTIONS[name].of_pool}
    else:
        values |= _server(setting)
    return pasteable("poolsize", "sweep", *words_of(values))


def _server(setting: Setting) -> dict[str, Any]:
    values: dict[str, Any] = {}
    if setting.private:
        if setting.server and setting.server.flavor != "MariaDB":
            values["mysqld"] = Path("PATH/TO/mysqld")
        values["server_options"] = setting.server_options
    elif setting.server:
        host = setting.given_host or setting.server.address
        values["url"] = f"mysql://USER@{host if HOST.fullmatch(host) else 'HOST'}/"
        if setting.ssl_mode == SslMode.OFF or (setting.ssl_mode and setting.ssl_mode.verifies):
            values["ssl_mode"] = setting.ssl_mode
        if setting.schema:
            values["schema"] = setting.schema
    return values
