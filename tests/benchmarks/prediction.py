"""What a prediction costs: a million users against ten thousand, and the whole command with a million users."""

import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from poolsize.traffic.finite_source import finite_source

BAR = 100
"""A hundred times the users may take a hundred times as long, which is linear."""
BAR_SECONDS = 0.7
"""CPU time of the command with a million users, start-up included."""
ROUNDS = 7
RATES = np.minimum(np.arange(1, 201), 40) / 10.0
RUN = Path(__file__).parents[2] / "data/examples/insert-mysql.jsonl"


def cost(users: int) -> float:
    """Median processor seconds for so many users, of whom some wait."""
    seconds = []
    for _ in range(ROUNDS):
        began = time.process_time()
        finite_source(RATES, users, users / 4.1)
        seconds.append(time.process_time() - began)
    return statistics.median(seconds)


def command_cost(*options: str) -> float:
    """Median processor seconds of a whole `poolsize predict` with a million users."""
    poolsize, seconds = str(Path(sys.executable).with_name("poolsize")), []
    for _ in range(ROUNDS):
        before = _children_seconds()
        command = [poolsize, "predict", str(RUN), "--users", "1000000", *options]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        seconds.append(_children_seconds() - before)
    return statistics.median(seconds)


def _children_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main() -> float:
    """Print the figures, and return the largest share of its bar that one of them takes."""
    few, many = cost(10_000), cost(1_000_000)
    print(
        f"CPU time of a prediction: {1000 * few:.1f} ms for 10,000 users, {1000 * many:.1f} ms for 1,000,000, "
        f"ratio {many / few:.1f} (bar {BAR})"
    )
    busy, thinking = command_cost(), command_cost("--think-time", "150s")
    print(
        f"CPU time of `poolsize predict` with 1,000,000 users: {busy:.2f} s, with think time {thinking:.2f} s "
        f"(bar {BAR_SECONDS} s)"
    )
    return max(many / few / BAR, busy / BAR_SECONDS, thinking / BAR_SECONDS)


if __name__ == "__main__":
    sys.exit(main() > 1)
