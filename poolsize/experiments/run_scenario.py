"""What `poolsize scenario` does: it repeats a published experiment on this machine."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypedDict

import click

from poolsize.analysis.analysis import Analysis, analyze
from poolsize.analysis.speed import with_speed_checks
from poolsize.command_line.options import is_typed
from poolsize.errors import BadInput, PoolsizeError
from poolsize.experiments.agreement import AgreementValues, agreement, agreement_text, agreement_values
from poolsize.experiments.command import OF_SCENARIO
from poolsize.experiments.connection_limits import PortUse, Refused, port_uses, ports_text, refusals, refused_text
from poolsize.experiments.predictions import (
    Exhaustion,
    FullSizePrediction,
    exhaustion_text,
    exhaustions,
    full_size_prediction,
    full_size_text,
    wait_limits_ms,
)
from poolsize.experiments.scenario import Scenario, plan_of, read_scenario, scenario_names
from poolsize.experiments.survey.text import survey_text, survey_values
from poolsize.experiments.survey.timing import FULL_SECONDS, LENGTH_SECONDS, TIMING_SECONDS
from poolsize.present.text.json_text import json_text
from poolsize.present.text.layout import bullets
from poolsize.runs.store import load_run, load_setting, other_path
from poolsize.sweep.opening import find_locustfile, new_file
from poolsize.sweep.options import NAMES_ANOTHER, SweepOptions
from poolsize.terminal import pasteable
from poolsize.units import minutes

OWN_FIELDS = ("workload", "users", "sizes", "pool", "pool_timeout_seconds", "think_time_ms")
"""Fields of a plan in which the runs of scenarios differ, and no option of the command changes them."""


def run_scenario(name: str | None, texts: Mapping[str, Any], *, lists: bool, full: bool, as_json: bool) -> None:
    """List the scenarios, or repeat a scenario and compare. The parameters are the command's."""
    has_options = full or any(is_typed(option) for option in texts)
    if lists and (name or has_options):
        raise BadInput("--list: leave the other words out; it shows every scenario")
    if name is None and has_options:
        raise BadInput("name the scenario before its options: poolsize scenario --list shows the names")
    if lists or name is None:
        click.echo(_list_of_scenarios(as_json=as_json))
        return
    known = read_scenario(name).at_full_scale() if full else read_scenario(name)
    command = pasteable("poolsize", "scenario", name, *(["--full"] if full else []))
    typed = SweepOptions.parse(texts)
    if known.survey:
        from poolsize.experiments.survey.measure import survey_of_pools  # other scenarios start without it

        path = new_file(typed.output, name)
        survey = survey_of_pools(name, typed, FULL_SECONDS if full else TIMING_SECONDS)
        values = json_text(survey_values(known, survey, str(path)))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{values}\n", "utf-8")
        click.echo(values if as_json else f"{survey_text(known, survey)}\n\nStored in {path}")
        return
    with _resumed_by(command, None):
        paths = _measure(known, typed)
    with _resumed_by(command, paths[0]):
        first, limited = paths[0], []
        if known.other:
            paths += (_measure_beside(known.sweep_options(**known.other), typed, other_path(first)),)
        analyses = [analyze(load_run(path)) for path in paths]
        for limit_ms in wait_limits_ms(analyses[0], known.limit_shares):  # with which most transactions may fail
            options = known.sweep_options(pool_timeout_seconds=f"{limit_ms}ms", error_budget="99%")
            limited.append(_measure_beside(options, typed, first.with_name(f"{first.stem}-{limit_ms}ms{first.suffix}")))
    click.echo(_answer(known, analyses, paths, limited, as_json=as_json))


class ScenarioValues(AgreementValues):
    """A scenario's runs beside its source. runs: the path of each. at_full_size: null where it is not predicted."""

    runs: list[str]
    timeouts: Sequence[Exhaustion]
    ports: Sequence[PortUse]
    refused: Sequence[Refused]
    at_full_size: FullSizePrediction | None


class ListedScenario(TypedDict):
    """A scenario of the list. seconds: of load."""

    name: str
    question: str
    source: str
    seconds: int


def _list_of_scenarios(*, as_json: bool) -> str:
    scenarios = [(each, _seconds(each)) for each in map(read_scenario, scenario_names())]
    if as_json:
        listed: list[ListedScenario] = [
            {"name": each.name, "question": each.question, "source": each.source, "seconds": seconds}
            for each, seconds in scenarios
        ]
        return json_text(listed)
    return "\n\n".join(
        f"{each.name} (about {minutes(seconds)})\n{bullets([each.question, f'Source: {each.source}.'])}"
        for each, seconds in scenarios
    )


