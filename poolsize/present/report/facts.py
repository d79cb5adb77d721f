"""The facts of a run for its report: workload, server, load and time."""

from poolsize.analysis.analysis import Analysis
from poolsize.facts.server import Server
from poolsize.runs.run import Run
from poolsize.units import count, minutes, number

Facts = list[tuple[str, str]]
"""Name and value of each fact."""


def facts(analysis: Analysis) -> tuple[tuple[str, str], ...]:
    """Return name and value of each fact, in the order of the page."""
    run, setting, plan = analysis.run, analysis.setting, analysis.setting.plan
    measured_on = (
        _server_and_load(run, setting.server) if setting.server else [("A recording", setting.recording or "")]
    )
    return (
        ("Workload", plan.workload),
        *measured_on,
        ("Steps", f"{len(run.steps)}, of {plan.step_seconds} s or more"),
        ("Warm-up", f"{plan.warm_up_seconds} s or more of each step, not counted"),
        ("Replayed in all" if setting.recording else "Load in all", minutes(run.load_seconds)),
        ("Measured", setting.created.replace("T", " ").replace("+00:00", " UTC")),
        ("Versions", ", ".join(f"{name} {version}" for name, version in setting.versions.items())),
    )


def _server_and_load(run: Run, server: Server) -> Facts:
    setting, plan, client = run.setting, run.plan, run.setting.client
    started = ", started for this run" if setting.private else ""
    options = "".join(f", {name}={value}" for name, value in setting.server_options.items())
    processes = f"{run.workers} load process{'' if run.workers == 1 else 'es'}"
    return [
        ("Server", f"{server.flavor} {server.version}{started}{options}"),
        ("Its host", f"{count(setting.cores, 'core')} ({setting.cores_from}), {count(setting.disks, 'disk')}"),
        ("Connections are served by", server.thread_handling),
        ("Buffer pool", f"{number(server.buffer_pool_bytes / 2**20)} MiB"),
        ("A commit waits for the disk", "yes" if server.durable else "no"),
        ("Load made by", f"{processes}, {client.usable_cpus:g} processors, {client.system}"),
        ("Users", f"{plan.users:,}, pausing {number(plan.think_time_ms)} ms on average")
        if plan.rate is None
        else ("Transactions due", f"{number(plan.rate)}/s, by the clock, {plan.users:,} at once at most"),
    ]
