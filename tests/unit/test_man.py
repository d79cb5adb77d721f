"""The manual pages: every command has one with all of its options, and groff has nothing to say against them."""

import shutil
import subprocess
from pathlib import Path

import click
import pytest

from poolsize.commands import COMMANDS, cli
from tests.man import main


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("man")
    main(folder)
    return folder


@pytest.mark.parametrize("name", COMMANDS)
def test_a_page_has_every_option_of_its_command(pages: Path, name: str) -> None:
    command = cli.get_command(click.Context(cli), name)
    assert command
    text = (pages / f"poolsize-{name}.1").read_text().replace("\\-", "-")
    flags = [flag for option in command.params if isinstance(option, click.Option) for flag in option.opts]
    assert [flag for flag in flags if f"\\fB{flag}" not in text] == []
    assert f"poolsize-{name}(1)" in (pages / "poolsize.1").read_text().replace("\\-", "-")


@pytest.mark.costly
@pytest.mark.skipif(not shutil.which("groff"), reason="no groff on this machine")
def test_groff_formats_the_pages_without_a_warning(pages: Path) -> None:
    command = ["groff", "-man", "-Kutf8", "-ww", "-z", *sorted(map(str, pages.iterdir()))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
