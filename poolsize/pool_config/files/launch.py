"""Commands that start processes -> the numbers of processes: of gunicorn, uvicorn and others."""

import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import PurePosixPath

from poolsize.pool_config.files.python_source import assigned_in
from poolsize.pool_config.files.values import number_from
from poolsize.pool_config.pool import Count, FileSetting

PROGRAMS = {
    "gunicorn": ("-w", "--workers"), "uvicorn": ("--workers",), "fastapi": ("--workers",), "granian": ("--workers",),
    "hypercorn": ("-w", "--workers"), "uwsgi": ("-p", "--processes", "--workers"), "puma": ("-w", "--workers"),
    "celery": ("-c", "--concurrency"), "unicorn": (),
}  # fmt: skip
"""Program -> its options for the number of processes, each of which has pools of its own."""
GUNICORN_OPTIONS = "GUNICORN_CMD_ARGS"
NUMBERS = {"WEB_CONCURRENCY"}
"""Variables by which gunicorn, uvicorn and puma take the number of processes."""
THREADS_ONLY = re.compile(r"(?:-P|--pool)[= ]?(?:threads|gevent|eventlet|solo)\b")
"""Celery's pools without processes."""
Words = Sequence[tuple[str, int]]
"""The words of a command, each with its line."""


def split_words(words: Words) -> list[tuple[str, int]]:
    """Return the words of a command; those of a shell's line in it, as in `sh -c "gunicorn -w 4"`, one by one."""
    return [(part, line) for word, line in words for part in (_parts(word) if " " in word.strip() else [word])]


def _parts(line: str) -> list[str]:
    """Return the words of a shell's line; none of a line that a shell does not accept."""
    try:
        return shlex.split(line)
    except ValueError:
        return []


def process_counts(words: Words, workload: str = "") -> Iterator[Count]:
    """Yield the number of processes that a command starts, where it states the number."""
    words = split_words(words)
    for place, (word, _) in enumerate(words):
        program = PurePosixPath(word).name
        following = words[place + 1 :]
        if program == "celery" and THREADS_ONLY.search(" ".join(word for word, _ in following)):
            return
        if program in PROGRAMS:
            yield from _stated(PROGRAMS[program], following, workload)
            return


def _stated(options: Sequence[str], words: Words, workload: str) -> Iterator[Count]:
    """Yield the number that the last of some options states."""
    setting = None
    for (word, line), (following, _) in pairwise([*words, ("", 0)]):
        for option in options:
            value = following if word == option else None
            if word.startswith(f"{option}="):
                value = word.partition("=")[2]
            elif len(option) == 2 and word.startswith(option) and word[2:].isdecimal():
                value = word[2:]
            if value is not None:
                setting = FileSetting(option, value, number_from(value), line)
    if setting:
        yield Count("processes", setting, workload)


def variable_counts(variables: Sequence[tuple[str, str, int]], workload: str = "") -> Iterator[Count]:
    """Yield the numbers of processes in environment variables: name, text and line of each."""
    for name, text, line in variables:
        if name in NUMBERS:
            yield Count("processes", FileSetting(name, text, number_from(text), line), workload)
        elif name == GUNICORN_OPTIONS:
            yield from process_counts([("gunicorn", line), (text, line)], workload)


def gunicorn_counts(text: str) -> list[Count]:
    """Return the number of processes in gunicorn's configuration. Raises BadInput for a text that is not Python."""
    workers = assigned_in(text, "workers")
    return [Count("processes", workers)] if workers else []


def procfile_counts(text: str) -> list[Count]:
    """Return the number of processes of each line, NAME: COMMAND, of a Procfile."""
    return [
        count
        for number, line in enumerate(text.splitlines(), 1)
        for count in process_counts([(line.partition(":")[2].strip(), number)], line.partition(":")[0].strip())
    ]
