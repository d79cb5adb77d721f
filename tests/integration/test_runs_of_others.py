"""Runs of others are data: what a run names is opened, executed or set only where the user names it, too."""

import json
import os
import py_compile
import shlex
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from poolsize.errors import BadInput
from poolsize.present.text.setting import repeat_command
from poolsize.runs.plan import MeasuredApplication
from poolsize.runs.store import RunWriter, load_run, other_path, resume_command
from poolsize.server.private_server import _settings, private_server
from poolsize.service_under_test.guard import Guarded
from poolsize.sweep.events import LOCUSTFILE_SHA256
from poolsize.sweep.next_step import remaining
from poolsize.sweep.opening import HARMLESS
from poolsize.sweep.options import with_flags
from poolsize.sweep.readers import RESERVED
from tests.conftest import ROOT, Command, a_run, in_ci

DOORS = (["poolsize", "sweep"], ["locust", "--headless", "-f", str(ROOT / "locustfiles/scan.py")])
RUN = a_run({1: 100, 2: 200})
EXECUTED = "executed"
LOCUSTFILE = f"""
from pathlib import Path
from poolsize.locust import PoolUser
Path("{EXECUTED}").touch()
class Evil(PoolUser):
    def transaction(self, cursor):
        cursor.execute("SELECT 1")
"""


def of_another(folder: Path, name: str = "a.jsonl", **changes: Any) -> Path:
    """A run that was cut off before its first step, with these changes of its setting."""
    path = folder / name
    with RunWriter(path, replace(RUN.setting, **changes)):
        return path


def named_locustfile(folder: Path, text: str = LOCUSTFILE) -> dict[str, Any]:
    """The changes of a setting that names a locustfile, which is there."""
    (folder / "evil.py").write_text(text)
    return {
        "own_workload": "evil.py",
        "workload_sha256": sha256(text.encode()).hexdigest(),
        "plan": replace(RUN.plan, workload="evil"),
    }


def assert_refused(done: "subprocess.CompletedProcess[str]", folder: Path, *words: str) -> None:
    assert done.returncode == 2, done
    (line,) = done.stderr.splitlines()
    for word in words:
        assert word in line
    assert not (folder / EXECUTED).exists()


def test_a_locustfile_that_only_the_run_names_is_not_executed(poolsize_here: Command, tmp_path: Path) -> None:
    of_another(tmp_path, **named_locustfile(tmp_path))
    done = poolsize_here("sweep", "--resume", "a.jsonl")
    assert_refused(done, tmp_path, "the run names the workload evil.py, ", "then add --workload evil.py")


@pytest.mark.parametrize("name", ["evil", "./evil", "../evil.py", "evil.py"])
def test_a_workload_of_poolsize_s_own_is_no_path(poolsize_here: Command, tmp_path: Path, name: str) -> None:
    named = named_locustfile(tmp_path)
    of_another(tmp_path, **named | {"own_workload": None, "plan": replace(RUN.plan, workload=name)})
    assert_refused(poolsize_here("sweep", "--resume", "a.jsonl"), tmp_path, f"add --workload {name}")


def test_a_changed_locustfile_is_not_executed(poolsize_here: Command, tmp_path: Path) -> None:
    of_another(tmp_path, **named_locustfile(tmp_path))
    (tmp_path / "evil.py").write_text(f"{LOCUSTFILE}# changed\n")
    done = poolsize_here("sweep", "--resume", "a.jsonl", "--workload", "evil.py")
    assert_refused(done, tmp_path, "its text has changed")


