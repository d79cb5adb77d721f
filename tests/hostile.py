"""Files with values that nobody wrote or measured, and what becomes of them.

    python -m tests.hostile corpus [N [KIND...]]    try the written files of these kinds, and N of the runs with one
                                                    changed field (by default all)
    python -m tests.hostile fuzz [SECONDS]          try random changes of every kind of file for so long (one hour)

It prints each fault, and at the end the number of files and of faults; with a fault, the exit code is 1.
Each file is given to a command in a process of its own. A file is taken or refused: with exit code 0 to 3, in one line
on standard error, without a traceback, a control character or a secret, within 5 s of CPU time and 300 MB, children
included.
"""

import json
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from poolsize.commands import COMMANDS, main, module_of
from tests.conftest import ROOT
from tests.hostile_files import (
    EXAMPLES,
    KINDS,
    ONE_E400,
    SECRET,
    JsonPath,
    changed,
    commands_for,
    hostile_files,
    run_lines,
    valid_files,
    written,
)

MOST_CPU_SECONDS, MOST_BYTES = 5.0, 300 * 2**20
KILLED_AFTER_SECONDS, WAITED_SECONDS = 20, 120
MOST_OUTPUT_BYTES = 2**20
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""What no command prints; a terminal would obey some of it."""
VALUES: tuple[Any, ...] = (
    float("nan"), float("inf"), 1e300, ONE_E400, 10**30, 10**9, -4, 0, 0.5, "", "x", "\x1b[31m<script>", None, True, [],
    [[]], {}, {"x": -1},
)  # fmt: skip
"""What may stand in a field, of whatever type."""
PIECES = (
    b"9", b"-", b".", b"e", b"\0", b"\xff", b",", b"\n", b'"', b"'", b"[", b"{", b"(", b"]", b"}", b")", b":", b"=",
    b"*a ", b"&a ", b"<<: ", b"\\", b"\t", b" ", b"#", b"${", b"`", b"/*", b"\\u", b"\x1b[31m", b"'''", b"|\n",
    b"---\n", b"\r", b"@", b"%", b"0x", b"1_0",
)  # fmt: skip
"""What a changed file may have more of."""
RUN_COMMANDS = ("analyze", "recommend --run", "report --output page.html", "predict --cores 8")


@dataclass(frozen=True)
class Outcome:
    """What became of a command. code: exit code, negative for a signal. output, errors: what it printed."""

    code: int
    output: str
    errors: str
    cpu_seconds: float
    peak_bytes: int

    @property
    def fault(self) -> str:
        """What is wrong with it; empty where nothing is."""
        if self.code not in {0, 1, 2, 3} or "Traceback" in self.errors:
            return f"exit code {self.code}: {self.errors[-500:]}"
        if self.code and self.errors.count("poolsize: error:") != (1 if self.errors else 0):
            return f"not one line: {self.errors}"
        if (match := CONTROL.search(self.output + self.errors)) or SECRET in self.output + self.errors:
            return f"it prints {match[0] if match else SECRET!r}: {(self.errors or self.output)[-500:]!r}"
        if len(self.output) + len(self.errors) > MOST_OUTPUT_BYTES:
            return f"{len(self.output) + len(self.errors):,} characters of output"
        if self.cpu_seconds > MOST_CPU_SECONDS or self.peak_bytes > MOST_BYTES:
            return f"{self.cpu_seconds:.1f} s of CPU time, {self.peak_bytes / 2**20:.0f} MB"
        return ""


def outcome(words: Sequence[str], folder: Path) -> Outcome:
    """Return what becomes of a command, which runs in a copy of this process, in a folder."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        child = os.fork()
        if child == 0:
            _run(words, folder, output.fileno(), errors.fileno())
        _, status, used = os.wait4(child, 0)
        printed, wrong = (_text(file) for file in (output, errors))
    seconds = used.ru_utime + used.ru_stime
    return Outcome(os.waitstatus_to_exitcode(status), printed, wrong, seconds, used.ru_maxrss * 1024)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


def _run(words: Sequence[str], folder: Path, output: int, errors: int) -> None:
    """Run a command, and end this process. output, errors: descriptors for what it prints."""
    code = 99
    try:
        os.chdir(folder)
        resource.setrlimit(resource.RLIMIT_CPU, (KILLED_AFTER_SECONDS, KILLED_AFTER_SECONDS))
        signal.alarm(WAITED_SECONDS)
        sys.argv = ["poolsize", *words]
        nothing = os.open(os.devnull, os.O_RDWR)
        for standard in range(3):  # of Locust, if the command starts it
            os.dup2(nothing, standard)
        with (
            os.fdopen(output, "w", encoding="utf-8") as shown,
            os.fdopen(errors, "w", encoding="utf-8", errors="backslashreplace") as file,
            redirect_stderr(file),
            redirect_stdout(shown),
        ):
            try:
                main()
                code = 0
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else 1
            except BaseException as error:
                file.write(f"Traceback: {type(error).__name__}: {error}")
    finally:
        os._exit(code)


