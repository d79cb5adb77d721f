"""`poolsize scenario`: a published experiment, repeated on this machine."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from poolsize.analysis.analysis import Analysis, analyze
from poolsize.analysis.speed import with_speed_checks
from poolsize.command_line.options import is_typed, json_option
from poolsize.command_line.sweep_options import sweep_options
from poolsize.errors import BadInput, PoolsizeError
from poolsize.experiments.agreement import agreement
from poolsize.experiments.agreement_text import agreement_text, scenarios_text
from poolsize.experiments.as_json import More, agreement_json, scenarios_json, survey_json
from poolsize.experiments.exhaustion import exhaustion_text, exhaustions, wait_limits_ms
from poolsize.experiments.full_size import FullSizePrediction, full_size_prediction, full_size_text
from poolsize.experiments.ports import port_uses, ports_text
from poolsize.experiments.refused import refusals, refused_text
from poolsize.experiments.scenario import Scenario, read_scenario, scenario_names
from poolsize.experiments.survey.command import survey_of_pools
from poolsize.experiments.survey.text import survey_text
from poolsize.experiments.survey.timing import FULL_SECONDS, LENGTH_SECONDS, TIMING_SECONDS
from poolsize.runs.store import load_run, load_setting, other_path
from poolsize.sweep.opening import find_locustfile
from poolsize.sweep.options import NAMES_ANOTHER, OPTIONS, SweepOptions
from poolsize.sweep.planning import plan_for
from poolsize.terminal import pasteable

OWN_FIELDS = ("workload", "users", "sizes", "pool", "pool_timeout_seconds", "think_time_ms")
"""Fields of a plan in which the runs of scenarios differ, and no option of the command changes them."""
OF_SCENARIO = ("warm_up_seconds", "step_seconds", "repeats")
TAKEN = (
    "url", "against_url", "ssl_mode", "ssl_ca", "yes", "mysqld", "server_options", "against_options",
    "against_mysqld", "processes",
    *OF_SCENARIO, "output", "resume",
)  # fmt: skip
"""Options of `poolsize sweep` that a scenario takes as well; those of OF_SCENARIO have another default in each."""


@click.command()
@click.argument("name", required=False)
@click.option("--list", "lists", is_flag=True, help="List the scenarios: question, source and length.")
@click.option("--full", is_flag=True, help="Measure at the published scale, which takes longer.")
@sweep_options(TAKEN, {name: f"{OPTIONS[name].text}  [default: the scenario's]" for name in OF_SCENARIO})
@json_option
def scenario(name: str | None, lists: bool, full: bool, as_json: bool, **texts: Any) -> None:
    """Repeat the published experiment NAME on this machine, and compare its claims with the measurement.

    Without --url or POOLSIZE_URL it starts a private server. The result is a run, like that of `poolsize sweep`;
    `pools` stores timings instead, of the libraries of poolsize[pools], and of those of Java where Maven is installed.
    """
    has_options = full or any(is_typed(option) for option in texts)
    if lists and (name or has_options):
        raise BadInput("--list: leave the other words out; it shows every scenario")
    if name is None and has_options:
        raise BadInput("name the scenario before its options: poolsize scenario --list shows the names")
    if lists or name is None:
        scenarios = [(name, known := read_scenario(name), _seconds(known)) for name in scenario_names()]
        click.echo(scenarios_json(scenarios) if as_json else scenarios_text(scenarios))
        return
    known = read_scenario(name).at_full_scale() if full else read_scenario(name)
    command = pasteable("poolsize", "scenario", name, *(["--full"] if full else []))
    typed = SweepOptions.parse(texts)
    if known.survey:
        survey, path = survey_of_pools(name, typed, command, FULL_SECONDS if full else TIMING_SECONDS)
        text = f"{survey_text(known, survey)}\n\nStored in {path}"
        click.echo(survey_json(name, known, survey, str(path)) if as_json else text)
        return
    with _resumed_by(command, None):
        first = _measure(name, known, typed)
    with _resumed_by(command, first[0]):
        paths = (*first, *_measure_other(known, typed, first[0]))
        analyses = [analyze(load_run(path)) for path in paths]
        limits_ms = wait_limits_ms(analyses[0], known.limit_shares)
        limited = [_measure_limit(known, limit_ms, typed, first[0]) for limit_ms in limits_ms]
    result = agreement(known, analyses)
    first_analysis, last_analysis = result.analyses[0], result.analyses[-1]
    more = More(
        exhaustions(first_analysis, [with_speed_checks(load_run(path)) for path in limited]),
        port_uses(last_analysis.run),
        refusals(first_analysis.run),
        _at_full_size(known, first_analysis),
    )
    files = [str(path) for path in (*paths, *limited)]
    if as_json:
        click.echo(agreement_json(result, name=name, runs=files, more=more))
        return
    stored = f"Stored in {', '.join(files)}; more about it: {_following(paths, analyses)}"
    click.echo("\n\n".join((agreement_text(result), *_tables(more), stored)))


def _following(paths: Sequence[Path], analyses: Sequence[Analysis]) -> str:
    """Return the commands that show more about the runs. Runs without a valid size can't be compared."""
    if len(paths) == 1:
        return pasteable("poolsize", "recommend", "--run", paths[0])
    if all(analysis.plateau for analysis in analyses):
        return pasteable("poolsize", "compare", *paths)
    return ", ".join(pasteable("poolsize", "analyze", path) for path in paths)


