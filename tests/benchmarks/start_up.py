"""How fast commands start, against the interpreter importing json; whole processes in pairs.

Python may store its bytecode, as it does for everybody who installs poolsize: without it, each start compiles sources.
"""

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

BAR = 3
ROUNDS = 30
COMMANDS = (
    "recommend --cores 8",
    "--help",
    "sweep --help",
    "recommend --frob",
    "fleet --size 40 --instances 6 --processes 4",
)


def ratio_of(words: str) -> float:
    """Time a command and the interpreter in turns, print and return the median of the pairs' ratios."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    commands = (
        [sys.executable, "-c", "import json"],
        [str(Path(sys.executable).with_name("poolsize")), *words.split()],
    )

    def seconds(command: list[str]) -> float:
        began = time.perf_counter()
        subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
        return time.perf_counter() - began

    pairs = [(seconds(commands[0]), seconds(commands[1])) for _ in range(1 + ROUNDS)][1:]  # the first stores bytecode
    ratio = statistics.median(ours / json for json, ours in pairs)
    json_ms, ours_ms = (1000 * statistics.median(each) for each in zip(*pairs, strict=True))
    print(
        f"start-up: python -c 'import json' {json_ms:.1f} ms, poolsize {words} {ours_ms:.1f} ms, "
        f"median ratio of {ROUNDS} pairs {ratio:.2f} (bar {BAR})"
    )
    return ratio


if __name__ == "__main__":
    sys.exit(max(map(ratio_of, COMMANDS)) > BAR)
