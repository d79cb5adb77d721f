"""The file that describes an application: what it refuses, and what it gives a sweep."""

from pathlib import Path

import pytest

from poolsize.errors import BadInput
from poolsize.service_under_test.description import read_description
from poolsize.sweep.options import SweepOptions
from poolsize.sweep.planning import plan_for
from tests.conftest import Command
from tests.pages import Block, blocks

GOOD = """
locustfile = "shop.py"
host = "http://127.0.0.1:8080"
start = "java -jar 'my shop.jar' --pool={pool_size}"
environment = {POOL = "{pool_size}", MODE = "test"}
ready = "http://127.0.0.1:8080/health"
"""
RESIZED = 'locustfile = "shop.py"\nhost = "http://shop"\nresize = "set-pool {pool_size}"\n'


def write(folder: Path, text: str) -> Path:
    (folder / "shop.py").write_text("")
    path = folder / "shop.toml"
    path.write_text(text)
    return path


def test_the_pool_size_stands_in_words_and_in_variables(tmp_path: Path) -> None:
    application = read_description(write(tmp_path, GOOD))
    words, variables = application.command("start", 8)
    assert words == ["java", "-jar", "my shop.jar", "--pool=8"]
    assert variables == {"POOL": "8", "MODE": "test"}
    assert application.locustfile == tmp_path / "shop.py"
    assert application.directory.resolve() == tmp_path.resolve()
    assert application.measured.started
    assert application.measured.pools == 1


PAGE = "docs/how-to/application-pool.md"


@pytest.mark.parametrize("block", [block for block in blocks(PAGE) if block.file], ids=lambda block: str(block.file))
def test_the_examples_of_the_page_are_files_that_a_sweep_can_use(tmp_path: Path, block: Block) -> None:
    (tmp_path / "shop_locustfile.py").write_text("")
    application = read_description(write(tmp_path, block.text))
    assert application.measured.started == (block.file in {"shop.toml", "python.toml"})


def test_a_running_application_is_resized(tmp_path: Path) -> None:
    application = read_description(write(tmp_path, RESIZED + "instances = 3\nprocesses = 4\n"))
    assert not application.measured.started
    assert application.measured.pools == 12


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("locustfile = ", "not TOML"),
        (GOOD + 'colour = "red"', "colour is unknown: the keys are locustfile, host"),
        (GOOD + 'instnces = 2', "instnces is unknown; did you mean instances?"),
        (GOOD.replace("{pool_size}", "8"), "{pool_size} is nowhere in start and in environment"),
        (RESIZED.replace("{pool_size}", "8"), "{pool_size} is nowhere in resize and in environment"),
        (GOOD + 'resize = "x {pool_size}"', "it has start and resize: leave out resize"),
        (RESIZED.replace("resize", "# resize"), "start is missing, the command that starts the application; or resize"),
        (RESIZED + 'restore = "set-pool {pool_size}"', "restore has {pool_size}, and it puts the old size back"),
        (GOOD.replace("ready", "# ready"), "an application with start needs ready"),
        (GOOD + 'restore = "x"', "restore belongs to resize"),
        (GOOD.replace("http://127.0.0.1:8080/health", "/health"), "ready: this is not the URL of a page; write a"),
        (GOOD.replace('"http://127.0.0.1:8080"', '"shop:8080"'), "host: this is not the URL of a page; write a"),
        (GOOD + "instances = 0", "instances 0: give more than 0"),
        (GOOD + f"processes = {10**30}", "give more than 0 and at most 1,000,000"),
        (GOOD + "ready_seconds = inf", "ready_seconds"),
        (GOOD + "ready_seconds = -1", "ready_seconds -1.0: give more than 0"),
        (GOOD.replace("'my", "my"), "No closing quotation"),
        (GOOD.replace("shop.py", "other.py"), "locustfile other.py: there is no such file"),
        (GOOD + 'directory = "nowhere"', "directory nowhere: there is no such folder"),
        (GOOD + "environment.POOL = 3", "not TOML"),
        (GOOD.replace('"test"', "3"), "environment.MODE: Input should be a valid string"),
    ],
)  # fmt: skip
def test_a_file_that_no_sweep_can_use_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(BadInput) as refused:
        read_description(write(tmp_path, text))
    assert message in str(refused.value)
    assert str(tmp_path / "shop.toml") in str(refused.value)


