"""`poolsize scenario`: its options and its help."""

from collections.abc import Iterable
from typing import Any

import click

from poolsize.command_line.grouped_command import GroupedCommand
from poolsize.command_line.options import completed_by, json_option
from poolsize.command_line.sweep_options import sweep_options
from poolsize.sweep.options import OPTIONS

OF_SCENARIO = ("warm_up_seconds", "step_seconds", "repeats")
TAKEN = (
    "url", "against_url", "ssl_mode", "ssl_ca", "yes", "mysqld", "server_options", "against_options",
    "against_mysqld", "processes",
    *OF_SCENARIO, "output", "resume",
)  # fmt: skip
"""Options of `poolsize sweep` that a scenario takes as well; those of OF_SCENARIO have another default in each."""


def _scenarios(_: str) -> Iterable[str]:
    from poolsize.experiments.scenario import scenario_names

    return scenario_names()


@click.command(
    cls=GroupedCommand,
    examples={
        "The scenarios": "poolsize scenario --list",
        "Repeat the experiment on a full pool": "poolsize scenario exhaustion",
    },
)
@click.argument("name", required=False, shell_complete=completed_by(_scenarios, else_files=False))
@click.option("--list", "lists", is_flag=True, help="List the scenarios: question, source and length.")
@click.option("--full", is_flag=True, help="Measure at the published scale, which takes longer.")
@sweep_options(TAKEN, {name: f"{OPTIONS[name].text}  [default: the scenario's]" for name in OF_SCENARIO})
@json_option
def scenario(name: str | None, lists: bool, full: bool, as_json: bool, **texts: Any) -> None:
    """Repeat the published experiment NAME on this machine, and compare its claims with the measurement.

    Without --url or POOLSIZE_URL it starts a private server. The result is a run, like that of `poolsize sweep`;
    `pools` stores timings instead, of the libraries of poolsize[pools], and of those of Java where Maven is installed.
    """
    from poolsize.experiments.run_scenario import run_scenario  # --help starts without the analysis

    run_scenario(name, texts, lists=lists, full=full, as_json=as_json)
