"""The command line without a server: its answers, its JSON, its errors, and what it does not import."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from poolsize.command_line.sweep_options import in_flags
from poolsize.commands import COMMANDS
from poolsize.errors import BadInput
from poolsize.files import shipped
from poolsize.server import private_server
from poolsize.server.connection import connect, database_url
from tests.conftest import EXAMPLES, Command, a_run, written
from tests.golden import assert_golden


def stored(path: Path) -> Path:
    return written(path, a_run({1: 100, 2: 200, 4: 390, 8: 400}))


@pytest.mark.parametrize(
    ("arguments", "size"),
    [(["--cores", "8"], 17), (["--cores", "4"], 9), (["--cores", "8", "--cache-hit-rate", "1"], 16)],
)
def test_recommend_answers_with_the_formula(poolsize_here: Command, arguments: list[str], size: int) -> None:
    done = poolsize_here("recommend", *arguments, "--json")
    answer = json.loads(done.stdout)
    assert (done.returncode, done.stderr, answer["pool_size"], answer["basis"]) == (0, "", size, "formula")
    assert answer["verdict"] is None
    assert answer["findings"][0]["code"] == "cores"


@pytest.mark.parametrize("option", ["--app-threads", "--connections-per-thread", "--cores", "--cache-hit-rate"])
def test_a_run_contains_what_describes_the_host_and_its_threads(poolsize_here: Command, option: str) -> None:
    done = poolsize_here("recommend", "--run", str(EXAMPLES["scan-mariadb"]), option, "1")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"poolsize: error: {option}: the run contains this value; leave the option out\n"


def test_an_error_is_one_line_however_long_its_cause_explains_itself() -> None:
    assert str(BadInput("no table\n  (Background on this error at: https://sqlalche.me/e/20/e3q8)\n; way out")) == (
        "no table (Background on this error at: https://sqlalche.me/e/20/e3q8) ; way out"
    )


def test_without_cores_it_says_what_it_assumed(poolsize_here: Command) -> None:
    done = poolsize_here("recommend")
    assert done.returncode == 0
    assert "as if the database runs here" in done.stderr


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("recommend-8", ["--cores", "8"]),
        ("recommend-8-why", ["--cores", "8", "--why"]),
        ("recommend-ssd-floor", ["--cores", "2", "--ssd", "--app-threads", "3", "--connections-per-thread", "4"]),
        ("recommend-cached", ["--cores", "16", "--threads-per-core", "2", "--disks", "4", "--cache-hit-rate", "0.95"]),
    ],
)
def test_the_text_is_the_golden_one(poolsize_here: Command, name: str, arguments: list[str]) -> None:
    assert_golden(f"{name}.txt", poolsize_here("recommend", *arguments).stdout)


@pytest.mark.long
def test_recommend_from_a_run(poolsize_here: Command, tmp_path: Path) -> None:
    stored(tmp_path / "a.jsonl")
    answer = json.loads(poolsize_here("recommend", "--run", "a.jsonl", "--json").stdout)
    assert (answer["pool_size"], answer["basis"], answer["verdict"]) == (4, "measured", "measured")
    assert poolsize_here("recommend", "--run", "a.jsonl").stdout.startswith("Use 4 connections")


@pytest.mark.costly
def test_analyze_prints_and_draws(poolsize_here: Command, tmp_path: Path) -> None:
    stored(tmp_path / "a.jsonl")
    done = poolsize_here("analyze", "a.jsonl", "--plot", "a.png", "--json")
    assert [step["pool_size"] for step in json.loads(done.stdout)["steps"]] == [1, 2, 4, 8]
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.long
@pytest.mark.parametrize(
    ("arguments", "message", "code"),
    [
        (["recommend", "--cores", "-3"], "--cores -3", 2),
        (["recommend", "--cores", "many"], "many", 2),
        (["recommend", "--run", "none.jsonl"], "none.jsonl", 2),
        (["recommend", "--run", "half.jsonl"], "half.jsonl: line", 1),
        (["analyze", "half.jsonl"], "sweep --resume half.jsonl", 1),
        (["compare", "a.jsonl", "none.jsonl"], "none.jsonl", 2),
        (["compare", "a.jsonl", "half.jsonl"], "half.jsonl: line", 1),
        (["report", "none.jsonl", "--output", "a.html"], "none.jsonl", 2),
        (["notebook", "none.jsonl"], "none.jsonl", 2),
        (["analyze", "text.jsonl"], "text.jsonl", 2),
        (["sweep", "--workload", "nothing"], "--workload nothing", 2),
        (["sweep", "--workload", "scan", "--mysqld", "/none"], "--mysqld /none", 2),
        (["sweep", "--workload", "scan", "--step-time", "soon"], "--step-time soon", 2),
        (["recommend", "--url", "postgresql://u:secret@h/d"], "postgresql://h: poolsize measures", 2),
        (["recommend", "--url", "nonsense"], "not a URL", 2),
        (["sweep", "--resume", "none.jsonl"], "none.jsonl", 2),
        (["sweep", "--workload", "scan", "--url", "mysql://u:se@cret@h/"], "not a URL", 2),
        (["recommend", "--url", "mysql://u:s@secret:x@h/"], "not a URL", 2),
        (
            ["sweep", "--dry-run", "--against-url", "mysql://u:secret@i/"],
            "--against-url: --dry-run is for a new sweep",
            2,
        ),
        (["sweep", "--dry-run", "--resume", "a.jsonl"], "--resume a.jsonl: --dry-run is for a new sweep", 2),
        (["sweep", "--dry-run", "--replay", "a.csv"], "--replay a.csv: --dry-run is for a new sweep", 2),
        (["sweep", "--application", "a.toml", "--dry-run"], "--application a.toml: --dry-run shows the statements", 2),
        (["sweep", "--workload", "scan", "--url", "mysql://u:p@h/", "--mysqld", "x"], "--mysqld", 2),
        (["sweep", "--workload", "scan", "--step-time", "2.5s"], "--step-time 2.5s", 2),
        (["sweep", "--workload", "scan", "--server-option", "nonsense"], "NAME=VALUE", 2),
        (["sweep", "--workload", "scan", "--server-option", "datadir=/var/lib/mysql"], "datadir", 2),
        (["sweep", "--workload", "scan", "--pool-sizes", ""], "--pool-sizes", 2),
        (["sweep", "--workload", "scan", "--output", "a.jsonl"], "--resume a.jsonl", 2),
        (["sweep", "--workload", "empty.py"], "PoolUser", 2),
        (["recommend", "--threads-per-core", "2"], "--threads-per-core", 2),
    ],
)
def test_bad_input_is_one_line_and_no_traceback(
    poolsize_here: Command, tmp_path: Path, arguments: list[str], message: str, code: int
) -> None:
    whole = stored(tmp_path / "a.jsonl").read_bytes()
    (tmp_path / "half.jsonl").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "text.jsonl").write_text("hello\n")
    (tmp_path / "empty.py").write_text("from locust import User\n")
    done = poolsize_here(*arguments)
    assert done.returncode == code
    assert done.stdout == ""
    assert done.stderr.startswith("poolsize: error: ")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert "cret" not in done.stderr
    assert (tmp_path / "half.jsonl").read_bytes() == whole[: len(whole) // 2]


@pytest.mark.long
def test_an_error_names_the_variable_that_gave_the_value(poolsize_here: Command) -> None:
    from_variable = poolsize_here("sweep", "--workload", "scan", url="postgresql://u@h/d")
    assert from_variable.stderr.startswith("poolsize: error: POOLSIZE_URL postgresql://")
    from_option = poolsize_here("sweep", "--workload", "scan", "--url", "postgresql://u@h/d", url="mysql://u@h/")
    assert from_option.stderr.startswith("poolsize: error: --url postgresql://")


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What would be started in place of this process."""
    started: list[str] = []
    monkeypatch.setattr(os, "execv", lambda _, words: started.extend(words))
    return started


