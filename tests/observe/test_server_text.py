"""What a server counted: the table of accounts, the line of each server, and their JSON."""

from dataclasses import replace
from pathlib import Path

import pytest

from poolsize.observe.observation import Observation, PoolSpan, ServerSpan, Source
from poolsize.observe.server_text import accounts_table, server_lines
from poolsize.observe.text import observed_text, observed_values
from tests.conftest import Command
from tests.observe.metrics_pages import PAGES
from tests.observe.production import STARTED, server_of

SHOP = PoolSpan(
    "shop", "10.0.0.1", "", STARTED.isoformat(), 60.0,
    in_use_mean=(2.0, 3.0), in_use_max=(4.0, 5.0), in_use_variance=(2.0, 2.0), samples=(58.0, 58.0),
    held_max=(20.0, 19.0), active_mean=(1.0, 1.5), in_transaction_mean=(1.5, None), idle_seconds_max=(12.0, 4_000.0),
)  # fmt: skip
SERVER = ServerSpan(
    STARTED.isoformat(), 60.0, running_mean=(1.0, 2.0), running_max=(4.0, 5.0), connected_max=(20.0, 149.0),
    refused=(0.0, 3.0), aborted=(1.0, 1.0), busy_cores=(0.5, 0.7), cores=4, max_connections=151,
)  # fmt: skip
LINE = (
    "Server: 1.5 running threads on average on 4 cores, 5 at most, 0.6 cores busy, at most 149 of 151 connections, "
    "3 refused, 2 aborted."
)


def seen(*spans: PoolSpan, server: tuple[ServerSpan, ...] = (SERVER,)) -> Observation:
    return Observation(Source("server", "127.0.0.1", "0", STARTED.isoformat()), spans, server)


@pytest.mark.costly
def test_why_shows_each_account_and_host_and_the_server() -> None:
    observation = seen(replace(SHOP, instance="10.0.0.2", in_use_mean=(4.0, 4.0)), SHOP)
    table = accounts_table(observation)
    assert table.rows[0][:2] == ("shop", "10.0.0.2")
    assert table.rows[1] == ("shop", "10.0.0.1", "20", "2.5", "5", "1.25", "1.5", "1 h 06 min")
    text = observed_text(observation, why=True)
    assert table.as_text() in text
    assert LINE in " ".join(text.split())
    assert "oldest idle" not in observed_text(observation)
    assert list(server_lines(observation)) == [LINE]


@pytest.mark.costly
def test_what_a_server_counts_is_a_lower_bound() -> None:
    """The server does not show the connections that an application holds outside transactions and statements."""
    of_server, of_pool = seen(SHOP), seen(replace(SHOP, held_max=()))
    for observation, is_bound in ((of_server, True), (of_pool, False)):
        text = " ".join(observed_text(observation, why=True).split())
        assert ("at least 2.5 connections on average" in text) == is_bound
        assert ("The connections in use are a lower bound" in text) == is_bound
        assert observed_text(observation).startswith("shop: at least") == is_bound
        (pool,) = observed_values(observation)["pools"]
        assert pool["in_use_is_lower_bound"] == is_bound


def test_pools_of_applications_have_no_table_of_accounts() -> None:
    assert not accounts_table(seen(replace(SHOP, held_max=()))).rows


def test_a_mean_counts_each_period_by_its_length() -> None:
    short = replace(SHOP, period_seconds=15.0, in_use_mean=(8.0, 8.0))
    ((_, _, _, in_use, *_),) = accounts_table(seen(SHOP, short)).rows
    assert in_use == "3.6"


def test_a_saturated_server_is_named_so() -> None:
    (line,) = server_lines(seen(SHOP, server=(replace(server_of(65.0, 16, 3), instance="db1"),)))
    assert line == "Server db1 (saturated): 65 running threads on average on 16 cores."


def test_json_has_the_servers_figures() -> None:
    (server,) = observed_values(seen(SHOP))["server"]
    figures = {name: server[name] for name in ("cores", "running_mean", "connected_max", "refused", "aborted")}
    assert figures == {"cores": 4, "running_mean": 1.5, "connected_max": 149, "refused": 3, "aborted": 2}


def test_the_page_of_a_server_alone_gives_the_servers_line(poolsize_here: Command, tmp_path: Path) -> None:
    uptime = "mysql_global_status_uptime 60000\nprocess_start_time_seconds 1.7e9\n"
    (tmp_path / "page").write_text(PAGES["mysqld_exporter"][0] + uptime)
    done = poolsize_here("observe", "--metrics", "page")
    assert done.returncode == 0, done.stderr
    text = " ".join(done.stdout.split())
    assert text.startswith(
        "Server: 12 running threads on average, 12 at most, at most 498 of 500 connections, 7 refused"
    )
    assert "mean of 16 h 40 min since" in done.stderr
    assert "only the server was counted, and no pool" in done.stderr
