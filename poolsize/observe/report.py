"""The report of an observation: the answer of each pool with its plots, and a table of all pools; HTML or Markdown."""

from collections.abc import Iterator
from datetime import UTC, datetime
from math import ceil
from pathlib import Path
from typing import Any

from poolsize.answer.traffic_findings import HoldsWhile
from poolsize.observe.observation import Observation, Source, shown
from poolsize.observe.plots import alt_in_use, alt_shares, alt_times, plot_in_use, plot_shares, plot_times
from poolsize.observe.pool_answer import PoolAnswer, pool_named, unknown_pools
from poolsize.observe.text import (
    USAGE_TIME,
    decision_and_verdict,
    doubts,
    in_use_text,
    pools_table,
    size_text,
    together_text,
    verdict,
)
from poolsize.observe.together import observed_together
from poolsize.present.report import Picture, picture, rendered
from poolsize.present.text.sentences.findings import sentence
from poolsize.terminal import pasteable, visible
from poolsize.units import count, lasting, number, sizes_text

MOST_SECTIONS = 8
"""Pools with plots, the most used first; the table has all pools."""
MOST_HOURS = 400 * 24
"""The longest range that `poolsize observe` takes."""
SOURCES = {"server": "--url", "prometheus": "--prometheus"}
"""Kind of source -> the option of `poolsize observe` that names it; that of all others is --metrics."""


def observation_html(observation: Observation, path: str) -> str:
    """Return the report as an HTML page. path: of the observation. Raises WorkFailed where no pool has an answer."""
    answers = pool_named(observation, None)
    contents = _contents(observation, answers, path)
    for pool, answer in zip(contents["pools"], answers, strict=False):
        pool["pictures"] = [*_pictures(answer)]
    return rendered("observation.html.j2", contents)


def observation_markdown(observation: Observation, path: str) -> str:
    """Return the report as Markdown, without plots. The rest as in observation_html."""
    return rendered("observation.md.j2", _contents(observation, pool_named(observation, None), path))


def _contents(observation: Observation, answers: tuple[PoolAnswer, ...], path: str) -> dict[str, Any]:
    """Return the contents of the page, in their order."""
    source, first, several = observation.source, answers[0], len(answers) > 1
    of_all = observed_together(observation, answers) if several else None
    started = datetime.fromtimestamp(min(float(load.at[0]) for load in first.loads), UTC).strftime("%Y-%m-%d %H:%M UTC")
    return {
        "title": f"The needs of {len(answers):,} pools" if several else f"{size_text(first)}: {shown(first.name)}",
        "subject": f"Observed for {lasting(first.seconds)} from {started}: {shown(f'{source.name} {source.selector}')}",
        "decisions": [decision_and_verdict(answer)[0] for answer in answers[:MOST_SECTIONS]] if several else [],
        "pools": [_pool(answer, path, several=several) for answer in answers[:MOST_SECTIONS]],
        "table": pools_table(answers),
        "together": together_text(of_all) if of_all else "",
        "unknown": ", ".join(shown(name) for name in unknown_pools(observation, answers)),
        "check": visible(pasteable("poolsize", "observe", *_read_again(source, answers), "--check", "current")),
    }


def _read_again(source: Source, answers: tuple[PoolAnswer, ...]) -> list[str]:
    """Return the options that read a source again. answers: of its pools."""
    if source.kind != "prometheus" or "://" not in source.name:
        return [SOURCES.get(source.kind, "--metrics"), "URL"]
    hours = min(MOST_HOURS, ceil(max(answer.seconds for answer in answers) / 3600))
    selector = ["--selector", source.selector] if source.selector else []
    return ["--prometheus", source.name, *selector, "--range", f"{hours}h"]


def _pool(answer: PoolAnswer, path: str, *, several: bool) -> dict[str, Any]:
    """Return what the report has of a pool. several: whether the observation has more pools."""
    load, of_pool = answer.busiest, ["--pool", answer.name] if several else []
    of_pool += [] if load.usage_ms else USAGE_TIME
    known = (
        f"in each of {answer.processes:,} processes" if answer.processes > 1 else "",
        "" if answer.is_lower_bound or not answer.is_used else f"95 % range {sizes_text(answer.need_range())}",
        "" if load.size is None else f"the pool size is {load.size:,} today",
    )
    its, command = verdict(answer), pasteable("poolsize", "recommend", "--observation", Path(path), *of_pool)
    return {
        "name": shown(answer.name),
        "size": size_text(answer),
        "range": "; ".join(filter(None, known)),
        "verdict": f"{its[0].upper()}{its[1:]}.",
        "in_use": in_use_text(answer),
        "doubts": [*doubts(answer)],
        "conditions": [*_conditions(answer)],
        "command": " ".join(visible(command).split()),
    }


def _conditions(answer: PoolAnswer) -> Iterator[str]:
    """Yield the conditions under which the answer stays valid; none for cut-off demand, and without an answer."""
    if answer.censored or not answer.is_used:
        return
    if answer.rate and answer.busiest.usage_ms:
        yield sentence(HoldsWhile(answer.rate, answer.busiest.usage_ms))
    else:
        of_all = " in all processes together" if answer.processes > 1 else ""
        most = number(answer.peak_together)
        yield f"The answer holds while on average at most {most} connections are in use{of_all}."
    if answer.processes > 1:
        yield f"It also holds while 1 of {count(answer.processes, 'process', 'processes')} is away."


def _pictures(answer: PoolAnswer) -> Iterator[Picture]:
    """Yield the plots for which the observation has the data: a single reading has no course of time."""
    load = answer.busiest
    if len(load.at) > 1:
        caption = "Where the mean or the highest sample reaches the pool size, further requests wait."
        if answer.processes > 1:
            caption = f"The process that uses the most connections. {caption}"
        yield picture("Connections in use", caption, alt_in_use, plot_in_use, answer)
        if load.usage_ms is not None:
            title = "The usage time rises with the connections in use" if answer.growing else "Wait time and usage time"
            caption = "A usage time that rises at busy times shows that requests wait in the database."
            yield picture(title, caption, alt_times, plot_times, answer)
    if answer.censored:
        return
    caption = "Computed from the mean of each period"
    caption += f", with bursts of {load.bursts.times:.2g} times the mean rate." if load.bursts.times > 1 else "."
    if answer.need < load.in_use_p99_9:
        caption += " Requests wait for a moment while more connections are in use than the need."
    yield picture(f"99.9 % of the time, at most {load.in_use_p99_9:,} in use", caption, alt_shares, plot_shares, answer)
