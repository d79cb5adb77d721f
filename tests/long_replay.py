"""The memory of a long replay: 100,000 steps, and what more it needs than a short one.

    python -m tests.long_replay [STEPS]    (100000, or 10000)

A replay of 2,000 steps is the short one: with it, the fit of the curve is as large as it gets.
"""

import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

POOLSIZE = str(Path(sys.executable).with_name("poolsize"))
SIZES = range(1, 101)
SHORT_STEPS = 2_000
MOST_GROWTH_MB = {10_000: 15.0, 100_000: 30.0}
"""By the number of steps. In memory, 8,000 steps take 19 MB; two processes differ by 8 MB in any case."""


def main(steps: int) -> int:
    """Replay both, print the growth, and return 1 where it is too much."""
    most_growth_mb = MOST_GROWTH_MB[steps]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write_curve(folder / "curve.csv")
        short, long = (_peak_mb(folder, number) for number in (SHORT_STEPS, steps))
    print(f"{SHORT_STEPS:,} steps: {short:.1f} MB, {steps:,} steps: {long:.1f} MB, {long - short:+.1f} MB")
    return int(long - short > most_growth_mb)


def _write_curve(path: Path) -> None:
    """Write a recording of a minute at each size: throughput rises up to 24 connections, with 3 % of noise."""
    chance = random.Random(1)
    rows = [
        f"{size},{second},{100 * min(size, 24) * chance.gauss(1, 0.03):.1f},{max(10.0, size / 2.4):.2f}"
        for size in SIZES
        for second in range(60)
    ]
    path.write_text("\n".join(["pool_size,second,throughput,p95_ms", *rows]) + "\n")


def _peak_mb(folder: Path, steps: int) -> float:
    """Replay so many steps of a second, and return the largest resident memory, in MB."""
    with subprocess.Popen(
        [POOLSIZE, "sweep", "--replay", "curve.csv", "--pool-sizes", ",".join(map(str, SIZES)), "--warm-up", "0",
         "--step-time", "1s", "--repeats", str(steps // len(SIZES)), "--output", f"{steps}.jsonl"],
        cwd=folder, stdout=subprocess.DEVNULL,
    ) as replay:  # fmt: skip
        _, status, used = os.wait4(replay.pid, 0)
        replay.returncode = os.waitstatus_to_exitcode(status)
    assert replay.returncode == 0
    assert (folder / f"{steps}.jsonl").read_bytes().count(b'{"step"') >= steps
    return used.ru_maxrss / 1024


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000))
