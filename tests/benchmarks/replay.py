"""How long a replay takes, start-up included, against importing what it computes with; whole processes in turns."""

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BAR = 2.5
ROUNDS = 9
LIBRARIES = "import click, numpy, pydantic, scipy.special"


def main() -> float:
    """Time both in turns, print and return the ratio of the medians."""
    poolsize = str(Path(sys.executable).with_name("poolsize"))
    seconds: dict[str, list[float]] = {"import": [], "replay": []}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(ROUNDS):
            replay = [
                poolsize,
                "sweep",
                "--replay",
                "autoscaling_hikari_writeHeavy",
                "--output",
                f"{folder}/{number}.jsonl",
            ]
            for name, command in (("import", [sys.executable, "-c", LIBRARIES]), ("replay", replay)):
                began = time.perf_counter()
                subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
                seconds[name].append(time.perf_counter() - began)
    imported, replayed = (statistics.median(times) for times in seconds.values())
    print(
        f"replay: importing its libraries {imported:.2f} s, a replay {replayed:.2f} s, "
        f"ratio {replayed / imported:.2f} (bar {BAR})"
    )
    return replayed / imported


if __name__ == "__main__":
    sys.exit(main() > BAR)
