"""The command that measures a run again."""

import shlex
from pathlib import Path
from typing import Any

from poolsize.runs.run import Run
from poolsize.sweep.options import OPTIONS, words_of
from poolsize.sweep.planning import options_of


def repeat_command(run: Run) -> str:
    """Return the command that measures the run again; empty for an imported run, which no sweep made.

    The command has the server's address, but no account. For a private server it has a placeholder for the program,
    unless the server is a MariaDB, which a sweep chooses by itself.
    """
    setting, plan = run.setting, run.plan
    if setting.recording is not None and plan.search is None:
        return ""
    values: dict[str, Any] = {"replay": setting.recording} if setting.recording else {}
    values |= {"workload": setting.own_workload or plan.workload} | options_of(plan)
    if run.workers > 1:
        values["processes"] = run.workers
    values["cores"] = setting.cores
    if setting.disks != 1:
        values["disks"] = setting.disks
    if setting.recording is not None:
        values = {name: value for name, value in values.items() if OPTIONS[name].replayed}
    elif setting.private:
        if setting.server and setting.server.flavor != "MariaDB":
            values["mysqld"] = Path("PATH/TO/mysqld")
        values["server_options"] = setting.server_options
    elif setting.server:
        values["url"] = f"mysql://USER@{setting.given_host or setting.server.address}/"
        if setting.schema:
            values["schema"] = setting.schema
    return shlex.join(["poolsize", "sweep", *words_of(values)])
