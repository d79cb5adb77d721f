"""instrument: what it records of SQLAlchemy's pools under threads, greenlets, asyncio and forks; its page; its file."""

import asyncio
import gc
import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import TYPE_CHECKING, Any, cast
from urllib.request import urlopen

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import Engine, create_engine, event, make_url, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import AsyncAdaptedQueuePool, NullPool, QueuePool, SingletonThreadPool, StaticPool
from sqlalchemy.util import greenlet_spawn

from poolsize.errors import BadInput
from poolsize.observe import instrument
from poolsize.observe.pool_events import BATCH, PoolEvents, Totals
from poolsize.observe.store import load_observation
from poolsize.server.private_server import PrivateServer
from tests.observe.sources import answering, real_prometheus

if TYPE_CHECKING:
    from sqlalchemy.engine.interfaces import DBAPIConnection

POOL = "db_client_connection_pool_name"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    """An engine whose pool opens up to 3 connections."""
    engine = create_engine(
        f"sqlite:///{tmp_path}/a.db", poolclass=QueuePool, pool_size=2, max_overflow=1, pool_timeout=0.05
    )
    yield engine
    engine.dispose()


def samples(page: str) -> dict[str, float]:
    """Return the values of a page, by the metric's name and its label of state or bucket."""
    return {
        sample.name + "".join(value for label, value in sample.labels.items() if label != POOL): sample.value
        for family in text_string_to_metric_families(page)
        for sample in family.samples
    }


def run_python(code: str, folder: Path) -> str:
    """Return what a program of its own process prints."""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, stdout=subprocess.PIPE, text=True, timeout=120, check=True
    )
    return done.stdout


def test_uses_waits_and_connections_are_on_the_page(engine: Engine) -> None:
    metrics = instrument(engine, name="shop")
    with engine.connect():
        engine.connect().close()
        page = metrics.page()
    values = samples(page)
    assert 'db_client_connection_max{db_client_connection_pool_name="shop"} 3.0' in page
    assert values["db_client_connection_countused"] == values["db_client_connection_countidle"] == 1
    assert values["db_client_connection_wait_time_seconds_count"] == 2
    assert values["db_client_connection_use_time_seconds_count"] == 1
    assert values["db_client_connection_use_time_seconds_bucket+Inf"] == 1
    assert values["db_client_connection_create_time_seconds_count"] == 2
    assert values["db_client_connection_timeouts_total"] == 0
    assert values["poolsize_connections_in_use_max"] == 2


def test_a_usage_that_lasts_counts_in_the_mean_until_now(engine: Engine) -> None:
    metrics = instrument(engine)
    before = metrics.events.totals()
    with engine.connect():
        time.sleep(0.02)
        after = metrics.events.totals()
    assert after.usages.number == 0
    assert after.used - before.used > 0.019e9


@pytest.mark.costly
def test_nothing_is_lost_with_16_threads(engine: Engine) -> None:
    engine = create_engine(engine.url, poolclass=QueuePool, pool_size=4, max_overflow=0)
    metrics, uses = instrument(engine), BATCH // 4
    barrier = Barrier(16)
    taken: list[float] = []

    def use() -> float:
        barrier.wait()
        held = 0
        for _ in range(uses):
            connection = engine.raw_connection()
            begun = time.perf_counter_ns()
            connection.cursor().execute("SELECT 1")
            ended = time.perf_counter_ns()
            connection.close()
            held += ended - begun
        return held

    with ThreadPoolExecutor(16) as threads:
        taken = list(threads.map(lambda _: use(), range(16)))
    totals = metrics.events.totals()
    assert totals.waits.number == totals.usages.number == 16 * uses
    assert totals.used == totals.usages.nanoseconds >= sum(taken)
    assert (totals.in_use.now, totals.pending.now, totals.demand) == (0, 0, 0)
    assert 0 < totals.in_use.highest <= 4
    assert totals.pending.highest <= 12
    assert totals.creations.number <= 4
    engine.dispose()


def test_timeouts_and_pending_requests_are_counted(engine: Engine) -> None:
    metrics = instrument(engine)
    held = [engine.connect() for _ in range(3)]
    with pytest.raises(PoolTimeout):
        engine.connect()
    totals = metrics.events.totals()
    assert (totals.timeouts, totals.waits.number, totals.pending.highest, totals.pending.now) == (1, 3, 1, 0)
    assert totals.pending.sums.total > 0.04e9
    for connection in held:
        connection.close()
    assert metrics.events.totals().in_use.now == 0


