"""The report of a run: the answer, its reasons, the measurements, and the command that repeats them.

The report is a single file, HTML or Markdown; the HTML page contains its pictures.
"""

import re
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup, escape

from poolsize.analysis.analysis import Analysis
from poolsize.answer.latency_limit import LimitBroken, LimitDecides, LimitKept
from poolsize.answer.recommendation import Recommendation
from poolsize.answer.verdict import Verdict
from poolsize.answer.warnings import CheckFailed, Retried, VerificationFailed
from poolsize.files import templates
from poolsize.present import plots
from poolsize.present.plots import alt_text
from poolsize.present.plots.axes import svg_text
from poolsize.present.text.analysis import excluded_steps, knee_text, run_title
from poolsize.present.text.layout import Table
from poolsize.present.text.recommendation import engine_lines, pool_size_text, table_title
from poolsize.present.text.sentences.checks import check_sentence
from poolsize.present.text.sentences.findings import reason_sentences, sentence, warning_sentences
from poolsize.present.text.sentences.reasons import limits_text
from poolsize.present.text.setting import facts, repeat_command
from poolsize.present.text.short_of_run import labelled, range_text
from poolsize.present.text.tables import (
    application_table,
    estimators_table,
    kinds_table,
    latency_table,
    price_table,
    price_title,
    throughput_table,
    verified_table,
)
from poolsize.units import count, percent, pool_sizes, probability_text

WIDTH, HEIGHT = 4.2, 3.1
"""Inches of a plot: as wide as a phone, where its letters are about as large as small print."""
OPTION = re.compile(r"--[a-z][a-z-]*")
"""A long option of a command line, which the page keeps on one line."""
CODE = re.compile(r"`([^`]+)`")
"""A command or a name in a sentence."""
TAG = re.compile(r"<(?=[a-zA-Z/!?])")
"""The beginning of an HTML tag."""
OUTCOMES = {
    LimitKept: "kept (",
    LimitDecides: "kept, and it decides the pool size (",
    LimitBroken: "not kept by any pool size (at best ",
}
UNDER_CHECKS = (CheckFailed, VerificationFailed, Retried)
"""Warnings whose steps and figures stand under Checks, so that the page has them once."""


def report_html(analysis: Analysis, answer: Recommendation, current: int | None = None) -> str:
    """Return the report as an HTML page for a phone, a desk and paper.

    current: the user's pool size today, to mark in the throughput plot; None for no mark.
    """
    contents = _contents(analysis, answer) | {"pictures": [*_pictures(analysis, answer, current)]}
    return rendered("report.html.j2", contents)


def report_markdown(analysis: Analysis, answer: Recommendation) -> str:
    """Return the report as Markdown, with the curve in letters instead of plots."""
    return rendered("report.md.j2", _contents(analysis, answer))


def rendered(template: str, contents: dict[str, Any]) -> str:
    """Return a template, HTML or Markdown, with the contents of a report."""
    is_markdown = template.endswith(".md.j2")
    known = templates("poolsize.present", is_html=not is_markdown, finalize=_without_markup if is_markdown else None)
    known.filters |= {"unbroken": _unbroken, "sentence": _sentence}
    return known.get_template(template).render(report=contents)


def _without_markup(value: object) -> object:
    """Return a text without HTML tags and images, which Markdown would pass on to a browser."""
    return TAG.sub("&lt;", value).replace("![", r"!\[") if isinstance(value, str) else value


def _unbroken(text: str) -> Markup:
    """Return the text as HTML in which no line ends within an option or its dashes."""
    return Markup(OPTION.sub(r'<span class="no-break">\g<0></span>', str(escape(text))))  # noqa: S704 (escaped first)


def _sentence(text: str) -> Markup:
    """Return a sentence as HTML: what stands in backticks is code."""
    return Markup(CODE.sub(r"<code>\1</code>", str(_unbroken(text))))  # noqa: S704 (escaped by _unbroken)


def _contents(analysis: Analysis, answer: Recommendation) -> dict[str, Any]:
    """Return the contents of the page, in their order: plain texts, "" for none, and tables, without rows for none."""
    subject, size = run_title(analysis), pool_size_text(answer) if answer.pool_size else "No answer"
    alone = "If a single process uses the database"
    return {
        "title": f"{size}: {subject}",
        "subject": subject,
        "size": size,
        "range": range_text(answer),
        "limit": _limit_sentence(answer),
        "labelled": [(label, text) for label, text in labelled(answer) if text and label != "Latency"],
        "verdict": answer.verdict or "",
        "warnings": warning_sentences(each for each in answer.findings if not isinstance(each, UNDER_CHECKS)),
        "failed": _failed(analysis),
        "excluded": excluded_steps(analysis),
        "reasons": reason_sentences(finding for finding in answer.findings if not finding.of_prices),
        "prices": price_table(answer),
        "prices_title": price_title(answer),
        "prices_notes": [sentence(finding) for finding in answer.findings if finding.of_prices],
        "applications_title": table_title(answer),
        "applications": application_table(answer),
        "engines_title": alone if answer.measured_in is None else "In the application, set",
        "engines": () if answer.in_doubt else engine_lines(answer),
        "curve": knee_text(analysis),
        "measurements": _measurements(analysis),
        "facts": facts(analysis.run),
        "configure": "poolsize config --for STACK --run RUN",
        "repeat": repeat_command(analysis.run),
    }


