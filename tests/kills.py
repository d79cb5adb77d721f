"""Kills one process of a sweep at a random moment, again and again: nothing that was finished is lost, nothing stays.

    python -m tests.kills [N] [SEED]    N sweeps (200)

The victims take turns: poolsize, Locust, one of two workers, the private server's watchdog, the server; a victim that
does not run yet is waited for. After each, every finished step can be read, the private server and its folder are gone
within 10 s or at the next start of one, and `--resume` measures what is missing. Nothing else may start private servers
meanwhile: their folders would count as left behind.
"""

import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import cycle, islice
from pathlib import Path

import psutil

from poolsize import load_run
from poolsize.server.private_server import DIRECTORY_BEGINS, ON_DISK
from poolsize.server.watchdog import clear_abandoned
from poolsize.sweep.next_step import remaining

POOLSIZE = str(Path(sys.executable).with_name("poolsize"))
SWEEP = (
    "--workload", "insert", "--pool-sizes", "1,2,4", "--users", "8", "--step-time", "1s", "--warm-up", "0",
    "--processes", "2",
)  # fmt: skip
LONGEST_SECONDS = 12.0
"""After so long, most sweeps have ended by themselves."""
GONE_SECONDS, ENDING_SECONDS = 10.0, 90.0


def main(number: int, seed: int) -> int:
    """Kill, print a line for each sweep, and return the number of faults."""
    print(f"seed {seed}", flush=True)
    chance, faults = random.Random(seed), 0
    for victim in islice(cycle(VICTIMS), number):
        moment = chance.uniform(0, LONGEST_SECONDS)
        with tempfile.TemporaryDirectory() as folder:
            fault = killed_and_resumed(victim, moment, Path(folder))
        faults += bool(fault)
        print(f"{victim} after {moment:.2f} s: {fault or 'ok'}", flush=True)
    print(f"{number} sweeps, {faults} faults")
    return faults


def killed_and_resumed(victim: str, moment: float, folder: Path) -> str:
    """Sweep, kill, look and resume. Return what was wrong; empty where nothing was."""
    run, before = folder / "a.jsonl", set(ON_DISK.glob(f"{DIRECTORY_BEGINS}*"))
    with subprocess.Popen(
        [POOLSIZE, "sweep", *SWEEP, "--output", run.name],
        cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    ) as sweep:  # fmt: skip
        time.sleep(moment)
        family = _kill(victim, sweep)
        try:
            _, errors = sweep.communicate(timeout=ENDING_SECONDS)
        except subprocess.TimeoutExpired:
            sweep.kill()
            return f"poolsize did not end within {ENDING_SECONDS:g} s"
    if "Traceback" in errors:
        return errors[-300:]
    if fault := _left_behind(family, before):
        return fault
    return _resumed(run, folder)


def _kill(victim: str, sweep: "subprocess.Popen[str]") -> list[psutil.Process]:
    """Kill the victim as soon as it runs, and return all processes of the sweep at that moment."""
    family: list[psutil.Process] = []
    while sweep.poll() is None:
        try:
            parent = psutil.Process(sweep.pid)
            family = [parent, *parent.children(recursive=True)]
            if found := VICTIMS[victim](family):
                found[-1].kill()
                break
        except psutil.Error:
            pass
        time.sleep(0.02)
    return family


def _running(module: str) -> Callable[[Sequence[psutil.Process]], list[psutil.Process]]:
    """Return a function that finds the processes of a module; of those that were forked, the last is a worker."""

    def find(family: Sequence[psutil.Process]) -> list[psutil.Process]:
        return [process for process in family if any(word.endswith(module) for word in process.cmdline())]

    return find


def _servers(family: Sequence[psutil.Process]) -> list[psutil.Process]:
    return [process for process in family if process.name() in {"mariadbd", "mysqld"}]


def _workers(family: Sequence[psutil.Process]) -> list[psutil.Process]:
    return _running("poolsize.locust")(family)[1:]


VICTIMS: dict[str, Callable[[Sequence[psutil.Process]], list[psutil.Process]]] = {
    "poolsize": lambda family: list(family[:1]),
    "locust": lambda family: _running("poolsize.locust")(family)[:1],
    "worker": _workers,
    "watchdog": _running("poolsize.server.watchdog"),
    "server": _servers,
}


def _left_behind(family: Sequence[psutil.Process], before: set[Path]) -> str:
    """Return what is still there after a while and the next start's cleaning; empty where nothing is."""
    deadline = time.monotonic() + GONE_SECONDS
    while time.monotonic() < deadline:
        alive = [process for process in family if process.is_running() and process.status() != psutil.STATUS_ZOMBIE]
        folders = set(ON_DISK.glob(f"{DIRECTORY_BEGINS}*")) - before
        if not alive and not folders:
            return ""
        time.sleep(0.1)
    clear_abandoned(ON_DISK, DIRECTORY_BEGINS)
    alive = [process for process in family if process.is_running() and process.status() != psutil.STATUS_ZOMBIE]
    folders = set(ON_DISK.glob(f"{DIRECTORY_BEGINS}*")) - before
    return f"left behind: {alive} {folders}" if alive or folders else ""


def _resumed(run: Path, folder: Path) -> str:
    """Resume the sweep, or start it where no run began. Return what was wrong."""
    begun = run.exists() and b"\n" in run.read_bytes()
    kept = load_run(run, torn_end=True).steps if begun else ()
    words = ["--resume", run.name] if begun else [*SWEEP, "--output", run.name]
    if not begun:
        run.unlink(missing_ok=True)
    done = subprocess.run([POOLSIZE, "sweep", *words], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode not in {0, 1} or not run.exists():
        return f"it does not resume: {done.stderr[-300:]}"
    complete = load_run(run)
    if remaining(complete) is not None:
        return f"it is not complete: {done.stderr[-300:]}"
    if [step.throughput for step in complete.steps[: len(kept)]] != [step.throughput for step in kept]:
        return "finished steps have changed"
    return ""


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:]]
    sys.exit(bool(main(numbers[0] if numbers else 200, numbers[1] if len(numbers) > 1 else int(time.time()))))
