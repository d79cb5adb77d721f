"""In which fields runs differ: one may be compared, any further one would explain the result as well."""

from collections.abc import Mapping, Sequence

from poolsize.errors import BadInput
from poolsize.runs.run import Run
from poolsize.units import count, number

FACTS = ("thread_handling", "innodb_buffer_pool_size", "innodb_flush_log_at_trx_commit")
"""Settings that the server told, so that its options say nothing more."""


def fields(run: Run) -> Mapping[str, str]:
    """Everything that the result may depend on, name -> value for people.

    Not how long, in which order, or at which sizes it was measured: that decides how sure the result is. The server is
    what it is, where, and on what hardware.
    """
    setting, plan = run.setting, run.plan
    client = setting.client
    found = {
        "workload": plan.workload,
        "locustfile": setting.workload_sha256[:12],
        "users": str(plan.users) if not setting.recording else "as recorded",
        "think_time": f"{number(plan.think_time_ms)} ms",
        "rate": "as fast as it goes" if plan.rate is None else f"{number(plan.rate)}/s",
        "pool_timeout": f"{number(plan.pool_timeout_seconds)} s",
        "recording": setting.recording or "none",
        "client": f"{client.usable_cpus:g} processors of {client.system}",
        "processes": str(run.processes),
    }
    return found | _server(run) | {f"{name} version": version for name, version in setting.versions.items()}


def compared_field(runs: Mapping[str, Run], across: str | None = None) -> str | None:
    """The one field in which runs differ, or None where they differ in nothing that they know of.

    runs: by the names that people know them by, two or more. across: the field it must be. Raises BadInput naming every
    further field and two of its values.
    """
    found = {name: fields(run) for name, run in runs.items()}
    names = dict.fromkeys(field for one in found.values() for field in one)
    differing = [field for field in names if len({one.get(field) for one in found.values()}) > 1]
    consequences = ["workload", "locustfile"] if "recording" in differing else ["locustfile"]
    if {"workload", "recording"} & set(differing):
        for field in consequences:  # another recording is named otherwise, another workload's file is another one
            names.pop(field)
        differing = [field for field in differing if field in names]
    if across is not None and across not in names:
        known = ", ".join(field for field in names if not field.endswith(" version"))
        raise BadInput(f"--across {across}: a run has no such field; it has {known}")
    if across is not None and across not in differing:
        (value,) = {one.get(across) for one in found.values()}
        told = f"; they differ in {', '.join(differing)}" if differing else ""
        raise BadInput(f"--across {across}: it is {value} in all of them{told}")
    further = [field for field in differing if field != across] if across else differing
    if across or len(differing) > 1:
        _refuse(found, further, across)
    return across or (differing[0] if differing else None)


def _refuse(found: Mapping[str, Mapping[str, str]], further: Sequence[str], across: str | None) -> None:
    if not further:
        return
    told = "; ".join(f"{field} is {_values(found, field)}" for field in further)
    beside = f"differ not only in {across}" if across else "differ in more than one field"
    raise BadInput(f"the runs {beside}: {told}. Compare runs that differ in one field only")


def _values(found: Mapping[str, Mapping[str, str]], field: str) -> str:
    """The first value, and the first that is another, each with its run."""
    (first, value), *others = [(name, one.get(field, "not set")) for name, one in found.items()]
    other, its = next((name, one) for name, one in others if one != value)
    return f"{value} in {first} and {its} in {other}"


def _server(run: Run) -> dict[str, str]:
    setting = run.setting
    server = setting.server
    if server is None:
        return {}
    where = "" if setting.private else f" on {server.address.rsplit(':', 1)[0]}"
    host = count(setting.cores, "core") + ("" if setting.disks == 1 else f", {count(setting.disks, 'disk')}")
    options = setting.server_options
    pool = {name: value for name, value in options.items() if name.startswith("thread_pool_")}
    others = {name: value for name, value in options.items() if name not in pool and name not in FACTS}
    settings = ", ".join(f"{name}={value}" for name, value in sorted(pool.items()))
    flush = options.get("innodb_flush_log_at_trx_commit", "1" if server.durable else "0 or 2")
    return {
        "server": f"{server.title}{where} ({host})",
        "thread_handling": server.thread_handling + (f" ({settings})" if settings else ""),
        "innodb_buffer_pool_size": f"{number(server.buffer_pool_bytes / 2**20)} MiB",
        "innodb_flush_log_at_trx_commit": flush,
        **others,
    }