def _seconds(known: Scenario) -> int:
    if known.survey:
        return LENGTH_SECONDS
    plan = plan_of(known.sweep_options())
    return known.sweeps * len(plan.sizes) * plan.repeats * plan.planned_seconds


def _answer(
    known: Scenario, analyses: Sequence[Analysis], paths: Sequence[Path], limited: Sequence[Path], *, as_json: bool
) -> str:
    """Return the answer of a scenario. paths: of the runs that were analysed. limited: of those with a wait limit."""
    result, files = agreement(known, analyses), [str(path) for path in (*paths, *limited)]
    first, last = analyses[0], analyses[-1]
    timeouts = exhaustions(first, [with_speed_checks(load_run(path)) for path in limited])
    ports, refused = port_uses(last.run), refusals(first.run)
    at_full_size = (
        full_size_prediction(first, plan_of(known.at_full_scale().sweep_options())) if known.predicts_full else None
    )
    if as_json:
        values: ScenarioValues = {
            **agreement_values(result),
            "runs": files,
            "timeouts": timeouts,
            "ports": ports,
            "refused": refused,
            "at_full_size": at_full_size,
        }
        return json_text(values)
    parts = [
        agreement_text(result),
        timeouts and exhaustion_text(timeouts),
        ports and ports_text(ports),
        refused and refused_text(refused),
        at_full_size and full_size_text(at_full_size),
        f"Stored in {', '.join(files)}; more about it: {_following(paths, analyses)}",
    ]
    return "\n\n".join(part for part in parts if part)


def _following(paths: Sequence[Path], analyses: Sequence[Analysis]) -> str:
    """Return the commands that show more about the runs. Runs without a valid size can't be compared."""
    if len(paths) == 1:
        return pasteable("poolsize", "recommend", "--run", paths[0])
    if all(analysis.plateau for analysis in analyses):
        return pasteable("poolsize", "compare", *paths)
    return ", ".join(pasteable("poolsize", "analyze", path) for path in paths)


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


def _measure(known: Scenario, typed: SweepOptions) -> tuple[Path, ...]:
    """Run the scenario's sweep, and return the path of its run, or of both runs of two servers. typed: options."""
    from poolsize.command_line.in_turn import measure_in_turn
    from poolsize.command_line.locust_sweep import require_processes

    require_processes(typed)
    own = known.sweep_options()
    options = _with_typed(own, typed)
    if typed.resume:  # which keeps all but the variables of its servers
        options = typed.having(server_options=options.server_options, against_options=options.against_options)
    _require_servers(known, options)
    if typed.resume is not None and not _is_run_of(own, typed.resume):
        raise BadInput(f"{typed.named('resume')} is not the first run of this scenario at this scale: name that run")
    locustfile = find_locustfile(str(own.workload))
    if known.compares_servers:
        return measure_in_turn(locustfile, options, ())
    return (_sweep(locustfile, options),)


def _sweep(locustfile: Path, options: SweepOptions) -> Path:
    from poolsize.command_line.locust_sweep import run_locust
    from poolsize.present.text.progress import ProgressBar

    with ProgressBar() as bar:
        return run_locust(locustfile, options, bar.show)


def _measure_beside(options: SweepOptions, typed: SweepOptions, path: Path) -> Path:
    """Measure, or finish, a run beside the scenario's first, and return its path."""
    locustfile = find_locustfile(str(options.workload))
    if typed.resume and path.exists():
        if not _is_run_of(options, path):
            raise BadInput(f"{path}: it is not of this scenario at this scale; move it away, and it is measured again")
        return _sweep(locustfile, typed.having(resume=path, server_options=_with_typed(options, typed).server_options))
    if typed.resume:  # the first run may have had other times than the scenario's
        plan = load_setting(typed.resume).plan
        options = options.having(**{name: getattr(plan, name) for name in OF_SCENARIO})
    return _sweep(locustfile, _with_typed(options, typed).having(output=path, resume=None))


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
    resumed, own = load_run(run, torn_end=True).setting.plan, plan_of(options)
    return all(getattr(resumed, name) == getattr(own, name) for name in OWN_FIELDS)


def _require_servers(known: Scenario, options: SweepOptions) -> None:
    """Raise BadInput where a scenario of two servers has no second, or a scenario of one server has two."""
    second = [option for option in NAMES_ANOTHER if getattr(options, option)]
    if known.compares_servers and not second and options.resume is None:
        raise BadInput(
            f"{known.name} compares two servers: name the second with `against_url`, `against_mysqld` or "
            "`against_options`"
        )
    if second and not known.compares_servers:
        raise BadInput(f"{options.named(second[0])}: {known.name} measures one server: leave the option out")
