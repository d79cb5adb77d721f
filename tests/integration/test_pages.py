"""README.md and docs/: every command on a page works, and every output is what the command prints."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from poolsize.server.connection import connect, database_url
from poolsize.server.private_server import PrivateServer
from poolsize.sweep.options import FLAGS
from tests.conftest import ROOT, Command, in_ci
from tests.pages import Block, all_blocks, blocks, environment, link_checkout, pages, shown

LANGUAGES = {"sh", "console", "sql", "python", "yaml", "toml", "java", "text"}
NO_SERVER = (
    "poolsize recommend", "poolsize fleet", "poolsize config", "poolsize explain", "poolsize sweep --replay",
    "poolsize import", "poolsize report", "poolsize scenario --list", "poolsize calculator",
)  # fmt: skip
DRAWN = ("poolsize analyze", "poolsize compare")
OTHERS = (
    "scripts/", "poolsize sweep", "poolsize notebook", "locust ", "export POOLSIZE_URL=", "unset POOLSIZE_URL",
    ". .venv/bin/activate", "poolsize scenario insert-sweep", "poolsize scenario upgrade",
)  # fmt: skip
"""Beginnings of commands with a test of their own, here or in a file of theirs, and of the shell's own."""
LIGHT = ("--think-time", "20ms")
"""Leaves the processors to other tests, where a sweep is not there to be measured."""
SHORT = {"--pool-sizes": "2", "--budget": "4s", "--step-time": "1s", "--warm-up": "0"}
"""Option -> its value in the tests."""
SHORT_WHERE_USED = {"--repeats": "2", "--precision": "20%", "--verify": "70"}
"""The same, of options that only some commands have."""
SIMULATED = "$ poolsize predict"
"""The percentiles come from a simulation, whose last digit depends on how the processor rounds a logarithm."""
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


def commands(*beginnings: str) -> list[str]:
    """The commands of all pages that begin like this."""
    lines = [line for block in all_blocks("sh") for line in block.commands]
    return list(dict.fromkeys(line for line in lines if line.startswith(beginnings)))


def sweeps(page: str) -> list[str]:
    """The commands of a page that measure a server."""
    lines = [line for block in all_blocks("sh") if block.page == page for line in block.commands]
    return [line for line in lines if line.startswith("poolsize sweep") and "--replay" not in line]


def shortened(words: list[str]) -> list[str]:
    """The options of a sweep, so that it takes seconds."""
    options = list(words)
    search = {"--budget", "--interval"} & set(options)
    for flag in SHORT_WHERE_USED.keys() & set(options):
        options[options.index(flag) + 1] = SHORT_WHERE_USED[flag]
    for flag, value in SHORT.items():
        if flag in options:
            options[options.index(flag) + 1] = value
        elif flag != ("--pool-sizes" if search else "--budget"):
            options += [flag, value]
    return options if {"--think-time", "--rate"} & set(options) else [*options, *LIGHT]


@pytest.mark.parametrize("block", all_blocks("console"), ids=lambda block: block.name)
def test_a_command_prints_what_the_page_shows(block: Block, tmp_path: Path) -> None:
    link_checkout(tmp_path)
    printed, page = shown(block, tmp_path), block.text
    if page.startswith(SIMULATED):
        assert _numbers(printed) == pytest.approx(_numbers(page), rel=0.01)
        printed, page = (" ".join(NUMBER.sub("#", text).split()) for text in (printed, page))
    assert printed == page, "scripts/docs --write writes it again"


def _numbers(text: str) -> list[float]:
    return [float(number.replace(",", "")) for number in NUMBER.findall(text)]


def test_every_kind_of_block_and_command_is_checked() -> None:
    for page in pages():
        assert {block.language for block in blocks(page) if not block.not_run} <= LANGUAGES, page
    known = (*NO_SERVER, *DRAWN, *OTHERS)
    assert [line for line in commands("") if not line.startswith(known)] == []


@pytest.mark.parametrize("line", commands("scripts/"))
def test_a_script_is_there(line: str) -> None:
    assert os.access(ROOT / line.split(maxsplit=1)[0], os.X_OK)


@pytest.mark.parametrize("line", commands(*NO_SERVER))
def test_what_needs_no_server_works_as_shown(line: str, tmp_path: Path, poolsize_here: Command) -> None:
    for threads in (8, 16):
        line_of = f"s ] thds: {threads} tps: 100.00 lat (ms,95%): 9.00 err/s: 0.00"
        (tmp_path / f"threads-{threads}.log").write_text("\n".join(f"[ {second}{line_of}" for second in range(9)))
    link_checkout(tmp_path)
    _, *words = shlex.split(line.replace("threads-*.log", "threads-8.log threads-16.log"))
    done = poolsize_here(*words, *_output(line))
    assert done.returncode == 0, done.stderr


def _output(line: str) -> tuple[str, ...]:
    """The option that keeps a replay out of the checkout's data/runs."""
    return ("--output", "replay.jsonl") if "--replay" in line else ()


