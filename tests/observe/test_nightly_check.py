"""`observe --check` in a nightly job: the exit code by which the job's line mails or does not, and what it says."""

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.conftest import EXAMPLES, POOLSIZE, Command, in_ci

PAGE = """
process_uptime_seconds 1000
hikaricp_active_connections{{pool="shop"}} 1
hikaricp_max_connections{{pool="shop"}} {size}
hikaricp_connection_usage_millis_sum{{pool="shop"}} {usage_ms}
hikaricp_connection_usage_millis_count{{pool="shop"}} {uses}
"""
CASES = in_ci(
    [
        (0, "calm", "20"),
        (0, "calm", "before.jsonl"),
        (0, "calm", "run.jsonl"),
        (0, "calm", "current"),
        (1, "http://127.0.0.1:1/metrics", "20"),
        (1, "http://127.0.0.1:1/metrics", "before.jsonl"),
        (1, "calm", "incomplete.jsonl"),
        (1, "full", "30"),
        (1, "idle", "20"),
        (1, "idle", "current"),
        (1, "unknown", "20"),
        (1, "partly", "20"),
        (2, "calm", "0"),
        (2, "calm", "absent.jsonl"),
        (2, "calm", "calm"),
        (2, "absent", "20"),
        (3, "busy", "2"),
        (3, "busy", "before.jsonl"),
        (3, "busy", "run.jsonl"),
    ],
    (0, "calm", "before.jsonl"),
    (0, "calm", "current"),
    (1, "http://127.0.0.1:1/metrics", "20"),
    (1, "full", "30"),
    (1, "idle", "20"),
    (1, "partly", "20"),
    (2, "calm", "absent.jsonl"),
    (3, "busy", "run.jsonl"),
)
"""Exit code, page, and what it is compared with."""
NO_ANSWERS = {
    "full": "HikariCP: no answer. Demand was cut off: the need is at least ",
    "idle": "HikariCP: no answer. No connection was in use in ",
    "unknown": "Nothing says how many connections of HikariCP are in use.",
    "partly": "Nothing says how many connections of other are in use.",
}
"""Page that does not show whether its pool fits -> the beginning of what is printed."""


@pytest.fixture
def night(poolsize_here: Command, tmp_path: Path) -> Path:
    """A folder with the pages of six pools, an observation of the calm one, and two runs."""
    (tmp_path / "calm").write_text(PAGE.format(size=4, usage_ms=50_000, uses=5_000))
    (tmp_path / "full").write_text("hikaricp_active_connections 20\nhikaricp_pending_threads 40\n"
                                   "hikaricp_max_connections 20\n")  # fmt: skip
    (tmp_path / "idle").write_text("hikaricp_active_connections 0\nhikaricp_max_connections 20\n")
    (tmp_path / "unknown").write_text("hikaricp_max_connections 20\n")
    (tmp_path / "partly").write_text(f'{(tmp_path / "calm").read_text()}hikaricp_max_connections{{pool="other"}} 20\n')
    (tmp_path / "busy").write_text(PAGE.format(size=90, usage_ms=40_000_000, uses=100_000))
    run = EXAMPLES["oltp_read_write-mysql"].read_bytes()
    (tmp_path / "run.jsonl").write_bytes(run)
    (tmp_path / "incomplete.jsonl").write_bytes(b"".join(run.splitlines(keepends=True)[:2]))
    assert poolsize_here("observe", "--metrics", "calm", "--output", "before.jsonl").returncode == 0
    return tmp_path


@pytest.mark.costly
@pytest.mark.parametrize(("code", "page", "reference"), CASES)
def test_a_crontab_line_mails_by_the_exit_code(night: Path, code: int, page: str, reference: str) -> None:
    program = shlex.quote(POOLSIZE)
    line = f"{program} observe --metrics {page} --check {reference} >/dev/null 2>&1 || echo mails $? >mail"
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(night)}  # what cron gives
    environment |= {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}
    subprocess.run(["/bin/sh", "-c", line], cwd=night, env=environment, check=True, timeout=120)
    mail = night / "mail"
    assert (mail.read_text() if mail.exists() else "") == (f"mails {code}\n" if code else "")


@pytest.mark.costly
@pytest.mark.parametrize(("code", "page", "reference"), [getattr(case, "values", case) for case in CASES])
@pytest.mark.usefixtures("night")
def test_each_message_is_a_line(poolsize_here: Command, code: int, page: str, reference: str) -> None:
    done = poolsize_here("observe", "--metrics", page, "--check", reference)
    assert done.returncode == code, done.stderr
    if page in NO_ANSWERS:
        assert done.stdout.startswith(NO_ANSWERS[page])
        assert poolsize_here("observe", "--metrics", page).returncode == (0 if page in {"full", "partly"} else 1)
    elif code in {1, 2}:
        assert done.stdout == ""
        assert [line for line in done.stderr.splitlines() if line.startswith("poolsize: error: ")]
        assert all(line.startswith("poolsize: ") for line in done.stderr.splitlines())
    else:
        lines = done.stdout.splitlines()
        name = "today's pool sizes" if reference == "current" else reference
        assert code or re.fullmatch(
            rf"All pools still fit {name}\. The highest need is (at least )?\d+ \(.+\)\. The server's .+", lines[0]
        )
        assert all(line.endswith(".") for line in lines)
    assert "Traceback" not in done.stderr


@pytest.mark.costly
@pytest.mark.usefixtures("night")
def test_a_run_without_an_answer_for_the_observed_usage_time_is_named(poolsize_here: Command, tmp_path: Path) -> None:
    """An imported run shows no time of its clients, and nobody typed the usage time."""
    curve = "threads,tps\n" + "".join(f"{size},{40 * min(size, 8)}\n" for size in (1, 2, 4, 8, 16, 32))
    (tmp_path / "curve.csv").write_text(curve)
    assert poolsize_here("import", "curve.csv", "--output", "imported.jsonl").returncode == 0
    for command in (
        ("observe", "--metrics", "calm", "--check", "imported.jsonl"),
        ("recommend", "--observation", "before.jsonl", "--run", "imported.jsonl"),
    ):
        done = poolsize_here(*command)
        assert (done.returncode, done.stdout) == (1, "")
        assert re.search(
            r"imported.jsonl has no answer for a usage time of [\d.]+ ms: a replay does not know", done.stderr
        )
        assert done.stderr.endswith("; name another run\n")
