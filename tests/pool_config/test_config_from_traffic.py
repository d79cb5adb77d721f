"""`poolsize config --rate`: the pool that the traffic needs, in the configuration of every stack."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from poolsize.answer.fleet import Service
from poolsize.answer.from_traffic import TrafficAnswer, recommend_for
from poolsize.answer.traffic import Traffic
from poolsize.pool_config.stacks import STACKS
from poolsize.traffic.pool_use import ProcessTraffic, pool_use
from poolsize.traffic.usage_phases import UsageTimes
from poolsize.units import milliseconds, percent
from tests.conftest import EXAMPLES, Command

INSTANCES, THREADS = 60, 8
TRAFFIC = ["--rate=4000/s", "--usage-time=15ms", f"--instances={INSTANCES}", f"--app-threads={THREADS}"]
UNREAD = {"asyncmy", "aiomysql", "peewee", "dbutils", "php-fpm", "proxysql", "maxscale"}
"""Stacks whose files `config --check` does not read."""
RESERVE = 10


def answer(instances: int = INSTANCES, threads: int = THREADS) -> TrafficAnswer:
    service = Service("application", instances, threads=threads, connections_per_thread=1)
    return recommend_for(Traffic(4000, UsageTimes(15.0), service))


def configured(poolsize_here: Command, stack: str, *words: str) -> tuple[dict[str, Any], str]:
    """The JSON of a configuration, and what standard error has."""
    done = poolsize_here("config", "--for", stack, *words, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


@pytest.mark.costly
@pytest.mark.parametrize("stack", STACKS)
def test_every_stack_has_the_size_that_the_traffic_needs(poolsize_here: Command, stack: str) -> None:
    written, _ = configured(poolsize_here, stack, *TRAFFIC, "--caller-timeout=12s")
    values = {each["name"]: each["value"] for each in written["settings"]}
    needed, together = answer(), answer(1, INSTANCES * THREADS)
    assert written["pool_size"] == needed.need == 4
    assert written["connections_in_deploy"] == 75 * 4
    if STACKS[stack].is_proxy:
        assert together.need in (values.get("mysql_servers.max_connections"), values.get("max_routing_connections"))
        assert written["settings"][-1]["value"] == 75 * 4 + RESERVE
    elif STACKS[stack].is_server:
        assert values["max_connections"] == 75 * 4 + RESERVE
    else:
        of_size = [each for each in written["settings"] if "connections are in use on average" in each["why"]]
        assert needed.need in [each["value"] for each in of_size]
    reasons = [each for each in written["settings"] if each["why"].startswith("Wait limit: 4 s = (")]
    in_ms = {each["value"] * {"ms": 1, "s": 1000}[each["unit"]] for each in reasons}
    assert in_ms == ({4000} if STACKS[stack].has_wait_limit else set())  # 12 s, less a usage time of 69 ms: a third


@pytest.mark.parametrize(("threads", "worker_class"), [(1, "sync"), (4, "gthread")])
def test_the_workers_of_gunicorn_fit_the_threads(poolsize_here: Command, threads: int, worker_class: str) -> None:
    text = configured(poolsize_here, "django", *TRAFFIC[:3], f"--app-threads={threads}")[0]["text"]
    assert f'#   threads = {threads}\n#   worker_class = "{worker_class}"\n' in text


@pytest.mark.costly
@pytest.mark.parametrize("stack", sorted(set(STACKS) - UNREAD))
def test_what_it_writes_passes_its_own_check(poolsize_here: Command, stack: str) -> None:
    done, file = poolsize_here("config", "--for", stack, *TRAFFIC), STACKS[stack].file
    with open(file, "w") as opened:  # noqa: PTH123 (in the test's folder)
        opened.write(done.stdout)
    (pool,) = json.loads(poolsize_here("config", "--check", file, *TRAFFIC, "--json").stdout)["files"][0]["pools"]
    assert (pool["findings"], pool["differences"]) == ([], [])
    more = poolsize_here("config", "--check", file, *TRAFFIC, "--rate=9000/s", "--json")
    assert stack == "django" or json.loads(more.stdout)["files"][0]["pools"][0]["differences"]


@pytest.mark.costly
@pytest.mark.parametrize("most", [1000, 60])
@pytest.mark.parametrize(("size", "code", "exit_code"), [(4, "pool_below_traffic", 3), (5, "pool_below_need", 0)])
def test_a_pool_that_the_traffic_outgrows_is_named(
    poolsize_here: Command, tmp_path: Path, size: int, code: str, exit_code: int, most: int
) -> None:
    """600/s x 60 ms: 36 connections in use, 4.5 in each of 8 processes, also where the server allows 4 or 5."""
    traffic = ("--rate=600/s", "--usage-time=60ms", "--instances=4", "--processes=2", f"--max-connections={most}")
    (tmp_path / "hikari.properties").write_text(
        f"jdbcUrl=jdbc:mysql://db/shop\nmaximumPoolSize={size}\nmaxLifetime=1800000\n"
    )
    done = poolsize_here("config", "--check", "hikari.properties", *traffic, "--json")
    assert done.returncode == exit_code
    (pool,) = json.loads(done.stdout)["files"][0]["pools"]
    assert code in [finding["code"] for finding in pool["findings"]]
    annotated = poolsize_here("config", "--check", "hikari.properties", *traffic, "--format=github")
    assert "line=2" in annotated.stdout


@pytest.mark.costly
def test_the_wait_limit_has_the_share_that_times_out(poolsize_here: Command) -> None:
    """While an instance is away, at the usage times and with the wait limit of the configuration."""
    words = ["--rate=20/s", "--usage-time=1s", "--instances=3", "--max-connections=500"]
    short = ["--caller-timeout=6s", "--max-wait-p99=1500ms"]
    written, errors = configured(poolsize_here, "hikaricp", *words, *short)
    away = ProcessTraffic(0.010, UsageTimes(1000.0), wait_limit_ms=1000)
    share = pool_use(away, written["pool_size"]).share_timed_out
    assert share > 0.001
    caution = (
        f"{percent(share)} of the requests time out at the wait limit of 1 s while an instance is away. Use a larger"
    )
    assert caution in errors
    assert caution in json.dumps(written)
    for more in (["--caller-timeout=12s"], ["--caller-timeout=6s", "--max-wait-p99=20ms"]):
        written, errors = configured(poolsize_here, "hikaricp", *words, *more)
        assert "time out" not in errors
        assert "Fewer than 0.1 % of the requests time out while an instance is away." in json.dumps(written)
    assert "time out" not in configured(poolsize_here, "django", *words, *short)[1]  # it has no limit
    bounded = [*words[:3], "--caller-timeout=6s", "--max-connections=62"]
    assert "Raise the server's limit, or give a longer" in configured(poolsize_here, "hikaricp", *bounded)[1]


def test_a_typed_p99_usage_time_needs_no_rate(poolsize_here: Command) -> None:
    """It shortens the wait limit: (30 s - 15 s) / 3."""
    words = ["config", "--for", "hikaricp", "--size", "30", "--usage-p99", "15s"]
    done, refused = poolsize_here(*words, "--usage-time", "2s"), poolsize_here(*words)
    assert "connectionTimeout=5000" in done.stdout
    assert "15 s p99 usage time" in done.stdout
    assert (refused.returncode, "--usage-p99 also needs --rate" in refused.stderr) == (2, True)
    observed = poolsize_here("config", "--for", "hikaricp", "--observation", "a.jsonl")
    assert observed.stderr.endswith("has it; its answer ends with the command for the configuration.\n")


@pytest.mark.costly
def test_a_share_that_the_model_can_t_tell_is_no_number(poolsize_here: Command) -> None:
    """At so long a limit, in bursts beyond the pool, its matrices overflow."""
    words = ["--rate=1000/s", "--usage-time=15ms", "--usage-p99=120ms", "--burst=20x", "--max-connections=30"]
    _, errors = configured(poolsize_here, "go", *words, "--surge=0%")
    assert re.search(r"(Some|[\d.]+ %) of the requests time out at the wait limit of 10 s\. Raise", errors)
    assert all(line.startswith("poolsize: ") for line in errors.splitlines())


@pytest.mark.costly
def test_no_caution_stands_beside_a_p99_9_wait_below_the_limit(poolsize_here: Command) -> None:
    words = ["--rate=60/s", "--usage-time=150ms", "--usage-p99=2s", "--instances=3", "--caller-timeout=4s"]
    written, errors = configured(poolsize_here, "node-mysql2", *words)
    assert "time out" not in errors
    assert "Fewer than 0.1 % of the requests time out while an instance is away." in json.dumps(written)


@pytest.mark.parametrize(
    ("stack", "worker"), [("php-fpm", "worker"), ("django", "thread"), ("mysql-connector-python", "thread")]
)
def test_a_worker_is_busy_for_the_whole_request(poolsize_here: Command, stack: str, worker: str) -> None:
    written, errors = configured(poolsize_here, stack, *TRAFFIC[:3])
    caution = f"A {worker} is busy for the whole request. So --usage-time must be the whole request's time"
    assert caution in errors
    (size,) = {each["why"] for each in written["settings"] if each["value"] == written["pool_size"]} - {
        each["why"] for each in written["settings"] if each["name"] == "THREADS"
    }
    assert caution in size
    assert ("in each of 60 instances" in size) == (stack == "php-fpm")
    few = f"This number of {worker}s only limits the connections, and may be too few for your requests"
    assert few not in errors
    assert few in configured(poolsize_here, stack, "--size=9")[1]
    assert "whole request" not in configured(poolsize_here, "go", *TRAFFIC[:3])[1]


def test_a_pool_that_serves_in_random_order_has_longer_waits(poolsize_here: Command) -> None:
    written, errors = configured(poolsize_here, "go", *TRAFFIC)
    (size,) = (each["why"] for each in written["settings"] if each["name"] == "SetMaxOpenConns")
    assert "the p99 wait is longer than the computed one" in size
    assert "in random order" in errors
    assert "in random order" not in configured(poolsize_here, "hikaricp", *TRAFFIC)[1]


@pytest.mark.costly
def test_a_longer_p99_usage_time_leaves_a_shorter_wait_limit(poolsize_here: Command) -> None:
    words = ["--rate=20/s", "--usage-time=1s", "--usage-p99=9s", "--instances=3"]
    (wait_limit, _) = (each for each in configured(poolsize_here, "go", *words)[0]["settings"] if each["unit"] == "s")
    assert wait_limit["value"] == 7  # a third of 30 s less 9 s
    assert "(30 s caller timeout - 9,000 ms p99 usage time) / 3" in wait_limit["why"]


@pytest.mark.parametrize(
    ("more", "decides"),
    [
        (["--max-connections=130"], "limit"),
        (["--app-threads=2"], "threads"),
        (["--app-threads=9", "--connections-per-thread=2"], "floor"),
        (["--max-connections=1000"], "need"),
    ],
)
def test_the_size_and_its_cautions_are_those_of_recommend(
    poolsize_here: Command, more: list[str], decides: str
) -> None:
    written, errors = configured(poolsize_here, "go", *TRAFFIC, *more)
    recommended = json.loads(poolsize_here("recommend", *TRAFFIC, *more, "--json").stdout)
    assert recommended["decides"] == decides
    assert written["pool_size"] == recommended["pool_size"]
    reason = next(each["why"] for each in written["settings"] if each["name"] == "SetMaxOpenConns")
    by_code = {
        finding["code"]: text
        for finding, text in zip(
            sorted(recommended["findings"], key=lambda finding: finding["severity"] != "reason"),
            [*recommended["reasons"], *recommended["warnings"]],
            strict=True,
        )
    }
    assert by_code[f"traffic_{decides}"] in reason
    assert (by_code.get("traffic_spread_assumed", "") in errors, "--cores" in errors) == (True, False)
    assert (by_code[f"traffic_{decides}"] in errors) == (decides in {"limit", "floor"})


@pytest.mark.costly
def test_a_queue_without_end_times_out(poolsize_here: Command) -> None:
    _, errors = configured(poolsize_here, "go", *TRAFFIC[1:3], "--rate=3960/s", "--max-connections=90")
    assert "The queue grows without end with one instance away. Raise max_connections to" in errors
    away = ProcessTraffic(3.960 / 59, UsageTimes(15.0), wait_limit_ms=10_000)
    assert f"{percent(pool_use(away, 1).share_timed_out)} of the requests time out at the wait limit of 10 s" in errors


@pytest.mark.costly
def test_a_proxy_has_what_the_server_admits(poolsize_here: Command) -> None:
    words = ["--size=200", "--instances=90", "--max-connections=50"]
    for stack, name in (("proxysql", "mysql_servers.max_connections"), ("maxscale", "max_routing_connections")):
        for options, needed in ((words, 200), ([*TRAFFIC, "--max-connections=50"], answer(1, INSTANCES * 8).need)):
            written, errors = configured(poolsize_here, stack, *options)
            values = {each["name"]: each["value"] for each in written["settings"]}
            assert values[name] == 40
            assert re.search(
                rf"server's limit allows (the proxy )?40 .*{needed}.* the server's max_connections to", errors
            )
            assert f"{needed}" in json.dumps(written)
            assert "fleet" not in errors


@pytest.mark.costly
@pytest.mark.parametrize("sized", [["--rate=10/s", "--usage-time=15ms"], ["--size=17"]])
def test_the_threads_of_all_processes_share_a_proxy(poolsize_here: Command, sized: list[str]) -> None:
    """With a deadlock floor of the threads of all processes of a deploy, which the server's limit must allow."""
    words = [*sized, "--instances=6", "--processes=4", "--app-threads=8", "--connections-per-thread=2"]
    written, errors = configured(poolsize_here, "proxysql", *words)
    assert written["settings"][0]["value"] == 8 * 4 * 8 + 1
    assert (
        "The threads of all processes share the proxy, and its deadlock floor is 257" in written["settings"][0]["why"]
    )
    assert "its deadlock floor is 257" in errors
    assert "each process" not in errors
    assert "max_connections is not known" not in errors
    assert configured(poolsize_here, "proxysql", *words, "--max-connections=267")[0]["settings"][0]["value"] == 257
    refused = poolsize_here("config", "--for", "proxysql", *words, "--max-connections=266")
    assert refused.returncode == 2
    assert "share the proxy, which needs 257 connections (deadlock floor), and the server has 256" in refused.stderr


