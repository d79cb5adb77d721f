"""What `poolsize sweep` does: a sweep of a server, by Locust, or of a recorded curve; then the recommendation."""

import os
import platform
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from poolsize.analysis.analysis import analyze
from poolsize.answer.from_run import recommend
from poolsize.answer.recommendation import Recommendation
from poolsize.command_line.options import is_typed
from poolsize.command_line.run_file import end_unless, show_answer
from poolsize.errors import BadInput
from poolsize.files import workloads
from poolsize.present.text.json_text import json_text
from poolsize.present.text.progress import ProgressBar, ReplayProgress
from poolsize.present.text.recommendation import RunValues, recommendation_values
from poolsize.recordings.published import published_curves
from poolsize.runs.run import Run, Setting
from poolsize.runs.store import load_run, load_setting, other_path
from poolsize.sweep.events import DryRun, Event
from poolsize.sweep.opening import (
    find_locustfile,
    require_given_again,
    require_same_text,
    require_server_options,
    typed_workload,
)
from poolsize.sweep.options import DEFAULT_WORKLOAD, NAMES_ANOTHER, OPTIONS, SweepOptions
from poolsize.sweep.planning import plan_for
from poolsize.sweep.replay import replay
from poolsize.sweep.secret import VARIABLE, SweepSecret
from poolsize.terminal import pasteable
from poolsize.units import count


def run_sweep(current: int | None, texts: Mapping[str, Any], *, as_json: bool) -> None:
    """Sweep, or print what the sweep would do, and print the answer. The parameters are the command's."""
    options = SweepOptions.parse(texts)
    if options.dry_run:
        _rehearse(options, as_json=as_json)
        return
    resumed = load_setting(options.resume) if options.resume else None
    if resumed:
        require_server_options(options, resumed.server_options)
    if resumed and resumed.application:
        require_given_again(options, "application", resumed.application.file)
    if options.application is not None:
        options = _of_application(options)
    if measures_two(options):
        _compare_in_turn(options, resumed, current, as_json=as_json)
        return
    if options.replay is None and resumed and resumed.recording:
        if resumed.recording not in published_curves():
            require_given_again(options, "replay", resumed.recording)
        options = replace(options, replay=Path(resumed.recording))
    run_path = _replay(options) if options.replay else _measure(options, resumed)
    run = load_run(run_path)
    analysis = analyze(run)
    answer = recommend(analysis, current=current)
    if as_json:
        click.echo(json_text(_values(answer, str(run_path), run)))
    else:
        show_answer(str(run_path), analysis, answer)
    end_unless(answer.pool_size)


class SweepValues(RunValues):
    """The answer of a sweep, with the keys that `recommend --run` prints.

    run: path of the stored run. steps: their number. load_seconds: of all steps.
    """

    run: str
    steps: int
    load_seconds: float


def _values(answer: Recommendation, path: str, run: Run) -> SweepValues:
    values = recommendation_values(answer)
    assert values["basis"] == "measured"
    return {**values, "run": path, "steps": len(run.steps), "load_seconds": run.load_seconds}


def _rehearse(options: SweepOptions, *, as_json: bool) -> None:
    """Print what a sweep would do. Raises BadInput for options that a dry run does not support."""
    from poolsize.command_line.locust_sweep import require_processes, run_locust
    from poolsize.present.text.progress import dry_run_text

    if options.application is not None:
        raise BadInput(
            f"{options.named('application')}: `dry_run` shows the statements of a workload, and an application has its "
            "own: leave `dry_run` out, and try the application with `poolsize application check`"
        )
    for name in ("resume", "replay", *NAMES_ANOTHER, "expect_workers"):
        if getattr(options, name) is not None:
            raise BadInput(f"{options.named(name)}: `dry_run` is for a new sweep of one server: leave the option out")
    require_processes(options)
    locustfile = _locustfile(options, None)
    plan_for(options, locustfile.stem)

    def show(event: Event) -> None:
        if isinstance(event, DryRun):
            click.echo(json_text(event) if as_json else dry_run_text(event))

    run_locust(locustfile, options, show)


def measures_two(options: SweepOptions) -> bool:
    """Return whether the options are of two servers in turn: they name another, or resume a run that has another."""
    resumed = options.resume is not None and other_path(options.resume).exists()
    return resumed or any(getattr(options, name) is not None for name in NAMES_ANOTHER)


