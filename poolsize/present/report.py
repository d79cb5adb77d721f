"""A run as one page that needs nothing beside it: the answer, why, what was measured on what, and how to repeat it."""

import re
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass

import jinja2
from markupsafe import Markup, escape
from matplotlib.axes import Axes

from poolsize.analysis.plateau import CERTAINTY
from poolsize.analysis.summary import Analysis
from poolsize.present import alt_text
from poolsize.present.analysis_tables import (
    estimators_table,
    latency_table,
    regret_table,
    throughput_table,
    verified_table,
)
from poolsize.present.analysis_text import measured, void_steps
from poolsize.present.knee_text import knee_text
from poolsize.present.plots.figures import svg_of
from poolsize.present.plots.latency import plot_distribution, plot_latency, plot_wait_and_usage
from poolsize.present.plots.seconds import plot_seconds
from poolsize.present.plots.server import plot_processors, plot_users
from poolsize.present.plots.throughput import plot_throughput
from poolsize.present.recommendation_text import engine_lines
from poolsize.present.repeat_command import repeat_command
from poolsize.present.table import Table
from poolsize.recommendation import Recommendation
from poolsize.units import count, minutes, number, percent

WIDTH, HEIGHT = 4.2, 3.1
"""Inches of a plot: on a phone a letter is still as high as two millimetres."""
OPTION = re.compile(r"--[a-z][a-z-]*")


@dataclass(frozen=True)
class Picture:
    """One plot. caption: what to look for. alt: what it shows, in words. source: a data URI of an SVG file."""

    title: str
    caption: str
    alt: str
    source: str


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
    latency: Table
    estimators: Table
    verified: Table
    facts: tuple[tuple[str, str], ...]
    repeat: str


def report_html(analysis: Analysis, answer: Recommendation, current: int | None = None) -> str:
    """One HTML page: for a phone, a desk and paper. current: the pool's size today, to be marked."""
    return (
        _templates()
        .get_template("report.html.j2")
        .render(report=_report(analysis, answer, _pictures(analysis, current)))
    )


def report_markdown(analysis: Analysis, answer: Recommendation) -> str:
    """The same as Markdown, with the curve in letters instead of plots."""
    return _templates().get_template("report.md.j2").render(report=_report(analysis, answer, ()))


def _templates() -> jinja2.Environment:
    templates = jinja2.Environment(
        loader=jinja2.PackageLoader("poolsize.present"),
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


def _report(analysis: Analysis, answer: Recommendation, pictures: tuple[Picture, ...]) -> Report:
    low, high = answer.range or (0, 0)
    size = count(answer.pool_size, "connection") if answer.pool_size else "No answer"
    return Report(
        title=f"{size}: {measured(analysis)}",
        subject=measured(analysis),
        size=size,
        range=f"{low} to {high}" if low != high else str(low) if low else "",
        verdict=answer.verdict or "",
        warnings=answer.warnings,
        failed=_failed(analysis),
        void=void_steps(analysis),
        reasons=answer.reasons,
        prices=regret_table(answer),
        engines=engine_lines(answer),
        pictures=pictures,
        curve=knee_text(analysis),
        throughput=throughput_table(analysis),
        latency=latency_table(analysis),
        estimators=estimators_table(analysis),
        verified=verified_table(analysis),
        facts=_facts(analysis),
        repeat=repeat_command(analysis.run),
    )


def _failed(analysis: Analysis) -> tuple[str, ...]:
    """Each check that did not pass, at which sizes, with the figures of the first of them."""
    seen: dict[str, dict[int, str]] = {}
    for size in analysis.sizes:
        for check in size.failed_checks:
            seen.setdefault(check.name, {}).setdefault(size.pool_size, check.detail)
    return tuple(
        f"{name}, with {', '.join(map(str, details))} {'connection' if set(details) == {1} else 'connections'}: "
        f"{next(iter(details.values()))}"
        for name, details in seen.items()
    )


def _facts(analysis: Analysis) -> tuple[tuple[str, str], ...]:
    """What was measured on what, name and value."""
    run, setting, plan = analysis.run, analysis.setting, analysis.setting.plan
    server, client = setting.server, setting.client
    seconds = sum(len(step.throughput) for step in run.steps)
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
            ("Load made by", f"{client.usable_cpus:g} processors, {client.system}"),
            ("Users", f"{plan.users:,}, pausing {number(plan.think_time_ms)} ms on average"),
        ]
        told += [("Transactions due", f"{number(plan.rate)}/s, by the clock")] if plan.rate else []
    else:
        told.append(("A recording", setting.recording or ""))
    told += [
        ("Steps", f"{len(run.steps)} of {plan.step_seconds} s after {plan.warm_up_seconds} s of warm-up or more"),
        ("Load in all", minutes(seconds)),
        ("Measured", setting.created.replace("T", " ").replace("+00:00", " UTC")),
        ("Versions", ", ".join(f"{name} {version}" for name, version in setting.versions.items())),
    ]
    return tuple(told)


