"""A server that lies costs one clear line: no password, no traceback, no memory, no endless wait."""

import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import psutil
import pytest

from tests.conftest import POOLSIZE, Command, in_ci
from tests.rogue_server import PASSWORD, USER, Phase, Rogue, rogue_server

pytestmark = pytest.mark.long
MOST_BYTES = 300 * 2**20
NOT_MYSQL = "answers, but not as MySQL or MariaDB do"
MALFORMED = "the server failed (malformed_answer)"
LACKS = "does not show the variable max_connections"
LIES = [
    (Phase.GARBAGE, 2, NOT_MYSQL),
    (Phase.SHORT_GREETING, 2, NOT_MYSQL),
    (Phase.EMPTY_GREETING, 2, NOT_MYSQL),
    (Phase.ENDLESS_GREETING, 2, NOT_MYSQL),
    (Phase.REFUSAL, 2, "go away"),
    (Phase.ENDLESS_AUTHENTICATION, 2, NOT_MYSQL),
    (Phase.EMPTY_AUTHENTICATION, 2, NOT_MYSQL),
    (
        Phase.CLEAR_PASSWORD,
        2,
        "in clear (mysql_clear_password): the connection must have TLS with a verified certificate",
    ),
    (Phase.CLEAR_PASSWORD_OVER_TLS, 2, "(mysql_clear_password): the connection must have TLS with a verified"),
    (Phase.DIALOG, 2, "(dialog): the connection must have TLS with a verified certificate"),
    (Phase.OLD_PASSWORD, 2, "(mysql_old_password)"),
    (Phase.CACHED_KEY, 2, "under its own RSA key, which proves nothing: the connection must have TLS"),
    (Phase.SWITCHED_KEY, 2, "under its own RSA key, which proves nothing: the connection must have TLS"),
    (Phase.SHA256_KEY, 2, "under its own RSA key, which proves nothing: the connection must have TLS"),
    (Phase.ERROR, 1, "the server failed (mysql_1105_unknown_error)"),
    (Phase.LONG_ERROR, 1, "the server failed (mysql_1105_unknown_error)"),
    (Phase.SHORT_ERROR, 1, MALFORMED),
    (Phase.EMPTY_ANSWER, 1, MALFORMED),
    (Phase.LOAD_LOCAL, 1, MALFORMED),
    (Phase.BAD_COLUMN, 1, MALFORMED),
    (Phase.BAD_TEXT, 1, MALFORMED),
    (Phase.BAD_NUMBER, 1, MALFORMED),
    (Phase.TRUNCATED_ROW, 1, MALFORMED),
    (Phase.NO_VARIABLES, 2, LACKS),
    (Phase.ODD_VARIABLES, 2, LACKS),
    (Phase.OTHER_COLUMNS, 2, LACKS),
    (Phase.ENDLESS_ROWS, 1, "the server sent more than 100,000 rows or packets at once"),
    (Phase.ENDLESS_DECIMALS, 1, "the server sent more than 2,097,152 bytes at once"),
    (Phase.ENDLESS_COLUMNS, 1, "the server sent more than 2,097,152 bytes at once"),
    (Phase.ENDLESS_RESULTS, 1, "the server sent more than 100,000 rows or packets at once"),
    (Phase.ENDLESS_PACKET, 1, "the server sent more than 2,097,152 bytes at once"),
]
FREEZES = [
    (Phase.SILENCE, 2, "no complete answer within 20 s"),
    (Phase.TRICKLED_GREETING, 2, "no complete answer within 20 s"),
    (Phase.TLS_SILENCE, 2, "no complete answer within 20 s"),
    (Phase.TLS_TRICKLE, 2, "no complete answer within 20 s"),
    (Phase.AUTHENTICATION_SILENCE, 2, "no complete answer within 20 s"),
    (Phase.LOGIN_SILENCE, 2, "no complete answer within 20 s"),
    (Phase.QUERY_SILENCE, 1, "no complete answer within 60 s"),
    (Phase.HALF_RESULT, 1, "no complete answer within 60 s"),
    (Phase.TRICKLED_RESULT, 1, "no complete answer within 60 s"),
]
FREEZE_SECONDS = 100
"""The longest deadline, and time to start on a busy machine."""
WORKER = f"""
from gevent import monkey; monkey.patch_all()
import sys
import gevent
import pymysql
from poolsize.load.worker_connection import WorkerConnection
def refusal(port):
    try:
        WorkerConnection(host="127.0.0.1", port=port, user={USER!r}, password={PASSWORD!r})
    except pymysql.OperationalError as error:
        return error
connecting = [gevent.spawn(refusal, int(port)) for port in sys.argv[1:]]
gevent.joinall(connecting, raise_error=True)
for each in connecting:
    print(repr(each.value))
"""
IN_A_SWEEP = {
    Phase.GARBAGE, Phase.CLEAR_PASSWORD, Phase.CLEAR_PASSWORD_OVER_TLS, Phase.CACHED_KEY, Phase.SHA256_KEY,
    Phase.LOAD_LOCAL, Phase.ENDLESS_ROWS, Phase.ENDLESS_DECIMALS, Phase.ENDLESS_PACKET, Phase.NO_VARIABLES, Phase.ERROR,
}  # fmt: skip


