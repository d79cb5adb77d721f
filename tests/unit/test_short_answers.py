"""Short answers: at most 12 lines, which say the size of the JSON, and lead to the evidence.

The commands that poolsize prints can be pasted into a shell, whatever a file is called.
"""

import ast
import json
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from poolsize import commands
from poolsize.recordings.published import published_curves
from poolsize.terminal import pasteable
from tests.conftest import EXAMPLES, ROOT, Command, in_ci

MOST_LINES = 12
TRAFFIC = "recommend --usage-time 15ms --instances 6 --processes 4"
COMMANDS = (
    "recommend --cores 8",
    "recommend --cores 4 --app-threads 3 --connections-per-thread 9 --ssd",
    "recommend --instance-class db.m5.2xlarge",
    "fleet --instance-class db.r6g.2xlarge --instances 3 --processes 2 --app-threads 20",
    f"{TRAFFIC} --rate 400/s --instance-class db.r6g.2xlarge",
    f"{TRAFFIC} --rate 400/s --cores 8 --max-connections 1000",
    f"{TRAFFIC} --rate 400/s --current 40",
    "recommend --rate 20000/s --usage-time 10ms",
    "recommend --rate 300/s --usage-time 8ms --usage-p99 112ms --max-connections 151",
    "recommend --rate 100/s --usage-time 5s --instances 10 --max-connections 400",
    "recommend --rate 400/s --usage-time 15ms --app-threads 2",
    "recommend --run {scan} --max-p95 760ms",
    "recommend --run {search} --max-p95 760ms --instances 2",
    f"{TRAFFIC} --rate 40000/s --cores 8 --burst 3x",
    f"{TRAFFIC} --rate 4000/s --cores 8 --max-connections 60",
    "recommend --run {scan} --rate 40/s --instances 3 --current 10",
    "recommend --run {scan} --rate 74/s --usage-time 24ms",
    "recommend --run {scan} --usage-time 30ms --current 10",
    "recommend --run {scan} --max-p95 300ms",
    "recommend --run {scan} --max-p95 1s --current 16",
    "recommend --run {scan} --instances 3 --processes 2",
    "fleet --run {scan} --instances 3 --processes 2 --max-connections 100",
    "fleet --run {scan} --usage-time 30ms --instances 3 --max-connections 100",
    "fleet --cores 16 --instances 3 --processes 2 --app-threads 20",
    "fleet --size 40 --service shop:6:4:400/s:15ms --service mail:2:2:40/s:8ms",
)


def printed(poolsize: Command, command: str) -> str:
    """What a command prints, which does its work."""
    runs = {"scan": EXAMPLES["scan-mariadb"], "search": EXAMPLES["search-mariadb"]}
    done = poolsize(*(word.format_map(runs) for word in command.split()))
    has_no_answer = re.search(
        r"too small for this traffic|The queue grows without end\.|wait for a thread without end",
        " ".join(done.stdout.split()),
    )
    assert done.returncode == (1 if has_no_answer else 0), done.stderr
    return done.stdout


OF_EXAMPLES = [f"recommend --run {path}" for path in EXAMPLES.values()]
OF_A_RUN = [*(command for command in COMMANDS if "--run" in command), *OF_EXAMPLES]
OF_A_RUN_IN_CI = (
    "recommend --run {search} --max-p95 760ms --instances 2",
    "recommend --run {scan} --usage-time 30ms --current 10",
    "fleet --run {scan} --instances 3 --processes 2 --max-connections 100",
    "fleet --run {scan} --usage-time 30ms --instances 3 --max-connections 100",
)
OTHERS = [command for command in COMMANDS if "--run" not in command]


@pytest.mark.costly
@pytest.mark.parametrize("command", in_ci([*OTHERS, *OF_A_RUN], *OTHERS, *OF_EXAMPLES, *OF_A_RUN_IN_CI))
def test_an_answer_is_short_and_says_the_size_of_the_json(poolsize_here: Command, command: str) -> None:
    text, values = printed(poolsize_here, command), json.loads(printed(poolsize_here, f"{command} --json"))
    assert len(text.splitlines()) <= MOST_LINES, text
    assert text.splitlines()[-1].endswith("add --why for reasons, tables and all cautions")
    pools = (values.get("fleet") or values).get("pools") or [values]
    sizes = [pool["pool_size"] for pool in pools]
    named = re.findall(
        r"^(?:Use|Start with|If the database were fast enough:|The most that .*:) ([\d,]+) connection",
        text,
        re.MULTILINE,
    )
    assert named == ([f"{size:,}" for size in sizes] if len(sizes) == 1 else [])


