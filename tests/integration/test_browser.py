"""The report in a real browser: on a phone, a desk and paper. Screenshots stay in build/screenshots."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from poolsize.analysis.analysis import analyze
from poolsize.analysis.checks import check_step
from poolsize.answer.from_run import recommend
from poolsize.answer.recommendation import Recommendation
from poolsize.files import shipped
from poolsize.observe.report import observation_html
from poolsize.present.report import UNDER_CHECKS, report_html
from poolsize.present.text.sentences.findings import warning_sentences
from poolsize.present.text.short_of_run import range_text
from poolsize.recordings.published import published_curves
from poolsize.runs.run import Run
from poolsize.runs.store import load_run
from poolsize.sweep.replay import recorded_run
from tests.browser import CUT_OFF, DESK, PAPER, PHONE, SCREENSHOTS, opened
from tests.conftest import a_run, a_step, in_ci
from tests.observe.production import Shown, observed, span_of, two_hours

SHOWN = ("oltp_read_write-mariadb", "insert-mysql")
"""Examples with failed checks, and at the edge of what was measured."""


def verified() -> Run:
    """A run with a size that was verified at parts of its throughput, the larger of which the size did not serve."""
    run = a_run({1: 100, 2: 200, 4: 390, 8: 400})
    steps = [
        replace(a_step(size, [rate] * 10), rate=320.0, backlog=(0,) * 11, busy=(0.8 * size,) * 11)
        for size in (2, 4, 8)
        for rate in (320, 290)
    ]
    steps = [replace(step, checks=check_step(step, 0.01)) for step in steps]
    setting = replace(run.setting, plan=replace(run.plan, verify=(70, 80)))
    return replace(run, setting=setting, steps=(*run.steps, *steps))


RUNS = {name: load_run(shipped(f"data/examples/{name}.jsonl")) for name in SHOWN} | {
    "many-sizes": a_run({size: round(900 * size / (size + 6)) for size in range(1, 21)}, users=1000),
    "verified": verified(),
    "a-recording": recorded_run(published_curves()["cisco"].recording, "cisco", 8),
    "no-size": a_run({1: 100, 2: 200, 4: 390}, users=1),
}


@cache
def answered(name: str) -> tuple[Recommendation, str]:
    """A run's answer and its report."""
    analysis = analyze(RUNS[name])
    answer = recommend(analysis, current=40)
    return answer, report_html(analysis, answer, 40)


@pytest.mark.long
@pytest.mark.parametrize("name", in_ci(RUNS, SHOWN[0]))
def test_it_is_whole_on_a_phone_a_desk_and_paper(browser: Browser, tmp_path: Path, name: str) -> None:
    for page, where in whole_pages(browser, tmp_path, name, answered(name)[1]):
        if where == "phone":
            page.screenshot(path=SCREENSHOTS / f"{name}-first-screen.png")
            assert_first_screen(page, answered(name)[0])


@pytest.mark.long
def test_that_of_an_observation_is_whole_too(browser: Browser, tmp_path: Path) -> None:
    """With a pool that is too small, strangers' names that a phone has no room for, and pools without usage times."""
    pools: tuple[tuple[str, int, Shown], ...] = (
        ("<img src=x onerror=alert(1)>$x^2$", 4, "buckets"), ("shop-" * 15, 20, "counters"), ("w" * 80, 20, "gauges"),
    )  # fmt: skip
    spans = [
        span_of(two_hours(size), shown, name=name, instance=instance)
        for name, size, shown in pools
        for instance in "ab"
    ]
    for name, of_pools, first in (("observation", spans, "li strong"), ("observation-of-1", spans[:2], ".size")):
        text = observation_html(observed(of_pools), "observation.jsonl")
        for page, where in whole_pages(browser, tmp_path, name, text):
            size = page.locator(first).first
            box = size.bounding_box()
            assert box
            assert box["y"] + box["height"] <= PHONE["height"] / 2, where
            assert "connections" in size.inner_text()


def whole_pages(browser: Browser, tmp_path: Path, name: str, text: str) -> Iterator[tuple[Page, str]]:
    """Yield a report's page on a phone, a desk and paper: nothing of it is cut off, or loaded from elsewhere."""
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    for where, size in (("phone", PHONE), ("desk", DESK), ("paper", PAPER)):
        page, console, asked = opened(browser, tmp_path / f"{name}.html", text, size)
        yield page, where
        if where == "paper":
            page.emulate_media(media="print")
            page.pdf(path=SCREENSHOTS / f"{name}.pdf", format="A4")
        page.screenshot(path=SCREENSHOTS / f"{name}-{where}.png", full_page=True)
        assert console == []
        assert asked == []
        assert page.evaluate(CUT_OFF) == []
        pictures = "[...document.images].every(i => i.complete && i.naturalWidth > 0 && i.alt.length > 20)"
        assert page.evaluate(pictures)
        page.close()


def assert_first_screen(page: Page, answer: Recommendation) -> None:
    """Size, range and the main warning are seen before anybody scrolls."""
    size = page.get_by_text("No answer" if answer.pool_size is None else f"{answer.pool_size} connection").first
    shown = [finding for finding in answer.findings if not isinstance(finding, UNDER_CHECKS)]
    warnings = [warning.replace("`", "") for warning in warning_sentences(shown)[:1]]  # commands are code in the page
    wanted = [size, *(page.get_by_text(warning).first for warning in warnings)]
    if answer.range:
        wanted.append(page.get_by_text(range_text(answer)).first)
    for control in wanted:
        box = control.bounding_box()
        assert box is not None
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= PHONE["height"]