def lies(*phases: Phase) -> list[tuple[Phase, int, str]]:
    return [lie for lie in LIES if lie[0] in phases]


def asked(tmp_path: Path, *words: str) -> tuple[int, str, int]:
    """A command's exit code, its standard error, and the most memory of a process of it, in bytes."""
    errors, most_bytes = tmp_path / "errors", 0
    with errors.open("wb") as file:
        process = subprocess.Popen([POOLSIZE, *words], stdout=subprocess.DEVNULL, stderr=file, cwd=tmp_path)
        while process.poll() is None:
            most_bytes = max([most_bytes, *map(resident_bytes, family_of(process.pid))])
            time.sleep(0.02)
    return process.returncode, errors.read_text(errors="replace"), most_bytes


def family_of(pid: int) -> list[psutil.Process]:
    """A process and those that it has started; empty once it has ended."""
    with suppress(psutil.Error):
        process = psutil.Process(pid)
        return [process, *process.children(recursive=True)]
    return []


def resident_bytes(process: psutil.Process) -> int:
    """The memory of a process now. The system's figure of its peak includes that of the test, which forked it."""
    with suppress(psutil.Error):
        return int(process.memory_info().rss)
    return 0


def assert_one_line(errors: str, text: str) -> None:
    assert text in errors
    assert errors.startswith("poolsize: error: ")
    assert errors.count("\n") == 1
    assert len(errors) < 2000


@pytest.mark.parametrize(("phase", "code", "text"), [lie for lie in LIES if not lie[0].startswith("endless")])
def test_a_lie_costs_one_line(poolsize_here: Command, phase: Phase, code: int, text: str) -> None:
    with rogue_server(phase) as port:
        done = poolsize_here("recommend", "--cores", "2", "--url", port.url())
        assert_one_line(done.stderr, text)
        assert done.returncode == code
        assert not port.has_password()
        assert b"root:" not in port.received


@pytest.mark.parametrize(("phase", "code", "text"), in_ci(LIES, *lies(Phase.ENDLESS_GREETING, Phase.ENDLESS_ROWS)))
def test_a_lie_costs_one_line_and_little_memory(tmp_path: Path, phase: Phase, code: int, text: str) -> None:
    with rogue_server(phase) as port:
        ended, errors, most_bytes = asked(tmp_path, "recommend", "--cores", "2", "--url", port.url())
        assert_one_line(errors, text)
        assert ended == code
        assert most_bytes < MOST_BYTES
        assert not port.has_password()


@pytest.mark.parametrize(
    ("phase", "code", "text"),
    in_ci(lies(*IN_A_SWEEP), *lies(Phase.CLEAR_PASSWORD_OVER_TLS)),
)
def test_a_lie_ends_a_sweep_with_one_line(tmp_path: Path, phase: Phase, code: int, text: str) -> None:
    """The process that measures meets the server, with gevent's sockets."""
    with rogue_server(phase) as port:
        ended, errors, most_bytes = asked(tmp_path, "sweep", "--workload", "insert", "--url", port.url())
        assert_one_line(errors, text)
        assert ended == code
        assert most_bytes < MOST_BYTES
        assert not port.has_password()