def parameters(notebook: Path) -> dict[str, object]:
    """What the notebook's parameters cell sets, run by itself."""
    cells = json.loads(notebook.read_text())["cells"]
    (source,) = ["".join(cell["source"]) for cell in cells if "parameters" in cell["metadata"].get("tags", [])]
    values: dict[str, object] = {}
    exec(source, values)
    return {name: value for name, value in values.items() if name.isupper()}


@pytest.mark.long
def test_the_notebook_of_a_run_of_yours_names_it_and_shows_nothing_of_the_example(
    poolsize_here: Command, tmp_path: Path, opened: list[str]
) -> None:
    stored(tmp_path / "a.jsonl")
    done = poolsize_here("notebook", "a.jsonl")
    assert (done.returncode, done.stderr) == (0, "poolsize: wrote poolsize-a.ipynb\n")
    assert "poolsize-a.ipynb" in opened
    assert parameters(tmp_path / "poolsize-a.ipynb") == {"RUN": str(tmp_path / "a.jsonl"), "CURRENT": None}
    assert "image/png" not in (tmp_path / "poolsize-a.ipynb").read_text()
    assert poolsize_here("notebook").returncode == 0
    assert "image/png" in (tmp_path / "poolsize-analysis.ipynb").read_text()


@pytest.mark.long
def test_a_notebook_that_is_there_is_neither_written_over_nor_opened(
    poolsize_here: Command, tmp_path: Path, opened: list[str]
) -> None:
    stored(tmp_path / "a.jsonl")
    (tmp_path / "poolsize-a.ipynb").write_text("mine")
    (tmp_path / "poolsize-a-2.ipynb").write_text("mine too")
    done = poolsize_here("notebook", "a.jsonl")
    assert (done.returncode, done.stderr) == (0, "poolsize: wrote poolsize-a-3.ipynb\n")
    assert "poolsize-a-3.ipynb" in opened
    assert (tmp_path / "poolsize-a.ipynb").read_text() == "mine"


