"""Why the system ended a process: the name of the signal, and whether memory ran out."""

import signal
from contextlib import suppress
from pathlib import Path

OF_SHELL = 128
"""A shell's exit code is this number and that of the signal that killed its last command."""


def oom_kills() -> int:
    """Return how many processes this machine has killed for want of memory since it started; 0 where not known."""
    with suppress(OSError):
        for line in Path("/proc/vmstat").read_text().splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0


def killed_by(code: int, oom_kills_before: int) -> str | None:
    """Return "killed by SIGKILL", for example, with the want of memory if that may be why; None for another end.

    code: the exit code, negative for a signal. oom_kills_before: of when the process started.
    """
    starved = oom_kills() > oom_kills_before
    number = -code if code < 0 else code - OF_SHELL
    try:
        name = signal.Signals(number).name
    except ValueError:
        return "killed: out of memory" if code and starved else None
    return f"killed by {name}" + (": out of memory" if starved else "")
