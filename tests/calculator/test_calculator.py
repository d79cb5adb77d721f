"""The calculator's page in a real browser: its numbers are those of Python, its words those of the form."""

import random
from collections.abc import Iterator
from dataclasses import astuple
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from poolsize.answer.fleet import Service
from poolsize.answer.from_traffic import TrafficAnswer, recommend_for
from poolsize.answer.traffic import Supply, Traffic
from poolsize.answer.traffic_findings import OFTEN
from poolsize.calculator.page import calculator_html
from poolsize.formula import starting_point
from poolsize.traffic.usage_phases import UsageTimes, log_normal
from tests.browser import CUT_OFF, DESK, PHONE, SCREENSHOTS, opened
from tests.conftest import Command

PARTS, INPUTS = 4, 50
"""Of the random inputs, and how many of them a part has."""
expect.set_options(timeout=60_000)
USES = {"usual": "usual", "one_away": "oneAway", "twice": "twice"}


def exactly(value: Any) -> Any:
    return pytest.approx(value, rel=1e-9, abs=1e-9)


def random_inputs(chance: random.Random) -> dict[str, float | None]:
    """Traffic from an idle pool to one of some 30 connections, with every other input at times."""
    usage_ms, instances, processes = 10 ** chance.uniform(0, 3), chance.randint(1, 20), chance.randint(1, 8)
    rate = 10 ** chance.uniform(-1.5, 1.4) * 1000 / usage_ms * instances * processes
    most_wait_ms = chance.choice([None, usage_ms * 10 ** chance.uniform(-1, 1)])
    return {
        "rate": rate, "usageMs": usage_ms, "instances": instances, "processes": processes, "mostWaitMs": most_wait_ms,
        "usageP99Ms": chance.choice([None, usage_ms * chance.uniform(1, 14.9)]),
        "threads": chance.choice([None, chance.randint(1, 40)]),
        "waitLimitMs": chance.choice([None, None, (most_wait_ms or usage_ms) * 10 ** chance.uniform(0.1, 2)]),
        "cores": chance.randint(1, 64), "disks": chance.randint(0, 8),
    }  # fmt: skip


def by_python(inputs: dict[str, Any]) -> TrafficAnswer:
    """The answer of poolsize for the page's inputs."""
    usage = UsageTimes(inputs["usageMs"])
    if inputs["usageP99Ms"] is not None:
        varied = log_normal(inputs["usageMs"], 0.99, inputs["usageP99Ms"])
        assert varied
        usage = varied
    service = Service("application", inputs["instances"], inputs["processes"], threads=inputs["threads"])
    traffic = Traffic(inputs["rate"], usage, service, 1.0, inputs["mostWaitMs"], inputs["waitLimitMs"])
    return recommend_for(traffic, Supply.by_formula(starting_point(inputs["cores"], disks=inputs["disks"])))


@pytest.fixture(scope="module")
def text() -> str:
    return calculator_html()


@pytest.fixture
def page(browser: Browser, tmp_path: Path, text: str) -> Iterator[Page]:
    page, *_ = opened(browser, tmp_path / "page.html", text, DESK)
    yield page
    page.close()


