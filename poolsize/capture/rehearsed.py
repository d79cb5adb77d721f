"""`--check`: each statement of a locustfile, tried once on a copy of the data and rolled back."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from poolsize.errors import BadInput, WorkFailed

MOST_SECONDS = 3_600
"""The longest time that all statements together may take."""


@dataclass(frozen=True)
class TriedStatement:
    """A statement of a locustfile.

    line: in the file. task: name of the method. text: without its values. rows: of its result, or that it changed; None
    where it did not run. failure: the server's error, or "". left: why it was explained and not run, or "".
    """

    line: int
    task: str
    text: str
    rows: int | None
    failure: str
    left: str


def rehearsed(locustfile: Path, schema: str, url: str) -> tuple[TriedStatement, ...]:
    """Try each statement of a locustfile, in the order of the file. url: with its password.

    A process of its own, which may import Locust, tries them. Raises BadInput for a file or a schema that can't be
    used, and WorkFailed when the server fails.
    """
    command = [sys.executable, "-P", "-m", "poolsize.capture", str(locustfile), schema]
    try:
        done = subprocess.run(
            command, env=os.environ | {"POOLSIZE_URL": url}, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            errors="replace", timeout=MOST_SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise WorkFailed(f"the statements of {locustfile} take longer than {MOST_SECONDS:,} s") from None
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["its process ended"])[-1]
        error = WorkFailed if done.returncode == WorkFailed.exit_code else BadInput
        raise error(f"`check` {locustfile}: {reason}")
    try:
        return TypeAdapter(tuple[TriedStatement, ...]).validate_json(done.stdout.splitlines()[-1])
    except (IndexError, ValidationError):
        raise BadInput(f"`check` {locustfile}: it ends its process: leave that out") from None
