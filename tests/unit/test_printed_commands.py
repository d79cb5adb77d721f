"""The commands that poolsize prints can be pasted into a shell, whatever a file is called."""

import ast
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from poolsize.commands import COMMANDS
from poolsize.terminal import pasteable
from tests.conftest import ROOT, Command

BEGINS_COMMAND = re.compile(rf"(?:poolsize (?:{'|'.join(COMMANDS)})|locust -f|-m poolsize\.locust)\b[^`:;]*$")
"""The text before a value that is put into a command."""


def unquoted(tree: ast.AST) -> Iterator[int]:
    """Yield the lines on which a value that `pasteable` has not quoted is put into a command."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            before = ""
            for part in node.values:
                if isinstance(part, ast.Constant):
                    before += str(part.value)
                elif isinstance(part, ast.FormattedValue):
                    if BEGINS_COMMAND.search(before) and "pasteable(" not in ast.unparse(part.value):
                        yield node.lineno
                    before += "value"
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from (node.lineno for part in node.value.split("%s")[:-1] if BEGINS_COMMAND.search(part))


@pytest.mark.costly
def test_every_value_in_a_command_is_quoted_at_one_place() -> None:
    files = {path.relative_to(ROOT): path.read_text() for path in (ROOT / "poolsize").rglob("*.py")}
    places = [f"{path}:{line}" for path, text in files.items() for line in unquoted(ast.parse(text))]
    assert places == []
    assert [str(path) for path, text in files.items() if re.search(r"shlex\.(quote|join)", text)] == [
        "poolsize/terminal.py"
    ]


@pytest.mark.parametrize("name", ["a b.jsonl", "it's.jsonl", "$(id).jsonl", "-a.jsonl", "-rf", "~x", "*", "ä"])
def test_a_shell_reads_the_path_that_was_meant(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("read")
    (tmp_path / "other").write_text("")
    command = pasteable("cat", Path(name))
    done = subprocess.run(["/bin/sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("read", "")


@pytest.mark.costly
@pytest.mark.parametrize("name", ["a b.jsonl", "-a.jsonl"])
def test_the_next_line_of_a_command_runs(name: str, poolsize_here: Command) -> None:
    swept = poolsize_here("sweep", "--replay", "cisco", "--output", name)
    commands = [line.removeprefix("  Next").strip() for line in swept.stdout.splitlines() if " --run " in line]
    assert len(commands) == 2
    for command in commands:
        words = [{"I": "2", "P": "1", "STACK": "hikaricp"}.get(word, word) for word in shlex.split(command)[1:]]
        done = poolsize_here(*words)
        assert done.returncode == 0, done.stderr