@pytest.mark.long
@pytest.mark.parametrize("seed", range(PARTS))
def test_its_numbers_are_those_of_python(page: Page, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(INPUTS):
        inputs = random_inputs(chance)
        shown, answer = page.evaluate("inputs => calculate(inputs)", inputs), by_python(inputs)
        assert answer.supply, inputs
        assert shown["databaseUses"] == answer.supply.connections, inputs
        assert (shown["poolSize"], shown["decides"]) == (answer.pool_size, answer.decides), inputs
        assert (shown["pools"], shown["connections"]) == (answer.traffic.service.pools, answer.connections), inputs
        assert shown["inUse"] == exactly(answer.traffic.in_use), inputs
        assert shown["awayLoad"] == exactly(answer.traffic.of_process(one_away=True).load), inputs
        beyond = answer.load and exactly(answer.load.beyond(answer.supply.connections))
        assert shown["shareBeyond"] == beyond, inputs
        assert shown["mostlyInUse"] == (answer.load and answer.load.quantile(OFTEN)), inputs
        assert len(shown["sizes"]) == len(answer.sizes), inputs
        for size, in_page in zip(answer.sizes, shown["sizes"], strict=True):
            for name, name_in_page in USES.items():
                use, use_in_page = getattr(size, name), in_page[name_in_page]
                known = use and exactly(astuple(use))
                assert (use_in_page and tuple(use_in_page.values())) == known, (name, inputs)


def fill(page: Page, **fields: object) -> None:
    for field, value in fields.items():
        page.locator(f"#{field}").fill(str(value))


@pytest.mark.long
def test_the_answer_follows_the_form_and_the_command_gives_the_same(page: Page, poolsize_here: Command) -> None:
    size, command = page.locator("#size"), page.locator("#command")
    expect(size).to_have_text("2 connections in each of 24 processes")
    fill(page, rate=900, usageP99Ms=60, threads=8, mostWaitMs=5, waitLimitMs=100, disks=0, instances=3)
    expect(command).to_have_text(
        "poolsize recommend --rate 900/s --usage-time 15ms --usage-p99 60ms --instances 3 --processes 4 "
        "--app-threads 8 --max-wait-p99 5ms --wait-limit 100ms --cores 8 --disks 0"
    )
    first, *others = poolsize_here(*(command.text_content() or "").split()[1:]).stdout.splitlines()
    assert first.startswith(f"Use {size.text_content()}: {page.locator('#range').text_content()}")
    waits = (
        page.get_by_role("row").filter(has_text="p99 wait, an instance away").get_by_role("cell").all_text_contents()
    )
    assert any(wait in "".join(others) for wait in waits)
    fill(page, threads=1)
    expect(size).to_have_text("1 connection in each of 12 processes")
    expect(page.locator("#cautions")).to_contain_text(
        "it has 1 thread: they wait without end. Add threads or processes."
    )
    fill(page, threads="", instances=1, processes=1, rate=2000)
    expect(page.locator("#cautions")).to_contain_text("By the formula the database is too small for this traffic")
    expect(page.locator("#range")).to_have_text("If the database were fast enough")


@pytest.mark.long
@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("rate", "0", "Give a number above 0, such as 400."),
        ("rate", "1e99", "Give a number above 0, such as 400."),
        ("rate", "99999999999", "1,499,999,999.985 connections would be in use at once. Is the rate right?"),
        ("usageMs", "", "Give a number above 0, such as 15."),
        ("usageP99Ms", "14", "Give 1 to 14.9 times the mean, which log-normal times have at most."),
        ("instances", "1.5", "Give a whole number from 1 to 1,000,000, such as 6."),
        ("waitLimitMs", "15", "Give more than the highest p99 wait, 15 ms."),
        ("cores", "-8", "Give a whole number from 1 to 10,000, such as 8."),
        ("disks", "<b>1</b>", "Give a whole number from 0 to 100,000, such as 1."),
    ],
)
def test_a_field_says_what_is_wrong_in_place_of_an_answer(page: Page, field: str, value: str, message: str) -> None:
    fill(page, **{field: value})
    expect(page.locator(f"#{field}-error")).to_contain_text(message)
    expect(page.locator(f"#{field}")).to_have_attribute("aria-invalid", "true")
    expect(page.locator("#answer")).to_be_hidden()


@pytest.mark.long
def test_it_is_whole_on_a_phone_and_a_desk_in_light_and_dark(browser: Browser, tmp_path: Path, text: str) -> None:
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    papers = set()
    for where, width, scheme in (("phone", PHONE, "dark"), ("desk", DESK, "light")):
        page, console, asked = opened(browser, tmp_path / "page.html", text, width)
        page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        fill(page, rate=400_000, waitLimitMs=300, threads=1_000)
        expect(page.get_by_role("row").filter(has_text="Timed out at twice the rate")).to_be_visible()
        page.screenshot(path=SCREENSHOTS / f"calculator-{where}-{scheme}.png", full_page=True)
        papers.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        assert page.evaluate(CUT_OFF) == []
        assert page.evaluate("[...document.querySelectorAll('input')].every(input => input.labels.length === 1)")
        assert (console, asked) == ([], [])
        page.close()
    assert len(papers) == 2


@pytest.mark.long
def test_the_page_asks_for_nothing_and_runs_no_other_script(browser: Browser, tmp_path: Path, text: str) -> None:
    assert "http://" not in text
    assert "https://" not in text
    foreign = "<script>window.ran = 1</script><img src='http://127.0.0.1:9/x.png'>"
    page, console, _ = opened(browser, tmp_path / "page.html", text.replace("</body>", f"{foreign}</body>"), DESK)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    assert page.evaluate("window.ran") is None
    refused = page.evaluate("fetch('http://127.0.0.1:9/').then(() => 'answered', () => 'refused')")
    assert (refused, asked) == ("refused", [])
    assert sum("Content Security Policy" in line for line in console) >= 3
    page.close()


@pytest.mark.costly
def test_the_command_writes_the_page(poolsize_here: Command, tmp_path: Path, text: str) -> None:
    done = poolsize_here("calculator", "--output", "page.html")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "poolsize: wrote page.html\n")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == text
    refused = poolsize_here("calculator", "--output", "page.txt")
    assert refused.returncode == 2
    assert refused.stderr.splitlines() == ["poolsize: error: --output page.txt: name a file that ends in .html"]
