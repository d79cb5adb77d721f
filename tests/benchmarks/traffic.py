"""What an answer for a traffic near a run's knee costs, against a calculation of a fixed length, in processor time."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the command line does; before numpy is there

import sys
from itertools import product
from time import process_time

import numpy as np

from poolsize.answer.application import ClientTimes
from poolsize.answer.fleet import Service
from poolsize.answer.from_traffic import recommend_for
from poolsize.answer.traffic import Traffic
from poolsize.command_line.run_file import complete_run, supply_of
from poolsize.files import shipped
from poolsize.traffic.usage_phases import UsageTimes

BAR = 15
"""An answer takes less than 0.4 s where the reference takes 27 ms."""
USAGE_MS = {"oltp_read_write-mariadb": 5.0, "insert-mysql": 5.0, "scan-mysql": 20.0}
SHARES, BURSTS, VARIATIONS = (0.8, 0.96), (1.0, 5.0), (0.0, 1.0, 4.0)


def main() -> int:
    """Print and compare the costliest answer."""
    paths = {name: str(shipped(f"data/examples/{name}.jsonl")) for name in USAGE_MS}
    supplies = {
        name: supply_of(path, complete_run(path), ClientTimes(USAGE_MS[name], None, None))
        for name, path in paths.items()
    }
    costs = {}
    for name, share, burst, variation in product(supplies, SHARES, BURSTS, VARIATIONS):
        supply = supplies[name]
        assert supply.rates is not None
        usage = UsageTimes(USAGE_MS[name], variation)
        traffic = Traffic(share * float(supply.rates.max()), usage, Service("application", 6, 4), burst)
        begun = process_time()
        recommend_for(traffic, supply)
        costs[name, share, burst, variation] = process_time() - begun
    (name, share, burst, variation), cost = max(costs.items(), key=lambda item: item[1])
    reference = min(_reference() for _ in range(5))
    print(
        f"answer for a traffic / reference: {cost / reference:.1f} (bar {BAR}), {cost:.2f} s of CPU and "
        f"{1000 * reference:.0f} ms, for {name} at {share:.0%} of its knee, bursts of {burst:g}x and a variation of "
        f"{variation:g}"
    )
    return int(cost > BAR * reference)


def _reference() -> float:
    """Return the processor time of 60 systems of 96 equations each, and of a loop."""
    begun, matrix = process_time(), np.random.default_rng(1).standard_normal((96, 96))
    for _ in range(60):
        np.linalg.solve(matrix, matrix @ matrix)
    sum(number * number for number in range(300_000))
    return process_time() - begun


if __name__ == "__main__":
    sys.exit(main())
