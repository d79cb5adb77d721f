"""`poolsize application init`: the template, which explains every key."""

import subprocess
import sys
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest

from poolsize.service_under_test.description import ServiceFile, read_description
from tests.conftest import ROOT, Command


def test_the_template_can_be_read_and_explains_every_key(tmp_path: Path, poolsize_here: Command) -> None:
    done = poolsize_here("application", "init", "shop.toml")
    assert done.returncode == 0
    assert "poolsize application check shop.toml" in done.stderr
    (tmp_path / "locustfile.py").write_text("")
    assert read_description(tmp_path / "shop.toml").measured.variables == (
        "SPRING_DATASOURCE_HIKARI_MAXIMUM_POOL_SIZE",
    )
    text = (tmp_path / "shop.toml").read_text()
    for key in fields(ServiceFile):
        assert f"{key.name} = " in text
    every_key = "\n".join(line.removeprefix("# ") for line in text.splitlines() if " = " in line)
    assert set(tomllib.loads(every_key)) == {key.name for key in fields(ServiceFile)}


def test_a_file_that_exists_is_kept(tmp_path: Path, poolsize_here: Command) -> None:
    (tmp_path / "shop.toml").write_text("mine")
    done = poolsize_here("application", "init", "shop.toml")
    assert done.returncode == 2
    assert "shop.toml already exists: name another file" in done.stderr
    assert (tmp_path / "shop.toml").read_text() == "mine"


@pytest.mark.long
@pytest.mark.parametrize(
    ("module", "option", "message"),
    [
        ("poolsize.locust", ("--application=shop.toml",), "--application shop.toml: use poolsize sweep, or python -m"),
        ("poolsize.service_under_test", (), "--application is missing: name the file that describes the application"),
    ],
)
def test_each_process_of_locust_refuses_the_other_kind_of_sweep(
    module: str, option: tuple[str, ...], message: str
) -> None:
    locustfile = ROOT / "locustfiles/insert.py"
    done = subprocess.run(
        [sys.executable, "-m", module, "-f", str(locustfile), "--headless", *option],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert f"poolsize: error: {message}" in done.stderr
