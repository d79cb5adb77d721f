"""The versions that pyproject.toml allows of libraries whose private names poolsize uses; scripts/floors tries them."""

import ast
import re
import tomllib
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.conftest import ROOT

PRIVATE = {
    "pymysql": {
        "_create_ssl_ctx": "makes a TLS context for each connection, which reads the certificate authorities each time",
        "_execute_command": "sends a statement: here its bounds begin, and here gevent can wait for the answer once",
        "_force_close": "closes without a goodbye to the server, for which a broken server leaves no time",
        "_get_descriptions": "parses a result's columns: the same bytes need it once",
        "_next_seq_id": "the number of the next packet, after packets that were parsed before",
        "_process_auth": "the one place that knows the method of authentication before the password is sent",
        "_read_bytes": "reads the socket: the bounds of bytes and time",
        "_read_ok_packet": "parses: a malformed packet becomes an OperationalError",
        "_read_packet": "reads a packet: the bound of packets",
        "_read_query_result": "parses: a malformed packet becomes an OperationalError",
        "_read_timeout": "set on each socket: the time of a read",
        "_result": "what a statement returned: of a dry run's connection, nothing",
        "_rfile": "the buffer of the socket, whose bytes are compared with those that were parsed before",
        "_secure": "whether TLS has begun, or a Unix socket is used",
        "_sock": "the socket, for its options and for waits; PyMySQL has no other name for it",
        "_write_bytes": "writes the socket: the bound of time, and no cost of gevent's sendall",
        "_write_timeout": "set on each socket: the time of a write",
    },
    "sqlalchemy": {
        "_do_get": "takes a connection without a proxy, which `checkin(_fairy_was_created=False)` gives back",
        "_queue_class": "the queue of a QueuePool, in whose place stands one that serves users in order of arrival",
    },
    "locust": {
        "_filter_tasks_by_tags": "leaves out the tasks that tags exclude, before the users start",
        "_handlers": "the listeners of an event: EventHook.fire would log a listener's error and go on",
        "_state": "waiting: Locust stops such a user at once, and a sweep's user takes part in steps in place of tasks",
        "_taskset_instance": "what Locust stops a user through; its own loop, which would make it, does not run",
    },
}
"""Library -> its private name that poolsize uses -> what for. A release may change any of them, also a small one."""
PARTS = {"pymysql": ["connections.py"], "sqlalchemy": ["pool/*.py", "util/queue.py"], "locust": ["*.py", "user/*.py"]}
"""Library -> its files with whose objects poolsize works."""

MEASURING = ("server/**/*.py", "load/*.py", "locust/*.py", "experiments/survey/*.py")
"""The files that work with objects of these libraries; import-linter keeps the libraries out of nearly all others."""


def private(tree: ast.AST) -> Iterator[str]:
    """Yield the private names that a tree has as attributes, and those that its classes define."""
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Attribute) and not (isinstance(node.value, ast.Name) and node.value.id == "os"):
            names = [node.attr]
        if isinstance(node, ast.ClassDef):
            functions = [line.name for line in node.body if isinstance(line, ast.FunctionDef)]
            targets = [part for line in node.body if isinstance(line, ast.Assign) for part in line.targets]
            names = functions + [target.id for target in targets if isinstance(target, ast.Name)]
        yield from (name for name in names if re.match("_(?!_)", name))


def of_no_library(tree: ast.Module) -> Iterator[str]:
    """Yield the private names of classes without a base."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and not node.bases:
            yield from private(node)


def trees(folder: Path, *patterns: str) -> list[ast.Module]:
    return [ast.parse(path.read_text()) for pattern in patterns for path in folder.glob(pattern)]


@pytest.mark.costly
def test_the_table_has_the_private_names_that_are_used() -> None:
    own = trees(ROOT / "poolsize", *MEASURING)
    used = {name for tree in own for name in private(tree)} - {name for tree in own for name in of_no_library(tree)}
    for library, parts in PARTS.items():
        spec = find_spec(library)
        assert spec is not None
        assert spec.origin is not None
        known = {name for tree in trees(Path(spec.origin).parent, *parts) for name in private(tree)}
        assert sorted(used & known) == sorted(PRIVATE[library])


@pytest.mark.parametrize("library", PRIVATE)
def test_a_library_whose_private_names_are_used_has_an_upper_bound(library: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (bounds,) = [line for line in project["dependencies"] if re.match(rf"{library}\b", line)]
    assert re.search(r">=[\d.]+,<[\d.]+$", bounds)