@pytest.mark.costly
def test_what_a_notebook_can_not_show_is_refused_before_it_opens(
    poolsize_here: Command, tmp_path: Path, opened: list[str]
) -> None:
    whole = stored(tmp_path / "a.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "half.jsonl").write_text("".join(whole[:3]))
    for runs, message, code in (
        (["half.jsonl"], "half.jsonl is incomplete", 1),
        (["a.jsonl", "half.jsonl"], "half.jsonl is incomplete", 1),
        (["a.jsonl", "./a.jsonl"], "is named twice", 2),
        (["a.jsonl", str(EXAMPLES["insert-mariadb"])], "differ in more than one field", 2),
    ):
        done = poolsize_here("notebook", *runs)
        assert done.returncode == code
        assert message in done.stderr
    assert not opened


@pytest.mark.long
def test_the_notebook_of_several_runs_compares_them(poolsize_here: Command, tmp_path: Path, opened: list[str]) -> None:
    runs = [str(EXAMPLES[name]) for name in ("scan-mariadb", "scan-mysql")]
    assert poolsize_here("notebook", *runs).returncode == 0
    copy = tmp_path / "poolsize-compare-scan-mariadb-scan-mysql.ipynb"
    assert copy.name in opened
    assert parameters(copy) == {"RUNS": runs, "ACROSS": None}
    assert "image/png" not in copy.read_text()


@pytest.mark.long
def test_the_notebook_of_an_observation_names_it(poolsize_here: Command, tmp_path: Path, opened: list[str]) -> None:
    observation = str(shipped("data/examples/observation.jsonl"))
    assert poolsize_here("notebook", observation).returncode == 0
    copy = tmp_path / "poolsize-observation.ipynb"
    assert copy.name in opened
    assert parameters(copy) == {"OBSERVATION": observation, "POOL": None, "GROWTH": 1.0}


@pytest.mark.parametrize("missing", [("jupyterlab", "ipywidgets", "nbformat", "pandas"), ("pandas",)], ids=" ".join)
def test_without_the_notebook_extra_one_line_names_it(
    poolsize_here: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opened: list[str], missing: tuple[str, ...]
) -> None:
    for module in missing:
        monkeypatch.setitem(sys.modules, module, None)
    done = poolsize_here("notebook")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"poolsize: error: notebooks need {', '.join(missing)}: install them with pip install '.[notebook]' in "
        "poolsize's folder\n"
    )
    assert list(tmp_path.iterdir()) == []
    assert not opened


