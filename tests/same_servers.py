"""Counts the significant differences that `poolsize sweep --against-option` finds between two private servers in turn.

    python -m tests.same_servers COMPARISONS [PERCENT]    PERCENT: by how much the other server is slower; 0 by default

A transaction computes hashes, in a number that a variable of its server decides. So the true difference is known. Both
sides together take 108 s of load and more where steps are repeated, at most twice that of one search.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from poolsize import analyze, compare, load_run
from poolsize.analysis.stats.paired_differences import Difference

HASHES = 10_000
WORKLOAD = """\
from poolsize.locust import PoolUser

class Hashes(PoolUser):
    def transaction(self, cursor):
        cursor.execute("DO BENCHMARK(@@max_error_count, SHA1('a'))")
"""


def main() -> None:
    """Compare both servers so many times, and print each difference."""
    comparisons, percent = int(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 0.0
    significant = 0
    for number in range(comparisons):
        with tempfile.TemporaryDirectory() as folder:
            difference = _difference(Path(folder), round(HASHES * (1 + percent / 100)))
        significant += difference.significant
        print(
            f"{number + 1}: {difference.mean:+.2%} ({difference.low:+.2%} to {difference.high:+.2%}), "
            f"{significant} of {number + 1} significant",
            flush=True,
        )


def _difference(folder: Path, hashes: int) -> Difference:
    """Return the mean difference of throughput by one sweep of both servers. hashes: of the other server."""
    workload = folder / "hashes.py"
    workload.write_text(WORKLOAD)
    words = [
        "sweep", "--workload", str(workload), "--pool-sizes", "1,2,3,4,6,8", "--step-time", "8s", "--warm-up", "1s",
        "--server-option", f"max_error_count={HASHES}", "--against-option", f"max_error_count={hashes}",
        "--output", "a.jsonl",
    ]  # fmt: skip
    subprocess.run(
        [Path(sys.executable).with_name("poolsize"), *words], cwd=folder, check=True, capture_output=True, text=True
    )
    comparison = compare({name: analyze(load_run(folder / name)) for name in ("a.jsonl", "a-other.jsonl")})
    difference = comparison.others[0].throughput
    assert difference is not None
    return difference


if __name__ == "__main__":
    main()