@pytest.mark.parametrize("phase", [Phase.CLEAR_PASSWORD, Phase.CACHED_KEY, Phase.SHA256_KEY, Phase.DIALOG])
@pytest.mark.parametrize(("host", "query"), [("127.1", "?ssl-mode=off"), ("127.0.0.1", "?ssl-mode=off")])
def test_a_server_elsewhere_gets_no_password_in_clear(
    poolsize_here: Command, phase: Phase, host: str, query: str
) -> None:
    with rogue_server(phase) as port:
        done = poolsize_here("fleet", "--size", "4", "--instances", "2", "--url", port.url(host, query))
        assert_one_line(done.stderr, "the server asks for the password")
        assert done.returncode == 2
        assert not port.has_password()


OF_THE_LOAD = {
    Phase.CLEAR_PASSWORD: "(mysql_clear_password)",
    Phase.CLEAR_PASSWORD_OVER_TLS: "(mysql_clear_password)",
    Phase.DIALOG: "(dialog)",
    Phase.CACHED_KEY: "under its own RSA key",
    Phase.SWITCHED_KEY: "under its own RSA key",
    Phase.SHA256_KEY: "under its own RSA key",
    Phase.EMPTY_GREETING: "a packet does not have the protocol's form",
    Phase.ENDLESS_GREETING: "(2027, 'the server sent more than 1,048,576 bytes before the login')",
    Phase.SILENCE: "no connection within 20 s",
    Phase.TLS_TRICKLE: "no connection within 20 s",
    Phase.AUTHENTICATION_SILENCE: "no connection within 20 s",
}


def test_a_connection_of_the_load_is_as_wary() -> None:
    """All in one process and at the same time, because waiting needs no core."""
    with ExitStack() as stack:
        ports = [stack.enter_context(rogue_server(phase)) for phase in OF_THE_LOAD]
        words = [sys.executable, "-c", WORKER, *(str(int(port)) for port in ports)]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stderr
        for (phase, text), port, answer in zip(OF_THE_LOAD.items(), ports, done.stdout.splitlines(), strict=True):
            assert text in answer, phase
            assert not port.has_password(), phase


def test_a_variable_that_is_missing_is_not_made_up(poolsize_here: Command) -> None:
    with rogue_server(Phase.FEW_VARIABLES) as port:
        done = poolsize_here("recommend", "--cores", "2", "--url", port.url())
    facts = " ".join(done.stdout.partition("The server: ")[2].split())
    assert "The server admits 151 connections (max_connections). It does not say how many are open." in facts
    assert "The server shows no settings of InnoDB." in facts
    assert "A commit waits" not in facts
    assert "None" not in facts


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(("recommend", "--cores", "2"), id="recommend"),
        pytest.param(("config", "--for", "hikaricp", "--size", "4"), id="config"),
        pytest.param(("fleet", "--size", "4", "--instances", "2"), id="fleet"),
    ],
)
@pytest.mark.parametrize("phase", [Phase.FEW_VARIABLES, Phase.CLOSE_SILENCE, Phase.CLOSE_FLOOD])
def test_variables_may_be_missing_and_the_close_unanswered(
    poolsize_here: Command, phase: Phase, words: tuple[str, ...]
) -> None:
    with rogue_server(phase) as port:
        done = poolsize_here(*words, "--url", port.url())
        assert done.returncode == 0, done.stderr
        assert not port.has_password()


def test_a_sweep_names_what_it_can_t_do_without(poolsize: Command) -> None:
    with rogue_server(Phase.FEW_VARIABLES) as port:
        done = poolsize("sweep", "--workload", "insert", "--url", port.url())
        assert_one_line(done.stderr, "the server does not count its statements")
        assert done.returncode == 2


@pytest.mark.slow
@pytest.mark.experiment
def test_a_server_that_freezes_is_given_up(tmp_path: Path) -> None:
    """Also one that sends a byte now and then; all at the same time, because waiting needs no core."""
    with ExitStack() as stack:
        started: list[tuple[Rogue, subprocess.Popen[str]]] = []
        for phase, _, _ in FREEZES:
            port = stack.enter_context(rogue_server(phase))
            command = [POOLSIZE, "recommend", "--cores", "2", "--url", port.url()]
            process = stack.enter_context(
                subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
            )
            stack.callback(process.kill)
            started.append((port, process))
        deadline = time.monotonic() + FREEZE_SECONDS
        for (phase, code, text), (port, process) in zip(FREEZES, started, strict=True):
            _, errors = process.communicate(timeout=max(1, deadline - time.monotonic()))
            assert_one_line(errors, text)
            assert process.returncode == code, phase
            assert not port.has_password()
