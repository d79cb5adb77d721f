"""The run or the curve that an answer is from, the commands to type next, and the exit code without a pool size."""

import sys
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from poolsize.command_line.options import complete_files, complete_runs, typed_words
from poolsize.errors import BadInput, WorkFailed
from poolsize.quick_record import QuickRecord
from poolsize.units import milliseconds

if TYPE_CHECKING:  # numpy stays out of `poolsize recommend --cores 8`
    from poolsize.analysis.analysis import Analysis
    from poolsize.answer.application import ClientTimes
    from poolsize.answer.fleet import Service
    from poolsize.answer.recommendation import Recommendation
    from poolsize.answer.traffic import Supply, Traffic
    from poolsize.command_line.traffic_options import TrafficOptions
    from poolsize.present.text.short import NextOptions
    from poolsize.runs.run import Run


class Source(QuickRecord):
    """The run, or the files of another load tool, that an answer is from; false for neither."""

    run_path: str | None
    curve: tuple[str, ...]

    def __bool__(self) -> bool:
        """Return whether a run or a curve was named."""
        return bool(self.run_path or self.curve)

    def check(self, *, alone: bool) -> None:
        """Raise BadInput for a curve beside a run, and for a curve that is not alone: beside the options of traffic."""
        if self.curve and (self.run_path or not alone):
            raise BadInput("--curve: make a run with `poolsize import`, and give the other options with --run")

    @property
    def of_host(self) -> tuple[str, ...]:
        """The parameters that describe the host of a curve; a run contains its own."""
        return ("cores", "disks") if self.curve else ()

    def analysis(self, cores: int | None, disks: int | None) -> "Analysis":
        """Return the source's analysis. cores, disks: of a curve's host. Raises BadInput and WorkFailed."""
        if self.run_path:
            return complete_run(self.run_path)
        from pathlib import Path

        from poolsize.analysis.analysis import analyze
        from poolsize.recordings.importers import read_logs
        from poolsize.sweep.replay import recorded_run

        recording = read_logs([Path(path) for path in self.curve])
        return analyze(recorded_run(recording, Path(self.curve[0]).name, cores, disks))

    def next_commands(self, analysis: "Analysis", answer: "Recommendation") -> list[str]:
        """Return the commands to type after the answer: for a curve, the command that stores the curve as a run."""
        if self.run_path:
            return next_commands(self.run_path, analysis, answer)
        if answer.pool_size is None:
            return []
        from pathlib import Path

        from poolsize.terminal import pasteable

        of_host = typed_words(*self.of_host)
        stored = pasteable("poolsize", "import", *map(Path, self.curve), *of_host, "--output", "run.jsonl")
        return [f"{stored}  # then give --run run.jsonl to fleet or config"]


def source_options(command: Callable[..., None]) -> Callable[..., None]:
    """Decorate a command with --run and --curve, which give the parameter `source`."""

    @wraps(command)
    def with_source(run_path: str | None, curve: tuple[str, ...], more: tuple[str, ...], **others: Any) -> None:
        if more and not curve:  # not named here: a URL has a password
            raise BadInput("a name without its option: write --run RUN, --curve FILE... or --url URL")
        command(source=Source(run_path, (*curve, *more)), **others)

    of_run = click.option(
        "--run",
        "run_path",
        metavar="RUN",
        shell_complete=complete_runs,
        help="Answer from this measured run. With --rate alone, the price table has the total times at that rate; with "
        "options of a fleet too, the answer is the pool size of each process.",
    )
    of_curve = click.option(
        "--curve",
        multiple=True,
        metavar="FILE...",
        shell_complete=complete_files,
        help="Answer from the files of another load tool, such as sysbench. `poolsize import --help` names the tools. "
        "--cores and --disks are of the measured host.",
    )
    return of_run(of_curve(click.argument("more", nargs=-1, metavar="", shell_complete=complete_files)(with_source)))


def complete_run(path: str) -> "Analysis":
    """Return the analysis of a complete run in a file.

    Raises WorkFailed for an incomplete run, with the command that finishes it; BadInput for a file that is not a run.
    """
    from poolsize.analysis.analysis import analyze
    from poolsize.analysis.speed import with_speed_checks
    from poolsize.runs.store import load_run, resume_command
    from poolsize.sweep.next_step import remaining

    run = with_speed_checks(load_run(path))
    if left := remaining(run):
        raise WorkFailed(f"{path} is incomplete: {left}; finish it with: {resume_command(path)}")
    return analyze(run)


