"""The workloads: each sends exactly the statements it stands for, as the server counts them."""

import json
import subprocess
import sys

import pytest

from poolsize.files import workloads
from poolsize.server.private_server import PrivateServer

pytestmark = pytest.mark.server

COUNT = """
import json, os, sys
from importlib.util import module_from_spec, spec_from_file_location
from poolsize.locust import PoolUser
from poolsize.server.connection import database_url
from poolsize.server.schema import SweepSchema
sys.path.insert(0, os.path.dirname(sys.argv[2]))
def users_of(path):
    spec = spec_from_file_location("workload", path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return [c for c in vars(module).values() if isinstance(c, type) and issubclass(c, PoolUser) and not c.abstract]
def counted(cursor):
    cursor.execute("SHOW SESSION STATUS WHERE Variable_name LIKE 'Com\\\\_%' OR Variable_name = 'Questions'")
    return {name: int(value) for name, value in cursor.fetchall()}
def numbers_of(workloads, cursor):
    numbers = []
    for workload in workloads:
        workload.before_step(cursor)
        user = workload.__new__(workload)
        before = counted(cursor)
        for _ in range(20):
            user.transaction(cursor)
        after = counted(cursor)
        numbers.append({name: (after[name] - before[name]) / 20 for name in after})
    print(json.dumps(numbers))
for path in sys.argv[2:]:
    workloads = users_of(path)
    with SweepSchema(database_url(sys.argv[1])) as schema:
        schema.make_tables(lambda cursor: [workload.prepare(cursor) for workload in workloads])
        schema.work(lambda cursor: numbers_of(workloads, cursor))
"""

MIXED = [{"select": 1}, {"select": 1}]
STATEMENTS = {
    "insert": [{"insert": 1}],
    "scan": [{"select": 1}],
    "select_one": [{"select": 1}],
    "job_queue": [{"begin": 1, "select": 1, "update": 1, "commit": 1}],
    "disk_reads": [{"select": 1}],
    "four_applications": [{"select": 1}] * 4,
    "mixed_lengths": MIXED,
    "mixed_lengths_two_pools": MIXED,
    "oltp_point_select": [{"select": 1}],
    "oltp_read_only": [{"begin": 1, "select": 14, "commit": 1}],
    "oltp_write_only": [{"begin": 1, "update": 2, "delete": 1, "insert": 1, "commit": 1}],
    "oltp_read_write": [{"begin": 1, "select": 14, "update": 2, "delete": 1, "insert": 1, "commit": 1}],
}
"""Workload -> the statements of a transaction, one mapping for each user class."""


def test_every_workload_is_known_here() -> None:
    assert workloads().keys() == STATEMENTS.keys()


def test_a_transaction_is_exactly_its_statements(server: PrivateServer) -> None:
    paths = [str(workloads()[name]) for name in STATEMENTS]
    done = subprocess.run(
        [sys.executable, "-c", COUNT, server.url, *paths], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    kinds = ("begin", "commit", "rollback", "select", "insert", "update", "delete")
    for (name, statements), line in zip(STATEMENTS.items(), done.stdout.splitlines(), strict=True):
        for counted, expected in zip(json.loads(line), statements, strict=True):
            sent = {kind: round(counted[f"Com_{kind}"], 2) for kind in kinds}
            assert {kind: number for kind, number in sent.items() if number} == expected, name
            assert round(counted["Questions"] - 1 / 20) == sum(expected.values()), name
