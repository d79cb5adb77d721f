"""What a prediction costs: a million users against ten thousand, in processor time of one process."""

import statistics
import sys
import time

import numpy as np

from poolsize.analysis.models.finite_source import finite_source

BAR = 100
"""A hundred times the users may take a hundred times as long, which is linear."""
ROUNDS = 7
RATES = np.minimum(np.arange(1, 201), 40) / 10.0


def cost(users: int) -> float:
    """Median processor seconds for so many users, of whom some wait."""
    seconds = []
    for _ in range(ROUNDS):
        began = time.process_time()
        finite_source(RATES, users, users / 4.1)
        seconds.append(time.process_time() - began)
    return statistics.median(seconds)


def main() -> float:
    """Print and return the ratio."""
    few, many = cost(10_000), cost(1_000_000)
    print(
        f"CPU time of a prediction: {1000 * few:.1f} ms for 10,000 users, {1000 * many:.1f} ms for 1,000,000, "
        f"ratio {many / few:.1f} (bar {BAR})"
    )
    return many / few


if __name__ == "__main__":
    sys.exit(main() > BAR)
