"""Each stack is written, checked without a finding, and then checked with each of its values spoiled in turn."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from poolsize.pool_config.libraries.table import LIBRARIES
from poolsize.pool_config.pool import normalized
from poolsize.pool_config.stacks import COMMENTS, STACKS, Stack
from tests.conftest import Command, in_ci

OPTIONS = {
    "size": ["--size=16"],
    "small": ["--size=1", "--caller-timeout=5s"],
    "fleet": ["--size=96", "--instances=6", "--processes=4", "--max-connections=151"],
    "traffic": ["--rate=400/s", "--usage-time=15ms", "--instances=6", "--max-connections=151"],
}
NOT_IN_THE_FILE = {"gunicorn.workers", "gunicorn.threads"}
"""Settings of gunicorn.conf.py, which the file of Django has in a comment only."""


def options_of(stack: Stack, name: str) -> list[str]:
    """Return options that a stack accepts: the workers of PHP-FPM are its processes."""
    return [each for each in OPTIONS[name] if not (stack.workers_are_processes and each.startswith("--processes"))]


def written(poolsize_here: Command, stack: Stack, options: list[str]) -> dict[str, Any]:
    done = poolsize_here("config", "--for", stack.name, *options, "--json")
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def checked(poolsize_here: Command, path: Path, text: str, options: list[str]) -> tuple[int, dict[str, Any]]:
    path.write_text(text)
    done = poolsize_here("config", "--check", path.name, *options, "--json")
    assert done.stdout, done.stderr
    return done.returncode, dict(json.loads(done.stdout))


@pytest.mark.parametrize(
    "options", [pytest.param(name, marks=[pytest.mark.long] if name == "traffic" else []) for name in OPTIONS]
)
@pytest.mark.parametrize("stack", STACKS.values(), ids=STACKS)
def test_a_written_stack_passes_the_check(poolsize_here: Command, tmp_path: Path, stack: Stack, options: str) -> None:
    typed = options_of(stack, options)
    text = written(poolsize_here, stack, typed)["text"]
    code, answer = checked(poolsize_here, tmp_path / stack.file, text, typed)
    ((pool,),) = (file["pools"] for file in answer["files"])
    assert (answer["problems"], pool["findings"], pool["differences"], code) == ([], [], [], 0)


def spoiled(stack: Stack, text: str, setting: dict[str, Any]) -> Iterator[str]:
    """Yield a stack's text with each of some wrong values of a setting."""
    names = "|".join(re.escape(name) for name in (setting["name"], setting["name"].rsplit(".", 1)[-1]))
    place = re.compile(rf"(?<![\w-])(?:{names})\W{{1,6}}?({setting['value']})(?!\d)", re.IGNORECASE)
    comment = COMMENTS.get(Path(stack.file).suffix, "#")
    lines = text.splitlines()
    ((at, match),) = [
        (at, match)
        for at, line in enumerate(lines)
        if not line.lstrip().startswith(comment) and (match := place.search(line))
    ]
    for value in wrong_values(match[1]):
        line = lines[at][: match.start(1)] + value + lines[at][match.end(1) :]
        yield "\n".join([*lines[:at], line, *lines[at + 1 :], ""])


def own_name(name: str) -> str:
    """Return the name of a setting without where it is, which the check shows beside it."""
    return normalized(name.rsplit(".", 1)[-1].removeprefix("mysql-"))


def wrong_values(value: str) -> list[str]:
    words = {"true": ["false"], "false": ["true"], "True": ["False"], "False": ["True"]}
    words |= {"static": ["dynamic", "ondemand"], "on": ["off"]}
    if value in words:
        return words[value]
    number = int(value)
    return [str(each) for each in sorted({0, -1, number // 2, 2 * number} - {number})]


@pytest.mark.long
@pytest.mark.parametrize("name", in_ci(STACKS, "spring-boot", "sqlalchemy", "php-fpm"))
def test_each_spoiled_value_is_found(poolsize_here: Command, tmp_path: Path, name: str) -> None:
    stack = STACKS[name]
    answer = written(poolsize_here, stack, OPTIONS["size"])
    for setting in answer["settings"]:
        if setting["name"] in NOT_IN_THE_FILE:
            continue
        for text in spoiled(stack, answer["text"], setting):
            _, found = checked(poolsize_here, tmp_path / stack.file, text, OPTIONS["size"])
            named = {each["name"] for file in found["files"] for pool in file["pools"] for each in pool["differences"]}
            named |= {each["setting"] for each in found["problems"]}
            assert own_name(setting["name"]) in {own_name(name) for name in named if name}, text


def test_the_stacks_that_are_written_are_those_that_are_checked() -> None:
    assert {stack.other_form_of or stack.name for stack in STACKS.values()} == {
        library.stack for library in LIBRARIES.values() if library.stack
    }


@pytest.mark.parametrize(("name", "title"), [("sequelize", "Sequelize"), ("rails", "Rails and Rails 8.1")])
def test_a_library_that_is_only_checked_is_said_to_be(poolsize_here: Command, name: str, title: str) -> None:
    done = poolsize_here("config", "--for", name, "--size", "9")
    assert f"--for {name}: poolsize checks {title} (config --check FILE), and has nothing to write" in done.stderr
