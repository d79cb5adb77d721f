"""Standard output and standard error: texts of others are shown and not obeyed, and a stream may be full or closed."""

import io
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from itertools import product
from pathlib import Path

import pytest

from poolsize.experiments.survey.text import survey_progress
from poolsize.experiments.survey.timing import Concurrency, Timing, Work
from poolsize.present.text.progress import ProgressBar
from poolsize.runs.store import load_run
from poolsize.sweep.events import Noted, StepStarted, SweepStarted
from poolsize.terminal import Output, guarded_output, visible
from tests.conftest import EXAMPLES, POOLSIZE, Command, in_ci

RUN = str(EXAMPLES["insert-mysql"])
OBEYED = [chr(code) for code in (*range(32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A))]
HOSTILE = "e\x1b]0;own\x07\x9b31m\u202e[old][/x]:x:$\\frac$"
PRINTING = {
    "formula": ["recommend", "--cores", "4"],
    "formula as JSON": ["recommend", "--cores", "4", "--json"],
    "run": ["analyze", RUN],
    "run as JSON": ["analyze", RUN, "--json"],
    "configuration": ["config", "--for", "hikaricp", "--run", RUN],
    "scenarios": ["scenario"],
    "help": ["--help"],
    "version": ["--version"],
    "nothing": [],
}
UNWRITABLE = {">/dev/full": "No space left on device", ">&-": "it is closed"}


