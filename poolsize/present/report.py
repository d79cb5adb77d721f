"""A run as one page that needs nothing beside it: the answer, why, what was measured on what, and how to repeat it."""

from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass

import jinja2
from matplotlib.axes import Axes

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

WIDTH, HEIGHT = 4.8, 3.3
"""Inches of a plot: on a phone a letter is still as high as two millimetres."""


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
    return jinja2.Environment(
        loader=jinja2.PackageLoader("poolsize.present"),
        autoescape=jinja2.select_autoescape(("html.j2",)),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
    )


def _report(analysis: Analysis, answer: Recommendation, pictures: tuple[Picture, ...]) -> Report:
    low, high = answer.range or (0, 0)
    return Report(
        title=measured(analysis),
        size=count(answer.pool_size, "connection") if answer.pool_size else "No size",
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
    """Each check that did not pass at a size, once, with the figures of its first time."""
    seen: dict[tuple[int, str], str] = {}
    for size in analysis.sizes:
        for check in size.failed_checks:
            seen.setdefault((size.pool_size, check.name), check.detail)
    return tuple(f"{count(size, 'connection')}: {name}; {detail}" for (size, name), detail in seen.items())


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
    share = percent(1 - found.tolerance) if found else "95 %"
    pictures = [
        _picture(
            "The throughput knee",
            f"The pool is large enough where the curve first reaches {share} of the best (dotted); the shaded sizes "
            "can't be told apart. Below are the sizes that other methods would give.",
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
                "Where the server's bar reaches the machine's cores, more connections can't help.",
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


def _pictures_of_latencies(analysis: Analysis) -> list[Picture]:
    return [
        _picture(
            "Wait and usage",
            "Past the knee the time hardly changes; it moves from the pool's queue into the database.",
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
