"""A run as one page that needs nothing beside it: the answer, why, what was measured on what, and how to repeat it."""

import re
from dataclasses import dataclass

import jinja2
from markupsafe import Markup, escape

from poolsize.analysis.analysis import Analysis
from poolsize.answer.recommendation import Recommendation
from poolsize.present.report.pictures import Picture, limited, pictures
from poolsize.present.text.analysis import excluded_steps, measured
from poolsize.present.text.knee import knee_text
from poolsize.present.text.recommendation import engine_lines
from poolsize.present.text.repeat_command import repeat_command
from poolsize.present.text.sentences.checks import check_sentence
from poolsize.present.text.sentences.findings import reason_sentences, warning_sentences
from poolsize.present.text.table import Table
from poolsize.present.text.tables import (
    estimators_table,
    latency_table,
    price_table,
    throughput_table,
    verified_table_in_ms,
)
from poolsize.units import count, minutes, number, percent

OPTION = re.compile(r"--[a-z][a-z-]*")
"""A long option of a command line, which no line may end within."""


@dataclass(frozen=True)
class Report:
    """What the page says, in its order; texts are plain, tables have their cells ready.

    failed: every check that did not pass, and where. void: steps that were spoiled and measured again.
    """

    title: str
    subject: str
    size: str
    range: str
    verdict: str
    warnings: tuple[str, ...]
    failed: tuple[str, ...]
    void: tuple[str, ...]
    reasons: tuple[str, ...]
    prices: Table
    engines: tuple[str, ...]
    pictures: tuple[Picture, ...]
    curve: str
    throughput: Table
    latency: Table | None
    estimators: Table
    verified: Table
    facts: tuple[tuple[str, str], ...]
    repeat: str


def report_html(analysis: Analysis, answer: Recommendation, current: int | None = None) -> str:
    """One HTML page: for a phone, a desk and paper. current: the pool's size today, to be marked."""
    report = _report(analysis, answer, pictures(analysis, answer, current))
    return _templates().get_template("report.html.j2").render(report=report)


def report_markdown(analysis: Analysis, answer: Recommendation) -> str:
    """The same as Markdown, with the curve in letters instead of plots."""
    return _templates().get_template("report.md.j2").render(report=_report(analysis, answer, ()))


def _templates() -> jinja2.Environment:
    templates = jinja2.Environment(
        loader=jinja2.PackageLoader("poolsize.present.report"),
        autoescape=jinja2.select_autoescape(("html.j2",)),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
    )
    templates.filters["unbroken"] = _unbroken
    return templates


def _unbroken(text: str) -> Markup:
    """HTML in which no line ends within an option or its dashes."""
    return Markup(OPTION.sub(r'<span class="no-break">\g<0></span>', str(escape(text))))  # noqa: S704 (escaped first)


def _report(analysis: Analysis, answer: Recommendation, shown: tuple[Picture, ...]) -> Report:
    size = count(answer.pool_size, "connection") if answer.pool_size else "No answer"
    return Report(
        title=f"{size}: {measured(analysis)}",
        subject=measured(analysis),
        size=size,
        range=_range(analysis, answer),
        verdict=answer.verdict or "",
        warnings=warning_sentences(answer.findings),
        failed=_failed(analysis),
        void=excluded_steps(analysis),
        reasons=reason_sentences(answer.findings),
        prices=price_table(answer),
        engines=engine_lines(answer),
        pictures=shown,
        curve=knee_text(analysis),
        throughput=throughput_table(analysis),
        latency=latency_table(analysis) if analysis.knows_p95 else None,
        estimators=estimators_table(analysis),
        verified=verified_table_in_ms(analysis),
        facts=_facts(analysis),
        repeat=repeat_command(analysis.run),
    )


def _failed(analysis: Analysis) -> tuple[str, ...]:
    """Each check that did not pass, at which sizes, with the figures of the largest of them."""
    at_all_sizes = [
        f"{check}, with {', '.join(map(str, results))} {'connection' if set(results) == {1} else 'connections'}: "
        f"{check_sentence(results[max(results)])}"
        for check, results in analysis.failures.items()
    ]
    at_a_part = [
        f"{result.check}, with {step.pool_size} connections at {percent(step.load)} of their capacity: "
        f"{check_sentence(result)}"
        for step in analysis.verified
        for result in step.failed_checks
    ]
    return (*at_all_sizes, *at_a_part)


def _facts(analysis: Analysis) -> tuple[tuple[str, str], ...]:
    """What was measured on what, name and value."""
    run, setting, plan = analysis.run, analysis.setting, analysis.setting.plan
    server, client = setting.server, setting.client
    processes = f"{run.workers} load process{'' if run.workers == 1 else 'es'}"
    told = [("Workload", plan.workload)]
    if server:
        started = ", started for this run" if setting.private else ""
        options = "".join(f", {name}={value}" for name, value in setting.server_options.items())
        told += [
            ("Server", f"{server.flavor} {server.version}{started}{options}"),
            ("Its host", f"{count(setting.cores, 'core')} ({setting.cores_from}), {count(setting.disks, 'disk')}"),
            ("Connections are served by", server.thread_handling),
            ("Buffer pool", f"{number(server.buffer_pool_bytes / 2**20)} MiB"),
            ("A commit waits for the disk", "yes" if server.durable else "no"),
            ("Load made by", f"{processes}, {client.usable_cpus:g} processors, {client.system}"),
            ("Users", f"{plan.users:,}, pausing {number(plan.think_time_ms)} ms on average")
            if plan.rate is None
            else ("Transactions due", f"{number(plan.rate)}/s, by the clock, {plan.users:,} at once at most"),
        ]
    else:
        told.append(("A recording", setting.recording or ""))
    told += [
        ("Steps", f"{len(run.steps)}, of {plan.step_seconds} s or more"),
        ("Warm-up", f"{plan.warm_up_seconds} s or more of each step, not counted"),
        ("Replayed in all" if setting.recording else "Load in all", minutes(run.load_seconds)),
        ("Measured", setting.created.replace("T", " ").replace("+00:00", " UTC")),
        ("Versions", ", ".join(f"{name} {version}" for name, version in setting.versions.items())),
    ]
    return tuple(told)


def _range(analysis: Analysis, answer: Recommendation) -> str:
    """What is known about other sizes, in a sentence; empty where that was not asked of the curve."""
    if answer.range is None or analysis.curve is None or limited(analysis, answer):
        return ""
    low, high = answer.range
    if low == high:
        return f"It is {low} on 95 of 100 curves that the measurements allow."
    return f"Anything from {low} to {high} can't be told apart from it."
