"""The report: whole in itself, the answer first, the checks as plain as the result, and a command that repeats it."""

import re
import shlex
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from poolsize.analysis.analysis import Analysis, analyze
from poolsize.analysis.checks import check_step
from poolsize.answer.from_run import recommend
from poolsize.answer.latency_limit import LatencyLimits
from poolsize.commands.sweep import sweep
from poolsize.facts.server import Server
from poolsize.facts.ssl_mode import SslMode
from poolsize.present.report import report_html, report_markdown
from poolsize.present.text.analysis import analysis_text
from poolsize.present.text.recommendation import recommendation_text
from poolsize.present.text.setting import repeat_command
from poolsize.recordings.published import published_curves
from poolsize.runs.plan import MeasuredApplication, PoolKind
from poolsize.runs.run import Run
from poolsize.runs.store import load_run
from poolsize.sweep.options import OPTIONS, SweepOptions
from poolsize.sweep.planning import cores_of, disks_of, plan_for
from poolsize.sweep.replay import recorded_run
from tests.conftest import EXAMPLES, Command, a_run, a_step, example
from tests.golden import assert_golden

LATENCY_CAPTION = "Percentiles of the total time"
PLATEAU_CAPTION = "The answer is the smallest pool size that probably reaches"


class Page(HTMLParser):
    """Tags with their attributes, and all text, in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep a tag."""
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        """Keep text."""
        self.text += data


def page_of(run: Run) -> tuple[str, Page]:
    return _page(analyze(run))


@cache
def page_of_example(name: str) -> tuple[str, Page]:
    return _page(example(name))


def _page(analysis: Analysis) -> tuple[str, Page]:
    text = report_html(analysis, recommend(analysis))
    return text, Page(text)


@pytest.mark.long
@pytest.mark.parametrize("name", EXAMPLES)
def test_the_texts_are_the_golden_ones(name: str) -> None:
    analysis = example(name)
    assert_golden(f"report-{name}.md", report_markdown(analysis, recommend(analysis)))
    assert_golden(f"analyze-{name}.txt", analysis_text(analysis) + "\n")


@pytest.mark.long
def test_nothing_in_the_page_lies_outside_of_it() -> None:
    text, page = page_of_example("oltp_read_write-mariadb")
    addresses = [value for _, attributes in page.tags for name, value in attributes.items() if name in {"src", "href"}]
    assert len(addresses) > 7
    assert all(address and address.startswith(("data:", "#")) for address in addresses)
    assert "<script" not in text
    assert "http" not in re.sub(r'src="data:[^"]*"|http-equiv', "", text)


@pytest.mark.long
def test_the_answer_comes_before_everything_else() -> None:
    _, page = page_of_example("scan-mariadb")
    words = page.text[page.text.index("How many connections should") :]
    words = words.replace("Why", "", 1)  # it begins the short answer, too
    order = [
        words.index(part)
        for part in (
            "2 connections",
            "Caution:",
            "Limit",
            "Code for your application",
            "Plots",
            "Why",
            "Checks",
            "Facts",
        )
    ]
    assert order == sorted(order)


@pytest.mark.long
def test_a_failed_check_is_as_plain_as_the_result() -> None:
    run = a_run({1: 100, 2: 200, 4: 390, 8: 400})
    starved = replace(run.steps[1], gap_ms=500.0)
    run = replace(run, setting=replace(run.setting, plan=replace(run.plan, attempts=1)))
    run = replace(run, steps=(run.steps[0], replace(starved, checks=check_step(starved, 0.01)), *run.steps[2:]))
    _, page = page_of(run)
    assert "A check failed" in page.text
    assert "littles_law, at the pool size 2: by Little's law, the measured times account for" in page.text
    analysis = analyze(run)
    for text in (page.text, report_markdown(analysis, recommend(analysis))):
        assert text.count("littles_law, at the pool size 2: by Little's law") == 1
        assert text.count("the measured times account for") == 1
    assert "the measured times account for" in " ".join(recommendation_text(recommend(analysis)).split())


@pytest.mark.long
def test_where_no_size_can_be_given_it_says_so_first() -> None:
    run = a_run({1: 100, 2: 200, 4: 390, 8: 400}, users=1)
    _, page = page_of(run)
    assert "No answer" in page.text
    assert "create_engine" not in page.text


@pytest.mark.long
def test_a_replay_has_a_report_of_what_it_knows() -> None:
    text, page = page_of(recorded_run(published_curves()["cisco"].recording, "cisco", 8))
    assert len([tag for tag, _ in page.tags if tag == "img"]) == 2  # no percentile is known, and no wait
    assert LATENCY_CAPTION not in page.text
    assert "nan" not in page.text
    assert len(text) < 5e6