def _measurements(analysis: Analysis) -> list[tuple[str, Table]]:
    """Return the tables that have rows, each behind its caption."""
    tables = {
        "Mean transactions per second at each pool size, as measured": throughput_table(analysis),
        "Wait time, usage time and total time in milliseconds": latency_table(analysis) if analysis.knows_p95 else None,
        "Each kind of transaction, with its share of all and its times in milliseconds": kinds_table(analysis),
        "Verification in an open loop, at percentages of each pool size's throughput; times in milliseconds": (
            verified_table(analysis, narrow=True)
        ),
        "Estimators, with two tests: the error of the throughput predicted at a measured size that is left out of the "
        "fit, and the change of the estimated pool size when the largest size is left out (! marks more than 20 %)": (
            estimators_table(analysis)
        ),
    }
    return [(caption, table) for caption, table in tables.items() if table and table.rows]


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
            outcome = OUTCOMES[type(finding)]
            probability = f"{probability_text(finding.probability)} probability"
            return f"Latency limit {limits_text(finding.limits_ms)}: {outcome}{probability})"
    return ""


@dataclass(frozen=True)
class Picture:
    """A plot. caption: what to look for. alt: its main figures in words. source: data URI of an SVG file."""

    title: str
    caption: str
    alt: str
    source: str


def _pictures(analysis: Analysis, answer: Recommendation, current: int | None) -> Iterator[Picture]:
    """Yield the pictures for which the run has the data: wait and usage times are not known of a replay.

    current: the user's pool size today, to mark in the throughput plot; None for no mark.
    """
    yield _throughput_picture(analysis, answer, current)
    if analysis.knows_p95:
        caption = (
            "Percentiles of the total time. With too few connections users wait for a connection; with too many, "
            "transactions wait inside the database."
        )
        yield picture(plots.LATENCY_TITLE, caption, alt_text.of_latency, plots.plot_latency, analysis, answer)
    if analysis.knows_usage:
        caption = "A larger pool moves time from the queue of the pool (wait) into the database (usage)."
        title = plots.wait_and_usage_title(analysis, answer)
        yield picture(title, caption, alt_text.of_wait_and_usage, plots.plot_wait_and_usage, analysis, answer)
    if analysis.knows_percentiles:
        caption = (
            "The slower half of the transactions. 90 %, 99 % and 99.9 % have equal distances on the axis, so that the "
            "slowest transactions are visible."
        )
        title = "The slowest transactions"
        yield picture(title, caption, alt_text.of_distribution, plots.plot_distribution, analysis, answer)
    if any(step.workers for step in analysis.steps):
        caption = "Where the bars reach the number of cores, more connections can't help."
        if analysis.by_size.counter("process_cpu", analysis.sizes[-1].pool_size) is None:
            caption = "The server's own CPU time is not known."
        title = plots.processors_title(answer)
        yield picture(title, caption, alt_text.of_processors, plots.plot_processors, analysis, answer)
    caption = "In a steady state, the line of a step is level."
    yield picture("Every second", caption, alt_text.of_seconds, plots.plot_seconds, analysis.run)


def _throughput_picture(analysis: Analysis, answer: Recommendation, current: int | None) -> Picture:
    plateau = analysis.plateau
    if plateau is None:
        caption = "No pool size passed the checks that an answer needs."
    elif answer.verdict == Verdict.NOT_THE_LIMIT:
        caption = "The pool is not the limit, so the differences between the pool sizes are noise."
    elif answer.pool_size not in {None, plateau.pool_size}:
        caption = f"Without the latency limit, the answer is {count(plateau.pool_size, 'connection')}."
    elif analysis.curve is None:
        caption = (
            "Transactions arrive at a fixed rate. The answer is the smallest measured pool size that serves the rate."
        )
    else:
        caption = "The bars at the points are 95 % intervals. The band contains 95 % of the posterior samples."
        if answer.pool_size:
            share = percent(1 - plateau.tolerance)
            caption = f"The answer is the smallest pool size that probably reaches {share} of capacity. {caption}"
    title = plots.throughput_title(analysis, answer)
    return picture(title, caption, alt_text.of_throughput, plots.plot_throughput, analysis, answer, current)


def picture(title: str, caption: str, alt: Callable[..., str], plot: Callable[..., Any], *subject: Any) -> Picture:
    """Return a picture. subject: what alt puts into words, and plot draws on its axes."""
    svg = b64encode(svg_text(lambda ax: plot(ax, *subject), WIDTH, HEIGHT).encode()).decode()
    return Picture(title, caption, alt(*subject), f"data:image/svg+xml;base64,{svg}")
