"""`poolsize config`: the settings' values, and what the stacks have in common."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolsize.answer.fleet import ServerLimit, Service
from poolsize.answer.fleet_plan import plan_fleet
from poolsize.answer.from_run import recommend
from poolsize.answer.verdict import Verdict
from poolsize.errors import BadInput
from poolsize.files import shipped
from poolsize.pool_config.reasons import sources
from poolsize.pool_config.settings import (
    CALLER_TIMEOUT_SECONDS,
    PoolSettings,
    ServerFacts,
    SizeOfRun,
    UsageInPool,
    measured_usage,
    pool_settings,
)
from poolsize.pool_config.stacks import COMMENTS, STACKS, WIDTH, configuration
from tests.conftest import EXAMPLES, Command, example, in_ci


def settings(
    size: int = 15,
    wait_timeout: int | None = None,
    usage: UsageInPool | None = None,
    callers_wait: float = CALLER_TIMEOUT_SECONDS,
) -> PoolSettings:
    plan, facts = plan_fleet(size, [Service("application", 1)], ServerLimit(100_000)), ServerFacts(None, wait_timeout)
    return pool_settings(plan, usage, facts, fleet_known=False, caller_timeout_seconds=callers_wait)


def values(stack: str, of: PoolSettings) -> dict[str, Any]:
    return {setting.name: setting.value for setting in configuration(STACKS[stack], of).settings}


PUBLISHED = {
    "druid": {
        "initialSize": 3, "minIdle": 3, "maxActive": 15, "maxWait": 5000, "timeBetweenEvictionRunsMillis": 90_000,
        "testOnBorrow": False, "testOnReturn": False, "minEvictableIdleTimeMillis": 1_800_000, "testWhileIdle": True,
    },
    "dbcp2": {
        "initialSize": 3, "minIdle": 3, "maxIdle": 15, "maxTotal": 15, "maxWaitMillis": 5000,
        "timeBetweenEvictionRunsMillis": 90_000, "minEvictableIdleTimeMillis": 1_800_000, "testOnBorrow": False,
        "testOnReturn": False, "numTestsPerEvictionRun": -1, "testWhileIdle": True,
    },
    "c3p0": {
        "c3p0.initialPoolSize": 3, "c3p0.minPoolSize": 3, "c3p0.maxPoolSize": 15, "c3p0.acquireIncrement": 1,
        "c3p0.checkoutTimeout": 5000, "c3p0.idleConnectionTestPeriod": 90, "c3p0.maxIdleTime": 1800,
        "c3p0.testConnectionOnCheckout": False, "c3p0.testConnectionOnCheckin": False, "c3p0.numHelperThreads": 1,
    },
}  # fmt: skip
"""Source: "Connection pool survey: dbcp, druid, c3p0, tomcat-jdbc, HikariCP", its recommended configurations."""
BEYOND_THE_SURVEY = {
    "druid": set(), "dbcp2": {"maxConnLifetimeMillis", "validationQueryTimeout"},
    "c3p0": {"c3p0.maxConnectionAge", "c3p0.connectionIsValidTimeout"},
}  # fmt: skip
OTHER_THAN_THE_SURVEY = {"c3p0.numHelperThreads": 3}
"""Its reason is in the configuration: with a single thread, a check of a dead connection holds up all others."""


@pytest.mark.parametrize("stack", PUBLISHED)
def test_the_published_advice_comes_out_for_15_connections(stack: str) -> None:
    """Its wait limit, 5 s, is that of callers who wait for 15 s."""
    written = values(stack, settings(15, callers_wait=15.0))
    advised = PUBLISHED[stack] | {name: value for name, value in OTHER_THAN_THE_SURVEY.items() if stack in name}
    assert {name: value for name, value in written.items() if name in PUBLISHED[stack]} == advised
    assert set(written) - set(PUBLISHED[stack]) == BEYOND_THE_SURVEY[stack]
    for setting in configuration(STACKS[stack], settings(15)).settings:
        assert setting.why


def test_the_survey_checks_every_90_s_where_the_server_waits_for_120_s() -> None:
    assert settings(wait_timeout=120).idle_check_seconds == 90


@pytest.mark.costly
@given(
    wait_timeout=st.integers(4, 10**7), size=st.integers(1, 5000), callers=st.floats(2, 1e5), share=st.floats(1e-6, 0.4)
)
def test_every_time_is_shorter_than_the_servers(wait_timeout: int, size: int, callers: float, share: float) -> None:
    usage = 1000 * callers * share
    of = settings(size, wait_timeout, UsageInPool(usage, usage), callers)
    assert 1 <= of.idle_check_seconds < wait_timeout
    assert 1 <= of.lifetime_seconds < wait_timeout
    assert of.idle_limit_seconds <= of.lifetime_seconds
    assert 1 <= of.wait_limit_seconds <= max(1, callers / 3 + 0.5)
    assert 1 <= of.minimum <= of.size == size
    assert of.longest_queue >= size * 1000 * of.wait_limit_seconds / usage


def test_a_server_that_ends_connections_at_once_is_refused() -> None:
    with pytest.raises(BadInput, match="wait_timeout is 3 s"):
        settings(wait_timeout=3)
    with pytest.raises(BadInput, match="every 30 s at the most often"):
        configuration(STACKS["hikaricp"], settings(wait_timeout=39))
    assert values("hikaricp", settings(wait_timeout=40))["keepaliveTime"] == 30_000


def test_the_wait_limit_is_a_third_of_what_usage_leaves_of_the_callers_time() -> None:
    assert settings().wait_limit_seconds == 10
    assert settings(usage=UsageInPool(6000.0, 5000.0)).wait_limit_seconds == 8
    short = settings(callers_wait=2.0)
    assert short.wait_limit_seconds == 1
    reason = sources(short, STACKS["hikaricp"])["wait_limit"]
    assert "the least that poolsize writes" in reason
    assert "a retry" not in reason
    assert values("hikaricp", short)["validationTimeout"] < values("hikaricp", short)["connectionTimeout"]
    with pytest.raises(BadInput, match="callers must wait longer"):
        settings(callers_wait=1.0)


@pytest.mark.costly
def test_usage_times_are_those_of_the_measurement() -> None:
    analysis = example("scan-mariadb")
    answer = recommend(analysis)
    assert answer.pool_size
    usage = measured_usage(analysis, answer)
    assert usage
    assert usage.p99_ms == analysis.by_size.nearest(answer.pool_size).usage.p99


@pytest.mark.costly
def test_a_usage_time_is_that_of_the_answer(poolsize_here: Command) -> None:
    """The size for an application is that of recommend, and the wait limit leaves time for its transactions."""
    words = ["--run", str(EXAMPLES["scan-mariadb"]), "--usage-time", "3s", "--json"]
    recommended = json.loads(poolsize_here("recommend", *words).stdout)
    written = json.loads(poolsize_here("config", "--for", "sqlalchemy", *words).stdout)
    assert written["pool_size"] == recommended["pool_size"]
    size, _, wait_limit, *_ = written["settings"]
    assert "for a usage time of 3,000 ms" in size["why"]
    assert wait_limit["value"] == 9


@pytest.mark.parametrize("stack", STACKS)
def test_each_setting_has_a_reason_and_no_line_is_too_long(stack: str) -> None:
    configured = configuration(STACKS[stack], settings(12, 600))
    assert configured.settings
    for setting in configured.settings:
        assert setting.why.endswith("."), setting
        name = re.escape(re.split(r"[.]", setting.name)[-1].lower())
        value = re.escape(str(setting.value).lower())
        assert re.search(rf"{name}\W+(?:. )?{value}(?!\d)", configured.text.lower().replace('"', "")), setting
    comment = COMMENTS.get(Path(STACKS[stack].file).suffix, "#")
    for line in configured.text.splitlines():
        assert len(line) <= WIDTH or not line.lstrip().startswith(comment), line
    assert "\n\n\n" not in configured.text.replace("\n\n\nasync", "").replace("\n\n\n#", "")


@pytest.mark.long
@pytest.mark.parametrize("stack", in_ci(STACKS, "hikaricp", "sqlalchemy", "go"))
def test_json_and_text_agree(poolsize_here: Command, stack: str) -> None:
    words = ["config", "--for", stack, "--run", str(EXAMPLES["oltp_read_write-mysql"])]
    text, answer = poolsize_here(*words, "--why"), json.loads(poolsize_here(*words, "--json").stdout)
    assert text.returncode == 0, text.stderr
    assert answer["text"] == text.stdout
    brief, settings = poolsize_here(*words).stdout, text.stdout.partition("Beyond these settings:")[0]
    assert brief.startswith(settings.rstrip(" #/-\n"))
    assert ("with --why" in brief) == bool(answer["advice"])
    assert answer["file"] == STACKS[stack].file
    assert answer["pool_size"] == recommend(example("oltp_read_write-mysql")).pool_size


def test_the_fleet_gets_the_pool_of_each_process(poolsize_here: Command) -> None:
    words = ["config", "--for", "hikaricp", "--size", "200", "--instances", "12", "--processes", "4",
             "--max-connections", "500", "--json"]  # fmt: skip
    answer = json.loads(poolsize_here(*words).stdout)
    fleet = json.loads(poolsize_here("fleet", *words[3:]).stdout)
    (pool,) = fleet["pools"]
    assert answer["pool_size"] == pool["pool_size"] == answer["settings"][0]["value"]
    assert answer["connections_in_deploy"] == fleet["connections_in_deploy"]


def test_the_list_names_every_stack(poolsize_here: Command) -> None:
    stacks = json.loads(poolsize_here("config", "--list", "--json").stdout)
    lines = poolsize_here("config", "--list").stdout.splitlines()
    assert [line.split(maxsplit=1) for line in lines] == [[stack["name"], stack["title"]] for stack in stacks]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--for", "hikari", "--size", "9"], "--for hikari: no such stack; did you mean hikaricp?"),
        (["--for", "xyz", "--size", "9"], "--for xyz: no such stack; poolsize config --list shows all"),
        (["--for", "php-fpm", "--size", "9", "--processes", "2"], "--processes 2: the workers of PHP-FPM"),
        (["--check", "a.yml", "--list"], "give exactly one of --for STACK"),
        (["--for", "hikaricp"], "give the recommended connections: --size, a measured --run, or the traffic: --rate"),
        (["--for", "hikaricp", "--size", "9", "--run", "a.jsonl"], "give either --size or --run, not both"),
        (["--size", "9"], "give exactly one of --for STACK"),
        (["--for", "hikaricp", "--size", "0"], "--size 0"),
        (["--for", "mysql-connector-python", "--size", "33"], "up to 32 connections"),
        (["--for", "go", "--check", "a.go"], "give exactly one of --for STACK"),
    ],
)
def test_bad_input_is_refused(poolsize_here: Command, words: list[str], line: str) -> None:
    done = poolsize_here("config", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert line in done.stderr
    assert done.stderr.count("\n") == 1


def test_pools_that_do_not_fit_are_explained(poolsize_here: Command) -> None:
    words = ["config", "--for", "go", "--size", "9", "--instances", "90", "--max-connections", "50"]
    done = poolsize_here(*words)
    assert done.returncode == 1
    assert "No pool size fits" in done.stdout


def test_every_template_belongs_to_a_stack() -> None:
    folder = shipped("poolsize/pool_config/templates")
    assert {path.name for path in folder.iterdir()} == {f"{name}.j2" for name in STACKS}


def test_a_limit_that_allows_a_deploy_is_named_and_so_is_a_pool_of_1(poolsize_here: Command) -> None:
    words = ("config", "--for", "hikaricp", "--size", "5", "--instances", "4")
    checked, unknown = (
        re.sub(r"\s*\n# ", " ", poolsize_here(*words, *limit).stdout) for limit in (("--max-connections", "151"), ())
    )
    assert "In a rolling deploy up to 5: max_connections, 151, allows them and 10 in reserve." in checked
    assert "In a rolling deploy" not in unknown
    assert "Each process serves one transaction at a time: give --rate to see what your traffic needs." in unknown


def test_a_limit_or_a_floor_that_changes_the_size_is_named(poolsize_here: Command) -> None:
    limited = poolsize_here("config", "--for", "hikaricp", "--size", "33", "--max-connections", "40")
    assert "maximumPoolSize=30" in limited.stdout
    assert "30 connections. Given by --size: 33 connections" in limited.stdout
    assert "The server's limit keeps the pools small" in limited.stderr
    threads = ["--app-threads", "3", "--connections-per-thread", "4"]
    floored = poolsize_here("config", "--for", "hikaricp", "--size", "5", *threads)
    assert "maximumPoolSize=10" in floored.stdout
    assert "Deadlock floor of each process: 10" in floored.stderr


@pytest.mark.parametrize("stack", ["proxysql", "maxscale", "my.cnf"])
def test_a_proxy_or_the_server_is_configured_beyond_the_present_limit(poolsize_here: Command, stack: str) -> None:
    words = ["--size", "200", "--instances", "90", "--max-connections", "50", "--json"]
    done = poolsize_here("config", "--for", stack, *words)
    assert done.returncode == 0, done.stderr
    (values,) = [
        each["value"] for each in json.loads(done.stdout)["settings"] if each["name"].endswith("max_connections")
    ][-1:]
    assert values >= 90 * 2 + 10


@pytest.mark.costly
def test_a_thread_pool_has_a_group_for_each_core(poolsize_here: Command) -> None:
    run = str(EXAMPLES["oltp_read_write-mariadb-thread-pool"])
    answer = json.loads(poolsize_here("config", "--for", "my.cnf", "--run", run, "--json").stdout)
    written = {each["name"]: each["value"] for each in answer["settings"]}
    assert written["thread_pool_size"] == example("oltp_read_write-mariadb-thread-pool").setting.cores
    without = poolsize_here("config", "--for", "my.cnf", "--run", str(EXAMPLES["oltp_read_write-mariadb"]))
    assert "thread_pool_size" not in without.stdout


def test_a_run_s_path_stays_in_its_comment() -> None:
    of_run = SizeOfRun("a\nb" * 60, Verdict.MEASURED, in_doubt=False)
    lines = configuration(STACKS["hikaricp"], replace(settings(), of_run=of_run)).text.splitlines()
    assert any("Recommended by the measurement in a b" in line for line in lines)
    for line in lines:
        assert line.startswith("#") or "=" in line or not line


@pytest.mark.costly
def test_a_private_server_s_limits_are_no_server_s_to_configure(poolsize_here: Command) -> None:
    run = EXAMPLES["scan-mariadb"]
    private = example("scan-mariadb").setting
    assert private.private
    assert private.server
    assert private.server.max_connections < 151
    answer = json.loads(poolsize_here("config", "--for", "my.cnf", "--run", str(run), "--json").stdout)
    assert {each["name"]: each["value"] for each in answer["settings"]}["max_connections"] == 151


def test_the_server_s_configuration_says_how_much_of_the_limit_is_needed(poolsize_here: Command) -> None:
    words = ["--size", "20", "--instances", "4", "--max-connections", "200", "--json"]
    (limit, *_) = json.loads(poolsize_here("config", "--for", "my.cnf", *words).stdout)["settings"]
    assert "up to 25 connections in a rolling deploy" in limit["why"]
    assert limit["why"].endswith("together 35. The server's limit, 200, is enough.")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--size", "2", "--instances", "3"], "But each process needs at least 1."),
        (["--size", "5", "--app-threads", "3", "--connections-per-thread", "4"], "The deadlock floor is 10."),
        (["--size", "33", "--max-connections", "40"], "The server's limit allows fewer."),
        (["--size", "33", "--app-threads", "3", "--connections-per-thread", "2"], "The threads of the processes use"),
    ],
)
def test_the_reason_for_another_size_is_the_true_one(poolsize_here: Command, words: list[str], why: str) -> None:
    (first, *_) = json.loads(poolsize_here("config", "--for", "go", *words, "--json").stdout)["settings"][1:]
    assert why in first["why"]


@pytest.mark.long
@pytest.mark.parametrize("words", [["config", "--for", "hikaricp"], ["config", "--check", "a.properties"], ["fleet"]])
def test_a_doubt_about_the_measured_size_is_printed(poolsize_here: Command, tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "a.properties").write_text("maximumPoolSize=8\nminimumIdle=8\njdbcUrl=jdbc:mysql://db/\n")
    of_generator = poolsize_here(*words, "--run", str(EXAMPLES["oltp_read_write-mariadb"]))
    assert of_generator.stderr.startswith(
        "poolsize: the pool size is in doubt [generator-limited]: The load generator was"
    )
    assert ("verdict" in of_generator.stdout) == ("--for" in words)
    assert "doubt" not in poolsize_here(*words, "--run", str(EXAMPLES["scan-mariadb"])).stderr


@pytest.mark.costly
def test_the_verdict_on_a_replay_is_printed_too(poolsize_here: Command) -> None:
    poolsize_here("sweep", "--replay=druid_insert_mysql9", "--output=a.jsonl")
    answer = json.loads(poolsize_here("config", "--for", "go", "--run", "a.jsonl", "--json").stdout)
    assert answer["verdict"] == "users-limited"
    assert "in doubt, verdict users-limited" in " ".join(answer["text"].replace("//", "").split())