def measured_answer(path: str, usage_ms: float | None = None) -> "tuple[Analysis, Recommendation]":
    """Return the analysis and the recommendation of a complete run; what puts it in doubt goes to standard error.

    usage_ms: usage time of the application that the pool size is for; None for the load generator. Raises BadInput for
    a run without a pool size, and for a usage time that the run can't answer.
    """
    from poolsize.answer.from_run import recommend
    from poolsize.answer.verdict import Verdict
    from poolsize.present.text.sentences.findings import sentence

    analysis = complete_run(path)
    answer = recommend(analysis, client_times=client_times_of(usage_ms, None, None))
    if answer.pool_size is None:
        raise BadInput("`run_path`: no pool size can be recommended from this run; `poolsize recommend --run` says why")
    verdict = "" if answer.verdict is Verdict.MEASURED else f" [{answer.verdict}]"
    for finding in answer.doubts:
        click.echo(f"poolsize: the pool size is in doubt{verdict}: {sentence(finding)}", err=True)
    return analysis, answer


def client_times_of(usage_ms: float | None, cpu_ms: float | None, cores: int | None) -> "ClientTimes | None":
    """Return the times that the options give; None without a usage time. Raises BadInput."""
    if usage_ms is None:
        if cpu_ms is not None or cores is not None:
            raise BadInput("--app-cpu-time and --app-cores also need --usage-time")
        return None
    from poolsize.answer.application import ClientTimes

    return ClientTimes(usage_ms, cpu_ms, cores)


def _require_database(analysis: "Analysis", answer: "Recommendation") -> None:
    """Raise BadInput for the run of an application in which nothing of the database limits throughput."""
    if not _limited_by_database(analysis, answer):
        raise BadInput(
            "`run_path`: the database does not limit throughput in this run of an application, so it does not show how "
            "many connections the database can use: leave it out; `poolsize recommend` and `poolsize fleet` take "
            "`cores`, of the database's host, in its place"
        )


def _limited_by_database(analysis: "Analysis", answer: "Recommendation") -> bool:
    from poolsize.analysis.bottleneck import OF_DATABASE
    from poolsize.command_line.fleet_options import limited_in_application

    in_database = analysis.bottleneck is not None and analysis.bottleneck.name in OF_DATABASE
    return in_database and not limited_in_application(analysis, answer)


def traffic_with(
    demand: "TrafficOptions", usage_ms: float | None, service: "Service", analysis: "Analysis | None"
) -> "Traffic":
    """Return the traffic of the options; without a usage time, the run's transactions have it. Raises BadInput."""
    if usage_ms is not None or analysis is None:
        return demand.traffic(usage_ms, service)
    from poolsize.answer.application import usage_of_run
    from poolsize.answer.from_run import recommend

    if analysis.setting.application is not None:
        _require_database(analysis, recommend(analysis))
        raise BadInput(
            "`run_path`: the run of an application does not show the usage time at your rate: add --usage-time"
        )
    return demand.traffic(None, service, usage_of_run(analysis))


def supply_of(
    path: str, analysis: "Analysis", client_times: "ClientTimes | None", *, is_typed: bool = True
) -> "Supply":
    """Return what the database can use, by the run in a file.

    That of an application shows it for the application's own usage time. is_typed: whether the usage time was typed;
    else it is that of an observation or of the run itself. Raises WorkFailed for a run without a pool size, or without
    an answer for a usage time that was not typed; and BadInput for the run of an application that the database does not
    limit, or that has no answer for a typed usage time.
    """
    from poolsize.answer.application import LoadGeneratorSize, NoPoolSize, ShortUsageTime, rates_in_use
    from poolsize.answer.from_run import recommend
    from poolsize.answer.traffic import Supply

    of_application = analysis.setting.application is not None
    try:
        measured = recommend(analysis, None, None, None if of_application else client_times)
    except NoPoolSize as error:
        if is_typed or client_times is None:
            raise
        usage = milliseconds(client_times.usage_time_ms)
        raise WorkFailed(
            f"{path} has no answer for a usage time of {usage}: {error.reason}; name another run"
        ) from None
    if of_application:
        _require_database(analysis, measured)
    if measured.connections is None:
        raise WorkFailed(f"{path} has no pool size, which `poolsize recommend --run` explains: leave --run out")
    rates = rates_in_use(analysis, measured.application) if measured.application else None
    short = tuple(finding for finding in measured.findings if isinstance(finding, ShortUsageTime))
    highest = max(size.throughput.mean for size in analysis.valid_sizes)
    of_generator = next((each.pool_size for each in measured.findings if isinstance(each, LoadGeneratorSize)), None)
    usage_ms = client_times.usage_time_ms if client_times and not of_application else None
    doubts = (*measured.doubts, *short)
    return Supply(measured.connections, measured.range, "measured", rates, highest, doubts, usage_ms, of_generator)


