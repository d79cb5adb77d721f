"""The facts of a run for its report: workload, server, load and time."""

from poolsize.analysis.analysis import Analysis
from poolsize.facts.server import Server
from poolsize.runs.measured_application import MeasuredApplication
from poolsize.runs.plan import PoolKind
from poolsize.runs.run import Run, Setting
from poolsize.runs.usual_speed import has_server_process, usual_speed
from poolsize.units import count, minutes, number

Facts = list[tuple[str, str]]
"""Name and value of each fact."""
POOL_FACTS = {
    PoolKind.SQLALCHEMY: "SQLAlchemy's own QueuePool; users let other users run between transactions",
    PoolKind.NONE: "none: each transaction opens and closes a connection, at most the pool size at a time",
    PoolKind.LAZY: "lazy: a connection is opened when a user needs it, and the server may refuse it",
}


def facts(analysis: Analysis) -> tuple[tuple[str, str], ...]:
    """Return name and value of each fact, in the order of the page."""
    run, setting, plan = analysis.run, analysis.setting, analysis.setting.plan
    return (
        ("Workload", plan.workload),
        *(_application(setting.application) if setting.application else []),
        *(_server(setting, setting.server) if setting.server else []),
        *(_load(run) if setting.recording is None else [("Recording", setting.recording)]),
        ("Steps", f"{len(run.steps)}, each with {plan.step_seconds} s or more of counted time"),
        ("Warm-up", f"{plan.warm_up_seconds} s or more before the counted time of each step"),
        ("Replayed load" if setting.recording else "Load", minutes(run.load_seconds)),
        ("Measured", setting.created.replace("T", " ").replace("+00:00", " UTC")),
        ("Versions", ", ".join(f"{name} {version}" for name, version in setting.versions.items())),
    )


def _application(application: MeasuredApplication) -> Facts:
    how = "started for each pool size" if application.started else "running, its pool resized by a command"
    return [
        ("Application", f"{application.host}, {how}"),
        ("Instances", f"{application.instances:,}, with {count(application.processes, 'process', 'processes')} each"),
    ]


def _server(setting: Setting, server: Server) -> Facts:
    started = ", started for this run" if setting.private else ""
    options = "".join(f", {name}={value}" for name, value in setting.server_options.items())
    return [
        ("Server", f"{server.flavor} {server.version}{started}{options}"),
        ("Database host", f"{count(setting.cores, 'core')} ({setting.cores_from}), {count(setting.disks, 'disk')}"),
        ("Thread handling", server.thread_handling),
        ("Buffer pool", f"{number(server.buffer_pool_bytes / 2**20)} MiB"),
        ("Commits wait for the disk", "yes" if server.durable else "no"),
        *([("Encryption", _encryption(setting))] if setting.ssl_mode else []),
        *([("Schema", f"{setting.schema}, your own")] if setting.schema else []),
        *([("Pool", POOL_FACTS[setting.plan.pool])] if setting.plan.pool in POOL_FACTS else []),
    ]


def _encryption(setting: Setting) -> str:
    return f"{setting.cipher or 'none'} (ssl-mode {setting.ssl_mode})"


def _load(run: Run) -> Facts:
    plan, client = run.plan, run.setting.client
    workers, speed = count(run.workers, "worker"), usual_speed(run)
    return [
        ("Load generator", f"{workers}, {client.usable_cpus:g} CPUs, {client.system}"),
        *(
            [("Usual speed of its machine", f"{number(round(speed, 1))} MB compressed in a second of CPU time")]
            if speed
            else []
        ),
        *([("Speed of the server's machine", "unknown")] if speed and not has_server_process(run) else []),
        ("Users", f"{plan.users:,}, mean think time {number(run.think_time_ms)} ms")
        if plan.rate is None
        else ("Arrival rate", f"{number(plan.rate)}/s (open loop), at most {plan.users:,} transactions at once"),
    ]