def loaded() -> None:
    """Import the commands, so that the copies need not."""
    for name in COMMANDS:
        import_module(module_of(name))
    outcome(["report", str(EXAMPLES / "scan-mariadb.jsonl"), "--output", os.devnull], ROOT)


def leaves(value: Any, at: JsonPath = ()) -> Iterator[JsonPath]:
    """Yield the way to each value in a value of JSON, containers included; of a list, the first and the last item."""
    yield at
    if isinstance(value, dict):
        for name, item in value.items():
            yield from leaves(item, (*at, name))
    elif isinstance(value, list) and value:
        for index in dict.fromkeys((0, len(value) - 1)):
            yield from leaves(value[index], (*at, index))


def run_changes() -> list[tuple[int, JsonPath, Any]]:
    """Return each change of one field of a run: the line's index, the way to the field, and its new value."""
    records = run_lines()
    return [
        (line, at, value) for line in (0, 1, 2) for at in leaves(records[line]) for value in VALUES
    ]  # fmt: skip


def corpus(number: int | None, kinds: Sequence[str]) -> Iterator[tuple[list[str], str, Outcome]]:
    """Try the written files and runs with one changed field, and yield command, change and outcome of each.

    number: of the changed runs, which are chosen at random, but always the same; None for all. kinds: of written files.
    """
    changes = run_changes()
    chosen = changes if number is None else random.Random(1).sample(changes, number)
    records = run_lines()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # In a process of its own: what is large here would be large in every copy of this one.
        writer = subprocess.Popen(
            [sys.executable, "-m", "tests.hostile", "write", name, *kinds],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert writer.stdin
        assert writer.stdout
        with writer:
            for line in writer.stdout:
                command: list[str] = json.loads(line)
                yield command, "", outcome(command, folder)
                writer.stdin.write(b"\n")
                writer.stdin.flush()
        assert writer.returncode == 0
        for index, (place, at, value) in enumerate(chosen):
            copy = [*records[:place], changed(records[place], at, value), *records[place + 1 :]]
            written(copy, folder / "run.jsonl")
            words = [*RUN_COMMANDS[index % len(RUN_COMMANDS)].split(), "run.jsonl"]
            yield words, f"line {place + 1} {'.'.join(map(str, at))} = {value!r}", outcome(words, folder)


def fuzzed(seconds: float) -> Iterator[tuple[list[str], str, Outcome]]:
    """Try random changes, and yield command, changes and outcome of each file."""
    seed = int(time.time())
    print(f"seed {seed}")
    chance, records = random.Random(seed), run_lines()
    deadline = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        while time.monotonic() < deadline:
            words, what = _random_file(chance, records, folder)
            yield words, what, outcome(words, folder)


def _random_file(chance: random.Random, records: Sequence[Any], folder: Path) -> tuple[list[str], str]:
    """Write a file with a few random changes, and return a command for it, and the changes."""
    if chance.random() < 0.3:
        return _random_bytes(chance, folder)
    copy, changes = list(records), []
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        line = chance.randrange(len(copy))
        at = chance.choice(list(leaves(copy[line])))
        value = chance.choice((*VALUES, chance.uniform(-1, 1), 10 ** chance.randrange(20), chance.randrange(300)))
        copy[line] = changed(copy[line], at, value)
        changes.append(f"line {line + 1} {'.'.join(map(str, at))} = {value!r}")
    written(copy, folder / "run.jsonl")
    return [*chance.choice(RUN_COMMANDS).split(), "run.jsonl"], "; ".join(changes)


def _random_bytes(chance: random.Random, folder: Path) -> tuple[list[str], str]:
    """Write a valid file of any kind with changed bytes, and return a command for it, and the changes."""
    seeds = valid_files()
    name = chance.choice(list(seeds))
    content = bytearray(seeds[name])
    changes = []
    for _ in range(chance.choice((1, 2, 5))):
        at, what = chance.randrange(len(content) + 1), chance.choice(PIECES)
        length = chance.choice((0, 1, 1, 30))
        content[at : at + length] = what * chance.choice((1, 1, 400))
        changes.append(f"{length} bytes at {at} = {what!r}")
    for written_before in folder.glob(f"{name}*"):
        written_before.unlink()
    (folder / name).write_bytes(content)
    return chance.choice(commands_for(name)), f"{name}: {'; '.join(changes)}"


def try_files(tried: Iterator[tuple[list[str], str, Outcome]]) -> int:
    """Print each fault and the numbers of files and faults, and return the number of faults."""
    files = faults = 0
    for words, what, result in tried:
        files += 1
        if result.fault:
            faults += 1
            print(f"poolsize {' '.join(words)}: {what}: {result.fault}", flush=True)
    print(f"{files} files, {faults} faults")
    return faults


if __name__ == "__main__":
    mode, *number = sys.argv[1:]
    if mode == "write":
        for words in hostile_files(Path(number[0]), number[1:]):
            print(json.dumps(words), flush=True)
            sys.stdin.readline()  # the command has run
        sys.exit()
    loaded()
    if mode == "fuzz":
        sys.exit(bool(try_files(fuzzed(float(number[0]) if number else 3600))))
    sys.exit(bool(try_files(corpus(int(number[0]) if number else None, number[1:] or tuple(KINDS)))))