def extending_command(path: str, run: "Run", answer: "Recommendation") -> str:
    """Return the command that extends a run as the answer advises; "" where it advises no extension."""
    from pathlib import Path

    from poolsize.runs.store import other_path, resume_command
    from poolsize.sweep.options import EXTENDING_GRID, EXTENDING_SEARCH, with_flags

    may_extend = EXTENDING_SEARCH if run.plan.search else EXTENDING_GRID
    if other_path(Path(path)).exists() or (run.setting.recording and not run.plan.search):
        return ""
    for finding in answer.findings:
        way_out = getattr(finding, "way_out", None)
        if way_out and way_out.extending and way_out.extending.keys() <= {*may_extend}:
            return with_flags(resume_command(path, way_out.extending))
    return ""


def _with_more_workers(run: "Run", answer: "Recommendation") -> str:
    """Return the command that measures again with enough workers, and where; "" where their number is not known."""
    from poolsize.answer.finding import MoreWorkersByDemands
    from poolsize.present.text.setting import repeat_command

    for finding in answer.findings:
        way_out = getattr(finding, "way_out", None)
        if isinstance(way_out, MoreWorkersByDemands) and way_out.workers:
            command = repeat_command(run, way_out.workers)
            return command and f"on a machine with more cores: {command}"
    return ""


def next_commands(path: str, analysis: "Analysis", answer: "Recommendation") -> list[str]:
    """Return the commands after a run's answer: to use its pool size, or to improve an answer in doubt, and where."""
    from poolsize.present.text.recommendation import application_line
    from poolsize.present.text.short import NextOptions
    from poolsize.terminal import pasteable

    run = analysis.run
    limited = answer.verdict == "generator-limited"  # more steps of the same load generator would show the same
    extend = _with_more_workers(run, answer) if limited else extending_command(path, run, answer)
    if answer.in_doubt:
        return [extend] if extend else []
    if answer.measured_in is not None:
        of_database = ("--run", path) if _limited_by_database(analysis, answer) else ()
        return [application_line(answer), NextOptions(of_database).need_command("--instances", "I", "--processes", "P")]
    options = options_of(path, answer)
    need = options.need_command("--instances", "I", "--processes", "P")
    size = options.of_size or ("--size", answer.connections)
    return [need, pasteable("poolsize", "config", "--for", "STACK", *size), *([extend] if extend else [])]


def options_of(path: str, answer: "Recommendation") -> "NextOptions":
    """Return the options by which other commands take the answer of a run, which another option may have changed."""
    from poolsize.answer.latency_limit import LimitDecides
    from poolsize.present.text.short import NextOptions

    application, run = answer.application, ("--run", path)
    if application is None:
        is_of_run = not any(isinstance(each, LimitDecides) for each in answer.findings)
        return NextOptions(run if answer.application_sizes else (), run if is_of_run else ())
    usage_time = f"{application.usage_time_ms:g}ms"
    return NextOptions(run, () if application.cpu_time_ms else (*run, "--usage-time", usage_time), usage_time)


def show_answer(path: str, analysis: "Analysis", answer: "Recommendation") -> None:
    """Print the short answer of a new run, the commands to type next, and where the run is stored."""
    from poolsize.present.text.short_of_run import run_in_short
    from poolsize.terminal import pasteable

    reasons = pasteable("poolsize", "recommend", "--run", path, "--why")
    click.echo(run_in_short(answer, [*next_commands(path, analysis, answer), reasons]))
    click.echo(f"Stored in {path}")


def end_unless(pools: object) -> None:
    """End the command with the exit code of failed work if the answer, which is printed already, has nothing to use.

    pools: the pool size, or the pools, of the answer; false where there are none.
    """
    if not pools:
        sys.exit(WorkFailed.exit_code)
