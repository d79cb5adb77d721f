"""How fast `poolsize recommend --cores 8` starts, against the interpreter importing json; whole processes in turns."""

import statistics
import subprocess
import sys
import time
from pathlib import Path

BAR = 3
ROUNDS = 30


def main() -> float:
    """Time both in turns, print and return the ratio of the medians."""
    poolsize = str(Path(sys.executable).with_name("poolsize"))
    commands = {
        "import json": [sys.executable, "-c", "import json"],
        "recommend": [poolsize, "recommend", "--cores", "8"],
    }
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(ROUNDS):
        for name, command in commands.items():
            began = time.perf_counter()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            seconds[name].append(time.perf_counter() - began)
    json_ms, recommend_ms = (1000 * statistics.median(seconds[name]) for name in commands)
    print(
        f"start-up: python -c 'import json' {json_ms:.1f} ms, poolsize recommend --cores 8 {recommend_ms:.1f} ms, "
        f"ratio {recommend_ms / json_ms:.2f} (bar {BAR})"
    )
    return recommend_ms / json_ms


if __name__ == "__main__":
    sys.exit(main() > BAR)