def test_no_command_at_all_is_the_help(poolsize_here: Command) -> None:
    done = poolsize_here()
    assert (done.returncode, done.stderr) == (0, "")
    assert "Start here:" in done.stdout


def test_no_server_program_is_named_with_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(private_server, "USUAL_PLACES", ())
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BadInput, match="apt-get install mariadb-server"):
        private_server.find_mysqld()


SLOW = {
    *("gevent", "hdrh", "jinja2", "locust", "matplotlib", "numpy", "pandas", "psutil", "pydantic", "pymysql", "rich"),
    *("scipy", "sqlalchemy", "yaml", "pathlib", "urllib.parse"),
}
"""What no help and no quick command imports."""


@pytest.mark.costly
@pytest.mark.parametrize(
    ("words", "may_import"),
    [
        *((f"{name} --help", "") for name in COMMANDS),
        ("--help", ""),
        ("--version", "pathlib urllib.parse"),
        ("--frob", ""),
        ("recommend --frob", ""),
        ("recommend --cores 8", ""),
        ("fleet --size 40 --instances 6 --processes 4", ""),
        ("config --for hikaricp --size 8", "jinja2 pathlib urllib.parse"),
        ("explain 1040", "pathlib urllib.parse"),
    ],
)
def test_a_quick_command_imports_nothing_slow(words: str, may_import: str) -> None:
    program = (
        "import sys, click; before = set(sys.modules)\n"
        "from poolsize.__main__ import main\n"
        "try:\n"
        "    main()\n"
        "finally:\n"
        "    print('\\n', *(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", program, *words.split()], capture_output=True, text=True, check=False)
    assert done.returncode == (2 if "--frob" in words else 0), done.stderr
    assert SLOW & set(done.stdout.splitlines()[-1].split()) <= set(may_import.split())


@pytest.mark.costly
def test_only_an_address_from_the_environment_can_be_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message is the one that a connection raises."""
    monkeypatch.setenv("POOLSIZE_URL", "mysql://nobody@127.0.0.1:1/")
    with pytest.raises(BadInput) as refused:
        connect(database_url("mysql://nobody@127.0.0.1:1/"))
    for words, ends in ((["poolsize", "fleet"], True), (["poolsize", "fleet", "--url=mysql://a/"], False)):
        monkeypatch.setattr(sys, "argv", words)
        assert in_flags(str(refused.value), None).endswith("; or unset POOLSIZE_URL") == ends


@pytest.mark.long
def test_a_file_beside_the_user_replaces_no_module(poolsize: Command, tmp_path: Path) -> None:
    """The Locust process knows the password; with -m alone, Python would run that file from the current folder."""
    for name in ("secrets", "json", "sqlalchemy", "numpy"):
        (tmp_path / f"{name}.py").write_text("from pathlib import Path\nPath('ran').touch()\n")
    done = poolsize("sweep", "--workload", "scan", url="mysql://u:secret@127.0.0.1:1/")
    assert "no server answers at u@127.0.0.1:1" in done.stderr
    assert not (tmp_path / "ran").exists()


def test_a_refused_url_shows_scheme_host_and_port_alone(poolsize_here: Command) -> None:
    done = poolsize_here("recommend", url="postgresql://u:one@h:5432/d?password=two&sslkey=three")
    assert "postgresql://h:5432: poolsize measures" in done.stderr
    assert not any(secret in done.stderr for secret in ("one", "two", "three"))


@pytest.mark.costly
def test_the_package_runs_as_the_command() -> None:
    command = [sys.executable, "-m", "poolsize", "recommend", "--cores", "8"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert "17 connections" in done.stdout