@pytest.mark.parametrize("line", commands(*DRAWN))
def test_what_draws_does(line: str, tmp_path: Path, poolsize_here: Command) -> None:
    link_checkout(tmp_path)
    done = poolsize_here(*shlex.split(line)[1:])
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.glob("*.png"))


@pytest.mark.parametrize(
    "block", [block for block in all_blocks("python") if not block.file], ids=lambda block: block.name
)
def test_a_program_works_as_shown(block: Block, tmp_path: Path) -> None:
    link_checkout(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", block.text],
        cwd=tmp_path, env=environment(), capture_output=True, text=True, check=True,
    )  # fmt: skip
    if "answer.range" in block.text:
        size, low, high, p99 = done.stdout.replace("(", "").replace(")", "").replace(",", "").split()
        assert size == "2"
        assert int(low) <= 2 <= int(high)
        assert float(p99) > 1
    if "savefig" in block.text:
        assert (tmp_path / "knee.svg").read_text().count("<path") > 10


@pytest.mark.parametrize(
    "block",
    [block for block in all_blocks("yaml") if not block.file and block.page != "docs/how-to/pipelines.md"],
    ids=lambda block: block.name,
)
def test_the_yaml_is_valid_and_its_commands_exist(block: Block) -> None:
    documents = list(yaml.safe_load_all(block.text))
    assert all({"apiVersion", "kind", "metadata"} <= set(document) for document in documents)
    for document in documents:
        for name, text in document.get("data", {}).items():
            compile(text, name, "exec")
        for container in document.get("spec", {}).get("template", {}).get("spec", {}).get("containers", ()):
            program, *words = container["command"]
            assert program in {"poolsize", "locust"}
            if program == "poolsize":
                assert {word for word in words if word.startswith("--")} <= set(FLAGS.values())


@pytest.fixture
def shop(server: PrivateServer) -> Iterator[Any]:
    """An administrator's cursor on a server with a schema of a shop, and with the account that the README makes."""
    with connect(database_url(server.url)) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE shop")
        cursor.execute("CREATE TABLE shop.orders (id INT PRIMARY KEY, status VARCHAR(8) NOT NULL)")
        cursor.executemany("INSERT INTO shop.orders VALUES (%s, 'paid')", [(order,) for order in range(1, 1001)])
        try:
            yield cursor
        finally:
            cursor.execute("DROP DATABASE shop")
            cursor.execute("DROP USER IF EXISTS reader@'127.0.0.1'")


def grant(cursor: Any, page: str) -> None:
    """Run the README's and the page's SQL, for an account on this machine."""
    for block in all_blocks("sql"):
        if block.page in {"README.md", page}:
            text = block.text.replace("'poolsize'@'%'", "reader@'127.0.0.1'")
            for statement in text.replace("CREATE USER", "CREATE USER IF NOT EXISTS").split(";"):
                if statement.strip():
                    cursor.execute(statement)


@pytest.mark.server
@pytest.mark.parametrize(
    ("server", "page"),
    in_ci(
        [("mariadb", page) for page in pages() if sweeps(page)]
        + [("mysql", page) for page in pages() if sweeps(page) and page in {block.page for block in all_blocks("sql")}],
        ("mariadb", "README.md"),
    ),
    indirect=["server"],
)
def test_the_sweeps_of_a_page_work_with_the_account_it_makes(
    server: PrivateServer, shop: Any, poolsize: Command, page: str, tmp_path: Path
) -> None:
    grant(shop, page)
    shop.execute("SELECT VERSION()")
    (version,) = shop.fetchone()
    for block in all_blocks("python"):
        if block.page == page and block.file:
            (tmp_path / block.file).write_text(block.text)
    url = f"mysql://reader:PASSWORD@127.0.0.1:{database_url(server.url).port}/"
    lines = sweeps(page)
    for place, line in enumerate(lines if "MariaDB" in version else lines[:1]):
        words = shlex.split(line.split(" > ", maxsplit=1)[0])[2:]
        options = [*shortened(words), "--output", f"{place}.jsonl"]
        done = poolsize("sweep", *options, url=None if {"--server-option", "--against-option"} & set(options) else url)
        if "--against-option" in options:
            assert "Comparison by" in done.stdout or "has no answer" in done.stderr, done.stderr
            continue
        no_size = "No pool size" in done.stdout or '"pool_size": null' in done.stdout
        assert done.returncode == 0 or no_size, f"{line}: {done.stderr}"
        if "--json" in options:
            assert "pool_size" in json.loads(done.stdout)
        else:
            assert done.stdout.startswith("Use ") or no_size, line


@pytest.mark.server
@pytest.mark.experiment
@pytest.mark.parametrize("line", commands("locust "))
def test_plain_locust_works_as_shown(server: PrivateServer, line: str, tmp_path: Path) -> None:
    link_checkout(tmp_path)
    words = shlex.split(line)
    words[words.index("--pool-sizes") + 1] = "1,2"
    words[words.index("--step-time") + 1] = "1s"
    subprocess.run(
        [*words, *LIGHT],
        cwd=tmp_path,
        env=environment() | {"POOLSIZE_URL": server.url},
        check=True,
        capture_output=True,
    )
    assert list(tmp_path.glob("*.jsonl"))