def _tables(more: More) -> Iterator[str]:
    """Yield the further tables of a scenario that has them."""
    if more.timeouts:
        yield exhaustion_text(more.timeouts)
    if more.ports:
        yield ports_text(more.ports)
    if more.refused:
        yield refused_text(more.refused)
    if more.at_full_size:
        yield full_size_text(more.at_full_size)


@contextmanager
def _resumed_by(command: str, run: Path | None) -> Iterator[None]:
    """Name, in an error, the scenario's own command that resumes it. run: the scenario's first run, if it is known."""
    try:
        yield
    except PoolsizeError as error:
        resume = re.compile(r"poolsize sweep (?:--|`)resume`? ('.*?'(?!\S)|\S+)")
        first = pasteable(run) if run else None
        error.args = (resume.sub(lambda match: f"{command} --resume {first or match[1]}", str(error)),)
        raise


def _at_full_size(known: Scenario, analysis: Analysis) -> FullSizePrediction | None:
    """Return the prediction for the published size; None without one."""
    full = known.predicted
    return full_size_prediction(analysis, full.users, full.sizes) if full else None


def _seconds(known: Scenario) -> int:
    if known.survey:
        return LENGTH_SECONDS
    plan = plan_for(known.sweep_options, str(known.sweep_options.workload))
    runs = max(1, len(known.sides)) + len(known.limit_shares)
    return runs * len(plan.sizes) * plan.repeats * (plan.warm_up_seconds + plan.step_seconds)


def _measure(name: str, known: Scenario, typed: SweepOptions) -> tuple[Path, ...]:
    """Sweep as the scenario says, and return the path of the run's file; of two servers in turn, of both.

    typed: options of the command line.
    """
    from poolsize.command_line.in_turn import measure_in_turn
    from poolsize.locust.launch import require_processes, run_locust
    from poolsize.present.text.progress import ProgressBar

    require_processes(typed)
    options = _with_typed(known.sweep_options, typed)
    if typed.resume:  # which keeps all but the variables of its servers
        again = {name: getattr(options, name) for name in ("server_options", "against_options")}
        options = typed.having(**again)
    _require_servers(name, known, options)
    if typed.resume is not None and not _is_run_of(known.sweep_options, typed.resume):
        raise BadInput(f"{typed.named('resume')} is not the first run of this scenario at this scale: name that run")
    locustfile = find_locustfile(str(known.sweep_options.workload))
    if known.sides and not known.other:
        return measure_in_turn(locustfile, options, ())
    with ProgressBar() as bar:
        return (run_locust(locustfile, options, bar.show),)


def _measure_other(known: Scenario, typed: SweepOptions, run: Path) -> tuple[Path, ...]:
    """Measure the second sweep of a scenario that has one. run: path of the first run."""
    return (_measure_beside(known.other_options, typed, other_path(run)),) if known.other else ()


def _measure_limit(known: Scenario, limit_ms: int, typed: SweepOptions, run: Path) -> Path:
    """Measure a wait limit of the scenario. run: path of the scenario's run."""
    path = run.with_name(f"{run.stem}-{limit_ms}ms{run.suffix}")
    return _measure_beside(known.limited_options(limit_ms), typed, path)


def _measure_beside(options: SweepOptions, typed: SweepOptions, path: Path) -> Path:
    """Measure, or finish, a run beside the scenario's first, and return its path."""
    from poolsize.locust.launch import run_locust
    from poolsize.present.text.progress import ProgressBar

    locustfile = find_locustfile(str(options.workload))
    if typed.resume and path.exists():
        if not _is_run_of(options, path):
            raise BadInput(f"{path}: it is not of this scenario at this scale; move it away, and it is measured again")
        options = typed.having(resume=path, server_options=_with_typed(options, typed).server_options)
    else:
        if typed.resume:
            options = _as_long_as(typed.resume, options)
        options = _with_typed(options, typed).having(output=path, resume=None)
    with ProgressBar() as bar:
        return run_locust(locustfile, options, bar.show)


def _as_long_as(run: Path, options: SweepOptions) -> SweepOptions:
    """Return the options with the times and repeats of a run that was resumed."""
    plan = load_setting(run).plan
    return options.having(**{name: getattr(plan, name) for name in OF_SCENARIO})


def _with_typed(options: SweepOptions, typed: SweepOptions) -> SweepOptions:
    """Return the options of a scenario with those that were typed; variables of a private server add up."""
    values = {name: getattr(typed, name) for name in typed.chosen}
    for name in ("server_options", "against_options"):
        if name in values:
            values[name] = {**(getattr(options, name) or {}), **values[name]}
    if typed.against_url is not None:
        values["against_options"] = None
    if typed.url is not None and typed.server_options is None:
        values["server_options"] = None
    return options.having(**values)


def _is_run_of(options: SweepOptions, run: Path) -> bool:
    """Return whether a run, which may be incomplete, is of the sweep that these options of a scenario describe."""
    resumed, own = load_run(run, torn_end=True).setting.plan, plan_for(options, str(options.workload))
    return all(getattr(resumed, name) == getattr(own, name) for name in OWN_FIELDS)


def _require_servers(name: str, known: Scenario, options: SweepOptions) -> None:
    """Raise BadInput where a scenario of two servers has no second, or a scenario of one server has two."""
    second = [option for option in NAMES_ANOTHER if getattr(options, option)]
    if known.sides and not known.other and not second and options.resume is None:
        raise BadInput(
            f"{name} compares two servers: name the second with `against_url`, `against_mysqld` or `against_options`"
        )
    if (known.other or not known.sides) and second:
        raise BadInput(f"{options.named(second[0])}: {name} measures one server: leave the option out")
