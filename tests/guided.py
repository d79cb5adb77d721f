"""Coverage-guided fuzzing of every reader of files; needs `pip install atheris`.

    python -m tests.guided [SECONDS]    (one hour)

It ends at the first input that raises anything but a refusal, takes longer than 10 s, or allocates 300 MB at once; the
input stays in the current folder. A parser that runs in a child elsewhere runs here in the fuzzed process, with the
same limit of CPU time. tests.hostile changes fields of valid files instead, and runs whole commands.
"""

import json
import signal
import sys
import tempfile
import unicodedata
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import atheris  # type: ignore[import-untyped]  # installed only to run this module
from pydantic import TypeAdapter

with atheris.instrument_imports(
    include=["poolsize", "yaml", "javaproperties", "defusedxml", "tomllib", "configparser", "csv", "gzip"]
):
    from poolsize import toml_file
    from poolsize.analysis.analysis import analyze
    from poolsize.answer.fleet import ServerLimit, Service
    from poolsize.commands.fleet_file import services_of
    from poolsize.errors import BadInput, PoolsizeError
    from poolsize.explanation.events import find_events
    from poolsize.explanation.text import events_text, events_values
    from poolsize.parser_process import CPU_SECONDS
    from poolsize.pool_config.all_pools import Typed, count_pools
    from poolsize.pool_config.check import checked_file
    from poolsize.pool_config.check_text import pool_checks_text, pool_checks_values
    from poolsize.pool_config.files import reading
    from poolsize.pool_config.settings import ServerFacts
    from poolsize.present.text.json_text import json_text
    from poolsize.recordings.importers import read_logs
    from poolsize.recordings.recording import read_recording
    from poolsize.runs.store import load_run
    from poolsize.service_under_test.description import read_description
    from poolsize.terminal import visible

from tests.explanation.known_texts import EXAMPLES
from tests.hostile_files import as_lines, run_lines, valid_files

LONGEST_INPUT = 30_000


def in_this_process(parse: Callable[[], Any], kind: Any, named: str) -> Any:
    """Return what a parser returns, as poolsize.parser_process does, whose child would hide what it covers."""
    signal.setitimer(signal.ITIMER_VIRTUAL, CPU_SECONDS)
    try:
        return TypeAdapter(kind).validate_json(json.dumps(parse(), default=str))
    except (RecursionError, MemoryError, _TooLongError):
        raise BadInput(named) from None
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


class _TooLongError(BaseException):
    """A parser had its CPU time."""


def _end_parser(_number: int, _frame: FrameType | None) -> NoReturn:
    raise _TooLongError


def _run(path: Path) -> None:
    analyze(load_run(path))


def _application(path: Path) -> None:
    _ = read_description(path).database_url


def _pools(path: Path) -> None:
    files = [checked_file(reading.read_pools(path), ServerFacts(), None)]
    together = count_pools(files, Typed(Service("application", 3, 2), 0.25), ServerLimit())
    text = visible(pool_checks_text(files, together) + json_text(pool_checks_values(files, together)))
    assert not any(unicodedata.category(letter) == "Cc" for letter in text if letter not in "\n\t")
    text.encode()


def _errors(path: Path) -> None:
    events = find_events(path.read_text(encoding="utf-8", errors="replace").splitlines(), 50.0)
    text = visible(events_text(events) + json_text(events_values(events)))
    assert not any(unicodedata.category(letter) == "Cc" for letter in text if letter not in "\n\t")


READERS: dict[str, Callable[[Path], object]] = {
    "run.jsonl": _run,
    "curve.csv": read_recording,
    "packed.csv.gz": read_recording,
    "sysbench.log": lambda path: read_logs([path]),
    "locust.history": lambda path: read_logs([path]),
    "application.toml": _application,
    "services.toml": services_of,
    "pools.yml": _pools,
    "hikari.properties": _pools,
    "druid.properties": _pools,
    "pools.py": _pools,
    "pools.go": _pools,
    "pools.js": _pools,
    "my.cnf": _pools,
    "pools.ts": _pools,
    "pools.json": _pools,
    "pools.java": _pools,
    "pools.xml": _pools,
    "pools.rs": _pools,
    "pools.cs": _pools,
    "pools.php": _pools,
    "pools.prisma": _pools,
    "www.conf": _pools,
    "Rocket.toml": _pools,
    "appsettings.json": _pools,
    ".env": _pools,
    "status.txt": _pools,
    "table.csv": lambda path: read_logs([path]),
    "requests.jtl": lambda path: read_logs([path]),
    "summary.json": lambda path: read_logs([path]),
    "errors.log": _errors,
}
"""Name of a file -> its reader. The first byte of an input chooses one, modulo their number; the file follows."""


def try_input(folder: Path, data: bytes) -> None:
    """Give a file in a folder to a reader, which may refuse it."""
    if not data:
        return
    name = list(READERS)[data[0] % len(READERS)]
    (folder / name).write_bytes(data[1:])
    with suppress(PoolsizeError):
        READERS[name](folder / name)


def write_seeds(folder: Path) -> None:
    """Write the valid files of each reader, the first byte of which chooses it."""
    errors = "\n".join(known.text for known in EXAMPLES).encode()
    seeds = valid_files() | {"run.jsonl": as_lines(run_lines(steps=1)), "errors.log": errors}
    for number, name in enumerate(READERS):
        for other, content in seeds.items():
            if other == name or (READERS[name] is _pools and Path(other).suffix == Path(name).suffix):
                (folder / f"{number}-{other}").write_bytes(bytes([number]) + content)


if __name__ == "__main__":
    seconds = sys.argv[1] if len(sys.argv) > 1 else "3600"
    signal.signal(signal.SIGVTALRM, _end_parser)
    setattr(toml_file, "parsed", in_this_process)  # noqa: B010 (mypy: no module exports it)
    setattr(reading, "parsed", in_this_process)  # noqa: B010
    with tempfile.TemporaryDirectory() as corpus, tempfile.TemporaryDirectory() as folder:
        write_seeds(Path(corpus))
        options = (f"-max_total_time={seconds}", "-timeout=10", "-malloc_limit_mb=300", "-rss_limit_mb=2000")
        atheris.Setup([sys.argv[0], corpus, *options, f"-max_len={LONGEST_INPUT}"], partial(try_input, Path(folder)))
        atheris.Fuzz()