def test_a_proxy_that_hardly_keeps_up_with_more_says_so(poolsize_here: Command) -> None:
    """160 connections in use, of all processes together."""
    words = ["--rate=16000/s", "--usage-time=10ms", "--instances=10"]
    written, errors = configured(poolsize_here, "proxysql", *words, "--max-connections=180")
    assert written["settings"][0]["value"] == 165
    assert "The pool of the proxy keeps up with at most 16,500/s, 3.1 % more than its rate" in errors
    assert "connections, and raise the server's max_connections to " in errors
    assert "keeps up" not in configured(poolsize_here, "go", *words)[1]
    assert "mysql-auto_increment_delay_multiplex" in json.dumps(written)


def test_too_few_threads_are_those_of_a_process_also_behind_a_proxy(poolsize_here: Command) -> None:
    words = ["--rate=400/s", "--usage-time=15ms", "--instances=2", "--app-threads=2"]
    written, errors = configured(poolsize_here, "maxscale", *words)
    assert written["settings"][0]["value"] == 6  # the threads of a deploy
    assert "A process has 2 threads, and its requests use 6 connections on average with one of 2 instances" in errors


@pytest.mark.costly
def test_a_run_says_how_usage_times_grow(poolsize_here: Command) -> None:
    words = [f"--run={EXAMPLES['oltp_read_write-mariadb']}", "--usage-time=3.1ms", "--instances=2", "--rate=400/s"]
    recommended = json.loads(poolsize_here("recommend", *words, "--json").stdout)
    loaded_ms = recommended["traffic"]["loaded_usage_ms"]
    assert loaded_ms > 3.2
    written, errors = configured(poolsize_here, "go", *words)
    assert written["pool_size"] == recommended["pool_size"]
    assert f"At 400/s with a usage time of {milliseconds(loaded_ms)}" in json.dumps(written)
    assert "in doubt" not in errors
    beyond = poolsize_here("config", "--for", "go", *words[:3], "--rate=4000/s")
    assert (beyond.returncode, beyond.stdout.startswith("No pool size helps.")) == (1, True)


