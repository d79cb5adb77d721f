"""Coverage-guided fuzzing of the readers of runs, recordings and logs; needs `pip install atheris`.

    python -m tests.guided [SECONDS]    (one hour)

It ends at the first input that raises anything but a refusal, takes longer than 5 s, or allocates 300 MB at once; the
input stays in the current folder. tests.hostile changes fields of valid files instead, and runs whole commands.
"""

import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import atheris  # type: ignore[import-untyped]  # installed only to run this module

with atheris.instrument_imports(include=["poolsize"]):
    from poolsize.analysis.analysis import analyze
    from poolsize.errors import PoolsizeError
    from poolsize.recordings.importers import read_logs
    from poolsize.recordings.recording import read_recording
    from poolsize.runs.store import load_run

from tests.hostile import run_lines, written

FILE = Path(tempfile.gettempdir()) / "poolsize-guided"
LONGEST_INPUT = 30_000
SYSBENCH = b"[ 1s ] thds: 4 tps: 494.2 qps: 9884.1 (r/w/o: 1/1/1) lat (ms,95%): 9.6 err/s: 0.00 reconn/s: 0.00\n"
LOCUST = (
    b"Timestamp,User Count,Name,95%,Total Request Count,Total Failure Count\n"
    b"1700000000,8,Aggregated,10,500,0\n1700000001,8,Aggregated,10,1000,0\n1700000002,8,Aggregated,10,1500,0\n"
)
CURVE = b"pool_size,second,throughput,p95_ms\n1,1,100,10\n1,2,101,10\n2,1,200,11\n2,2,203,9\n"


def _run(path: Path) -> None:
    analyze(load_run(path))


READERS: tuple[Callable[[Path], object], ...] = (_run, read_recording, lambda path: read_logs([path]))
"""The first byte of an input chooses the reader, modulo their number; the others are the file."""


def try_input(data: bytes) -> None:
    """Give a file to a reader, which may refuse it."""
    if not data:
        return
    FILE.write_bytes(data[1:])
    with suppress(PoolsizeError):
        READERS[data[0] % len(READERS)](FILE)


def write_seeds(folder: Path) -> None:
    """Write a valid input for each reader and each of its formats."""
    written(run_lines(steps=1), FILE)
    for number, (reader, content) in enumerate(
        ((0, FILE.read_bytes()), (1, CURVE), (2, SYSBENCH + SYSBENCH.replace(b" 1s", b" 2s")), (2, LOCUST))
    ):
        (folder / str(number)).write_bytes(bytes([reader]) + content)


if __name__ == "__main__":
    seconds = sys.argv[1] if len(sys.argv) > 1 else "3600"
    with tempfile.TemporaryDirectory() as name:
        write_seeds(Path(name))
        options = (f"-max_total_time={seconds}", "-timeout=5", "-malloc_limit_mb=300", "-rss_limit_mb=2000")
        atheris.Setup([sys.argv[0], name, *options, f"-max_len={LONGEST_INPUT}"], try_input)
        atheris.Fuzz()