@pytest.mark.parametrize("way", in_ci(["whole", "changed", "compiled", "another"], "changed", "compiled"))
def test_locust_executes_only_the_text_that_was_checked(tmp_path: Path, way: str) -> None:
    """Whatever happens between the check and Locust: the file changes, or a compiled file of another text is there.

    "another": a file whose name, with a comma, is that of two files for Locust.
    """
    text = LOCUSTFILE.replace(EXECUTED, "unharmed")
    file = tmp_path / ("a.py,evil.py" if way == "another" else "evil.py")
    file.write_text(text)
    if way == "changed":
        file.write_text(LOCUSTFILE)
    if way == "compiled":
        cached = py_compile.compile(str(file))
        file.write_text(LOCUSTFILE)
        other = py_compile.compile(str(file), cfile=str(tmp_path / "other.pyc"))
        assert cached
        assert other
        file.write_text(text)
        stat = file.stat()
        header = Path(cached).read_bytes()[:8] + int(stat.st_mtime).to_bytes(4, "little")
        code = Path(other).read_bytes()[16:]
        Path(cached).write_bytes(header + stat.st_size.to_bytes(4, "little") + code)
    if way == "another":
        (tmp_path / "a.py").write_text(text)
        (tmp_path / "evil.py").write_text(LOCUSTFILE)
    done = subprocess.run(
        [sys.executable, "-P", "-m", "poolsize.locust", "-f", file.name, "--list"], cwd=tmp_path, check=False,
        text=True, env=os.environ | {LOCUSTFILE_SHA256: sha256(text.encode()).hexdigest()}, capture_output=True,
    )  # fmt: skip
    assert not (tmp_path / EXECUTED).exists()
    assert (done.returncode == 0) == (way in {"whole", "compiled"})
    assert "Traceback" not in done.stderr
    if done.returncode:
        assert "evil.py has changed since its text was checked" in done.stderr
    else:
        assert (tmp_path / "unharmed").exists()


def test_an_application_that_only_the_run_names_is_not_started(poolsize_here: Command, tmp_path: Path) -> None:
    locustfile = named_locustfile(tmp_path)
    table = 'locustfile = "evil.py"\nhost = "http://127.0.0.1:9"\nready = "http://127.0.0.1:9"\n'
    text = f'{table}start = "touch {EXECUTED}{{pool_size}}"\n'
    file = tmp_path / "shop.toml"
    file.write_text(text)
    application = MeasuredApplication("shop.toml", sha256(text.encode()).hexdigest(), "http://127.0.0.1:9", True)
    of_another(tmp_path, application=application, private=False, server=None, **locustfile)
    done = poolsize_here("sweep", "--resume", "a.jsonl")
    assert_refused(done, tmp_path, "check that application, then add --application shop.toml")
    for changed in (file, tmp_path / "evil.py"):
        before = changed.read_text()
        changed.write_text(f"{before}# changed\n")
        done = poolsize_here("sweep", "--resume", "a.jsonl", "--application", "shop.toml")
        assert_refused(done, tmp_path, f"{changed.name} has changed since the run began")
        changed.write_text(before)


def test_the_output_of_an_application_follows_no_link(tmp_path: Path) -> None:
    """A link may come with a run, beside it."""
    (tmp_path / "precious").write_text("kept")
    log = tmp_path / "a.jsonl.application.log"
    log.symlink_to(tmp_path / "precious")
    with pytest.raises(BadInput, match="is a link, and the application's output would go where it leads"):
        Guarded(tmp_path, log)
    log.unlink()
    guarded = Guarded(tmp_path, log)
    log.symlink_to(tmp_path / "precious")
    assert guarded.run((["echo", "harm"], {}), 9.0, None) == 0
    guarded.close()
    assert (tmp_path / "precious").read_text() == "kept"


def test_a_recording_that_only_the_run_names_is_not_opened(poolsize_here: Command, tmp_path: Path) -> None:
    """A pipe would be waited for without end. The hash is that of its name, as of a published curve."""
    os.mkfifo(tmp_path / "curve.csv")
    for digest in ("0" * 64, sha256(b"curve.csv").hexdigest()):
        name = f"{digest[:4]}.jsonl"
        of_another(tmp_path, name, recording="curve.csv", private=False, server=None, workload_sha256=digest)
        assert_refused(poolsize_here("sweep", "--resume", name), tmp_path, "add --replay curve.csv")


def test_a_recording_is_compared_before_it_is_read(poolsize_here: Command, tmp_path: Path) -> None:
    (tmp_path / "curve.csv").write_text("no recording")
    of_another(tmp_path, recording="curve.csv", private=False, server=None)
    done = poolsize_here("sweep", "--resume", "a.jsonl", "--replay", "curve.csv")
    assert_refused(done, tmp_path, "the run replays another recording")