@pytest.mark.long
def test_at_a_fixed_rate_nothing_is_said_of_a_curve() -> None:
    run = a_run({1: 90, 2: 100, 4: 100})
    steps = tuple(replace(step, rate=100.0, backlog=(0,) * 11, busy=(0.9,) * 11) for step in run.steps)
    steps = tuple(replace(step, checks=check_step(step, 0.01)) for step in steps)
    run = replace(run, setting=replace(run.setting, plan=replace(run.plan, rate=100.0, attempts=1)), steps=steps)
    _, page = page_of(run)
    assert "2 connections" in page.text
    assert PLATEAU_CAPTION not in page.text
    assert "The answer is the smallest measured pool size that serves" in page.text
    assert "arrivals, at the pool size 1" in page.text


@pytest.mark.long
def test_under_a_latency_limit_both_sizes_are_told() -> None:
    analysis = example("oltp_read_write-mariadb")
    answer = recommend(analysis, LatencyLimits(max_p95_ms=165))
    assert analysis.plateau
    assert answer.pool_size != analysis.plateau.pool_size
    page = Page(report_html(analysis, answer))
    assert f"{answer.pool_size} connections" in page.text
    assert f"Without the latency limit, the answer is {analysis.plateau.pool_size} connections" in page.text
    alt = next(attributes["alt"] for tag, attributes in page.tags if tag == "img")
    assert alt
    assert f"The answer is {answer.pool_size} connections" in alt


@pytest.mark.long
def test_a_verification_that_failed_is_told_with_the_checks() -> None:
    run = a_run({1: 100, 2: 200, 4: 390, 8: 400})
    late = replace(a_step(4, [200] * 10), rate=320.0)
    late = replace(late, checks=check_step(late, 0.01))
    run = replace(run, setting=replace(run.setting, plan=replace(run.plan, verify=(80,))), steps=(*run.steps, late))
    _, page = page_of(run)
    assert "arrivals, with 4 connections at 8" in page.text
    assert "Every step that counts passed" not in page.text


@pytest.mark.long
def test_a_command_in_a_sentence_is_code() -> None:
    text, page = page_of_example("oltp_read_write-mariadb")
    assert "<code>poolsize fleet</code>" in text
    assert "`" not in page.text


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_command_to_repeat_it_makes_the_same_plan(name: str) -> None:
    run = load_run(EXAMPLES[name])
    words = shlex.split(repeat_command(run))
    assert words[:2] == ["poolsize", "sweep"]
    with sweep.make_context("sweep", words[2:]) as ctx:
        assert ctx.params["mysqld"] == (None if "mariadb" in name else "PATH/TO/mysqld")
        options = SweepOptions.parse(ctx.params)
    assert plan_for(options, run.plan.workload) == run.plan
    assert (options.workload, options.server_options or {}) == (run.plan.workload, run.setting.server_options)


PLANNED = (
    "--users 40", "--pool-sizes 1,2", "--budget 5m", "--interval 2", "--think-time 5ms", "--warm-up 4s",
    "--step-time 9s", "--precision 2%", "--rate 50", "--pool lazy", "--pool-timeout 5s", "--error-budget 5%",
    "--verify 60", "--no-verify", "--max-p95 20ms", "--max-p99 30ms", "--pool-sizes 1,2 --repeats 2", "--seed 4",
    "--cores 3", "--disks 2",
)  # fmt: skip
"""Options that change the plan, and the facts of the database's host."""
ELSEWHERE: Mapping[str, Mapping[str, Any]] = {
    "--workload": {},
    "--replay": {"recording": "a.csv"},
    "--application": {"application": MeasuredApplication("a.toml", "", "http://a", started=True)},
    "--url": {"private": False},
    "--ssl-mode": {"private": False, "ssl_mode": SslMode.VERIFY_CA},
    "--schema": {"private": False, "schema": "shop"},
    "--mysqld": {"server": Server("db:3306", "MySQL", "9.7.0", 151, 0, "one-thread-per-connection", True, 2**27)},
    "--server-option": {"server_options": {"sync_binlog": "0"}},
}
"""Flag -> fields of the setting that show what its option chose."""
UNMEASURED = {
    "yes", "dry_run", "wait_for_server_seconds", "expect_workers", "ssl_ca", "output", "resume", "against_url",
    "against_options", "against_mysqld",
}  # fmt: skip
"""Options that change nothing that one run measures."""