def test_a_usage_time_beside_a_size_decides_the_wait_limit(poolsize_here: Command) -> None:
    """A third of what the p99 of exponential usage times, 18.4 s, leaves of the 30 s of the callers."""
    text = poolsize_here("config", "--for=go", "--size=9", "--usage-time=4s").stdout
    assert "4 s = (30 s caller timeout - 18.4 s p99 usage time) / 3" in text


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--rate=400/s"], "--rate also needs --usage-time"),
        (["--usage-time=15ms"], "--usage-time also needs --rate"),
        (["--size=9", "--burst=3x"], "--burst also needs --rate"),
        (["--size=9", "--rate=400/s", "--usage-time=15ms"], "give either --size or --rate, not both"),
        (
            [*TRAFFIC, "--wait-limit=5s"],
            "poolsize recommend has it; in config, the pool's timeout follows from --caller-timeout.",
        ),
        ([*TRAFFIC, "--cores=4"], "No such option '--cores'. poolsize recommend has it; config needs no cores: the"),
        ([*TRAFFIC, "--caller-timeout=500"], "--caller-timeout 500: a time needs a unit: write 500ms or 500s"),
        ([*TRAFFIC, "--caller-timeout=1s"], "--caller-timeout 1 s: a usage time takes up to 69.1 ms"),
        ([*TRAFFIC, "--max-connections=20"], "--max-connections: 75 pools need 75 connections in a deploy"),
        (["--rate=0/s", "--usage-time=15ms"], "--rate 0/s: give a rate per second"),
    ],
)
def test_bad_input_is_refused(poolsize_here: Command, words: list[str], line: str) -> None:
    done = poolsize_here("config", "--for", "go", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert line in done.stderr
    assert done.stderr.count("\n") == 1
