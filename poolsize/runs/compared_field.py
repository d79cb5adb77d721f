"""The field in which compared runs differ; a second differing field would explain the result as well."""

from collections.abc import Mapping, Sequence

from poolsize.errors import BadInput
from poolsize.runs.run import Run
from poolsize.units import count, number

FACTS = ("thread_handling", "innodb_buffer_pool_size", "innodb_flush_log_at_trx_commit")
"""Settings that the server itself reports; a private server's options of these names add nothing."""

Fields = Mapping[str, str]
"""Field that the result may depend on -> its value as text."""


def fields(run: Run) -> Fields:
    """Return every field of a run that its result may depend on.

    Length, order and pool sizes of the steps are left out: they determine only how certain the result is.
    """
    setting, plan = run.setting, run.plan
    client, application = setting.client, setting.application
    of_load = {
        "workload": plan.workload,
        "locustfile": setting.workload_sha256[:12] if setting.own_workload or setting.recording else "poolsize's own",
        "users": str(plan.users) if not setting.recording else "as recorded",
        "think_time": "the locustfile's wait_time" if setting.own_wait_time else f"{number(plan.think_time_ms)} ms",
        "rate": "none: a closed loop" if plan.rate is None else f"{number(plan.rate)}/s",
        "pool": plan.pool,
        "pool_timeout": f"{number(plan.pool_timeout_seconds)} s",
        "schema": setting.schema or "poolsize's own",
        "recording": setting.recording or "none",
        "client": f"{client.usable_cpus:g} processors of {client.system}",
        "processes": str(run.workers),
    }
    if application is not None:
        of_load |= {"application": f"{application.host} ({application.sha256[:12]})", "pools": str(application.pools)}
    return of_load | _server(run) | {f"{name} version": version for name, version in setting.versions.items()}


def compared_field(runs: Mapping[str, Run], across: str | None = None) -> str | None:
    """Return the only field in which runs differ, or None where no recorded field differs.

    runs: name, as the user knows the run, -> run; two or more. across: the field that the user expects to differ, or
    None. Raises BadInput where `across` does not differ or is not a field, and where more than one field differs; the
    error names every further field and two of its values.
    """
    by_run = {name: fields(run) for name, run in runs.items()}
    names = dict.fromkeys(field for values in by_run.values() for field in values)
    differing = [field for field in names if len({values.get(field) for values in by_run.values()}) > 1]
    consequences = ["workload", "locustfile"] if "recording" in differing else ["locustfile"]
    if {"workload", "recording"} & set(differing):
        for field in consequences:  # another recording has another name, another workload another file
            names.pop(field)
        differing = [field for field in differing if field in names]
    if across is not None:
        _require_differs(by_run, names, differing, across)
    further = [field for field in differing if field != across] if across else differing
    if further and (across or len(differing) > 1):
        raise BadInput(_refusal(by_run, further, across))
    return across or (differing[0] if differing else None)


def _require_differs(
    by_run: Mapping[str, Fields], names: Mapping[str, None], differing: Sequence[str], across: str
) -> None:
    if across not in names:
        known = ", ".join(field for field in names if not field.endswith(" version"))
        raise BadInput(f"`across` {across}: a run has no such field; it has {known}")
    if across not in differing:
        (value,) = {values.get(across) for values in by_run.values()}
        others = f"; the runs differ in {', '.join(differing)}" if differing else ""
        raise BadInput(f"`across` {across}: every run has the value {value}{others}")


def _refusal(by_run: Mapping[str, Fields], further: Sequence[str], across: str | None) -> str:
    """Return the refusal, with the first run's value of each field and the first that differs from it."""
    differences = []
    for field in further:
        (first, value), *others = [(name, values.get(field, "not set")) for name, values in by_run.items()]
        other, other_value = next((name, text) for name, text in others if text != value)
        differences.append(f"{field} is {value} in {first} and {other_value} in {other}")
    beside = f"differ not only in {across}" if across else "differ in more than one field"
    return f"the runs {beside}: {'; '.join(differences)}. Compare runs that differ in one field only"


def _server(run: Run) -> dict[str, str]:
    """Return the fields of a run's server: its version, host and settings; none for a replay."""
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
        **({"encryption": setting.cipher or "none"} if setting.ssl_mode else {}),
        **others,
    }