def _compare_in_turn(options: SweepOptions, resumed: Setting | None, current: int | None, *, as_json: bool) -> None:
    from poolsize.command_line.in_turn import measure_in_turn  # a replay starts without what only two servers need
    from poolsize.command_line.locust_sweep import require_processes
    from poolsize.comparison.command import compare_files
    from poolsize.comparison.text import comparison_text, comparison_values

    require_processes(options)
    not_for_two = {"current": current, "max_p95_ms": options.max_p95_ms, "max_p99_ms": options.max_p99_ms}
    unsupported = [name for name, value in not_for_two.items() if value is not None]
    first, other = measure_in_turn(_locustfile(options, resumed), options, unsupported)
    comparison = compare_files([str(first), str(other)])
    if as_json:
        click.echo(json_text(comparison_values(comparison)))
    else:
        click.echo(comparison_text(comparison))
        click.echo(f"\nStored in {first} and {other}")


def _replay(options: SweepOptions) -> Path:
    if options.workload:
        raise BadInput(f"--workload {options.workload}: a recording has its own workload: leave --workload out")
    if is_typed("url"):  # a URL in the environment is for other sweeps
        raise BadInput("leave --url out to replay a recording, or --replay to measure a server")
    return replay(replace(options, url=None), ReplayProgress(partial(click.echo, err=True)).show)


def _measure(options: SweepOptions, resumed: Setting | None) -> Path:
    """Sweep a server, and return the path of the run's file. resumed: the setting of the run to resume, or None."""
    from poolsize.command_line import locust_sweep  # a replay starts without these
    from poolsize.server.preparation import require_server

    module, pools = locust_sweep.LOCUST_MODULE, None
    if options.application:
        from poolsize.service_under_test import APPLICATION_MODULE
        from poolsize.service_under_test.description import read_description, require_same_application

        described = read_description(options.application)
        if resumed:
            require_same_application(options, resumed, described)
        module, locustfile, pools = APPLICATION_MODULE, described.locustfile, described.measured.pools
    else:
        locustfile = _locustfile(options, resumed)
    locust_sweep.require_processes(options)
    if not options.application:
        require_server(options)  # before Locust is started, which takes seconds
    if options.expect_workers:
        _show_workers(options.expect_workers, module, locustfile, options.application)
    if resumed is None:
        plan_for(options, locustfile.stem, pools=pools)  # refuses bad input before anything is started
    with ProgressBar() as bar:
        return locust_sweep.run_locust(locustfile, options, bar.show, module)


def _locustfile(options: SweepOptions, resumed: Setting | None) -> Path:
    """Return the path of the sweep's locustfile. resumed: the setting of the run to resume, or None.

    Raises BadInput for a locustfile that only the run names, or whose text is not the run's.
    """
    if resumed is None:
        return find_locustfile(options.workload or DEFAULT_WORKLOAD)
    name = resumed.plan.workload
    shipped = resumed.own_workload is None and name in workloads()
    require_given_again(options, "workload", None if shipped else resumed.own_workload or name)
    locustfile = find_locustfile(options.workload or name)
    require_same_text(options, resumed, typed_workload(str(locustfile)))
    return locustfile


def _of_application(options: SweepOptions) -> SweepOptions:
    """Return the options of an application's sweep. Raises BadInput for an option that it does not support."""
    from poolsize.service_under_test.description import FROM_ENVIRONMENT, of_application

    for name in FROM_ENVIRONMENT:
        if is_typed(name):
            raise BadInput(f"{OPTIONS[name].flag}: leave it out; the file of --application names the database")
    return of_application(options)


def _show_workers(number: int, module: str, locustfile: Path, application: Path | None) -> None:
    """Print how to start the workers on other machines, and the secret that they need unless the user has set it.

    number: of workers. module: what Python runs for such a sweep.
    application: path of the file that describes an application, or None.
    """
    secret = SweepSecret.of_this_process()
    os.environ[VARIABLE] = secret.text  # the process of Locust takes it from there
    secret_set = f"{VARIABLE} to {'its value on this machine' if secret.is_given else secret.text}"
    program, of_application = ["locust"], []
    sets, files = f"POOLSIZE_URL to the database's URL and {secret_set}", "path of the same locustfile"
    if application is not None:
        program, of_application = ["python", "-m", module], ["--application", application]
        sets, files = secret_set, "paths of the same files"
    locust = [*program, "-f", Path(os.path.relpath(locustfile)), *of_application]
    click.echo(
        f"poolsize: waiting for {count(number, 'worker')}. On each load machine, set {sets}, and run this command with "
        f"that machine's {files}:\n  {pasteable(*locust, '--worker', '--master-host', platform.node())}",
        err=True,
    )