@pytest.mark.costly
@pytest.mark.parametrize(
    "changed",
    [
        'ready = "http//u:hunter2@h/"', 'ready = "u:hunter2@h:80/x"', 'metrics = "http://u:hunter2@[::1/x"',
        'metrics = "http://u:hunter2@h:99999/x"', 'host = "http://u:hunter2@a..b/"', 'ready = ["http://u:hunter2@h/"]',
        'metrics = {url = "http://h/?token=hunter2"}', 'host = ["hunter2"]', 'start = ["x", "--password=hunter2"]',
        'database = ["mysql://u:hunter2@h/"]', "database = 'mysql://u:hunter2@h/",
        'database.url = "mysql://u:hunter2@h/"', 'resize = ["sh", "-c", "PASSWORD=hunter2 x"]',
        'metrics = ["http://u:hunter2@h/"]', 'environment = "hunter2"', 'environment = {A = ["hunter2"]}',
    ],
)  # fmt: skip
def test_no_error_shows_a_secret_of_the_file(tmp_path: Path, poolsize_here: Command, changed: str) -> None:
    lines = [line for line in GOOD.splitlines() if line.partition(" =")[0] != changed.partition(" =")[0]]
    write(tmp_path, "\n".join([changed, *lines]))
    for command in (["application", "check", "shop.toml"], ["sweep", "--application", "shop.toml"]):
        done = poolsize_here(*command)
        assert done.returncode == 2
        assert "shop.toml: " in done.stderr
        assert "hunter2" not in done.stdout + done.stderr


def test_a_run_has_the_host_without_user_password_and_query(tmp_path: Path) -> None:
    text = GOOD.replace('"http://127.0.0.1:8080"', '"http://u:hunter2@shop:8080/a?token=hunter2"')
    assert read_description(write(tmp_path, text)).measured.host == "http://shop:8080/a"


def test_the_database_s_url_may_stand_in_a_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    application = read_description(write(tmp_path, GOOD + 'database = "SHOP_URL"'))
    monkeypatch.delenv("SHOP_URL", raising=False)
    with pytest.raises(BadInput, match="database SHOP_URL: no environment variable"):
        _ = application.database_url
    monkeypatch.setenv("SHOP_URL", "mysql://shop@db/")
    assert application.database_url == "mysql://shop@db/"
    assert read_description(write(tmp_path, GOOD)).database_url is None


@pytest.mark.parametrize("database", ["u:Secret9@x/db", "Secret9@db", "mysql:u:Secret9@x", "Secret 9", "", "Secret9/x"])
def test_a_database_that_is_no_url_and_no_name_is_not_shown(tmp_path: Path, database: str) -> None:
    application = read_description(write(tmp_path, GOOD + f'database = "{database}"'))
    with pytest.raises(BadInput, match="neither a URL, such as mysql://") as refused:
        _ = application.database_url
    assert "Secret" not in str(refused.value)


def test_several_pools_share_the_formula_s_connections() -> None:
    """8 cores and a disk have 17 connections by the formula: 5 for each of 4 pools; 160 users fill 4 pools of 20."""
    plan = plan_for(SweepOptions(cores=8), "shop", pools=4)
    assert plan.search is not None
    assert (plan.search.start, plan.search.largest) == (5, 40)
    assert plan.users == 320
    assert plan_for(SweepOptions(cores=8, users=160), "shop", pools=4).largest == 20
    assert plan_for(SweepOptions(cores=8, sizes=(1, 20)), "shop", pools=4).users == 160


@pytest.mark.parametrize("option", ["--rate=5", "--schema=shop", "--workload=scan", "--replay=cisco", "--verify=70"])
def test_options_of_poolsize_s_own_pool_are_refused(tmp_path: Path, option: str, poolsize_here: Command) -> None:
    path = write(tmp_path, GOOD)
    done = poolsize_here("sweep", "--application", str(path), option)
    name, _, value = option.partition("=")
    assert done.returncode == 2
    assert f"{name} {value}: --application does not support this option; leave it out" in done.stderr
