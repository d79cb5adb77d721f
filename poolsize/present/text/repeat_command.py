"""The command that measures a run again."""

import re
from pathlib import Path
from typing import Any

from poolsize.facts.ssl_mode import SslMode
from poolsize.runs.run import Run, Setting
from poolsize.sweep.options import OPTIONS, words_of
from poolsize.sweep.planning import options_of
from poolsize.sweep.server_variables import HARMLESS
from poolsize.terminal import pasteable

HOST = re.compile(r"[\w.\-:\[\]]+")
"""A host with its port. Whatever else a run has in its place is not a host, and would change the URL's meaning."""


def repeat_command(run: Run) -> str:
    """Return the command that measures the run again; empty for an imported run, which no sweep made.

    The command has the server's address, but no account. For a private server it has a placeholder for the program,
    unless the server is a MariaDB, which a sweep chooses by itself. It is also empty for a private server with a
    variable that may do harm: the run may be somebody else's, and a reader may paste the command.
    """
    setting, plan = run.setting, run.plan
    if (setting.recording is not None and plan.search is None) or setting.server_options.keys() - HARMLESS:
        return ""
    values = _subject(run) | options_of(plan)
    if run.workers > 1:
        values["processes"] = run.workers
    values["cores"] = setting.cores
    if setting.disks != 1:
        values["disks"] = setting.disks
    if setting.recording is not None:
        values = {name: value for name, value in values.items() if OPTIONS[name].replayed}
    elif setting.application is None:
        values |= _server(setting)
    return pasteable("poolsize", "sweep", *words_of(values))


def _subject(run: Run) -> dict[str, Any]:
    """Return the options that name what is measured: an application, a workload, or a recording's replay."""
    setting = run.setting
    if setting.application is not None:
        return {"application": setting.application.file}
    recording = {"replay": setting.recording} if setting.recording else {}
    return recording | {"workload": setting.own_workload or run.plan.workload}


def _server(setting: Setting) -> dict[str, Any]:
    """Return the options that name the server."""
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
