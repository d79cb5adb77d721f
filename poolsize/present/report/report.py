"""The report of a run: the answer, its reasons, the measurements, and the command that repeats them.

The report is a single file, HTML or Markdown; the HTML page contains its pictures.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import jinja2
from markupsafe import Markup, escape

from poolsize.analysis.analysis import Analysis
from poolsize.answer.latency_limit import LimitBroken, LimitDecides, LimitKept
from poolsize.answer.recommendation import Recommendation
from poolsize.answer.warnings import CheckFailed, Retried, VerificationFailed
from poolsize.facts.server import Server
from poolsize.present.report.pictures import Picture, pictures
from poolsize.present.text.analysis import excluded_steps, run_title
from poolsize.present.text.knee import knee_text
from poolsize.present.text.layout import Table
from poolsize.present.text.recommendation import APPLICATIONS, engine_lines, pool_size_text, range_text
from poolsize.present.text.repeat_command import repeat_command
from poolsize.present.text.sentences.checks import check_sentence
from poolsize.present.text.sentences.findings import reason_sentences, warning_sentences
from poolsize.present.text.sentences.reasons import limits_text
from poolsize.present.text.tables import (
    application_table,
    estimators_table,
    kinds_table,
    latency_table,
    price_table,
    throughput_table,
    verified_table,
)
from poolsize.runs.plan import MeasuredApplication, PoolKind
from poolsize.runs.run import Run, Setting
from poolsize.runs.usual_speed import has_server_process, usual_speed
from poolsize.units import count, minutes, number, percent, pool_sizes, probability_text

OPTION = re.compile(r"--[a-z][a-z-]*")
"""A long option of a command line, which the page keeps on one line."""

CODE = re.compile(r"`([^`]+)`")
"""A command or a name in a sentence."""

TAG = re.compile(r"<(?=[a-zA-Z/!?])")
"""The beginning of an HTML tag."""

UNDER_CHECKS = (CheckFailed, VerificationFailed, Retried)
"""Warnings whose steps and figures stand under Checks, so that the page has them once."""
Facts = list[tuple[str, str]]
"""Name and value of each fact."""
POOL_FACTS = {
    PoolKind.SQLALCHEMY: "SQLAlchemy's own QueuePool; users let other users run between transactions",
    PoolKind.NONE: "none: each transaction opens and closes a connection, at most the pool size at a time",
    PoolKind.LAZY: "lazy: a connection is opened when a user needs it, and the server may refuse it",
}


def facts(analysis: Analysis) -> tuple[tuple[str, str], ...]:
    """Return name and value of each fact, in the order of the page."""
    run, setting, plan = analysis.run, analysis.setting, analysis.setting.plan
    return (
        ("Workload", plan.workload),
        *(_application(setting.application) if setting.application else []),
        *(_server(setting, setting.server) if setting.server else []),
        *(_load(run) if setting.recording is None else [("Recording", setting.recording)]),
        ("Steps", f"{len(run.steps)}, each with {plan.step_seconds} s or more of counted time"),
        ("Warm-up", f"{plan.warm_up_seconds} s or more before the counted time of each step"),
        ("Replayed load" if setting.recording else "Load", minutes(run.load_seconds)),
        ("Measured", setting.created.replace("T", " ").replace("+00:00", " UTC")),
        ("Versions", ", ".join(f"{name} {version}" for name, version in setting.versions.items())),
    )


def _application(application: MeasuredApplication) -> Facts:
    how = "started for each pool size" if application.started else "running, its pool resized by a command"
    return [
        ("Application", f"{application.host}, {how}"),
        ("Instances", f"{application.instances:,}, with {count(application.processes, 'process', 'processes')} each"),
    ]


def _server(setting: Setting, server: Server) -> Facts:
    started = ", started for this run" if setting.private else ""
    options = "".join(f", {name}={value}" for name, value in setting.server_options.items())
    return [
        ("Server", f"{server.flavor} {server.version}{started}{options}"),
        ("Database host", f"{count(setting.cores, 'core')} ({setting.cores_from}), {count(setting.disks, 'disk')}"),
        ("Thread handling", server.thread_handling),
        ("Buffer pool", f"{number(server.buffer_pool_bytes / 2**20)} MiB"),
        ("Commits wait for the disk", "yes" if server.durable else "no"),
        *([("Encryption", _encryption(setting))] if setting.ssl_mode else []),
        *([("Schema", f"{setting.schema}, your own")] if setting.schema else []),
        *([("Pool", POOL_FACTS[setting.plan.pool])] if setting.plan.pool in POOL_FACTS else []),
    ]


def _encryption(setting: Setting) -> str:
    return f"{setting.cipher or 'none'} (ssl-mode {setting.ssl_mode})"


def _load(run: Run) -> Facts:
    plan, client = run.plan, run.setting.client
    workers, speed = count(run.workers, "worker"), usual_speed(run)
    return [
        ("Load generator", f"{workers}, {client.usable_cpus:g} CPUs, {client.system}"),
        *(
            [("Usual speed of its machine", f"{number(round(speed, 1))} MB compressed in a second of CPU time")]
            if speed
            else []
        ),
        *([("Speed of the server's machine", "unknown")] if speed and not has_server_process(run) else []),
        ("Users", f"{plan.users:,}, mean think time {number(run.think_time_ms)} ms")
        if plan.rate is None
        else ("Arrival rate", f"{number(plan.rate)}/s (open loop), at most {plan.users:,} transactions at once"),
    ]


@dataclass(frozen=True)
class Report:
    """The contents of the page, in their order: plain texts, and tables whose cells are ready to print.

    subject: workload, server and users. size: the answer with its unit. range: its 95 % range as a sentence, or "".
    limit: the latency limit with its outcome, or "". verdict: "" for none.
    failed: each failed check with its pool sizes. excluded: each excluded step with its checks.
    prices: the price table. applications: the pool sizes of applications, without rows where none is known;
    applications_title: what it shows. engines: lines for the application's code; engines_title: what stands above them.
    curve: the fitted curve in letters.
    latency: None where the run knows none. kinds: of transactions; without rows for one kind.
    verified: the verification steps. facts: name and value of each.
    configure: the command that writes an application's configuration. repeat: the command that measures the run again,
    or "".
    """

    title: str
    subject: str
    size: str
    range: str
    limit: str
    verdict: str
    warnings: tuple[str, ...]
    failed: tuple[str, ...]
    excluded: tuple[str, ...]
    reasons: tuple[str, ...]
    prices: Table
    applications_title: str
    applications: Table
    engines_title: str
    engines: tuple[str, ...]
    pictures: tuple[Picture, ...]
    curve: str
    throughput: Table
    latency: Table | None
    kinds: Table
    estimators: Table
    verified: Table
    facts: tuple[tuple[str, str], ...]
    configure: str
    repeat: str


def report_html(analysis: Analysis, answer: Recommendation, current: int | None = None) -> str:
    """Return the report as an HTML page for a phone, a desk and paper.

    current: the user's pool size today, to mark in the throughput plot; None for no mark.
    """
    report = _report(analysis, answer, pictures(analysis, answer, current))
    return _templates().get_template("report.html.j2").render(report=report)


def report_markdown(analysis: Analysis, answer: Recommendation) -> str:
    """Return the report as Markdown, with the curve in letters instead of plots."""
    templates = _templates()
    templates.finalize = _without_tags
    return templates.get_template("report.md.j2").render(report=_report(analysis, answer, ()))


def _without_tags(value: object) -> object:
    """Return a text in which no HTML tag begins: Markdown would pass it on to a browser."""
    return TAG.sub("&lt;", value) if isinstance(value, str) else value


def _templates() -> jinja2.Environment:
    templates = jinja2.Environment(
        loader=jinja2.PackageLoader("poolsize.present.report"),
        autoescape=jinja2.select_autoescape(("html.j2",)),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
    )
    templates.filters |= {"unbroken": _unbroken, "sentence": _sentence}
    return templates


def _unbroken(text: str) -> Markup:
    """Return the text as HTML in which no line ends within an option or its dashes."""
    return Markup(OPTION.sub(r'<span class="no-break">\g<0></span>', str(escape(text))))  # noqa: S704 (escaped first)


def _sentence(text: str) -> Markup:
    """Return a sentence as HTML: what stands in backticks is code."""
    return Markup(CODE.sub(r"<code>\1</code>", str(_unbroken(text))))  # noqa: S704 (escaped by _unbroken)


def _report(analysis: Analysis, answer: Recommendation, shown: Sequence[Picture]) -> Report:
    size = pool_size_text(answer) if answer.pool_size else "No answer"
    return Report(
        title=f"{size}: {run_title(analysis)}",
        subject=run_title(analysis),
        size=size,
        range=range_text(answer),
        limit=_limit_sentence(answer),
        verdict=answer.verdict or "",
        warnings=warning_sentences(each for each in answer.findings if not isinstance(each, UNDER_CHECKS)),
        failed=_failed(analysis),
        excluded=excluded_steps(analysis),
        reasons=reason_sentences(answer.findings),
        prices=price_table(answer),
        applications_title=APPLICATIONS,
        applications=application_table(answer),
        engines_title="If a single process uses the database"
        if answer.measured_in is None
        else "In the application, set",
        engines=engine_lines(answer),
        pictures=tuple(shown),
        curve=knee_text(analysis),
        throughput=throughput_table(analysis),
        latency=latency_table(analysis) if analysis.knows_p95 else None,
        kinds=kinds_table(analysis),
        estimators=estimators_table(analysis),
        verified=verified_table(analysis, narrow=True),
        facts=facts(analysis),
        configure="poolsize config --for STACK --run RUN",
        repeat=repeat_command(analysis.run),
    )


def _failed(analysis: Analysis) -> tuple[str, ...]:
    """Return each failed check with its pool sizes, and with the check's figures at the largest of them."""
    at_capacity = [
        f"{check}, at {pool_sizes(list(results))}{f'. At {max(results)}' if len(results) > 1 else ''}: "
        f"{check_sentence(results[max(results)])}"
        for check, results in analysis.failures.items()
    ]
    verified = [
        f"{result.check}, with {step.pool_size} connections at {percent(step.load)} of their throughput: "
        f"{check_sentence(result)}"
        for step in analysis.verified
        for result in step.failed_checks
    ]
    return (*at_capacity, *verified)


def _limit_sentence(answer: Recommendation) -> str:
    """Return the latency limit with its outcome; empty without a limit."""
    for finding in answer.findings:
        if isinstance(finding, LimitKept | LimitDecides | LimitBroken):
            outcome = {
                LimitKept: "kept (",
                LimitDecides: "kept, and it decides the pool size (",
                LimitBroken: "not kept by any pool size (at best ",
            }[type(finding)]
            probability = f"{probability_text(finding.probability)} probability"
            return f"Latency limit {limits_text(finding.limits_ms)}: {outcome}{probability})"
    return ""
