"""Runs, recordings and logs with values that nobody measured, and what becomes of them.

    python -m tests.hostile corpus [N]        try the written files, and N of the runs with one changed field (all)
    python -m tests.hostile fuzz [SECONDS]    try random changes of runs, recordings and logs for so long (one hour)

It prints each fault, and at the end the number of files and of faults; with a fault, the exit code is 1.
Each file is given to a command in a process of its own. A file is taken or refused: with exit code 0, 1 or 2, in one
line on standard error and without a traceback, within 5 s of CPU time and 300 MB.
"""

import base64
import gzip
import io
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from poolsize.commands import COMMANDS, MODULES, main
from tests.conftest import ROOT

EXAMPLES = ROOT / "data" / "examples"
MOST_CPU_SECONDS, MOST_BYTES = 5.0, 300 * 2**20
KILLED_AFTER_SECONDS = 20
ONE_E400 = "1e400"
"""JSON has no limit to its numbers; json.dumps can't write this one, so `_text` puts it in."""
VALUES: tuple[Any, ...] = (
    float("nan"), float("inf"), 1e300, ONE_E400, 10**30, 10**9, -4, 0, 0.5, "", "x", "\x1b[31m<script>", None, True, [],
    [[]], {}, {"x": -1},
)  # fmt: skip
"""What may stand in a field, of whatever type."""
RUN_COMMANDS = ("analyze", "recommend --run", "report --output page.html", "predict --cores 8")
Path_ = tuple[str | int, ...]
"""Names and indices that lead to a value of JSON."""


@dataclass(frozen=True)
class Outcome:
    """What became of a command. code: exit code, negative for a signal. errors: its standard error."""

    code: int
    errors: str
    cpu_seconds: float
    peak_bytes: int

    @property
    def fault(self) -> str:
        """What is wrong with it; empty where nothing is."""
        if self.code not in {0, 1, 2}:
            return f"exit code {self.code}: {self.errors[-500:]}"
        if "Traceback" in self.errors:
            return self.errors[-500:]
        if self.code and self.errors.count("poolsize: error:") != (1 if self.errors else 0):
            return f"not one line: {self.errors}"
        if self.cpu_seconds > MOST_CPU_SECONDS:
            return f"{self.cpu_seconds:.1f} s of CPU time"
        if self.peak_bytes > MOST_BYTES:
            return f"{self.peak_bytes / 2**20:.0f} MB"
        return ""


