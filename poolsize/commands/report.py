"""`poolsize report`: the answer, reasons, plots and facts of a run or of an observation, in a file."""

from typing import TYPE_CHECKING

import click

from poolsize.command_line.grouped_command import GroupedCommand
from poolsize.command_line.options import FILE, complete_runs, limit_options, require_writable, save_page
from poolsize.command_line.run_file import complete_run
from poolsize.errors import BadInput

if TYPE_CHECKING:  # --help starts without the analysis
    from pathlib import Path

    from poolsize.answer.latency_limit import LatencyLimits


@click.command(
    cls=GroupedCommand,
    examples={
        "A page to send to others": "poolsize report run.jsonl --output run.html",
        "What was observed in production": "poolsize report observation.jsonl --output observation.html",
    },
)
@click.argument("run", shell_complete=complete_runs)
@click.option(
    "--output",
    type=FILE,
    required=True,
    metavar="FILE",
    help="A .html page, or a .md file. An existing file is overwritten.",
)
@limit_options
def report(run: str, output: "Path", current: int | None, limits: "LatencyLimits | None") -> None:
    """Write the answer, reasons, plots and facts of RUN to a file that loads no other files.

    RUN is a run, or an observation, which `poolsize observe` makes. The .html page fits phones, desktops and paper. For
    a PDF, print the page from a browser.
    """
    expected = "a file that ends in .html or .md (for a PDF, print the page from a browser)"
    require_writable("--output", output, (".html", ".md"), expected)
    is_page = output.suffix == ".html"
    from poolsize.observe.store import is_observation, load_observation

    if is_observation(run):
        if current is not None or limits is not None:
            raise BadInput("--current, --max-p95 and --max-p99 are for a run: leave them out")
        from poolsize.observe.report import observation_html, observation_markdown

        observation = load_observation(run)
        text = observation_html(observation, run) if is_page else observation_markdown(observation, run)
    else:
        from poolsize.answer.from_run import recommend
        from poolsize.present.report import report_html, report_markdown

        analysis = complete_run(run)
        answer = recommend(analysis, limits, current)
        text = report_html(analysis, answer, current) if is_page else report_markdown(analysis, answer)
    save_page(text, output)
