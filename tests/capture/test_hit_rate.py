"""The buffer pool of a real server: a captured workload finds as many pages there as the original did."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import numpy as np
import pytest

from poolsize.server.connection import connect, database_url
from poolsize.server.private_server import PrivateServer
from tests.capture.logged import zipf_ids
from tests.conftest import Command, assert_swept
from tests.servers import administered_server

pytestmark = [pytest.mark.server, pytest.mark.long]
ROWS, WARM_UP, COUNTED = 100_000, 20_000, 20_000
OPTIONS = {
    "slow_query_log": "OFF",
    "long_query_time": "0",
    "slow_query_log_file": "slow.log",
    "innodb_buffer_pool_size": "8M",  # a third of the table
    "innodb_adaptive_hash_index": "OFF",
}
SWEEP = ("--pool-sizes", "1", "--users", "2", "--step-time", "8s", "--warm-up", "0")


@pytest.fixture
def small_server() -> Iterator[PrivateServer]:
    """A MariaDB whose buffer pool has room for a third of the table copy.item."""
    with administered_server(None, OPTIONS, 60) as server:
        with closing(connect(database_url(server.url))) as connection, connection.cursor() as cursor:
            cursor.execute("CREATE DATABASE copy")
            cursor.execute("USE copy")
            cursor.execute("CREATE TABLE item (id INT PRIMARY KEY, c CHAR(120), pad CHAR(60))")
            cursor.execute(f"INSERT INTO item SELECT seq, seq, seq FROM seq_1_to_{ROWS}")
        yield server


def counters(cursor: Any) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the pages that the server has read from its files, and the SELECT statements that it has run."""
    cursor.execute("SHOW GLOBAL STATUS WHERE Variable_name IN ('Com_select', 'Innodb_buffer_pool_reads')")
    values = dict(cursor.fetchall())
    return np.array([float(values["Innodb_buffer_pool_reads"]), float(values["Com_select"])])


@pytest.mark.parametrize("exponent", [0.9, 1.2])
def test_the_hit_rate_of_a_captured_workload_is_the_original_s(
    exponent: float, small_server: PrivateServer, poolsize: Command
) -> None:
    """Within 2 points. A select finds its row's page in the buffer pool, or the server reads the page."""
    ids = zipf_ids(exponent, ROWS, WARM_UP + COUNTED, seed=76, scattered=True)
    with closing(connect(database_url(small_server.url))) as connection, connection.cursor() as cursor:
        cursor.execute("USE copy")
        cursor.execute("SET GLOBAL slow_query_log = ON")
        cursor.execute("SET SESSION slow_query_log = ON")
        for number in ids[:WARM_UP]:
            cursor.execute(f"SELECT c FROM item WHERE id = {number}")
        before = counters(cursor)
        for number in ids[WARM_UP:]:
            cursor.execute(f"SELECT c FROM item WHERE id = {number}")
        reads, selects = counters(cursor) - before
        cursor.execute("SET GLOBAL slow_query_log = OFF")
        (log,) = small_server.directory.rglob("slow.log")
        captured = poolsize("capture", "--slow-log", str(log))
        assert captured.returncode == 0, captured.stderr
        before = counters(cursor)
        swept = poolsize(
            "sweep", "--workload", "workload.py", "--schema", "copy", *SWEEP, "--output", "a.jsonl", "--yes",
            url=small_server.url,
        )  # fmt: skip
        assert_swept(swept)
        reads_again, selects_again = counters(cursor) - before
    print(f"exponent {exponent}: {1 - reads / selects:.4f} originally, {1 - reads_again / selects_again:.4f} captured")
    assert selects == pytest.approx(COUNTED, abs=10)
    assert reads_again / selects_again == pytest.approx(reads / selects, abs=0.02)
