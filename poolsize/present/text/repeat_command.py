"""The command that measures a run again."""

import shlex
from dataclasses import fields

from poolsize.runs.plan import SEARCH_STEP_SECONDS, SEARCH_WARM_UP_SECONDS, SweepPlan
from poolsize.runs.run import Run

USUAL = {field.name: field.default for field in fields(SweepPlan)}


def repeat_command(run: Run) -> str:
    """As it is typed; empty where no sweep made it, but an import.

    A server's address stands in it, but no account. The program of a private one must be filled in, unless it is a
    MariaDB, which is found first.
    """
    setting, plan = run.setting, run.plan
    if setting.recording is not None:
        replayed = ["poolsize", "sweep", "--replay", setting.recording, *_sizes(plan), *_lengths(plan), *_wanted(plan)]
        return shlex.join([*replayed, "--cores", str(setting.cores)]) if plan.search else ""
    words = ["poolsize", "sweep", "--workload", setting.own_workload or plan.workload, *_sizes(plan)]
    words += ["--users", str(plan.users), *_lengths(plan), *_wanted(plan)]
    words += ["--processes", str(run.workers)] if run.workers > 1 else []
    words += ["--cores", str(setting.cores), *(["--disks", str(setting.disks)] if setting.disks != 1 else [])]
    if setting.private:
        words += ["--mysqld", "PATH/TO/mysqld"] if setting.server and setting.server.flavor != "MariaDB" else []
        words += [f"--server-option={name}={value}" for name, value in setting.server_options.items()]
    elif setting.server:
        words += ["--url", f"mysql://USER@{setting.server.address}/"]
    return shlex.join(words)


def _sizes(plan: SweepPlan) -> list[str]:
    if plan.search is None:
        return ["--pool-sizes", ",".join(map(str, plan.sizes))]
    return ["--budget", f"{plan.search.budget_seconds}s", "--interval", f"{plan.search.interval:g}"]


def _lengths(plan: SweepPlan) -> list[str]:
    usual = (
        (SEARCH_WARM_UP_SECONDS, SEARCH_STEP_SECONDS)
        if plan.search
        else (USUAL["warm_up_seconds"], USUAL["step_seconds"])
    )
    words = []
    for flag, seconds, default in zip(
        ("--warm-up", "--step-time"), (plan.warm_up_seconds, plan.step_seconds), usual, strict=True
    ):
        if seconds != default:
            words += [flag, f"{seconds}s"]
    return words


def _wanted(plan: SweepPlan) -> list[str]:
    """Whatever else is not as usual."""
    told = {
        "repeats": ("--repeats", str(plan.repeats)),
        "think_time_ms": ("--think-time", f"{plan.think_time_ms:g}ms"),
        "precision": ("--precision", f"{plan.precision}"),
        "rate": ("--rate", f"{plan.rate}"),
        "pool_timeout_seconds": ("--pool-timeout", f"{plan.pool_timeout_seconds:g}s"),
        "error_budget": ("--error-budget", f"{plan.error_budget}"),
        "verify": ("--verify", ",".join(map(str, plan.verify))),
        "seed": ("--seed", str(plan.seed)),
    }
    return [word for name, words in told.items() if getattr(plan, name) != USUAL[name] for word in words]