def outcome(words: Sequence[str], folder: Path) -> Outcome:
    """Return what becomes of a command, which runs in a copy of this process, in a folder."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _run(words, folder, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        errors = pipe.read().decode(errors="replace")
    _, status, used = os.wait4(child, 0)
    return Outcome(os.waitstatus_to_exitcode(status), errors, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)


def _run(words: Sequence[str], folder: Path, errors: int) -> None:
    """Run a command, and end this process. errors: descriptor for its standard error."""
    code = 3
    try:
        os.chdir(folder)
        resource.setrlimit(resource.RLIMIT_CPU, (KILLED_AFTER_SECONDS, KILLED_AFTER_SECONDS))
        sys.argv = ["poolsize", *words]
        with os.fdopen(errors, "w") as file, redirect_stderr(file), redirect_stdout(io.StringIO()):
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
        __import__(f"poolsize.commands.{MODULES.get(name, name)}")
    outcome(["report", str(EXAMPLES / "scan-mariadb.jsonl"), "--output", os.devnull], ROOT)


def leaves(value: Any, at: Path_ = ()) -> Iterator[Path_]:
    """Yield the way to each value in a value of JSON, containers included; of a list, the first and the last item."""
    yield at
    if isinstance(value, dict):
        for name, item in value.items():
            yield from leaves(item, (*at, name))
    elif isinstance(value, list) and value:
        for index in dict.fromkeys((0, len(value) - 1)):
            yield from leaves(value[index], (*at, index))


def changed(record: Any, at: Path_, value: Any) -> Any:
    """Return a value of JSON in which another value stands in one place."""
    copy = json.loads(json.dumps(record))
    if not at:
        return value
    place = copy
    for part in at[:-1]:
        place = place[part]
    place[at[-1]] = value
    return copy


def run_lines(name: str = "insert-mysql", steps: int = 5) -> list[Any]:
    """Return the records of a shipped run's first lines."""
    lines = (EXAMPLES / f"{name}.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines[: 2 + steps]]


def written(records: Sequence[Any], path: Path) -> Path:
    """Write a run's file."""
    text = "\n".join(json.dumps(record) for record in records) + "\n"
    path.write_text(text.replace(f'"{ONE_E400}"', ONE_E400))
    return path


def run_changes() -> list[tuple[int, Path_, Any]]:
    """Return each change of one field of a run: the line's index, the way to the field, and its new value."""
    records = run_lines()
    return [
        (line, at, value) for line in (0, 1, 2) for at in leaves(records[line]) for value in VALUES
    ]  # fmt: skip


def hostile_files(folder: Path) -> Iterator[str]:
    """Write files of every kind that ask for more memory or time than they should, and yield a command for each."""
    records = run_lines()
    histogram = records[2]["step"]["latencies"]["total"]
    older = (ROOT / "tests/data/oltp-format-3.jsonl").read_bytes()
    contents = {
        "analyze zeros.jsonl": bytes(2**20),
        "analyze brackets.jsonl": b"[" * 200_000,
        "analyze nested.jsonl": b'{"a":' * 200_000,
        "analyze long-line.jsonl": b'{"format": 8, "x": "' + b"x" * 100 * 2**20 + b'"}\n',
        "analyze empty.jsonl": b"",
        "analyze binary.jsonl": bytes(range(256)) * 1000,
        "analyze digits.jsonl": b'{"format": 1' + b"0" * 5000 + b"}\n",
        "sweep --replay digits.csv": b"pool_size,second,throughput,p95_ms\n" + b"9" * 5000 + b",1,2,3\n",
        "sweep --replay nul.csv.gz": gzip.compress(bytes(300 * 2**20), 9),
        "sweep --replay cut.csv.gz": gzip.compress(b"pool_size,second,throughput,p95_ms\n1,1,1,1\n")[:-9],
        "sweep --replay long.csv": b"pool_size,second,throughput,p95_ms\n" + b"1,1,1,1\n" * 2_000_000,
        "sweep --replay field.csv": b'pool_size,second,throughput,p95_ms\n"' + b"x" * 1_000_000 + b'",1,1,1\n',
        "import threads.log": b"[ 1s ] thds: " + b"9" * 5000 + b" tps: 1.0 qps: 1 lat (ms,95%): 1.0 err/s: 0\n",
        "import points.log": b"[ 1s ] thds: 4 tps: 1.2.3 qps: 1 lat (ms,95%): 1.0 err/s: 0\n",
        "import second.log": b"[ " + b"9" * 5000 + b"s ] thds: 4 tps: 1.0 qps: 1 lat (ms,95%): 1.0 err/s: 0\n",
        "import field.csv": b'Timestamp,User Count,Name,95%,Total Request Count,Total Failure Count\n"'
        + b"x" * 200_000
        + b'",1,Aggregated,1,1,0\n',
        "analyze checks.jsonl": older.replace(b'"checks":[', b'"checks":null,"x":[', 1),
        "analyze escape.jsonl": b'{"\\u001b[31m": ' + b"[" * 600 + b"1e30" + b"]" * 600 + b"}\n",
        "import none.log": b"[ 1s ] thds: 0 tps: 1.0 qps: 1 lat (ms,95%): 1.0 err/s: 0\n",
        "import long.log": b"x" * 100 * 2**20,
    }
    for size in ("1e300", "1e30", "-4", "0", "nan", "inf", "1e400", "", "x", "4.5"):
        contents[f"sweep --replay size{size}.csv"] = f"pool_size,second,throughput,p95_ms\n{size},1,2,3\n".encode()
        contents[f"sweep --replay rate{size}.csv"] = f"pool_size,second,throughput,p95_ms\n2,1,{size},3\n".encode()
        contents[f"sweep --replay second{size}.csv"] = f"pool_size,second,throughput,p95_ms\n2,{size},2,3\n".encode()
        for column in range(6):
            row = ["1700000000", "8", "Aggregated", "10", "500", "0"]
            rows = [",".join([str(int(row[0]) + at), *row[1:4], str(500 * at), "0"]).split(",") for at in range(9)]
            rows[5][column] = size
            text = "\n".join(
                ["Timestamp,User Count,Name,95%,Total Request Count,Total Failure Count", *map(",".join, rows)]
            )
            contents[f"import column{column}-{size}.csv"] = text.encode()
    for name, text in (
        ("inflated", _inflating(histogram)),
        ("cut", histogram[:-20]),
        ("empty", ""),
        ("other", "HISTx"),
    ):
        step = changed(records[2], ("step", "latencies", "total"), text)
        written([*records[:2], step, *records[3:]], folder / f"{name}.jsonl")
        yield f"recommend --run {name}.jsonl"
    for command, content in contents.items():
        (folder / command.split()[-1]).write_bytes(content)
        yield command


def _inflating(histogram: str) -> str:
    """Return an encoded histogram whose inflated form has 300 MB."""
    packed = base64.b64decode(histogram)
    inflated = zlib.decompress(packed[8:])
    longer = zlib.compress(inflated + bytes(300 * 2**20), 9)
    return base64.b64encode(packed[:4] + len(longer).to_bytes(4, "big") + longer).decode()


def corpus(number: int | None) -> Iterator[tuple[list[str], str, Outcome]]:
    """Try the written files and runs with one changed field, and yield command, change and outcome of each.

    number: of the changed runs, which are chosen at random, but always the same; None for all.
    """
    changes = run_changes()
    chosen = changes if number is None else random.Random(1).sample(changes, number)
    records = run_lines()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # In a process of its own: what is large here would be large in every copy of this one.
        made = subprocess.run(
            [sys.executable, "-m", "tests.hostile", "write", name], cwd=ROOT, check=True, capture_output=True, text=True
        )
        for words in map(str.split, made.stdout.splitlines()):
            yield words, "", outcome(words, folder)
        for index, (line, at, value) in enumerate(chosen):
            copy = [*records[:line], changed(records[line], at, value), *records[line + 1 :]]
            written(copy, folder / "run.jsonl")
            words = [*RUN_COMMANDS[index % len(RUN_COMMANDS)].split(), "run.jsonl"]
            yield words, f"line {line + 1} {'.'.join(map(str, at))} = {value!r}", outcome(words, folder)


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
    """Write a recording, a log or a run with changed bytes, and return a command for it, and the changes."""
    command, path = chance.choice([
        (["analyze"], EXAMPLES / "insert-mysql.jsonl"),
        (["sweep", "--output", f"{chance.random()}.jsonl", "--replay"], folder / "curve.csv"),
        (["import", "--output", f"{chance.random()}.csv"], folder / "sysbench.log"),
    ])  # fmt: skip
    if path.name == "curve.csv":
        rows = [f"{size},{second},{100 * size},{size}" for size in (1, 2, 4, 8) for second in range(30)]
        content = bytearray("\n".join(["pool_size,second,throughput,p95_ms", *rows]).encode())
    elif path.name == "sysbench.log":
        line = "[ {}s ] thds: 4 tps: 494.2 qps: 9884.1 (r/w/o: 1/1/1) lat (ms,95%): 9.6 err/s: 0.00 reconn/s: 0.00"
        content = bytearray("\n".join(line.format(second) for second in range(1, 30)).encode())
    else:
        content = bytearray(path.read_bytes())
    changes = []
    for _ in range(chance.choice((1, 2, 5))):
        at, what = (
            chance.randrange(len(content)),
            bytes(chance.choice([b"9", b"-", b".", b"e", b"\x00", b"\xff", b",", b"\n", b'"'])),
        )
        length = chance.choice((0, 1, 1, 30))
        content[at : at + length] = what * chance.choice((1, 1, 400))
        changes.append(f"{length} bytes at {at} = {what!r}")
    file = folder / f"changed{path.suffix}"
    file.write_bytes(content)
    return [*command, file.name], "; ".join(changes)


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
        print(*hostile_files(Path(number[0])), sep="\n")
        sys.exit()
    loaded()
    if mode == "fuzz":
        sys.exit(bool(try_files(fuzzed(float(number[0]) if number else 3600))))
    sys.exit(bool(try_files(corpus(int(number[0]) if number else None))))