def _pictures(analysis: Analysis, current: int | None) -> tuple[Picture, ...]:
    """Those plots that the run can fill: a replay has no waits, and a remote server no processors to be seen."""
    found = analysis.plateau
    knee = (
        f"The answer is the smallest size that is {percent(CERTAINTY)} sure to reach {percent(1 - found.tolerance)} of "
        "the best (dotted), with what the measurements leave open; the shaded sizes can't be told apart. Below stand "
        "the sizes that other methods give."
        if found
        else "No size passed the checks that an answer needs."
    )
    pictures = [
        _picture(
            "The throughput knee",
            knee,
            alt_text.of_throughput(analysis),
            lambda ax: plot_throughput(ax, analysis, current),
        ),
        _picture(
            "What callers see",
            "Percentiles of wait and usage together. Too few connections make callers wait for one, too many make them "
            "wait inside the database.",
            alt_text.of_latency(analysis),
            lambda ax: plot_latency(ax, analysis),
        ),
    ]
    if all(size.usage.mean >= 0 for size in analysis.sizes):
        pictures += _pictures_of_latencies(analysis)
    if any(step.workers for step in analysis.run.curve):
        pictures.append(
            _picture(
                "Processors",
                _of_processors(analysis),
                alt_text.of_processors(analysis),
                lambda ax: plot_processors(ax, analysis),
            )
        )
    pictures.append(
        _picture(
            "Every second",
            "A step that is not level was disturbed, or had not settled.",
            alt_text.of_seconds(analysis),
            lambda ax: plot_seconds(ax, analysis.run),
        )
    )
    return tuple(pictures)


def _of_processors(analysis: Analysis) -> str:
    if analysis.counter("process_cpu", analysis.sizes[-1].pool_size) is None:
        return "Of the server's own processor time nothing is known here."
    return "Where all bars together reach the machine's cores, more connections can't help."


def _pictures_of_latencies(analysis: Analysis) -> list[Picture]:
    return [
        _picture(
            "Wait and usage",
            "A larger pool moves time from the pool's queue (wait) into the database (usage).",
            alt_text.of_wait_and_usage(analysis),
            lambda ax: plot_wait_and_usage(ax, analysis),
        ),
        _picture(
            "The slowest callers",
            "Each further nine has equal room, so the few slowest show as well as the many usual ones.",
            alt_text.of_distribution(analysis),
            lambda ax: plot_distribution(ax, analysis),
        ),
        _picture(
            "Where the users queue",
            "A larger pool does not serve more users at once when the database is busy: it lets them queue elsewhere.",
            alt_text.of_users(analysis),
            lambda ax: plot_users(ax, analysis),
        ),
    ]


def _picture(title: str, caption: str, alt: str, draw: Callable[[Axes], Axes]) -> Picture:
    text = b64encode(svg_of(draw, WIDTH, HEIGHT).encode()).decode()
    return Picture(title, caption, alt, f"data:image/svg+xml;base64,{text}")