def test_requests_that_open_connections_are_not_pending(engine: Engine) -> None:
    metrics = instrument(engine)
    held = [engine.connect() for _ in range(3)]
    totals = metrics.events.totals()
    assert (totals.pending.highest, totals.pending.sums.total) == (0, 0)
    assert len(held) == totals.demand == 3


@pytest.mark.costly
def test_a_connection_that_cannot_be_opened_is_no_use(tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{tmp_path}/missing/a.db", poolclass=QueuePool)
    metrics = instrument(engine)
    for _ in range(BATCH + 1):
        with pytest.raises(OperationalError):
            engine.connect()
    assert len(metrics.events.begun) < BATCH  # the events are summed although no usage ends
    totals = metrics.events.totals()
    assert (totals.waits.number, totals.usages.number, totals.timeouts, totals.demand) == (0, 0, 0, 0)


def test_a_checkout_that_a_listener_refuses_is_no_use(engine: Engine) -> None:
    metrics = instrument(engine)

    @event.listens_for(engine, "checkout")
    def refuse(*_: object) -> None:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        engine.connect()
    totals = metrics.events.totals()
    assert (totals.usages.number, totals.in_use.now, totals.demand) == (0, 0, 0)


def abandon(engine: Engine) -> None:
    engine.raw_connection()
    gc.collect()


def dispose_while_in_use(engine: Engine) -> None:
    connection = engine.connect()
    engine.dispose()
    engine.connect().close()
    connection.close()


ENDINGS: list[tuple[Callable[[Engine], Any], int]] = [
    (lambda engine: engine.raw_connection().invalidate(), 1),
    (lambda engine: engine.raw_connection().invalidate(soft=True), 1),
    (lambda engine: engine.raw_connection().detach(), 1),
    (lambda engine: engine.connect().invalidate(), 1),
    (abandon, 1),
    (dispose_while_in_use, 2),
]


@pytest.mark.costly
@pytest.mark.parametrize(("use", "uses"), ENDINGS)
def test_every_way_to_end_a_usage_ends_it_once(engine: Engine, use: Callable[[Engine], Any], uses: int) -> None:
    metrics = instrument(engine)
    for round_ in (1, 2):
        use(engine)
        gc.collect()
        totals = metrics.events.totals()
        assert (totals.usages.number, totals.in_use.now, totals.demand) == (round_ * uses, 0, 0)
    assert not metrics.events.held


def test_usages_that_began_before_do_not_count(engine: Engine) -> None:
    first, second = engine.raw_connection(), engine.raw_connection()
    metrics = instrument(engine)
    first.close()
    second.detach()
    assert (metrics.events.totals().usages.number, metrics.events.totals().in_use.now) == (0, 0)


@pytest.mark.parametrize("remake", [Engine.dispose, lambda engine: setattr(engine, "pool", engine.pool.recreate())])
def test_a_pool_made_anew_is_recorded(engine: Engine, remake: Callable[[Engine], None]) -> None:
    metrics, logger = instrument(engine), str(engine.pool.logger)
    for number in (1, 2, 3):
        engine.connect().close()
        remake(engine)
        totals = metrics.events.totals()
        assert (totals.waits.number, totals.usages.number, totals.creations.number) == (number, number, number)
    assert str(engine.pool.logger) == logger


@pytest.mark.parametrize("kind", [NullPool, StaticPool, SingletonThreadPool])
def test_other_pools_are_recorded_without_a_limit(tmp_path: Path, kind: Any) -> None:
    engine = create_engine(f"sqlite:///{tmp_path}/a.db", poolclass=kind)
    metrics = instrument(engine)
    for _ in range(3):
        engine.connect().close()
    totals = metrics.events.totals()
    assert (totals.waits.number, totals.usages.number, totals.demand, totals.pending.highest) == (3, 3, 0, 0)
    assert "db_client_connection_max{" not in metrics.page()


def test_overlapping_requests_of_a_static_pool_use_one_connection(tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{tmp_path}/a.db", poolclass=StaticPool)
    metrics = instrument(engine)
    first, second = engine.connect(), engine.connect()
    assert metrics.events.totals().in_use.now == 1
    first.close()
    second.close()
    assert (metrics.events.totals().in_use.highest, metrics.events.totals().demand) == (1, 0)


def test_an_unlimited_pool_has_no_maximum(tmp_path: Path) -> None:
    metrics = instrument(create_engine(f"sqlite:///{tmp_path}/a.db", poolclass=QueuePool, max_overflow=-1))
    assert metrics.events.limit is None


def test_an_engine_is_instrumented_once(engine: Engine) -> None:
    instrument(engine)
    with pytest.raises(BadInput, match="already instrumented"):
        instrument(engine)


@pytest.mark.costly
def test_the_name_of_a_pool_holds_no_password() -> None:
    engine = create_engine("mysql+pymysql://me:secret@db.example:3307/shop")
    assert instrument(engine).name == "db.example:3307/shop"


def test_a_page_of_several_engines_tells_their_pools_apart(tmp_path: Path) -> None:
    first, second = (instrument(create_engine(f"sqlite:///{tmp_path}/{name}.db"), name=name) for name in "ab")
    page = first.page(second)
    assert page.count("# TYPE db_client_connection_max gauge") == 1
    assert 'pool_name="a"} 15' in page
    assert 'pool_name="b"} 15' in page


@pytest.mark.long
def test_prometheus_scrapes_the_page(engine: Engine, tmp_path: Path) -> None:
    metrics = instrument(engine, name="shop")
    engine.connect().close()
    query, result = "/api/v1/query?query=db_client_connection_use_time_seconds_count", list[Any]()
    with (
        answering(lambda *_: (200, metrics.page().encode())) as port,
        real_prometheus(tmp_path, {"shop": f"http://127.0.0.1:{port}/metrics"}) as url,
    ):
        until = time.monotonic() + 60
        while not result and time.monotonic() < until:
            with urlopen(f"{url}{query}", timeout=5) as answer:  # noqa: S310 (a page of this test)
                result = json.load(answer)["data"]["result"]
            time.sleep(0.2)
    assert [(series["metric"][POOL], series["value"][1]) for series in result] == [("shop", "1")]


def test_greenlets_of_asyncio_wait_and_use() -> None:
    """The pool's queue is asyncio's; the connections are SQLite's, which return at once."""
    engine = create_engine("sqlite://")
    engine.pool = AsyncAdaptedQueuePool(
        lambda: cast("DBAPIConnection", sqlite3.connect(":memory:")), pool_size=2, max_overflow=0, timeout=5
    )
    metrics = instrument(engine)

    async def use() -> None:
        connection = await greenlet_spawn(engine.raw_connection)
        await asyncio.sleep(0.005)
        await greenlet_spawn(connection.close)

    async def all_uses() -> None:
        await asyncio.gather(*(use() for _ in range(20)))

    asyncio.run(all_uses())
    totals = metrics.events.totals()
    assert (totals.waits.number, totals.usages.number, totals.demand) == (20, 20, 0)
    assert (totals.in_use.highest, totals.pending.highest) == (2, 18)


@pytest.mark.server
def test_an_asynchronous_engine_on_a_server(server: PrivateServer) -> None:
    async def queries() -> None:
        url = make_url(server.url).set(drivername="mysql+aiomysql")
        engine = create_async_engine(url, pool_size=3, max_overflow=0)
        metrics = instrument(engine)

        async def query() -> None:
            async with engine.connect() as connection:
                await connection.execute(text("SELECT SLEEP(0.02)"))

        tasks = [asyncio.create_task(query()) for _ in range(12)]
        await asyncio.sleep(0.03)
        tasks[-1].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        totals = metrics.events.totals()
        assert (totals.waits.number, totals.usages.number, totals.demand) == (11, 11, 0)
        assert (totals.in_use.highest, totals.pending.highest) == (3, 9)
        assert totals.usages.nanoseconds > 11 * 0.02e9
        await engine.dispose()

    asyncio.run(queries())


GEVENT = """
from gevent import monkey; monkey.patch_all()
import gevent, gevent.event, os
from sqlalchemy import create_engine
from sqlalchemy.pool import QueuePool
from poolsize.observe import instrument
engine = create_engine("sqlite:///a.db", poolclass=QueuePool, pool_size=4, max_overflow=0)
metrics = instrument(engine, "a.jsonl")
def use(all_wait):
    connection = engine.raw_connection()
    all_wait.wait()
    connection.close()
def show():
    all_wait = gevent.event.Event()
    uses = [gevent.spawn(use, all_wait) for _ in range(40)]
    while metrics.events.totals().demand < 40:
        gevent.sleep(0.001)
    all_wait.set()
    gevent.joinall(uses, raise_error=True)
    totals = metrics.events.totals()
    print(totals.usages.number, totals.demand, totals.in_use.highest, totals.pending.highest, flush=True)
show()
if child := os.fork():
    os.waitpid(child, 0)
else:
    engine.dispose(close=False)
    show()
"""


@pytest.mark.long
def test_greenlets_of_gevent_wait_and_use_in_a_parent_and_its_child(tmp_path: Path) -> None:
    assert run_python(GEVENT, tmp_path) == 2 * "40 0 4 36\n"
    uses = [load_observation(path).pools[0]["uses"].sum() for path in tmp_path.glob("*.jsonl")]
    assert uses == [40, 40]


FORKED = """
import multiprocessing, os, sys
from sqlalchemy import create_engine
from sqlalchemy.pool import QueuePool
from poolsize.observe import instrument
engine = create_engine("sqlite:///a.db", poolclass=QueuePool)
metrics = instrument(engine, "shop.jsonl")
def use(number):
    for _ in range(number):
        engine.connect().close()
use(3)
held = engine.raw_connection()
def work():
    engine.dispose(close=False)
    use(5)
    held.close()
if not (child := os.fork()):
    work()
    sys.exit()
os.waitpid(child, 0)
process = multiprocessing.get_context("fork").Process(target=work)
process.start(); process.join()
idle = multiprocessing.get_context("fork").Process(target=print)
idle.start(); idle.join()
print(os.getpid(), child, process.pid)
held.close()
"""


@pytest.mark.long
def test_each_forked_process_records_its_own_from_zero(tmp_path: Path) -> None:
    pids = run_python(FORKED, tmp_path).split()
    pools = {path.name: pool for path in tmp_path.glob("*.jsonl") for pool in load_observation(path).pools}
    # A process that used no connection left no file; the first process to end took the plain name.
    assert sorted(pool.instance.rpartition(":")[2] for pool in pools.values()) == sorted(pids)
    uses = {pool.instance.rpartition(":")[2]: pool["uses"].sum() for pool in pools.values()}
    assert uses == dict(zip(pids, (4, 5, 5), strict=True))
    assert "shop.jsonl" in pools


def test_a_period_of_the_file_is_what_was_counted(engine: Engine, tmp_path: Path) -> None:
    metrics = instrument(engine, tmp_path / "a.jsonl", name="shop")
    assert metrics.writer
    began = time.perf_counter()
    held = engine.connect()
    engine.connect().close()
    time.sleep(0.05)
    metrics.writer.write()
    time.sleep(0.05)
    held.close()
    ended = time.perf_counter()
    metrics.writer.close()
    (pool,) = load_observation(tmp_path / "a.jsonl").pools
    assert (pool.pool, pool.library) == ("shop", "SQLAlchemy")
    assert pool["uses"].tolist() == [1, 1]
    assert pool["size"].tolist() == [3, 3]
    assert pool["in_use_max"].tolist() == [2, 1]
    used = pool["in_use_mean"] * pool.seconds
    assert used.min() >= 0.0499  # both periods have a sleep with a connection in use
    assert used.sum() == pytest.approx(pool["usage_seconds"].sum(), abs=1e-5)
    assert pool["in_use_variance"].max() <= 1  # as far as a number between 0 and 2 can vary
    assert sum(number for _, number in pool.usage_buckets) == 2
    assert sum(number for _, number in pool.wait_buckets) == 2
    (longest, number) = pool.usage_buckets[-1]
    assert longest is not None
    assert 100 < longest < 1.2 * 1000 * (ended - began)
    assert number == 1


def test_a_file_that_exists_is_kept(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("mine")
    metrics = instrument(engine, tmp_path / "a.jsonl")
    engine.connect().close()
    time.sleep(0.002)
    assert metrics.writer
    metrics.writer.close()
    assert (tmp_path / "a.jsonl").read_text() == "mine"
    assert load_observation(tmp_path / f"a-{os.getpid()}.jsonl").pools[0]["uses"].tolist() == [1]


def test_a_file_that_cannot_be_written_costs_one_line(
    engine: Engine, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(BadInput, match="in a folder that you may write"):
        instrument(engine, tmp_path / "missing" / "a.jsonl")
    (folder := tmp_path / "later").mkdir()
    metrics = instrument(engine, folder / "a.jsonl")
    folder.rmdir()
    folder.write_text("")
    engine.connect().close()
    time.sleep(0.002)
    assert metrics.writer
    metrics.writer.close()
    (message,) = caplog.messages
    assert "records no more" in message


@pytest.mark.costly
def test_importing_it_is_light() -> None:
    heavy = {"scipy", "pandas", "rich", "click", "locust", "pydantic", "matplotlib", "prometheus_client"}
    code = f"import sys; from poolsize.observe import instrument; print({heavy} & set(sys.modules))"
    assert run_python(code, Path.cwd()) == "set()\n"


DURATIONS = st.integers(0, 9)
REQUESTS = st.lists(st.tuples(st.integers(0, 30), DURATIONS, st.none() | DURATIONS), max_size=12)
"""(Start, wait, usage) of a request; no usage if it timed out."""


def recorded(requests: list[tuple[int, int, int | None]], reads: list[int], limit: int | None, *, late: bool) -> Totals:
    """Return the totals at 60 ns. reads: moments at which they are read before; or, if late, numbers of additions."""
    now = 0
    events = PoolEvents(limit, lambda: now)
    additions: list[tuple[int, list[int], tuple[int, ...]]] = []
    for begun, wait, usage in requests:
        got = begun + wait
        additions.append((begun, events.begun, (begun,)))
        if usage is None:
            additions += [(got, events.ended, (got,)), (got, events.timeouts, (1,))]
        else:
            back = got + usage
            additions += [(got, events.served, (got, begun)), (back, events.used, (back, got))]
    if late:
        for place, (_, recorded_events, values) in enumerate(additions):
            recorded_events.extend(values)
            if place in reads:
                now = 55
                events.totals()
    else:
        for moment in range(60):
            now = moment
            for when, recorded_events, values in additions:
                if when == moment:
                    recorded_events.extend(values)
            if moment in reads:
                events.totals()
    now = 60
    return events.totals()


def levels(requests: list[tuple[int, int, int | None]]) -> tuple[list[int], list[int]]:
    """Return the connections in use, and these with the requests that wait, in each ns until 60."""
    in_use, demand = [0] * 60, [0] * 60
    for begun, wait, usage in requests:
        for moment in range(begun, begun + wait + (usage or 0)):
            demand[moment] += 1
            in_use[moment] += moment >= begun + wait
    return in_use, demand


@pytest.mark.costly
@given(REQUESTS, st.lists(st.integers(0, 59)), st.none() | st.integers(0, 4))
def test_totals_are_the_truth_whenever_they_are_read(
    requests: list[tuple[int, int, int | None]], reads: list[int], limit: int | None
) -> None:
    totals = recorded(requests, reads, limit, late=False)
    in_use, demand = levels(requests)
    pending = [max(0, level - limit) if limit is not None else 0 for level in demand]
    assert totals.used == totals.in_use.sums.total == sum(in_use)
    assert totals.in_use.sums.squares == sum(level**2 for level in in_use)
    assert totals.pending.sums.total == sum(pending)
    assert totals.in_use.highest >= max(in_use)
    assert totals.pending.highest >= max(pending)
    if not reads and all(wait and usage for _, wait, usage in requests):
        assert (totals.in_use.highest, totals.pending.highest) == (max(in_use), max(pending))
    assert totals.waits.number == totals.usages.number == sum(usage is not None for *_, usage in requests)
    assert totals.timeouts == sum(usage is None for *_, usage in requests)
    assert (totals.in_use.now, totals.demand) == (0, 0)


@pytest.mark.costly
@given(REQUESTS, st.lists(st.integers(0, 36)))
def test_sums_are_the_truth_however_late_the_events_are(
    requests: list[tuple[int, int, int | None]], reads: list[int]
) -> None:
    totals = recorded(requests, reads, 3, late=True)
    in_use, _ = levels(requests)
    assert totals.used == totals.usages.nanoseconds == sum(in_use)
    assert totals.waits.nanoseconds == sum(wait for _, wait, usage in requests if usage is not None)
    assert (totals.in_use.now, totals.demand) == (0, 0)
