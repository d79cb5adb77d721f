"""The pages of README.md and docs/: their blocks of code, and the outputs that they show.

To write the shown outputs again: python -m tests.pages
"""

import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from poolsize.errors import FOUND_WRONG
from tests.reference import PAGES

ROOT = Path(__file__).parents[1]
HERE = str(Path(sys.executable).parent)
LINKED = ("data", "locustfiles", "scripts")
"""Folders of the checkout that the commands of the pages name."""
NOT_RUN = re.compile(r"^<!-- not run: (\S.*) -->$")
FENCE = re.compile(r"^( *)```(\w*)$")


@dataclass(frozen=True)
class Block:
    """A block of code on a page. language: of its fence. not_run: the reason why no test runs it, or None."""

    page: str
    line: int
    language: str
    text: str
    not_run: str | None

    @property
    def name(self) -> str:
        """The page and the line, for the name of a test."""
        return f"{self.page}:{self.line}"

    @property
    def file(self) -> str | None:
        """The name of the file that the block shows: `# checkout.py` in its first line; None without."""
        named = re.match(r"# (\w+\.(?:py|toml|yml))\n", self.text)
        return named[1] if named else None

    @property
    def commands(self) -> list[str]:
        """The commands of a block of shell, without comments."""
        lines = (line.split("  #")[0].strip() for line in self.text.splitlines())
        return [line for line in lines if line]


def pages() -> list[str]:
    """Return the paths of all pages that people write, relative to the checkout."""
    generated = {f"docs/reference/{name}" for name in PAGES}
    docs = (path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "docs").rglob("*.md")))
    return ["README.md", *(page for page in docs if page not in generated)]


def blocks(page: str) -> Iterator[Block]:
    """Yield the blocks of a page. A comment `<!-- not run: REASON -->` above a block excludes it from the tests."""
    lines = (ROOT / page).read_text().splitlines()
    number = 0
    while number < len(lines):
        if fence := FENCE.match(lines[number]):
            end = next(place for place in range(number + 1, len(lines)) if lines[place] == f"{fence[1]}```")
            indent = len(fence[1])
            text = "".join(f"{line[indent:]}\n" for line in lines[number + 1 : end])
            reason = NOT_RUN.match(lines[number - 1]) if number else None
            yield Block(page, number + 1, fence[2], text, reason and reason[1])
            number = end
        number += 1


@cache
def all_blocks(language: str) -> list[Block]:
    """Return the blocks of a language that tests run, of all pages."""
    return [block for page in pages() for block in blocks(page) if block.language == language and not block.not_run]


def environment() -> dict[str, str]:
    """Return the environment of a user with poolsize on the path."""
    variables = {name: value for name, value in os.environ.items() if name not in {"POOLSIZE_URL", "COLUMNS"}}
    return variables | {"PATH": f"{HERE}{os.pathsep}{os.environ['PATH']}", "MPLBACKEND": "agg"}


def link_checkout(folder: Path) -> None:
    """Link the folders of the checkout that the commands name into a folder, where a test runs them."""
    for name in LINKED:
        (folder / name).symlink_to(ROOT / name)


def shown(block: Block, folder: Path) -> str:
    """Return the text of a console block, with the output that its command prints in a folder."""
    command = block.text.splitlines()[0]
    for other in blocks(block.page):
        if other.file:
            (folder / other.file).write_text(other.text)
    done = subprocess.run(
        shlex.split(command.removeprefix("$ ")),
        cwd=folder, env=environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode in {0, FOUND_WRONG}, done.stderr
    return f"{command}\n{done.stdout}"


def write_outputs() -> None:
    """Write the outputs of all console blocks into their pages."""
    with tempfile.TemporaryDirectory() as folder:
        link_checkout(Path(folder))
        for block in all_blocks("console"):
            path = ROOT / block.page
            old, new = f"```console\n{block.text}```\n", f"```console\n{shown(block, Path(folder))}```\n"
            path.write_text(path.read_text().replace(old, new))


if __name__ == "__main__":
    write_outputs()