@pytest.mark.parametrize("words", PLANNED)
def test_an_option_of_the_plan_is_in_the_command_to_repeat_it(words: str) -> None:
    with sweep.make_context("sweep", words.split()) as ctx:
        options = SweepOptions.parse(ctx.params)
    plan, run = plan_for(options, "scan"), a_run({1: 100, 2: 200})
    setting = replace(run.setting, plan=plan, cores=cores_of(options), disks=disks_of(options))
    command = repeat_command(replace(run, setting=setting))
    assert all(word in command for word in words.split() if word.startswith("--"))
    with sweep.make_context("sweep", shlex.split(command)[2:]) as ctx:
        again = SweepOptions.parse(ctx.params)
    assert (plan_for(again, "scan"), cores_of(again), disks_of(again)) == (plan, setting.cores, setting.disks)


@pytest.mark.parametrize("flag", ELSEWHERE)
def test_an_option_of_the_setting_is_in_the_command_to_repeat_it(flag: str) -> None:
    run = a_run({1: 100, 2: 200})
    plan = plan_for(SweepOptions(no_verify=True), "scan")
    command = repeat_command(replace(run, setting=replace(run.setting, plan=plan, **ELSEWHERE[flag])))
    assert f" {flag}" in command
    with sweep.make_context("sweep", shlex.split(command)[2:]) as ctx:
        chosen = SweepOptions.parse(ctx.params).chosen
    assert "no_verify" in chosen or flag in {"--replay", "--application"}
    assert all(OPTIONS[name].replayed for name in chosen if flag == "--replay" and name != "workload")


def test_no_option_is_missing_in_the_command_to_repeat_a_run() -> None:
    tested = {word for words in (*PLANNED, *ELSEWHERE) for word in words.split()} | {"--processes"}
    assert {name for name, option in OPTIONS.items() if option.flag not in tested} == UNMEASURED
    run = a_run({1: 100})
    (step,) = run.steps
    assert " --processes 2" in repeat_command(replace(run, steps=(replace(step, workers=2 * step.workers),)))


def test_the_command_to_repeat_a_run_has_the_host_as_given_and_else_the_server_s_own() -> None:
    run = a_run({1: 100, 2: 200})
    for given, host in ((None, "db:3306"), ("127.0.0.1:3307", "127.0.0.1:3307")):
        setting = replace(run.setting, private=False, given_host=given)
        assert f"--url mysql://USER@{host}/" in repeat_command(replace(run, setting=setting))


@pytest.mark.long
def test_another_pool_a_schema_and_what_a_captured_workload_covers_are_named() -> None:
    run = a_run({1: 100, 2: 200})
    plan = replace(run.plan, pool=PoolKind.SQLALCHEMY)
    setting = replace(run.setting, plan=plan, private=False, schema="shop", covers="90 % of the statements")
    _, page = page_of(replace(run, setting=setting))
    assert "SQLAlchemy's own QueuePool; users let other users run between transactions" in page.text
    assert "64 users, SQLAlchemy's own pool" in page.text
    assert "shop, your own" in page.text
    assert f"{plan.workload}, captured: 90 % of the statements" in page.text
    for option in ("--pool sqlalchemy", "--schema shop"):
        assert option in page.text
    assert "own pool" not in page_of(run)[1].text


@pytest.mark.long
def test_the_command_writes_it(poolsize_here: Command, tmp_path: Path) -> None:
    example = str(EXAMPLES["scan-mariadb"])
    done = poolsize_here("report", example, "--output", "a.html", "--current", "16")
    assert (done.returncode, done.stdout) == (0, "")
    assert "Your current pool size, 16" in (tmp_path / "a.html").read_text()


def test_an_incomplete_run_has_no_report(poolsize_here: Command, tmp_path: Path) -> None:
    whole = EXAMPLES["scan-mariadb"].read_text().splitlines(keepends=True)
    (tmp_path / "half.jsonl").write_text("".join(whole[:4]))
    done = poolsize_here("report", "half.jsonl", "--output", "a.html")
    assert done.returncode == 1
    assert "incomplete" in done.stderr
    assert not (tmp_path / "a.html").exists()


@pytest.mark.long
def test_a_tag_in_a_text_of_the_run_is_text_in_both_reports() -> None:
    run = a_run({1: 100, 2: 200, 4: 205, 8: 206})
    plan = replace(run.plan, workload="<script>alert(1)</script>")
    analysis = analyze(replace(run, setting=replace(run.setting, plan=plan, server_options={"a": "<b>"})))
    answer = recommend(analysis)
    for text in (report_markdown(analysis, answer), report_html(analysis, answer)):
        assert "<script" not in text
        assert "&lt;script" in text
        assert "a=&lt;b" in text