@pytest.mark.costly
@pytest.mark.parametrize("command", in_ci([*OTHERS, *OF_A_RUN], *OTHERS, *OF_A_RUN_IN_CI))
def test_the_next_commands_configure_the_pool_size_of_the_answer(poolsize_here: Command, command: str) -> None:
    answer = json.loads(printed(poolsize_here, f"{command} --json"))
    for line in printed(poolsize_here, command).splitlines():
        if "poolsize config --for STACK -" in line:
            words = shlex.split(line[line.index("config") :].replace("STACK", "hikaricp"), comments=True)
            configured = json.loads(poolsize_here(*words, "--json").stdout)
            of_process = answer.get("fleet") or answer
            first, *others = of_process.get("pools") or [of_process]
            assert configured["pool_size"] == first["pool_size"]
            assert ("# the first service; other numbers for each other service" in line) == bool(others)


@pytest.mark.costly
@pytest.mark.parametrize("command", OF_A_RUN_IN_CI[1:])
def test_the_first_next_command_shows_what_the_traffic_needs(poolsize_here: Command, command: str) -> None:
    """With the options of the answer: its run, usage time, instances and limit."""
    (line,) = [line for line in printed(poolsize_here, command).splitlines() if line.startswith("  Next")]
    words = line.split("poolsize ")[1].replace("RATE", "40/s").replace("TIME", "24ms")
    answer = json.loads(poolsize_here(*words.replace(" I ", " 3 ").replace(" P", " 2").split(), "--json").stdout)
    assert (answer["basis"], answer["supply"]["basis"], answer["traffic"]["instances"]) == ("traffic", "measured", 3)
    assert answer["traffic"]["usage_ms"] == (30 if "--usage-time" in command else 24)
    assert (answer["limit"] is None) == ("--max-connections" not in command)


@pytest.mark.costly
@pytest.mark.parametrize(
    "command",
    [
        "fleet --cores 8 --service shop:6-9:4:3 --service mail:2:2:1 --max-connections 500 --surge 50%",
        "fleet --service shop:6-9:4:400/s:15ms --service mail:2:2:40/s:8ms --max-connections 500",
    ],
)
def test_the_next_commands_of_several_services_work(poolsize_here: Command, command: str) -> None:
    text = printed(poolsize_here, command).replace("STACK", "go").replace("RATE", "40/s").replace("USAGE_TIME", "8ms")
    typed = re.findall(r"^ {2}(?:Next|    ) +poolsize (.+)", text, re.MULTILINE)
    for line in typed:
        words = shlex.split(line, comments=True)
        done = poolsize_here(*words)
        assert done.returncode == 0, done.stderr
        assert "my.cnf" not in words or "max_connections = 500" in done.stdout
        assert words[0] == "config" or words[-4:] == ["--surge", "50%", "--max-connections", "500"]
    assert len(typed) == (4 if "--cores" in command else 2)


@pytest.mark.costly
@pytest.mark.parametrize("command", in_ci([*OTHERS, *OF_A_RUN], *OTHERS[:4], *OF_A_RUN_IN_CI))
def test_the_evidence_contains_the_first_line_of_the_answer(poolsize_here: Command, command: str) -> None:
    sized = next(
        line
        for line in printed(poolsize_here, command).splitlines()
        if line.startswith(("Use ", "Start ", "Pool sizes", "If the database were", "The most that"))
    )
    assert sized in printed(poolsize_here, f"{command} --why")


@pytest.mark.long
@pytest.mark.parametrize("curve", in_ci(published_curves(), "cisco", "mariadb_oltp_ro"))
def test_the_answer_of_a_replay_is_short(poolsize_here: Command, curve: str, tmp_path: Path) -> None:
    """Whatever its verdict is."""
    for seed in ("1", "2", "3"):
        options = ("--cores", "8", "--seed", seed, "--output", str(tmp_path / f"{seed}.jsonl"))
        done = poolsize_here("sweep", "--replay", curve, *options)
        assert done.returncode in {0, 1}, done.stderr
        assert len(done.stdout.splitlines()) <= MOST_LINES + 1, done.stdout  # with where the run is stored


BEGINS_COMMAND = re.compile(rf"(?:poolsize (?:{'|'.join(commands.COMMANDS)})|locust -f|-m poolsize\.locust)\b[^`:;]*$")
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