def redirected(words: list[str], redirection: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        ["/bin/sh", "-c", f'exec "$0" "$@" {redirection}', POOLSIZE, *words],
        cwd=folder, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "redirection"),
    in_ci(product(PRINTING, UNWRITABLE), ("formula", ">/dev/full"), ("run as JSON", ">&-"), ("help", ">/dev/full")),
)
def test_an_output_that_cant_be_written_is_one_line(name: str, redirection: str, tmp_path: Path) -> None:
    done = redirected(PRINTING[name], redirection, tmp_path)
    assert done.returncode == 1
    message = f"poolsize: error: standard output can't be written: {UNWRITABLE[redirection]}"
    assert done.stderr.splitlines()[-1] == message
    assert "Traceback" not in done.stderr


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "redirection"),
    in_ci(
        product(["formula", "configuration"], ["2>&-", "2>/dev/full", "<&- 2>&-"]),
        ("formula", "2>/dev/full"),
        ("configuration", "<&- 2>&-"),
    ),
)
def test_without_standard_error_the_answer_is_the_same(name: str, redirection: str, tmp_path: Path) -> None:
    done = redirected(PRINTING[name], redirection, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == redirected(PRINTING[name], "", tmp_path).stdout


@pytest.mark.long
@pytest.mark.parametrize("redirection", in_ci([">&- 2>&-", ">/dev/full 2>/dev/full"], ">&- 2>&-"))
def test_without_both_the_exit_code_is_left(redirection: str, tmp_path: Path) -> None:
    assert redirected(["recommend", "--cores", "4"], redirection, tmp_path).returncode == 1
    assert redirected(["recommend", "--cores", "none"], redirection, tmp_path).returncode == 2


@pytest.mark.long
@pytest.mark.parametrize("name", in_ci(PRINTING, "formula", "run as JSON"))
def test_a_reader_that_is_gone_ends_the_program_silently(name: str, tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as output:
        done = subprocess.run(
            [POOLSIZE, *PRINTING[name]], cwd=tmp_path, stdout=output, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 141
    assert not [line for line in done.stderr.splitlines() if "in doubt" not in line]


@pytest.mark.long
def test_no_file_takes_the_place_of_a_closed_stream(tmp_path: Path) -> None:
    """The run would get descriptor 1, and what a library prints would be in the run."""
    done = redirected(["sweep", "--replay", "cisco", "--output", "a.jsonl"], "<&- >&- 2>&-", tmp_path)
    assert done.returncode == 1
    assert load_run(tmp_path / "a.jsonl").steps


def test_control_characters_are_shown_and_json_stays_json() -> None:
    text = "".join(map(chr, range(0x3000)))
    shown = visible(text)
    assert set(OBEYED) & set(shown) == {"\n", "\t"}
    assert visible("caf\u00e9 \u2013 \u20ac \u4e2d\n\t") == "caf\u00e9 \u2013 \u20ac \u4e2d\n\t"
    for character in (*OBEYED[:9], *OBEYED[11:], "\udcff"):
        assert json.loads(f'"{visible(character)}"') == character


@pytest.mark.costly
@pytest.mark.parametrize(
    "words",
    [["analyze", "{run}", "--json"], ["compare", "{run}", RUN, "--plot", "a.svg"], ["analyze", "{run}x"],
     ["report", "{run}", "--output", "a.html"], ["config", "--check", "{run}"],
     pytest.param(["sweep", "--resume", "{run}"], marks=pytest.mark.long), ["{run}"],
     *(pytest.param(words, marks=pytest.mark.experiment) for words in (
         ["analyze", "{run}"], ["recommend", "--run", "{run}"], ["compare", "{run}", RUN],
         ["compare", "{run}", RUN, "--json"], ["report", "{run}", "--output", "a.md"],
         ["config", "--for", "hikaricp", "--run", "{run}"], ["application", "check", "{run}"], ["fleet", "{run}"],
     ))],
    ids=" ".join,
)  # fmt: skip
def test_the_name_of_a_file_is_shown_and_not_obeyed(words: list[str], tmp_path: Path, poolsize_here: Command) -> None:
    name = f"{HOSTILE.replace('/', '')}\udcff.jsonl"
    shutil.copy(RUN, tmp_path / name)
    done = poolsize_here(*(word.format(run=name) for word in words))
    written = [path for path in tmp_path.iterdir() if path.name.startswith("a.")]
    for text in (done.stdout, done.stderr, *(path.read_text() for path in written)):
        assert set(OBEYED) & set(text) <= {"\n", "\t"}
    if "--json" in words:
        json.loads(done.stdout)


@pytest.mark.costly
@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("a.yml", 'spring:\n  datasource:\n    hikari:\n      maximum-pool-size: "\\e]0;own\\a\\x9b\\u202e"\n'),
        ("a.properties", "spring.datasource.hikari.maximum-pool-size=\\u001b]0;own\\u0007\\u009b\\u202e\n"),
    ],
)
def test_a_value_of_a_file_is_shown_and_not_obeyed(
    file: str, text: str, tmp_path: Path, poolsize_here: Command
) -> None:
    (tmp_path / file).write_text(text)
    for words in (["config", "--check", file], ["config", "--check", file, "--json"]):
        done = poolsize_here(*words)
        assert "\\u001b]0;own\\u0007" in done.stdout + done.stderr
        assert set(OBEYED) & set(done.stdout + done.stderr) <= {"\n"}


def test_a_servers_error_is_shown_and_not_obeyed(poolsize_here: Command) -> None:
    """The server refuses the connection with an error packet."""
    packet = b"\xff\x10\x04#08004" + HOSTILE.encode()

    def refuse(listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                client.sendall(len(packet).to_bytes(3, "little") + b"\0" + packet)
                client.close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=refuse, args=(listener,), daemon=True).start()
        done = poolsize_here("recommend", "--url", f"mysql://u@127.0.0.1:{listener.getsockname()[1]}/")
        listener.shutdown(socket.SHUT_RDWR)
    assert "\\u001b]0;own\\u0007" in done.stderr
    assert set(OBEYED) & set(done.stderr) == {"\n"}


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        """Return True."""
        return True


def test_a_terminal_gets_poolsizes_own_controls_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(sys, "stderr", terminal)
    with guarded_output():
        assert isinstance(sys.stderr, Output)
        with ProgressBar() as bar:
            bar.show(SweepStarted(f"{HOSTILE}.jsonl", 4, 0, 2.0, notes=(HOSTILE,)))
            bar.show(StepStarted(4), HOSTILE)
            bar.show(Noted(HOSTILE))
        with survey_progress() as show:
            show(Timing(HOSTILE, Concurrency.THREADS, Work.SELECT, 2, 1, 1.0, 2, None))
    text = terminal.getvalue()
    assert "\x1b[?25l" in text  # Rich hides the cursor while the bar is drawn
    assert "\x1b]0;" not in text
    assert not {"\x07", "\x9b", "\u202e"} & set(text)
    assert text.count(visible(HOSTILE)) >= 4