HARMFUL: Mapping[str, str] = {
    "general_log_file": "log", "log_error": "log", "slow_query_log_file": "log", "plugin_load": "evil.so",
    "plugin_load_add": "evil.so", "plugin_dir": ".", "init_connect": "DROP DATABASE shop", "log_bin": "log",
    "tmpdir": ".", "innodb_data_home_dir": ".", "ssl_key": "key", "loose_general_log": "ON", "general_log": "ON",
    "socket": "socket", "init_file": "evil.sql", "skip_grant_tables": "ON", "user": "root", "secure_file_priv": "",
    "local_infile": "ON", "bind_address": "*", "sock": "socket", "skip_log_bin": "log", "wsrep_provider": "evil.so",
}  # fmt: skip


@pytest.mark.parametrize("variable", HARMFUL)
def test_a_run_sets_no_variable_that_may_do_harm(poolsize_here: Command, tmp_path: Path, variable: str) -> None:
    """Not even where it is given again; and a report does not print a command that would set it."""
    harmful = {variable: HARMFUL[variable]}
    of_another(tmp_path, server_options=harmful)
    done = poolsize_here("sweep", "--resume", "a.jsonl")
    assert_refused(done, tmp_path, f"the run sets {variable} on its private server, which may do harm: start a new run")
    assert {path.name for path in tmp_path.iterdir()} == {"a.jsonl"}
    assert repeat_command(replace(RUN, setting=replace(RUN.setting, server_options=harmful))) == ""


def test_harmless_variables_of_a_run_are_named_and_given_again(poolsize_here: Command, tmp_path: Path) -> None:
    of_another(tmp_path, server_options={"innodb_io_capacity": "300", "thread_handling": "pool-of-threads"})
    words = "--server-option innodb_io_capacity=300 --server-option thread_handling=pool-of-threads"
    assert_refused(poolsize_here("sweep", "--resume", "a.jsonl"), tmp_path, words)
    one = poolsize_here("sweep", "--resume", "a.jsonl", "--server-option", "innodb_io_capacity=300")
    assert_refused(one, tmp_path, words)
    command = with_flags(resume_command(tmp_path / "a.jsonl"))
    assert command == f"poolsize sweep --resume {tmp_path}/a.jsonl {words}"


@pytest.mark.server
@pytest.mark.parametrize("by", in_ci(DOORS, DOORS[0]))
def test_a_run_with_variables_is_resumed_where_they_are_given_again(tmp_path: Path, by: list[str]) -> None:
    """By both doors: a run of this machine's server, of which a step is missing."""
    begun = ["poolsize", "sweep", "--workload", "scan", "--pool-sizes", "1,2", "--step-time", "1s", "--warm-up", "1s"]
    again = ["--server-option", "innodb_io_capacity=300"]
    swept = run_of(tmp_path, *begun, *again, "--output", "a.jsonl")
    path = tmp_path / "a.jsonl"
    assert path.exists(), swept.stderr
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    refused = run_of(tmp_path, *by, "--resume", "a.jsonl")
    assert refused.returncode == 2
    assert "the private server began with other variables: --server-option innodb_io_capacity=300" in refused.stderr
    resumed = run_of(tmp_path, *by, "--resume", "a.jsonl", *again)
    assert remaining(load_run(path)) is None, resumed.stderr


def run_of(folder: Path, program: str, *words: str) -> "subprocess.CompletedProcess[str]":
    """What became of a program of this environment, without a server of the user's."""
    environment = {name: value for name, value in os.environ.items() if name != "POOLSIZE_URL"}
    return subprocess.run(
        [str(Path(sys.executable).with_name(program)), *words], cwd=folder, env=environment, capture_output=True,
        text=True, check=False, timeout=120,
    )  # fmt: skip


def test_the_other_run_of_a_pair_is_no_better(poolsize_here: Command, tmp_path: Path) -> None:
    first = of_another(tmp_path)
    of_another(tmp_path, other_path(first).name, server_options={"innodb_io_capacity": "300"})
    again = "poolsize sweep --resume a.jsonl --against-option innodb_io_capacity=300"
    assert_refused(poolsize_here("sweep", "--resume", "a.jsonl"), tmp_path, again)


