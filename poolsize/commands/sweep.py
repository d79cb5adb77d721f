"""`poolsize sweep`: its options and its help."""

from typing import Any

import click

from poolsize.command_line.grouped_command import GroupedCommand
from poolsize.command_line.options import current_option, json_option
from poolsize.command_line.sweep_options import GROUPS, sweep_options
from poolsize.sweep.option import Group
from poolsize.sweep.options import OPTIONS


@click.command(
    cls=GroupedCommand,
    groups=GROUPS,
    others=Group.COMMON.value,
    expert=Group.EXPERT.value,
    examples={
        "A measured answer on this machine, with a private server": "poolsize sweep",
        "Your own server, whose host has 16 cores": "poolsize sweep --url mysql://USER@HOST/ --cores 16",
        "The pool inside your application": "poolsize sweep --application shop.toml",
    },
)
@sweep_options(OPTIONS)
@current_option
@json_option
def sweep(current: int | None, as_json: bool, **texts: Any) -> None:
    """Measure pool sizes on a real server, and recommend a pool size.

    Without --url or POOLSIZE_URL it starts a private MariaDB or MySQL on this machine and removes it afterwards.
    Without --pool-sizes or --rate it searches for the pool size, until the answer is certain or the budget is spent.
    With --application it measures the pool inside an application, driven by your own Locust file.
    With an option of a second server it measures both in turn, and compares them.
    """
    from poolsize.commands.run_sweep import run_sweep  # --help starts without the analysis

    run_sweep(current, texts, as_json=as_json)