def test_a_schema_that_only_the_run_names_is_not_used(poolsize_here: Command, tmp_path: Path) -> None:
    of_another(tmp_path, schema="shop", private=False, **named_locustfile(tmp_path, LOCUSTFILE.replace(EXECUTED, "ok")))
    words = ("sweep", "--resume", "a.jsonl", "--workload", "evil.py")
    url = "mysql://u:p@127.0.0.1:1/"
    assert_refused(poolsize_here(*words, url=url), tmp_path, "check that schema, then add --schema shop")
    assert_refused(poolsize_here(*words, "--schema", "other", url=url), tmp_path, "the run began in the schema shop")
    assert_refused(poolsize_here(*words, "--schema", "shop", url=url), tmp_path, "no server answers")


NAMES = ["--url=mysql://evil/", "x; rm -rf ~", "$(touch executed)", "`touch executed`", "a 'b' \"c\"", "-f", "a\nb"]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_in_a_run_is_one_word_of_a_printed_command(name: str, tmp_path: Path) -> None:
    """A shell gives the name to the one option that it belongs to, and executes nothing."""
    run = replace(RUN, setting=replace(RUN.setting, own_workload=name))
    path = of_another(tmp_path, f"{name.replace('/', '')}.jsonl", own_workload=name, schema=name)
    for command in (repeat_command(run), with_flags(resume_command(path))):
        shown = subprocess.run(
            ["sh", "-c", f"poolsize() {{ for word in \"$@\"; do printf '%s\\0' \"$word\"; done; }}; {command}"],
            capture_output=True, text=True, check=True, cwd=tmp_path,
        )  # fmt: skip
        words = shown.stdout.split("\0")
        stored = name.replace("\n", "\ufffd") if "--resume" in words else name
        assert f"--workload={stored}" in words or ("--workload", stored) in pairwise(words)
        assert not any(word.startswith("--url") for word in words)
    assert not (tmp_path / EXECUTED).exists()


def test_a_host_in_a_run_is_only_a_host() -> None:
    setting = replace(RUN.setting, private=False, given_host="evil/?ssl_ca=/etc/passwd#")
    assert "--url mysql://USER@HOST/" in repeat_command(replace(RUN, setting=setting))


@pytest.mark.parametrize("name", [*sorted(RESERVED), "loose_socket", "sock", "Socket", "skip_grant", "x y", "--", ""])
def test_no_option_sets_what_the_private_server_s_safety_needs(
    poolsize_here: Command, tmp_path: Path, name: str
) -> None:
    for option in ("--server-option", "--against-option"):
        done = poolsize_here("sweep", option, f"{name}=x", "--pool-sizes", "1")
        assert_refused(done, tmp_path, f"{option} {name}=x: ")
    with pytest.raises(BadInput):
        private_server(None, {name: "x"}, 10).__enter__()


def test_the_settings_of_a_private_server_are_poolsize_s_own(tmp_path: Path) -> None:
    for mariadb in (True, False):
        own = _settings(tmp_path, 1, 10, mariadb=mariadb).keys()
        assert own - {"max_connections", "innodb_flush_log_at_trx_commit"} <= RESERVED
    assert not HARMLESS & RESERVED


def test_the_command_that_is_printed_finishes_the_run(poolsize_here: Command, tmp_path: Path) -> None:
    """Of a replay whose recording and run have names that a shell would take apart."""
    curve, run = tmp_path / "my 'curve'.csv", tmp_path / "my run; $(x).jsonl"
    published = poolsize_here("sweep", "--replay", "cisco", "--output", "b.jsonl")
    assert published.returncode == 0
    curve.write_text(
        "pool_size,second,throughput,p95_ms\n"
        + "".join(f"{size},{second},{min(size, 8) * 100},{size}\n" for size in (1, 2, 4, 8, 16) for second in range(30))
    )
    done = poolsize_here("sweep", "--replay", curve.name, "--output", run.name)
    assert done.returncode == 0, done.stderr
    lines = run.read_text().splitlines(keepends=True)
    assert json.loads(lines[0])["setting"]["recording"] == curve.name
    run.write_text("".join(lines[:3]))
    shown = poolsize_here("analyze", run.name).stderr
    command = shown[shown.index("poolsize sweep") :]
    assert poolsize_here(*shlex.split(command)[1:]).returncode == 0
    assert len(run.read_text().splitlines()) == len(lines)
